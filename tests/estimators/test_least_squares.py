"""Least squares by products under cross-validation: scikit-learn's ridge models of all folds, from one scan."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import RidgeClassifier

import streamnb as snb

rng = np.random.default_rng(0)
N, FOLDS = 240, 3
Y, SETS = rng.integers(0, 3, N), rng.integers(0, 2, (N, 3))
X = rng.normal(size=(N, 5)) @ rng.normal(size=(5, 5)) + rng.normal(size=(3, 5))[Y]
X[:, 3] = 0.0  # which no row has
W = rng.random(N)
L2 = [0.1, 10.0, 1000.0]


def searched(x=X, y=Y, weight=None, **options):
    model = snb.LeastSquaresClassifierCV(L2, solver="products", folds=FOLDS, scoring="accuracy", **options)
    return model.fit(x, y, weight)


@pytest.mark.parametrize("y", [Y, Y > 0], ids=["three", "two"])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_every_fold_and_penalty_is_scikit_learns_ridge(y, class_weight):
    model, number = searched(y=y, weight=W, class_weight=class_weight), snb.fold_numbers(N, FOLDS)
    table = model.cv_results_
    for l2 in L2:
        (point,) = np.flatnonzero(table["param_l2"] == l2)
        for fold in range(FOLDS):
            rest, own = number != fold, number == fold
            weight = W.copy()
            if class_weight is not None:
                sums = np.bincount(y[rest], W[rest])
                weight *= (sums.sum() / (len(sums) * sums))[y.astype(int)]
            theirs = RidgeClassifier(l2).fit(X[rest], y[rest], weight[rest])
            hits = np.average(theirs.predict(X[own]) == y[own], weights=W[own])
            assert table[f"split{fold}_test_score"][point] == pytest.approx(hits)
    alone = snb.LeastSquaresClassifier(model.best_params_["l2"], solver="products", class_weight=class_weight).fit(
        X, y, W
    )
    np.testing.assert_allclose(model.coef_, alone.coef_, rtol=1e-9)
    assert model.n_passes_ == 0 and model.converged_ and model.report_.rows == 2 * N  # a scan, and a read that judges


@pytest.mark.filterwarnings("ignore:.*of those tried")
def test_bins_labels_and_idf():
    binned = searched(transform=snb.Bins(6))
    step = snb.Bins(6).fit(X)
    alone = RidgeClassifier(binned.best_params_["l2"]).fit(step.transform(X).toarray(), Y)
    np.testing.assert_allclose(binned.coef_, alone.coef_, rtol=1e-6, atol=1e-9)
    labels = snb.LeastSquaresClassifierCV(L2, solver="products", folds=2).fit(sp.csr_array(X), SETS)
    theirs = RidgeClassifier(labels.best_params_["l2"]).fit(X, SETS)
    np.testing.assert_allclose(labels.coef_, theirs.coef_, rtol=1e-6, atol=1e-9)
    scaled = searched(np.abs(X).round(), idf=True)
    gradients = snb.LeastSquaresClassifier(scaled.best_params_["l2"], idf=True, tol=1e-10).fit(np.abs(X).round(), Y)
    np.testing.assert_allclose(scaled.coef_, gradients.coef_, rtol=1e-6, atol=1e-9)


def test_what_it_takes_is_told_beforehand():
    plans = [
        snb.plan(X, Y, model=snb.LeastSquaresClassifierCV(L2, solver="products", class_weight=weight))
        for weight in (None, "balanced")
    ]
    assert [plan.product_bytes for plan in plans] == [5 * 15 * 8, 3 * 5 * 15 * 8]  # pooled, and by class; 5 folds
    assert [plan.dense_bytes for plan in plans] == [5 * (3 + 1 + 1) * 5 * 8, 5 * 3 * 3 * 5 * 8]
    assert plans[0].most_reads == 3 and "gram" in plans[0].moments  # a scan, one to judge, one to calibrate
    once = snb.plan(X, Y, model=snb.LeastSquaresClassifier(solver="products", calibration="sigmoid"))
    assert once.most_reads == 2  # the second is for the sample that calibrates
    assert "gram" not in snb.plan(X, Y, model=snb.LeastSquaresClassifier()).moments


def test_tables_too_large_are_refused_before_the_scan():
    with pytest.raises(MemoryError, match=r"products of 5 features by 5.*snb.SoftmaxRegression"):
        snb.LeastSquaresClassifierCV(L2, solver="products").fit(X, Y, memory_limit=300)


def flights(n=6000):
    """Columns of categories of skewed frequencies, of which some tell others, and one of thousands, as of flights."""
    rng = np.random.default_rng(1)
    plane = np.minimum((rng.pareto(0.8, n) * 60).astype(int), 3499)
    place = np.where(rng.random(n) < 0.4, (plane * 7) % 105, np.minimum((rng.pareto(0.7, n) * 4).astype(int), 104))
    carrier = np.where(rng.random(n) < 0.97, plane % 16, rng.integers(0, 16, n))
    hour = rng.integers(0, 24, n)
    columns = [np.unique(values, return_inverse=True)[1] for values in (plane, place, carrier, hour)]
    indicators = [sp.csr_array((np.ones(n), (np.arange(n), column))) for column in columns]
    miles = rng.random(105)[place] * 2500.0
    measured = sp.csr_array(np.column_stack([miles, miles / 8.0 + rng.normal(size=n) * 8.0]))
    late = rng.normal(size=3500)[plane] + rng.normal(size=105)[place] + 0.1 * (hour - 12) + rng.logistic(size=n)
    return sp.hstack([*indicators, measured], format="csr"), np.digitize(late, [0.0, 1.5])


@pytest.mark.parametrize(("classes", "standardize"), [(2, True), (3, False)])
def test_columns_of_categories_of_skewed_frequencies_converge(classes, standardize):
    rows, y = flights()
    y = np.minimum(y, classes - 1)
    model = snb.LeastSquaresClassifier(standardize=standardize).fit(rows, y, n_threads=1)
    assert model.converged_ and model.n_passes_ < 40
    exact = snb.LeastSquaresClassifier(standardize=standardize, solver="products").fit(rows, y)
    np.testing.assert_allclose(model.decision_function(rows), exact.decision_function(rows), atol=5e-3)
    again = snb.LeastSquaresClassifier(standardize=standardize).fit(rows, y, n_threads=2)
    np.testing.assert_array_equal(model.coef_, again.coef_)

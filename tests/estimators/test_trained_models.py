"""The optimum of models of several reads, beside scikit-learn's; and how margins are judged."""

import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import expit, softmax
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import log_loss

import streamnb as snb
from streamnb.solving.objectives import Logistic, Softmax, SquaredHinge
from tests.estimators.test_trained import CLOSE, SETS, WEIGHT, N, X, Y
from tests.support.refusals import refuses


def objective_at(kind, point, x, targets, weight, l2):
    _, losses = kind.losses(x @ point[:-1] + point[-1], targets)
    return float((weight @ losses).sum()) + 0.5 * l2 * float((point[:-1] ** 2).sum())


def of_model(model):
    return np.vstack([model.coef_.T, model.intercept_])


@pytest.mark.parametrize(
    ("l2", "two", "class_weight"),
    [
        (0.1, True, None),
        (20.0, False, None),
        (1.0, True, "balanced"),
        (1.0, False, "balanced"),
        (0.1, False, {"ash": 2.5}),
    ],
    ids=str,
)
def test_softmax_regression_reaches_the_optimum_of_logistic_regression(l2, two, class_weight):
    kept = Y != "cedar" if two else slice(None)
    x, y, w = X[kept], Y[kept], WEIGHT[kept]
    ours = snb.SoftmaxRegression(l2, class_weight=class_weight, **CLOSE).fit(sp.csr_array(x), y, w)
    theirs = LogisticRegression(C=1 / l2, tol=1e-10, max_iter=10_000, class_weight=class_weight).fit(x, y, w)
    assert ours.converged_
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-4)
    np.testing.assert_allclose(ours.predict_proba(x), theirs.predict_proba(x), atol=1e-4)
    assert (ours.predict(x) == theirs.predict(x)).mean() > 0.99
    if class_weight is None:
        kind = Logistic() if two else Softmax()
        targets = kind.targets(y, ours.classes_, 0)
        least = objective_at(kind, of_model(theirs), x, targets, w, l2)
        found = objective_at(kind, of_model(ours), x, targets, w, l2)
        assert found <= least * (1 + 1e-6)
        np.testing.assert_allclose(ours.history_["objective"][-1], found, rtol=1e-9)


@pytest.mark.parametrize("y", [Y, Y == "ash", SETS], ids=["classes", "two", "labels"])
def test_margin_classifier_reaches_the_optimum_of_the_squared_hinge(y):
    ours = snb.MarginClassifier(2.0, **CLOSE).fit(X, y, WEIGHT)
    kind, n_rows = SquaredHinge(), len(ours.coef_)
    targets = kind.targets(sp.csr_array(y) if y.ndim == 2 else y, ours.classes_, 0)

    def value(flat):
        return objective_at(kind, flat.reshape(7, n_rows), X, targets, WEIGHT, 2.0)

    least = minimize(value, of_model(ours).reshape(-1) + 0.01, method="L-BFGS-B", options={"maxiter": 3000}).fun
    assert value(of_model(ours).reshape(-1)) <= least * (1 + 1e-6)
    assert ours.decision_function(X).shape == (N, *([] if n_rows == 1 else [n_rows]))


def test_joint_margins_are_those_of_one_softmax():
    apart, joint = (snb.MarginClassifier(2.0, scheme=scheme).fit(X, Y) for scheme in ("ovr", "joint"))
    scores = 2.0 * apart.decision_function(X)
    np.testing.assert_array_equal(joint.decision_function(X), scores)
    np.testing.assert_allclose(joint.predict_proba(X), softmax(scores, axis=1), rtol=1e-12)
    two = snb.MarginClassifier(2.0, scheme="joint").fit(X, Y == "ash")
    np.testing.assert_allclose(two.predict_proba(X)[:, 1], expit(two.decision_function(X)), rtol=1e-12)
    refuses(ValueError, "scheme='ovo' is unknown", lambda: snb.MarginClassifier(scheme="ovo").fit(X, Y))
    refuses(AttributeError, "no attribute 'predict_proba'", lambda: apart.predict_proba(X))


def test_each_label_of_an_indicator_has_logistic_regression_by_itself():
    ours = snb.SoftmaxRegression(0.5, **CLOSE).fit(X, SETS, WEIGHT)
    for k in range(3):
        alone = LogisticRegression(C=2.0, tol=1e-10, max_iter=10_000).fit(X, SETS[:, k], WEIGHT)
        np.testing.assert_allclose(ours.coef_[k], alone.coef_[0], atol=1e-4)
        np.testing.assert_allclose(ours.predict_proba(X)[:, k], alone.predict_proba(X)[:, 1], atol=1e-4)
    assert ours.predict(X).shape == (N, 3) and ours.score(X, SETS) > 0.3


def test_l1_leaves_features_out_at_the_optimum_of_saga():
    two = Y != "cedar"
    ours = snb.SoftmaxRegression(0.0, 8.0, **CLOSE).fit(X[two], Y[two])
    theirs = LogisticRegression(C=1 / 8, l1_ratio=1.0, solver="saga", tol=1e-10, max_iter=100_000)
    theirs.fit(X[two], Y[two])
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-3)
    np.testing.assert_array_equal(ours.coef_ == 0.0, np.abs(theirs.coef_) < 1e-9)
    assert 0 < np.count_nonzero(ours.coef_ == 0.0) < 6


@pytest.mark.parametrize("y", [Y, Y == "ash", SETS], ids=["classes", "two", "labels"])
def test_least_squares_are_those_of_ridge(y):
    balanced = "balanced" if y.ndim == 1 else None
    for l2 in (0.0, 0.1, 20.0):
        ours = snb.LeastSquaresClassifier(l2, class_weight=balanced, tol=1e-9).fit(sp.csr_array(X), y, WEIGHT)
        theirs = RidgeClassifier(alpha=max(l2, 1e-9), class_weight=balanced)
        if balanced:  # which ridge counts, and we weigh
            share = np.array([WEIGHT[y == k].sum() for k in ours.classes_])
            theirs.set_params(class_weight=dict(zip(ours.classes_, WEIGHT.sum() / len(share) / share, strict=True)))
        theirs.fit(X, y, WEIGHT)
        assert ours.converged_ and ours.n_passes_ <= 8  # of 6 features
        np.testing.assert_allclose(ours.coef_, np.atleast_2d(theirs.coef_), atol=1e-7)
        np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-7)
        np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    assert not hasattr(ours, "predict_proba")


def test_least_squares_of_a_start_go_the_best_part_of_the_way_to_it():
    straight = snb.LeastSquaresClassifier(tol=1e-9).fit(X, Y)
    scaled = straight._model.shifted([1.0, 2.0, 3.0])  # wrong intercepts do no harm
    again = snb.LeastSquaresClassifier(tol=1e-6, start=scaled).fit(X, Y)
    assert again.n_passes_ == 1
    np.testing.assert_allclose(again.coef_, straight.coef_, atol=1e-8)
    np.testing.assert_allclose(again.intercept_, straight.intercept_, atol=1e-8)
    wide = snb.LeastSquaresClassifier(0.0).fit(1e6 + 1e3 * X, Y)  # far from 0, and of another size
    np.testing.assert_allclose(wide.coef_, snb.LeastSquaresClassifier(0.0).fit(X, Y).coef_ / 1e3, rtol=1e-3)


@pytest.mark.usefixtures("as_in_folds")
@pytest.mark.filterwarnings("ignore:max_passes:streamnb.StreamnbWarning")
def test_joint_margins_are_judged_by_the_probabilities_that_the_model_gives():
    folds = snb.fold_numbers(len(Y), 3)
    asked = {"folds": folds, "scoring": ["neg_log_loss", "roc_auc"], "max_passes": 2}
    chosen = snb.MarginClassifierCV(1.0, scheme="joint", **asked).fit(X, Y)
    alone, at = snb.MarginClassifier(1.0, scheme="joint", max_passes=2), chosen.cv_results_["params"].tolist()
    losses = []
    for fold in range(3):
        model = alone.fit(X[folds != fold], Y[folds != fold])
        losses.append(-log_loss(Y[folds == fold], model.predict_proba(X[folds == fold]), labels=model.classes_))
    point = at.index({"l2": 1.0, "l1": 0.0, "max_passes": 2})
    assert chosen.cv_results_["mean_test_score"][point] == pytest.approx(np.mean(losses), rel=1e-9)


UNITS = X * np.array([1e-3, 1.0, 50.0, 1e3, 1.0, 1.0]) * [1, 1, 1, 1, 1, 0] + [0, 0, 0, 0, 7, 0]  # and a constant one
STANDARD = {
    "softmax": snb.SoftmaxRegression(2.0, **CLOSE),
    "l1": snb.SoftmaxRegression(0.5, 2.0, **CLOSE),
    "margin": snb.MarginClassifier(2.0, **CLOSE),
    "squares": snb.LeastSquaresClassifier(2.0, **CLOSE),
    "products": snb.LeastSquaresClassifier(2.0, solver="products"),
}


def standardised(rows, by, weight=None):
    """Rows, centred and scaled by the means and standard deviations of other rows."""
    mean = np.average(by, axis=0, weights=weight)
    spread = np.sqrt(np.average((by - mean) ** 2, axis=0, weights=weight))
    return (rows - mean) / np.where(np.ptp(by, axis=0) > 0.0, spread, 1.0)


@pytest.mark.parametrize("name", STANDARD)
def test_sparse_rows_are_standardised_as_dense_ones_are(name):
    """A twin is fitted to dense rows that were centred and divided by their standard deviation beforehand."""
    dense, sparse = standardised(UNITS, UNITS, WEIGHT), sp.csr_array(UNITS)
    twin = clone(STANDARD[name]).fit(dense, Y, WEIGHT)
    model = clone(STANDARD[name]).set_params(standardize=True).fit(sparse, Y, WEIGHT)
    found, expected = model.decision_function(sparse), twin.decision_function(dense)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(model.coef_, twin.coef_, atol=1e-6)
    cuts = [0, 1, 40, 41, N]
    pieces = [(sparse[a:b], Y[a:b], WEIGHT[a:b]) for a, b in pairwise(cuts)]
    in_pieces = clone(model).fit(lambda: iter(pieces), n_threads=2)
    assert np.array_equal(in_pieces.coef_, model.coef_) and np.array_equal(in_pieces.intercept_, model.intercept_)


@pytest.mark.parametrize("kind", ["SoftmaxRegression", "MarginClassifier"])
def test_folds_are_standardised_by_the_rows_outside_them(kind):
    folds = np.arange(N) % 2
    model = getattr(snb, f"{kind}CV")([2.0], folds=folds, scoring="accuracy", standardize=True, max_passes=200)
    model.fit(sp.csr_array(UNITS), Y)
    for fold in (0, 1):
        rest, held = UNITS[folds != fold], UNITS[folds == fold]
        own = getattr(snb, kind)(2.0, **CLOSE).fit(standardised(rest, rest), Y[folds != fold])
        expected = own.score(standardised(held, rest), Y[folds == fold])
        assert abs(model.cv_results_[f"split{fold}_test_score"][-1] - expected) < 1.5 / len(held)  # one row, on an edge


def test_sparse_rows_stay_sparse():
    n, d = 400, 20_000  # 64 MB as a dense table
    columns = np.random.default_rng(0).integers(0, d, (n, 10))
    rows = sp.csr_array((np.ones(10 * n), columns.ravel(), 10 * np.arange(n + 1)), (n, d))
    model = snb.SoftmaxRegression(tol=0.1, standardize=True)
    model.fit(rows[:50], np.arange(50) % 2)  # to compile
    tracemalloc.start()
    model.fit(rows, np.arange(n) % 2).predict(rows)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 20e6

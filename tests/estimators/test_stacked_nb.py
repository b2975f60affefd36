"""Stacks of naive Bayes beside the same made by hand, row by row; and that nothing of a label is in its margins."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics import roc_auc_score

import streamnb as snb
from tests.support.refusals import refuses

rng = np.random.default_rng(0)
N = 240
Y = rng.integers(0, 3, N)
X = rng.poisson(1.0 + 2.0 * rng.random((N, 1)) * (Y[:, None] == np.arange(6) % 3), (N, 6)).astype(float)
SETS = np.c_[X[:, 0] > 1, X[:, 1] + X[:, 2] > 4, rng.integers(0, 2, N)].astype(int)
W = rng.choice([0.5, 1.0, 2.0], N)
FAMILIES = ["poisson", snb.LinearNB("bernoulli", binarize=1.0), "gaussian"]


def singles():
    return [f if isinstance(f, snb.LinearNB) else snb.LinearNB(f) for f in FAMILIES]


def by_hand(final, y, number, weight):
    """The second level fitted to margins out of fold, and the margins of rows by all models."""
    columns, every = [], []
    for model in singles():
        out, mean = np.zeros((N, 3)), np.zeros((N, 3))
        for fold in np.unique(number):
            rest = number != fold
            model.fit(X[rest], y[rest], None if weight is None else weight[rest])
            out[~rest] = model.decision_function(X[~rest])
            mean += model.decision_function(X) / len(np.unique(number))
        columns.append(out)
        every.append(mean)
    return final.fit(np.hstack(columns), y, weight), np.hstack(every)


@pytest.mark.parametrize(
    ("final", "y"),
    [
        (snb.SoftmaxRegression(10.0, tol=1e-2), Y),
        (snb.LinearNB(snb.Gaussian(covariance="pooled", shrinkage=(1.0, 0.01))), Y),
        (snb.LeastSquaresClassifier(100.0, solver="products"), SETS),
    ],
    ids=["softmax", "covariance", "labels"],
)
def test_it_is_what_one_would_do_by_hand(final, y, tmp_path):
    model = snb.StackedNB(FAMILIES, final, folds=3, seed=4).fit(sp.csr_array(X), y, W)
    level, margins = by_hand(final, y, snb.fold_numbers(N, 3, seed=4), W)
    np.testing.assert_allclose(model.final_.coef_, level.coef_, rtol=1e-6, atol=1e-9)
    scores = level.decision_function(margins)
    np.testing.assert_allclose(model.decision_function(X), scores, rtol=1e-6, atol=1e-8)
    np.testing.assert_array_equal(model.predict(X), level.predict(margins))
    assert model.score(X, y, W) == pytest.approx(level.score(margins, y, W))
    assert hasattr(model, "predict_proba") == hasattr(level, "predict_proba")
    if not isinstance(final, snb.SoftmaxRegression):
        assert model.report_.rows == 2 * N  # one scan for all families and folds, one for the second level
    model.save(tmp_path / "m.snb")
    loaded = snb.load(tmp_path / "m.snb")
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    assert repr(loaded) == repr(model)


def test_folds_that_are_given_and_groups():

    number, final = np.arange(N) % 3, "gaussian"
    model = snb.StackedNB(FAMILIES, final, folds=number).fit(X, Y)
    level, _ = by_hand(snb.LinearNB(final), Y, number, None)
    np.testing.assert_allclose(model.final_.coef_, level.coef_, rtol=1e-9)
    together = snb.StackedNB(FAMILIES, final, folds=3).fit(X, Y, groups=np.arange(N) // 2)
    alone = snb.StackedNB(FAMILIES, final, folds=3).fit(X, Y)
    assert not np.array_equal(together.final_.coef_, alone.final_.coef_)


def test_labels_that_are_noise_leave_no_trace_in_the_margins():
    x, y = rng.normal(size=(3000, 80)), rng.integers(0, 2, 3000)
    model = snb.StackedNB(["gaussian", snb.Laplace()], "gaussian").fit(x, y)
    found = model.final_.stats_  # of margins out of fold: a column tells as much as its class means differ
    z = np.diff(found.sum / found.weight[:, None], axis=0) / np.sqrt(found.scatter().sum(axis=0) / 3000)
    assert np.abs(z).max() < 0.1  # in sample it is about 0.3, and an area under the curve of .59
    alone = snb.LinearNB("gaussian").fit(x, y)
    assert roc_auc_score(y, alone.decision_function(x)) > 0.57
    found = snb.search(x[:1000], y[:1000], families=[], models=[model], folds=3, scoring="roc_auc", show=False)
    assert 0.45 < found.results_["roc_auc"][0] < 0.55


def test_probabilities_are_calibrated_by_rows_held_back():
    model = snb.StackedNB(FAMILIES, folds=3).fit(X[:150], Y[:150])
    before = model.predict_proba(X[150:])
    after = model.calibrate(X[150:], Y[150:]).predict_proba(X[150:])
    own = np.arange(N - 150), Y[150:]
    assert -np.log(after[own]).mean() < -np.log(before[own]).mean()


@pytest.mark.filterwarnings("ignore:outside fold")
def test_a_fold_that_has_all_rows_of_a_label_is_told():
    rare = SETS.copy()
    rare[:, 2] = np.arange(N) < 2
    with pytest.warns(snb.StreamnbWarning, match=r"outside fold 0 no row has \[2\]"):
        model = snb.StackedNB(FAMILIES, folds=(np.arange(N) >= 2).astype(int)).fit(X, rare)
    assert np.isfinite(model.decision_function(X)).all()


def test_weights_that_do_not_fit_and_one_class_are_refused():
    wide = sp.csr_array(np.tile(X, (1, 200)))
    with pytest.raises(MemoryError, match=r"weights for 3 margins of 1,200 features without each of 5 folds"):
        snb.StackedNB(["poisson"]).fit(wide, Y, memory_limit="160kB")
    refuses(ValueError, "outside fold 0", lambda: snb.StackedNB(["poisson"], folds=Y[Y < 2]).fit(X[Y < 2], Y[Y < 2]))

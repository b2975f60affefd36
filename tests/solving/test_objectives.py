"""What the scan tells of the start: the loss there, and the gradient, as multiples of t*."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import expit

import streamnb as snb
from streamnb.solving import objectives
from streamnb.solving.objectives import LeastSquares, Logistic, RowSums, Softmax, SquaredHinge

rng = np.random.default_rng(1)
X = rng.normal(size=(60, 4))
Y = np.array(["ash", "birch", "cedar"])[np.arange(60) % 3]
SETS = (rng.random((60, 3)) < 0.4).astype(int)
WEIGHT = rng.random(60)


def scanned(y):
    return snb.scan(X, y, sample_weight=WEIGHT, moments=[*objectives.MOMENTS, "nonzero"])


@pytest.mark.parametrize("objective", [Softmax(), Logistic(), SquaredHinge()], ids=repr)
@pytest.mark.parametrize("y", [Y, Y[Y != "cedar"], SETS], ids=["classes", "two", "labels"])
def test_loss_and_gradient_at_the_start_are_those_of_the_rows(objective, y):
    two = len(y) < 60
    if not objective.of_rows and y is not Y:
        return
    kept = Y != "cedar" if two else slice(None)
    x, w = X[kept], WEIGHT[kept]
    stats = snb.scan(x, y, sample_weight=w, moments=objectives.MOMENTS)
    sums = RowSums.of(stats)
    scores = np.tile(objective.intercepts(sums.share), (len(x), 1))
    given = stats.classes if y.ndim == 1 else None
    labels = y if given is not None else sp.csr_array(y)
    residual, losses = objective.losses(scores, objective.targets(labels, stats.classes, 0))
    np.testing.assert_allclose(objective.at_start(sums), w @ losses, rtol=1e-12)
    t = sums.own - sums.share * sums.whole[:, None]
    np.testing.assert_allclose(-objective.slope * t, x.T @ (w[:, None] * residual), atol=1e-12)
    np.testing.assert_allclose(w @ residual, 0.0, atol=1e-12)


def test_logistic_also_where_scores_are_large():
    scores = np.vstack([rng.normal(size=(30, 4)), [[800.0, -800.0, np.inf, -np.inf]] * 2])
    own = np.vstack([rng.random((30, 4)) < 0.5, [[1, 1, 1, 0], [0, 0, 1, 0]]]).astype(np.uint8)
    residual, losses = Logistic().losses(scores, own)
    np.testing.assert_allclose(residual, expit(scores) - own, atol=1e-15)
    np.testing.assert_allclose(losses[:30], np.logaddexp(0.0, (1 - 2.0 * own[:30]) * scores[:30]), atol=1e-14)
    np.testing.assert_allclose(losses[30:], [[0.0, 800.0, 0.0, 0.0], [800.0, 0.0, 0.0, 0.0]], atol=1e-300)
    np.testing.assert_allclose(Logistic().hessian(scores, own), expit(scores) * expit(-scores), rtol=1e-13)
    cut = [Logistic().losses(scores[i : i + 1], own[i : i + 1]) for i in range(32)]
    for whole, parts in zip((residual, losses), zip(*cut, strict=True), strict=True):
        np.testing.assert_array_equal(whole, np.vstack(parts))  # in the same bits, wherever a row stands


def test_bounds_hold_for_the_sums_they_are_of():
    sums = RowSums.of(scanned(SETS))
    x = np.column_stack([X, np.ones(60)])
    assert (Softmax().bounds(sums, 1.0) >= (WEIGHT @ np.abs(x)) * (1 - 1e-15)).all()
    scores = rng.normal(size=(60, 3))
    residual, losses = SquaredHinge().losses(scores, SETS.astype(np.uint8))
    most = float((WEIGHT @ losses).sum())
    found = np.abs(x).T @ (WEIGHT[:, None] * np.abs(residual))
    assert (found <= SquaredHinge().bounds(sums, most)[:, None]).all()


def test_rows_on_their_right_sides_have_no_optimum():
    share = np.array([0.5, 0.25, 0.0])
    assert Logistic().separated(np.array([0.6, 3.0, 0.0]), share)
    assert not Logistic().separated(np.array([0.7, 3.0, 0.0]), share)
    assert not Softmax().separated(np.array([0.7]), share) and Softmax().separated(np.array([0.6]), share)
    assert SquaredHinge().bounded and LeastSquares().bounded and not Softmax().bounded


def test_a_feature_that_one_side_never_has_parts_rows():
    def parting(x, y, **more):
        return RowSums.of(snb.scan(x, y, moments=objectives.MOMENTS, **more)).parting()

    common, rare = [1.0, 2.0, 0.5, 1.0, 3.0, 0.0], [0.0, 0.0, 0.0, 0.0, 2.0, 0.0]
    x = np.column_stack([common, rare])
    assert parting(x, [0, 1, 2, 0, 1, 2]) == (1, 0)  # none of class 0
    assert parting(x, [0, 1, 0, 1, 1, 0]) == (1, 0)  # of two classes there is one row of weights
    assert parting(x - 1.0, [0, 1, 0, 1, 1, 0]) is None and parting(x[:, :1], [0, 1, 0, 1, 1, 0]) is None
    assert parting(x[:, :1], [0, 1, 0, 1, 1, 0], classes=[0, 1, 2]) is None  # a class without rows parts nothing


def test_words_that_no_row_of_the_fit_had_do_not_shorten_the_others():
    rows = np.random.default_rng(0).poisson(1.0, (60, 4))
    model = snb.SoftmaxRegression(0.1, idf=True, normalize="l2").fit(rows * [1, 1, 1, 0], rows[:, :3].argmax(axis=1))
    np.testing.assert_array_equal(model.predict_proba(rows), model.predict_proba(rows * [1, 1, 1, 0]))


def test_one_kind_of_labels():
    with pytest.raises(ValueError, match="indicator of labels here and was one label a row"):
        Softmax().targets(sp.csr_array(SETS), np.unique(Y), 0)
    with pytest.raises(ValueError, match=r"label 'yew' at row 8"):
        Softmax().targets(np.array(["ash", "yew"]), np.unique(Y), 7)
    assert Softmax().targets(Y[:3], np.unique(Y), 0).tolist() == [0, 1, 2]


@pytest.mark.parametrize("wrong", [-1.0, np.inf, np.nan])
def test_strengths_are_finite_and_not_negative(wrong):
    with pytest.raises(ValueError, match="l2="):
        objectives.check_strength("l2", wrong)

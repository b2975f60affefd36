"""Curvature from a sample of rows: derivatives of the gradient, fewer reads, the same bits for any blocks."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

import streamnb as snb
from streamnb.passes.contract import RunOptions
from streamnb.passes.run import run_reads
from streamnb.rows.opening import opened
from streamnb.solving import sampled_curvature
from streamnb.solving.coordinates import CentredFeatures
from streamnb.solving.data import TrainingRows
from streamnb.solving.descent import Diagonal, Penalties
from streamnb.solving.objectives import MOMENTS, Logistic, Softmax
from streamnb.solving.sampled_curvature import LEAST_ROWS, SampledCurvature, Sampling, TrainingSample
from tests.support import training

RNG = np.random.default_rng(3)
X = sp.random_array((400, 12), density=0.4, rng=RNG).toarray() + 0.1 * (np.arange(12) == 3)
Y = (X @ RNG.normal(size=(12, 3)) + RNG.normal(size=(400, 3))).argmax(axis=1)
PENALTIES = Penalties(0.7, 0.0)


def curved(objective, y, rows=X, fold=None):
    """The curvature of a sample of all rows, and its coordinates."""
    data = training.scanned(rows, y, objective)
    stats = snb.scan(rows, y, moments=MOMENTS)
    sample, report = run_reads(
        TrainingSample.of(stats, TrainingRows(opened(rows, y), 12, stats.options), RunOptions(), 100.0, Sampling())
    )
    assert report.reads == 1 and len(sample.rows.weight) == len(y)
    sample = sample if fold is None else replace(sample, rows=replace(sample.rows, fold=fold)).outside(1)
    at = CentredFeatures(data.sums)
    n_features, n_rows = data.task.weights.shape
    diagonal = Diagonal(at.spread[:, 0], np.ones(n_rows), np.append(np.full(n_features - 1, PENALTIES.l2), 0.0))
    return SampledCurvature(sample, objective, None, at, PENALTIES, diagonal), at


@pytest.mark.parametrize("objective", [Softmax(), Logistic()])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_it_is_the_derivative_of_the_gradient(objective, form):
    y = Y if isinstance(objective, Softmax) else Y % 2
    model, _ = curved(objective, y, form(X))
    n_rows = 3 if isinstance(objective, Softmax) else 1
    point, step = RNG.normal(size=(2, 13, n_rows))
    model.move_to(point)
    ahead, behind = (model._visit(point + sign * 1e-5 * step).gradient for sign in (1, -1))
    np.testing.assert_allclose(model.times(step), (ahead - behind) / 2e-5, rtol=1e-5, atol=1e-6)


def test_digits_converge_in_a_third_of_the_reads():
    rows, labels = load_digits(return_X_y=True)
    model = snb.SoftmaxRegression(1.0, max_passes=20).fit(rows / 16.0, labels)
    assert model.converged_ and model.n_passes_ <= 20  # 39 reads without a sample
    with pytest.warns(snb.StreamnbWarning, match="6 reads were not enough"):
        early = snb.SoftmaxRegression(1.0, max_passes=6).fit(rows / 16.0, labels)
    assert early.history_["objective"][-1] < 1.01 * model.history_["objective"][-1]


@pytest.mark.parametrize("least", [sampled_curvature.LEAST_OF_GROUP, 1])
def test_the_sample_does_not_depend_on_blocks_threads_or_form(monkeypatch, least):
    monkeypatch.setattr(sampled_curvature, "LEAST_OF_GROUP", least)  # with 1, threads share the sampled rows
    monkeypatch.setattr(sampled_curvature, "MIN_ROWS", 64)
    monkeypatch.setattr(sampled_curvature, "CACHED_SCORES", (1, 1))
    n = 3 * LEAST_ROWS
    rows = np.zeros((n, 48))  # of which the sample has few of the last 40 columns
    rows[:, :8] = np.where(RNG.random((n, 8)) < 0.5, RNG.normal(size=(n, 8)), 0.0)
    rows[np.arange(40) * 70, np.arange(8, 48)] = 1.0
    y = (rows[:, :3] + RNG.normal(size=(n, 3))).argmax(axis=1)
    weight = RNG.random(n)
    pieces = [(rows[i : i + 701], y[i : i + 701], weight[i : i + 701]) for i in range(0, n, 701)]
    for kind in (snb.SoftmaxRegression, snb.MarginClassifier):
        whole = kind(1.0).fit(rows, y, weight)
        streamed = kind(1.0).fit(lambda: iter(pieces), n_threads=2)
        sparse = kind(1.0).fit(sp.csr_array(rows), y, weight, n_threads=1)
        for other in (streamed, sparse):
            np.testing.assert_array_equal(other.coef_, whole.coef_)
            np.testing.assert_array_equal(other.intercept_, whole.intercept_)
    exact = snb.SoftmaxRegression(1.0, tol=1e-6).fit(rows, y, weight)
    plain = LogisticRegression(C=1.0, tol=1e-9, max_iter=2000).fit(rows, y, weight)
    np.testing.assert_allclose(exact.coef_, plain.coef_ - plain.coef_.mean(axis=0), atol=1e-4)


def test_a_class_without_weight_stays_out():
    weight = np.where(Y == 2, 0.0, 1.0)
    model = snb.SoftmaxRegression(1.0, tol=1e-8).fit(X, Y, weight)
    two = snb.SoftmaxRegression(1.0, tol=1e-8).fit(X[Y < 2], Y[Y < 2])
    found = model.predict_proba(X)
    assert not found[:, 2].any()
    assert np.isfinite(found).all() and found[:, 1] == pytest.approx(two.predict_proba(X)[:, 1], abs=1e-5)


def test_a_sample_without_weight_or_of_bytes_does_no_harm():
    n = 8 * LEAST_ROWS
    rows, y = RNG.normal(size=(n, 3)), RNG.integers(0, 2, n)
    for seed in range(2):
        weight = np.zeros(n)
        weight[[*np.flatnonzero(y == 0)[seed : seed + 2], *np.flatnonzero(y == 1)[seed : seed + 2]]] = 1.0
        assert snb.SoftmaxRegression(0.1).fit(rows, y, weight).converged_
    small = np.clip(rows * 100.0, -128, 127).astype(np.int8)
    whole, bytes_ = (snb.SoftmaxRegression().fit(form, y) for form in (small.astype(np.float64), small))
    np.testing.assert_array_equal(bytes_.coef_, whole.coef_)


def test_sampled_rows_may_have_no_values():
    rows, y = np.zeros((20_000, 4)), np.arange(20_000) % 3
    for row in range(0, 28, 7):  # of which the sample has some
        rows[:, 1] = 0.0
        rows[row, 1] = 50.0
        model = snb.MarginClassifier(0.001).fit(rows, y)
        assert model.converged_ and np.isfinite(model.coef_).all()


def test_a_class_of_factor_0_is_left_out():
    for kind in (snb.SoftmaxRegression, snb.MarginClassifier):
        model = kind(class_weight={2: 0.0}).fit(X, Y)
        assert model.converged_ and np.abs(model.coef_[:2]).max() > 0.1


def test_a_penalty_that_outweighs_the_loss_needs_no_sample():
    model = snb.SoftmaxRegression(1e6).fit(X, Y)
    assert model.converged_ and model.n_passes_ <= 3 and model.report_.reads == model.n_passes_ + 1

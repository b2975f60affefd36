"""The parts of the fit of an additive model: samples, memory, and pairs that are found."""

import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest

import streamnb as snb
from streamnb.additive.choice import best_pairs, pair_gains
from streamnb.additive.fit import CodedRows

FRAME = pd.DataFrame({"n": [1.0, 2.0, np.nan, 4.0] * 10, "c": ["a", "b", "b", "a"] * 10})


def test_dates_are_coded_by_part():
    frame = FRAME.assign(day=pd.date_range("2026-01-01", periods=40, freq="11h"))
    rows = snb.table(frame, np.arange(40) % 2)
    assert {"day: weekday", "day: hour"} <= set(CodedRows.of_table(rows, rows.encoding).features)


@pytest.mark.filterwarnings("ignore:.*of those tried")
def test_equal_points_of_two_stages_are_told_apart():
    rng = np.random.default_rng(13)
    rows = rng.normal(size=(300, 4))
    y = rows[:, 0] * rows[:, 1] + rng.normal(size=300) * 0.7 > 0
    found = snb.AdditiveClassifier(l2=[3.0, 1.0]).fit(rows, y)
    assert found.best_score_ == found.cv_results_["mean_test_score"].max()


def test_a_rare_class_is_in_the_sample(monkeypatch):
    monkeypatch.setattr("streamnb.additive.fit.SAMPLE", 300)
    rows = np.random.default_rng(0).normal(size=(20_000, 1))
    y = np.zeros(len(rows), int)
    y[::2000] = 1
    found = snb.AdditiveClassifier(0, l2=1.0, resolutions=(4, 16)).fit(rows, y)
    np.testing.assert_allclose(found.predict_proba(rows)[:, 1].mean(), y.mean(), rtol=0.05)


def test_pairs_have_a_penalty_of_their_own():
    x = np.random.default_rng(0).uniform(-1, 1, (1500, 3))
    y = x[:, 0] * x[:, 1] > 0
    found = snb.AdditiveClassifier(resolutions=(4, 16)).fit(x[:1000], y[:1000])
    assert found.best_params_["l2"] <= 1.0  # features by themselves say nothing, and would have the largest
    assert found.score(x[1000:], y[1000:]) > 0.95


def test_the_number_of_pairs_follows_from_their_weights_and_never_from_memory(monkeypatch):
    x = np.random.default_rng(0).uniform(-1, 1, (600, 4))
    y = (x[:, 0] * x[:, 1] > 0).astype(int)
    model = snb.AdditiveClassifier("auto", l2=1.0, pair_factor=3.0, resolutions=(4, 16))
    expected = model.fit(x, y).best_params_, model.predict_proba(x)
    assert expected[0]["interactions"] > 0
    assert model.fit(x, y, memory_limit="4MB").best_params_ == expected[0]
    np.testing.assert_array_equal(model.predict_proba(x), expected[1])
    with pytest.raises(MemoryError, match=r"5 pairs of features would take .* about 2 fit"):
        model.fit(x, y, memory_limit="2MB")
    with pytest.raises(MemoryError, match=r"a sample of 600 rows of 4 features would take 153.6 kB"):
        model.fit(x, y, memory_limit="100kB")
    monkeypatch.setattr("streamnb.additive.choice.MOST_WEIGHTS", 1)
    assert model.fit(x, y).best_params_["interactions"] == 0


def test_few_rows_of_many_columns_take_little_memory():
    """Weights of 33,000 indicators are 270 kB; fits kept some 340 such arrays.

    A tenth of the limit is for what counts the lines that are reached.
    """
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 400))
    y = (x[:, 0] + rng.normal(size=500) > 0).astype(int)
    model = snb.AdditiveClassifier(0, l2=[1.0, 3.0, 10.0], folds=5)
    model.fit(x[:, :3], y, n_threads=1)
    tracemalloc.start()
    try:
        with warnings.catch_warnings(action="ignore"):
            model.fit(x, y, n_threads=1)
        assert tracemalloc.get_traced_memory()[1] < 88e6
        tracemalloc.reset_peak()
        with pytest.raises(MemoryError, match=r"an additive model of these features .* memory_limit allows 30"):
            model.fit(x, y, n_threads=1, memory_limit="30MB")
        assert tracemalloc.get_traced_memory()[1] < 30e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("loss", [None, "squared", "gamma"])
def test_weights_are_those_of_all_rows_whatever_sample_stands_for_them(loss, monkeypatch):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4000, 3))
    y = np.exp(0.3 * x[:, 0] * x[:, 1] + np.sin(x[:, 2]) + 0.3 * rng.normal(size=4000))
    how = {"interactions": [(0, 1)], "l2": 10.0, "pair_factor": 3.0, "resolutions": (4, 16)}
    model = snb.AdditiveClassifier(**how) if loss is None else snb.AdditiveRegressor(loss, **how)
    expected = model.fit(x, y > 1.0 if loss is None else y).term("x2")["score"]
    assert model.n_passes_ == 1
    monkeypatch.setattr("streamnb.additive.fit.TRAINED_VALUES", 4 * 2500)
    found = model.fit(x, y > 1.0 if loss is None else y).term("x2")["score"]
    assert model.converged_
    assert model.n_passes_ > 1
    np.testing.assert_allclose(found, expected, atol=0.02)


def test_rows_to_train_on_fit_into_memory_also_of_many_classes(monkeypatch):
    monkeypatch.setattr("streamnb.additive.fit.SAMPLE", 800)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(10_000, 2))
    y = np.digitize(x[:, 0] + 0.3 * rng.normal(size=len(x)), np.linspace(-1.5, 1.5, 15))
    model = snb.AdditiveClassifier(0, l2=1.0, resolutions=(4, 8), folds=2)
    with pytest.raises(MemoryError, match=r"training an additive model of 2 terms with 10,000 sampled rows would take"):
        model.fit(x, y, memory_limit="5MB")
    expected = model.fit(x, y).predict_proba(x)
    assert model.n_passes_ == 1
    monkeypatch.setattr("streamnb.additive.fit.TRAINED_SCORES", 16 * 2000)
    found = model.fit(x, y, memory_limit="5MB").predict_proba(x)
    assert model.converged_
    assert model.n_passes_ > 1
    np.testing.assert_allclose(found, expected, atol=0.02)


def test_few_rows_that_have_most_of_the_weight_are_trained_on(monkeypatch):
    monkeypatch.setattr("streamnb.additive.fit.TRAINED_VALUES", 3 * 1500)
    monkeypatch.setattr("streamnb.additive.fit.SAMPLE", 1000)
    rng = np.random.default_rng(0)
    x = rng.normal(size=(20_000, 3))
    y = x[:, 0] + np.sin(3 * x[:, 1]) + rng.logistic(size=len(x)) > 0
    weight = np.where(rng.random(len(x)) < 0.02, 100.0, 0.1)
    model = snb.AdditiveClassifier(0, l2=10.0, resolutions=(4, 16)).fit(x, y, weight)
    assert model.converged_
    assert model.n_passes_ < 10


def rows(seed=0, n=4000, d=4):
    """Steps of features, and slopes and curvatures of a null model where features 1 and 2 act together."""
    rng = np.random.default_rng(seed)
    steps = rng.integers(0, 4, (n, d))
    y = (rng.random(n) < np.where((steps[:, 1] > 1) == (steps[:, 2] > 1), 0.8, 0.2)).astype(float)
    p = np.full(n, y.mean())
    return steps, (p - y)[:, None], (p * (1.0 - p))[:, None], rng.integers(0, 3, n)


def naive(steps, slopes, curvature, l2, i, j):
    def drop(keys):
        total = 0.0
        for key in np.unique(keys):
            some = keys == key
            G, H = slopes[some].sum(), curvature[some].sum()
            total += (G * G - H) / (H + l2)
        return total

    cells = steps[:, i] * 100 + steps[:, j]
    return drop(cells) - drop(steps[:, i]) - drop(steps[:, j])


def test_gains_are_those_of_a_loop_over_cells():
    steps, slopes, curvature, fold = rows()
    gains = pair_gains(steps, slopes, curvature, fold, 3, 2.0)
    for number in range(4):
        some = np.ones(len(steps), bool) if number == 3 else fold != number
        for i, j in ((0, 1), (1, 2), (2, 3)):
            expected = naive(steps[some], slopes[some, 0], curvature[some, 0], 2.0, i, j)
            np.testing.assert_allclose(gains[number, i, j], expected, rtol=1e-4, atol=1e-3)


def test_rows_without_a_step_are_left_out():
    steps, slopes, curvature, fold = rows()
    steps[:, 0] = -1
    gains = pair_gains(steps, slopes, curvature, fold, 3, 1.0)
    assert np.all(gains[:, 0] == 0.0)
    assert best_pairs(gains[3], 10)[0] == (1, 2)


def test_drift_counts_rows_and_not_their_weight():
    rng = np.random.default_rng(0)
    x = pd.DataFrame(rng.normal(size=(500, 2)), columns=["a", "b"])
    model = snb.AdditiveRegressor(interactions=0, l2=1.0, resolutions=(4,), folds=3)
    alike = model.fit(x, x["a"]).drift(x)
    weighed = model.fit(x, x["a"], np.full(500, 0.01)).drift(x)
    assert alike.n_before == weighed.n_before == 500
    assert model.fit(x, x["a"]).drift(x.assign(b=x["b"] + 3.0)).moved == ["b"]

"""The parts of the fit of an additive model; the whole is checked in tests/estimators/test_additive.py."""

import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest

import streamnb as snb
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
    """Weights of 33,000 indicators are 270 kB; fits kept some 340 such arrays."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 400))
    y = (x[:, 0] + rng.normal(size=500) > 0).astype(int)
    model = snb.AdditiveClassifier(0, l2=[1.0, 3.0, 10.0], folds=5)
    model.fit(x[:, :3], y, n_threads=1)
    tracemalloc.start()
    try:
        with warnings.catch_warnings(action="ignore"):
            model.fit(x, y, n_threads=1)
        assert tracemalloc.get_traced_memory()[1] < 78e6
        tracemalloc.reset_peak()
        with pytest.raises(MemoryError, match=r"an additive model of these features .* memory_limit allows 30"):
            model.fit(x, y, n_threads=1, memory_limit="30MB")
        assert tracemalloc.get_traced_memory()[1] < 30e6
    finally:
        tracemalloc.stop()

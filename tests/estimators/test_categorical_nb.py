"""CategoricalNB of features with categories of high numbers: memory goes with those that are seen."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import naive_bayes

import streamnb as snb
from streamnb.core import memory
from streamnb.estimators import categorical_nb
from streamnb.stats.tables import SparseTable

HIGHEST = 2**31 - 1


def peak_of(function):
    """The most bytes that were held at once."""
    tracemalloc.start()
    try:
        return function(), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def rows_with(*categories, n_rows=60):
    """Rows of three features; the first has these categories too."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 4, (n_rows, 3))
    x[:: n_rows // 12, 0] = np.resize(categories, 12)
    return x, rng.integers(0, 2, n_rows)


def by_hand(x, y, new, alpha=1.0, n_categories=None):
    """Joint logs of rows by the formula, of those categories that these rows have."""
    found = []
    for k in np.unique(y):
        mine, logs = x[y == k], np.log(np.mean(y == k))
        for j, column in enumerate(new.T):
            n = x[:, j].max() + 1 if n_categories is None else max(n_categories[j], x[:, j].max() + 1)
            logs = logs + np.log((mine[:, j] == column[:, None]).sum(axis=1) + alpha) - np.log(len(mine) + alpha * n)
        found.append(logs)
    return np.transpose(found)


@pytest.mark.parametrize("highest", [4_000_000, HIGHEST])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_categories_of_high_numbers_take_the_memory_of_those_that_are_seen(highest, form):
    x, y = rows_with(highest, 7, 123_456)
    model, peak = peak_of(lambda: snb.CategoricalNB().fit(form(x), y))
    assert peak < 30e6 and model.n_categories_.tolist() == [highest + 1, 4, 4]
    (found, labels), peak = peak_of(lambda: (model.predict_joint_log_proba(form(x)), model.predict(form(x))))
    expected = by_hand(x, y, x)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    assert peak < 30e6 and np.array_equal(labels, expected.argmax(axis=1))


@pytest.mark.parametrize("unseen", ["error", "ignore", "smooth"])
def test_they_are_those_of_scikit_learn(unseen, monkeypatch):
    x, y = rows_with(50_000, 7, 123)
    y[:3] = 2
    monkeypatch.setattr(categorical_nb, "FEW", 1 << 10)
    ours, theirs = (kind.CategoricalNB(alpha=0.3).fit(x, y) for kind in (snb, naive_bayes))
    ours.refit(unseen=unseen)
    new = x.copy()
    new[:4, 0] = 49_999, 8, 124, 0  # below the highest, and mostly in no row
    np.testing.assert_allclose(ours.predict_joint_log_proba(new), theirs.predict_joint_log_proba(new), rtol=1e-12)
    assert ours.n_categories_.tolist() == theirs.n_categories_.tolist()
    for name in ("category_count_", "feature_log_prob_"):
        for a, b in zip(getattr(ours, name), getattr(theirs, name), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.parametrize("unseen", ["ignore", "smooth", "error"])
def test_both_kinds_of_tables_give_the_same_bits(unseen, monkeypatch):
    x, y = rows_with(50_000, 7, 123)
    weight = np.random.default_rng(1).random(len(y))
    new = x.copy()
    new[:2, 0] = 60_000 if unseen != "error" else 40_000, 9
    found = []
    for few in (categorical_nb.FEW, 1 << 10):
        monkeypatch.setattr(categorical_nb, "FEW", few)
        model = snb.CategoricalNB(alpha=0.5, unseen=unseen, min_categories=[5, 9, 4]).fit(x, y, weight)
        parts = snb.CategoricalNB(alpha=0.5, unseen=unseen, min_categories=[5, 9, 4])
        for some in (slice(0, 1), slice(1, 20), slice(20, None)):
            parts.partial_fit(x[some], y[some], [0, 1], weight[some])
        for each in (model, parts):
            assert isinstance(each.stats_.sums.table("sum"), SparseTable) == (few == 1 << 10)
            found.append([each.predict_joint_log_proba(new), *each.category_count_, *each.feature_log_prob_])
    for others in found[1:]:
        assert all(np.array_equal(a, b) for a, b in zip(found[0], others, strict=True))


def test_a_high_number_may_come_late_and_be_forgotten(tmp_path):
    x, y = rows_with(HIGHEST, 5)
    (early, late), (seen, rest) = (x[:30], x[30:]), (y[:30], y[30:])
    early[:, 0] %= 4
    whole = snb.CategoricalNB(unseen="ignore").fit(np.vstack([early, late]), y)
    parts = snb.CategoricalNB(unseen="ignore").fit(early, seen).partial_fit(late, rest)
    assert np.array_equal(parts.predict_joint_log_proba(x), whole.predict_joint_log_proba(x))
    chunks = ((part, labels) for part, labels in ((early, seen), (late, rest)))
    streamed = snb.CategoricalNB(unseen="ignore").fit(chunks, n_threads=1)
    assert np.array_equal(streamed.predict_joint_log_proba(x), whole.predict_joint_log_proba(x))
    parts.save(tmp_path / "model.snb")
    read = snb.load(tmp_path / "model.snb")
    assert np.array_equal(read.predict_joint_log_proba(x), whole.predict_joint_log_proba(x))
    left = parts.forget(late, rest)
    expected = by_hand(early, seen, early, n_categories=[HIGHEST + 1, 4, 4])
    np.testing.assert_allclose(left.predict_joint_log_proba(early), expected, rtol=1e-12)


@pytest.mark.parametrize("least", [4_000_000, 2**31, 2**50, np.array([3, 2**40, 5], np.uint64)])
def test_many_categories_that_no_row_has_take_no_memory(least):
    x, y = rows_with(9)
    model, peak = peak_of(lambda: snb.CategoricalNB(min_categories=least).fit(x, y))
    assert peak < 30e6 and model.n_categories_.dtype == np.int64
    expected = by_hand(x, y, x, n_categories=np.broadcast_to(least, 3).astype(float))
    np.testing.assert_allclose(model.predict_joint_log_proba(x), expected, rtol=1e-12)
    new = x.copy()
    new[0, 1] = 3_999_999  # which none had
    assert np.isfinite(model.predict_joint_log_proba(new)).all()


def test_min_categories_beyond_all_integers_are_refused():
    x, y = rows_with(9)
    with pytest.raises(ValueError, match="min_categories"):
        snb.CategoricalNB(min_categories=np.uint64(2**63)).fit(x, y)


@pytest.mark.parametrize("name", ["category_count_", "feature_log_prob_"])
def test_tables_too_large_to_be_held_are_refused_with_the_numbers(name, monkeypatch):
    monkeypatch.setattr(memory, "free_memory", lambda: 8 << 30)
    x, y = rows_with(HIGHEST)
    model = snb.CategoricalNB().fit(x, y)
    assert not hasattr(model, name) and name not in dir(model)
    with pytest.raises(AttributeError, match=r"category_count_ and .* of 2 classes and 2,147,483,656 categories.*GB"):
        getattr(model, name)
    assert len(model.predict(x)) == len(y)


def test_a_model_that_does_not_fit_into_memory_is_refused_with_the_numbers(monkeypatch):
    monkeypatch.setattr(categorical_nb, "FEW", 1 << 10)
    monkeypatch.setattr(categorical_nb, "LARGE", 1 << 8)
    x, y = rows_with(*range(0, 24_000, 2_000))
    model = snb.CategoricalNB().fit(x, y)
    with pytest.raises(MemoryError, match=r"2 classes and \d+ categories.*1.4 kB, and memory_limit allows 1.3 kB"):
        snb.CategoricalNB().fit(x, y, memory_limit=1300)
    assert len(model.predict(x)) == len(y)

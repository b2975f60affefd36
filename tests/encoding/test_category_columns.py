"""Numbers of categories become indicators of their values, learned in one pass."""

import datetime
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp

import streamnb as snb
from streamnb.core import persistence
from streamnb.encoding.category_columns import CategoryColumns, LevelsSeen, are_some_of, numbers_of
from streamnb.encoding.learning import learned_levels
from streamnb.passes.contract import RunOptions
from streamnb.passes.run import run_reads
from streamnb.rows.boundary import as_chunk
from streamnb.rows.opening import opened

rng = np.random.default_rng(1)
X = np.stack([rng.integers(0, 4, 200), 7 * rng.integers(0, 300, 200), rng.integers(0, 3, 200)], axis=1).astype(float)
FAMILY = snb.Mixed({"categorical": [0, 1], "poisson": ...})


def learned(X):
    return run_reads(
        learned_levels(FAMILY.coded_columns, opened(X, labelled=False), RunOptions(), "a test", None)
    ).whole


def indicators(X, levels):
    return np.concatenate([X[:, [0]] == levels.values[0], X[:, [1]] == levels.values[1], X[:, 2:]], axis=1)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, lambda X: X.astype(np.float32)])
def test_each_value_has_a_column_in_the_place_of_its_own(form, tmp_path):
    levels = learned(form(X))
    assert [each.tolist() for each in levels.values] == [np.unique(X[:, j]).tolist() for j in (0, 1)]
    found = levels.applied(as_chunk(form(X))[0])
    assert found.shape == (200, levels.n_columns) and found.has_canonical_format
    np.testing.assert_array_equal(found.toarray(), indicators(X, levels))
    new = X + 1.0
    np.testing.assert_array_equal(levels.applied(as_chunk(form(new))[0]).toarray(), indicators(new, levels))
    persistence.save(tmp_path / "levels.snb", levels)
    again = persistence.load(tmp_path / "levels.snb", CategoryColumns)
    assert again.names(["a", "b", "c"]) == levels.names(["a", "b", "c"])
    assert levels.names(["a", "b", "c"])[:5] == ["a=0", "a=1", "a=2", "a=3", f"b={np.unique(X[:, 1])[0]:.0f}"]


@pytest.mark.parametrize(("wrong", "said"), [(-1, "-1, which is not a"), (0.5, "0.5, which"), (np.nan, "missing")])
def test_what_is_no_category_is_named(wrong, said):
    bad = X.copy()
    bad[130, 1] = wrong
    with pytest.raises(ValueError, match=f"row 130, column 1, .*{said}|row 130, column 1, {said}"):
        snb.LinearNB(FAMILY).fit(bad, np.arange(200) % 2)
    model = snb.LinearNB(FAMILY).fit(X, np.arange(200) % 2)
    with pytest.raises(ValueError, match="row 130, column 1"):
        model.predict(bad)


def test_names_of_a_frame_and_other_widths():
    frame, y = pd.DataFrame(X, columns=["plane", "seat", "legs"]), np.arange(200) % 2
    model = snb.LinearNB(snb.Mixed({"categorical": ["plane", "seat"], "poisson": "legs"})).fit(frame, y)
    np.testing.assert_array_equal(model.coef_, snb.LinearNB(FAMILY).fit(X, y).coef_)
    assert model.column_names_[0] == "plane=0" and model.column_names_[-1] == "legs"
    more = frame.assign(a=0.0)[["a", "legs", "seat", "plane"]]
    np.testing.assert_array_equal(model.predict(more), model.predict(frame))
    with pytest.raises(ValueError, match=r"names|3 features"):
        model.predict(pd.DataFrame(np.zeros((1, 2)), columns=["plane", "seat"]))
    with pytest.raises(ValueError, match=r"read again|more than once"):
        snb.LinearNB("categorical").fit(iter([(X, y)]), keep="no")


def test_too_many_values_are_refused_by_memory_limit():
    seen = LevelsSeen(np.arange, 1000)
    with pytest.raises(MemoryError, match="the values of columns of categories"):
        seen.add_codes(np.arange(200.0)[:, None])


def test_a_damaged_state():
    good = learned(X)._to_state()
    for name, wrong in (("columns", np.array([1, 0])), ("n_values", np.array([1, 1])), ("n_features", 1)):
        with pytest.raises(ValueError, match=r"columns of categories|how many values"):
            CategoryColumns._from_state({**good, name: wrong})
    with pytest.raises(ValueError, match="rise"):
        CategoryColumns._from_state({**good, "values": good["values"][::-1]})


def test_values_of_any_kind_become_numbers_that_tell_them_apart():
    days = [datetime.date(2013, 1, 1), None, datetime.date(2013, 1, 2), datetime.date(2013, 1, 1)]
    frame = pd.DataFrame({
        "words": ["a", "b", None, "a"],
        "kinds": pd.Categorical(["a", "b", None, "a"]),
        "mixed": [1, "1", 1.0, True],
        "numbers": [0.5, np.nan, -1.0, 0.5],
        "times": pd.to_datetime(["2013-01-01", None, "2013-01-02", "2013-01-01"]),
        "days": days,
    })  # fmt: skip
    found = numbers_of(frame).to_numpy()
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found[:, 0], found[:, 1])
    np.testing.assert_array_equal(found[:, 3], frame["numbers"])
    for j, missing in ((0, 2), (4, 1), (5, 1)):
        assert np.isnan(found[missing, j]) and len(np.unique(found[:, j])) == 3 and found[0, j] == found[3, j]
    assert (found[:, 2] == 1.0).all() and numbers_of(frame, False)["mixed"][1] < 0.0  # as counters of 0.3 know "1"
    words = found[[0, 1], 0]
    np.testing.assert_array_equal(numbers_of([["a"], ["b"]])[:, 0], words)
    np.testing.assert_array_equal(numbers_of(np.array([[b"a"], [b"b"]]))[:, 0], words)
    assert words[0] == -1662791411250144.0, "of one value in every process, on every machine"
    same = np.ones((2, 2))
    assert numbers_of(same) is same


def test_nested_values_are_refused():
    with pytest.raises(TypeError, match="X has a list at row 1, column 'x'; a category should be"):
        numbers_of(pd.DataFrame({"x": ["a", ["b"]]}))
    times = pa.table({"x": pa.array([*range(20)]).cast(pa.time64("ns"))})
    with pytest.raises(snb.DataError, match=r"column 'x' holds values that Python lacks .* round them to microseconds"):
        snb.CategoryCounters().fit(times, [0, 1] * 10)


def test_a_value_in_each_row_is_warned_of_once():
    rows = np.column_stack([np.arange(120), np.arange(120) % 5, np.arange(120) * 3])
    y = np.arange(120) % 2
    for estimator in (snb.LinearNB("categorical"), snb.CategoryCounters(folds=2)):
        with pytest.warns(snb.StreamnbWarning, match="category of its own in column 0, 2 of X") as said:
            estimator.fit(rows, y)
        assert len(said) == 1
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            estimator.fit(rows[:, 1:2], y)
            estimator.fit(rows[:99], y[:99])  # too few to tell


def test_column_numbers_of_files_cannot_wrap_around():
    far = np.array([2**63 - 2, -3])
    assert not are_some_of(far, 10) and not are_some_of(np.array([3, 3]), 10) and are_some_of(np.array([0, 9]), 10)
    with pytest.raises(ValueError, match="some of all"):
        persistence.restored(
            CategoryColumns, {"n_features": 10, "columns": far, "values": np.ones(2), "n_values": np.ones(2, int)}
        )

import datetime
import warnings

import numpy as np
import pandas as pd
import pytest

import streamnb as snb
from streamnb.encoding.category_numbers import as_numbers, scattered


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
    found = as_numbers(frame)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found[:, 0], found[:, 1])
    np.testing.assert_array_equal(found[:, 3], frame["numbers"])
    for j, missing in ((0, 2), (4, 1), (5, 1)):
        assert np.isnan(found[missing, j]) and len(np.unique(found[:, j])) == 3 and found[0, j] == found[3, j]
    assert found[0, 2] == found[2, 2] == found[3, 2] == 1.0 != found[1, 2]
    words = found[[0, 1], 0]
    np.testing.assert_array_equal(as_numbers([["a"], ["b"]])[:, 0], words)
    np.testing.assert_array_equal(as_numbers(np.array([[b"a"], [b"b"]]))[:, 0], words)
    assert words[0] == -1662791411250144.0, "of one value in every process, on every machine"
    same = np.ones((2, 2))
    assert as_numbers(same) is same


def test_nested_values_are_refused():
    with pytest.raises(TypeError, match="X has a list at row 1, column 'x'; a category should be"):
        as_numbers(pd.DataFrame({"x": ["a", ["b"]]}))


def test_scattered_numbers_depend_on_all_columns_alone():
    a, b = np.arange(4096.0), np.repeat(np.nan, 4096)
    assert len(np.unique(scattered(a, b))) == 4096
    assert np.abs(np.bincount(scattered(a, n_bits=4).astype(int), minlength=16) - 256).max() < 80
    np.testing.assert_array_equal(scattered(0.0 * a), scattered(-0.0 * a))
    assert not (scattered(a, b) == scattered(b, a)).any()


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

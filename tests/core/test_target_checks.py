"""Targets: what is taken, and what is refused with the row that is wrong."""

from datetime import date, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import streamnb as snb
from streamnb.core.row_checks import check_targets, hint_at_classes


@pytest.mark.parametrize(
    "y", [[1, 2.5], np.array([1, 2], np.int8), pd.Series([1.5, 2]), [[1, 2], [3, 4]], [Decimal("2.5"), Decimal(1)]]
)
def test_numbers_become_float64(y):
    checked = check_targets(y)
    assert checked.dtype == np.float64
    np.testing.assert_array_equal(checked, np.array(y, np.float64))


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "^requires y to be passed"),
        (["a", "b"], "Unknown label type: y has dtype <U1; a regression predicts numbers: where text holds"),
        ([True, False], "y has dtype bool"),
        (pd.Series(["1", "2"]), "a regression predicts numbers"),
        (np.array([True, 2.0], object), "a regression predicts numbers"),
        (np.array([date(2026, 1, 1), pd.Timestamp("2026-01-02")], object), "y has dtype object: dates and durations"),
        (np.array([timedelta(1)], object), "y has dtype object: dates and durations"),
        (sp.csr_array((2, 1)), "y is sparse; give an array"),
        ({"a": 1}, r"y has shape \(\)"),
        ([1j, 2.0], "Complex data not supported"),
        (np.ma.array([1.0, 2.0], mask=[0, 1]), "y has masked entries"),
        (np.zeros((2, 2, 2)), r"y has shape \(2, 2, 2\)"),
        (np.zeros((2, 0)), r"y has shape \(2, 0\)"),
        ([1.0, np.nan], "Input y contains NaN or infinity: y is nan at row 8; drop.*exposure is 0"),
        ([1.0, -np.inf], "y is -inf at row 8"),
        ([1.0, 1e200], "at row 8"),
        (np.array([1.0, None], object), "Input y contains NaN at row 8"),
        (pd.Series([1, pd.NA], dtype="Int64"), "at row 8"),
        ([Decimal(1), Decimal("NaN")], "Input y contains NaN"),
    ],
)
def test_what_is_no_number_is_refused(y, message):
    with pytest.raises((ValueError, TypeError), match=message):
        check_targets(y, first_row=7)


def test_few_whole_numbers_look_like_classes():
    with pytest.warns(snb.StreamnbWarning, match=r"y holds the whole numbers \[0, 1, 2\] only; if these are classes"):
        hint_at_classes(np.arange(60) % 3)
    with pytest.warns(snb.StreamnbWarning, match=r"y is 1.5 in every row"):
        hint_at_classes(np.full(60, 1.5))


@pytest.mark.parametrize("y", [np.arange(60.0), np.arange(60) % 3 + 0.5, np.arange(9) % 3, "price", None])
def test_other_targets_pass_in_silence(y, recwarn):
    hint_at_classes(y)
    assert not recwarn

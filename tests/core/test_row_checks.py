"""Weights, scores and values of rows: each message names the row, and what is right comes back as float64."""

import math
import re
from datetime import date, timedelta
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import streamnb as snb
from streamnb.core import row_checks
from streamnb.core.row_checks import check_targets, hint_at_classes
from tests.support.refusals import refuses

MASKED = np.ma.array([1.0, 2.0], mask=[False, True])


def test_weights_are_float64_and_not_negative():
    for weights in ([0, 2], np.array([0, 2], np.uint8), np.array([False, True]) * 2, [0.0, row_checks.LARGEST]):
        found = row_checks.check_weights(weights)
        assert found.dtype == np.float64 and found.tolist() == list(weights)
    given = np.ones(3)
    assert row_checks.check_weights(given) is given
    row_checks.check_total_weight(1e-300)


@pytest.mark.parametrize(
    ("weights", "error", "words"),
    [
        (["1"], TypeError, "has dtype <U1; it should hold numbers"),
        ([1j], TypeError, "has dtype complex128"),
        ([[1.0], [1.0, 2.0]], ValueError, "should be an array, or lists of one length"),
        (MASKED, ValueError, "has masked entries"),
        ([[1.0]], ValueError, r"has shape \(1, 1\)"),
        ([1.0, -0.5, -1.0], ValueError, "has -0.5 at row 11; weights should be finite and not negative"),
        ([1.0, 1.0, np.nan], ValueError, "has nan at row 12"),
        ([np.inf], ValueError, "has inf at row 10"),
        ([np.nextafter(row_checks.LARGEST, np.inf)], ValueError, r"has 1.*e\+100 at row 10"),
    ],
)
def test_what_is_no_weight(weights, error, words):
    for name in ("sample_weight", "weight"):
        refuses(error, f"^{name} {words}", row_checks.check_weights, weights, first_row=10, name=name)


@pytest.mark.parametrize("total", [0.0, np.nan])
def test_weights_that_are_all_zero(total):
    refuses(ValueError, r"^sample_weight sums to zero", lambda: row_checks.check_total_weight(total))


def test_scores_are_a_table_in_order():
    given = np.asfortranarray([[1, 2], [3, -np.inf]])
    found = row_checks.check_scores(given, 2, 2)
    assert found.flags.c_contiguous and found.tolist() == given.tolist()
    assert row_checks.check_scores([1, 2], 2, 1).tolist() == [[1.0], [2.0]]
    assert row_checks.check_scores(np.empty((0, 2)), 0, 2).shape == (0, 2)


@pytest.mark.parametrize(
    ("scores", "size", "error", "words"),
    [
        ([["a"]], (1, 1), TypeError, "scores has dtype <U1"),
        (MASKED, (2, 1), ValueError, "scores has masked entries; .* cannot be judged"),
        ([1.0, 2.0], (2, 3), ValueError, r"scores has shape \(2,\); it should have shape \(n_rows, 3\)"),
        ([[1.0, 2.0]], (1, 1), ValueError, r"scores has shape \(1, 2\); it should have shape \(n_rows,\)"),
        ([1.0, 2.0], (3, 1), ValueError, r"samples: \[3, 2\]; scores should have one entry for each row of the labels"),
        ([[1.0], [2.0, 3.0]], (2, 2), ValueError, "scores should be an array, or lists of one length"),
        ([[1.0, 2.0], [3.0, np.nan]], (2, 2), ValueError, "scores contains NaN: row 11, column 1"),
    ],
)
def test_what_is_no_table_of_scores(scores, size, error, words):
    refuses(error, words, lambda: row_checks.check_scores(scores, *size, "scores", first_row=10))


def test_logs_of_probabilities_are_not_above_zero():
    assert row_checks.check_log_proba([[-1.0, 1e-7]], 1, 2).tolist() == [[-1.0, 0.0]]  # as sums round
    assert row_checks.check_log_proba([[-np.inf]], 1, 1).tolist() == [[-np.inf]]
    with pytest.raises(ValueError, match=r"^log_proba has 0\.5; natural logs of probabilities should not be above 0$"):
        row_checks.check_log_proba([[-1.0, 0.5]], 1, 2)


def test_sizes_and_widths():
    row_checks.check_min_size(1, 1)
    row_checks.check_n_features(3, 3)
    for size, what in (((0, 5), "sample"), ((5, 0), "feature")):
        with pytest.raises(ValueError, match=rf"^Found array with 0 {what}\(s\) \(shape=\({size[0]}, {size[1]}\)\)"):
            row_checks.check_min_size(*size)
    with pytest.raises(ValueError, match=r"^X has 2 features, but the model is expecting 3 features as input"):
        row_checks.check_n_features(2, 3, "the model")


def test_values_are_reported_with_row_and_column():
    for value, what in ((np.nan, "NaN"), (np.inf, "infinity"), (1e200, "infinity or a value too large")):
        with pytest.raises(ValueError, match=f"^Input X contains {what}.*: row 7, column 2 is {re.escape(str(value))}"):
            row_checks.raise_not_finite(value, 7, 2)
    with pytest.raises(ValueError, match=r"passed to Poisson: row 7, column 2 is -1\.0.*or use family='gaussian'"):
        row_checks.raise_negative(-1.0, 7, 2, "Poisson")
    with pytest.raises(ValueError, match=r"passed to transform='sqrt'.*\(shift or clip them\)$"):
        row_checks.raise_negative(-1.0, 7, 2, "transform='sqrt'")  # no family would help
    with pytest.raises(ValueError, match=r"passed to Poisson: the scanned rows held 12; values should be at least 0"):
        row_checks.raise_negatives(12, "Poisson")


@given(st.integers(-1000, 1000).filter(bool))
def test_a_bound_beside_a_whole_number_leaves_that_out(bound):
    for value, closed, opened in ((5e9, "of at most", "below"), (-5e9, "of at least", "above")):
        for end, words in ((float(bound), closed), (math.nextafter(bound, -value), opened)):
            message = f"y has {value} at row 7, column 2; Own takes values {words} {bound:g}"
            refuses(ValueError, f"^{re.escape(message)}$", row_checks.raise_outside, value, 7, 2, "Own", end, "y")


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
    refuses((ValueError, TypeError), message, lambda: check_targets(y, first_row=7))


def test_few_whole_numbers_look_like_classes():
    with pytest.warns(snb.StreamnbWarning, match=r"y holds the whole numbers \[0, 1, 2\] only; if these are classes"):
        hint_at_classes(np.arange(60) % 3)
    with pytest.warns(snb.StreamnbWarning, match=r"y is 1.5 in every row"):
        hint_at_classes(np.full(60, 1.5))


@pytest.mark.parametrize("y", [np.arange(60.0), np.arange(60) % 3 + 0.5, np.arange(9) % 3, "price", None])
def test_other_targets_pass_in_silence(y, recwarn):
    hint_at_classes(y)
    assert not recwarn

"""The parts of the fit of an additive model; the whole is checked in tests/estimators/test_additive.py."""

import numpy as np
import pandas as pd
import pytest

import streamnb as snb
from streamnb.selection.additive_fit import CodedRows, monotone_steps

FRAME = pd.DataFrame({"n": [1.0, 2.0, np.nan, 4.0] * 10, "c": ["a", "b", "b", "a"] * 10})


def test_columns_of_a_table_are_coded():
    rows = snb.table(FRAME, np.arange(40) % 2, bins=2, min_count=3)
    coded = CodedRows.of_table(rows, rows.encoding)
    assert sorted(zip(coded.features, coded.ordered.tolist(), coded.missing.tolist(), strict=True)) == [
        ("c", False, False),
        ("n", True, True),
    ]
    assert coded.firsts[-1] == rows.n_features


def test_dates_are_coded_by_part():
    frame = FRAME.assign(day=pd.date_range("2026-01-01", periods=40, freq="11h"))
    rows = snb.table(frame, np.arange(40) % 2)
    assert {"day: weekday", "day: hour"} <= set(CodedRows.of_table(rows, rows.encoding).features)


@pytest.mark.parametrize("increasing", [True, False])
def test_the_nearest_scores_that_rise_or_fall(increasing):
    scores, counts = np.array([[0.0], [2.0], [1.0], [3.0]]), np.array([1.0, 1.0, 3.0, 0.0])
    found = monotone_steps(scores, counts, increasing)
    expected = [0.0, 1.25, 1.25, 3.0] if increasing else [1.0] * 4
    np.testing.assert_allclose(found[:, 0], expected, atol=1e-6)

"""Rankings over blocks of rows: what is kept of scores, and the bounds of histograms."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk

import streamnb as snb
from tests.support.judged import WIDE, judged_rows, random_rows


def test_scores_are_copied():
    """The caller may fill the same buffers again."""
    rows = random_rows(2, 40, 0)
    codes, ranking = rows.codes.copy(), rows.ranking[:, 1].copy()
    e = snb.Evaluation(2, {"ranking"})
    e.add(codes, ranking=ranking)
    told = e.roc_auc()
    codes[:], ranking[:] = 0, 1.0
    assert e.roc_auc() == told


# ---- histograms instead of scores ------------------------------------------------------------------------------------


@given(judged_rows(min_rows=2, scores=WIDE), st.sampled_from([2, 5, 64]))
def test_exact_values_lie_within_the_bounds(rows, n_bins):
    exact, binned = rows.evaluation(), rows.evaluation(exact_rows=0, n_bins=n_bins)
    slack = 1e-12
    for average in ("macro", "weighted", None):
        pairs = [(exact.roc_auc(average), binned.roc_auc(average))]
        pairs += [(exact.roc_auc(average, "ovo"), binned.roc_auc(average, "ovo"))] if average else []
        for a, b in pairs:
            np.testing.assert_array_equal(np.isnan(a), np.isnan(b))
            assert np.all(np.isnan(a) | (np.abs(np.subtract(a, b)) <= binned.roc_auc_error + slack))
    a, b = exact.average_precision(), binned.average_precision()
    assert math.isnan(a) or abs(a - b) <= binned.average_precision_error + slack


def test_error_of_the_area_is_the_pairs_that_share_a_bin():
    """And the bound is attained: a perfect ranking within one bin is told as one half."""
    e = snb.Evaluation(2, {"ranking"}, exact_rows=0, n_bins=2)
    e.add([0, 0, 1, 1, 1, 0], ranking=[1.0, 1.1, 1.2, 1.3, 1e300, -1e300])
    pairs_in_a_bin = Fraction(3 * 2, 3 * 3)
    assert e.roc_auc_error == float(pairs_in_a_bin / 2)
    assert e.roc_auc() == pytest.approx(1.0 - e.roc_auc_error)


def test_error_of_average_precision_is_attained_by_the_best_order():
    """Own rows tied above the others: precision 1, told as 3/5 where all share a bin."""
    e = snb.Evaluation(2, {"ranking"}, exact_rows=0, n_bins=2)
    e.add([1, 1, 1, 0, 0], ranking=[1.2, 1.2, 1.2, 1.0, 1.1])
    spread = snb.Evaluation(2, {"ranking"}, exact_rows=0, n_bins=2)
    spread.add([0, 0], ranking=[-1e300, 1e300], weight=[1e-300, 0.0])  # wide bins, without weight to speak of
    assert (e + spread).average_precision() == pytest.approx(3 / 5)
    assert (e + spread).average_precision_error == pytest.approx(2 / 5)


def test_infinite_scores_are_ties_not_blurs():
    """A class never seen scores -infinity everywhere: the area is one half, exactly."""
    e = snb.Evaluation(3, {"ranking"}, exact_rows=0)
    e.add([0, 1, 2], ranking=np.array([[1.0, 0.0, -np.inf], [0.0, np.inf, -np.inf], [0.0, -np.inf, -np.inf]]))
    np.testing.assert_array_equal(e.roc_auc(None), [1.0, 1.0, 0.5])
    assert e.roc_auc_error == 0.0


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_histograms_are_close_at_any_scale(scale):
    """And the thresholds of the curve are scores: at each, the rates are those of the rows at or above it."""
    rows = random_rows(2, 20_000, 0)
    scores = (rows.ranking[:, 1] + np.random.default_rng(1).normal(size=20_000)) * scale  # no ties
    e = snb.Evaluation(2, {"ranking"})
    e.add(rows.codes, ranking=scores)
    assert 0.0 < e.roc_auc_error < 2e-3
    assert e.roc_auc() == pytest.approx(sk.roc_auc_score(rows.codes, scores), abs=1e-4)
    assert e.average_precision() == pytest.approx(sk.average_precision_score(rows.codes, scores), abs=1e-3)
    false, true, thresholds = e.roc_curve()
    for at in range(0, len(true), 50):
        above = scores >= thresholds[at]
        assert true[at] == pytest.approx(np.mean(above[rows.codes == 1]), abs=1e-12)
        assert false[at] == pytest.approx(np.mean(above[rows.codes == 0]), abs=1e-12)


def test_scores_are_kept_up_to_exact_rows_and_no_further():
    rows = random_rows(2, 101, 0)
    e = rows.evaluation(slice(0, 60), exact_rows=100) + rows.evaluation(slice(60, 100), exact_rows=100)
    assert e.roc_auc_error == 0.0
    assert (e + rows.evaluation(slice(100, 101), exact_rows=100)).roc_auc_error > 0.0

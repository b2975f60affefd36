"""Rankings over blocks of rows: the same bits however they are cut and merged, and the bounds of histograms."""

import math
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk

import streamnb as snb
from tests.support.judged import EVERYTHING, TIED, judged_rows, random_rows

# ---- one table of bits, whatever the blocks --------------------------------------------------------------------------

WIDE = st.one_of(st.sampled_from(TIED), st.floats(allow_nan=False), st.floats(-4, 4), st.floats(1e-17, 1e-15))


@st.composite
def cut_rows(draw, **options):
    """Rows, and a way of cutting them into blocks in any order."""
    rows = draw(judged_rows(min_rows=2, **options))
    order = np.array(draw(st.permutations(range(len(rows.codes)))))
    cuts = sorted(draw(st.sets(st.integers(0, len(order)), max_size=4)) | {0, len(order)})
    return rows, [order[a:b] for a, b in pairwise(cuts)]


def curves(evaluation):
    return [evaluation.roc_curve(k, drop_intermediate=False) for k in range(evaluation.n_classes)]


def values(evaluation):
    """All that an evaluation tells of its rankings and decisions."""
    yield from (column for curve in curves(evaluation) for column in curve)
    yield evaluation.confusion_matrix()
    yield evaluation.roc_auc(None)
    yield evaluation.average_precision(None)
    yield from ([e] for e in (evaluation.roc_auc(), evaluation.roc_auc_error, evaluation.roc_auc("macro", "ovo")))
    yield [evaluation.average_precision_error, evaluation.accuracy(), evaluation.weight, evaluation.n_rows]


def assert_same_bits(one, two):
    for a, b in zip(values(one), values(two), strict=True):
        np.testing.assert_array_equal(a, b)


@given(
    cut_rows(scores=WIDE, weights=st.integers(0, 3)), st.sampled_from([0, 5, 100]), st.randoms(use_true_random=False)
)
def test_values_do_not_depend_on_blocks_or_merging(problem, exact_rows, random):
    """Bit for bit: in one block, streamed into one evaluation, and merged from one evaluation a block in any order."""
    rows, blocks = problem
    options = dict(exact_rows=exact_rows, n_bins=16)
    whole = rows.evaluation(**options)
    streamed = snb.Evaluation(rows.n_classes, EVERYTHING, **options)
    for block in blocks:
        streamed.add(rows.codes[block], rows.weight[block], **rows.said(block))
    merged = [rows.evaluation(block, **options) for block in blocks]
    while len(merged) > 1:
        one = merged.pop(random.randrange(len(merged)))
        other = merged.pop(random.randrange(len(merged)))
        merged.append(one + other)
    assert_same_bits(streamed, whole)
    assert_same_bits(merged[0], whole)


def test_files_do_not_depend_on_blocks_or_on_what_was_asked():
    rows = random_rows(3, 40, 0)
    whole, cut = rows.evaluation(), rows.evaluation(slice(0, 15))
    cut.add(rows.codes[15:], rows.weight[15:], **rows.said(slice(15, None)))
    np.testing.assert_equal(cut._to_state(), whole._to_state())
    assert whole.roc_auc() == cut.roc_auc()
    np.testing.assert_equal(cut._to_state(), whole._to_state())


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


@given(cut_rows(scores=WIDE), st.sampled_from([2, 5, 64]))
def test_exact_values_lie_within_the_bounds(problem, n_bins):
    rows, _ = problem
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

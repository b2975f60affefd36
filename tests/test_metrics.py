"""Laws of Evaluation: scikit-learn's values, and the same bits however the rows are cut and merged."""

import math
import pickle
import struct
from fractions import Fraction
from functools import reduce
from itertools import pairwise
from operator import add

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn import metrics as sk

import streamnb as snb
from streamnb.metrics import SCORERS, Scorer, as_scorer
from streamnb.ranking import Histogram

close = dict(rtol=1e-12, atol=1e-12)
EVERYTHING = ("confusion", "ranking", "pairs", "probabilities", "multilabel")
AVERAGES = [None, "micro", "macro", "weighted"]
WEIGHTS = [0.25, 0.5, 1.0, 2.0, 3.0]
TIED = [-2.0, -1.5, -0.5, 0.0, 0.25, 0.5, 3.0]
FEW_SCORES, FEW_WEIGHTS = st.sampled_from(TIED), st.sampled_from(WEIGHTS)


class Judged:
    """Rows and what a model says of them."""

    def __init__(self, n_classes, codes, predicted, ranking, weight):
        self.n_classes = n_classes
        self.codes, self.predicted, self.weight = np.array(codes), np.array(predicted), np.array(weight)
        self.ranking = np.array(ranking, float).reshape(len(codes), n_classes)
        odds = np.exp(np.clip(self.ranking, -20.0, 20.0))
        self.proba = odds / odds.sum(axis=1, keepdims=True)

    def said(self, rows=slice(None)):
        said = dict(predicted=self.predicted, ranking=self.ranking, log_proba=np.log(self.proba))
        return {name: values[rows] for name, values in said.items()}

    def evaluation(self, rows=slice(None), **options):
        evaluation = snb.Evaluation(self.n_classes, EVERYTHING, **options)
        evaluation.add(self.codes[rows], self.weight[rows], **self.said(rows))
        return evaluation

    def sides(self, k):
        return self.codes == k, self.ranking[:, k]


@st.composite
def judged_rows(draw, n_classes=None, scores=FEW_SCORES, weights=FEW_WEIGHTS, min_rows=1):
    n_classes = n_classes or draw(st.integers(2, 4))
    n = draw(st.integers(min_rows, 25))
    classes = st.lists(st.integers(0, n_classes - 1), min_size=n, max_size=n)
    ranking = draw(st.lists(scores, min_size=n * n_classes, max_size=n * n_classes))
    weight = draw(st.lists(weights, min_size=n, max_size=n))
    return Judged(n_classes, draw(classes), draw(classes), ranking, weight)


def random_rows(n_classes, n, seed, *, integer_weights=True):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_classes, n)
    ranking = rng.normal(scale=2.0, size=(n, n_classes))
    ranking[np.arange(n), codes] += 1.0
    ranking[rng.random((n, n_classes)) < 0.1] = 0.0
    weight = rng.integers(1, 4, n).astype(float) if integer_weights else rng.gamma(1.0, size=n)
    return Judged(n_classes, codes, ranking.argmax(axis=1), ranking, weight)


def defined(own):
    return own.any() and not own.all()


# ---- agreement with scikit-learn -------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore::UserWarning:sklearn")
@given(judged_rows())
def test_decisions_are_those_of_scikit_learn(rows):
    e = rows.evaluation()
    true, found, w = rows.codes, rows.predicted, rows.weight
    classes = np.arange(rows.n_classes)
    assert e.accuracy() == pytest.approx(sk.accuracy_score(true, found, sample_weight=w), abs=1e-12)
    assert e.balanced_accuracy() == pytest.approx(sk.balanced_accuracy_score(true, found, sample_weight=w), abs=1e-12)
    np.testing.assert_array_equal(
        e.confusion_matrix(), sk.confusion_matrix(true, found, labels=classes, sample_weight=w)
    )
    for average in AVERAGES:
        labels = classes if average is None else None
        for beta in (0.0, 0.5, 1.0):
            expected = sk.precision_recall_fscore_support(
                true, found, beta=beta, average=average, labels=labels, sample_weight=w, zero_division=0
            )
            ours = e.precision(average), e.recall(average), e.f_score(average, beta)
            for value, wanted in zip(ours, expected[:3]):
                np.testing.assert_allclose(value, wanted, **close)


@given(judged_rows(n_classes=2))
def test_binary_decisions_are_those_of_scikit_learn(rows):
    e = rows.evaluation()
    expected = sk.precision_recall_fscore_support(
        rows.codes, rows.predicted, labels=[1], average="macro", sample_weight=rows.weight, zero_division=0
    )
    np.testing.assert_allclose([e.precision(), e.recall(), e.f_score()], expected[:3], **close)


@given(judged_rows())
def test_rankings_of_each_class_are_those_of_scikit_learn(rows):
    """NaN where a class has no rows, or all; for two classes, class 0 by minus the score."""
    if rows.n_classes == 2:
        rows.ranking[:, 0] = -rows.ranking[:, 1]
    e = rows.evaluation()
    areas, precisions = e.roc_auc(average=None), e.average_precision(average=None)
    for k in range(rows.n_classes):
        own, scores = rows.sides(k)
        if not defined(own):
            assert math.isnan(areas[k]) and math.isnan(precisions[k])
            continue
        assert areas[k] == pytest.approx(sk.roc_auc_score(own, scores, sample_weight=rows.weight), abs=1e-12)
        precision = sk.average_precision_score(own, scores, sample_weight=rows.weight)
        assert precisions[k] == pytest.approx(precision, abs=1e-12)
        for drop in (True, False):
            expected = sk.roc_curve(own, scores, sample_weight=rows.weight, drop_intermediate=drop)
            for ours, theirs in zip(e.roc_curve(k, drop_intermediate=drop), expected):
                np.testing.assert_allclose(ours, theirs, **close)
    assert e.roc_auc_error == 0.0 or math.isnan(e.roc_auc())
    assert e.average_precision_error == 0.0 or math.isnan(e.roc_auc())


@given(judged_rows())
def test_macro_rankings_are_means_over_the_classes_that_have_one(rows):
    e = rows.evaluation()
    for values, macro in ((e.roc_auc(average=None), e.roc_auc()), (e.average_precision(None), e.average_precision())):
        found = values[1:] if rows.n_classes == 2 else values
        expected = np.mean(found[~np.isnan(found)]) if not np.isnan(found).all() else math.nan
        np.testing.assert_allclose(macro, expected, **close)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@pytest.mark.parametrize("seed", range(3))
def test_averaged_rankings_are_those_of_scikit_learn(n_classes, seed):
    rows = random_rows(n_classes, 120, seed, integer_weights=False)
    e = rows.evaluation()
    for average in ("macro", "weighted"):
        scores = rows.ranking[:, 1] if n_classes == 2 else rows.proba
        e = snb.Evaluation(n_classes, {"ranking"})
        e.add(rows.codes, rows.weight, ranking=scores)
        options = dict(average=average, sample_weight=rows.weight)
        area = sk.roc_auc_score(rows.codes, scores, multi_class="ovr", **options)
        assert e.roc_auc(average) == pytest.approx(area, abs=1e-12)
        precision = sk.average_precision_score(rows.codes, scores, **options)
        assert e.average_precision(average) == pytest.approx(precision, abs=1e-12)


@pytest.mark.parametrize("average", ["macro", "weighted"])
def test_one_against_one_is_that_of_scikit_learn(average):
    """Which takes no weights and no class without rows: class 3 has none."""
    rows = random_rows(3, 90, 0)
    e = snb.Evaluation(4, {"ranking", "pairs"})
    e.add(rows.codes, ranking=np.column_stack([rows.proba, np.zeros(90)]))
    area = sk.roc_auc_score(rows.codes, rows.proba, multi_class="ovo", average=average)
    assert e.roc_auc(average, "ovo") == pytest.approx(area, abs=1e-12)


@given(judged_rows())
def test_losses_are_those_of_scikit_learn(rows):
    e = rows.evaluation()
    options = dict(labels=np.arange(rows.n_classes), sample_weight=rows.weight)
    assert e.log_loss() == pytest.approx(sk.log_loss(rows.codes, rows.proba, **options), rel=1e-12)
    assert e.brier() == pytest.approx(sk.brier_score_loss(rows.codes, rows.proba, **options), rel=1e-12)


def test_log_loss_of_certain_and_impossible_classes_is_clipped_as_in_scikit_learn():
    proba = np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    e = snb.Evaluation(3, {"probabilities"})
    with np.errstate(divide="ignore"):
        e.add([0, 1], log_proba=np.log(proba))
    assert e.log_loss() == pytest.approx(sk.log_loss([0, 1], proba, labels=[0, 1, 2]), rel=1e-12)
    assert e.brier() == 1.0


# ---- several labels a row --------------------------------------------------------------------------------------------


@st.composite
def judged_sets(draw):
    n, n_labels = draw(st.integers(1, 12)), draw(st.integers(2, 4))
    sets = st.lists(st.integers(0, 1), min_size=n * n_labels, max_size=n * n_labels)
    scores = st.lists(st.sampled_from(TIED), min_size=n * n_labels, max_size=n * n_labels)
    true, found, ranking = (np.array(draw(x)).reshape(n, n_labels) for x in (sets, sets, scores))
    weight = np.array(draw(st.lists(st.sampled_from(WEIGHTS), min_size=n, max_size=n)))
    return true, found, ranking.astype(float), weight


def set_evaluation(true, found, ranking, weight, needs=EVERYTHING, **options):
    e = snb.Evaluation(true.shape[1], needs, multilabel=True, **options)
    e.add(true, weight, predicted=found, ranking=ranking, log_proba=-np.log1p(np.exp(-ranking)))
    return e


@given(judged_sets())
def test_sets_of_labels_are_judged_as_by_scikit_learn(problem):
    true, found, _ranking, w = problem
    e = set_evaluation(*problem)
    assert e.hamming_loss() == pytest.approx(sk.hamming_loss(true, found, sample_weight=w), abs=1e-12)
    assert e.accuracy() == e.subset_accuracy() == pytest.approx(sk.accuracy_score(true, found, sample_weight=w))
    for average in [*AVERAGES, "samples"]:
        expected = sk.precision_recall_fscore_support(true, found, average=average, sample_weight=w, zero_division=0)
        for value, wanted in zip((e.precision(average), e.recall(average), e.f_score(average)), expected[:3]):
            np.testing.assert_allclose(value, wanted, **close)


@given(judged_sets())
def test_jaccard_counts_two_empty_sets_as_equal(problem):
    true, found, _, w = problem
    expected = sk.jaccard_score(true, found, average="samples", sample_weight=w, zero_division=1)
    assert set_evaluation(*problem).jaccard() == pytest.approx(expected, abs=1e-12)


@given(judged_sets())
def test_rankings_of_labels_are_those_of_scikit_learn(problem):
    true, _, ranking, w = problem
    e = set_evaluation(*problem)
    assert e.ranking_loss() == pytest.approx(sk.label_ranking_loss(true, ranking, sample_weight=w), abs=1e-12)
    for label, (area, precision) in enumerate(zip(e.roc_auc(None), e.average_precision(None))):
        own, scores = true[:, label] == 1, ranking[:, label]
        if defined(own):
            assert area == pytest.approx(sk.roc_auc_score(own, scores, sample_weight=w), abs=1e-12)
            assert precision == pytest.approx(sk.average_precision_score(own, scores, sample_weight=w), abs=1e-12)
        else:
            assert math.isnan(area) and math.isnan(precision)


@given(judged_sets())
def test_losses_of_labels_are_means_of_two_class_losses(problem):
    true, _, ranking, w = problem
    e, proba = set_evaluation(*problem), 1.0 / (1.0 + np.exp(-ranking))
    options = dict(sample_weight=w, labels=[0, 1])
    two = [np.column_stack([1.0 - p, p]) for p in proba.T]
    assert e.log_loss() == pytest.approx(np.mean([sk.log_loss(t, p, **options) for t, p in zip(true.T, two)]))
    assert e.brier() == pytest.approx(np.mean([sk.brier_score_loss(t, p, **options) for t, p in zip(true.T, two)]))


@pytest.mark.parametrize("exact_rows", [1000, 0])
def test_sparse_sets_are_judged_like_dense_ones(exact_rows):
    rng = np.random.default_rng(0)
    true, found = rng.random((2, 30, 5)) < 0.3
    ranking, weight = rng.normal(size=(30, 5)), np.ones(30)
    dense = set_evaluation(true, found, ranking, weight, exact_rows=exact_rows)
    with_zeros = sp.csr_matrix((found.ravel(), np.tile(np.arange(5), 30), np.arange(0, 151, 5)), shape=(30, 5))
    sparse = set_evaluation(sp.csr_array(true), with_zeros, ranking, weight, exact_rows=exact_rows)
    assert repr(sparse) == repr(dense)
    np.testing.assert_array_equal(sparse.roc_auc(None), dense.roc_auc(None))


# ---- one table of bits, whatever the blocks --------------------------------------------------------------------------

WIDE = st.one_of(st.sampled_from(TIED), st.floats(allow_nan=False), st.floats(-4, 4), st.floats(1e-17, 1e-15))


def key(x):
    """The whole number of a score: 1 + |x| in float64, its bits less those of 1, with the sign of x."""
    bits = struct.unpack("<q", struct.pack("<d", 1.0 + abs(x)))[0] - struct.unpack("<q", struct.pack("<d", 1.0))[0]
    return -bits if x < 0 else bits


def naive_histogram(scores, weight, n_bins):
    """{number of the bin: weight} and the width of bins, by the definition."""
    finite = [key(x) for x in scores if math.isfinite(x)]
    shift = 0
    while finite and max(finite) // 2**shift - min(finite) // 2**shift >= n_bins:
        shift += 1
    bins = {}
    for x, w in zip(scores, weight):
        b = key(x) // 2**shift if math.isfinite(x) else x
        bins[b] = bins.get(b, 0) + w
    return bins, shift


@given(st.lists(st.tuples(WIDE, st.integers(1, 3)), min_size=1, max_size=30), st.sampled_from([2, 3, 16]))
def test_histogram_is_that_of_its_definition(rows, n_bins):
    scores, weight = np.array([x for x, _ in rows]), np.array([float(w) for _, w in rows])
    histogram = Histogram(1, 1, n_bins)
    for start in range(0, len(rows), 7):
        part = slice(start, start + 7)
        histogram.add(scores[part, None], np.zeros((len(scores[part]), 1), np.uint8), weight[part])
    bins, shift = naive_histogram(scores.tolist(), weight.tolist(), n_bins)
    assert histogram.shift[0] == shift
    numbers = [-math.inf, *(int(histogram.first[0]) + b for b in range(n_bins)), math.inf]
    found = {number: w for number, w in zip(numbers, histogram.table[0, :, 0].tolist()) if w}
    assert found == bins


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


def test_means_over_rows_do_not_depend_on_blocks():
    """Losses are summed without error, so that weights of any kind leave the same bits."""
    rows = random_rows(4, 3000, 0, integer_weights=False)
    whole, rng = rows.evaluation(), np.random.default_rng(1)
    for _ in range(10):
        cuts = np.sort(rng.integers(0, 3000, 6))
        parts = [rows.evaluation(block) for block in np.split(rng.permutation(3000), cuts)]
        merged = reduce(add, parts)
        assert merged.log_loss() == whole.log_loss()
        assert merged.brier() == whole.brier()
        assert merged.accuracy() == whole.accuracy()
        assert merged.weight == whole.weight


def test_merging_leaves_both_as_they_were():
    rows = random_rows(3, 60, 0)
    one, two = rows.evaluation(slice(0, 20), exact_rows=30), rows.evaluation(slice(20, 40), exact_rows=30)
    before = repr(one), repr(two)
    total = one + two
    told = repr(total)
    one.add(rows.codes[40:], **rows.said(slice(40, 60)))
    assert repr(two) == before[1]
    assert repr(total) == told != before[0]
    assert total.n_rows == 40


def test_scores_are_copied():
    """The caller may fill the same buffers again."""
    rows = random_rows(2, 40, 0)
    codes, ranking = rows.codes.copy(), rows.ranking[:, 1].copy()
    e = snb.Evaluation(2, {"ranking"})
    e.add(codes, ranking=ranking)
    told = e.roc_auc()
    codes[:], ranking[:] = 0, 1.0
    assert e.roc_auc() == told


def test_an_evaluation_survives_pickling():
    for exact_rows in (0, 100):
        e = random_rows(3, 50, 0).evaluation(exact_rows=exact_rows)
        assert_same_bits(pickle.loads(pickle.dumps(e)), e)


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


# ---- rows that have no class, or no weight ---------------------------------------------------------------------------


def test_a_label_that_no_class_has_is_a_wrong_decision_and_nothing_else():
    rows = random_rows(3, 40, 0)
    with_strangers, without = rows.codes.copy(), np.arange(40) >= 5
    with_strangers[:5] = -1
    e = snb.Evaluation(3, EVERYTHING)
    e.add(with_strangers, rows.weight, **rows.said())
    known = rows.evaluation(without)
    np.testing.assert_array_equal(e.confusion_matrix(), known.confusion_matrix())
    assert e.accuracy() == np.average(with_strangers == rows.predicted, weights=rows.weight)
    expected = sk.precision_score(
        with_strangers, rows.predicted, labels=[0, 1, 2], average="macro", sample_weight=rows.weight
    )
    assert e.precision("macro") == pytest.approx(expected)
    assert (e.roc_auc(), e.log_loss(), e.brier()) == (known.roc_auc(), known.log_loss(), known.brier())


@pytest.mark.parametrize("exact_rows", [0, 100])
def test_rows_without_weight_change_nothing(exact_rows):
    rows = random_rows(3, 40, 0)
    rows.weight[:10] = 0.0
    rows.ranking[:10] *= 1e9
    all_rows, weighty = (rows.evaluation(r, exact_rows=exact_rows) for r in (slice(None), slice(10, None)))
    assert repr(all_rows).splitlines()[1:] == repr(weighty).splitlines()[1:]


def test_values_of_nothing_are_nan():
    e = snb.Evaluation(3, EVERYTHING)
    numbers = [e.accuracy(), e.balanced_accuracy(), e.roc_auc(), e.roc_auc("macro", "ovo"), e.average_precision()]
    assert np.isnan([*numbers, e.log_loss(), e.brier(), e.roc_auc_error]).all()
    assert "0 rows" in repr(e)


def test_a_single_class_has_no_ranking():
    e = snb.Evaluation(3, {"ranking"})
    e.add([1, 1], ranking=np.eye(3)[:2])
    assert np.isnan(e.roc_auc()) and np.isnan(e.roc_auc(None)).all()


# ---- what is kept, and what is refused -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "needs, value, missing",
    [
        ({"hits"}, lambda e: e.confusion_matrix(), "confusion"),
        ({"ranking"}, lambda e: e.accuracy(), "hits"),
        ({"hits"}, lambda e: e.roc_auc(), "ranking"),
        ({"ranking"}, lambda e: e.roc_auc("macro", "ovo"), "pairs"),
        ({"hits"}, lambda e: e.log_loss(), "probabilities"),
    ],
)
def test_a_value_that_was_not_kept_says_what_it_needs(needs, value, missing):
    with pytest.raises(ValueError, match=f"needs '{missing}'"):
        value(snb.Evaluation(3, needs))


def test_hits_tell_everything_but_the_confusion_matrix():
    rows = random_rows(5, 100, 0)
    few, all_ = snb.Evaluation(5, {"hits"}), rows.evaluation()
    few.add(rows.codes, rows.weight, predicted=rows.predicted)
    for method in ("precision", "recall", "f_score"):
        np.testing.assert_array_equal(getattr(few, method)(None), getattr(all_, method)(None))
    assert few.balanced_accuracy() == all_.balanced_accuracy()


GOOD = dict(predicted=[0, 1], ranking=np.zeros((2, 3)), log_proba=np.full((2, 3), -1.0))


@pytest.mark.parametrize(
    "given, message",
    [
        (dict(codes=[0, 3]), "codes has 3 at row 1"),
        (dict(codes=[0, -2]), "codes has -2 at row 1"),
        (dict(codes=["a", "b"]), "snb.evaluate takes labels"),
        (dict(predicted=[0, -1]), "predicted has -1 at row 1"),
        (dict(predicted=[0, 1, 2]), "predicted should have one entry"),
        (dict(predicted=None), "predicted is missing"),
        (dict(ranking=None), "ranking is missing"),
        (dict(log_proba=None), "log_proba is missing"),
        (dict(ranking=np.zeros((2, 2))), r"ranking has shape \(2, 2\)"),
        (dict(ranking=np.zeros(2)), r"should have shape \(n_rows, 3\)"),
        (dict(ranking=np.zeros((3, 3))), "ranking should have one entry"),
        (dict(ranking=np.array([[0, 0, 0], [0, np.nan, 0]])), "ranking contains NaN: row 1, column 1"),
        (dict(ranking=np.full((2, 3), "a")), "should hold numbers"),
        (dict(log_proba=np.full((2, 3), 0.5)), "should not be above 0"),
        (dict(weight=[1.0, -1.0]), "not negative"),
        (dict(weight=[1.0]), "weight should have one entry"),
        (dict(weight=[1.0, np.nan]), "finite"),
    ],
)
def test_rows_that_do_not_fit_are_refused_and_nothing_is_added(given, message):
    e = snb.Evaluation(3)
    before = repr(e)
    with pytest.raises((ValueError, TypeError), match=message):
        e.add(**(dict(codes=[0, 1]) | GOOD | given))
    assert repr(e) == before


@pytest.mark.parametrize(
    "codes, message", [([0, 1], r"indicator of shape \(n_rows, 2\)"), ([[0, 2]], "0 and 1"), ([[0, 1, 1]], "indicator")]
)
def test_indicators_that_are_none_are_refused(codes, message):
    with pytest.raises(ValueError, match=message):
        snb.Evaluation(2, {"multilabel"}, multilabel=True).add(codes, predicted=[[0, 1]])


@pytest.mark.parametrize(
    "value, message",
    [
        (lambda e: e.precision("median"), "average='median'"),
        (lambda e: e.precision(), "average='binary' is for two classes"),
        (lambda e: e.roc_auc("micro"), "average='micro'"),
        (lambda e: e.roc_auc(multi_class="both"), "multi_class='both'"),
        (lambda e: e.roc_auc(None, "ovo"), "no value of a class"),
        (lambda e: e.roc_curve(7), "label=7"),
        (lambda e: e.precision("samples"), "multi-label"),
        (lambda e: e.jaccard(), "multi-label"),
        (lambda e: e.ranking_loss(), "multi-label"),
        (lambda e: e.f_score("macro", beta=-1.0), "beta=-1"),
        (lambda e: e + snb.Evaluation(3), "n_bins"),
    ],
)
def test_values_that_make_no_sense_are_refused(value, message):
    with pytest.raises(ValueError, match=message):
        value(random_rows(3, 20, 0).evaluation())


@pytest.mark.parametrize(
    "options, message",
    [
        (dict(n_classes=0), "n_classes=0"),
        (dict(n_classes=2, needs={"auc"}), "needs='auc'"),
        (dict(n_classes=2, n_bins=1), "n_bins=1"),
        (dict(n_classes=2, exact_rows=-1), "exact_rows=-1"),
        (dict(n_classes=2, classes=["a"]), "classes has shape"),
    ],
)
def test_evaluations_that_cannot_be_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        snb.Evaluation(**options)


def test_only_evaluations_can_be_added():
    with pytest.raises(TypeError, match="unsupported operand"):
        snb.Evaluation(2) + 1


def test_sets_have_no_confusion_matrix_and_no_pairs():
    e = set_evaluation(np.eye(3), np.eye(3), np.eye(3), np.ones(3))
    for value in (e.confusion_matrix, lambda: e.roc_auc("macro", "ovo")):
        with pytest.raises(ValueError, match="one label each"):
            value()
    with pytest.raises(ValueError, match="beta"):
        e.f_score("samples", beta=2.0)
    with pytest.raises(ValueError, match="needs 'multilabel'"):
        set_evaluation(np.eye(3), None, np.eye(3), np.ones(3), needs={"ranking"}).ranking_loss()


# ---- scores by name --------------------------------------------------------------------------------------------------

SETS = {"neg_hamming_loss", "neg_ranking_loss", "jaccard", "subset_accuracy"} | {n for n in SCORERS if "samples" in n}


@pytest.mark.parametrize("name", SCORERS)
def test_a_scorer_needs_no_more_than_it_says_and_greater_is_better(name):
    """A model that knows the answer scores better than one that guesses, with the needs of the scorer alone."""
    scorer, rng = as_scorer(name), np.random.default_rng(0)
    multilabel, n_classes = name in SETS, 2 if name in ("precision", "recall", "f1") else 3
    codes = rng.integers(0, 2, (60, 3)) if multilabel else rng.integers(0, n_classes, 60)
    on = codes if multilabel else codes[:, None] == np.arange(n_classes)
    found = []
    for strength in (4.0, 0.5):
        ranking = strength * on + rng.normal(scale=0.5, size=on.shape)
        logs = ranking - np.log(np.exp(ranking).sum(axis=1, keepdims=True))
        e = snb.Evaluation(n_classes, scorer.needs, multilabel=multilabel)
        predicted = ranking > 0.7 if multilabel else ranking.argmax(axis=1)
        e.add(codes, predicted=predicted, ranking=ranking, log_proba=logs)
        found.append(scorer.value(e))
        if scorer.per_class is not None:
            assert scorer.per_class(e).shape == (n_classes,)
    assert found[0] > found[1]


def test_scorers_of_classes_judge_sets_too():
    rng = np.random.default_rng(0)
    true, found = rng.random((2, 40, 3)) < 0.5
    for name in ("accuracy", "f1_macro", "roc_auc", "average_precision", "neg_brier_score"):
        scorer = as_scorer(name)
        e = set_evaluation(true, found, rng.normal(size=(40, 3)), np.ones(40), needs=scorer.needs)
        assert math.isfinite(scorer.value(e))


def test_names_are_scikit_learns():
    known = set(sk.get_scorer_names())
    assert set(SCORERS) - SETS - known == set()


def test_scorers_survive_pickling():
    e = random_rows(3, 30, 0).evaluation()
    for scorer in (SCORERS["roc_auc"], SCORERS["neg_log_loss"]):
        assert pickle.loads(pickle.dumps(scorer)).value(e) == scorer.value(e)


def test_functions_and_scorers_of_ones_own():
    def informedness(evaluation):
        return evaluation.recall("macro") - 0.5

    scorer = as_scorer(informedness)
    e = snb.Evaluation(3, scorer.needs)
    rows = random_rows(3, 30, 0)
    e.add(rows.codes, **rows.said())
    assert scorer.name == "informedness"
    assert scorer.value(e) == e.recall("macro") - 0.5
    own = Scorer("own", frozenset({"hits"}), informedness)
    assert as_scorer(own) is own


@pytest.mark.parametrize("scoring, message", [("auc", "'roc_auc'"), (3, "function of an snb.Evaluation")])
def test_unknown_scores_are_refused(scoring, message):
    with pytest.raises((ValueError, TypeError), match=message):
        as_scorer(scoring)

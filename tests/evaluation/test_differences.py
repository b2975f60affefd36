"""Paired differences: the formulas written out, and SciPy's tests."""

import numpy as np
import pytest
from scipy import stats

from streamnb.evaluation.judging import JudgingTask
from streamnb.rows.row_blocks import Block
from streamnb.searching import comparing_models as differences

rng = np.random.default_rng(0)


def test_mcnemar_is_exact_for_few_rows_and_chi_squared_for_many():
    for won, lost in ((3, 12), (0, 5), (24, 0), (7, 7)):
        assert differences.mcnemar(won, lost) == stats.binomtest(won, won + lost).pvalue
    # statsmodels.stats.contingency_tables.mcnemar(exact=False, correction=False)
    assert differences.mcnemar(40, 22) == pytest.approx(stats.chi2.sf((40 - 22) ** 2 / (40 + 22), 1))
    assert differences.mcnemar(1.5, 2.0) == pytest.approx(stats.chi2.sf(0.25 / 3.5, 1))
    assert differences.mcnemar(0, 0) == 1.0


def test_the_interval_of_agresti_and_min():
    found = differences.of_decisions(12.0, 4.0, 100.0, 0.95)
    b, c, n = 12.5, 4.5, 102.0
    half = stats.norm.ppf(0.975) * np.sqrt(b + c - (b - c) ** 2 / n) / n
    assert found.difference == 0.08 and (found.low, found.high) == pytest.approx(
        ((b - c) / n - half, (b - c) / n + half)
    )
    assert np.isnan(differences.of_decisions(0.0, 0.0, 0.0, 0.95)).all()


def test_means_are_those_of_a_paired_t_test():
    d = rng.normal(0.2, 1.0, 30)
    found = differences.of_means(d.sum(), (d**2).sum(), 30.0, 0.9)
    known = stats.ttest_1samp(d, 0.0)
    assert found.p_value == pytest.approx(known.pvalue) and found.difference == pytest.approx(d.mean())
    assert found[1:3] == pytest.approx(tuple(known.confidence_interval(0.9)))
    assert differences.of_means(0.0, 0.0, 30.0, 0.9) == (0.0, 0.0, 0.0, 1.0)
    assert np.isnan(differences.of_means(0.5, 0.25, 1.0, 0.9).low)


def test_a_bound_widens_the_interval_and_lowers_the_evidence():
    sure, unsure = (differences.about(0.03, 0.01, 0.95, bound=bound) for bound in (0.0, 0.02))
    assert unsure.low == pytest.approx(sure.low - 0.02) and unsure.high == pytest.approx(sure.high + 0.02)
    assert unsure.p_value == pytest.approx(2 * stats.norm.sf(1.0)) and sure.p_value < unsure.p_value
    assert differences.about(0.01, 0.0, 0.95).p_value == 0.0
    assert np.isnan(differences.about(np.nan, 0.1, 0.95).p_value)


def test_holm_by_hand():
    p = np.array([0.04, 0.01, np.nan, 0.03, 0.5])
    np.testing.assert_allclose(differences.holm(p), [0.09, 0.04, np.nan, 0.09, 0.5])
    np.testing.assert_array_equal(differences.holm(np.array([0.6, 0.7])), [1.0, 1.0])
    assert not len(differences.holm(np.zeros(0)))


class Said:
    """A model that says these scores."""

    encode, needs = None, frozenset({"hits", "ranking"})

    def __init__(self, scores):
        self.scores = scores

    def outputs(self, block):
        scores = self.scores[block.first_row : block.first_row + block.n_rows]
        return {"predicted": (scores > 0.0).astype(np.int64), "ranking": scores}


def summed(of, own, weight, groups=None):
    """A task of models that say the scores `of` them, and its total."""
    task = JudgingTask({n: Said(score) for n, score in of.items()}, np.arange(2), False, 0.95, groups is not None)
    partial = task.partial()
    for part in (slice(0, 25), slice(25, None)):
        rows, labels = np.zeros((len(own), 1))[part], own[part].astype(int)
        split = None if groups is None else groups[part]
        task.add(partial, Block(rows, labels, weight[part], split, part.start, 0))
    return task, partial.finish()


def naive_areas(scores, own):
    """Areas and their covariance by DeLong et al. (1988), pair by pair."""
    areas, own_parts, rest_parts = [], [], []
    for column in scores.T:
        x, y = column[own][:, None], column[~own][None]
        psi = (x > y) + 0.5 * (x == y)
        areas.append(psi.mean())
        own_parts.append(psi.mean(axis=1))
        rest_parts.append(psi.mean(axis=0))
    return np.array(areas), np.cov(own_parts) / own.sum() + np.cov(rest_parts) / (~own).sum()


def half_width(difference):
    return 0.5 * (difference.high - difference.low)


def test_areas_are_those_of_all_pairs():
    own = np.arange(60) % 3 == 0
    scores = (rng.normal(size=(60, 2)) + own[:, None]).round(1)
    areas, covariance = naive_areas(scores, own)
    names = ["a", "b"]
    of = {name: scores[:, k] for k, name in enumerate(names)}
    found = differences.Differences(*summed(of, own, np.ones(60))).of("roc_auc", "b")
    assert found.difference == pytest.approx(areas[1] - areas[0])
    error = np.sqrt(covariance[0, 0] + covariance[1, 1] - 2.0 * covariance[0, 1])
    assert half_width(found) == pytest.approx(stats.norm.ppf(0.975) * error, rel=1e-9)
    repeated = {name: np.repeat(score, 2) for name, score in of.items()}
    one = differences.Differences(*summed(of, own, np.full(60, 2.0))).of("roc_auc", "b")
    other = differences.Differences(*summed(repeated, np.repeat(own, 2), np.ones(120))).of("roc_auc", "b")
    np.testing.assert_allclose(one, other, rtol=1e-9)  # weights are frequencies


def test_groups_are_summed_before_they_are_squared():
    own, groups = rng.random(200) < 0.4, np.arange(200) % 12
    of = {name: rng.normal(size=200) + own + (groups % 3 == 0) * shift for name, shift in (("a", 0.0), ("b", 0.7))}
    found = differences.Differences(*summed(of, own, np.ones(200), groups))
    right = {name: (score > 0.0) == own for name, score in of.items()}
    d = right["b"].astype(float) - right["a"]
    sums = np.bincount(groups, d - d.mean()) / 200
    error = np.sqrt(12 / 11 * np.sum(sums**2))
    accuracy = found.of("accuracy", "b")
    assert accuracy.difference == pytest.approx(d.mean())
    assert half_width(accuracy) == pytest.approx(stats.t.ppf(0.975, 11) * error)
    assert accuracy.p_value == pytest.approx(2 * stats.t.sf(abs(d.mean()) / error, 11))
    x = {name: (score[own][:, None] > score[~own][None]).astype(float) for name, score in of.items()}
    psi = x["b"] - x["a"]
    by_row = np.empty(200)
    by_row[own] = (psi.mean(axis=1) - psi.mean()) / own.sum() * np.sqrt(own.sum() / (own.sum() - 1))
    by_row[~own] = (psi.mean(axis=0) - psi.mean()) / (~own).sum() * np.sqrt((~own).sum() / ((~own).sum() - 1))
    error = np.sqrt(12 / 11 * np.sum(np.bincount(groups, by_row) ** 2))
    area = found.of("roc_auc", "b")
    assert area.difference == pytest.approx(psi.mean())
    assert half_width(area) == pytest.approx(stats.t.ppf(0.975, 11) * error, rel=3e-2)  # by histograms of buckets

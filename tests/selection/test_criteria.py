"""Criteria of features: each by its definition, and what it says it needs."""

import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.feature_selection import chi2, f_classif, mutual_info_classif, r_regression
from sklearn.metrics import mutual_info_score

import streamnb as snb
from streamnb.selection.criteria import CRITERIA, Criterion, as_criterion
from tests.support.strategies import LABELS, example, labelled

rng = np.random.default_rng(0)
Y = rng.integers(0, 3, 60)
X = rng.poisson(rng.gamma(1.0, 1.0, (3, 7))[Y]).astype(float)
X[:, 2] = 0.0
WEIGHT = rng.choice([0.5, 1.0, 2.0], 60)
TOTAL = WEIGHT.sum()
STATS = snb.scan(X, Y, sample_weight=WEIGHT)
OF_PRESENCE = ["mutual_info", "gain_ratio", "symmetrical_uncertainty", "kullback_leibler", "one_r"]


def entropy(*shares):
    return -sum(p * math.log(p) for p in shares if p > 0.0)


def information(p):
    return entropy(*p.sum(axis=0)) + entropy(*p.sum(axis=1)) - entropy(*p.ravel())


def gain_ratio(p):
    h = entropy(*p.sum(axis=1))
    return information(p) / h if h else 0.0


NAIVE = {
    "mutual_info": information,
    "gain_ratio": gain_ratio,
    "symmetrical_uncertainty": lambda p: 2 * information(p) / (entropy(*p.sum(axis=0)) + entropy(*p.sum(axis=1))),
    "one_r": lambda p: p.max(axis=1).sum(),
}


def of_sums(values, y, w, by):
    """The score of one feature by its sums, row by row."""
    classes, total = sorted(set(y)), math.fsum(w)
    share = {k: math.fsum(wi for yi, wi in zip(y, w) if yi == k) for k in classes}
    sums = {k: math.fsum(wi * xi for xi, yi, wi in zip(values, y, w) if yi == k) for k in classes}
    if by == "chi2":
        expected = {k: share[k] * sum(sums.values()) / total for k in classes}
        return sum((sums[k] - expected[k]) ** 2 / expected[k] for k in classes if expected[k])
    if by == "poisson_log_ratio":
        mean, ratios = sum(sums.values()) / total, []
        for k in classes:
            rest, n_rest = sum(sums.values()) - sums[k], total - share[k]
            ratio = (sums[k] + mean) / (share[k] + 1) / ((rest + mean) / (n_rest + 1)) if mean else 1.0
            ratios.append(abs(math.log(ratio)))
        return max(ratios)
    assert by == "f_classif"
    means, mean = {k: sums[k] / share[k] for k in classes}, sum(sums.values()) / total
    within = math.fsum(wi * (xi - means[yi]) ** 2 for xi, yi, wi in zip(values, y, w))
    between = math.fsum(share[k] * (means[k] - mean) ** 2 for k in classes)
    if between < 1e-25:
        return 0.0
    return between / (len(classes) - 1) / (within / (total - len(classes))) if within > 1e-25 else math.inf


def of_presence(values, y, w, by):
    """The score of one feature by the shares of the weight by presence and class."""
    present, classes = values > 0, sorted(set(y))
    return NAIVE[by](np.array([[w[(present == seen) & (y == k)].sum() for k in classes] for seen in (1, 0)]) / w.sum())


@pytest.mark.parametrize("by", ["chi2", "poisson_log_ratio", *NAIVE])
@given(data=st.data(), kind=st.sampled_from(list(LABELS)))
def test_definitions(by, data, kind):
    rows = data.draw(labelled(min_rows=3, kind=kind))
    rows.y[:2] = LABELS[kind][:2]
    scores = snb.rank_features(snb.scan(rows.x, rows.y, sample_weight=rows.w), by).scores
    definition = of_presence if by in NAIVE else of_sums
    expected = [definition(values, rows.y, rows.w, by) for values in rows.x.T]
    np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("load", "make"), [(load_breast_cancer, np.asarray), (load_digits, sp.csr_array)])
@pytest.mark.filterwarnings("ignore:Features:UserWarning", "ignore:invalid value:RuntimeWarning")
def test_chi2_and_anova_of_scikit_learn(load, make):
    X, y = load(return_X_y=True)
    for by, function in (("chi2", chi2), ("f_classif", f_classif)):
        ours, (scores, pvalues) = snb.rank_features(snb.scan(make(X), y), by), function(X, y)
        constant = np.isnan(scores)
        np.testing.assert_allclose(ours.scores[~constant], scores[~constant], rtol=1e-10)
        np.testing.assert_allclose(ours.pvalues[~constant], pvalues[~constant], rtol=1e-8, atol=1e-300)
        assert (ours.scores[constant] == 0).all() and (ours.pvalues[constant] == 1).all()


@pytest.mark.parametrize("by, function", [("chi2", chi2), ("f_classif", f_classif)])
@pytest.mark.filterwarnings("ignore:Features:UserWarning", "ignore:invalid value:RuntimeWarning")
def test_weights_are_frequencies(by, function):
    rows = example()
    x, repeats = rows.x + 1.0, np.arange(len(rows)) % 3 + 1
    ours = snb.rank_features(snb.scan(x, rows.y, sample_weight=repeats), by)
    scores, pvalues = function(np.repeat(x, repeats, axis=0), np.repeat(rows.y, repeats))
    varies = np.ptp(x, axis=0) > 0
    np.testing.assert_allclose(ours.scores[varies], scores[varies], rtol=1e-10)
    np.testing.assert_allclose(ours.pvalues[varies], pvalues[varies], rtol=1e-10)


@pytest.mark.parametrize("by", CRITERIA)
def test_the_moments_that_are_named_are_enough(by):
    criterion = as_criterion(by)
    bare = snb.scan(X, Y, sample_weight=WEIGHT, moments=criterion.moments)
    np.testing.assert_array_equal(criterion.scores(bare), criterion.scores(STATS))
    if by in OF_PRESENCE:
        assert as_criterion(by, presence="nonzero").moments == ("nonzero",)
    assert criterion.lowest == (0.0 if by in ("chi2", "poisson_log_ratio", "score") else -np.inf)
    assert criterion.highest == np.inf


def test_a_criterion_of_ones_own_says_how_to_score():
    class Longest(Criterion):
        def scores(self, stats):
            return stats.sum.max(axis=0)

    assert Longest().scores(STATS)[2] == 0.0 and Longest().moments == ("sum",)
    with pytest.raises(NotImplementedError):
        Criterion().scores(STATS)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"by": "anova"}, ValueError, "by='anova' is unknown; it should be one of 'chi2', 'mutual_info'"),
        ({"by": "one_r", "presence": "any"}, ValueError, "presence='any' is unknown"),
        ({"by": "score", "family": "normal"}, ValueError, "family='normal' is unknown"),
        ({"by": "score", "scheme": "ova"}, ValueError, "scheme='ova' is unknown"),
        ({"by": "score", "smoothing": -1.0}, ValueError, r"smoothing=-1\.0 should be finite and at least 0"),
        ({"by": "score", "smoothing": "1"}, TypeError, "smoothing='1' should be a number"),
    ],
)
def test_options_are_checked_before_any_data(given, error, message):
    with pytest.raises(error, match=message):
        as_criterion(**given)


# ---- of values: histograms -------------------------------------------------------------------------------------------

BY_HAND = snb.scan([[v] for v in (0, 0, 1, 1, 2, 2)], [0, 0, 0, 1, 1, 1], histogram="value", n_bins=4)
VALUED = snb.scan(X, Y, sample_weight=WEIGHT, histogram="value", n_bins=32)


def of_values(by, stats=VALUED, values="value", **options):
    return snb.rank_features(stats, by, values=values, **options).scores


def test_examples_by_hand():
    bits = {"mutual_info": 0.66667, "gain_ratio": 0.66667 / 1.58496}
    for by, found in bits.items():
        unit = math.log(2) if by == "mutual_info" else 1.0
        np.testing.assert_allclose(of_values(by, BY_HAND), found * unit, rtol=1e-5)
    np.testing.assert_allclose(of_values("symmetrical_uncertainty", BY_HAND), 0.51580, atol=5e-6)
    np.testing.assert_allclose(of_values("one_r", BY_HAND, min_rows=1), 5 / 6)
    np.testing.assert_allclose(of_values("one_r", BY_HAND), 1 / 2)  # six rows of a class are never together
    np.testing.assert_allclose(of_values("one_r", BY_HAND, min_rows=3), 5 / 6)
    np.testing.assert_allclose(of_values("one_r", BY_HAND, min_rows=4), 3 / 6)
    apart = snb.scan([[1], [2], [3], [4], [5], [1]], [0, 0, 1, 1, 1, 0], histogram="value", n_bins=6)
    np.testing.assert_allclose(of_values("mutual_info", apart), math.log(2))
    assert snb.rank_features(apart, "mutual_info").scores == 0.0


def test_criteria_of_values_are_those_of_the_table():
    for j, column in enumerate(X.T):
        p = np.array([[WEIGHT[(column == v) & (k == Y)].sum() for k in range(3)] for v in range(32)]) / TOTAL
        for by, naive in NAIVE.items():
            assert of_values(by, min_rows=0)[j] == pytest.approx(naive(p), abs=1e-12)
    ratios = of_values("gain_ratio")
    np.testing.assert_allclose(of_values("kullback_leibler"), ratios / ratios.mean())
    assert not snb.rank_features(snb.scan(np.ones((4, 2)), [0, 0, 1, 1]), "kullback_leibler").scores.any()


def test_values_are_scored_as_scikit_learn_does():
    stats = snb.scan(X, Y, histogram="value", n_bins=32)
    expected = mutual_info_classif(X, Y, discrete_features=True)
    np.testing.assert_allclose(of_values("mutual_info", stats), expected, atol=1e-12)
    found = snb.rank_features(stats, "chi2", values="value")
    for j, column in enumerate(X.T):
        one_hot = column[:, None] == np.unique(column)
        assert found.scores[j] == pytest.approx(chi2(one_hot, Y)[0].sum(), abs=1e-10)
        if one_hot.shape[1] > 1:
            cells = [[(one_hot[:, v] & (k == Y)).sum() for k in range(3)] for v in range(one_hot.shape[1])]
            assert found.pvalues[j] == pytest.approx(scipy_stats.chi2_contingency(cells).pvalue)
    assert found.pvalues[2] == 1.0
    two = Y == 1
    r = snb.rank_features(snb.scan(X + 1e6, two), "pearson").scores
    varies = X.std(axis=0) > 0
    np.testing.assert_allclose(r[varies], np.abs(r_regression(X[:, varies], two)), rtol=1e-7)
    assert r[~varies].tolist() == [0.0]
    each = [snb.rank_features(snb.scan(X, k == Y), "pearson").scores for k in range(3)]
    np.testing.assert_allclose(snb.rank_features(snb.scan(X, Y), "pearson").scores, np.max(each, axis=0), rtol=1e-12)


def test_bins_are_joined_to_equal_widths_or_weights():
    x = np.array([0.0, 1, 2, 3, 4, 5, 6, 7, 100, 101, 102, 127])
    y = np.array([0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1])
    stats = snb.scan(x[:, None], y, histogram="bins", n_bins=128)
    information = {"uniform": lambda: mutual_info_score(y, x >= 64), "quantile": lambda: mutual_info_score(y, x >= 6)}
    for strategy, naive in information.items():
        found = of_values("mutual_info", stats, "bins", n_bins=2, strategy=strategy)
        np.testing.assert_allclose(found, naive())
    np.testing.assert_allclose(of_values("mutual_info", stats, "bins"), math.log(2))
    np.testing.assert_allclose(of_values("mutual_info", values="bins"), of_values("mutual_info"))


def test_labels_are_ranked_one_by_one(tmp_path):
    labels = np.stack([Y == 0, X[:, 1] > 1, Y != 2], axis=1).astype(int)
    stats = snb.scan(X, labels, histogram="value", n_bins=32)
    for by, values in (("mutual_info", "value"), ("chi2", "presence"), ("score", "presence"), ("pearson", "presence")):
        found = snb.rank_features(stats, by, values=values)
        for label in range(3):
            one = snb.scan(X, labels[:, label], histogram="value", n_bins=32)
            expected = snb.rank_features(one, by, values=values)
            np.testing.assert_allclose(found.scores[label], expected.scores, rtol=1e-12, atol=1e-15)
        assert found.ranking.shape == (3, 7) and "3 labels" in repr(found) and "<table" in found._repr_html_()
        found.save(tmp_path / "r.snb")
        np.testing.assert_array_equal(snb.load(tmp_path / "r.snb").ranking, found.ranking)
    with pytest.raises(ValueError, match="bears the label 1; rank features without that column"):
        snb.rank_features(snb.scan(X, np.stack([Y == 0, Y < 3], axis=1).astype(int)))


@pytest.mark.parametrize(
    ("by", "options", "message"),
    [
        (
            "f_classif",
            {"values": "value"},
            "values='value' is for the criteria 'chi2', 'mutual_info', .*'one_r'; by='f_classif' goes",
        ),
        ("one_r", {"values": "presences"}, "values='presences' is unknown"),
        ("one_r", {"values": "bins", "strategy": "kmeans"}, "strategy='kmeans' is unknown"),
        ("one_r", {"values": "bins", "n_bins": 0}, "n_bins=0"),
        ("one_r", {"values": "presence", "n_bins": 8}, "n_bins=8 joins bins; give values="),
        ("one_r", {"values": "bins", "min_rows": -1}, "min_rows=-1"),
        ("one_r", {"values": "value", "stats": STATS}, "hold no histogram"),
        ("one_r", {"values": "value", "stats": snb.scan(X, Y, histogram="bins")}, "histogram='value'.*, or use values"),
    ],
)
def test_values_that_cannot_be_had(by, options, message):
    with pytest.raises(ValueError, match=message):
        of_values(by, **options)

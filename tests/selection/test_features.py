"""Features ranked from statistics: what does not change the scores, and input that is refused."""

import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_selection import chi2

import streamnb as snb
from streamnb.selection.criteria import CRITERIA
from streamnb.selection.features import rank_features
from tests.support.strategies import example

every_criterion = pytest.mark.parametrize("by", CRITERIA)


# ----------------------------------------------------------------------------------------- score and ratios


def test_score_of_two_classes_is_the_chi_squared_of_the_table():
    rows = example("bool")
    counts = snb.scan(rows.x, rows.y)
    z = rank_features(counts, "score", family="bernoulli", smoothing=0.0).scores
    tables = chi2(np.hstack([rows.x > 0, rows.x <= 0]), rows.y)[0]
    n = rows.x.shape[1]
    np.testing.assert_allclose(z**2, np.nan_to_num(tables[:n]) + np.nan_to_num(tables[n:]), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    ("family", "scheme"),
    [("gaussian", "joint"), ("poisson", "ovr"), ("bernoulli", "ovo"), (snb.NegativeBinomial(2.0), "reference")],
    ids=str,
)
def test_features_leave_the_path_at_their_score(family, scheme):
    rows = example("int")
    options = {"family": family, "scheme": scheme, "smoothing": 0.5, "reference": 0 if scheme == "reference" else None}
    stats = snb.scan(rows.x, rows.y)
    z = rank_features(stats, "score", **options).scores
    for j in np.flatnonzero(z > 0):
        path = snb.solve(stats, penalty=snb.L1([0.999 * z[j], 1.001 * z[j]], scale="score"), **options)
        assert path[0].coef_[:, j].any() and not path[1].coef_[:, j].any()


# ---------------------------------------------------------------------------------------------- invariances


@every_criterion
def test_ranking_puts_the_best_first_and_keeps_the_order_of_equals(by):
    rows = example()
    x = np.hstack([rows.x, rows.x])
    ranked = rank_features(snb.scan(x, rows.y), by)
    assert ranked.by == by and ranked.scores.shape == (18,) and (ranked.scores >= 0).all()
    assert sorted(ranked.ranking) == list(range(18))
    keys = [(-ranked.scores[j], j) for j in ranked.ranking]
    assert keys == sorted(keys)
    assert np.array_equal(ranked.scores[:9], ranked.scores[9:])
    assert (ranked.pvalues is not None) == (by in ("chi2", "f_classif"))


@every_criterion
def test_order_of_rows_and_columns_and_names_of_classes_do_not_matter(by):
    rows, rng = example(), np.random.default_rng(1)
    order, columns = rng.permutation(len(rows)), rng.permutation(9)
    scores = rank_features(snb.scan(rows.x, rows.y), by).scores
    renamed = np.select([rows.y == "ash", rows.y == "b"], ["z", "y"], "x")
    moved = rank_features(snb.scan(sp.csr_array(rows.x[order][:, columns]), renamed[order]), by).scores
    np.testing.assert_allclose(moved, scores[columns], rtol=1e-12, atol=1e-14)


@every_criterion
def test_classes_without_weight_are_left_out(by):
    rows = example("int")
    expected = rank_features(snb.scan(rows.x, rows.y, sample_weight=rows.w), by)
    x, y = np.vstack([rows.x, np.full((2, 9), 5.0)]), np.append(rows.y, [3, 3])
    stats = snb.scan(x, y, sample_weight=np.append(rows.w, [0.0, 0.0]), classes=[-1, 0, 1, 3, 7])
    ranked = rank_features(stats, by)
    assert np.array_equal(ranked.scores, expected.scores)
    assert expected.pvalues is None or np.array_equal(ranked.pvalues, expected.pvalues)
    assert stats.classes.tolist() == [-1, 0, 1, 3, 7]


@every_criterion
@pytest.mark.parametrize("value", [0.0, 1.0, 0.1, 1e9 / 3])
def test_constant_features_tell_nothing(by, value):
    rows = example()
    x = np.column_stack([rows.x, np.full(len(rows), value)])
    scores = rank_features(snb.scan(x, rows.y, sample_weight=rows.w / 3), by).scores
    least = max(rows.w[rows.y == k].sum() for k in set(rows.y)) / rows.w.sum() if by == "one_r" else 0.0
    # smoothing draws small classes less to the mean than large ones, but the mean is their own
    assert scores[-1] == pytest.approx(least, abs=1e-6 if by == "score" else 1e-12)
    assert scores[-1] <= scores[:-1].max()


def test_a_feature_that_is_the_class_comes_first():
    y = np.repeat([0, 1, 2], 20)
    noise = np.random.default_rng(0).poisson(1.0, (60, 5))
    X = np.column_stack([noise, 0.1 + y, y == 1])
    ranked = rank_features(snb.scan(X, y), "f_classif")
    assert ranked.scores[5] == ranked.scores[6] == np.inf and ranked.ranking[:2].tolist() == [5, 6]
    assert ranked.pvalues[5] == 0.0
    for by in ("mutual_info", "gain_ratio", "symmetrical_uncertainty", "one_r", "score", "poisson_log_ratio"):
        assert rank_features(snb.scan(X[:, [0, 1, 2, 3, 4, 6]], y), by).ranking[0] == 5


def test_presence_is_above_the_threshold_or_not_zero():
    rows = example()
    stats = snb.scan(rows.x - 1.0, rows.y, binarize=0.5)
    for presence, x in (("above", rows.x - 1.0 > 0.5), ("nonzero", rows.x - 1.0 != 0.0)):
        expected = rank_features(snb.scan(x.astype(float), rows.y), "mutual_info").scores
        assert np.array_equal(rank_features(stats, "mutual_info", presence=presence).scores, expected)


# ------------------------------------------------------------------------------------------------ bad input


def test_unknown_names_are_answered_with_the_list():
    stats = snb.scan(example().x, example().y)
    with pytest.raises(ValueError, match=r"by='chi'.*'chi2'.*'one_r'"):
        rank_features(stats, "chi")
    with pytest.raises(ValueError, match="reference"):
        rank_features(stats, "score", scheme="reference", reference="oak")
    with pytest.raises(TypeError, match="stats"):
        rank_features(example().x)


@every_criterion
def test_missing_moments_are_named(by):
    moment = CRITERIA[by]().moments[-1]
    others = [m for m in ("sum", "sum_sq", "nonzero", "above") if m != moment]
    stats = snb.scan(example().x, example().y, moments=others)
    with pytest.raises(ValueError, match=f"lack the moment '{moment}'.*moments="):
        rank_features(stats, by)
    enough = snb.scan(example().x, example().y, moments=CRITERIA[by]().moments)
    assert rank_features(enough, by).scores.shape == (9,)


@pytest.mark.parametrize("by", ["chi2", "poisson_log_ratio", "score"])
def test_negative_values_are_refused(by):
    rows = example()
    with pytest.raises(ValueError, match=f"Negative values in data passed to by='{by}'"):
        rank_features(snb.scan(-rows.x, rows.y), by)
    assert rank_features(snb.scan(-rows.x, rows.y), "f_classif").scores.max() > 0


@every_criterion
def test_one_class_is_refused(by):
    rows = example()
    one = rows.y == "b"
    for stats in (
        snb.scan(rows.x[one], rows.y[one]),
        snb.scan(rows.x[one], rows.y[one], classes=["ash", "b"]),
        snb.scan(rows.x, rows.y, sample_weight=one.astype(float)),
    ):
        with pytest.raises(ValueError, match=r"one class.*'b'"):
            rank_features(stats, by)


def test_anova_needs_more_rows_than_classes():
    with pytest.raises(ValueError, match=r"more rows than classes.*weight of all rows is 2 for 2"):
        rank_features(snb.scan([[1.0], [2.0]], [0, 1]), "f_classif")


def test_infinite_ratios_ask_for_smoothing():
    stats = snb.scan([[1.0], [0.0]], [0, 1])
    with pytest.raises(ValueError, match="smoothing"):
        rank_features(stats, "poisson_log_ratio", smoothing=0.0)
    assert rank_features(stats, "poisson_log_ratio").scores[0] == pytest.approx(math.log(3.0))


def test_statistics_are_only_read():
    stats = snb.scan(example().x, example().y)
    before = {name: table.value().copy() for name, table in stats.tables.items()}
    for by in CRITERIA:
        rank_features(replace(stats), by)
    assert all(np.array_equal(stats.tables[name].value(), before[name]) for name in before)

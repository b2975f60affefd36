"""Features ranked from statistics: what does not change the scores, and input that is refused."""

import math

import numpy as np
import pytest

import streamnb as snb
from streamnb.selection.criteria import CRITERIA
from tests.support.strategies import example

every_criterion = pytest.mark.parametrize("by", CRITERIA)


# ----------------------------------------------------------------------------------------- score and ratios


@pytest.mark.parametrize(
    ("family", "scheme"),
    [("gaussian", "joint"), ("poisson", "ovr"), ("bernoulli", "ovo"), (snb.NegativeBinomial(2.0), "reference")],
    ids=str,
)
def test_features_leave_the_path_at_their_score(family, scheme):
    rows = example("int")
    options = {"family": family, "scheme": scheme, "smoothing": 0.5, "reference": 0 if scheme == "reference" else None}
    stats = snb.scan(rows.x, rows.y)
    z = snb.rank_features(stats, "score", **options).scores
    for j in np.flatnonzero(z > 0):
        path = snb.solve(stats, penalty=snb.L1([0.999 * z[j], 1.001 * z[j]], scale="score"), **options)
        assert path[0].coef_[:, j].any() and not path[1].coef_[:, j].any()


# ---------------------------------------------------------------------------------------------- invariances


@every_criterion
def test_ranking_puts_the_best_first_and_keeps_the_order_of_equals(by):
    rows = example()
    x = np.hstack([rows.x, rows.x])
    ranked = snb.rank_features(snb.scan(x, rows.y), by)
    assert ranked.by == by and ranked.scores.shape == (18,) and (ranked.scores >= 0).all()
    assert sorted(ranked.ranking) == list(range(18))
    keys = [(-ranked.scores[j], j) for j in ranked.ranking]
    assert keys == sorted(keys)
    assert np.array_equal(ranked.scores[:9], ranked.scores[9:])
    assert (ranked.pvalues is not None) == (by in ("chi2", "f_classif"))


@every_criterion
def test_classes_without_weight_are_left_out(by):
    rows = example("int")
    expected = snb.rank_features(snb.scan(rows.x, rows.y, sample_weight=rows.w), by)
    x, y = np.vstack([rows.x, np.full((2, 9), 5.0)]), np.append(rows.y, [3, 3])
    stats = snb.scan(x, y, sample_weight=np.append(rows.w, [0.0, 0.0]), classes=[-1, 0, 1, 3, 7])
    ranked = snb.rank_features(stats, by)
    assert np.array_equal(ranked.scores, expected.scores)
    assert expected.pvalues is None or np.array_equal(ranked.pvalues, expected.pvalues)
    assert stats.classes.tolist() == [-1, 0, 1, 3, 7]


@every_criterion
@pytest.mark.parametrize("value", [0.0, 0.1, 1e9 / 3])
def test_constant_features_tell_nothing(by, value):
    rows = example()
    x = np.column_stack([rows.x, np.full(len(rows), value)])
    scores = snb.rank_features(snb.scan(x, rows.y, sample_weight=rows.w / 3), by).scores
    least = max(rows.w[rows.y == k].sum() for k in set(rows.y)) / rows.w.sum() if by == "one_r" else 0.0
    # smoothing draws small classes less to the mean than large ones, but the mean is their own
    assert scores[-1] == pytest.approx(least, abs=1e-6 if by == "score" else 1e-12)
    assert scores[-1] <= scores[:-1].max()


def test_presence_is_above_the_threshold_or_not_zero():
    rows = example()
    stats = snb.scan(rows.x - 1.0, rows.y, binarize=0.5)
    for presence, x in (("above", rows.x - 1.0 > 0.5), ("nonzero", rows.x - 1.0 != 0.0)):
        expected = snb.rank_features(snb.scan(x.astype(float), rows.y), "mutual_info").scores
        assert np.array_equal(snb.rank_features(stats, "mutual_info", presence=presence).scores, expected)


# ------------------------------------------------------------------------------------------------ bad input


def test_unknown_names_are_answered_with_the_list():
    stats = snb.scan(example().x, example().y)
    with pytest.raises(ValueError, match="reference"):
        snb.rank_features(stats, "score", scheme="reference", reference="oak")
    with pytest.raises(TypeError, match="stats"):
        snb.rank_features(example().x)


@every_criterion
def test_missing_moments_are_named(by):
    moment = CRITERIA[by]().moments[-1]
    others = [m for m in ("sum", "sum_sq", "nonzero", "above") if m != moment]
    stats = snb.scan(example().x, example().y, moments=others)
    with pytest.raises(ValueError, match=f"lack the moment '{moment}'.*moments="):
        snb.rank_features(stats, by)


@pytest.mark.parametrize("by", ["chi2", "poisson_log_ratio", "score"])
def test_negative_values_are_refused(by):
    rows = example()
    with pytest.raises(ValueError, match=f"Negative values in data passed to by='{by}'"):
        snb.rank_features(snb.scan(-rows.x, rows.y), by)
    assert snb.rank_features(snb.scan(-rows.x, rows.y), "f_classif").scores.max() > 0


@pytest.mark.parametrize("by", ["chi2", "score"])
def test_one_class_is_refused(by):
    rows = example()
    one = rows.y == "b"
    for stats in (
        snb.scan(rows.x[one], rows.y[one]),
        snb.scan(rows.x[one], rows.y[one], classes=["ash", "b"]),
        snb.scan(rows.x, rows.y, sample_weight=one.astype(float)),
    ):
        with pytest.raises(ValueError, match=r"one class.*'b'"):
            snb.rank_features(stats, by)


def test_anova_needs_more_rows_than_classes():
    with pytest.raises(ValueError, match=r"more rows than classes.*weight of all rows is 2 for 2"):
        snb.rank_features(snb.scan([[1.0], [2.0]], [0, 1]), "f_classif")


def test_infinite_ratios_ask_for_smoothing():
    stats = snb.scan([[1.0], [0.0]], [0, 1])
    with pytest.raises(ValueError, match="smoothing"):
        snb.rank_features(stats, "poisson_log_ratio", smoothing=0.0)
    assert snb.rank_features(stats, "poisson_log_ratio").scores[0] == pytest.approx(math.log(3.0))

"""Means, variances and standard deviations by class, beside pandas; drift beside its formula; digits far from zero."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import streamnb as snb
from tests.support.refusals import refused

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 4)) * (RNG.random((50, 4)) < 0.6)
Y = np.array(["a", "b", "c"])[np.arange(50) % 3]
NAMES = ["g0", "g1", "g2", "g3"]
VERBS = ["mean", "var", "std"]


@pytest.mark.parametrize("verb", VERBS)
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_averages_are_those_of_pandas(verb, form):
    found = getattr(snb.scan(form(X), Y), verb)(NAMES)
    expected = getattr(pd.DataFrame(X, columns=NAMES).groupby(pd.Index(Y, name="class")), verb)()
    pd.testing.assert_frame_equal(found, expected, rtol=1e-12, check_index_type=False, check_column_type=False)


@pytest.mark.parametrize("verb", VERBS)
def test_weights_count_as_frequency(verb):
    weight = RNG.integers(1, 5, len(X))
    weighted = snb.scan(X, Y, sample_weight=weight)
    repeated = snb.scan(np.repeat(X, weight, axis=0), np.repeat(Y, weight))
    pd.testing.assert_frame_equal(getattr(weighted, verb)(), getattr(repeated, verb)(), rtol=1e-12)


def test_variances_far_from_zero_keep_their_digits():
    near, far = (snb.scan(np.round(X * 8) + c, Y).var() for c in (0.0, 2.0**40))
    pd.testing.assert_frame_equal(near, far, rtol=1e-12)


def test_classes_without_enough_rows_have_nan():
    stats = snb.scan([[1.0, 2.0]], ["a"], classes=["a", "b"])
    assert stats.mean().loc["a"].tolist() == [1.0, 2.0]
    assert stats.mean().loc["b"].isna().all() and stats.var().isna().all(axis=None)


def test_refusals():
    with refused(ValueError, "feature_names has shape"):
        snb.scan(X, Y).mean(["one"])
    with refused(ValueError, "lack the moment 'sum_sq'"):
        snb.scan(X, Y, moments=["sum"]).var()


# ---- drift -----------------------------------------------------------------------------------------------------------

DRAWN = np.random.default_rng(0)
OLD, NEW = DRAWN.poisson(2.0, (40, 3)).astype(float), DRAWN.poisson([2.0, 2.0, 9.0], (60, 3)).astype(float)


def labels(n):
    return np.array(["a", "b"])[np.arange(n) % 2]


def z_of(old, new, variance):
    return (new.mean() - old.mean()) / np.sqrt(variance * (1 / len(old) + 1 / len(new)))


@pytest.mark.parametrize("moments", [["sum", "sum_sq"], ["sum"], ["above"], ["nonzero"]])
def test_z_is_the_score_statistic(moments):
    old, new = (snb.scan(X, labels(len(X)), moments=moments) for X in (OLD, NEW))
    found = old.drift(new, feature_names=["x", "y", "z"])
    assert (np.diff(abs(found["z"])) <= 0).all()
    for row in found[found["feature"] != "(share of rows)"].itertuples():
        j = "xyz".index(row.feature)
        before, after = OLD[labels(40) == row[1], j], NEW[labels(60) == row[1], j]
        both = np.concatenate([before, after])
        if "sum" not in moments:
            before, after, both = before > 0, after > 0, both > 0
        variance = both.var() if moments != ["sum"] else both.mean()
        assert row.z == pytest.approx(z_of(before, after, variance), rel=1e-12)
        assert (row.old, row.new) == pytest.approx((before.mean(), after.mean()))
    if "sum" in moments:
        assert found["feature"][:2].tolist() == ["z", "z"]


def test_shares_of_classes_move_too_and_new_ones_appear():
    old = snb.scan(np.ones((100, 2)), np.arange(100) < 50)
    new = snb.scan(np.ones((100, 2)), np.arange(100) < 90)
    found = old.drift(new)
    assert set(found["feature"]) == {"(share of rows)"}
    assert found["z"].abs().tolist() == pytest.approx([0.4 / np.sqrt(0.7 * 0.3 * 2 / 100)] * 2)
    other = snb.scan(np.ones((5, 2)), ["c"] * 5)
    table = snb.scan(np.ones((5, 2)), ["a"] * 5).drift(other)
    assert table[["class", "old", "new"]].values.tolist() == [["a", 1.0, 0.0], ["c", 0.0, 1.0]]


def test_means_far_from_zero_keep_their_digits():
    old, new = np.array([[0.0], [1.0], [2.0]]), np.array([[1.0], [2.0], [3.0]])
    near, far = (snb.scan(old + c, [0] * 3).drift(snb.scan(new + c, [0] * 3)) for c in (0.0, 1e9))
    assert far["z"][0] == pytest.approx(near["z"][0], rel=1e-6)


def test_other_columns_are_refused():
    old, new = (snb.scan(X, labels(len(X))) for X in (OLD, NEW))
    assert old.drift(new, 1, feature_names=["x", "y", "z"])["feature"][0] == "z"
    with refused(TypeError, "new is of type list"):
        old.drift([1.0])
    with refused(ValueError, "scan the same columns"):
        old.drift(snb.scan(OLD[:, :2], labels(40)))
    with refused(ValueError, "feature_names has shape"):
        old.drift(new, feature_names=["x"])
    with refused(ValueError, "n_features=0"):
        old.drift(new, 0)


def test_what_tells_no_mean_or_no_variance_is_refused():
    stats = snb.scan(OLD, labels(40), moments=["sum_sq"])
    with refused(ValueError, "scan with 'sum'"):
        stats.drift(stats)
    stats = snb.scan(-OLD, labels(40), moments=["sum"])
    with refused(ValueError, "scan 'sum_sq', too"):
        stats.drift(stats)

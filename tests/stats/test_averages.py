"""Means, variances and standard deviations by class, beside pandas; digits far from zero; names and refusals."""

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

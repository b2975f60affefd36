"""Maps that a family tries, learned in one pass."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.preprocessing import QuantileTransformer

import streamnb as snb
from streamnb.encoding.bins import ValueScan
from streamnb.encoding.by_fold import StepsOfFolds
from streamnb.encoding.learned_maps import check_applied, check_maps, learned_maps, loaded_maps, quantile_normal
from streamnb.passes.options import RunOptions
from streamnb.passes.run import run
from streamnb.rows.boundary import as_chunk
from streamnb.rows.opening import opened

X = np.array([[0.0, -1.0], [3.0, 2.0], [1.0, 0.0]])


def test_columns_are_learned_once_and_only_where_there_is_something_to_learn():
    found = learned_maps(["none", "log1p", "quantile_normal"], opened(X, labelled=False), RunOptions(), "a test", None)
    assert list(found) == ["none", "log1p", "quantile_normal"] and found["none"].whole is None
    np.testing.assert_array_equal(found["log1p"].whole.taken, [True, False])
    np.testing.assert_array_equal(found["quantile_normal"].whole.quantiles[:, [0, -1]], [[0, 3], [-1, 2]])
    once = opened(iter([X]), labelled=False)
    assert learned_maps(["none"], once, RunOptions(), "a test", None) == {"none": StepsOfFolds()}
    with pytest.raises(ValueError, match="a test with maps= reads the rows twice"):
        learned_maps(["log1p"], once, RunOptions(), "a test", None)


def test_what_does_not_go_together_is_named():
    maps = learned_maps(["log1p"], opened(X, labelled=False), RunOptions(), "a test", None)
    with pytest.raises(ValueError, match="normalize='l1' does not go with maps"):
        check_maps(["log1p"], None, "l1")
    with pytest.raises(ValueError, match="maps='none' is applied in the scan, which had 'log1p'"):
        check_applied([], maps["log1p"].whole)
    stats = snb.scan(X, [0, 1, 1])
    with pytest.raises(ValueError, match="statistics with maps='log1p' should be of the rows"):
        loaded_maps({"log1p": stats}, stats)


def learned(x):
    return quantile_normal(run(ValueScan(), opened(x, labelled=False), RunOptions())[0])


def test_it_is_scikit_learns_map_to_the_width_of_a_quantile():
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.gamma(1.0, 1.0, 3000), rng.poisson(2.0, 3000), np.full(3000, 7.0)])
    ours = learned(x).applied(as_chunk(x)[0])
    theirs = QuantileTransformer(n_quantiles=1000, output_distribution="normal", subsample=None).fit(x).transform(x)
    inside = (x > x.min(axis=0)) & (x < x.max(axis=0))  # scikit-learn sends all of the least to -5.2, however many
    np.testing.assert_allclose(norm.cdf(ours[inside]), norm.cdf(theirs[inside]), atol=2e-3)
    zeros = norm.cdf(ours[x[:, 1] == 0.0, 1])
    np.testing.assert_allclose(zeros, (x[:, 1] == 0.0).mean() / 2.0, atol=1e-3)
    assert (np.argsort(ours[:, 0], kind="stable") == np.argsort(x[:, 0], kind="stable")).all()
    assert (ours[:, 2] == 0.0).all()  # the middle of the one step there is
    beyond = learned(x).applied(as_chunk(np.array([[-1.0, -1.0, 0.0], [99.0, 99.0, 9.0]]))[0])
    np.testing.assert_allclose(norm.cdf(beyond), [[1e-7] * 3, [1 - 1e-7] * 3])

"""The quantile-normal map against scikit-learn's."""

import numpy as np
from scipy.stats import norm
from sklearn.preprocessing import QuantileTransformer

from streamnb.encoding.bins import ValueScan
from streamnb.encoding.quantile_normal import quantile_normal
from streamnb.passes.options import RunOptions
from streamnb.passes.run import run
from streamnb.rows.boundary import as_chunk
from streamnb.rows.opening import opened


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

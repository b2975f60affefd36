"""Intervals from variances: Wilson's of shares, whatever scale they are on, and the normal one of losses."""

import numpy as np
import pytest
from scipy.stats import binomtest, norm, t

import streamnb as snb
from streamnb.evaluation.estimates import Estimate, clustered, filled_buckets, per_weight, spread_of


def share(right, n):
    return Estimate(right / n, right / n * (1.0 - right / n) / n, n)


@pytest.mark.parametrize(("right", "n"), [(37, 50), (0, 20), (20, 20), (1, 400)])
def test_of_a_share_it_is_wilsons(right, n):
    expected = binomtest(right, n).proportion_ci(0.9, method="wilson")
    assert share(right, n).bounds(0.9) == pytest.approx((expected.low, expected.high))
    turned = Estimate(2.0 * right / n - 1.0, 4.0 * share(right, n).variance, n, low=-1.0)  # as of a correlation
    assert turned.bounds(0.9) == pytest.approx((2.0 * expected.low - 1.0, 2.0 * expected.high - 1.0))
    of_classes = Estimate(*(np.array([x, np.nan]) for x in (right / n, share(right, n).variance, float(n))))
    low, high = of_classes.bounds(0.9)
    assert (low[0], high[0]) == pytest.approx((expected.low, expected.high)) and np.isnan([low[1], high[1]]).all()


def test_of_a_mean_loss_it_is_normal_on_the_scale_of_logarithms():
    low, high = Estimate(0.5, 0.01, 40.0, high=np.inf).bounds(0.95)
    assert np.log([low, high]) == pytest.approx(np.log(0.5) + norm.ppf([0.025, 0.975]) * 0.1 / 0.5)
    low, high = Estimate(0.5, 0.01, 40.0, high=np.inf, df=4).bounds(0.95)
    assert np.log([low, high]) == pytest.approx(np.log(0.5) + t(4).ppf([0.025, 0.975]) * 0.1 / 0.5)


def test_what_buckets_add_is_compared_with_nothing_added():
    sums = np.array([[1.0, 0.0], [-2.0, 0.0], [0.0, 0.0], [1.0, 1e-18]])
    variance, n, df = clustered(sums)
    assert (variance[0], n[0], df[0]) == (6.0 * 3.0 / 2.0, 3.0, 2.0) and n[1] == 0.0


def test_weights_that_are_no_counts_count_fewer_rows():
    def judged(weight, **options):
        return snb.evaluate([0, 1, 1, 0], [0, 1, 0, 1], sample_weight=weight, **options)

    assert per_weight(judged([1.0, 2.0, 3.0, 2.0], interval=0.9)) == 1.0
    assert per_weight(judged([0.5, 0.5, 1.5, 1.5], interval=0.9)) == 4.0 / 5.0  # 4^2 / 5 rows
    assert filled_buckets(spread_of(judged(None, interval=0.9, groups=[1, 1, 2, 3]))) == 3
    with pytest.raises(ValueError, match=r"made without intervals; give interval=0.95"):
        spread_of(judged(None))

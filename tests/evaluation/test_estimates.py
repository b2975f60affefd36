"""Intervals from variances: Wilson's of shares, whatever scale they are on, and the normal one of losses."""

import numpy as np
import pytest
from scipy.stats import binomtest, norm, t

import streamnb as snb
from streamnb.evaluation.estimates import Estimate, clustered, filled_buckets, per_weight, quantile, spread_of


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


def test_of_a_mean_loss_it_is_normal_but_for_skewness():
    for df, law in ((np.inf, norm), (4.0, t(4))):
        ends = Estimate(0.5, 0.01, 40.0, high=np.inf, df=df, skewness=0.0).bounds(0.95)
        assert ends == pytest.approx(0.5 + law.ppf([0.025, 0.975]) * 0.1)
        assert quantile(0.95, df) == pytest.approx(law.ppf(0.975))
    skew = 0.4
    ends = Estimate(0.5, 0.01, 40.0, high=np.inf, skewness=skew).bounds(0.95)
    x = (0.5 - np.array(ends)) / 0.1  # Hall's transformation of the Studentised mean is normal
    assert x + skew * x**2 / 3.0 + skew**2 * x**3 / 27.0 + skew / 6.0 == pytest.approx(norm.ppf([0.975, 0.025]))
    assert Estimate(0.01, 0.01, 40.0, high=1.0, skewness=0.0, df=1.0).bounds(0.95) == (0.0, 1.0)


def test_what_is_no_share_has_one_row_that_may_lie_anywhere():
    p, n = 0.9, 20.0
    wider = Estimate(p, 1e-4 + p * (1.0 - p) / (n * (n + 4.0)), n)
    assert Estimate(p, 1e-4, n, is_share=False).bounds(0.95) == wider.bounds(0.95)


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

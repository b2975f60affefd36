"""Weights under a pull that grows with them, and the sum of all pulls, against the equations they solve."""

import numpy as np
import pytest

from streamnb.kernels.roots import CHUNK, gaps, log_roots, smooth_total

PLUS = np.array([0.5, 3.0, 4.0, 8.5, 40.0, 1e-9])
MINUS = np.array([6.0, 3.5, 2.0, 8.0, 100.0, 2.0])


def scratch(n=6):
    return np.empty((2, CHUNK)), np.zeros(n)


@pytest.mark.parametrize("tau", [1e-7, 0.3, 1e8])
@pytest.mark.parametrize("pulled", [0.0, 1.0])
@pytest.mark.parametrize("threshold", [0.0, 0.25])
def test_all_pulls_add_up_to_the_total_at_which_they_were_taken(tau, pulled, threshold):
    n_plus, n_minus = PLUS.sum(), MINUS.sum()
    both = MINUS if pulled == 0.0 else PLUS + MINUS
    share = both / both.sum()
    excess = PLUS - n_plus * share
    unit = np.full(len(PLUS), threshold)
    total = smooth_total(PLUS, n_plus, MINUS, n_minus, pulled, excess, share, unit, tau, 0.0, *scratch())
    t_star = excess + total * share
    live = np.abs(t_star) > unit
    r_plus, r_minus = np.full(len(PLUS), 1.0 / (n_plus - total)), np.full(len(PLUS), 1.0 / (n_minus + pulled * total))
    start, w = np.sign(t_star) * unit, np.zeros(len(PLUS))
    arrays = (a[live] for a in (PLUS * r_plus, r_plus, MINUS * r_minus, pulled * r_minus, start))
    found = np.zeros(live.sum())
    log_roots(*arrays, tau, t_star[live], found)
    w[live] = found
    t = np.where(live, start + tau * w, t_star)
    assert live.sum() >= 4 and abs(t.sum() - total) <= 1e-12 * np.abs(t_star).sum()
    ratio = np.log((PLUS - t) * r_plus) - np.log((MINUS + pulled * t) * r_minus)
    np.testing.assert_allclose(w[live], ratio[live], rtol=1e-9, atol=1e-14)
    assert (np.sign(w) == np.sign(t_star) * live).all()


@pytest.mark.parametrize("tau", [10.0, 100.0])
def test_of_small_classes_beside_large_ones_the_total_is_found_from_any_start(tau):
    """Newton's steps leave the bracket there, begin where the sum falls, or are as many as 8."""
    rng = np.random.default_rng(0)
    rest, plus = rng.poisson(180.0, 50) * 1.0, rng.poisson(7.0, 50) * 1.0
    plus[0] += 40.0
    n_plus, minus = plus.sum(), plus + rest
    share = minus / minus.sum()
    excess, sd = plus - n_plus * share, np.sqrt(n_plus * share * rest / minus)
    for threshold in np.linspace(0.0, 2.5, 6):
        arrays = plus, n_plus, minus, minus.sum(), 0.0, excess, share, threshold * sd, tau
        starts = 0.0, -0.9 * n_plus, -30.0 * n_plus, 0.5 * n_plus
        roots = [smooth_total(*arrays, start, *scratch(50)) for start in starts]
        np.testing.assert_allclose(roots, roots[0], rtol=1e-7)
        assert abs(gaps(*arrays, roots[0], *scratch(50), 4)[0]) < 1e-6 * n_plus

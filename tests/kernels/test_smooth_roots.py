"""Weights under a pull that grows with them, and the sum of all pulls, against the equations they solve."""

import numpy as np
import pytest

from streamnb.kernels.smooth_roots import log_roots, smooth_total

PLUS = np.array([0.5, 3.0, 4.0, 8.5, 40.0, 1e-9])
MINUS = np.array([6.0, 3.5, 2.0, 8.0, 100.0, 2.0])


@pytest.mark.parametrize("tau", [1e-7, 0.3, 1e8])
@pytest.mark.parametrize("pulled", [0.0, 1.0])
@pytest.mark.parametrize("threshold", [0.0, 0.25])
def test_all_pulls_add_up_to_the_total_at_which_they_were_taken(tau, pulled, threshold):
    n_plus, n_minus = PLUS.sum(), MINUS.sum()
    both = MINUS if pulled == 0.0 else PLUS + MINUS
    share = both / both.sum()
    excess = PLUS - n_plus * share
    unit = np.full(len(PLUS), threshold)
    total = smooth_total(PLUS, n_plus, MINUS, n_minus, pulled, excess, share, unit, tau, 0.0)
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

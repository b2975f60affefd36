"""Where one weight stops under a pull: it solves (6.2), at any scale."""

import numpy as np
import pytest

import streamnb as snb


def stats(scale=1.0):
    rng = np.random.default_rng(0)
    return snb.scan(rng.poisson(3.0, (60, 8)) * scale, np.arange(60) % 2)


@pytest.mark.parametrize(("scale", "tau"), [(1e-100, 1.0), (1e-45, 1e3), (1.0, 1e-3), (1e45, 1.0)])
def test_l2_weights_do_not_depend_on_how_they_are_written(scale, tau):
    def slope(w):
        return -w

    one = snb.solve(stats(scale), "poisson", snb.L2(tau))[0].coef_
    two = snb.solve(stats(scale), "poisson", snb.Separable(slope, tau))[0].coef_
    np.testing.assert_allclose(one, two, rtol=1e-9, atol=0.0)

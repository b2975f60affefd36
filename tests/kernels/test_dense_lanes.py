"""Sums of several rows at once are those of row by row, and where a small value would lose digits it is row by row."""

import numpy as np
import pytest

from streamnb.kernels import dense_sums


def begun(n_features):
    """Sums of rows of values up to 1, as `add_both` begins them, and what they begin with."""
    top, sums = np.ones(n_features), np.empty((dense_sums.PARTS, n_features))
    dense_sums.begin(top, 64.0, False, sums[:4])
    dense_sums.begin(top, 64.0, True, sums[4:])
    return sums, sums.copy()


@pytest.mark.parametrize("n_features", [8, 13, 16])
def test_all_at_once_or_row_by_row(n_features):
    rng = np.random.default_rng(n_features)
    x = (rng.random((50, n_features)) * rng.choice([-1.0, 0.0, 1.0], (50, n_features))).astype(np.float32)
    x[7] = 2.0**-60  # loses in every column
    rows, limits = rng.permutation(50)[:40], np.empty(n_features, np.float32)
    dense_sums.losing(np.ones(n_features), 64.0, limits)
    assert (limits == 2.0**-22).all()
    for chosen in (rows[rows != 7], np.append(rows[rows != 7], 7)):
        (sums, start), (one_by_one, _) = begun(n_features), begun(n_features)
        dense_sums.add_rows(x, chosen, limits, sums)
        dense_sums.add_rows(x, chosen, np.full(n_features, np.inf, np.float32), one_by_one)
        assert np.array_equal(sums, one_by_one)
        grown = (sums - start).reshape(2, 4, n_features).sum(axis=1)
        wide = x[chosen].astype(np.float64)
        np.testing.assert_allclose(grown, [wide.sum(axis=0), (wide**2).sum(axis=0)], rtol=1e-12, atol=1e-14)
        assert (sums[1] != start[1]).all() == (7 in chosen)  # what x lost

"""Weights of a grid laid out: every weight once, the scores of dense ones, in no more memory than said."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from streamnb.models.grid_weights import DOUBLE, GridWeights
from streamnb.rows.boundary import as_chunk


def falling(n_features, n_points, n_rows, scale, seed=0):
    """Whole numbers (n_features, n_points, n_rows) that end at some point, as L1 leaves them."""
    rng = np.random.default_rng(seed)
    alive = rng.exponential(scale, (n_features, 1, n_rows)) > np.arange(n_points)[:, None]
    return rng.integers(1, 9, alive.shape) * alive.astype(float)


def blocks(weights, *cuts):
    flat = sp.csr_array(weights.reshape(len(weights), -1))
    return [flat[a:b] for a, b in zip((0, *cuts), (*cuts, len(weights)))]


@given(st.integers(0, 2**32 - 1), st.sampled_from([(1, 1), (9, 2), (40, 3)]), st.sampled_from([0.1, 4.0, 1000.0]))
def test_scores_are_those_of_dense_weights_and_are_added(seed, shape, scale):
    rng, (n_points, n_rows) = np.random.default_rng(seed), shape
    weights, x = falling(12, n_points, n_rows, scale, seed), rng.integers(-2, 3, (6, 12)).astype(float)
    laid_out, some = GridWeights.of(blocks(weights, 4), n_rows), rng.integers(0, 6, 4)
    expected = np.einsum("ij,jgr->irg", x[some], weights)
    for rows in (x, sp.csr_array(x), sp.csr_array(x[1:])):
        out = np.ones((4, n_rows, DOUBLE.padded(n_points)))
        shift = 6 - rows.shape[0]
        kept = some >= shift
        laid_out.add_scores(as_chunk(rows)[0], some[kept] - shift, out[kept].reshape(kept.sum(), -1))
        added = out[kept].copy()
        laid_out.add_scores(as_chunk(rows)[0], some[kept] - shift, added.reshape(len(added), -1))
        assert (added[:, :, :n_points] == 1.0 + expected[kept]).all() and (added[:, :, n_points:] == 1.0).all()


@pytest.mark.compiled
def test_scores_do_not_depend_on_how_rows_are_stored():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(40, 900)) * (rng.random((40, 900)) < 0.9)  # more units than are listed at once
    weights = rng.normal(size=(900, 300)) * (rng.random((900, 300)) < rng.random((900, 1)) / 20.0)
    laid_out, rows = GridWeights.of([sp.csr_array(weights)], 3), np.arange(40)
    stored = sp.csr_array(x)
    zeros = sp.csr_array((x.reshape(-1), np.tile(np.arange(900), 40), np.arange(41) * 900))  # stored, too
    dense, sparse, explicit = np.zeros((3, 40, 3 * DOUBLE.padded(100)))
    for given_rows, out in ((x, dense), (stored, sparse), (zeros, explicit)):
        laid_out.add_scores(as_chunk(given_rows)[0], rows, out)
    assert (dense == sparse).all() and (dense == explicit).all()
    one = np.zeros_like(dense[:1])
    laid_out.add_scores(as_chunk(stored)[0], rows[7:8], one)
    assert (one == dense[7]).all()

"""Weights of a grid laid out: every weight once, the scores of dense ones, in no more memory than said."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from streamnb.models.grid_weights import DOUBLE, FEW_COLUMNS, SINGLE, GridWeights
from streamnb.rows.boundary import as_chunk

LAYOUTS = pytest.mark.parametrize("layout", [DOUBLE, SINGLE], ids=["double", "single"])


def falling(n_features, n_points, n_rows, scale, seed=0):
    """Whole numbers (n_features, n_points, n_rows) that end at some point, as L1 leaves them."""
    rng = np.random.default_rng(seed)
    alive = rng.exponential(scale, (n_features, 1, n_rows)) > np.arange(n_points)[:, None]
    return rng.integers(1, 9, alive.shape) * alive.astype(float)


def blocks(weights, *cuts):
    flat = sp.csr_array(weights.reshape(len(weights), -1))
    return [flat[a:b] for a, b in zip((0, *cuts), (*cuts, len(weights)))]


def dense(laid_out, n_points, n_rows):
    """All that the head and the units hold, (n_features, n_points, n_rows)."""
    head, spots, begins, columns, units = laid_out.arrays
    width = laid_out.layout.padded(n_points)
    out = np.zeros((len(begins) - 1, n_rows * width))
    for table, at in zip(head, spots):
        out[:, at] += table[:, : len(at)]
        assert not table[:, len(at) :].any()
    for j, column, unit in zip(np.repeat(np.arange(len(out)), np.diff(begins)), columns.tolist(), units):
        out[j, column : column + len(unit)] += unit
    out = out.reshape(len(out), n_rows, width)
    assert not out[:, :, n_points:].any()
    return out[:, :, :n_points].transpose(0, 2, 1)


@LAYOUTS
@pytest.mark.parametrize("scale", [0.1, 4.0, 1000.0])  # in units, in both, in the head
@pytest.mark.parametrize(("n_points", "n_rows"), [(1, 1), (9, 2), (40, 1), (40, 3)])
def test_every_weight_is_there_once(layout, scale, n_points, n_rows):
    weights = falling(12, n_points, n_rows, scale)
    whole = GridWeights.within(1 << 20, blocks(weights), n_rows, layout)
    assert (dense(whole, n_points, n_rows) == weights).all()
    cut = GridWeights.within(1 << 20, blocks(weights, 5, 5, 9), n_rows, layout)
    assert all(np.array_equal(a, b) for a, b in zip(whole.arrays, cut.arrays))
    assert {array.dtype for array in (whole.arrays[0], whole.arrays[4])} == {np.dtype(layout.dtype)}
    assert (whole.n_whole > 0) == (whole.arrays[0].shape[0] > 0 and whole.arrays[1].size > FEW_COLUMNS)


@LAYOUTS
def test_weights_take_what_they_may_or_are_not_laid_out(layout):
    weights = blocks(falling(12, 40, 3, 4.0))
    laid_out = GridWeights.within(1 << 20, weights, 3, layout)
    of_weights = laid_out.arrays[0].nbytes + laid_out.arrays[4].nbytes
    assert laid_out.nbytes == sum(array.nbytes for array in laid_out.arrays) > of_weights
    assert GridWeights.within(of_weights, weights, 3, layout) is not None
    assert GridWeights.within(of_weights - 1, weights, 3, layout) is None
    assert not any(array.flags.writeable for array in laid_out.arrays)


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


@LAYOUTS
def test_padding_and_places_of_points(layout):
    lanes = layout.lanes
    assert [layout.padded(n) for n in (1, lanes, lanes + 1)] == [lanes, lanes, 2 * lanes]
    assert [layout.head_lanes(depth, 3) for depth in (0, 1, lanes)] == [0, 1, 3]
    point, row, unit, lane = layout.where(lanes + 2, 3)
    for c in range(3 * (lanes + 2)):
        assert (point[c], row[c]) == divmod(c, 3)
        assert unit[c] + lane[c] == row[c] * layout.padded(lanes + 2) + point[c] and not unit[c] % lanes


@LAYOUTS
def test_full_weights_go_to_the_head_and_rare_ones_to_units(layout):
    full, rare = np.ones((50, 2 * layout.lanes, 2)), np.zeros((50, 2 * layout.lanes, 2))
    rare[3] = 1.0
    assert layout.shape(blocks(full), 2) == (2 * layout.lanes, 0)
    assert layout.shape(blocks(rare), 2) == (0, 4)
    top, listed, factors = GridWeights.within(1 << 20, blocks(rare), 2, layout).scratch(2)
    assert not top.any() and not listed.any() and len(top) == 2 and factors.dtype == layout.dtype

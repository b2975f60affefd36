"""Histograms of classes: what NumPy counts, on grids that do not depend on the order of rows."""

from functools import reduce
from itertools import pairwise
from operator import add

import numpy as np
import pytest
import scipy.sparse as sp

import streamnb as snb
from streamnb.stats.complements import with_and_without
from streamnb.stats.histograms import Grid, Histograms

rng = np.random.default_rng(0)
N, K, B = 300, 3, 16
X = rng.normal(size=(N, 5)) * [1.0, 10.0, 0.01, 1e6, 1e-300] + [0.0, 3.0, 0.0, 1e9, 0.0]
Y, W, SETS = rng.integers(0, K, N), rng.random(N), rng.integers(0, 2, (N, 2))
COUNTS = rng.poisson(1.0, (N, 4)) * (rng.random((N, 4)) < 0.5)


def scan(X, y, w=None, histogram="bins", n_bins=B, **options):
    return snb.scan(X, y, sample_weight=w, moments=["sum"], histogram=histogram, n_bins=n_bins, **options)


def same(a, b):
    np.testing.assert_array_equal(a.histogram, b.histogram)
    np.testing.assert_array_equal(a.table("histogram").edges, b.table("histogram").edges)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_bins_hold_what_numpy_counts_in_them(dtype):
    x = X[:, :4].astype(dtype)
    stats = scan(x, Y, W)
    H, edges = stats.histogram, stats.table("histogram").edges
    assert H.shape == (4, B, K) and edges.shape == (4, B + 1)
    for j in range(4):
        for y in range(K):
            counted, _ = np.histogram(x[y == Y, j], edges[j], weights=W[y == Y])
            np.testing.assert_allclose(H[j, :, y], counted, atol=1e-12)
    width = np.diff(edges)
    assert (width == width[:, :1]).all() and (np.frexp(width[:, 0])[0] == 0.5).all()
    np.testing.assert_array_equal(edges % width[:, :1], 0.0)
    spanned = np.ptp(np.floor(x.astype(float) / width[:, 0]), axis=0) + 1
    assert (spanned >= B / 2).all()  # no grid is coarser than it must be
    np.testing.assert_array_equal(scan(x, Y).histogram.sum(axis=1), np.tile(np.bincount(Y), (4, 1)))


def test_values_are_counted_one_by_one():
    H = scan(COUNTS, Y, histogram="value", n_bins=8).histogram
    for j in range(4):
        for y in range(K):
            assert H[j, :, y].tolist() == np.bincount(COUNTS[y == Y, j], minlength=8).tolist()


@pytest.mark.compiled
@pytest.mark.parametrize("weight", [None, W], ids=["whole", "real"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("values", [X, COUNTS], ids=["real", "counts"])
def test_bits_do_not_depend_on_the_cut_the_order_or_the_form(values, form, weight):
    whole, w = scan(values, Y, weight), np.ones(N) if weight is None else weight
    cuts = [0, 1, 2, 50, 51, 200, N]
    parts = [slice(a, b) for a, b in pairwise(cuts)]
    same(reduce(add, [scan(form(values[p]), Y[p], w[p]) for p in parts[::-1]]), whole)
    same(scan(lambda: ((form(values[p]), Y[p], w[p]) for p in parts), None), whole)
    back = np.arange(N)[::-1]
    same(scan(form(values[back]), Y[back], w[back]), whole)


def test_taking_rows_away_leaves_the_others_on_the_grid_of_all():
    some = np.arange(N) < 100
    left = scan(X, Y, W) - scan(X[some], Y[some], W[some])
    same(left, scan(X, Y, W) * 0.0 + scan(X[~some], Y[~some], W[~some]))
    half = scan(X, Y, W) * 0.5
    np.testing.assert_array_equal(half.histogram, scan(X, Y, W).histogram / 2)
    with pytest.raises(ValueError, match=r"a bin of what is left has a weight below 0 \(class 0, feature 0, bin \d+\)"):
        scan(X, Y) - scan(X[:, [1, 0, 2, 3, 4]], Y)


def test_labels_of_an_indicator_are_counted_and_all_rows_once():
    stats = scan(COUNTS, SETS, histogram="value", n_bins=8)
    for label in range(2):
        expected = scan(COUNTS, SETS[:, label], histogram="value", n_bins=8)
        np.testing.assert_array_equal(with_and_without(stats, label).histogram, expected.histogram)


def test_files_of_other_ranges_are_refused():
    table = scan(X, Y, W).table("histogram")
    with pytest.raises(ValueError, match="do not fit ranges of 4 features"):
        Histograms._from_state({**table._to_state(), "low": np.zeros(4), "high": np.ones(4)})


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ([[1.0], [0.5]], r"whole numbers from 0 to 3, but X has 0\.5 at row 1, column 0; use histogram='bins'"),
        ([[-1.0], [2.0]], r"X has -1 at row 0, column 0"),
        ([[0.0], [7.0]], r"X has 7 at row 1, column 0; give n_bins=8 or more"),
    ],
)
def test_values_without_a_bin_are_refused_by_row_and_column(x, message):
    for X in (np.array(x), sp.csr_array(np.array(x))):
        with pytest.raises(ValueError, match=message):
            scan(X, [0, 1], histogram="value", n_bins=4)


def test_what_is_asked_must_be_known_and_fit():
    for wrong, message in (
        ({"histogram": "counts"}, "histogram='counts'"),
        ({"n_bins": 1}, "n_bins=1"),
        ({"n_bins": 2.5}, "n_bins=2.5"),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            scan(X, Y, **wrong)
    for verb in (snb.scan, snb.plan):
        with pytest.raises(ValueError, match="n_bins=32 is for histograms"):
            verb(X, Y, n_bins=32)
    with pytest.raises(ValueError, match=r"these statistics hold no histogram; scan\(histogram="):
        _ = snb.scan(X, Y).histogram
    with pytest.raises(ValueError, match=r"histogram='bins' and n_bins=16, the others with .* and n_bins=8"):
        scan(X, Y) + scan(X, Y, n_bins=8)
    with pytest.raises(ValueError, match="moments"):
        scan(X, Y) + snb.scan(X, Y, moments=["sum"])


def test_memory_is_said_before_the_scan_and_refused_with_the_numbers():
    options = {"classes": range(10), "moments": ["sum"], "histogram": "bins", "n_bins": 64}
    wide = np.zeros((3, 1000))
    assert snb.plan(wide, **options).bin_bytes == 1000 * 64 * 10 * 8
    assert snb.plan(wide, **options, folds=3).bin_bytes == 3 * 1000 * 64 * 10 * 8
    assert snb.plan(wide, classes=[0, 1]).bin_bytes == 0
    assert snb.plan(wide, **options, memory_limit="1MB").tables == "too large"
    refusal = r"1,000 features in 64 bins and 10 classes and folds would take 5\.1 MB, and memory_limit allows 1\.0 MB"
    with pytest.raises(MemoryError, match=refusal):
        snb.scan(wide, [0, 1, 2], **options, memory_limit="1MB")


def test_grids_of_parts_lead_to_the_grid_of_all():
    values = np.concatenate([np.logspace(-300, 90, 40), -np.logspace(-20, 20, 20), [0.0, 5e-324]])
    for seed in range(20):
        some = np.random.default_rng(seed).permutation(values)[: 2 + seed]
        grids = [Grid("bins", 2 + seed, np.array([x]), np.array([x])) for x in some]
        whole = Grid("bins", 2 + seed, some.min(keepdims=True), some.max(keepdims=True))
        for union in (reduce(lambda a, b: a | b, grids), reduce(lambda a, b: b | a, grids)):
            assert union.exponents == whole.exponents and union.firsts == whole.firsts
        inside = np.floor(some * whole.scale[0]) - whole.firsts[0]
        assert (inside >= 0).all() and (inside < whole.n_bins).all()

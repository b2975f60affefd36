"""Sums of products: what NumPy finds, the same bits however rows are cut, and all that statistics can do."""

from itertools import pairwise

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

import streamnb as snb
from streamnb.stats.second_moments import scatter, scatter_of_all

rng = np.random.default_rng(0)
N, K, J = 4500, 3, 5
X, Y, W = rng.normal(size=(N, J)), rng.integers(0, K, N), rng.random(N)
COUNTS = rng.poisson(0.2, (N, 30))
SETS = rng.integers(0, 2, (N, 2))


def gram(X, y, w=None, **options):
    return snb.scan(X, y, sample_weight=w, moments=["sum", "gram"], **options)


def by_class(X, y, w):
    return np.stack([(X[y == k] * w[y == k, None]).T @ X[y == k] for k in range(K)])


@pytest.mark.compiled
@pytest.mark.parametrize("exact", [False, True])
def test_bits_do_not_depend_on_the_cut_nor_on_the_threads(exact, tmp_path):
    whole = gram(X, Y, W, exact=exact)
    np.testing.assert_allclose(whole.gram, by_class(X, Y, W), rtol=1e-11, atol=1e-11)
    cuts = [0, 1, 2, 2048, 2049, 4444, N]
    stream = gram(lambda: ((X[a:b], Y[a:b], W[a:b]) for a, b in pairwise(cuts)), None, exact=exact)
    lazy = gram(da.from_array(X, chunks=(1234, J)), Y, W, exact=exact)
    kept = [gram(X, Y, W, exact=exact, checkpoint=tmp_path / "c.snb", n_threads=1) for _ in range(2)]
    for other in (stream, lazy, *kept):
        np.testing.assert_array_equal(other.gram, whole.gram)
    parts = sum(gram(X[a:b], Y[a:b], W[a:b], exact=exact) for a, b in pairwise(cuts))
    if exact:
        np.testing.assert_array_equal(parts.gram, whole.gram)
        np.testing.assert_array_equal(
            (whole - gram(X[:99], Y[:99], W[:99], exact=True)).gram, gram(X[99:], Y[99:], W[99:], exact=True).gram
        )
        np.testing.assert_array_equal((whole * 0.5).gram, whole.gram / 2)
    np.testing.assert_allclose(parts.gram, whole.gram, rtol=1e-11, atol=1e-11)


@pytest.mark.compiled
@pytest.mark.parametrize("dtype", [np.uint8, np.float32, np.float64])
def test_whole_numbers_and_presence_are_exact_dense_and_sparse(dtype):
    for x in (COUNTS, COUNTS + 5):  # sparse rows of the second are multiplied in full
        dense = snb.scan(x.astype(dtype), Y, moments=["gram", "gram_above"], binarize=1.0)
        sparse = snb.scan(sp.csr_array(x.astype(dtype)), Y, moments=["gram", "gram_above"], binarize=1.0)
        for stats in (dense, sparse):
            assert stats.table("gram").lo is None
            np.testing.assert_array_equal(stats.gram, by_class(x, Y, np.ones(N, int)))
            np.testing.assert_array_equal(stats.gram_above, by_class((x > 1).astype(int), Y, np.ones(N, int)))
    below = snb.scan(sp.csr_array(COUNTS), Y, moments=["gram_above"], binarize=-1.0)
    np.testing.assert_array_equal(below.gram_above, np.bincount(Y)[:, None, None] * np.ones((30, 30)))
    np.testing.assert_allclose(gram(sp.csr_array(COUNTS * 0.1), Y, W).gram, by_class(COUNTS * 0.1, Y, W), rtol=1e-12)


@pytest.mark.compiled
def test_pooled_products_are_those_of_all_rows_once(tmp_path):
    for y in (Y, SETS):
        pooled, split = gram(COUNTS, y, pooled=True, folds=3), gram(COUNTS, y, folds=3)
        np.testing.assert_array_equal(pooled.gram, COUNTS.T @ COUNTS)
        rest = pooled.without_fold(1)
        np.testing.assert_array_equal((rest + pooled.fold(1)).gram, pooled.gram)
        pooled.save(tmp_path / "p.snb")
        np.testing.assert_array_equal((snb.ClassStats.load(tmp_path / "p.snb") * 0.5).gram, pooled.gram / 2)
        if y is Y:
            np.testing.assert_array_equal(split.gram.sum(axis=0), pooled.gram)
            np.testing.assert_array_equal(rest.gram, split.without_fold(1).gram.sum(axis=0))
    with pytest.raises(ValueError, match="pooled over the classes in one of the statistics alone"):
        gram(COUNTS, Y) + gram(COUNTS, Y, pooled=True)
    with pytest.raises(ValueError, match="class_weight does not work with pooled sums"):
        gram(COUNTS, Y, pooled=True).reweighted(np.arange(3.0))
    np.testing.assert_array_equal(gram(COUNTS, Y).reweighted(np.arange(3.0)).gram[2], 2 * gram(COUNTS, Y).gram[2])


def test_scatter_keeps_what_far_columns_vary_by():
    x = np.array([[1e9], [1e9 + 1], [1e9 + 2], [0.0], [5.0]])
    for exact in (False, True):
        stats = gram(x, [0, 0, 0, 1, 1], exact=exact)
        assert scatter(stats)[0, 0, 0] / 3 == pytest.approx(2 / 3, rel=1e-12)
    far = X + 1e6
    for pooled in (False, True):
        np.testing.assert_allclose(scatter_of_all(gram(far, Y, pooled=pooled)), N * np.cov(far.T, ddof=0), rtol=1e-6)


def test_what_is_too_large_or_wrong_is_said_beforehand():
    def rows(block):
        raise AssertionError("rows are read")

    wide = da.zeros((10, 40_000), chunks=(5, 40_000)).map_blocks(rows, dtype=float, meta=np.empty((0, 0)))
    with pytest.raises(MemoryError, match=r"products of 40,000 features by 40,000, .* would take 12.8 GB"):
        gram(wide, np.arange(10) % 2, memory_limit="1GB")
    with pytest.raises(MemoryError, match=r"pooled, .*; use pooled=True, fewer folds"):
        gram(wide, np.arange(10) % 2, memory_limit="1GB", pooled=True)
    many = da.zeros((10**9, 1000), chunks=(10**8, 1000)).map_blocks(rows, dtype=float, meta=np.empty((0, 0)))
    with pytest.warns(snb.StreamnbWarning, match="take about 833 minutes of one core"), pytest.raises(AssertionError):
        gram(many, da.zeros(10**9, chunks=10**8, dtype=int), pooled=True)
    assert snb.plan(X, Y, moments=["gram"], folds=5).product_bytes == 8 * K * 5 * 15
    assert snb.plan(X, Y, moments=["gram"], pooled=True).product_bytes == 8 * 15
    for options, message in (({"exact": 1.5}, "exact=1.5"), ({"pooled": "yes"}, "pooled='yes'")):
        with pytest.raises(ValueError, match=message):
            gram(X, Y, **options)
    with pytest.raises(ValueError, match="lack the moment 'gram'"):
        _ = snb.scan(X, Y, moments=["sum"]).gram
    with pytest.raises(ValueError, match="gram of what is left has a square below 0"):
        snb.scan(X, Y, moments=["gram"]) - snb.scan(10 * X[: N // 2], Y[: N // 2], moments=["gram"])

"""Each chunk is read once, and what follows from sums reads nothing."""

import tracemalloc
from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp
import zarr
from zarr.storage import MemoryStore

import streamnb as snb
from tests.support.stores import CountingStore, chunk_keys, counted_csr
from tests.support.strategies import example


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("chunk", [1, 7, 1000])
def test_a_fit_reads_each_chunk_of_a_csr_group_once(zarr_format, chunk):
    store, group = counted_csr(example(), zarr_format, chunk=chunk)
    snb.LinearNB().fit(group, "y")
    for name in ("data", "indices", "indptr", "y"):
        assert {key: store.reads[key] for key in chunk_keys(group[name])} == dict.fromkeys(chunk_keys(group[name]), 1)


@pytest.mark.parametrize("chunks", [(7, 9), (7, 4), (1, 9), (100, 100)])
@pytest.mark.parametrize("kind", [snb.LinearNB, snb.SoftmaxRegression])
def test_a_fit_reads_each_chunk_of_a_dense_array_once(chunks, kind):
    rows = example()
    rows.x[rows.x == 0] = 1
    store = CountingStore(MemoryStore())
    array = zarr.create_array(store, name="x", data=rows.x, chunks=chunks)
    store.reads.clear()
    kind().fit(array, rows.y)
    assert store.reads == Counter(chunk_keys(array))


def test_a_fit_reads_each_byte_of_a_shard_once():
    store, group = counted_csr(example(), chunk=7, shards=(28,))
    stored = sum(len(value) for key, value in store._store._store_dict.items() if "/c/" in key)
    snb.LinearNB().fit(group, "y")
    assert store.reads.total() > 0
    assert store.bytes_read <= stored


def test_solving_and_refitting_read_nothing():
    store, group = counted_csr(example())
    model = snb.LinearNB(snb.Poisson()).fit(group, "y")
    stats = snb.scan(group, "y")
    store.reads.clear()
    path = snb.solve(stats, "poisson", snb.L1([0.1, 1.0, 3.0]))
    assert len([path[i].coef_ for i in range(len(path))]) == len(path.n_features) == 3
    model.refit(penalty=snb.L1(0.5), smoothing=0.1)
    assert store.reads.total() == 0


@pytest.mark.slow
def test_many_blocks_read_each_chunk_once():
    rng = np.random.default_rng(0)
    n_rows, per_row, n_features = 200_000, 60, 4000
    indices = np.sort(rng.integers(0, n_features, (n_rows, per_row)), axis=1).astype(np.int32).ravel()
    x = sp.csr_array(
        (np.ones(indices.size, np.float32), indices, np.arange(n_rows + 1) * per_row), (n_rows, n_features)
    )
    y = rng.integers(0, 3, n_rows)
    store = CountingStore(MemoryStore())
    group = zarr.create_group(store)
    for name, values in {"data": x.data, "indices": x.indices, "indptr": x.indptr, "y": y}.items():
        group.create_array(name, data=values, chunks=(100_003,), compressors=None)
    group.attrs.update({"encoding-type": "csr_matrix", "encoding-version": "0.1.0", "shape": list(x.shape)})
    snb.LinearNB("poisson").fit(x[:9], y[:9])  # what is imported and compiled first is no part of the scan
    tracemalloc.start()
    model = snb.LinearNB("poisson").fit(group, "y", n_threads=2)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert set(store.reads.values()) == {1}
    assert peak < (x.data.nbytes + x.indices.nbytes) / 2  # a few blocks and the tables, not the data
    assert np.array_equal(model.stats_.sum, [x[y == k].sum(axis=0) for k in range(3)])
    assert np.array_equal(model.predict(group)[:1000], model.predict(x[:1000]))

"""Writing rows to a Zarr CSR store: streamed, complete, exact, and never over something else."""

import gc
import tracemalloc
import weakref

import anndata
import numpy as np
import pytest
import scipy.sparse as sp
import zarr
from hypothesis import given
from hypothesis import strategies as st
from zarr.storage import MemoryStore

import streamnb as snb
from tests.support.strategies import (
    LABELS,
    alternating,
    chunkings,
    example,
    labelled,
    messy_csr,
    same_sums,
    stream,
    sums_of,
)
from tests.support.zarr_stores import anndata_root, csr_group, dense_array


@pytest.mark.parametrize("kind", LABELS)
def test_write_csr_is_read_back_by_anndata_and_by_scan(kind, tmp_path):
    rows = example(kind)
    group = snb.write_csr(tmp_path / "new.zarr", stream(rows, "x", "y", blocks=alternating), n_features=9)
    assert isinstance(group, zarr.Group)
    assert (anndata.io.read_elem(group).toarray() == rows.x).all()
    assert group["y"][:].tolist() == rows.y.tolist()
    assert "streamnb" in group.attrs
    for source in (group, tmp_path / "new.zarr", str(tmp_path / "new.zarr")):
        assert same_sums(snb.scan(source, "y"), sums_of(rows, weighted=False))


@given(data=st.data(), rows=labelled(low=-2), seed=st.integers(0, 1000))
def test_write_csr_of_any_chunks(data, rows, seed):
    sizes = data.draw(chunkings(len(rows)))
    n_features = rows.x.shape[1]
    chunks = stream(rows, "x", "y", sizes=sizes, blocks=lambda x: messy_csr(x, seed))
    group = snb.write_csr(MemoryStore(), chunks, n_features=n_features)
    assert (anndata.io.read_elem(group).toarray() == rows.x).all()
    assert same_sums(snb.scan(group, "y"), sums_of(rows, weighted=False))


def test_write_csr_writes_chunks_of_zeros_too(tmp_path):
    x = sp.csr_array(([1.0, 1.0], [0, 0], [0] * 6000 + [1, 2]), shape=(6001, 4))
    group = snb.write_csr(tmp_path / "new.zarr", [x], n_features=4)
    stats = snb.scan(group, np.zeros(6001, int))
    assert stats.n_rows == 6001
    assert stats.sum.tolist() == [[2, 0, 0, 0]]


def test_write_csr_of_nothing_is_an_error(tmp_path):
    for number, chunks in enumerate([[], [sp.csr_array((0, 4))], iter(())]):
        with pytest.raises(ValueError, match="0 sample"):
            snb.write_csr(tmp_path / str(number), chunks, n_features=4)


@pytest.mark.parametrize(
    ("chunks", "words"),
    [
        ([np.eye(4), np.eye(3)], "3 features"),
        ([(np.eye(4), [0, 1, 0, 1]), np.eye(4)], "y|labels"),
        ([np.eye(4), (np.eye(4), [0, 1, 0, 1])], "y|labels"),
        ([(np.eye(4), [0, 1, 0])], "y"),
        ([(np.eye(4), [0, 1, 0, None])], "y"),
        ([(np.eye(4), [0, 1, 0, 1]), (np.eye(4), list("abab"))], "y|label"),
        ([(np.eye(4), list("abab")), (np.eye(4), [0, 1, 0, 1])], "y|label"),
        ([(np.eye(4), [0, 1, 0, 1]), (np.eye(4), [True, False] * 2)], "y|label"),
        ([np.eye(4), np.full((2, 4), np.nan)], "row 4"),
        ([(np.full((3, 4), np.nan), [0, 1, 0])], "NaN"),
        ([(np.ones((3, 3)), [0, 1, 0])], "features"),
    ],
)
def test_write_csr_of_bad_chunks_leaves_no_store_that_can_be_read(chunks, words, tmp_path):
    with pytest.raises((TypeError, ValueError), match=words):
        snb.write_csr(tmp_path / "new.zarr", chunks, n_features=4)
    if len(chunks) == 1:  # nothing is left behind
        assert snb.write_csr(tmp_path / "new.zarr", [np.ones((3, 4))], n_features=4).attrs["shape"] == [3, 4]
        return
    with pytest.raises(ValueError):
        snb.scan(tmp_path / "new.zarr", [0, 1, 0, 1])


@pytest.mark.parametrize("writer", [csr_group, dense_array, anndata_root])
def test_write_csr_refuses_a_store_that_holds_something(writer, tmp_path):
    rows = example()
    store = writer(rows, tmp_path).store.root
    before = {path: path.read_bytes() for path in store.rglob("*") if path.is_file()}
    with pytest.raises(ValueError, match="store"):
        snb.write_csr(store, stream(rows, "x"), n_features=9)
    assert {path: path.read_bytes() for path in store.rglob("*") if path.is_file()} == before


@pytest.mark.slow
def test_write_csr_takes_one_chunk_at_a_time(tmp_path):
    alive, most = [], 0
    part = sp.random_array((4000, 50), density=0.5, format="csr", rng=0)

    def chunks():
        nonlocal most
        for _ in range(120):
            chunk = part.copy()
            alive.append(weakref.ref(chunk))
            yield chunk
            del chunk
            gc.collect(0)
            most = max(most, sum(ref() is not None for ref in alive))

    tracemalloc.start()
    group = snb.write_csr(tmp_path / "new.zarr", chunks(), n_features=50)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert group["indptr"].shape == (480_001,)
    assert most <= 3
    assert peak < 0.6 * sum(group[name].nbytes for name in ("data", "indices", "indptr"))


# -------------------------------------------------------------------------------------------- checksums


@pytest.mark.parametrize(
    ("name", "kind"), [("data", "int"), ("indices", "int"), ("indptr", "int"), ("y", "int"), ("y", "str")]
)
def test_no_flipped_bit_of_a_store_goes_unseen(name, kind, tmp_path):
    rows = example(kind)
    snb.write_csr(tmp_path / "x.zarr", stream(rows, "x", "y"), n_features=9)
    (path,) = (tmp_path / "x.zarr" / name / "c").iterdir()  # its one chunk, which is cut by the end of the array
    whole = path.read_bytes()
    # whoever switches checks off for his own arrays does not for these
    with zarr.config.set({"codec_pipeline.validate_checksums": False}):
        for at in range(0, len(whole), max(len(whole) // 9, 1)):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ (1 << at % 8)]) + whole[at + 1 :])
            with pytest.raises(snb.DataError, match=rf"(?s)array '{name}'.*chunk 0 cannot be read"):
                snb.scan(tmp_path / "x.zarr", "y")
    path.write_bytes(whole)
    assert same_sums(snb.scan(tmp_path / "x.zarr", "y"), sums_of(rows, weighted=False))

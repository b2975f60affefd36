"""Blocks are read ahead of need: in order, whichever arrives first; a few at a time; by threads that end; into memory
that is used again once nothing is left of a block."""

import asyncio

import numpy as np
import pytest
import zarr
from zarr.storage import LocalStore, MemoryStore, WrapperStore

import streamnb as snb
from streamnb.rows import opening, row_blocks
from streamnb.rows.zarr_reading import AHEAD, check_layout
from tests.support.strategies import example, same_stats
from tests.support.zarr_stores import FULL, write_arrays


class LateFirst(WrapperStore):
    """A store whose first chunk along the first axis arrives late."""

    async def get(self, key, prototype, byte_range=None):
        if "/c/0" in key:
            await asyncio.sleep(0.05)
        return await super().get(key, prototype, byte_range)


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(row_blocks, "BLOCK_BYTES", 64)


@pytest.mark.parametrize("sparse", [True, False])
def test_rows_stay_in_order_where_the_first_chunk_comes_last(sparse, small_blocks):
    rows = example()
    store = LateFirst(MemoryStore())
    if sparse:
        X = write_arrays(zarr.create_group(store), rows, chunk=5)
    else:
        X = zarr.create_array(store, name="x", data=rows.x, chunks=(4, rows.x.shape[1]), config=FULL)
    blocks = list(opening.opened(X, rows.y).blocks())
    assert len(blocks) > AHEAD + 1
    assert np.array_equal(np.concatenate([block.y for block in blocks]), rows.y)
    assert same_stats(snb.scan(X, rows.y), snb.scan(rows.x, rows.y))


def test_blocks_that_are_kept_stay_as_they_were_read(small_blocks):
    rows = example()
    array = zarr.create_array(MemoryStore(), data=rows.x, chunks=(2, 9), config=FULL)
    kept = list(opening.opened(array, rows.y).blocks())
    assert np.array_equal(np.concatenate([block.X for block in kept]), rows.x)


@pytest.fixture
def local(tmp_path):
    rows = example()
    return rows, write_arrays(zarr.create_group(LocalStore(tmp_path / "x.zarr")), rows, chunk=5)


def test_a_scan_inside_a_running_event_loop_is_the_same(local, small_blocks):
    rows, group = local

    async def scan():
        return snb.scan(group, rows.y)

    assert same_stats(asyncio.run(scan()), snb.scan(rows.x, rows.y))


def made(**options):
    return zarr.create_array(MemoryStore(), **{"shape": (10, 4), "chunks": (5, 2), "dtype": np.float64, **options})


def test_a_shape_that_no_array_has():
    with pytest.raises(snb.DataError, match=r"^the metadata of array '' in .* is broken: no array has the shape"):
        check_layout(made(shape=(2**61,), chunks=(5,)))
    assert check_layout(made(shape=(2**60 - 1,), chunks=(5,)))  # one less than 2**63 bytes


def test_a_chunk_fits_into_memory(monkeypatch):
    monkeypatch.setattr("streamnb.core.memory.free_memory", lambda: 80)
    assert check_layout(made())  # chunks of 80 bytes
    with pytest.raises(MemoryError, match=r"^one chunk of array .*, of shape \(5, 3\), takes 0.1 kB, and .* smaller"):
        check_layout(made(chunks=(5, 3)))


def test_rectilinear_grids_are_named(monkeypatch):
    """As in zarr 3.4.2, whose arrays of such a grid have no `chunks`."""
    array = zarr.create_array(MemoryStore(), shape=(4, 2), dtype="f8")
    monkeypatch.setattr(zarr.Array, "chunks", property(lambda self: (_ for _ in ()).throw(NotImplementedError())))
    with pytest.raises(snb.DataError, match=r"has chunks of several sizes .* write it again with chunks of one size"):
        check_layout(array)

"""Blocks are read ahead of need: in order, whichever arrives first; a few at a time; by threads that end; into memory
that is used again once nothing is left of a block."""

import asyncio
import threading
import weakref

import numpy as np
import pytest
import scipy.sparse as sp
import zarr
from zarr.codecs import BytesCodec, Crc32cCodec, ShardingCodec
from zarr.storage import LocalStore, MemoryStore, WrapperStore

import streamnb as snb
from streamnb.core.messages import DataError
from streamnb.rows import opening, row_blocks
from streamnb.rows.zarr_reading import (
    AHEAD,
    BufferPool,
    Clock,
    Readers,
    _read_by_zarrs,
    ahead,
    check_layout,
    chunks_bear_checksums,
    shards_bear_checksums,
    timed,
    with_fast_codecs,
)
from tests.support.stores import CountingStore
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


def reader_threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("streamnb-reader")]


def test_what_is_asked_for_comes_in_order_and_few_steps_ahead():
    asked = []

    def promises():
        for i in range(10):
            asked.append(i)
            yield lambda i=i: i

    seen = [(i, len(asked) - i) for i in ahead(promises())]
    assert [i for i, _ in seen] == list(range(10))
    assert max(lead for _, lead in seen) == AHEAD + 1


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


def test_few_blocks_are_read_before_they_are_needed_and_no_thread_stays_behind(small_blocks):
    rows = example()
    store = CountingStore(MemoryStore())
    array = zarr.create_array(store, name="x", data=rows.x + 1, chunks=(1, rows.x.shape[1]))
    store.reads.clear()
    blocks = opening.opened(array, rows.y).blocks()
    next(blocks)
    blocks.close()
    assert 1 <= len(store.reads) <= AHEAD + 1
    assert reader_threads() == []


def address(array):
    return array.__array_interface__["data"][0]


@pytest.mark.parametrize("part_of", [
    lambda array: array,
    lambda array: array[3:][1:4],
    lambda array: array.view(np.uint8)[8:16].reshape(2, 4),
    lambda array: np.asarray(memoryview(array[2:5])),
    lambda array: sp.csr_array((array[:2], np.array([0, 1]), np.array([0, 2])), shape=(1, 2)),
], ids=["itself", "part of a part", "other dtype", "memoryview", "scipy"])  # fmt: skip
def test_memory_is_used_again_when_nothing_is_left_of_an_array_and_not_before(part_of):
    memory = BufferPool()
    part = part_of(memory.empty((100,), np.dtype(np.float64)))
    first = address(memory.empty((100,), np.dtype(np.float64)))
    others = [memory.empty((90,), np.dtype(np.int64)) for _ in range(3)]
    assert first in map(address, others)
    assert not any(np.shares_memory(getattr(part, "data", part), other) for other in others)
    del part
    assert address(memory.empty((50, 2), np.dtype(np.float64))) not in map(address, others)
    assert len({address(memory.empty((100,), np.dtype(np.float64))) for _ in range(5)}) == 1


def test_nothing_is_left_of_a_block_while_the_next_is_waited_for():
    made: list[weakref.ref] = []

    def blocks():
        for _ in range(4):
            assert all(block() is None for block in made)
            block = np.zeros(9)
            made.append(weakref.ref(block))
            yield block
            del block

    for block in timed(blocks(), Clock()):
        del block
    assert len(made) == 4


def test_blocks_that_are_kept_stay_as_they_were_read(small_blocks):
    rows = example()
    array = zarr.create_array(MemoryStore(), data=rows.x, chunks=(2, 9), config=FULL)
    kept = list(opening.opened(array, rows.y).blocks())
    assert np.array_equal(np.concatenate([block.X for block in kept]), rows.x)


@pytest.fixture
def local(tmp_path):
    rows = example()
    return rows, write_arrays(zarr.create_group(LocalStore(tmp_path / "x.zarr")), rows, chunk=5)


def test_files_are_read_in_the_thread_that_wants_them_and_other_stores_by_zarrs_own_threads(local):
    group = local[1]
    assert _read_by_zarrs(with_fast_codecs(group["data"]))
    assert not _read_by_zarrs(group["data"])
    for store in (MemoryStore(), WrapperStore(MemoryStore())):
        assert not _read_by_zarrs(with_fast_codecs(zarr.create_array(store, name="x", data=np.ones(5))))


def test_a_scan_inside_a_running_event_loop_is_the_same(local, small_blocks):
    rows, group = local

    async def scan():
        return snb.scan(group, rows.y)

    assert same_stats(asyncio.run(scan()), snb.scan(rows.x, rows.y))


def test_loops_of_readers_give_results_and_errors_and_end_with_them():
    async def quotient(divisor):
        return await asyncio.to_thread(lambda: (6 / divisor, threading.current_thread()))

    with Readers(Clock()) as readers:
        found, thread = readers.submit(readers.run, quotient(2)).result()
        with pytest.raises(ZeroDivisionError):
            readers.submit(readers.run, quotient(0)).result()
        loops = readers._loops
    assert found == 3 and thread.name.startswith("streamnb-reader")
    assert loops and all(loop.is_closed() for loop in loops)


def made(**options):
    return zarr.create_array(MemoryStore(), **{"shape": (10, 4), "chunks": (5, 2), "dtype": np.float64, **options})


@pytest.mark.parametrize("options", [{}, {"shards": (10, 4)}, {"zarr_format": 2}, {"shape": (0, 4)}, {"dtype": "str"}])
def test_what_is_possible_is_returned(options):
    array = made(**options)
    assert check_layout(array) is array


def test_a_shape_that_no_array_has():
    with pytest.raises(DataError, match=r"^the metadata of array '' in .* is broken: no array has the shape \(2305843"):
        check_layout(made(shape=(2**61,), chunks=(5,)))
    assert check_layout(made(shape=(2**60 - 1,), chunks=(5,)))  # one less than 2**63 bytes


def test_a_chunk_fits_into_memory(monkeypatch):
    monkeypatch.setattr("streamnb.core.memory.free_memory", lambda: 80)
    assert check_layout(made())  # chunks of 80 bytes
    with pytest.raises(MemoryError, match=r"^one chunk of array .*, of shape \(5, 3\), takes 0.1 kB, and .* smaller"):
        check_layout(made(chunks=(5, 3)))


def test_checksums_are_known_from_the_codecs():
    plain, sure = made(), made(compressors=[Crc32cCodec()])
    assert not chunks_bear_checksums(plain) and chunks_bear_checksums(sure)
    assert shards_bear_checksums(plain)  # without shards
    assert not chunks_bear_checksums(made(zarr_format=2)) and shards_bear_checksums(made(zarr_format=2))


@pytest.mark.parametrize("index", [[BytesCodec()], [BytesCodec(), Crc32cCodec()]])
def test_shards_without_a_checksum_of_their_index(index):
    array = zarr.create(
        store=MemoryStore(),
        shape=(10, 4),
        chunks=(10, 4),
        codecs=[ShardingCodec(chunk_shape=(5, 2), index_codecs=index)],
        zarr_format=3,
        dtype=float,
    )
    assert shards_bear_checksums(array) is (len(index) == 2)
    assert shards_bear_checksums(made(shards=(10, 4)))

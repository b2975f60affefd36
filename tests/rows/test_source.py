"""Ranges of rows: any partition gives the same bits, and a range reads little beyond its own chunks."""

from collections import Counter
from functools import reduce
from itertools import pairwise
from operator import add

import numpy as np
import pytest
import zarr
from hypothesis import given
from hypothesis import strategies as st
from zarr.storage import MemoryStore

import streamnb as snb
from streamnb.rows.opening import opened
from streamnb.rows.preparing import RowOptions
from streamnb.rows.source import row_ranges
from streamnb.rows.splits import Folding
from streamnb.scanning.class_scan import ClassScan
from streamnb.stats.moments import PLAIN_MOMENTS
from tests.support.stores import CountingStore, chunk_keys, counted_csr
from tests.support.strategies import FORMS, build, example, labelled, same_stats
from tests.support.zarr_stores import write_arrays

PLAN = ClassScan(PLAIN_MOMENTS, RowOptions(), folding=Folding(3))
READ_HERE = [name for name in FORMS if name.startswith(("zarr", "anndata", "path", "numpy f8", "csr messy"))]


def folded(source, start=0, stop=None, plan=PLAN):
    accumulator = plan.partial()
    for block in source.blocks(start, stop):
        plan.add(accumulator, block)
    return accumulator.finish()


def in_parts(source, cuts, plan=PLAN):
    """The statistics of the ranges between the cuts, the last first: none leans on the one before it."""
    ends = [0, *sorted(cuts), source.n_rows]
    return reduce(add, [folded(source, start, stop, plan) for start, stop in reversed(list(pairwise(ends)))])


@pytest.mark.parametrize("name", READ_HERE)
def test_ranges_of_every_form_add_up_to_the_whole(name, tmp_path):
    """Ranges of one row and of many, that begin and end with a chunk of 7 rows and within one; some are empty rows."""
    given = build(name, example(), tmp_path)
    cuts = [1, 7, 8, 20, 21, 39]
    assert same_stats(in_parts(opened(**given), cuts), folded(opened(**given)))


@given(data=st.data(), rows=labelled(min_rows=1, low=-2), chunk=st.integers(1, 9), dense=st.booleans())
def test_any_partition_gives_the_same_statistics(data, rows, chunk, dense):
    group = write_arrays(zarr.create_group(MemoryStore()), rows, chunk=chunk)
    x = zarr.create_array(MemoryStore(), data=rows.x, chunks=(chunk, 2)) if dense else group
    weights = zarr.create_array(MemoryStore(), data=rows.w, chunks=(3,))
    source = opened(x, group["y"], weights, split=("groups", group["y"]))
    cuts = data.draw(st.sets(st.integers(1, len(rows) - 1), max_size=6)) if len(rows) > 1 else ()
    by_rows, by_groups = PLAN, ClassScan(PLAIN_MOMENTS, RowOptions(), folding=Folding(2, by="groups"))
    for plan in (by_rows, by_groups):
        assert same_stats(in_parts(source, cuts, plan), folded(source, plan=plan))


def test_two_ranges_may_be_read_in_turn(tmp_path):
    source = opened(**build("zarr csr, y by name", example(), tmp_path))
    first, second = source.blocks(0, 20), source.blocks(20)
    a, b = next(first), next(second)
    assert (a.first_row, b.first_row) == (0, 20)
    rest = [np.concatenate([block.y for block in (head, *tail)]) for head, tail in ((b, second), (a, first))]
    assert np.array_equal(np.concatenate(rest[::-1]), example().y)


@pytest.mark.parametrize("chunk", [3, 7, 1000])
def test_a_range_reads_one_chunk_more_than_its_own_at_each_boundary(chunk):
    store, group = counted_csr(example(), chunk=chunk)
    source = opened(group, "y")
    store.reads.clear()
    cuts = [0, 11, 12, 30, 41]
    for start, stop in pairwise(cuts):
        folded(source, start, stop)
    for name in ("data", "indices", "indptr", "y"):
        reads = Counter({key: store.reads[key] for key in chunk_keys(group[name])})
        assert reads.total() <= len(reads) + len(cuts) - 2
        assert min(reads.values()) >= 1


def test_a_range_of_dense_rows_reads_its_chunks_alone():
    rows = example()
    store = CountingStore(MemoryStore())
    array = zarr.create_array(store, name="x", data=rows.x + 1, chunks=(8, 9))
    source = opened(array, rows.y)
    store.reads.clear()
    folded(source, 15, 25)
    assert store.reads == Counter({"x/c/1/0": 1, "x/c/2/0": 1, "x/c/3/0": 1})


def test_an_error_in_a_range_names_the_row_of_the_table():
    rows = example()
    rows.x[33, 2] = np.nan
    with pytest.raises(ValueError, match="row 33, column 2"):
        folded(opened(write_arrays(zarr.create_group(MemoryStore()), rows, chunk=5), "y"), 20)


@pytest.mark.parametrize("at", [12, 24])
def test_indptr_that_leaves_the_values_is_refused_wherever_a_range_begins(at):
    rows = example()
    group = write_arrays(zarr.create_group(MemoryStore()), rows, chunk=5)
    for wrong in (-5, 10**6):
        group["indptr"][at] = wrong
        with pytest.raises(snb.DataError, match="indptr is wrong near row"):
            folded(opened(group, "y"), 12, 24)


def test_row_ranges_cover_all_rows_and_end_with_chunks(tmp_path):
    rows = example()
    dense = opened(zarr.create_array(MemoryStore(), data=rows.x, chunks=(5, 9)), rows.y)
    per_row = 8 * rows.x.shape[1]
    assert row_ranges(dense, per_row * 12) == [(0, 10), (10, 20), (20, 30), (30, 40), (40, 41)]
    assert row_ranges(dense, per_row) == [(at, min(at + 5, 41)) for at in range(0, 41, 5)]
    assert row_ranges(dense) == [(0, 41)]
    assert row_ranges(opened(rows.x, rows.y), per_row * 12) == [(0, 12), (12, 24), (24, 36), (36, 41)]
    assert row_ranges(opened(iter([(rows.x, rows.y)]))) == [(0, None)]

"""Ranges of rows: any partition gives the same bits, and a range reads little beyond its own chunks."""

from collections import Counter
from functools import reduce
from itertools import pairwise
from operator import add
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
import zarr
from hypothesis import given
from hypothesis import strategies as st
from zarr.storage import MemoryStore

import streamnb as snb
from streamnb.core.messages import DataError
from streamnb.rows.labels import open_columns
from streamnb.rows.opening import opened
from streamnb.rows.preparing import RowOptions
from streamnb.rows.source import EncodedRows, RawSource, row_ranges
from streamnb.rows.splits import Folding
from streamnb.rows.table_files import ParquetFiles
from streamnb.rows.tables import Fields, FrameTable, TableSource
from streamnb.rows.texts import TextsInMemory, TextSource
from streamnb.scanning.class_scan import ClassScan
from streamnb.stats.moment_sums import PLAIN_MOMENTS
from tests.support.stores import CountingStore, chunk_keys, counted_csr
from tests.support.strategies import FORMS, build, example, labelled, same_stats
from tests.support.zarr_stores import FULL, write_arrays

PLAN = ClassScan(PLAIN_MOMENTS, RowOptions(), folding=Folding(3))
OF_TYPES = "indices", "indptr", "values", "int16", "big-endian"  # which ranges of rows have nothing to do with
READ_HERE = [name for name in FORMS if name.startswith(("zarr", "anndata", "path", "numpy f8", "csr messy"))]
READ_HERE = [name for name in READ_HERE if not any(word in name for word in OF_TYPES)]


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
    x = zarr.create_array(MemoryStore(), data=rows.x, chunks=(chunk, 2), config=FULL) if dense else group
    weights = zarr.create_array(MemoryStore(), data=rows.w, chunks=(3,), config=FULL)
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
    dense = opened(zarr.create_array(MemoryStore(), data=rows.x, chunks=(5, 9), config=FULL), rows.y)
    per_row = 8 * rows.x.shape[1]
    assert row_ranges(dense, per_row * 12) == [(0, 10), (10, 20), (20, 30), (30, 40), (40, 41)]
    assert row_ranges(dense, per_row) == [(at, min(at + 5, 41)) for at in range(0, 41, 5)]
    assert row_ranges(dense) == [(0, 41)]
    assert row_ranges(opened(rows.x, rows.y), per_row * 12) == [(0, 12), (12, 24), (24, 36), (36, 41)]
    assert row_ranges(opened(iter([(rows.x, rows.y)]))) == [(0, None)]


# ---- raw rows -------------------------------------------------------------------------------------------------------


class Numbers:
    """Rows 0, 1, .. in pieces of two."""

    n_rows, nbytes, files = 5, 40, ()

    def jobs(self, start, stop):
        for first in range(start, stop, 2):
            some = np.arange(first, min(first + 2, stop))
            yield (
                first,
                lambda some=some: SimpleNamespace(shape=(len(some), 1), nbytes=8, y=some % 2, weight=None, at=some),
            )


def ones(raw, first_row):
    assert raw.at[0] == first_row
    return EncodedRows(None, raw.at.astype(np.int32), np.arange(len(raw.at) + 1), (len(raw.at), 5))


def test_what_is_made_may_be_ones_alone():
    rows = RawSource(Numbers(), open_columns(None, None, 5, False), n_threads=2).with_step(ones, 5, "ones")
    blocks = list(rows.blocks(1, 4))
    assert [block.first_row for block in blocks] == [1, 3] and blocks[0].X[0] is None and blocks[0].X[3] == 5
    assert blocks[0].y.tolist() == [1, 0] and rows.layout() == {"the features": "ones"}
    assert [part["y"].tolist() for part in rows.row_columns(2)] == [[0, 1], [0, 1], [0]]


def test_ranges_of_rows_begin_with_row_groups(tmp_path):
    path = str(tmp_path / "a.parquet")
    pq.write_table(pa.table({"n": range(20)}), path, row_group_size=6)
    rows = TableSource(ParquetFiles([path], 1).selected(Fields(("n",))), open_columns(None, None, 20, False))
    assert [rows.rows_near(n) for n in (1, 6, 13)] == [6, 6, 12] and rows.files[0][0] == path
    (block,) = rows.blocks(7, 9)
    assert block.X.columns.column("n").to_pylist() == [7, 8] and rows.tables.n_rows == 20
    frame = TableSource(FrameTable(pd.DataFrame({"n": [1]})), open_columns(None, None, 1, False))
    assert frame.rows_near(7) == 7 and repr(frame).startswith("<TableSource: 1 rows")


def test_groups_and_folds_may_be_columns():
    frame = pd.DataFrame({"n": range(24), "day": np.arange(24) // 2, "late": np.arange(24) % 2})
    rows, days = snb.table(frame, "late", columns=["n"]), frame["day"].to_numpy()
    assert np.array_equal(rows.whole_column("day", "folds"), days)
    assert [block.split.tolist() for block in rows.with_split("groups", "day").blocks(1, 4)] == [[0, 1, 1]]
    with pytest.raises(ValueError, match="groups='week' is none of the columns"):
        rows.with_split("groups", "week")
    named, given = (snb.scan(rows, folds=2, groups=groups) for groups in ("day", days))
    assert [fold.n_rows for fold in named.folds] == [fold.n_rows for fold in given.folds]


ROWS = ["one", "two and more", "", "four"]


def lengths(texts, first_row):
    return sp.csr_array((texts.stops - texts.starts)[:, None].astype(np.float32))


def source(y=None, **options):
    return TextSource(TextsInMemory(ROWS), open_columns(y, None, 4, False), lengths, 1, "lengths", **options)


def test_blocks_hold_what_the_step_makes():
    rows = source([1, 2, 1, 2], n_threads=2)
    (block,) = rows.blocks(1, 3)
    assert block.first_row == 1 and block.y.tolist() == [2, 1] and block.X[0].tolist() == [12.0]
    assert repr(rows) == "<TextSource: 4 rows, 1 features>"
    assert rows.reading.seconds >= rows.making.seconds > 0 and rows.layout() == {"the features": "lengths"}
    (texts,) = rows.with_step(None, 1, "").blocks()
    assert texts.X.decoded(3) == "four" and rows.vocabulary is None
    assert [beside["y"].tolist() for beside in rows.row_columns(2)] == [[1, 2, 1, 2]]


def test_errors_of_a_step_reach_the_reader():
    def fails(texts, first_row):
        raise DataError(f"row {first_row} is bad")

    with pytest.raises(DataError, match="row 2 is bad"):
        list(source(n_threads=2).with_step(fails, 1, "fails").blocks(2))
    with pytest.raises(ValueError, match="0 sample"):
        TextSource(TextsInMemory([]), open_columns(None, None, 0, False))

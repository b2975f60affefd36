"""Ranges of rows: any partition gives the same bits, and a range reads little beyond its own chunks."""

from functools import reduce
from itertools import pairwise
from operator import add

import numpy as np
import pandas as pd
import pytest
import zarr
from hypothesis import given
from hypothesis import strategies as st
from zarr.storage import MemoryStore

import streamnb as snb
from streamnb.rows.opening import opened
from streamnb.rows.preparing import RowOptions
from streamnb.rows.splits import Folding
from streamnb.scanning.class_scan import ClassScan
from streamnb.stats.moment_sums import PLAIN_MOMENTS
from tests.support.strategies import FORMS, example, labelled, same_stats
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


@given(data=st.data(), rows=labelled(min_rows=1, low=-2), chunk=st.integers(1, 9), dense=st.booleans())
def test_any_partition_gives_the_same_statistics(data, rows, chunk, dense):
    group = write_arrays(zarr.create_group(MemoryStore()), rows, chunk=chunk)
    x = zarr.create_array(MemoryStore(), data=rows.x, chunks=(chunk, 2), config=FULL) if dense else group
    weights = zarr.create_array(MemoryStore(), data=rows.w, chunks=(3,), config=FULL)
    source = opened(x, group["y"], weights).with_columns(split={"groups": group["y"]})
    cuts = data.draw(st.sets(st.integers(1, len(rows) - 1), max_size=6)) if len(rows) > 1 else ()
    by_rows, by_groups = PLAN, ClassScan(PLAIN_MOMENTS, RowOptions(), folding=Folding(2, by="groups"))
    for plan in (by_rows, by_groups):
        assert same_stats(in_parts(source, cuts, plan), folded(source, plan=plan))


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


# ---- raw rows -------------------------------------------------------------------------------------------------------


def test_groups_and_folds_may_be_columns():
    frame = pd.DataFrame({"n": range(24), "day": np.arange(24) // 2, "late": np.arange(24) % 2})
    rows, days = snb.table(frame, "late", columns=["n"]), frame["day"].to_numpy()
    assert np.array_equal(rows.whole_column("day", "folds"), days)
    assert [block.split.tolist() for block in rows.with_columns(split={"groups": "day"}).blocks(1, 4)] == [[0, 1, 1]]
    with pytest.raises(ValueError, match="groups='week' is none of the columns"):
        rows.with_columns(split={"groups": "week"})
    named, given = (snb.scan(rows, folds=2, groups=groups) for groups in ("day", days))
    assert [fold.n_rows for fold in named.folds] == [fold.n_rows for fold in given.folds]

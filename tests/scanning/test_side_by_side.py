"""Several scans in one read are each alone."""

from dataclasses import replace

import numpy as np
import pytest

from streamnb.passes.options import RunOptions
from streamnb.passes.run import run
from streamnb.rows.opening import opened
from streamnb.rows.preparing import LogColumns, RowOptions
from streamnb.scanning.class_scan import ClassScan
from streamnb.scanning.side_by_side import SideBySide, run_scans
from streamnb.stats.dense_tables import Table
from streamnb.stats.sparse_tables import SparseTable

X = np.random.default_rng(0).gamma(1.0, size=(30, 3))
Y = np.arange(30) % 2
PLAIN = ClassScan(("sum", "gram"), RowOptions())
LOGS = replace(PLAIN, options=RowOptions(columns=LogColumns(np.ones(3, bool))))


def test_each_leaves_what_it_would_alone():
    found, report = run_scans({"none": PLAIN, "log1p": LOGS}, opened(X, Y), RunOptions())
    assert report.rows == 30
    for scan, stats in zip((PLAIN, LOGS), found.values(), strict=True):
        alone = run(scan, opened(X, Y), RunOptions())[0]
        np.testing.assert_array_equal(stats.gram, alone.gram)
        assert stats.options == alone.options
    np.testing.assert_allclose(found["log1p"].sum[1], np.log1p(X[Y == 1]).sum(axis=0))
    assert list(run_scans({"log1p": LOGS}, opened(X, Y), RunOptions())[0]) == ["log1p"]


def test_tables_are_refused_that_are_too_large_together_alone():
    few = 8 * 6 * 2
    scans = tuple(replace(scan, memory_limit=few) for scan in (PLAIN, LOGS))
    scans[0].wants(30, 3)
    with pytest.raises(
        MemoryError, match=r"products of 3 features by 3, each under 2 maps, would take 0.2 kB.*try fewer maps"
    ):
        SideBySide(scans).wants(30, 3)
    with pytest.raises(ValueError, match="parts should be the statistics"):
        SideBySide(scans).total({"parts": [1]})


def test_scans_share_the_limit_where_their_tables_may_be_sparse():
    X = np.zeros((4, 1000))
    X[:, :3] = 1.0
    limit = 8 * 2 * 1000 + 1  # of one table
    scan = ClassScan(("sum",), RowOptions(), memory_limit=limit)
    alone, beside = run(scan, opened(X, Y[:4]), RunOptions())[0], {"a": scan, "b": scan}
    for stats in run_scans(beside, opened(X, Y[:4]), RunOptions())[0].values():
        assert isinstance(stats.table("sum"), SparseTable) and isinstance(alone.table("sum"), Table)
        np.testing.assert_array_equal(stats.sum, alone.sum)
    full = {"a": scan, "b": scan}  # whose sparse tables would take twice as much
    blocks = ((np.ones((2, 1000)), Y[:2]) for _ in range(3))
    for stats in run_scans(full, opened(blocks), RunOptions(n_threads=1))[0].values():
        assert isinstance(stats.table("sum"), Table) and (stats.sum == 3.0).all()

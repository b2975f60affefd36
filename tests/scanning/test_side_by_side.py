"""Several scans in one read: each leaves what it would have left alone; what does not take the rows is refused."""

from dataclasses import replace

import numpy as np
import pytest

import streamnb as snb
from streamnb.passes.contract import RunOptions
from streamnb.passes.run import run
from streamnb.problem.families import as_family
from streamnb.problem.mixed import FamilyDomain
from streamnb.rows.opening import opened
from streamnb.rows.preparing import LogColumns, RowOptions
from streamnb.rows.splits import Folding
from streamnb.scanning.class_scan import ClassScan
from streamnb.scanning.side_by_side import SideBySide, StatsSideBySide, run_scans
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


COUNTS = np.random.default_rng(0).poisson(1.0, (60, 4)).astype(float)
LABELS = np.arange(60) % 3
WAYS = [RowOptions(), RowOptions("log1p"), RowOptions(("l1:100", "log1p"), "l2")]


def refusing(X, families=("poisson", "gaussian"), **options):
    scans = tuple(ClassScan(("sum", "sum_sq"), way, folding=Folding(3)) for way in WAYS)
    domains = tuple(FamilyDomain("search", as_family(family)) for family in families)
    task = SideBySide(scans, (domains,) * len(scans))
    return run(task, opened(X, LABELS), RunOptions(progress=False, **options))[0]


def test_each_scan_leaves_what_it_leaves_alone_with_folds():
    total = refusing(COUNTS)
    for way, stats in zip(WAYS, total.parts, strict=True):
        options = {"transform": way.transform, "normalize": way.normalize, "moments": ["sum", "sum_sq"]}
        alone = snb.scan(COUNTS, LABELS, folds=3, **options)
        np.testing.assert_array_equal(stats.sum, alone.sum)
        np.testing.assert_array_equal(stats.without_fold(1, 0).sum_sq, alone.without_fold(1, 0).sum_sq)
    assert not total.refused and total.nbytes > 0


@pytest.mark.parametrize("n_threads", [1, 2])
def test_a_family_that_does_not_take_the_values_is_refused_alone(n_threads):
    below = np.where(np.arange(60)[:, None] == 17, COUNTS - 0.5, COUNTS)
    total = refusing(below, n_threads=n_threads)
    assert "should be at least 0" in total.why(0, 0) and "row 17" in total.why(0, 0) and total.why(0, 1) is None
    np.testing.assert_array_equal(total.parts[0].sum, snb.scan(below, LABELS, moments=["sum"]).sum)


def test_a_transform_that_cannot_be_is_refused_with_all_its_families():
    total = refusing(COUNTS - 5.0)
    assert total.parts[0] is not None and total.parts[1] is None and "transform='log1p'" in total.why(1, 1)
    mine, theirs = [None, total.parts[0]], [None, None]
    again = StatsSideBySide(mine, {"0.0": (3, "b")}) + StatsSideBySide(theirs, {"0.0": (2, "c")})
    assert again.parts == [None, None] and again.refused == {"0.0": (2, "c")}

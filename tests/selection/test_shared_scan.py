"""Several scans in one read: each leaves what it would have left alone; what does not take the rows is refused."""

import numpy as np
import pytest

import streamnb as snb
from streamnb.passes.options import RunOptions
from streamnb.passes.run import run
from streamnb.problem.families import as_family
from streamnb.rows.opening import opened
from streamnb.rows.preparing import RowOptions
from streamnb.rows.splits import Folding
from streamnb.scanning.class_scan import ClassScan
from streamnb.selection.shared_scan import SharedScan, SharedStats

rng = np.random.default_rng(0)
X = rng.poisson(1.0, (60, 4)).astype(float)
Y = np.arange(60) % 3
WAYS = [RowOptions(), RowOptions("log1p"), RowOptions(("l1:100", "log1p"), "l2")]


def shared(X, families=("poisson", "gaussian"), ways=WAYS, **options):
    scans = tuple(ClassScan(("sum", "sum_sq"), way, folding=Folding(3)) for way in ways)
    task = SharedScan(scans, (tuple(map(as_family, families)),) * len(scans))
    return run(task, opened(X, Y), RunOptions(progress=False, **options))[0]


def test_each_scan_leaves_what_it_leaves_alone():
    total = shared(X)
    for way, stats in zip(WAYS, total.stats, strict=True):
        options = {"transform": way.transform, "normalize": way.normalize, "moments": ["sum", "sum_sq"]}
        alone = snb.scan(X, Y, folds=3, **options)
        np.testing.assert_array_equal(stats.sum, alone.sum)
        np.testing.assert_array_equal(stats.without_fold(1, 0).sum_sq, alone.without_fold(1, 0).sum_sq)
    assert not total.refused and total.nbytes > 0


@pytest.mark.parametrize("n_threads", [1, 2])
def test_a_family_that_does_not_take_the_values_is_refused_alone(n_threads):
    below = np.where(np.arange(60)[:, None] == 17, X - 0.5, X)
    total = shared(below, n_threads=n_threads)
    assert "should be at least 0" in total.why(0, 0) and "row 17" in total.why(0, 0) and total.why(0, 1) is None
    np.testing.assert_array_equal(total.stats[0].sum, snb.scan(below, Y, moments=["sum"]).sum)


def test_a_transform_that_cannot_be_is_refused_with_all_its_families():
    total = shared(X - 5.0)
    assert total.stats[0] is not None and total.stats[1] is None and "transform='log1p'" in total.why(1, 1)
    again = SharedStats([None, total.stats[0]], {"0.0": (3, "b")}) + SharedStats([None, None], {"0.0": (2, "c")})
    assert again.stats == [None, None] and again.refused == {"0.0": (2, "c")}

"""Where things meet: buffers that are used again, rows taken away, lost labels, tables that grow, lazy answers."""

from dataclasses import replace

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import zarr

import streamnb as snb
from streamnb.passes.contract import RunOptions
from streamnb.passes.run import run_reads
from streamnb.rows.opening import opened
from streamnb.rows.preparing import LogColumns, RowOptions
from streamnb.scanning.class_scan import ClassScan, run_scan, run_scans
from streamnb.stats.tables import SparseTable, Table

RNG = np.random.default_rng(0)
X = RNG.poisson(1.0, (400, 6)).astype(np.float64)
Y = RNG.integers(0, 3, 400)


def through_one_buffer(step=10):
    """Chunks that all lie in the same memory."""
    rows, labels = np.empty((step, X.shape[1])), np.empty(step, Y.dtype)
    for start in range(0, len(X), step):
        rows[:], labels[:] = X[start : start + step], Y[start : start + step]
        yield rows, labels


@pytest.mark.parametrize(
    ("transform", "family"), [(snb.Bins(3), "bernoulli"), ("quantile_normal", snb.Gaussian(covariance="pooled"))]
)
def test_what_is_learned_for_a_scan_stays_with_its_statistics_and_models(transform, family, tmp_path):
    rng = np.random.default_rng(0)
    y, late = np.repeat([0, 1, 2], 20), slice(40, None)
    x = rng.normal(size=(60, 2)) + y[:, None]
    stats = snb.scan(x, y, transform=transform, moments=["sum", "above", "gram"], folds=3)
    fitted = snb.LinearNB(family, transform=transform).fit(x, y)
    stats.save(tmp_path / "stats.snb")
    for some in (stats, snb.load(tmp_path / "stats.snb"), stats.fold(0) + stats.without_fold(0)):
        model = snb.solve(some, family, scheme="joint")[0]
        model.save(tmp_path / "model.snb")
        for one in (model, snb.load(tmp_path / "model.snb")):
            np.testing.assert_allclose(one.decision_function(x), fitted.decision_function(x), rtol=1e-9)
            assert one.score(x, y) == fitted.score(x, y)
            assert (one.predict(da.from_array(x, chunks=(25, 2))).compute() == fitted.predict(x)).all()
    again, parts = snb.scan(x[late], y[late], transform=stats.step), snb.scan(x, y, transform=stats.step)
    assert parts.step == stats.step and (parts - again).n_rows == 40
    with pytest.raises(ValueError, match=r"learned from other rows.*transform=stats.step"):
        parts + snb.scan(x[late], y[late], transform=transform)
    with pytest.raises(ValueError, match="read once, but scan reads the rows more than once"):
        snb.scan(iter([(x, y)]), transform=transform)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_a_stream_may_fill_its_buffers_again(n_threads):
    stats = snb.scan(through_one_buffer(), n_threads=n_threads)
    assert (stats.sum == snb.scan(X, Y).sum).all()


def test_write_csr_of_a_buffer_that_is_filled_again(tmp_path):
    group = snb.write_csr(tmp_path / "x.zarr", through_one_buffer(), n_features=X.shape[1])
    assert (group["y"][:] == Y).all()
    assert (snb.scan(group, "y").sum == snb.scan(X, Y).sum).all()


@pytest.mark.parametrize("threshold", [0.1, 0.3, 0.7])
def test_float32_rows_are_binarised_alike_in_fit_and_predict(threshold):
    x = np.array([[threshold], [threshold], [0], [0]], np.float32)
    model = snb.LinearNB("bernoulli", binarize=threshold).fit(x, [1, 1, 0, 0])
    above = model.stats_.above[1, 0] > 0
    assert (model.predict(x) == ([1, 1, 0, 0] if above else model.predict(np.zeros((4, 1))))).all()


def test_labels_are_never_merged_by_rounding():
    big = np.array([2**60 + 1, 2**60 + 3])
    chunks = [(X[:2], np.array([1.0, 3.0])), (X[2:4], big)]
    for order in (chunks, chunks[::-1]):
        with pytest.raises(ValueError, match="too large"):
            snb.scan(iter(order))
    assert (snb.scan(X[:2], big.astype(np.uint64)).classes == big).all()
    too_large = [1, 2**63, 2**63 + 1]
    for y in (np.array(too_large, np.uint64), too_large, np.array(too_large, object), [1, 2, 2**70]):
        with pytest.raises(ValueError, match=r"2\*\*63"):
            snb.scan(X[:3], y)


def test_whole_numbers_beyond_float64_are_refused():
    with pytest.raises(ValueError, match=r"2\*\*53"):
        snb.scan(np.array([[2**53 + 1], [0]]), [0, 1])


def test_threads_with_large_tables_leave_and_lose_nothing(monkeypatch):
    monkeypatch.setattr("streamnb.passes.run.PRIVATE_TABLES_BYTES", 3 * 8 * 6)
    order = np.argsort(Y, kind="stable")
    chunks = [(X[order[a : a + 7]], Y[order[a : a + 7]]) for a in range(0, 400, 7)]
    stats = snb.scan(iter(chunks), n_threads=8)
    assert (stats.sum == snb.scan(X, Y).sum).all()
    assert stats.n_rows == 400


def test_row_numbers_count_from_the_first_row(tmp_path):
    y = np.where(np.arange(400) == 333, np.nan, Y)
    chunks = [(X[a : a + 100], y[a : a + 100]) for a in range(0, 400, 100)]
    zarr.create_array(tmp_path / "y.zarr", data=y, chunks=(70,))
    lazy = da.from_array(X, chunks=(100, -1)), da.from_array(y, chunks=100)
    for rows, labels in ((X, y), (iter(chunks), None), (X, zarr.open_array(tmp_path / "y.zarr")), lazy):
        with pytest.raises(ValueError, match="row 333"):
            snb.scan(rows, labels)


class Chunks:
    """Iterable, as often as one likes, and no iterator."""

    def __iter__(self):
        return iter([(X[:150], Y[:150]), (X[150:], Y[150:])])


def test_streams_may_be_any_iterable():
    assert (snb.scan(Chunks()).sum == snb.scan(X, Y).sum).all()


def test_missing_values_that_hide():
    with pytest.raises(ValueError, match="row 1"):
        snb.scan(X[:3], np.array(["a", pd.NA, "b"], dtype=object))
    with pytest.raises(ValueError, match="masked"):
        snb.scan(X[:3], [0, 1, 0], sample_weight=np.ma.array([1.0, 5.0, 1.0], mask=[0, 1, 0]))
    with pytest.raises(ValueError, match="masked"):
        snb.scan(np.ma.array(X, mask=X > 2), Y)


def test_closed_sets_of_classes_stay_closed():
    a, b = snb.scan(X, Y, classes=[0, 1, 2, 3]), snb.scan(X[:10], Y[:10])
    assert (a + b).closed and (b + a).closed
    with pytest.raises(ValueError, match="different classes"):
        a + snb.scan(X, Y, classes=[0, 1, 2])


def test_binary_rows_may_have_been_negative():
    x = np.where(X > 1, -X, X)
    stats = snb.scan(x, Y, transform="binary")
    assert (snb.solve(stats, "multinomial")[0].coef_ == snb.LinearNB(transform="binary").fit(x, Y).coef_).all()


def test_a_writable_zip_store_can_be_read(tmp_path):
    with zarr.storage.ZipStore(tmp_path / "x.zip", mode="w") as store:
        array = zarr.create_array(store, data=X, chunks=(50, 6))
        assert (snb.scan(array, Y).sum == snb.scan(X, Y).sum).all()


def test_counts_at_each_breakpoint_of_the_scored_grid():
    x = RNG.gamma(1.0, size=(200, 400))
    path = snb.solve(snb.scan(x, np.arange(200) % 3), "poisson", snb.L1(scale="score", n_taus=400))
    wanted = np.arange(len(path), 0, -1)
    assert (path.n_features == wanted).all()
    assert np.count_nonzero(path[200].coef_.any(axis=0)) == wanted[200]


def test_out_must_have_room_for_the_whole_answer():
    model = snb.LinearNB().fit(X, Y)
    with pytest.raises(ValueError, match=r"out has shape .*\(400, 3\)"):
        model.predict_proba(X, out=zarr.zeros((500, 3)))
    with pytest.raises(ValueError, match="out has dtype int32"):
        model.predict_proba(X, out=np.zeros((400, 3), np.int32))
    names = snb.LinearNB().fit(X, np.array(["small", "big", "no"])[Y])
    with pytest.raises(ValueError, match="out has dtype <U2"):
        names.predict(X, out=np.zeros(400, "U2"))
    with pytest.raises(TypeError, match=r"out=.*zarr\.Array"):
        model.predict(X, out="labels.zarr")


def test_objects_that_are_no_rows_say_what_to_pass(tmp_path):
    group = snb.write_csr(tmp_path / "x.zarr", [(X, Y)], n_features=6)
    assert (snb.scan(group.store, "y").sum == snb.scan(X, Y).sum).all()
    with pytest.raises(ValueError, match="idf='no'"):
        snb.LinearNB(idf="no").fit(X, Y)
    with pytest.raises(TypeError, match="priors="):
        snb.LinearNB(priors={0: 0.5}).fit(X, Y)


def test_a_grid_where_classes_do_not_differ():
    alike = snb.scan(np.ones((6, 3)), [0, 1, 2] * 2)
    for family in ("multinomial", "poisson"):
        path = snb.solve(alike, family, snb.L1())
        assert path.grid == [{"l1": 0.0}]
        assert path.n_features[0] == 0


def test_negative_values_that_were_never_added_cannot_be_taken_away():
    ones = np.ones((4, 1))
    with pytest.raises(ValueError, match="more values below 0"):
        snb.scan(ones, [0, 0, 1, 1]) - snb.scan(-ones, [0, 0, 1, 1])


# ---- several scans in one read ---------------------------------------------------------------------------------------

PLAIN = ClassScan(("sum", "gram"), RowOptions())
LOGS = replace(PLAIN, options=RowOptions(learned=LogColumns(np.ones(6, bool))))


def test_each_of_several_scans_leaves_what_it_would_alone():
    found, report = run_reads(run_scans([snb.Pass(PLAIN), snb.Pass(LOGS)], opened(X, Y), RunOptions()))
    assert report.rows == 400
    for scan, stats in zip((PLAIN, LOGS), found, strict=True):
        np.testing.assert_array_equal(stats.gram, run_reads(run_scan(scan, opened(X, Y), RunOptions()))[0].gram)
    few = [snb.Pass(replace(scan, memory_limit=8 * 21 * 3)) for scan in (PLAIN, LOGS)]
    run_reads(run_scans(few[:1], opened(X, Y), RunOptions()))
    with pytest.raises(MemoryError, match=r"products of 6 features by 6, each under 2 maps, would .*try fewer maps"):
        run_reads(run_scans(few, opened(X, Y), RunOptions()))


def test_scans_share_the_limit_where_their_tables_may_be_sparse():
    wide = np.zeros((4, 1000))
    wide[:, :3] = 1.0
    scan = ClassScan(("sum",), RowOptions(), memory_limit=8 * 2 * 1000 + 1)  # of one table
    alone, labels = run_reads(run_scan(scan, opened(wide, [0, 1, 0, 1]), RunOptions()))[0], np.array([0, 1])
    for stats in run_reads(run_scans([snb.Pass(scan)] * 2, opened(wide, [0, 1, 0, 1]), RunOptions()))[0]:
        assert isinstance(stats.table("sum"), SparseTable) and isinstance(alone.table("sum"), Table)
        np.testing.assert_array_equal(stats.sum, alone.sum)
    blocks = ((np.ones((2, 1000)), labels) for _ in range(3))  # sparse tables would take twice as much
    for stats in run_reads(run_scans([snb.Pass(scan)] * 2, opened(blocks), RunOptions(n_threads=1)))[0]:
        assert isinstance(stats.table("sum"), Table) and (stats.sum == 3.0).all()

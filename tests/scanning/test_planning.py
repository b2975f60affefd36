"""What a scan will need, said before any row is read, is what it needs."""

from types import SimpleNamespace

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import zarr

import streamnb as snb
from streamnb.scanning import planning
from tests.support.strategies import example
from tests.support.zarr_stores import FULL, csr_group, dense_array

rows = example()


@pytest.mark.parametrize("storage", ["array", "csr", "zarr", "zarr csr", "path"])
def test_shapes_and_sizes_are_those_of_the_report(storage, tmp_path):
    forms = {
        "array": lambda: rows.x,
        "csr": lambda: sp.csr_array(rows.x),
        "zarr": lambda: dense_array(rows, tmp_path),
        "zarr csr": lambda: csr_group(rows, tmp_path),
        "path": lambda: csr_group(rows, tmp_path).store_path.store.root,
    }
    X = forms[storage]()
    X = str(X) if storage == "path" else X
    plan = snb.plan(X, rows.y)
    stats = snb.scan(X, rows.y)
    assert (plan.n_rows, plan.n_features, plan.n_classes) == (stats.n_rows, stats.n_features, len(stats.classes))
    assert plan.dense_bytes == sum(stats.table(name).nbytes for name in stats.moments)
    assert plan.n_values == (np.count_nonzero(rows.x) if "csr" in storage or storage == "path" else rows.x.size)
    assert plan.tables == "dense" and plan.n_blocks == 1 and plan.n_bytes > 0


def test_tables_of_folds_count():
    whole, parts = snb.plan(rows.x, rows.y), snb.plan(rows.x, rows.y, folds=5, repeats=2)
    assert parts.dense_bytes == 10 * whole.dense_bytes


def test_the_kind_that_is_said_is_the_kind_that_is_chosen():
    X, y = sp.eye_array(3000, format="csr"), np.arange(3000)
    for limit, kind in (("1MB", "sparse"), ("1GB", "dense")):
        plan = snb.plan(X, y, moments=["sum"], memory_limit=limit)
        stats = snb.scan(X, y, moments=["sum"], memory_limit=limit)
        assert plan.tables == kind and (stats.table("sum").nbytes == plan.sparse_bytes) == (kind == "sparse")
        assert plan.dense_bytes == 72_000_000 and plan.sparse_bytes == 48_000


def test_what_is_large_and_mostly_empty_is_sparse_whatever_the_limit():
    X = sp.eye_array(100_000, format="csr")
    assert snb.plan(X, classes=range(50_000), moments=["sum"], memory_limit="1TB").tables == "sparse"


def test_what_cannot_be_sparse_is_too_large_and_the_scan_is_refused_before_it_starts():
    X = np.ones((3, 1000))
    options = {"classes": range(1000), "moments": ["log_sum"], "memory_limit": "1MB"}
    plan = snb.plan(X, **options)
    assert plan.tables == "too large" and plan.sparse_bytes is None
    with pytest.raises(MemoryError, match=r"would take 8.0 MB, and memory_limit allows 1.0 MB; name fewer moments"):
        stored = zarr.zeros((10**6, 1000), attributes={"write_empty_chunks": False})
        snb.scan(stored, np.zeros(10**6, int), **options)


def test_labels_of_an_indicator():
    y = np.eye(41, 4)
    plan = snb.plan(rows.x, y, moments=["sum"])
    stats = snb.scan(rows.x, y, moments=["sum"])
    parts = stats, stats.every, stats.unlabelled
    assert plan.n_classes == 4 and plan.dense_bytes == sum(part.table("sum").nbytes for part in parts)


@pytest.mark.parametrize("known", [True, False])
def test_dask_arrays(known):
    X = da.from_array(rows.x, chunks=(10, -1))
    X = X if known else X[X[:, 0] >= 0]
    plan = snb.plan(X, da.from_array(rows.y), classes=["ash", "b", "willow"])
    assert (plan.n_rows, plan.n_features, plan.n_blocks) == (41 if known else None, 9, 5)
    assert plan.n_values == (369 if known else None) and plan.dense_bytes == 8 * 4 * 3 * 9


def test_many_tiny_chunks_of_dask_are_warned_of():
    with pytest.warns(snb.StreamnbWarning, match="X has 2,000 chunks of less than 256 KiB on average, .* some MB"):
        snb.plan(da.zeros((10_000, 4), chunks=(5, 4), dtype=np.float64))
    snb.plan(da.zeros((10_000, 4), chunks=(10, 4)))  # of a few, nobody notices


def test_a_stream_is_not_touched():
    chunks = iter([rows.x, rows.x])
    plan = snb.plan(chunks, classes=range(3))
    assert plan.n_rows is plan.n_features is plan.dense_bytes is plan.tables is None and plan.n_classes == 3
    assert len(list(chunks)) == 2


def test_it_prints_what_it_knows():
    text = repr(snb.plan(rows.x, rows.y, moments=["sum"], memory_limit="3GB"))
    assert "n_rows        41\n" in text and "memory_limit  3.0 GB\n" in text and text.endswith("tables        dense")
    assert "not known before the scan" in repr(snb.plan(iter([rows.x])))
    assert "<td" in snb.plan(rows.x)._repr_html_()


def test_a_scan_of_no_moments_needs_no_tables():
    plan = snb.plan(rows.x, rows.y, moments=[], memory_limit=np.int64(10**6))
    assert plan.moments == snb.scan(rows.x, rows.y, moments=[]).moments == ()
    assert plan.dense_bytes == plan.sparse_bytes == 0
    assert plan.memory_limit == 10**6


def test_it_says_where_rows_of_later_reads_are_kept(tmp_path):
    snb.set_scratch(tmp_path, limit=5_000_000)
    here, stream = (
        snb.plan(X, classes=range(3), model=snb.SoftmaxRegression(), memory_limit="4GB")
        for X in (rows.x, iter([rows.x]))
    )
    snb.set_scratch()
    assert here.kept == "1.0 GB in memory"
    assert stream.kept == f"1.0 GB in memory, then 5.0 MB in {tmp_path}"
    assert f"kept          {here.kept}" in repr(here) and "kept" not in repr(snb.plan(rows.x))


def test_the_columns_of_additive_models_are_those_of_their_terms():
    X, y = np.random.default_rng(0).normal(size=(300, 4)), np.arange(300) % 2
    model = snb.AdditiveClassifier(2, l2=[1.0, 3.0], resolutions=(4, 16), folds=3, max_passes=10)
    needed = snb.plan(X, y, model=model)
    columns = model.fit(X, y).coef_.shape[1]
    assert columns <= 4 * 17 + 2 * 32**2
    assert needed.dense_bytes == 8 * 2 * 3 * (4 * 17 + 2 * 32**2)
    assert needed.n_models == 2 * 3 and needed.model_bytes > 8 * needed.n_models * columns
    assert model.report_.reads <= needed.most_reads


@pytest.mark.parametrize(
    ("model", "form"), [(snb.LinearNB(), "zarr"), (snb.LinearNBCV(), "lines"), (snb.SoftmaxRegression(), "array")]
)
def test_a_probe_of_sorted_rows_fits_copies_and_tells_reads_and_seconds(form, model, tmp_path):
    X, y = np.random.default_rng(0).poisson(3.0, (90_000, 8)).astype(float), np.repeat([0, 1, 2], 30_000)
    given = X, y
    if form == "zarr":
        group = zarr.create_group(tmp_path / "x.zarr")
        group.create_array("X", data=X, chunks=(4096, 8))
        group.create_array("y", data=y, chunks=(4096,), config=FULL)
        given = tmp_path / "x.zarr", "y"
    elif form == "lines":
        pd.DataFrame(X).assign(kind=np.where(y == 0, "a", "b"), y=y).to_csv(tmp_path / "x.csv", index=False)
        given = tmp_path / "x.csv", "y"
    plan = snb.plan(*given, model=model, probe=True)
    assert not hasattr(model, "report_")
    assert plan.seconds > 0 and plan.reads >= 1 and 0 < plan.probed_rows <= plan.n_rows == 90_000
    assert f"probed_rows   {plan.probed_rows:,}" in repr(plan) and "seconds" not in repr(snb.plan(*given))


@pytest.mark.parametrize(
    ("model", "in_reads", "of_row"),
    [(snb.SoftmaxRegression(), 0.25, 0.25), (snb.SoftmaxRegression(), 0.0, 1.0), (snb.LinearNB(), 0.25, 1.0)],
)
def test_the_work_between_reads_is_not_that_of_further_rows(model, in_reads, of_row, monkeypatch):
    def timed_fit(model, given):
        return SimpleNamespace(report_=SimpleNamespace(reads=3)), len(given[0]) / 1000, in_reads

    monkeypatch.setattr(planning, "_timed_fit", timed_fit)
    monkeypatch.setattr(planning, "FEW", 1 << 16)
    plan = snb.plan(np.ones((90_000, 8)), np.arange(90_000) % 2, model=model, probe=True)
    assert 2000 < plan.probed_rows < 20_000
    assert plan.seconds == pytest.approx((plan.probed_rows + of_row * (90_000 - plan.probed_rows)) / 1000)


def test_what_cannot_be_probed_is_refused():
    with pytest.raises(ValueError, match=r"probe=True tells how long .* give model="):
        snb.plan(rows.x, rows.y, probe=True)
    with pytest.raises(ValueError, match=r"probe=True reads rows at several places of X"):
        snb.plan(iter([rows.x]), model=snb.LinearNB(), probe=True)
    with pytest.raises(TypeError, match=r"model of several reads, .* probe=True tells how long fit takes"):
        snb.plan(rows.x, rows.y, model=snb.LinearNB())

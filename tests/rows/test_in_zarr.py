"""Stores of whole numbers take the smallest integers that hold them, whenever a larger one comes; no value changes."""

import anndata
import numpy as np
import pytest
import scipy.sparse as sp
import xarray
import zarr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from zarr.storage import MemoryStore

import streamnb as snb
from streamnb.rows import writing

VALUES = [1, 255, 256, -1, -129, 65535, 65536, 2**24, 0.5, 1e60, -(2**31)]


@pytest.fixture
def tiny_chunks(monkeypatch):
    monkeypatch.setattr(writing, "CHUNK", 4)


@pytest.mark.usefixtures("tiny_chunks")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25)
@given(st.lists(st.lists(st.sampled_from(VALUES), min_size=1, max_size=6), min_size=1, max_size=4))
def test_values_survive_every_change_of_dtype(chunks):
    columns = [np.array(values, np.float64)[:, None] for values in chunks]
    group = snb.write_csr(MemoryStore(), columns, n_features=1)
    expected = np.vstack(columns)
    assert (anndata.io.read_elem(group).toarray() == expected).all()
    assert set(group) == {"data", "indices", "indptr"}
    assert (
        snb.scan(group, np.zeros(len(expected), int)).sum[0] == snb.scan(expected, [0] * len(expected)).sum[0]
    ).all()


@pytest.mark.usefixtures("tiny_chunks")
@pytest.mark.parametrize(
    ("chunks", "dtype", "stored"),
    [
        ([[1, 2, 255]], np.float32, np.uint8),
        ([[1, 2, 3, 4, 5], [256]], np.float32, np.uint16),
        ([[1, 2, 3, 4, 5], [-1]], np.float64, np.int16),
        ([[1, 2, 3, 4, 5], [70000]], np.float64, np.uint32),
        ([[1, 2, 3, 4, 5], [70000]], np.float32, np.float32),
        ([[1, 2, 3, 4, 5], [0.5]], np.float32, np.float32),
        ([[0.5], [1, 2, 3, 4, 5]], np.float64, np.float64),
        ([[1, 2, 3, 4, 5], [2**40]], np.int64, np.int64),
        ([[1, 1, 1, 1, 1]], bool, bool),
    ],
)
def test_the_dtype_is_the_smallest_that_holds_all(chunks, dtype, stored):
    columns = [np.array(values, dtype)[:, None] for values in chunks]
    group = snb.write_csr(MemoryStore(), columns, n_features=1)
    assert group["data"].dtype == stored
    assert group["data"][:].tolist() == np.vstack(columns)[:, 0].tolist()


@pytest.mark.parametrize(("n_features", "stored"), [(65_536, np.uint16), (65_537, np.int32)])
def test_indices_take_what_the_last_column_needs(n_features, stored):
    x = sp.csr_array(([1.0, 2.0], [0, n_features - 1], [0, 2]), shape=(1, n_features))
    group = snb.write_csr(MemoryStore(), [x], n_features=n_features)
    assert group["indices"].dtype == stored
    assert (anndata.io.read_elem(group) != x).nnz == 0


def test_a_store_without_values_is_complete():
    group = snb.write_csr(MemoryStore(), [sp.csr_array((3, 2))], n_features=2)
    assert anndata.io.read_elem(group).shape == (3, 2)
    assert snb.scan(group, [0, 1, 1]).n_rows == 3


def test_rows_may_be_an_array_of_a_group(tmp_path):
    random = np.random.default_rng(0)
    rows = {"X": random.poisson(2.0, (40, 3)), "y": random.integers(0, 2, 40), "weights": random.integers(1, 3, 40)}
    group = zarr.open_group(tmp_path / "rows.zarr", mode="w")
    for name, values in rows.items():
        group.create_array(name, data=values)
    expected = snb.scan(rows["X"], rows["y"], sample_weight=rows["weights"]).sum
    for X in (tmp_path / "rows.zarr", str(tmp_path / "rows.zarr" / "X"), group):
        assert np.array_equal(snb.scan(X, "y", sample_weight="weights").sum, expected)
    model = snb.LinearNB().fit(tmp_path / "rows.zarr", "y")
    assert np.array_equal(model.predict(tmp_path / "rows.zarr"), model.predict(rows["X"]))
    del group["X"]
    with pytest.raises(ValueError, match=r"or hold the rows in an array 'X'; give the path of another array"):
        model.fit(tmp_path / "rows.zarr", "y")


def test_arrays_of_xarray_are_read_and_packed_ones_are_not_taken_for_their_numbers(tmp_path):
    """Of 250.5, stored as 50 with scale .01 and offset 250, zarr knows 50 alone (xarray 2026.9, zarr 3.1)."""
    random = np.random.default_rng(0)
    X, y = random.normal(250, 9, (60, 3)).round(2), random.integers(0, 2, 60)
    rows = xarray.Dataset({"X": (("row", "column"), X), "y": ("row", y)})
    packing = {"dtype": "int16", "scale_factor": 0.01, "add_offset": 250.0, "_FillValue": -32768}
    rows.to_zarr(tmp_path / "packed.zarr", encoding={"X": packing})
    rows.to_zarr(tmp_path / "plain.zarr")
    assert np.array_equal(snb.scan(tmp_path / "plain.zarr", "y").sum, snb.scan(X, y).sum)
    with pytest.raises(snb.DataError, match=r"is packed: its attributes \{'scale_factor': 0.01, 'add_offset': 250.0"):
        snb.scan(tmp_path / "packed.zarr", "y")

    opened = xarray.open_zarr(tmp_path / "packed.zarr", chunks={"row": 60})
    for held in (opened, opened.load()):
        model = snb.LinearNB().fit(held["X"], held["y"])
        assert np.allclose(model.stats_.sum, snb.scan(X, y).sum, rtol=1e-12)
        assert (np.asarray(model.predict(held["X"])) == model.predict(held["X"].values)).all()
    with pytest.raises(TypeError, match=r"X is a Dataset of xarray; pass one of its arrays, \['X', 'y'\]"):
        snb.scan(opened, "y")


def test_labels_with_a_missing_value_are_not_taken_for_another_class(tmp_path):
    group = zarr.open_group(tmp_path / "rows.zarr", mode="w")
    group.create_array("X", data=np.eye(3))
    group.create_array("y", data=np.array([0, 1, -1]), attributes={"_FillValue": -1})
    with pytest.raises(snb.DataError, match=r"array 'y' .* is packed: its attributes \{'_FillValue': -1\}"):
        snb.scan(group, "y")

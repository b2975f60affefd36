"""What is no table of numbers: files of other kinds, dates, missing values, arrays of other packages."""

import datetime

import anndata
import dask
import dask.bag as db
import dask.dataframe as dd
import h5py
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import streamnb as snb
from streamnb.rows import boundary
from tests.support.refusals import cases, refused

X = np.arange(24.0).reshape(8, 3) % 5
Y = np.array(["a", "b"] * 4)
FRAME = pd.DataFrame(X, columns=["age", "height", "weight"])
RUNS = {"scan": lambda X: snb.scan(X, Y), "predict": lambda X: snb.solve(snb.scan(FRAME, Y), "gaussian")[0].predict(X)}
every_run = pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)


# ------------------------------------------------------------------------------------------- files of other kinds


def hdf5(path):
    with h5py.File(path, "w") as file:
        file["X"] = X


FILES = {
    "Parquet": (FRAME.to_parquet, "part.parquet", "a Parquet file", r"snb\.table\(path"),
    "CSV": (FRAME.to_csv, "rows.csv", "a CSV file", r"snb\.table\(path"),
    "TSV": (lambda path: FRAME.to_csv(path, sep="\t"), "rows.tsv", "a CSV file", r"should end with .* \.csv"),
    "JSON": (FRAME.to_json, "rows.json", "a JSON file", r"snb\.text\(path"),
    "JSON lines": (lambda path: FRAME.to_json(path, orient="records", lines=True), "rows.jsonl", "a JSON file"),
    "HDF5": (hdf5, "rows.h5", "an HDF5 file", r"h5py\.File"),
}


@every_run
def test_an_hdf5_file_says_what_it_is_and_how_to_read_it(run, tmp_path):
    hdf5(path := tmp_path / "rows.h5")
    for given in (path, str(path)):
        with refused(snb.DataError, "rows.h5", "an HDF5 file", r"h5py\.File"):
            run(given)


@cases(FILES)
def test_a_file_without_an_ending_is_known_by_its_content(case, tmp_path):
    write, name, *words = case
    write(tmp_path / name)
    path = (tmp_path / name).rename(tmp_path / "rows")
    with refused(snb.DataError, "rows", *words):
        snb.scan(path, Y)


def test_a_folder_of_parquet_files_is_a_table(tmp_path):
    (tmp_path / "rows.parquet").mkdir()
    FRAME.to_parquet(tmp_path / "rows.parquet" / "part-0.parquet")
    with pytest.warns(snb.StreamnbWarning, match="its columns are numbers alone"):
        assert snb.scan(tmp_path / "rows.parquet", np.arange(len(FRAME)) % 2).n_rows == len(FRAME)


def test_other_files_and_none_are_still_no_zarr_store(tmp_path):
    (tmp_path / "words").write_text("neither of these\n")
    (tmp_path / "bytes").write_bytes(bytes(range(256)))
    for name in ("words", "bytes", "missing.zarr"):
        with refused(snb.DataError, name, "cannot be opened as a Zarr array or group"):
            snb.scan(tmp_path / name, Y)


# ------------------------------------------------------------------------------------------- values that are none


DAYS = pd.date_range("2020-01-01", periods=8)
NUMBERS_OF_DATES = r"np\.timedelta64\(1, 'D'\)"
NULLABLE = {
    "ints": pd.array([1, 2, None, 4, 5, 6, 7, 8], dtype="Int64"),
    "bools": pd.array([True, False, None] + [True] * 5, dtype="boolean"),
    "floats": pd.array([1.5, 2, None, 4, 5, 6, 7, 8], dtype="Float64"),
    "arrow": pd.array([1.5, 2, None, 4, 5, 6, 7, 8], dtype="float64[pyarrow]"),
}
VALUES = {
    "ints beyond float64": (lambda: [[1, 2, 10**400]] * 8, ValueError, "X has a whole number too large", "column 2"),
    "those of a frame": (
        lambda: FRAME.astype(object).assign(age=np.array([1] * 7 + [-(10**400)], object)),
        ValueError,
        "too large for float64 in column 'age'",
    ),
    "an array of dates": (lambda: np.full((8, 3), DAYS[0], "M8[D]"), TypeError, "X holds dates", NUMBERS_OF_DATES),
    "an array of durations": (lambda: np.full((8, 3), 5, "m8[s]"), TypeError, "X holds durations", NUMBERS_OF_DATES),
    "NumPy's dates as objects": (
        lambda: np.array([[1.0, 2.0, np.datetime64("2020-01-01")]] * 8, object),
        TypeError,
        "X holds a datetime64 in column 2",
    ),
}
FRAMES = {  # models of matrices, and streams, have no place for them
    "a column of dates": (lambda: FRAME.assign(born=DAYS), TypeError, "X has dates in column 'born'", NUMBERS_OF_DATES),
    "dates alone": (lambda: pd.DataFrame({"born": DAYS}), TypeError, "dates in column 'born'", NUMBERS_OF_DATES),
    "dates of a zone": (lambda: FRAME.assign(born=DAYS.tz_localize("UTC")), TypeError, "dates in column 'born'"),
    "durations": (lambda: FRAME.assign(spent=DAYS - DAYS[0]), TypeError, "durations in column 'spent'"),
    "objects that are dates": (
        lambda: FRAME.assign(born=[datetime.date(2020, 1, 1)] * 8),
        TypeError,
        "X holds a date in column 'born'",
        NUMBERS_OF_DATES,
    ),
    **{
        f"nullable {kind}": (
            lambda column=column: FRAME.assign(height=column),
            ValueError,
            "X has a missing value .*in column 'height', at row 2",
            "fillna",
            "drop",
        )
        for kind, column in NULLABLE.items()
    },
}


@every_run
@cases(VALUES)
def test_values_that_are_no_numbers_name_their_column(run, case):
    make, error, *words = case
    with refused(error, *words):
        run(make())


@pytest.mark.parametrize("run", [lambda X: snb.scan(iter([(X, Y)])), RUNS["predict"]], ids=["stream", "predict"])
@cases(FRAMES)
def test_columns_of_frames_that_are_no_numbers_are_named(run, case):
    make, error, *words = case
    with refused(error, *words):
        run(make())


def test_missing_values_of_a_later_chunk_name_the_row_of_the_whole():
    later = FRAME.assign(age=NULLABLE["ints"])
    with refused(ValueError, "column 'age', at row 10"):
        snb.scan(iter([(FRAME, Y), (later, Y)]))


def test_lazy_frames_name_their_columns_of_dates():
    with refused(TypeError, "X has dates in column 'born'", NUMBERS_OF_DATES):
        RUNS["predict"](dd.from_pandas(FRAME.assign(born=DAYS), npartitions=2))


def test_nullable_columns_without_missing_values_are_numbers():
    nullable = FRAME.astype({"age": "Int64", "height": "Float64"})
    assert np.array_equal(snb.scan(nullable, Y).sum, snb.scan(FRAME, Y).sum)


# ------------------------------------------------------------------------------------------- other packages


def of_package(name, module, **methods):
    """An object of a class that says it is of that module, as the package would make it."""
    return type(name, (), {"__module__": module, "shape": X.shape, "__array__": None, "__len__": None, **methods})()


def test_arrays_of_the_package_sparse_have_a_cure():
    """It is recognised by where its class is defined; the package itself is none of ours."""
    coo = of_package("COO", "sparse.numba_backend._coo.core", tocsr=lambda self: sp.csr_array(X))
    gcxs = of_package("GCXS", "sparse.numba_backend._compressed", to_scipy_sparse=lambda self: sp.csr_array(X))
    for run in RUNS.values():
        with refused(TypeError, "X is a COO array of the package sparse", r"X\.tocsr\(\)"):
            run(coo)
        with refused(TypeError, "X is a GCXS array of the package sparse", r"X\.to_scipy_sparse\(\)"):
            run(gcxs)


def test_parts_of_anndata_that_stay_in_their_file_have_a_cure(tmp_path):
    cells = anndata.AnnData(sp.csr_matrix(X), obs=pd.DataFrame({"kind": Y}, index=[f"cell {i}" for i in range(8)]))
    cells.write_h5ad(tmp_path / "cells.h5ad")
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    try:
        for run in RUNS.values():
            with refused(TypeError, "X is a CSRDataset|_CSRDataset", r"to_memory\(\)", "the AnnData object itself"):
                run(backed.X)
    finally:
        backed.file.close()


def test_a_frame_may_have_a_column_named_like_a_part_of_anndata():
    frame = FRAME.rename(columns={"age": "obs"})
    assert np.array_equal(snb.scan(frame, Y).sum, snb.scan(X, Y).sum)


V, Z = np.arange(12.0).reshape(6, 2), np.array([0, 1, 0, 1, 0, 1])
OF_UNKNOWN_SHAPE = {"delayed": dask.delayed, "call": lambda x: dask.delayed(np.array)(x), "bag": db.from_sequence}
DOORS = {  # where rows, and what is beside them, come in
    "X": lambda later: snb.scan(later(V), Z),
    "y": lambda later: snb.scan(V, later(Z)),
    "sample_weight": lambda later: snb.scan(V, Z, sample_weight=later(Z)),
    "folds": lambda later: snb.scan(V, Z, folds=later(Z)),
    "groups": lambda later: snb.scan(V, Z, folds=2, groups=later(Z)),
    "y_pred": lambda later: snb.evaluate(Z, later(Z)),
}


@pytest.mark.parametrize(("name", "later"), [*((name, "delayed") for name in DOORS), ("X", "call"), ("y", "bag")])
def test_what_is_lazy_and_no_array_is_refused_at_the_door(name, later):
    """Of a delayed object any attribute is there, and gives another one."""
    later = OF_UNKNOWN_SHAPE[later]
    assert not boundary.is_dask(later(V))
    with pytest.raises(TypeError, match=rf"^{name} is a \w+ of Dask, .*from_delayed\({name}, shape=.*{name}.compute"):
        DOORS[name](later)


def test_names_of_columns_do_not_make_a_delayed_object_a_frame():
    with pytest.raises(TypeError, match=r"^X is a Delayed\w* of Dask"):
        snb.LinearNB().fit(dask.delayed(pd.DataFrame({"a": [1, 2], "kind": ["b", "c"]})), "kind")

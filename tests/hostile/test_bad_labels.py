"""Bad labels, and labels that do not go with the rows: an error that names the argument, what was given and a cure."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import zarr
from zarr.storage import MemoryStore

import streamnb as snb
from tests.support.refusals import WRONG, cases, refused
from tests.support.strategies import SIZES, as_dask, build, example, stream
from tests.support.ways_in import BAD_ROW, ROWS, every_run
from tests.support.zarr_stores import anndata_root, csr_group, write_labels


def with_missing(value, dtype=object):
    y = ROWS.y.astype(dtype)
    y[BAD_ROW] = value
    return y


MISSING = {  # of every way in some; all forms of labels stand in tests/core/test_label_checks.py
    "list": lambda: with_missing(None).tolist(),
    "objects": lambda: with_missing(np.nan),
    "numbers": lambda: with_missing(np.nan, float),
    "series": lambda: pd.Series(ROWS.y).astype("Int64").where(np.arange(len(ROWS)) != BAD_ROW),
    "categories": lambda: pd.Series(pd.Categorical(with_missing(None))),
    "dask": lambda: da.from_array(with_missing(np.nan, float), chunks=7),
    "zarr": lambda: write_labels(zarr.create_group(MemoryStore()), "y", with_missing(np.nan, float)),
}


@every_run
@cases(MISSING)
def test_missing_labels(run, case):
    with refused(ValueError, r"\by\b", "missing", rf"row {BAD_ROW}\b"):
        run(ROWS.x, case())


@every_run
def test_missing_category_of_anndata(run, tmp_path):
    root = anndata_root(ROWS, tmp_path)
    codes = zarr.open_array(tmp_path / "root.zarr" / "obs" / "kind" / "codes", mode="r+")
    codes[BAD_ROW] = -1
    with refused(ValueError, "y|obs/kind", "missing", str(BAD_ROW)):
        run(root, "obs/kind")


@every_run
def test_no_labels(run, tmp_path):
    for X in (ROWS.x, sp.csr_array(ROWS.x), as_dask(ROWS), csr_group(ROWS, tmp_path), stream(ROWS, "x")):
        with refused(WRONG, r"\by\b"):
            run(X)


@every_run
@pytest.mark.parametrize("name", ["numpy f8", "dask", "zarr csr, y by name", "callable, chunks of X, y"])
def test_a_label_that_is_not_listed(run, name, tmp_path):
    with refused(ValueError, "classes", r"\b7\b"):
        run(**build(name, ROWS, tmp_path), classes=[-1, 0])


@cases({"twice": [0, 0, 7, -1], "missing": [0, None], "2-D": [[0, 1], [7, -1]]})
def test_classes_that_are_no_list_of_labels(case):
    with refused(WRONG, "classes"):
        snb.scan(ROWS.x, ROWS.y, classes=case)


@pytest.mark.parametrize("name", ["numpy f8", "csr_array", "dask", "zarr csr v3", "generator, chunks of X, y, w"])
def test_fit_with_one_class(name, tmp_path):
    rows = example("int")
    rows.y[:] = 7
    with refused(ValueError, "class", "one|1|two|2"):
        snb.LinearNB().fit(**build(name, rows, tmp_path))


LENGTHS = {
    "short list": lambda: (ROWS.x, ROWS.y[:-1].tolist()),
    "long array": lambda: (ROWS.x, np.append(ROWS.y, 0)),
    "csr": lambda: (sp.csr_array(ROWS.x), ROWS.y[1:]),
    "dask X": lambda: (as_dask(ROWS), ROWS.y[:-1]),
    "dask both": lambda: (as_dask(ROWS), da.from_array(ROWS.y[:-1], chunks=9)),
    "dask unknown": lambda: (as_dask(ROWS, known=False), da.from_array(ROWS.y[:-1], chunks=((*SIZES[:-1], 12),))),
    "zarr": lambda: (zarr.create_array(MemoryStore(), data=ROWS.x), ROWS.y[:-1]),
    "zarr y": lambda: (ROWS.x, write_labels(zarr.create_group(MemoryStore()), "y", ROWS.y[:-1])),
    "chunk": lambda: (iter([(ROWS.x, ROWS.y), (ROWS.x, ROWS.y[:-1])]), None),
}


@every_run
@cases(LENGTHS)
def test_labels_of_another_length(run, case):
    with refused(ValueError, r"\by\b", "4[0-2]|11|12"):
        run(*case())


@every_run
@cases(
    {"array": np.c_[ROWS.y, ROWS.y], "frame": pd.DataFrame({"a": ROWS.y, "b": ROWS.y}), "3-D": ROWS.y[:, None, None]}
)
def test_labels_in_several_columns(run, case):
    with refused(ValueError, r"\by\b", r"1-?d|shape|column"):
        run(ROWS.x, case)


@every_run
@cases({"mixed": [*ROWS.y[:-1].tolist(), "a"], "continuous": ROWS.y + 0.5})
def test_labels_that_are_none(run, case):
    with refused(WRONG, r"\by\b", "label"):
        run(ROWS.x, case)

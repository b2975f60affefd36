"""Stores that are damaged, wrong or too new: an error that names the file's part, and a cure."""

import anndata
import numpy as np
import pytest
import scipy.sparse as sp
import zarr

import streamnb as snb
from tests.support.refusals import WRONG, cases, refused
from tests.support.strategies import example
from tests.support.zarr_stores import anndata_root, csr_group, dense_array, write_arrays

ROWS = example("int")
USES = {"scan": lambda X: snb.scan(X, ROWS.y), "predict": lambda X: snb.LinearNB().fit(ROWS.x, ROWS.y).predict(X)}
every_use = pytest.mark.parametrize("use", USES.values(), ids=USES)


# ---------------------------------------------------------------------------------- groups that are not CSR


def attribute(name, value):
    def change(group):
        group.attrs[name] = value

    return change


def array(name, change):
    def put(group):
        old = group[name]
        values = change(old[:])
        del group[name]
        group.create_array(name, data=values, chunks=(7,) * values.ndim, config={"write_empty_chunks": True})

    return put


def without(name):
    def remove(group):
        del group[name]

    return remove


def without_attribute(name):
    def remove(group):
        del group.attrs[name]

    return remove


def with_entry(i, value):
    def change(values):
        values = values.astype(np.int64)
        values[i] = value
        return values

    return change


GROUPS = {
    "csc": (attribute("encoding-type", "csc_matrix"), "csc", "csr"),
    "a data frame": (attribute("encoding-type", "dataframe"), "dataframe", "csr_matrix"),
    "no type": (without_attribute("encoding-type"), "encoding-type", "csr_matrix"),
    "a later layout": (attribute("encoding-version", "9.0.0"), "encoding-version", r"9\.0\.0"),
    "no shape": (without_attribute("shape"), "shape"),
    "shape of three": (attribute("shape", [41, 9, 1]), "shape", "41"),
    "shape of words": (attribute("shape", ["41", "9"]), "shape", "41"),
    "negative shape": (attribute("shape", [-41, 9]), "shape", "-41"),
    "more rows than indptr": (attribute("shape", [42, 9]), "indptr", "42"),
    "fewer rows than indptr": (attribute("shape", [40, 9]), "indptr", "40"),
    "no data": (without("data"), "data"),
    "no indptr": (without("indptr"), "indptr"),
    "data of another length": (array("data", lambda v: v[:-1]), "data", "indices"),
    "data of text": (array("data", lambda v: v.astype(str)), "dtype", "number"),
    "2-D data": (array("data", lambda v: v[:, None]), "data", "1-?d"),
    "real indices": (array("indices", lambda v: v + 0.5), "indices", "integer"),
    "index too large": (array("indices", with_entry(50, 9)), "indices", "9"),
    "index far too large": (array("indices", with_entry(50, 2**40)), "indices"),
    "negative index": (array("indices", with_entry(50, -1)), "indices", "-1"),
    "indptr falls": (array("indptr", with_entry(20, 3)), "indptr"),
    "indptr starts late": (array("indptr", with_entry(0, 1)), "indptr", "0"),
    "indptr ends early": (array("indptr", lambda v: np.minimum(v, v[-1] - 2)), "indptr"),
    "indptr ends late": (array("indptr", with_entry(-1, 10_000)), "indptr"),
    "negative indptr": (array("indptr", with_entry(1, -5)), "indptr"),
}


@pytest.mark.filterwarnings("ignore::zarr.errors.UnstableSpecificationWarning")
@cases(GROUPS)
def test_groups_that_hold_no_csr_matrix(case, tmp_path):
    change, *words = case
    group = csr_group(ROWS, tmp_path)
    change(group)
    for use in USES.values():
        with refused(WRONG, "X", *words):
            use(group)


def test_broken_contents_are_data_errors(tmp_path):
    for name in ("indptr falls", "indptr ends late", "more rows than indptr", "data of another length"):
        group = csr_group(ROWS, tmp_path / name)
        GROUPS[name][0](group)
        with pytest.raises(snb.DataError):
            snb.scan(group, "y")


def test_anndata_without_csr_rows(tmp_path):
    anndata_root(ROWS, tmp_path)
    root = group = zarr.open_group(tmp_path / "root.zarr", mode="r+", use_consolidated=False)
    del group["X"]
    with refused(ValueError, "X"):
        snb.scan(root, "obs/kind")
    anndata.io.write_elem(group, "X", sp.csc_array(ROWS.x))
    with refused(ValueError, "X", "csc", "csr"):
        snb.scan(root, "obs/kind")


# -------------------------------------------------------------------------------------------- damaged chunks


def chunk_files(folder, name):
    """Files of the chunks of an array, in both Zarr formats."""
    found = [path for path in folder.rglob("*") if path.is_file() and name in path.relative_to(folder).parts]
    return sorted(path for path in found if not path.name.startswith((".z", "zarr.json")))


DAMAGE = {
    "garbage": lambda path: path.write_bytes(b"this is no chunk"),
    "empty": lambda path: path.write_bytes(b""),
    "cut": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "short": lambda path: path.write_bytes(path.read_bytes()[:-1]),
}
LAYOUTS = {"v2": {"zarr_format": 2}, "v3": {}, "sharded": {"shards": (21,)}}
ARRAYS = ["data", "indices", "indptr"]


def in_each_layout(values):
    """Each array with each of the values, and either of them in each layout."""
    layouts = [*LAYOUTS]
    return [(layouts[(i + j) % 3], name, value) for i, name in enumerate(ARRAYS) for j, value in enumerate(values)]


@pytest.mark.parametrize(("layout", "name", "damage"), in_each_layout(DAMAGE))
def test_damaged_chunks_of_csr(layout, name, damage, tmp_path):
    group = csr_group(ROWS, tmp_path, **LAYOUTS[layout])
    DAMAGE[damage](chunk_files(tmp_path, name)[1])
    with refused(snb.DataError, name, "chunk"):
        snb.scan(group, ROWS.y)


@every_use
@cases(DAMAGE)
def test_damaged_chunks_of_a_dense_array(use, case, tmp_path):
    store = dense_array(ROWS, tmp_path)
    case(chunk_files(tmp_path, "c")[1])
    with refused(snb.DataError, "chunk", "dense|array"):
        use(store)


@pytest.mark.parametrize("compressed", [True, False])
def test_damaged_chunks_without_a_codec(compressed, tmp_path):
    group = zarr.create_group(tmp_path / "csr.zarr")
    write_arrays(group, ROWS)
    values = group["data"][:]
    del group["data"]
    group.create_array("data", data=values, chunks=(7,), compressors="auto" if compressed else None)
    DAMAGE["short"](chunk_files(tmp_path, "data")[2])
    with refused(snb.DataError, "data", "chunk"):
        snb.scan(group, ROWS.y)


@pytest.mark.parametrize(("layout", "name", "which"), in_each_layout([0, 1, -1]))
def test_missing_chunks_of_csr(layout, name, which, tmp_path):
    group = csr_group(ROWS, tmp_path, **LAYOUTS[layout])
    chunk_files(tmp_path, name)[which].unlink()
    for use in USES.values():
        with refused(snb.DataError, name, "chunk"):
            use(group)


def test_a_truncated_copy_of_labels(tmp_path):
    group = csr_group(ROWS, tmp_path)
    DAMAGE["garbage"](chunk_files(tmp_path, "y")[1])
    with refused(snb.DataError, r"\by\b", "chunk"):
        snb.scan(group, "y")


def test_metadata_that_cannot_be_read(tmp_path):
    csr_group(ROWS, tmp_path)
    (tmp_path / "csr.zarr" / "data" / "zarr.json").write_text("{")
    with refused((snb.DataError), "data|csr.zarr"):
        snb.scan(tmp_path / "csr.zarr", "y")

"""Matrices in HDF5: blocks of them are their rows, and what is no matrix of rows is refused by name."""

import sys

import h5py
import numpy as np
import pytest
import scipy.sparse as sp

import streamnb as snb
from streamnb.rows import sizes
from streamnb.rows.in_hdf5 import HDF5Matrix, HDF5Source
from streamnb.rows.labels import open_columns
from tests.support.refusals import refused

X = np.random.default_rng(0).poisson(0.7, (31, 6)).astype(np.float32)


def written(path):
    matrix = sp.csr_array(X)
    with h5py.File(path, "w") as file:
        file["dense"] = X
        for name, kind in (
            ("csr", "csr_matrix"),
            ("csc", "csc_matrix"),
            ("broken", "csr_matrix"),
            ("falls", "csr_matrix"),
        ):
            group = file.create_group(name)
            group.attrs.update({"encoding-type": kind, "encoding-version": "0.1.0", "shape": X.shape})
            for part in ("data", "indices", "indptr"):
                group[part] = getattr(matrix, part)
        del file["broken/indices"]
        file["falls/indptr"][3] = 10**6
        file["flat"] = X[0]
    return path


@pytest.mark.parametrize("key", ["dense", "csr"])
def test_blocks_are_the_rows(key, tmp_path, monkeypatch):
    monkeypatch.setattr(sizes, "BLOCK_BYTES", 96)
    source = HDF5Source(HDF5Matrix(written(tmp_path / "a.h5"), key), open_columns(None, None, 31, False))
    assert (source.n_rows, source.n_features) == X.shape
    for start, stop in ((0, 31), (4, 20), (30, 31)):
        found = [block.X for block in source.blocks(start, stop)]
        assert len(found) > (stop - start) // 8
        if key == "csr":
            found = [sp.csr_array((d, i, p - p[0]), shape=(len(p) - 1, n)).toarray() for d, i, p, n in found]
        assert np.array_equal(np.vstack(found), X[start:stop])


def test_what_holds_no_rows_is_refused(tmp_path, monkeypatch):
    path = written(tmp_path / "a.h5")
    for key, words in (("csc", "csc_matrix.*tocsr"), ("broken", "lacks.*indices"), ("flat", "2-D numbers")):
        with refused(ValueError, f"X: '{key}'", words):
            HDF5Matrix(path, key)
    with refused(snb.DataError, "falls, near row 0"):
        list(HDF5Source(HDF5Matrix(path, "falls"), open_columns(None, None, 31, False)).blocks())
    path.write_bytes(path.read_bytes()[:300])
    with refused(snb.DataError, "cannot be opened as HDF5"):
        HDF5Matrix(path, "csr")
    monkeypatch.setitem(sys.modules, "h5py", None)
    with refused(ImportError, r"streamnb\[cells\]"):
        HDF5Matrix(path, "csr")

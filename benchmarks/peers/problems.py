"""The rows that both sides are given."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import zarr
from sklearn.preprocessing import normalize
from zarr.codecs import BloscCodec

import streamnb as snb
from benchmarks.peers.table import PER_ROW, Size


def counts(n_rows: int, n_features: int, law: str, per_row: int = PER_ROW) -> sp.csr_array:
    """Whole numbers as float32, columns uniform or after Zipf's law."""
    rng = np.random.default_rng(0)
    drawn = rng.random((n_rows, per_row))
    columns = drawn * n_features if law == "uniform" else (n_features + 1.0) ** drawn - 1.0
    indices = np.sort(columns.astype(np.int32), axis=1).reshape(-1)
    values = rng.integers(1, 5, len(indices)).astype(np.float32)
    X = sp.csr_array((values, indices, np.arange(n_rows + 1, dtype=np.int32) * per_row), shape=(n_rows, n_features))
    X.sum_duplicates()
    return X


def labels(n_rows: int, n_classes: int) -> np.ndarray:
    return np.random.default_rng(1).integers(0, n_classes, n_rows)


def topics(n_rows: int, n_features: int, n_classes: int) -> tuple[sp.csr_array, np.ndarray]:
    """Words of texts as tf-idf of length 1, after Zipf's law; one in twelve is of the class of the text."""
    rng, y = np.random.default_rng(2), labels(n_rows, n_classes)
    X = counts(n_rows, n_features, "zipf", PER_ROW).tocoo()
    rows, words = X.coords
    own = (words * 7919 + (y[rows] + 1) * 104_729) % n_features
    words = np.where(rng.random(len(words)) < 1 / 12, own, words)
    X = sp.csr_array((np.ones(len(words)), (rows, words)), shape=X.shape)
    X.data *= np.log((1.0 + n_rows) / (1.0 + np.bincount(X.indices, minlength=n_features)))[X.indices] + 1.0
    return sp.csr_array(normalize(X)), y


def partial_fits(model, X, y, chunk: int) -> Callable[[], None]:
    classes = np.unique(y)

    def run():
        for start in range(0, len(y), chunk):
            model.partial_fit(X[start : start + chunk], y[start : start + chunk], classes)

    return run


def dense_problem(size: Size, dtype: type) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    shape = size.n_rows, PER_ROW
    X = rng.normal(size=shape).astype(dtype) if dtype is np.float32 else rng.integers(0, 5, shape).astype(dtype)
    return X, labels(size.n_rows, 10)


LZ4 = BloscCodec(cname="lz4", shuffle="shuffle")


def write_default(path: Path, X: sp.csr_array, y: np.ndarray, **options) -> str:
    """CSR as zarr-python writes it unless told otherwise."""
    group = zarr.create_group(path)
    for name, values in (("data", X.data), ("indices", X.indices), ("indptr", X.indptr), ("y", y)):
        group.create_array(name, data=values, **(options if name in ("data", "indices") else {}))
    group.attrs.update({"encoding-type": "csr_matrix", "encoding-version": "0.1.0", "shape": list(X.shape)})
    return str(path)


def write_own(path: Path, X: sp.csr_array, y: np.ndarray, chunk: int = 20_000, times: int = 1) -> str:
    """As `write_csr` writes it, the rows several times over."""
    starts = [start for _ in range(times) for start in range(0, len(y), chunk)]
    parts = ((X[start : start + chunk], y[start : start + chunk]) for start in starts)
    snb.write_csr(path, parts, n_features=X.shape[1])
    return str(path)

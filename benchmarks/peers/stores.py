"""Whole fits from Zarr beside bare reading, default reading and each other."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import zarr
from sklearn.naive_bayes import MultinomialNB

import streamnb as snb
from benchmarks.peers.problems import LZ4, counts, dense_problem, labels, write_default, write_own
from benchmarks.peers.table import SLOWER, Row, Size, ratio, ratios
from streamnb.rows.opening import opened

STORES = {  # codec and, in elements, chunks and shards of CSR; the goals against reading
    "zstd, default chunks": ({}, (1.3, 1.15)),
    "zstd, small chunks": ({"chunks": (1 << 16,)}, (1.3, 1.15)),
    "zstd, sharded": ({"chunks": (1 << 16,), "shards": (1 << 20,)}, (1.3, 1.15)),
    "lz4, default chunks": ({"compressors": LZ4}, (1.6, 1.35)),
    "lz4, small chunks": ({"compressors": LZ4, "chunks": (1 << 16,)}, (1.6, 1.35)),
}


def reading(X, y) -> Callable[[], None]:
    def run():
        for _ in opened(X, y).blocks():
            pass

    return run


def fitting(X, y="y", family="multinomial") -> Callable[[], None]:
    return lambda: snb.LinearNB(family).fit(X, y)


def default_reading_fit(path: str, n_features: int, chunk: int) -> Callable[[], None]:
    """What zarr-python and scikit-learn do together."""

    def run():
        group, model = zarr.open_group(path, mode="r"), MultinomialNB()
        indptr, y = group["indptr"][:], group["y"][:]
        classes = np.unique(y)
        for start in range(0, len(y), chunk):
            ends = indptr[start : start + chunk + 1]
            data, indices = (group[name][ends[0] : ends[-1]] for name in ("data", "indices"))
            rows = sp.csr_array((data, indices, ends - ends[0]), shape=(len(ends) - 1, n_features))
            model.partial_fit(rows, y[start : start + chunk], classes)

    return run


def store_rows(size: Size, folder: Path) -> Iterator[Row]:
    X, y, clock = counts(size.n_rows, 2**14, "zipf"), labels(size.n_rows, 20), time.perf_counter
    for name, (options, bounds) in STORES.items():
        path = write_default(folder / name, X, y, **options)
        times = ratio(fitting(path), reading(path, "y"), size.repeats, clock)
        yield Row(f"fit from Zarr CSR, {name}", "reading it", *bounds, times, unit=SLOWER)
    dense, dense_y = dense_problem(size, np.float32)
    for name, options, bounds in (("zstd", {}, (1.3, 1.15)), ("lz4", {"compressors": LZ4}, (1.6, 1.35))):
        array = zarr.create_array(folder / f"dense {name}", data=dense, **options)
        times = ratio(fitting(array, dense_y, "gaussian"), reading(array, dense_y), size.repeats, clock)
        yield Row(f"fit from dense Zarr, {name}", "reading it", *bounds, times, unit=SLOWER)
    for K, floor, goal in ((20, 2, 4), (1000, 30, 60)):
        path = write_default(folder / f"K = {K}", X, labels(size.n_rows, K))
        peer = default_reading_fit(path, X.shape[1], size.chunk)
        times = ratios(peer, [fitting(path)], 1 if K == 1000 else size.repeats, clock)[0]
        yield Row(f"fit from Zarr CSR, K = {K:,}", "zarr-python and MultinomialNB.partial_fit", floor, goal, times)
    default, own = str(folder / "zstd, default chunks"), write_own(folder / "own", X, y)
    times = ratio(fitting(default), fitting(own), size.repeats, clock)
    yield Row("fit from a store of write_csr", "fit from a default store", 1.5, 3, times)
    tfidf = sp.csr_array((np.log1p(X.data) * idf(X)[X.indices], X.indices, X.indptr), shape=X.shape)
    for name, path in (("counts", own), ("tf-idf in float32", write_own(folder / "tf-idf", tfidf, y))):
        times = ratio(fitting(path, family="bernoulli"), fitting(path, family="poisson"), size.repeats, clock)
        yield Row(f"Bernoulli fit from a store of write_csr, {name}", "Poisson fit", 0.6, 0.5, times, unit=SLOWER)


def idf(X: sp.csr_array) -> np.ndarray:
    return np.log1p(X.shape[0] / (1 + np.bincount(X.indices, minlength=X.shape[1]))).astype(np.float32)

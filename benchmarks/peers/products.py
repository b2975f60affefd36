"""Products of features beside NumPy's, and discriminant analysis beside reading and beside scikit-learn's refits."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import zarr
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from threadpoolctl import threadpool_limits

import streamnb as snb
from benchmarks.peers.models import seconds
from benchmarks.peers.table import SLOWER, Row, Size, ratio

BLOCK = 4096  # rows that NumPy multiplies at once
POINTS = [(a, g) for a in (0.0, 0.05, 0.2, 0.5, 0.8, 1.0) for g in (1e-4, 1e-3, 1e-2, 0.1, 0.3)]


def by_numpy(X: np.ndarray) -> Callable[[], np.ndarray]:
    def run():
        total = np.zeros((X.shape[1], X.shape[1]))
        for first in range(0, len(X), BLOCK):
            some = X[first : first + BLOCK].astype(np.float64)
            total += some.T @ some
        return total

    return run


def product_rows(size: Size, folder: Path) -> Iterator[Row]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 10, size.n_rows)
    real = rng.normal(size=(size.n_rows, 200)).astype(np.float32)
    whole = rng.integers(0, 256, real.shape).astype(np.uint8)
    asked = (("float32", real, False, 1.5, 1.1), ("float32, exact", real, True, 13, 6), ("uint8", whole, False, 1, 0.7))
    with threadpool_limits(1):
        for name, X, exact, floor, goal in asked:
            options: dict = {"moments": ["gram"], "pooled": True, "exact": exact, "n_threads": 1}
            times = ratio(lambda X=X, o=options: snb.scan(X, y, **o), by_numpy(X), size.repeats, time.process_time)
            what = f"sums of products, n = 200, pooled, {name}, one thread"
            yield Row(what, "X.T @ X of NumPy, float64", floor, goal, times, SLOWER)
    yield from grid_rows(size)
    yield from stored_rows(size, folder)


def grid_rows(size: Size) -> Iterator[Row]:
    n_rows, K, n = max(size.n_rows // 12, 2_600), 26, 50  # each fold has rows of each class
    rng = np.random.default_rng(0)
    y = rng.integers(0, K, n_rows)
    X = rng.normal(size=(n_rows, n)) @ rng.normal(size=(n, n)) + 2.0 * rng.normal(size=(K, n))[y]
    number, family = snb.fold_numbers(n_rows, 5), snb.Gaussian(covariance="full", shrinkage=POINTS)
    model = snb.LinearNBCV(family, scoring="accuracy")

    def refits():  # those of scikit-learn: 15 of each analysis
        for fold in range(5):
            train, test = number != fold, number == fold
            for _, g in POINTS[:15]:
                QuadraticDiscriminantAnalysis(reg_param=g).fit(X[train], y[train]).predict(X[test])
                LinearDiscriminantAnalysis("lsqr", g).fit(X[train], y[train]).predict(X[test])

    with threadpool_limits(1):
        model.fit(X, y, n_threads=1)
        faster = seconds(refits) / min(seconds(lambda: model.fit(X, y, n_threads=1)) for _ in range(2))
    what = f"30 shrinkages x 5 folds, K = 26, n = 50, {n_rows:,} rows, one thread"
    yield Row(what, "refits of scikit-learn's QDA and LDA", 20, 100, faster)


def stored_rows(size: Size, folder: Path) -> Iterator[Row]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4 * size.n_rows, 50)).astype(np.float32)
    y = rng.integers(0, 10, len(X))
    store = zarr.create_array(folder / "dense.zarr", data=X, chunks=(20_000, 50))

    def read():
        for first in range(0, len(X), 20_000):
            store[first : first + 20_000]

    fit = snb.LinearNB(snb.Gaussian(covariance="pooled"))
    times = ratio(lambda: fit.fit(str(folder / "dense.zarr"), y), read, size.repeats, time.perf_counter)
    yield Row(f"fit of LDA from Zarr, {len(X):,} x 50 float32", "only reading, by zarr", 1.5, 1.15, times, SLOWER)

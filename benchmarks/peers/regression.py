"""Lasso and ridge paths with cross-validation beside scikit-learn's, and fits from Zarr beside reading it."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import zarr
from sklearn.linear_model import LassoCV, RidgeCV
from sklearn.model_selection import PredefinedSplit

import streamnb as snb
from benchmarks.peers.problems import LZ4
from benchmarks.peers.table import SLOWER, Row, Size, ratio, ratios
from streamnb.rows.labels import TARGETS
from streamnb.rows.opening import opened

N_FEATURES, N_FOLDS = 200, 5
LEAST = 1 << 22  # bytes that sums of that many features and folds need


def regression_rows(size: Size, folder: Path) -> Iterator[Row]:
    """One thread and the same folds and penalties on both sides, and in the end the same error."""
    X, y = linear(size.n_rows * 5 // 4)
    folds = np.random.default_rng(1).permutation(len(y)) % N_FOLDS
    shown = f"{len(y):,} x {N_FEATURES} float32, {2 * size.points} penalties x {N_FOLDS} folds"
    for name, l1_ratio, make, bounds in (("lasso", 1.0, lasso, (15, 30)), ("ridge", 0.0, ridge, (3, 10))):
        ours = snb.ElasticNetCV(l1_ratio, n_alphas=2 * size.points, folds=folds)
        ours.fit(X, y, n_threads=1)
        theirs, error_of = make(ours, folds)
        once = min(size.repeats, 1 if name == "ridge" else 3)
        own, peers = partial(ours.fit, X, y, n_threads=1), partial(theirs.fit, X, y)
        times = ratios(peers, [own], once, time.process_time)
        apart = abs(error_of(theirs) / ours.mse_path_.mean(axis=1).min() - 1.0)
        what = f"{name}, {shown}, one thread; least mean errors differ by {apart:.0e}"
        yield Row(what, type(theirs).__name__, *bounds, times[0])
    model = snb.ElasticNetCV(1.0)
    for codec, options in (("zstd", {}), ("lz4", {"compressors": LZ4})):
        store = zarr.create_array(folder / codec, data=X, chunks=(min(10_000, len(y)), N_FEATURES), **options)
        limit = max(X.nbytes // 4, LEAST)
        fit = partial(model.fit, store, y, memory_limit=limit)
        times = ratio(fit, reading(store, y), size.repeats, time.perf_counter)
        what = f"lasso from dense Zarr, {codec}, {shown}, memory_limit={limit / 1e6:.0f} MB"
        yield Row(what, "reading it", 1.5, 1.15, times, SLOWER)


def reading(X: Any, y: np.ndarray) -> Callable[[], None]:
    def run():
        for _ in opened(X, y, labelled=TARGETS).blocks():
            pass

    return run


def linear(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows that move together, and a number to which a fifth of the columns adds."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, N_FEATURES)).astype(np.float32)
    X += 0.7 * np.roll(X, 1, axis=1)
    weights = np.where(np.arange(N_FEATURES) % 5 == 0, rng.normal(size=N_FEATURES), 0.0)
    return X, X @ weights + 3.0 * rng.normal(size=n_rows)


def lasso(ours: Any, folds: np.ndarray) -> tuple[Any, Any]:
    """The peer, and its least mean error."""
    return LassoCV(alphas=ours.alphas_, cv=PredefinedSplit(folds)), lambda model: model.mse_path_.mean(axis=1).min()


def ridge(ours: Any, folds: np.ndarray) -> tuple[Any, Any]:
    """The same; its penalty is not divided by the number of rows."""
    alphas = ours.alphas_ * len(folds) * (1.0 - 1.0 / N_FOLDS)
    peer = RidgeCV(alphas, cv=PredefinedSplit(folds), scoring="neg_mean_squared_error")
    return peer, lambda model: -model.best_score_

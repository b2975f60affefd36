"""Values rather than sums: histograms of each class, quantiles for bins, and calibration beside a cross-validation."""

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import streamnb as snb
from benchmarks.peers.problems import counts, labels, topics
from benchmarks.peers.table import SLOWER, Row, Size, ratio

N_BINS, N_CLASSES = 64, 10
ROWS = 1_000_000 / 240_000  # of histograms, for each of the other problems, about


def value_rows(size: Size, _: Path) -> Iterator[Row]:
    n_rows = int(ROWS * size.n_rows)
    X = np.random.default_rng(0).normal(size=(n_rows, 100)).astype(np.float32)
    y = labels(n_rows, N_CLASSES)

    def of_numpy() -> None:
        edges = np.arange(N_CLASSES + 1) - 0.5
        for column in X.T:
            np.histogram2d(column, y, bins=(N_BINS, edges))

    def of_scan() -> None:
        snb.scan(X, y, moments=["sum"], histogram="bins", n_bins=N_BINS, n_threads=2)

    what = f"histograms of {n_rows:,} x {X.shape[1]} float32, {N_BINS} bins, K = {N_CLASSES}, two threads"
    yield Row(
        what, "histogram2d of each column", 5, 15, ratio(of_numpy, of_scan, min(size.repeats, 3), time.perf_counter)
    )
    yield sparse_row(size)
    X, shares = np.random.default_rng(1).normal(size=(10 * n_rows, 20)), np.linspace(0.0, 1.0, 17)[1:-1]
    bins = snb.Bins(n_bins=16)
    sides = (lambda: bins.fit(X, n_threads=1)), (lambda: np.quantile(X, shares, axis=0))
    what = f"15 quantiles of {len(X):,} x {X.shape[1]} float64, one thread"
    yield Row(what, "np.quantile", 1, 0.33, ratio(*sides, min(size.repeats, 3), time.process_time), SLOWER)


def sparse_row(size: Size) -> Row:
    X, y = counts(size.n_rows, 1_000, "zipf"), labels(size.n_rows, N_CLASSES)
    X.data %= N_BINS
    width = X.shape[1] * N_BINS

    def of_numpy() -> None:
        bins = X.indices * N_BINS + X.data.astype(np.int64)
        np.bincount(np.repeat(y, np.diff(X.indptr)) * width + bins, minlength=N_CLASSES * width)

    def of_scan() -> None:
        snb.scan(X, y, moments=["sum"], histogram="value", n_bins=N_BINS, n_threads=1)

    what = f"histograms of {size.n_rows:,} x {X.shape[1]:,} sparse counts, {N_BINS} bins, K = {N_CLASSES}, one thread"
    times = ratio(of_numpy, of_scan, min(size.repeats, 3), time.process_time)
    return Row(what, "bincount of the stored values", 1, 2, times)


def calibration_rows(size: Size, _: Path) -> Iterator[Row]:
    """The first scan is no part of it, but neither is it much of a fit."""
    X, y = topics(size.n_rows, min(27_551, 10 * max(size.features)), 20)
    for family in ("poisson", "multinomial"):
        plain, calibrated = (snb.LinearNBCV(family, calibration=method) for method in (None, "sigmoid"))
        sides = (lambda model=model: model.fit(X, y, n_threads=1).coef_ for model in (calibrated, plain))
        times = ratio(*sides, size.repeats, time.process_time)
        what = f"LinearNBCV({family!r}, calibration='sigmoid'), {len(y):,} x {X.shape[1]:,}, K = 20, one thread"
        yield Row(what, "the same without", 1.1, None, times, SLOWER)

"""Rows in memory: class sums beside scikit-learn, bare reading, flox and dask-ml."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
from sklearn.naive_bayes import GaussianNB, MultinomialNB

import streamnb as snb
from benchmarks.peers.problems import counts, dense_problem, labels, partial_fits
from benchmarks.peers.table import SLOWER, Row, Size, ratio, ratios
from streamnb.kernels.compiler import kernel
from streamnb.rows.boundary import checked
from streamnb.rows.opening import opened
from streamnb.rows.preparing import RowOptions
from streamnb.scanning.class_scan import ClassScan

CHECKS = ", checks of every index and value included"


@kernel
def read(data, indices):
    """Every element once, in a compiled loop."""
    total = 0.0
    last = 0
    for p in range(len(data)):
        total += data[p]
        last ^= indices[p]
    return total, last


def summing(X, y, moments=("sum",), checks=False) -> Callable[[], None]:
    """Adds all rows, checked before or along with it, to tables that are there already."""
    plan = ClassScan(moments, RowOptions(), np.unique(y))
    accumulator = plan.partial()
    blocks = list(opened(X, y).blocks())
    looked_at = [(*checked(block), block.y, None) for block in blocks]

    def run():
        if checks:
            for block in blocks:
                plan.add(accumulator, block)
        else:
            for block in looked_at:
                accumulator.add(*block)

    return run


def csr_rows(size: Size, _: Path) -> Iterator[Row]:
    clock = time.thread_time
    bounds = {20: (5, 10), 100: (15, 30), 1000: (100, 250)}
    for n, law in product(size.features, size.laws):
        X, named = counts(size.n_rows, n, law), f"CSR class sums, n = {n:,}, {law}"
        for K, (floor, goal) in bounds.items():
            y = labels(size.n_rows, K)
            peer = partial_fits(MultinomialNB(), X, y, size.chunk)
            ours = [summing(X, y), summing(X, y, checks=True)]
            for also, times in zip(("", CHECKS), ratios(peer, ours, 1 if K == 1000 else size.repeats, clock)):
                yield Row(f"{named}, K = {K:,}{also}", "MultinomialNB.partial_fit", floor, goal, times)
        few, some, many = (summing(X, labels(size.n_rows, K)) for K in (10, 20, 1000))
        yield Row(f"{named}, K = 1,000", "the same, K = 10", 4, 2, ratio(many, few, size.repeats, clock), unit=SLOWER)
        bare = ratio(some, lambda X=X: read(X.data, X.indices), size.repeats, clock)
        yield Row(f"{named}, K = 20", "reading the arrays", 3 if n == 2**14 else 4, 2, bare, unit=SLOWER)


def dense_rows(size: Size, _: Path) -> Iterator[Row]:
    for dtype, goal in ((np.float32, 10), (np.int8, 12)):
        X, y = dense_problem(size, dtype)
        peer = partial_fits(GaussianNB(), X, y, size.chunk)
        ours = [summing(X, y, ("sum", "sum_sq"), checks) for checks in (False, True)]
        for also, times in zip(("", CHECKS), ratios(peer, ours, size.repeats, time.thread_time)):
            what = f"dense {np.dtype(dtype)}, two moments, K = 10{also}"
            yield Row(what, "GaussianNB.partial_fit", 6, goal, times)


def flox_moments(X, y) -> Callable[[], None]:
    import dask
    import dask.array as da
    from flox import groupby_reduce

    rows = da.from_array(X, chunks=(-(-len(X) // 8), -1)).T
    groups = {"expected_groups": np.unique(y), "method": "map-reduce"}

    def run():
        both = [groupby_reduce(rows, y, func=func, **groups)[0] for func in ("mean", "var")]
        dask.compute(*both, scheduler="threads", num_workers=2)

    return run


def dask_ml_fit(X, y) -> Callable[[], None]:
    import dask
    import dask.array as da
    from dask_ml.naive_bayes import GaussianNB as DaskGaussianNB

    rows = -(-len(X) // 8)
    X, y = da.from_array(X, chunks=(rows, -1)), da.from_array(y, chunks=rows)

    def run():
        with dask.config.set(scheduler="threads", num_workers=2):
            dask.compute(*vars(DaskGaussianNB(classes=np.arange(10)).fit(X, y)).values())

    return run


def threaded_rows(size: Size, _: Path) -> Iterator[Row]:
    X, y = dense_problem(size, np.float32)
    peers = ("flox, mean and variance", flox_moments, 15, 20), ("dask-ml GaussianNB", dask_ml_fit, 4, 6)
    for against, peer, floor, goal in peers:
        try:
            theirs = peer(X, y)
        except ImportError:
            times = None
        else:
            ours = partial(snb.scan, X, y, moments=("sum", "sum_sq"), n_threads=2)
            times = ratio(theirs, ours, size.repeats, time.perf_counter)
        yield Row("dense float32, two moments, K = 10, two threads", against, floor, goal, times)

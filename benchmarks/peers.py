"""streamnb beside other tools and beside bare reading: the same arrays, the same number of threads, in one run.

`python -m benchmarks.peers` prints goal, figure and verdict of every row and writes benchmarks/RESULTS.md; `--quick`
takes fewer rows and repeats. Tables are allocated and kernels compiled before the clock starts, the two sides take
turns, and the figure is the median of their ratios. What runs in this thread alone is timed in its own seconds, so that
other work on the machine counts less; what has threads or reads a store is timed on the wall clock.
"""

import argparse
import importlib.metadata
import os
import platform
import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import zarr
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from zarr.codecs import BloscCodec

import streamnb as snb
from streamnb._jit import kernel
from streamnb.data.sources import open_source
from streamnb.scanning import ScanPlan, checked
from streamnb.stats.class_stats import RowOptions

RESULTS = Path(__file__).parent / "RESULTS.md"
PACKAGES = ("streamnb", "numpy", "scipy", "numba", "zarr", "zarrs", "dask", "scikit-learn", "flox", "dask-ml")
CHECKS = ", checks of every index and value included"
PER_ROW = 100  # nonzeros of a row, before equal ones of a row are one


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    n_rows: int = 240_000
    chunk: int = 20_000  # rows of one partial_fit of scikit-learn
    repeats: int = 7
    features: tuple[int, ...] = (2**14, 100_000)
    laws: tuple[str, ...] = ("uniform", "zipf")


QUICK = Size(n_rows=40_000, repeats=3)


@dataclass(frozen=True)
class Row:
    """One line of the table; `times` is how many times faster, or where `slower`, how many times the time."""

    what: str
    against: str
    floor: float
    goal: float
    times: float | None
    slower: bool = False

    @property
    def verdict(self) -> str:
        if self.times is None:
            return "not installed"
        sign = -1 if self.slower else 1
        reached = [
            name for name, bound in (("goal", self.goal), ("floor", self.floor)) if sign * (self.times - bound) >= 0
        ]
        return reached[0] if reached else "below the floor"

    def __str__(self) -> str:
        unit = "x the time" if self.slower else "x faster"
        figure = "-" if self.times is None else f"{self.times:.2f}"
        return f"| {self.what} | {self.against} | {self.floor:g} | {self.goal:g} {unit} | {figure} | {self.verdict} |"


def ratios(peer: Callable, ours: list[Callable], repeats: int, clock: Callable[[], float]) -> list[float]:
    """How many times longer the peer takes than each of ours: medians over runs that take turns."""
    for run in ours:
        run()  # what is compiled or allocated is there from now on
    rounds = []
    for _ in range(repeats):
        times = [clock()]
        for run in (peer, *ours):
            run()
            times.append(clock())
        first, *others = (b - a for a, b in pairwise(times))
        rounds.append([first / other for other in others])
    return [statistics.median(column) for column in zip(*rounds)]


def ratio(slow: Callable, fast: Callable, repeats: int, clock: Callable[[], float]) -> float:
    """How many times longer the first takes."""
    slow()
    return ratios(slow, [fast], repeats, clock)[0]


# ---- rows in memory, one thread --------------------------------------------------------------------------------------


def counts(n_rows: int, n_features: int, law: str) -> sp.csr_array:
    """Whole numbers as float32, columns uniform or after Zipf's law."""
    rng = np.random.default_rng(0)
    drawn = rng.random((n_rows, PER_ROW))
    columns = drawn * n_features if law == "uniform" else (n_features + 1.0) ** drawn - 1.0
    indices = np.sort(columns.astype(np.int32), axis=1).reshape(-1)
    values = rng.integers(1, 5, len(indices)).astype(np.float32)
    X = sp.csr_array((values, indices, np.arange(n_rows + 1, dtype=np.int32) * PER_ROW), shape=(n_rows, n_features))
    X.sum_duplicates()
    return X


def labels(n_rows: int, n_classes: int) -> np.ndarray:
    return np.random.default_rng(1).integers(0, n_classes, n_rows)


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
    plan = ScanPlan(moments, RowOptions(), np.unique(y))
    accumulator = plan.accumulator()
    blocks = list(open_source(X, y).blocks())
    looked_at = [(*checked(block), block.y, None) for block in blocks]

    def run():
        if checks:
            for block in blocks:
                plan.add(accumulator, block)
        else:
            for block in looked_at:
                accumulator.add(*block)

    return run


def partial_fits(model, X, y, chunk: int) -> Callable[[], None]:
    classes = np.unique(y)

    def run():
        for start in range(0, len(y), chunk):
            model.partial_fit(X[start : start + chunk], y[start : start + chunk], classes)

    return run


def csr_rows(size: Size) -> Iterator[Row]:
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
        yield Row(f"{named}, K = 1,000", "the same, K = 10", 4, 2, ratio(many, few, size.repeats, clock), slower=True)
        bare = ratio(some, lambda X=X: read(X.data, X.indices), size.repeats, clock)
        yield Row(f"{named}, K = 20", "reading the arrays", 3 if n == 2**14 else 4, 2, bare, slower=True)


def dense_problem(size: Size, dtype: type) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    shape = size.n_rows, PER_ROW
    X = rng.normal(size=shape).astype(dtype) if dtype is np.float32 else rng.integers(0, 5, shape).astype(dtype)
    return X, labels(size.n_rows, 10)


def dense_rows(size: Size) -> Iterator[Row]:
    for dtype, goal in ((np.float32, 10), (np.int8, 12)):
        X, y = dense_problem(size, dtype)
        peer = partial_fits(GaussianNB(), X, y, size.chunk)
        ours = [summing(X, y, ("sum", "sum_sq"), checks) for checks in (False, True)]
        for also, times in zip(("", CHECKS), ratios(peer, ours, size.repeats, time.thread_time)):
            what = f"dense {np.dtype(dtype)}, two moments, K = 10{also}"
            yield Row(what, "GaussianNB.partial_fit", 6, goal, times)


# ---- two threads -----------------------------------------------------------------------------------------------------


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


def threaded_rows(size: Size) -> Iterator[Row]:
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


# ---- stores ----------------------------------------------------------------------------------------------------------

LZ4 = BloscCodec(cname="lz4", shuffle="shuffle")
STORES = {  # codec and, in elements, chunks and shards of CSR; the goals against reading
    "zstd, default chunks": ({}, (1.3, 1.15)),
    "zstd, small chunks": ({"chunks": (1 << 16,)}, (1.3, 1.15)),
    "zstd, sharded": ({"chunks": (1 << 16,), "shards": (1 << 20,)}, (1.3, 1.15)),
    "lz4, default chunks": ({"compressors": LZ4}, (1.6, 1.35)),
    "lz4, small chunks": ({"compressors": LZ4, "chunks": (1 << 16,)}, (1.6, 1.35)),
}


def write_default(path: Path, X: sp.csr_array, y: np.ndarray, **options) -> str:
    """CSR as zarr-python writes it unless told otherwise."""
    group = zarr.create_group(path)
    for name, values in (("data", X.data), ("indices", X.indices), ("indptr", X.indptr), ("y", y)):
        group.create_array(name, data=values, **(options if name in ("data", "indices") else {}))
    group.attrs.update({"encoding-type": "csr_matrix", "encoding-version": "0.1.0", "shape": list(X.shape)})
    return str(path)


def write_own(path: Path, X: sp.csr_array, y: np.ndarray, chunk: int = 20_000) -> str:
    parts = ((X[start : start + chunk], y[start : start + chunk]) for start in range(0, len(y), chunk))
    snb.write_csr(path, parts, n_features=X.shape[1])
    return str(path)


def reading(X, y) -> Callable[[], None]:
    def run():
        for _ in open_source(X, y).blocks():
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
        yield Row(f"fit from Zarr CSR, {name}", "reading it", *bounds, times, slower=True)
    dense, dense_y = dense_problem(size, np.float32)
    for name, options, bounds in (("zstd", {}, (1.3, 1.15)), ("lz4", {"compressors": LZ4}, (1.6, 1.35))):
        array = zarr.create_array(folder / f"dense {name}", data=dense, **options)
        times = ratio(fitting(array, dense_y, "gaussian"), reading(array, dense_y), size.repeats, clock)
        yield Row(f"fit from dense Zarr, {name}", "reading it", *bounds, times, slower=True)
    for K, floor, goal in ((20, 2, 4), (1000, 30, 60)):
        path = write_default(folder / f"K = {K}", X, labels(size.n_rows, K))
        peer = default_reading_fit(path, X.shape[1], size.chunk)
        times = ratios(peer, [fitting(path)], 1 if K == 1000 else size.repeats, clock)[0]
        yield Row(f"fit from Zarr CSR, K = {K:,}", "zarr-python and MultinomialNB.partial_fit", floor, goal, times)
    default, own = str(folder / "zstd, default chunks"), write_own(folder / "own", X, y)
    times = ratio(fitting(default), fitting(own), size.repeats, clock)
    yield Row("fit from a store of write_csr", "fit from a default store", 1.5, 3, times)
    times = ratio(fitting(own, family="bernoulli"), fitting(own, family="poisson"), size.repeats, clock)
    yield Row("Bernoulli fit from a store of write_csr", "Poisson fit", 0.6, 0.5, times, slower=True)


# ---- the table -------------------------------------------------------------------------------------------------------

HEAD = "| what | against | floor | goal | figure | verdict |\n| --- | --- | --- | --- | --- | --- |"


def measured(size: Size) -> Iterator[Row]:
    yield from csr_rows(size)
    yield from dense_rows(size)
    yield from threaded_rows(size)
    with tempfile.TemporaryDirectory() as folder:
        yield from store_rows(size, Path(folder))


def machine() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.partition(": ")[2] for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        model = platform.processor()
    return f"{os.cpu_count()} cores, {model}; load {os.getloadavg()[0]:.1f} at the end"


def versions() -> Iterator[str]:
    yield f"Python {platform.python_version()}"
    for name in PACKAGES:
        try:
            yield f"{name} {importlib.metadata.version(name)}"
        except importlib.metadata.PackageNotFoundError:
            yield f"{name} not installed"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer rows and repeats, under five minutes")
    size = QUICK if parser.parse_args().quick else Size()
    warnings.simplefilter("ignore")  # the peers' own
    lines = [HEAD]
    print(HEAD)
    for row in measured(size):
        lines.append(str(row))
        print(row, flush=True)
    about = f"{size.n_rows:,} rows of {PER_ROW} nonzeros, median of {size.repeats} runs taking turns (1 for K = 1,000)."
    text = ["# streamnb beside others", "", about, "", machine() + ".", "", ", ".join(versions()) + ".", "", *lines]
    RESULTS.write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    main()

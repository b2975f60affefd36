"""Tree-augmented naive Bayes beside only reading its rows."""

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import zarr

import streamnb as snb
from benchmarks.peers.table import SLOWER, Row, Size, ratio

CHUNK = 50_000


def tree_rows(size: Size, folder: Path) -> Iterator[Row]:
    rng = np.random.default_rng(0)
    n_rows = 25 * size.n_rows // 6  # a million
    y = rng.integers(0, 2, n_rows)
    store = zarr.create_array(folder / "present.zarr", shape=(n_rows, 200), chunks=(CHUNK, 200), dtype="u1")
    for first in range(0, n_rows, CHUNK):
        some = slice(first, min(first + CHUNK, n_rows))
        store[some] = rng.random((some.stop - first, 200)) < 0.2 + 0.2 * y[some, None]

    def read():
        for first in range(0, n_rows, CHUNK):
            store[first : first + CHUNK]

    model = snb.TreeNB()
    for name, clock in (("processor time", time.process_time), ("time", time.perf_counter)):
        times = ratio(lambda: model.fit(str(folder / "present.zarr"), y), read, size.repeats, clock)
        what = f"fit of TreeNB from Zarr, {n_rows:,} x 200 of presence, {name}"
        yield Row(what, "only reading, by zarr", 2, 1.3, times, SLOWER)

"""Tables: flights as they lie in Parquet, nine columns, to a fitted model, beside reading them."""

import statistics
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import streamnb as snb
from benchmarks.peers.processes import fit_in_a_process
from benchmarks.peers.table import MEMORY, SLOWER, Row, Size, ratio

VALUES = {"origin": 3, "carrier": 16, "dest": 104, "tailnum": 4037}  # strings, as many as those of New York in 2013
TIMES = 8  # as many flights as other problems have rows
NUMBERS = {"month": 12, "day": 31, "hour": 19, "flight": 3835, "distance": 213}


def flights(n_rows: int) -> pa.Table:
    """Columns of as many values as real ones, the frequencies of which fall."""
    rng = np.random.default_rng(0)
    columns = {}
    for name, n in VALUES.items():
        share = 1.0 / np.arange(1, n + 1) ** 0.7
        columns[name] = np.array([f"{name[0].upper()}{k:04d}" for k in range(n)])[
            rng.choice(n, n_rows, p=share / share.sum())
        ]
    columns |= {name: rng.integers(1, n + 1, n_rows) for name, n in NUMBERS.items()}
    return pa.table({**columns, "late": rng.random(n_rows) < 0.24})


def table_rows(size: Size, folder: Path) -> Iterator[Row]:
    path, tenfold, n_rows = folder / "flights.parquet", folder / "more.parquet", TIMES * size.n_rows
    table = flights(n_rows)
    pq.write_table(table, path, row_group_size=n_rows)

    def fit():
        snb.LinearNB("auto").fit(path, "late", n_threads=2)

    longer = ratio(fit, lambda: pq.read_table(path), size.repeats, time.perf_counter)
    yield Row(f"{n_rows:,} flights, Parquet to model, two threads", "reading with pyarrow", 10, 5, longer, SLOWER)
    with pq.ParquetWriter(tenfold, table.schema) as file:
        for _ in range(10):
            file.write_table(table, row_group_size=n_rows)
    runs = [[fit_in_a_process(str(one), "auto", "late")[-1] for one in (path, tenfold)] for _ in range(size.repeats)]
    peaks = [statistics.median(of_one) for of_one in zip(*runs, strict=True)]
    what = f"peak memory of fit from Parquet, {10 * n_rows:,} flights, {peaks[1] / 1024:.0f} MiB"
    yield Row(what, f"{n_rows:,} flights", 1.1, 1.0, peaks[1] / peaks[0], MEMORY)

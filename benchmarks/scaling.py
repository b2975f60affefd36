"""What a scan on a cluster costs, and how it goes with the number of workers: `python -m benchmarks.scaling [--quick]`.

`--rows N` makes it longer. Workers are processes of this machine, each bound to a core of its own, so that two have
twice the means of one. Medians of interleaved runs.
"""

import argparse
import os
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

import dask
import distributed
import numpy as np
import scipy.sparse as sp

import streamnb as snb
from streamnb.rows import opening, row_blocks
from streamnb.rows.source import row_ranges

# Dask has workers give freed memory back at once; a scan would spend more than half of its time getting it again.
KEEP_MEMORY = {"MALLOC_TRIM_THRESHOLD_": 256 << 20, "MALLOC_MMAP_THRESHOLD_": 32 << 20}
N_FEATURES, PER_ROW, N_CLASSES = 2**16, 100, 20


def write(folder, n_rows, n_chunk=20_000):
    """A CSR store of counts in random columns, as `write_csr` makes it."""
    rng = np.random.default_rng(0)

    def chunk():
        columns = rng.integers(0, N_FEATURES, n_chunk * PER_ROW, dtype=np.int32)
        counts = rng.integers(1, 6, len(columns)).astype(np.float32)
        x = sp.csr_array((counts, columns, np.arange(n_chunk + 1) * PER_ROW), shape=(n_chunk, N_FEATURES))
        return x, rng.integers(0, N_CLASSES, n_chunk)

    snb.write_csr(folder, (chunk() for _ in range(n_rows // n_chunk)), n_features=N_FEATURES)
    return folder


def bind(core):
    """Let a worker, its codecs too, use one core."""
    for thread in os.listdir("/proc/self/task"):
        os.sched_setaffinity(int(thread), {core})


@contextmanager
def cluster_of(n_workers):
    """A client of so many workers."""
    with (
        dask.config.set({f"distributed.nanny.pre-spawn-environ.{name}": n for name, n in KEEP_MEMORY.items()}),
        tempfile.TemporaryDirectory() as folder,
        distributed.LocalCluster(n_workers=n_workers, threads_per_worker=1, local_directory=folder) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        for core, address in zip(sorted(os.sched_getaffinity(0)), client.scheduler_info()["workers"]):
            client.run(bind, core, workers=[address])
        yield client


def scan(client, store):
    """Wall seconds of a scan, and the core-seconds that workers spent on it."""
    started, before = time.perf_counter(), sum(client.run(time.process_time).values())
    snb.scan(store, "y", moments=["sum"], client=client)
    return time.perf_counter() - started, sum(client.run(time.process_time).values()) - before


def measured(store, numbers, n_runs):
    """Medians of wall and core-seconds of scans with each number of workers, and the report of a fit."""
    with ExitStack() as stack:
        clients = {n: stack.enter_context(cluster_of(n)) for n in numbers}
        runs = {n: [scan(client, store) for _ in range(2)] for n, client in clients.items()}
        for n in numbers * n_runs:
            runs[n].append(scan(clients[n], store))
        report = snb.LinearNB("poisson").fit(store, "y", client=clients[1]).report_
        return {n: tuple(map(median, zip(*times[2:]))) for n, times in runs.items()}, report  # the first compile


def merged_bytes_per_second(store):
    """Bytes of class sums that one core adds to others in a second."""
    with dask.config.set(scheduler="threads"):
        stats = snb.scan(store, "y", moments=["sum"])
    stats + stats
    started = time.perf_counter()
    stats + stats
    return stats.nbytes / (time.perf_counter() - started)


def main(quick=False, rows=3_000_000):
    n_rows, n_runs = (40_000, 1) if quick else (rows, 3)
    row_blocks.SEGMENT_BYTES = 1 << (21 if quick else 26)  # some segments for each worker
    numbers = [1, 2][: len(os.sched_getaffinity(0))]
    with tempfile.TemporaryDirectory() as folder:
        store = write(Path(folder) / "rows.zarr", n_rows)
        source = opening.opened(store, "y")
        nnz, n_segments = source.arrays[0].shape[0], len(row_ranges(source))
        runs, report = measured(store, numbers, n_runs)
        print(f"{n_rows:,} rows, {nnz:,} nonzeros, {report.bytes / 1e9:.2f} GB decoded, {n_segments} segments")
        for n, (wall, cores) in runs.items():
            print(f"{n} workers: {wall:.2f} s, {runs[1][0] / wall:.2f} x; {cores:.2f} core-seconds")
        cores = runs[1][1]
        print(f"decoded bytes per core-second  {report.bytes / cores:.3g}")
        print(f"core-seconds per nonzero       {cores / nnz:.3g}")
        print(f"merged bytes per core-second   {merged_bytes_per_second(store):.3g}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rows, one run")
    parser.add_argument("--rows", type=int, default=3_000_000, help="of 100 nonzeros: the more, the less set-up counts")
    main(**vars(parser.parse_args()))

"""What a scan on a cluster costs, and how it goes with the number of workers: `python -m benchmarks.scaling [--quick]`.

`--rows N` makes it longer. Workers are processes of this machine, each bound to a core of its own, so that two have
twice the means of one. Medians of interleaved runs.

`--fits` compares one and two workers for softmax regression and for a search.

`--chunks 10000 100000` measures something else: the CPU seconds of the driver and of the scheduler, each a process of
its own, for scans of so many tiny chunks of a Dask array, of a Zarr store, and of a Dask array that reads the store.
"""

import argparse
import multiprocessing
import os
import tempfile
import time
import warnings
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import median

import dask
import dask.array as da
import distributed
import numpy as np
import scipy.sparse as sp
import zarr

import streamnb as snb
from benchmarks.billion import repeat
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
        for core, address in zip(sorted(os.sched_getaffinity(0)), client.run(os.getpid)):
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


# ---- fits ------------------------------------------------------------------------------------------------------------


def write_dense(folder, n_rows, n_chunk=20_000):
    """Counts in 64 columns, and five classes that depend on them."""
    rng, group = np.random.default_rng(0), zarr.create_group(folder)
    slopes = rng.normal(size=(64, 5)) / 8
    X = group.create_array("X", shape=(n_rows, 64), chunks=(n_chunk, 64), dtype="uint8")
    y = group.create_array("y", shape=(n_rows,), chunks=(n_chunk,), dtype="int8")
    for first in range(0, n_rows, n_chunk):
        counts = rng.poisson(2.0, (n_chunk, 64))
        X[first : first + n_chunk] = counts
        y[first : first + n_chunk] = (counts @ slopes + rng.gumbel(size=(n_chunk, 5))).argmax(1)
    return folder


def softmax(client, store):
    with warnings.catch_warnings(action="ignore", category=snb.StreamnbWarning):  # all reads are spent, as asked
        return snb.SoftmaxRegression(max_passes=12, tol=0.0).fit(store, "y", client=client, progress=False)


def searched(client, store):
    return snb.search(store, "y", client=client, show=False, progress=False)


FITS = {"softmax regression, 12 reads": (softmax, 1), "search": (searched, 5)}  # and by how much rows are fewer


def measure_fits(n_rows, n_runs):
    """Print what fits take on one worker and on two: medians of interleaved runs."""
    print("| fit | rows | workers | seconds | speed | core-seconds of workers | CPU s of driver and scheduler |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        clients = {n: stack.enter_context(cluster_of(n)) for n in (1, 2)}
        for name, (fit, fewer) in FITS.items():
            store = write_dense(f"{folder}/{fewer}.zarr", n_rows // fewer)
            runs = {n: [] for n in clients}
            for n in [*clients] * (n_runs + 1):  # the first compile
                before = here_and_there(clients[n])
                fit(clients[n], store)
                runs[n].append(here_and_there(clients[n]) - before)
            middle = {n: np.median(times[1:], axis=0) for n, times in runs.items()}
            for n, (wall, driver, workers) in middle.items():
                cells = name, f"{n_rows // fewer:,}", n, f"{wall:.2f}", f"{middle[1][0] / wall:.2f} x"
                print("|", " | ".join(map(str, cells)), f"| {workers:.1f} | {driver:.1f} |", flush=True)


def here_and_there(client):
    """The time, and CPU seconds of this process, which has the scheduler too, and of workers."""
    return np.array([time.perf_counter(), time.process_time(), sum(client.run(time.process_time).values())])


# ---- many chunks -----------------------------------------------------------------------------------------------------

ROWS, COLUMNS, DISTINCT = 100, 10, 1000  # of a chunk, and chunks of which others are copies


def run_cluster(pipe):
    """Run a scheduler and two workers until told to end."""
    with (
        tempfile.TemporaryDirectory() as folder,
        distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=":0", local_directory=folder) as cluster,
    ):
        pipe.send(cluster.scheduler_address)
        pipe.recv()


def blocks(n_chunks):
    """A Dask array that computes its values, and labels."""
    x = da.random.default_rng(0).integers(0, 5, (n_chunks * ROWS, COLUMNS), chunks=(ROWS, COLUMNS))
    return x, da.arange(n_chunks * ROWS, chunks=ROWS) % 3


def dense_store(folder, n_chunks):
    """A store with so many chunks, and labels in fewer."""
    group, n_first = zarr.create_group(folder), DISTINCT * ROWS
    x = np.random.default_rng(0).integers(0, 5, (n_first, COLUMNS)).astype(np.uint8)
    group.create_array("X", data=x, chunks=(ROWS, COLUMNS))
    group.create_array("y", data=(np.arange(n_chunks * ROWS) % 3).astype(np.int8), chunks=(n_first,))
    repeat(Path(folder) / "X", n_first, n_chunks * ROWS)
    return zarr.open_group(folder)


def clocks(client):
    """CPU seconds of the driver, of the scheduler and of the workers, and the time."""
    times = time.process_time(), client.run_on_scheduler(time.process_time), client.run(time.process_time).values()
    return np.array([*times[:2], sum(times[2]), time.perf_counter()])


def measure_chunks(numbers):
    """Print the seconds of scans of so many chunks."""
    here, there = multiprocessing.get_context("spawn").Pipe()
    process = multiprocessing.get_context("spawn").Process(target=run_cluster, args=(there,))
    process.start()
    print("| chunks | of | driver, CPU s | scheduler, CPU s | workers, CPU s | seconds |")
    print("| ---: | --- | ---: | ---: | ---: | ---: |")
    with distributed.Client(here.recv()) as client, tempfile.TemporaryDirectory() as folder:
        client.wait_for_workers(2)
        snb.scan(*blocks(20), moments=["sum"])  # compiles
        for n_chunks in numbers:
            group = dense_store(f"{folder}/{n_chunks}.zarr", n_chunks)
            kinds = {
                "a Dask array": blocks(n_chunks),
                "a Dask array of a store": (da.from_zarr(group["X"]), da.from_zarr(group["y"])),
                "a store": (group, "y"),
            }
            for kind, rows in kinds.items():
                before = clocks(client)
                snb.scan(*rows, moments=["sum"])
                taken = " | ".join(f"{seconds:.1f}" for seconds in clocks(client) - before)
                print(f"| {n_chunks:,} | {kind} | {taken} |", flush=True)
    here.send(None)
    process.join()


def main(quick=False, rows=3_000_000, fits=False, chunks=()):
    if fits:
        measure_fits(20_000 if quick else rows, 1 if quick else 2)
        return
    if chunks:
        measure_chunks(chunks)
        return
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
    parser.add_argument("--fits", action="store_true", help="softmax regression and a search on one worker and on two")
    parser.add_argument("--chunks", type=int, nargs="+", default=(), help="multiples of 1,000: only what these cost")
    main(**vars(parser.parse_args()))

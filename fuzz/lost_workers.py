"""Scans that lose a worker in their first second: `python -m fuzz.lost_workers` makes 100 of them.

Each has two workers; one is killed, or retired, at a moment of the first second, and another comes in its place. Rows
are those of a store, and every fourth time blocks that Dask makes. All sums should be the bits of a scan in memory.
"""

import argparse
import os
import signal
import sys
import tempfile
import time
from pathlib import Path
from random import Random

import dask
import dask.array as da
import scipy.sparse as sp
from zarr.storage import LocalStore

import streamnb as snb
from streamnb.rows import row_blocks
from tests.support.clusters import SlowStore, cluster_of, in_thread, rows_in_store, until, workers_of
from tests.support.strategies import same_stats

N_WORKERS, N_BLOCKS, N_ROWS = 2, 40, 200
SLOWNESS = 0.005  # seconds of each read, so that a scan takes about one
SEGMENT_BYTES = 20_000  # so few that little rows make many segments
WINDOWS = 0.05, 0.3, 1.0  # seconds from the begin of a scan in which a worker is lost; narrow ones meet what is short


def killed(client, address, process):
    os.kill(process, signal.SIGKILL)  # its nanny starts another


def retired(client, address, process):
    del client.cluster.worker_spec[workers_of(client)[address]["name"]]
    client.cluster.scale(N_WORKERS)  # which retires the one without a place, and starts another


WAYS = killed, retired


def rows_in_both(folder):
    """The same rows in a store and as blocks that Dask makes, both slowly, with their labels."""
    x, y = rows_in_store(folder / "rows.zarr", n_rows=N_BLOCKS * N_ROWS, whole=False)
    parts = [x[first : first + N_ROWS] for first in range(0, x.shape[0], N_ROWS)]

    def block(block_info=None):
        time.sleep(SLOWNESS)
        return parts[block_info[None]["chunk-location"][0]]

    blocks = da.map_blocks(block, chunks=((N_ROWS,) * N_BLOCKS, x.shape[1:]), meta=sp.csr_array((0, 0)))
    labels = da.from_array(y, chunks=N_ROWS)
    slow = SlowStore(LocalStore(folder / "rows.zarr"), SLOWNESS)
    return snb.scan(x, y), [(slow, "y")] * 3 + [(blocks, labels)]


def lossy_scan(client, rows, lose, delay, number):
    """One scan that loses a worker after so many seconds; the statistics, or the error."""
    until(lambda: len(workers_of(client)) == N_WORKERS)
    workers = sorted(client.run(os.getpid).items())
    with in_thread(snb.scan, *rows, client=client) as out:
        time.sleep(delay)
        lose(client, *workers[number % len(workers)])
    return out[0]


def scans(client, folder, n, seed=0):
    """Make n scans; yield how and when each lost a worker, and what was wrong with it: None if nothing was."""
    choose = Random(seed)
    expected, rows = rows_in_both(folder)
    with dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}):  # workers start faster
        for number in range(n):
            lose, delay = WAYS[number % 2], choose.uniform(0.0, choose.choice(WINDOWS))
            found = lossy_scan(client, rows[number // 2 % len(rows)], lose, delay, choose.randrange(N_WORKERS))
            right = not isinstance(found, Exception) and same_stats(found, expected)
            yield f"{lose.__name__} after {delay:.3f} s", None if right else found


def main(n, seed):
    row_blocks.SEGMENT_BYTES = SEGMENT_BYTES
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="streamnb-lost-") as folder, cluster_of(N_WORKERS, folder) as client:
        for number, (how, found) in enumerate(scans(client, Path(folder), n, seed)):
            wrong += found is not None
            print(f"{number:3d}  {how}: {'exact' if found is None else repr(found)}", flush=True)
    print(f"{n - wrong} of {n} scans exact")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="fuzz.lost_workers", description=__doc__.splitlines()[0])
    parser.add_argument("--scans", type=int, default=100, dest="n")
    parser.add_argument("--seed", type=int, default=0, help="of the moments at which workers are lost")
    main(**vars(parser.parse_args()))

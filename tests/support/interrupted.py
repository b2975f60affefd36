"""Scans whose processes are killed again and again: `python -m tests.support.interrupted FOLDER KILLS`, so often.

FOLDER holds `store.zarr` and `y.npy`; chunks that are read are noted in `reads`, rows that a checkpoint holds after
each kill in `progress`; the statistics at the end of the first scan are `stats-0.snb`; where it has ended too early,
there is another. The processes are forks of one that has compiled the kernels but has not opened any store.
"""

import os
import random
import signal
import sys
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import zarr
from zarr.storage import LocalStore, WrapperStore

import streamnb as snb
from streamnb.passes import checkpoint
from streamnb.rows import row_blocks

OPTIONS = {"folds": 3, "moments": ["sum", "sum_sq"]}
SHARE = 0.7  # of the chunks: so much a process reads at most until it is killed


class SlowStore(WrapperStore):
    """Takes its time for every chunk, and notes it."""

    async def get(self, key, prototype, byte_range=None):
        if "/c/" in f"/{key}":
            with open(self._store.root.with_name("reads"), "a") as notes:
                notes.write(f"{key}\n")
            time.sleep(0.002)
        return await self._store.get(key, prototype, byte_range)

    def _with_store(self, store):
        return type(self)(store)


def scan(folder):
    X = zarr.open(SlowStore(LocalStore(folder / "store.zarr", read_only=True)), mode="r")
    snb.scan(X, np.load(folder / "y.npy"), checkpoint=folder / "checkpoint.snb", **OPTIONS).save(folder / "stats.snb")


def note_progress(folder):
    if (folder / "checkpoint.snb").exists():
        with open(folder / "progress", "a") as notes:
            notes.write(f"{snb.load(folder / 'checkpoint.snb').report.rows}\n")


def start_anew(folder):
    (folder / "stats.snb").rename(folder / f"stats-{len(list(folder.glob('stats-*.snb')))}.snb")
    (folder / "checkpoint.snb").unlink()


def n_reads(folder):
    return (folder / "reads").read_bytes().count(b"\n")


def killed(folder, after=np.inf, seconds=0.0):
    """Scan in a process of its own, killed so long after so many reads; whether it was, or had come to its end."""
    after += n_reads(folder)
    child = os.fork()
    if not child:
        scan(folder)
        os._exit(0)
    while n_reads(folder) < after and not os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT):
        time.sleep(0.001)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)  # which a process that has ended does not feel
    _, status = os.waitpid(child, 0)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        raise SystemExit("the scan failed")
    return os.WIFSIGNALED(status)


def main(folder, n_kills):
    checkpoint.SECONDS = checkpoint.SHARE = 0
    row_blocks.BLOCK_BYTES, checkpoint.SAMPLES = 1 << 11, 2
    rows = np.random.default_rng(0).normal(size=(60, 2)).astype(np.float32)  # whose sums take pairs
    for X in (rows, sp.csr_array(rows)):
        snb.scan(X, ["ash", "birch", "cedar"] * 20, checkpoint=folder / "warm.snb", **OPTIONS)
        (folder / "warm.snb").unlink()
    (folder / "reads").touch()
    most = SHARE * sum("/c/" in str(path) and path.is_file() for path in (folder / "store.zarr").rglob("*"))
    chance = random.Random(0)
    while n_kills:
        if killed(folder, chance.uniform(0.0, most), chance.uniform(0.0, 0.01)):
            n_kills -= 1
            note_progress(folder)
        else:
            start_anew(folder)
    killed(folder)
    start_anew(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))

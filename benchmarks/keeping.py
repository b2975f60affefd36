"""Reads of rows that are kept, beside reads of JSON lines: python -m benchmarks.keeping [--rows 200000].

Then the same with 20 reads on the two worker processes of a cluster on this machine, also beside those of another
version: --beside FOLDER, which has its package. There processor time counts, which other work on the machine changes
least.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
from distributed import Client, LocalCluster

import streamnb as snb
from streamnb.rows import row_blocks

N_WORDS, LENGTH, N_CLASSES = 20_000, 60, 8
N_READS, N_READS_ON_WORKERS = 10, 20
N_WORKERS, N_SEGMENTS = 2, 8


def write_lines(path: Path, n_rows: int) -> None:
    """Write documents of random words, the commoner ones by class."""
    rng = np.random.default_rng(0)
    words = np.array([f"word{number}" for number in range(N_WORDS)])
    with path.open("w") as file:
        for row in range(n_rows):
            picked = (rng.zipf(1.3, LENGTH) * (1 + row % N_CLASSES)) % N_WORDS
            file.write(json.dumps({"text": " ".join(words[picked]), "y": row % N_CLASSES}) + "\n")


def fitted(path: Path, keep: str, n_reads: int) -> snb.SoftmaxRegression:
    """Softmax regression after so many reads of the lines."""
    rows = snb.text(path, text="text", y="y", n_features=2**18)
    with warnings.catch_warnings(action="ignore", category=snb.StreamnbWarning):  # all reads are spent, as asked
        return snb.SoftmaxRegression(max_passes=n_reads, tol=0.0).fit(rows, keep=keep, n_threads=1)


def seconds_of_reads(path: Path, keep: str) -> float:
    """Seconds of each further read and step of softmax regression: those of several reads less those of two."""
    few, many = (fitted(path, keep, n_reads).report_.seconds for n_reads in (2, 2 + N_READS))
    return (many - few) / N_READS


def compare_here(path: Path) -> None:
    """Print the seconds of a read in this process."""
    snb.set_scratch(path.parent)
    seconds_of_reads(path, "no")  # compiles kernels
    source = seconds_of_reads(path, "no")
    print(f"{path.stat().st_size / 1e6:.0f} MB: {source:.2f} s a read from the lines")
    for keep in ("disk", "memory"):
        seconds = seconds_of_reads(path, keep)
        print(f'keep="{keep}": {seconds:.2f} s, {source / seconds:.1f} times as fast')


class Cost(NamedTuple):
    """Seconds of a scan and 20 reads: of the workers' processors, of the client's and scheduler's, and of the clock."""

    workers: float
    client: float
    clock: float
    reads: int
    kept: int

    def __str__(self) -> str:
        processors = f"{self.workers:.1f} s of the workers' processors, {self.client:.1f} s of client and scheduler"
        return f"{processors}, {self.clock:.1f} s by the clock; {self.kept:.0f} of {self.reads:.0f} reads kept"


def cost_on_workers(path: Path, keep: str) -> Cost:
    """The cost of a fit on a cluster whose workers cut the file into a few segments each."""
    row_blocks.SEGMENT_BYTES = path.stat().st_size // N_SEGMENTS
    with LocalCluster(N_WORKERS, threads_per_worker=1, local_directory=path.parent) as local, Client(local) as client:

        def clocks() -> np.ndarray:
            workers = client.run(time.process_time).values()
            return np.array([sum(workers), time.process_time(), time.perf_counter()])

        fitted(path, keep, 2)  # loads kernels
        began = clocks()
        report = fitted(path, keep, N_READS_ON_WORKERS).report_
        return Cost(*(clocks() - began).tolist(), report.reads, report.reads_kept)


def compare_on_workers(path: Path, beside: Path | None, rounds: int) -> None:
    """Print the medians of rounds in which versions and ways to keep rows take turns, each in a process of its own."""
    here = Path(__file__).parents[1]
    ways = [(here, "no"), (here, "disk"), (here, "memory")]
    ways = ways if beside is None else [(beside, "no"), *ways]
    costs: dict[tuple[Path, str], list[list[float]]] = {way: [] for way in ways}
    for package, keep in ways * rounds:
        command = [sys.executable, __file__, "--workers", path, keep]
        environment = {**os.environ, "PYTHONPATH": str(package)}
        costs[package, keep].append(json.loads(subprocess.check_output(command, env=environment)))
    medians = {way: Cost(*np.median(found, axis=0)) for way, found in costs.items()}
    first = medians[ways[0]]
    for (package, keep), cost in medians.items():
        faster = f"{first.workers / cost.workers:.1f} and {first.clock / cost.clock:.1f} times as fast"
        print(f'{N_WORKERS} workers, {package.name}, keep="{keep}": {cost}; {faster}', flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--beside", type=Path, help="a folder with another version of streamnb")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--workers", nargs=2, metavar=("LINES", "KEEP"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.workers:
        warnings.simplefilter("ignore")  # reads that were spent
        print(json.dumps(cost_on_workers(Path(given.workers[0]), given.workers[1])))
        sys.exit()
    with tempfile.TemporaryDirectory() as folder:
        lines = Path(folder, "documents.jsonl")
        write_lines(lines, given.rows)
        compare_on_workers(lines, given.beside, given.rounds)
        compare_here(lines)

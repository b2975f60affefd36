"""Reads of rows that are kept, beside reads of JSON lines: python -m benchmarks.keeping [--rows 60000].

Then the same with 20 reads on the two worker processes of a cluster on this machine.
"""

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np
from distributed import Client, LocalCluster

import streamnb as snb
from streamnb.rows import sizes

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


def compare_on_workers(path: Path) -> None:
    """Print the seconds of a scan and 20 reads on workers, which cut the file into a few segments each."""
    sizes.SEGMENT_BYTES = path.stat().st_size // N_SEGMENTS
    with LocalCluster(N_WORKERS, threads_per_worker=1, local_directory=path.parent) as cluster, Client(cluster):
        fitted(path, "no", 2)  # loads kernels
        source = fitted(path, "no", N_READS_ON_WORKERS).report_
        print(f"{N_WORKERS} workers: {source.seconds:.1f} s for {source.reads} reads from the lines")
        for keep in ("disk", "memory"):
            report = fitted(path, keep, N_READS_ON_WORKERS).report_
            ratio = source.seconds / report.seconds
            print(f'keep="{keep}": {report.seconds:.1f} s, {ratio:.1f} times as fast; {report.reads_kept} reads kept')


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=60_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        lines = Path(folder, "documents.jsonl")
        write_lines(lines, given.rows)
        compare_here(lines)
        compare_on_workers(lines)

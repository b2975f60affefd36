"""Reads of rows that are kept, beside reads of JSON lines: python -m benchmarks.keeping [--rows 60000]."""

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np

import streamnb as snb

N_WORDS, LENGTH, N_CLASSES = 20_000, 60, 8
N_READS = 10


def write_lines(path: Path, n_rows: int) -> None:
    """Write documents of random words, the commoner ones by class."""
    rng = np.random.default_rng(0)
    words = np.array([f"word{number}" for number in range(N_WORDS)])
    with path.open("w") as file:
        for row in range(n_rows):
            picked = (rng.zipf(1.3, LENGTH) * (1 + row % N_CLASSES)) % N_WORDS
            file.write(json.dumps({"text": " ".join(words[picked]), "y": row % N_CLASSES}) + "\n")


def seconds_of_reads(path: Path, keep: str) -> float:
    """Seconds of each further read and step of softmax regression: those of several reads less those of two."""
    rows = snb.text(path, text="text", y="y", n_features=2**18)
    few, many = (
        snb.SoftmaxRegression(max_passes=n_reads, tol=0.0).fit(rows, keep=keep, n_threads=1).report_.seconds
        for n_reads in (2, 2 + N_READS)
    )
    return (many - few) / N_READS


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=60_000)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        lines = Path(folder, "documents.jsonl")
        write_lines(lines, given.rows)
        snb.set_scratch(folder)
        seconds_of_reads(lines, "no")  # compiles kernels
        source = seconds_of_reads(lines, "no")
        print(f"{given.rows:,} documents, {lines.stat().st_size / 1e6:.0f} MB: {source:.2f} s a read from the lines")
        for keep in ("disk", "memory"):
            seconds = seconds_of_reads(lines, keep)
            print(f'keep="{keep}": {seconds:.2f} s, {source / seconds:.1f} times as fast')

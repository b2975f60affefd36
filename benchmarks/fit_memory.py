"""Memory of a fit from files of so many rows and of ten times as many: the peak of a process, and how far it rose.

`python -m benchmarks.fit_memory` makes files of texts, svmlight lines and cells, fits each in a process of its own, and
prints a table.
"""

import argparse
import json
import multiprocessing
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

import streamnb as snb
from benchmarks.peers.problems import counts, labels
from benchmarks.peers.texts import drawn
from examples.peak_memory import PeakMemory

N_FEATURES = 2**16
CLASSES = 10
TIMES = 10  # rows of the longer file
SAME = 10_000  # rows that are drawn; longer files repeat them


def lines_of_json(folder: Path, n_rows: int) -> None:
    texts = drawn(min(n_rows, SAME))
    with open(folder / "rows.jsonl", "w") as file:
        file.writelines(json.dumps({"t": texts[i % SAME], "y": i % CLASSES}) + "\n" for i in range(n_rows))


def lines_of_svmlight(folder: Path, n_rows: int) -> None:
    n = min(n_rows, SAME)
    dump_svmlight_file(counts(n, N_FEATURES, "uniform"), labels(n, CLASSES), str(folder / "part"), zero_based=False)
    with open(folder / "rows.svm", "wb") as file:
        for _ in range(n_rows // n):
            file.write((folder / "part").read_bytes())


def cells(folder: Path, n_rows: int) -> None:
    import anndata
    import pandas as pd

    X = sp.vstack([counts(min(n_rows, SAME), N_FEATURES, "uniform")] * max(n_rows // SAME, 1), format="csr")
    obs = pd.DataFrame({"kind": labels(X.shape[0], CLASSES)}, index=np.arange(X.shape[0]).astype(str))
    anndata.AnnData(X.astype(np.float32), obs=obs).write_h5ad(folder / "rows.h5ad")


KINDS: dict[str, tuple[Callable, Callable]] = {  # what makes the file in a folder, and what fits it
    "texts in JSON lines": (
        lines_of_json,
        lambda folder: snb.LinearNB("multinomial").fit(
            snb.text(folder / "rows.jsonl", "t", "y", words=(1, 2), n_features=N_FEATURES)
        ),
    ),
    "svmlight": (
        lines_of_svmlight,
        lambda folder: snb.LinearNB("multinomial").fit(snb.svmlight(folder / "rows.svm", n_features=N_FEATURES)),
    ),
    "cells in .h5ad": (cells, lambda folder: snb.LinearNB("multinomial").fit(folder / "rows.h5ad", "obs/kind")),
}


def measured(kind: str, folder: Path, small: Path) -> tuple[float, float]:
    """The peak in MB and how far a fit raises it, in a process that has fitted a few rows before."""
    KINDS[kind][1](small)
    with PeakMemory() as memory:
        KINDS[kind][1](folder)
    return memory.peak / 1e6, memory.growth / 1e6


def rows(n_rows: int) -> Iterator[str]:
    fresh = multiprocessing.get_context("spawn")
    for kind, (make, _) in KINDS.items():
        found = []
        with tempfile.TemporaryDirectory() as name:
            folders = [Path(name) / part for part in ("few", "1", "10")]
            for folder, n in zip(folders, (500, n_rows, TIMES * n_rows), strict=True):
                folder.mkdir()
                make(folder, n)
            for folder in folders[1:]:
                with fresh.Pool(1) as pool:
                    found.append(pool.apply(measured, (kind, folder, folders[0])))
        said = " | ".join(f"{peak:.0f} MB ({growth:.0f})" for peak, growth in found)
        yield f"| {kind} | {said} | {found[1][0] / found[0][0]:.2f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=60_000, help="of the shorter file")
    options = parser.parse_args()
    print(f"| a fit from | {options.rows:,} rows | {TIMES * options.rows:,} rows | times as much |")
    print("| --- | --- | --- | --- |")
    for row in rows(options.rows):
        print(row, flush=True)


if __name__ == "__main__":
    main()

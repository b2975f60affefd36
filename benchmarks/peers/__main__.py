"""Measures, prints and writes the table."""

import argparse
import importlib.metadata
import os
import platform
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import streamnb as snb
from benchmarks import peers
from benchmarks.peers import (
    additive,
    cells,
    corpora,
    descriptions,
    encoding,
    files,
    groups,
    memory,
    models,
    others,
    processes,
    products,
    regression,
    searching,
    selecting,
    sequences,
    small_tables,
    stores,
    tables,
    texts,
    trained,
    trees,
    values,
)
from benchmarks.peers.table import HEAD, PER_ROW, QUICK, Size

RESULTS = Path(__file__).parents[1] / "RESULTS.md"
PACKAGES = [
    "numpy",
    "scipy",
    "numba",
    "zarr",
    "zarrs",
    "dask",
    "scikit-learn",
    "pyarrow",
    "pandas",
    "flox",
    "dask-ml",
    "river",
    "vowpalwabbit",
    "pyspark",
    "lightgbm",
    "interpret-core",
    "scanpy",
    "glum",
    "statsmodels",
]
PARTS = {  # each yields rows of the table
    "csr": memory.csr_rows,
    "dense": memory.dense_rows,
    "threads": memory.threaded_rows,
    "stores": stores.store_rows,
    "encoding": encoding.encoding_rows,
    "files": files.file_rows,
    "texts": texts.text_rows,
    "corpora": corpora.corpus_rows,
    "sequences": sequences.sequence_rows,
    "tables": tables.table_rows,
    "groups": groups.group_rows,
    "solve": models.solving_rows,
    "values": values.value_rows,
    "calibration": values.calibration_rows,
    "multinomial": models.multinomial_rows,
    "choice": models.choice_rows,
    "shared": models.shared_rows,
    "scoring": models.scoring_rows,
    "products": products.product_rows,
    "trees": trees.tree_rows,
    "additive": additive.additive_rows,
    "numbers": additive.number_rows,
    "regression": regression.regression_rows,
    "cells": cells.cell_rows,
    "search": searching.search_rows,
    "small_tables": small_tables.small_table_rows,
    "trained": trained.trained_rows,
    "selecting": selecting.selecting_rows,
    "descriptions": descriptions.description_rows,
    "topics": descriptions.topic_rows,
    "others": others.other_rows,
    "memory": processes.memory_rows,
    "cold": processes.cold_rows,
}


def machine(load: float) -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        model = next(line.partition(": ")[2] for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        model = platform.processor()
    return f"{os.cpu_count()} cores, {model}; load {load:.1f} before and {os.getloadavg()[0]:.1f} at the end"


def versions() -> Iterator[str]:
    yield f"Python {platform.python_version()}"
    yield f"streamnb {snb.__version__}"
    for name in PACKAGES:
        try:
            yield f"{name} {importlib.metadata.version(name)}"
        except importlib.metadata.PackageNotFoundError:
            yield f"{name} not installed"


def main() -> None:
    parser = argparse.ArgumentParser(description=(peers.__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="fewer rows and repeats, under five minutes")
    parser.add_argument("--only", choices=PARTS, help="one part, and no file")
    options = parser.parse_args()
    size, load = QUICK if options.quick else Size(), os.getloadavg()[0]
    warnings.simplefilter("ignore")  # the peers' own
    lines = [HEAD]
    print(HEAD)
    for name in [options.only] if options.only else PARTS:
        with tempfile.TemporaryDirectory() as folder:
            for row in PARTS[name](size, Path(folder)):
                lines.append(str(row))
                print(row, flush=True)
    if options.only:
        return
    about = (
        f"{size.n_rows:,} rows of {PER_ROW} nonzeros ({size.slow_rows:,} for peers that take long), median of "
        f"{size.repeats} runs taking turns (1 for what takes long). How it is measured: [benchmarks/peers](peers)."
    )
    text = ["# streamnb beside others", "", about, "", machine(load) + ".", "", ", ".join(versions()) + ".", "", *lines]
    RESULTS.write_text("\n".join(text) + "\n")


if __name__ == "__main__":
    main()

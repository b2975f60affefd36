"""Files of text that are read as they lie."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

import streamnb as snb
from benchmarks.peers.table import PER_ROW, Row, Size, ratios
from streamnb.rows.opening import opened

FEATURES = 100_000


@contextmanager
def one_core() -> Iterator[None]:
    """Work on one core, where the system has a say: threads that share its caches would count each other's waits."""
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set()
    if cores:
        os.sched_setaffinity(0, {min(cores)})
    try:
        yield
    finally:
        if cores:
            os.sched_setaffinity(0, cores)


def file_rows(size: Size, folder: Path) -> Iterator[Row]:
    """CPU time, of whatever threads: from the file to CSR arrays, the look at it beforehand included."""
    rng = np.random.default_rng(0)
    indices = rng.integers(0, FEATURES, size.n_rows * PER_ROW)
    indptr = np.arange(size.n_rows + 1) * PER_ROW
    for what, values in (("counts", rng.integers(1, 9, indices.size)), ("16 digits", rng.random(indices.size))):
        X = sp.csr_array((values, indices.astype(np.int32), indptr.astype(np.int32)), shape=(size.n_rows, FEATURES))
        X.sum_duplicates()
        path = str(folder / "rows.svm")
        dump_svmlight_file(X, np.arange(size.n_rows) % 2, path, zero_based=False)

        def ours(path: str = path) -> None:
            for _ in opened(snb.svmlight(path)).blocks():
                pass

        with one_core():
            theirs = partial(load_svmlight_file, path)
            (faster,) = ratios(theirs, [ours], min(size.repeats, 3), time.process_time)
        yield Row(f"svmlight, {what}, one thread", "scikit-learn's loader", 15, 25, faster)

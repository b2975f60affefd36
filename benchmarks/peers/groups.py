"""Overlapping labels against a reference group: the tables of the thesis beside one cross-validation."""

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import scipy.sparse as sp

import streamnb as snb
from benchmarks.peers.problems import counts
from benchmarks.peers.table import SLOWER, Row, Size, ratio

N_FEATURES = 216
ROWS = 1_000_000 // 240_000  # of each of the other problems, about


def overlapping(n_rows: int, n_labels: int) -> np.ndarray:
    """Labels (n_rows, n_labels); half of the rows bear none, and are the reference."""
    rng = np.random.default_rng(2)
    labels = rng.random((n_rows, n_labels)) < 0.1
    return (labels & (rng.random((n_rows, 1)) < 0.5)).astype(np.int8)


def group_rows(size: Size, folder: Path) -> Iterator[Row]:
    X, Y = counts(ROWS * size.n_rows, N_FEATURES, "zipf", per_row=40), overlapping(ROWS * size.n_rows, size.labels)
    n_taus, store = min(20, size.points), folder / "labels.zarr"
    snb.write_csr(store, [(X, sp.csr_array(Y))], n_features=N_FEATURES)
    asked = {"scheme": "reference", "reference": snb.UNLABELLED, "folds": 5, "scoring": "roc_auc_reference"}
    l1 = snb.L1(n_taus=n_taus)
    some = snb.TopK(np.unique(np.geomspace(1, N_FEATURES, n_taus).round().astype(int)).tolist())
    apart = snb.Decorrelation([0.1], scale="curvature")
    table = {"plain": None, "L0": some, "L1": l1, "L0 + MR": some + apart, "L1 + MR": l1 + apart}

    def one():
        snb.LinearNBCV("poisson", l1, **asked).fit(str(store), "y")

    def five():
        snb.compare(str(store), "y", families=["poisson"], penalties=table, show=False, **asked)

    what = f"{N_FEATURES} features, {size.labels} labels against those without, 5 folds x {n_taus} points, Zarr"
    times = ratio(five, one, size.repeats, time.perf_counter)
    yield Row(f"five columns of a table, {what}", "LinearNBCV of L1", 3, 1.5, times, SLOWER)

    def every(penalty: snb.TopK, rule: str) -> None:
        snb.LinearNBCV("poisson", penalty, rule=rule, **asked).fit(str(store), "y")

    whole = snb.TopK(range(1, N_FEATURES + 1))
    times = ratio(lambda: every(whole, "per_split"), lambda: every(some, "best"), size.repeats, time.perf_counter)
    yield Row(f"all k from 1 to {N_FEATURES}, per_split, {what}", f"{n_taus} of them", 1.5, None, times, SLOWER)

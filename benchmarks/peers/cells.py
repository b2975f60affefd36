"""Tests of marker genes: ours from Zarr beside scanpy's in memory, each in a process of its own."""

import json
import statistics
import subprocess
import sys
import warnings
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse as sp

from benchmarks.peers.table import FASTER, MEMORY, Row, Size

N_GENES, N_GROUPS, DENSITY = 2_000, 20, 0.1
PEAK = """
def peak():
    return int(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0])
"""
OURS = """
import json, sys, time
import numpy as np
import streamnb as snb
snb.scan([[1.0], [2.0]] * 4, [0, 1] * 4).markers()
before = peak()
def run():
    stats = snb.scan(sys.argv[1], "obs/kind", moments=["sum", "sum_sq"], n_threads=1, progress=False)
    return stats.markers(None)
"""
THEIRS = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
import anndata, numpy as np, pandas as pd, scanpy as sc, scipy.sparse as sp
few = anndata.AnnData(sp.csr_matrix(np.eye(8)), obs={"kind": pd.Categorical(list("abababab"))})
sc.tl.rank_genes_groups(few, "kind", method="t-test")
before = peak()
cells = anndata.read_zarr(sys.argv[1])
def run():
    sc.tl.rank_genes_groups(cells, "kind", method="t-test")
    return sc.get.rank_genes_groups_df(cells, None)
"""
MEASURED = """
times = []
for _ in range(3):
    start = time.process_time()
    table = run()
    times.append(time.process_time() - start)
table = table.sort_values(["group", "scores"], ascending=[True, False], kind="stable")
found = [table[column].astype(float).tolist() for column in ("scores", "pvals")]
print(json.dumps([min(times[1:]), peak(), peak() - before, *found]))
"""


def cell_rows(size: Size, folder: Path) -> Iterator[Row]:
    """One thread on both sides; the time of scanpy is that of the test alone, of ours that of reading, too."""
    n_cells = size.n_rows * 5 // 6
    what = f"t-tests of {n_cells:,} cells x {N_GENES:,} genes in {N_GROUPS} groups from Zarr, one thread"
    if find_spec("scanpy") is None:
        yield Row(what, "scanpy in memory", 1.0, 5.0, None)
        return
    path = folder / "cells.zarr"
    written(path, n_cells)
    rounds = [[measured(script, path) for script in (THEIRS, OURS)] for _ in range(min(size.repeats, 3))]
    apart = max(apart_of(theirs[3:], ours[3:]) for theirs, ours in rounds)
    seconds = statistics.median(theirs[0] / ours[0] for theirs, ours in rounds)
    what += f"; scores and p-values differ by {apart:.0e}"
    yield Row(what, "scanpy in memory, without reading", 1.0, 5.0, seconds, FASTER)
    for at, where in ((1, "of that process"), (2, "beyond what is imported and compiled")):
        theirs, ours = (statistics.median(pair[side][at] for pair in rounds) / 1024 for side in (0, 1))
        yield Row(
            f"peak memory {where}, {ours:,.0f} MiB", f"scanpy, {theirs:,.0f} MiB", 0.1, 0.05, ours / theirs, MEMORY
        )


def measured(script: str, path: Path) -> list:
    """Seconds of a run, the peak of memory in KiB, in all and of the run, scores and p-values."""
    ended = subprocess.run(
        [sys.executable, "-c", PEAK + script + MEASURED, str(path)], capture_output=True, text=True, check=True
    )
    return json.loads(ended.stdout)


def apart_of(theirs: list, ours: list) -> float:
    """The largest relative difference; scanpy keeps scores in float32."""
    worst = 0.0
    for a, b in zip(theirs, ours, strict=True):
        a, b = np.asarray(a), np.asarray(b)
        worst = max(worst, float((abs(a - b) / np.maximum(abs(a), 1e-6)).max()))
    return worst


def written(path: Path, n_cells: int) -> None:
    """Sparse cells after log1p; each group has genes of its own."""
    import anndata

    rng = np.random.default_rng(0)
    kind = rng.integers(0, N_GROUPS, n_cells)
    share = np.minimum(DENSITY * (1.0 + 2.0 * (np.arange(N_GENES) % N_GROUPS == np.arange(N_GROUPS)[:, None])), 1.0)
    blocks = []
    for start, stop in pairwise([*range(0, n_cells, 10_000), n_cells]):
        there = rng.random((stop - start, N_GENES), np.float32) < share[kind[start:stop]]
        block = sp.csr_matrix(there, dtype=np.float32)
        block.data[:] = np.log1p(rng.gamma(2.0, 3.0, block.nnz))
        blocks.append(block)
    obs = pd.DataFrame({"kind": pd.Categorical(np.char.add("group ", np.char.mod("%02d", kind)))})
    obs.index = obs.index.astype(str)
    genes = pd.DataFrame(index=[f"gene {j}" for j in range(N_GENES)])
    with warnings.catch_warnings(action="ignore"):
        anndata.AnnData(sp.vstack(blocks, format="csr"), obs, genes).write_zarr(path)

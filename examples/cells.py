"""Which genes tell cell types? An .h5ad file from its layer of counts to tested markers and annotated cells.

    python examples/cells.py [cells.h5ad obs/cell_type [layer]]

Without a file it makes one: 600 cells of three types, each with a few genes that it makes more of. Needs anndata:
pip install streamnb[cells].
"""

import sys
import tempfile
import warnings
from pathlib import Path

import anndata
import numpy as np
import pandas as pd
import scipy.sparse as sp

import streamnb as snb

TYPES = ["B cell", "NK cell", "T cell"]


def written(path, n_cells=600, n_genes=300, n_own=6):
    """Counts of genes whose rate is four times as high in their own cell type, at depths that differ by cell."""
    rng = np.random.default_rng(0)
    kind, depth = rng.integers(0, len(TYPES), n_cells), rng.lognormal(0.0, 0.7, n_cells)
    rate = rng.gamma(0.5, 1.0, n_genes)
    own = np.arange(n_genes) // n_own  # the first genes belong to the types, n_own to each
    counts = rng.poisson(depth[:, None] * rate * np.where(own == kind[:, None], 4.0, 1.0)).astype(np.float32)
    names = [f"{TYPES[k].split()[0]}-gene-{j}" if k < len(TYPES) else f"gene-{j}" for j, k in enumerate(own)]
    obs = pd.DataFrame({"cell_type": np.array(TYPES)[kind]}, index=[f"cell {i}" for i in range(n_cells)])
    cells = anndata.AnnData(sp.csr_matrix(counts), obs, pd.DataFrame(index=names))
    cells.layers["counts"] = cells.X.copy()
    cells.write_h5ad(path)


def main(path, y="obs/cell_type", layer="counts"):
    """Fit from the file, block by block; list markers, tested too; write predictions into `obs`."""
    with warnings.catch_warnings(action="ignore"):  # of anndata, about its own versions to come
        adata = anndata.read_h5ad(path, backed="r")
    model = snb.LinearNBCV(
        "gaussian",
        snb.L1(scale="score", n_taus=10),
        transform=("l1:10000", "log1p"),
        folds=5,
        scoring="accuracy",
        calibration="sigmoid",
    ).fit(path, y, layer=layer)
    print(
        f"{model.score(adata, y):.3f} right, {int((model.coef_ != 0).any(axis=0).sum())} of {adata.n_vars} genes kept"
    )
    for kind, some in model.markers(3).groupby("class"):
        print(f"{kind}: {', '.join(some['feature'])}")
    stats = snb.scan(path, y, layer=layer, transform=("l1:10000", "log1p"))  # one read; the tests take none
    table = stats.markers(20, feature_names=adata.var_names)
    snb.write_markers(table, adata, y)  # as sc.get.rank_genes_groups_df(adata, None) reads them
    sure = table[table["pvals_adj"] < 1e-3].groupby("group", observed=True).size()
    print(f"t-tests: {sure.to_dict()} of 20 genes with a corrected p-value below .001")
    found = model.choose_unknown_below(path, y, folds=3)
    print(f"of a type that the model has not seen, {found['unseen'].mean():.0%} of cells would be unknown")
    model.annotate(adata, unknown_below="auto")
    print(adata.obs[["predicted", "predicted_probability"]].head(3).to_string())


if __name__ == "__main__":
    if sys.argv[1:]:
        main(*sys.argv[1:])
    else:
        with tempfile.TemporaryDirectory() as folder:
            written(Path(folder) / "cells.h5ad")
            main(Path(folder) / "cells.h5ad")

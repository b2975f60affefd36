"""Sets of rows, read from plain files."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

TABLE, DENSE, SPARSE = "tables", "dense", "sparse"  # kinds of rows
FEWEST = 10  # training rows of a class, where rows are left out


class Rows(NamedTuple):
    """Those to learn from, and those held out."""

    X: Any
    y: np.ndarray
    X_new: Any
    y_new: np.ndarray

    @property
    def kind(self) -> str:
        return TABLE if isinstance(self.X, pd.DataFrame) else SPARSE if sp.issparse(self.X) else DENSE


def described(folder: Path) -> dict[str, dict[str, Any]]:
    """What sets.json says of each set."""
    return json.loads((folder / "sets.json").read_text())


def read(folder: Path, name: str, most: int | None = None) -> Rows:
    """The rows of a set, at most so many to learn from and a quarter as many held out.

    Columns that no row to learn from has are left out, for all tools: none would learn anything of them.
    """
    X, y, held_out = _read(folder, name)
    train, test = np.flatnonzero(~held_out), np.flatnonzero(held_out)
    if most is not None and most < len(train):
        rng = np.random.default_rng(0)
        train, test = (np.sort(rng.permutation(rows)[:n]) for rows, n in ((train, most), (test, most // 4)))
        labels, n_rows = np.unique(y[train], return_counts=True)
        train = train[np.isin(y[train], labels[n_rows >= FEWEST])]
    test = test[np.isin(y[test], y[train])]
    if isinstance(X, pd.DataFrame):
        return Rows(X.iloc[train].reset_index(drop=True), y[train], X.iloc[test].reset_index(drop=True), y[test])
    if sp.issparse(X):
        X = X[:, np.flatnonzero(X[train].getnnz(axis=0))]
    return Rows(X[train], y[train], X[test], y[test])


def _read(folder: Path, name: str) -> tuple[Any, np.ndarray, np.ndarray]:
    """Rows, labels, and which are held out."""
    if (path := folder / f"{name}.parquet").exists():
        table = pd.read_parquet(path)
        y, held_out = table.pop(described(folder)[name]["label"]), table.pop("held_out")
        return table, y.to_numpy().astype(str), held_out.to_numpy()
    with np.load(folder / f"{name}.npz", allow_pickle=False) as kept:
        if "X" in kept:
            return kept["X"].astype(np.float32), kept["y"], kept["held_out"]
        X = sp.csr_matrix((kept["data"], kept["indices"], kept["indptr"]), shape=kept["shape"])
        return X, kept["y"], kept["held_out"]


def scaling(X):
    """What suits linear models: tf-idf of counts, else columns of unit variance or of largest value 1."""
    if sp.issparse(X) and X.max() > 1.0:
        return TfidfTransformer(sublinear_tf=True)
    n_zeros = np.prod(X.shape) - (X.nnz if sp.issparse(X) else np.count_nonzero(X))
    return MaxAbsScaler() if n_zeros > 0.2 * np.prod(X.shape) else StandardScaler()

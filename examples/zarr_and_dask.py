"""The same model, bit for bit, from wherever the rows are: a Zarr store, a Dask array, a stream, or memory.

    python examples/zarr_and_dask.py

Lines of the standard library are streamed into a sparse Zarr store in the layout of AnnData. Nothing but the type of X
changes from line to line; predictions come back in kind.
"""

from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import dask.array as da
import numpy as np
import scipy.sparse as sp
import zarr
from library_text import N_FEATURES, chunks

import streamnb as snb

KEPT = slice(0, 1024)  # columns of the dense copies; Poisson weights of a column do not depend on the others


def rows(dense=False):
    for X, y in islice(chunks(), 12):
        yield (X[:, KEPT].toarray() if dense else X), y


def main():
    X, y = (np.concatenate([part[i] for part in rows(dense=True)]) for i in range(2))
    with TemporaryDirectory() as folder:
        store = Path(folder)
        snb.write_csr(store / "lines.zarr", rows(), n_features=N_FEATURES)
        zarr.create_array(store / "dense.zarr", data=X, chunks=(500, 1024))
        blocks = [da.from_array(part) for part, _ in rows(dense=True)]
        sources = {
            "Zarr, CSR": (store / "lines.zarr", "y"),  # y is an array in that store
            "stream, CSR": (partial(rows), None),  # brings its own y
            "memory, CSR": (sp.vstack([part for part, _ in rows()]), y),
            "Zarr, dense": (store / "dense.zarr", y),
            "stream, dense": (partial(rows, dense=True), None),
            "Dask": (da.concatenate(blocks), y),
            "memory, dense": (X, y),
        }
        print(f"{'rows in':<14} rows x features   weights  first weights of json            predict gives")
        for name, (X, y) in sources.items():
            model = snb.LinearNB("poisson", snb.L1(2.0, scale="score")).fit(X, y)
            json = model.coef_[model.classes_.tolist().index("json")]
            some = json[np.flatnonzero(json)[:2]]
            shape = f"{model.stats_.n_rows} x {model.n_features_in_}"
            print(f"{name:<14} {shape:<15} {np.count_nonzero(model.coef_):9d}  {some}", end="  ")
            print(type(model.predict(X)).__module__.split(".")[0])


if __name__ == "__main__":
    main()

#!/usr/bin/env bash
# anndata 0.12.19: concat_on_disk of sparse files stores all values in the dtype of the first file. After counts as
# uint8, 300 becomes 255 in HDF5 and 44 in Zarr, and 0.7 becomes 0. Dense matrices, and concat in memory, take a dtype
# that holds both. One would expect the same of sparse ones, or an error. It matters here because it is the way to join
# files that do not fit into memory, and values of all files but the first are other numbers. Seen: "sparse: 255 and 0 in
# h5ad, 44 and 0 in zarr; dense: 300 and 0.7". This fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet anndata==0.12.19 zarr==3.1.6 'dask[array]==2026.8.0'
cd "$folder"
"$folder/venv/bin/python" -W ignore - <<'PYTHON'
import anndata as ad
import numpy as np
import scipy.sparse as sp
from anndata.experimental import concat_on_disk

counts, larger, scaled = np.uint8([[1, 2]]), np.int64([[300, 1]]), np.float32([[0.7, 1.5]])


def joined(kind, made, second):
    write, read = ("write_h5ad", ad.read_h5ad) if kind == "h5ad" else ("write_zarr", ad.read_zarr)
    name = f"{made.__name__} of {second.dtype}"
    paths = [f"{name} {part}.{kind}" for part in ("first", "second", "both")]
    for path, values in zip(paths, (counts, second)):
        getattr(ad.AnnData(made(values)), write)(path)
    concat_on_disk(paths[:2], paths[2])
    return float(read(paths[2]).X[1, 0])


for kind, expected in (("h5ad", [255, 0]), ("zarr", [44, 0])):
    sparse, dense = ([joined(kind, made, one) for one in (larger, scaled)] for made in (sp.csr_matrix, np.array))
    print(f"{kind}: sparse {sparse[0]:g} and {sparse[1]:g}, dense {dense[0]:g} and {dense[1]:.1f}")
    assert sparse == expected and dense == [300, np.float32(0.7)], (sparse, dense)
both = ad.concat([ad.AnnData(sp.csr_matrix(one)) for one in (counts, scaled)])
assert both.X[1, 0] == np.float32(0.7)
PYTHON

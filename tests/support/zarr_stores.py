"""Rows written to Zarr without the package: CSR groups by hand, dense arrays, AnnData's own stores."""

import warnings

import anndata
import numpy as np
import pandas as pd
import scipy.sparse as sp
import zarr

FULL = {"write_empty_chunks": True}  # a CSR array lacks no chunk, not even one of zeros


def write_arrays(
    group, rows, *, x=None, chunk=7, indices=np.int32, indptr=np.int64, data=np.float32, shards=None, compressors="auto"
):
    """Write rows as a CSR group in the AnnData layout by hand, labels beside; nothing of streamnb involved."""
    x = sp.csr_array(rows.x) if x is None else x
    parts = {"data": x.data.astype(data), "indices": x.indices.astype(indices), "indptr": x.indptr.astype(indptr)}
    for name, values in parts.items():
        group.create_array(name, data=values, chunks=(chunk,), shards=shards, compressors=compressors, config=FULL)
    write_labels(group, "y", rows.y)
    group.attrs.update({"encoding-type": "csr_matrix", "encoding-version": "0.1.0", "shape": list(x.shape)})
    return group


def write_labels(group, name, y):
    """Write labels as a Zarr array: strings of any length, or numbers."""
    values = y.astype(np.dtypes.StringDType()) if y.dtype.kind == "U" else y
    with warnings.catch_warnings(action="ignore"):  # Zarr's word on string types in version 3
        return group.create_array(name, data=values, chunks=(11,), config=FULL)


def csr_group(rows, folder, zarr_format=3, **options):
    return write_arrays(zarr.create_group(folder / "csr.zarr", zarr_format=zarr_format), rows, **options)


def dense_array(rows, folder, zarr_format=3, chunks=(7, 9), dtype=np.float32, **options):
    store = folder / "dense.zarr"
    data = rows.x.astype(dtype)
    return zarr.create_array(store, data=data, chunks=chunks, zarr_format=zarr_format, config=FULL, **options)


def anndata_group(rows, folder, zarr_format):
    group = zarr.create_group(folder / "by_anndata.zarr", zarr_format=zarr_format)
    # anndata leaves out a chunk that holds zeros only: one chunk an array, so that none is missing
    anndata.io.write_elem(group, "X", sp.csr_array(rows.x), dataset_kwargs={"chunks": (1000,)})
    return group["X"]


def anndata_root(rows, folder, zarr_format=3, sparse=True):
    """An AnnData store; the labels are `obs/kind`, categorical, and `obs/plain`, not."""
    names = [f"row{i}" for i in range(len(rows))]
    obs = pd.DataFrame({"kind": pd.Categorical(rows.y), "plain": rows.y}, index=names)
    whole = anndata.AnnData(X=sp.csr_matrix(rows.x) if sparse else rows.x, obs=obs)
    with warnings.catch_warnings(action="ignore"), anndata.settings.override(zarr_write_format=zarr_format):
        whole.write_zarr(folder / "root.zarr", convert_strings_to_categoricals=False)
    return zarr.open_group(folder / "root.zarr", mode="r")

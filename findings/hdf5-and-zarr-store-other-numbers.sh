#!/usr/bin/env bash
# h5py 3.16.0, Zarr-Python 3.1.6: counts that do not fit into the type of a dataset are brought to its nearest end by
# HDF5 (300 becomes 255, -1 becomes 0), also by create_dataset(data=, dtype=), while Zarr wraps them as NumPy does (300
# becomes 44, -1 becomes 255). Neither says anything. One would expect an error, or the same numbers in both. It matters
# here because count matrices are stored in small types, and copied between the two formats. Seen: "HDF5: [255, 0, 7],
# Zarr: [44, 255, 7]". This fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet h5py==3.16.0 zarr==3.1.6
"$folder/venv/bin/python" - <<'PYTHON'
import h5py
import numpy as np
import zarr

counts = np.array([300, -1, 7])
with h5py.File("none", "w", driver="core", backing_store=False) as file:
    of_hdf5 = file.create_dataset("counts", data=counts, dtype="uint8")[:].tolist()
array = zarr.create_array({}, shape=counts.shape, dtype="uint8")
array[:] = counts
of_zarr = array[:].tolist()
print(f"HDF5: {of_hdf5}, Zarr: {of_zarr}")
assert (of_hdf5, of_zarr) == ([255, 0, 7], [44, 255, 7])
PYTHON

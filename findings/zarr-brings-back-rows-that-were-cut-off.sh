#!/usr/bin/env bash
# Zarr-Python 3.1.6: an array that is made shorter with resize keeps what its last chunk holds behind the new end, and
# when it is made longer again these old values are there in place of the fill value. h5py 3.16.0 gives the fill value
# for the same steps. It matters here because rows that were taken out of a store come back when it grows. Seen: "Zarr:
# [1, 2, 3, 4], HDF5: [1, 2, 0, 0]". This fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet zarr==3.1.6 h5py==3.16.0
"$folder/venv/bin/python" - <<'PYTHON'
import h5py
import zarr


def shorter_and_longer(array):
    array[:] = [1, 2, 3, 4]
    array.resize((2,))
    array.resize((4,))
    return array[:].tolist()


of_zarr = shorter_and_longer(zarr.create_array({}, shape=(4,), chunks=(4,), dtype="int64", fill_value=0))
with h5py.File("none", "w", driver="core", backing_store=False) as file:
    of_hdf5 = shorter_and_longer(file.create_dataset("rows", (4,), "int64", chunks=(4,), maxshape=(None,)))
print(f"Zarr: {of_zarr}, HDF5: {of_hdf5}")
assert (of_zarr, of_hdf5) == ([1, 2, 3, 4], [1, 2, 0, 0])
PYTHON

#!/usr/bin/env bash
# flox 0.11.2: groupby_reduce of integers by two keys gives pairs without rows the least integer: their sum is
# -9223372036854775808, and the largest of no uint8 is 0, the dtype staying that of integers. The sum of no float64 is
# NaN, and the mean of no integers as well. xarray 2026.9.0 passes such sums on for UniqueGrouper(labels=..). One would
# expect 0, as of pandas for categories, or NaN. It matters here because counts by class and category have such pairs, and
# a sum over the classes is then far below zero. Seen: "integers -9223372036854775808, floats nan". This fails if that
# changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet flox==0.11.2 numpy==2.4.6 xarray==2026.9.0
cd "$folder"
"$folder/venv/bin/python" -W error - <<'PYTHON'
import flox
import numpy as np
import xarray as xr
from xarray.groupers import UniqueGrouper

counts = np.array([1, 2, 3, 4])
label, category = np.array(["a", "a", "b", "b"]), np.array([0, 1, 0, 0])


def reduced(values, func="sum"):
    return flox.groupby_reduce(values, label, category, func=func)[0]


sums, largest, floats = reduced(counts), reduced(counts.astype(np.uint8), "max"), reduced(counts.astype(float))
print(f"integers {sums[1, 1]}, floats {floats[1, 1]}, largest uint8 {largest[1, 1]}")
assert sums.tolist() == [[1, 2], [7, np.iinfo(np.int64).min]] and sums.dtype == np.int64
assert largest.tolist() == [[1, 2], [4, 0]] and largest.dtype == np.uint8
assert np.isnan(floats[1, 1])
rows = xr.DataArray(counts, dims="row", coords={"category": ("row", category)})
of_labels = rows.groupby(category=UniqueGrouper(labels=[0, 1, 2])).sum().to_numpy()
print("with xarray", *of_labels)
assert of_labels.tolist() == [8, 2, np.iinfo(np.int64).min]
PYTHON

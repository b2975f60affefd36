#!/usr/bin/env bash
# numba 0.68.1: in compiled code `a.sum()` and `a.mean()` of float32 add one value after the other in float32, where
# NumPy 2.4.6 adds in pairs, so a sum no longer grows once it is 2^24 times the values. One would expect NumPy's result,
# since the code is the same. It matters here because sums of float32 columns of more than 16 million rows, such as images
# or expression values, are halved without a word. Seen of 2^25 ones: "sum: numba 16777216, NumPy 33554432; mean: numba
# 0.5, NumPy 1.0". This fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet numba==0.68.1 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numba
import numpy as np


@numba.njit
def compiled(values):
    return values.sum(), values.mean()


ones = np.ones(2**25, np.float32)
total, mean = compiled(ones)
print(f"sum: numba {total:.0f}, NumPy {ones.sum():.0f}; mean: numba {mean}, NumPy {ones.mean()}")
assert (total, mean) == (2**24, 0.5), (total, mean)
assert (ones.sum(), ones.mean()) == (2**25, 1.0)
assert compiled(ones.astype(np.float64)) == (2**25, 1.0)
PYTHON

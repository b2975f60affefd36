#!/usr/bin/env bash
# numba 0.68.1: in compiled code `np.histogram` with a number of bins puts a value at an edge into the bin above it where
# NumPy 2.4.6 puts it into the one below, since it does not compare it with the edges: 0.3, 0.6 and 0.7 of ten bins of 0
# to 1. With the same edges as an array both agree. One would expect the same counts for the same call. It matters here
# because rounded values, such as shares in percent, lie at edges. Seen: "numba [0 1 1 1 1 1 1 1 1 1], NumPy
# [0 1 2 0 1 2 1 0 1 1]". This fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet numba==0.68.1 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numba
import numpy as np


@numba.njit
def compiled(values, bins):
    return np.histogram(values, bins, (0.0, 1.0))[0]


@numba.njit
def with_edges(values, edges):
    return np.histogram(values, edges)[0]


shares = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9])
counts, (expected, edges) = compiled(shares, 10), np.histogram(shares, 10, (0.0, 1.0))
print(f"numba {counts}, NumPy {expected}")
assert counts.tolist() == [0, 1, 1, 1, 1, 1, 1, 1, 1, 1], counts
assert expected.tolist() == [0, 1, 2, 0, 1, 2, 1, 0, 1, 1], expected
assert with_edges(shares, edges).tolist() == expected.tolist()
PYTHON

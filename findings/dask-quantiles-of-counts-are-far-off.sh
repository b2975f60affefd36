#!/usr/bin/env bash
# Dask 2026.8.0, pandas 3.1.1: quantile of a Series of several partitions puts together the quantiles of each; where
# most values are zeros the result is far from the exact one, and not only a little. One would expect a value near 49,
# as pandas gives, or the error named. It matters here because counts are mostly zeros, and limits for outliers or bins
# are taken from high quantiles. Seen: "Dask: 0.00, pandas: 49.05". This fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet dask[dataframe]==2026.8.0 pandas==3.1.1
"$folder/venv/bin/python" - <<'PYTHON'
import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd

dask.config.set(scheduler="synchronous")
counts = pd.Series(np.concatenate([np.zeros(900), np.arange(100.0)]))
by_dask = dd.from_pandas(counts, npartitions=4).quantile(0.95).compute()
found = f"{by_dask:.2f}", f"{counts.quantile(0.95):.2f}"
print("Dask: {}, pandas: {}".format(*found))
assert found == ("0.00", "49.05"), found
PYTHON

#!/usr/bin/env bash
# scikit-learn 1.9.1: MinMaxScaler and MaxAbsScaler pass over missing numbers, but where a column has none but NaN in
# the first batch of partial_fit, its scale stays NaN whatever comes later. StandardScaler ends at the result of one
# fit. One would expect that of all three. It matters here because a sensor that starts late is common in batches by
# time. Seen: "StandardScaler 1.0 1.0", "MinMaxScaler 0.5 nan" and "MaxAbsScaler 3.0 nan". This fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet scikit-learn==1.9.1
"$folder/venv/bin/python" - <<'PYTHON'
import warnings

import numpy as np
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

rows = np.array([[np.nan], [np.nan], [1.0], [3.0]])
found = {}
for scaler in (StandardScaler, MinMaxScaler, MaxAbsScaler):
    with warnings.catch_warnings(category=RuntimeWarning, action="ignore"):  # the column has no value yet
        batches = scaler().partial_fit(rows[:2])
    batches.partial_fit(rows[2:])
    found[scaler.__name__] = [str(float(each.scale_[0])) for each in (scaler().fit(rows), batches)]
    print(scaler.__name__, *found[scaler.__name__])
assert found == {"StandardScaler": ["1.0", "1.0"], "MinMaxScaler": ["0.5", "nan"], "MaxAbsScaler": ["3.0", "nan"]}
PYTHON

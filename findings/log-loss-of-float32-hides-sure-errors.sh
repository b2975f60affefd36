#!/usr/bin/env bash
# scikit-learn 1.9.1: `log_loss` of float32 probabilities, as XGBoost, LightGBM's GPU code and networks give them, first
# raises each to 1.2e-7, that of the same numbers in float64 to 2.2e-16: a wrong answer given with certainty costs 15.9 in
# place of 36.0. One would expect the dtype to change the last digits only, since float32 holds numbers down to 1e-45. It
# matters here because models are compared by this number. Seen: "float64 0.2303, float32 0.1594". This fails if that
# changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet scikit-learn==1.9.1 numpy==2.4.6
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
from sklearn.metrics import log_loss

y, chances = [1] + [0] * 99, np.full(100, 1e-10)
double, single = log_loss(y, chances), log_loss(y, chances.astype(np.float32))
print(f"float64 {double:.4f}, float32 {single:.4f}")
assert np.isclose(double, -np.log(1e-10) / 100, atol=1e-6), double
assert np.isclose(single, -np.log(np.finfo(np.float32).eps) / 100, atol=1e-4), single
PYTHON

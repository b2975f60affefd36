#!/usr/bin/env bash
# scikit-learn 1.9.1: GaussianNB adds a billionth of the largest variance of all columns to each variance
# (var_smoothing). partial_fit takes that largest variance from its last batch alone, and not from all rows so far, so
# that the same rows give other variances than with fit. One would expect the variances of fit, up to rounding. It
# matters here because naive Bayes is fitted batch by batch to columns of different scale, such as a date beside a
# measurement. Seen: "fit: 11.000, partial_fit: 1.000". This fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet scikit-learn==1.9.1
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
from sklearn.naive_bayes import GaussianNB

# A column of variance 1 beside one that is the same within a batch, and differs between batches.
small = np.tile([-1.0, 1.0], 8)
large = np.repeat([-1e5, 1e5], 8)
rows, labels = np.stack([small, large], axis=1), np.zeros(16, int)
whole = GaussianNB().fit(rows, labels)
batches = GaussianNB()
for part in (slice(0, 8), slice(8, 16)):
    batches.partial_fit(rows[part], labels[part], classes=[0])
found = [f"{model.var_[0, 0]:.3f}" for model in (whole, batches)]
print(f"fit: {found[0]}, partial_fit: {found[1]}")
assert found == ["11.000", "1.000"], found
assert np.array_equal(whole.theta_, batches.theta_)
PYTHON

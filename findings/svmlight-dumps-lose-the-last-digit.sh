#!/usr/bin/env bash
# scikit-learn 1.9.1: dump_svmlight_file writes 16 significant digits, and float64 needs 17, so that 48 of 100 values
# and targets come back as a neighbouring number. One would expect the same numbers, as with repr, CSV of pandas, or
# numpy.savetxt. It matters here because models of the file and of the array then differ in their last bits, and a split
# at a threshold may go the other way. Seen: "48 values and 48 targets of 100 differ". This fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet scikit-learn==1.9.1
"$folder/venv/bin/python" - <<'PYTHON'
import io

import numpy as np
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

rows = np.random.RandomState(0).normal(size=(100, 1))
file = io.BytesIO()
dump_svmlight_file(rows, rows[:, 0], file)
file.seek(0)
values, targets = load_svmlight_file(file)
found = (np.sum(values.toarray() != rows), np.sum(targets != rows[:, 0]))
print(f"{found[0]} values and {found[1]} targets of 100 differ")
assert found == (48, 48), found
assert np.allclose(targets, rows[:, 0], rtol=1e-15)
PYTHON

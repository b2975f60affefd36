#!/usr/bin/env bash
# scikit-learn 1.9.1: dump_svmlight_file(multilabel=True) writes a row that has neither labels nor values as a line of one
# blank, and load_svmlight_file passes over such lines, so that all rows after it move up by one. One would expect as
# many rows as were dumped; rows that have labels or values come back. It matters here because the rows then no longer
# fit to ids, weights or groups that are kept beside the file, and shares of the labels are too large. Seen: "3 rows
# dumped, 2 loaded, the second is the third". This fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet scikit-learn==1.9.1
"$folder/venv/bin/python" -W error - <<'PYTHON'
import io

import numpy as np
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

rows = np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 2.0]])
labels = np.array([[1, 0], [0, 0], [0, 1]])


def loaded(rows, labels):
    file = io.BytesIO()
    dump_svmlight_file(rows, labels, file, multilabel=True)
    file.seek(0)
    values, sets = load_svmlight_file(file, n_features=2, multilabel=True)
    return values.toarray(), sets


values, sets = loaded(rows, labels)
print(f"{len(rows)} rows dumped, {len(values)} loaded, the second is the third")
assert values.tolist() == [[1, 0], [0, 2]] and sets == [(0,), (1,)], (values, sets)
rows[1, 0] = 3.0
values, sets = loaded(rows, labels)
assert values.tolist() == rows.tolist() and sets == [(0,), (), (1,)], (values, sets)
PYTHON

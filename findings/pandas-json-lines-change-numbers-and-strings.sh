#!/usr/bin/env bash
# pandas 3.1.1: `to_json(lines=True)` writes numbers with 10 decimals, so that probabilities below 5e-11 become 0 and 1/3
# loses its last digits, and `read_json(lines=True)` makes whole numbers of strings in quotes where all look like it: zip
# codes lose their leading zeros. Neither says so. One would expect what was written, as PyArrow 26.0.1 and polars read it,
# and as `to_csv` writes it. It matters here because such files carry predictions and identifiers. Seen: "chances
# [0.0, 0.3333333333], codes [1067, 10115]". `double_precision=15` (which is the most) and `dtype=False` help. This fails
# if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet pandas==3.1.1
"$folder/venv/bin/python" - <<'PYTHON'
import io
import json

import pandas as pd

rows = pd.DataFrame({"chance": [1e-12, 1 / 3], "code": ["01067", "10115"]})
text = rows.to_json(orient="records", lines=True)
written = [json.loads(line) for line in text.splitlines()]
again = pd.read_json(io.StringIO(text), lines=True)
print(f"chances {[each['chance'] for each in written]}, codes {again['code'].tolist()}")
assert [each["chance"] for each in written] == [0.0, 0.3333333333], written
assert [each["code"] for each in written] == ["01067", "10115"], written
assert again["code"].tolist() == [1067, 10115], again
assert pd.read_json(io.StringIO(text), lines=True, dtype=False)["code"].tolist() == ["01067", "10115"]
PYTHON

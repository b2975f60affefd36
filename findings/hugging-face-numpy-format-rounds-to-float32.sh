#!/usr/bin/env bash
# datasets 5.2.0 of Hugging Face: with_format("numpy") gives columns of float64 as float32, and columns of whole numbers
# with a missing value, too, so that dates written as 20260131 become other days, and identifiers their neighbours. The
# same rows as pandas or Arrow keep their digits. One would expect the stored type, as for whole numbers without missing
# values, which stay int64. It matters here because this is how such rows get into estimators. Seen: "float64 becomes
# float32; 20260131 beside a missing value becomes 20260132, in pandas 20260131". This fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet datasets==5.2.0
HF_HOME="$folder/home" HF_HUB_OFFLINE=1 "$folder/venv/bin/python" - <<'PYTHON'
from datasets import Dataset, Features, Value

features = Features(price=Value("float64"), whole=Value("int64"), day=Value("int64"))
columns = {"price": [0.1, 0.2], "whole": [2**40 + 1, 1], "day": [20260131, None]}
rows = Dataset.from_dict(columns, features=features)
arrays = rows.with_format("numpy")[:]
day, kept = int(arrays["day"][0]), int(rows.to_pandas()["day"][0])
print(f"float64 becomes {arrays['price'].dtype}; 20260131 beside a missing value becomes {day}, in pandas {kept}")
assert arrays["price"].dtype == arrays["day"].dtype == "float32" and arrays["whole"].dtype == "int64"
assert (day, kept) == (20260132, 20260131)
PYTHON

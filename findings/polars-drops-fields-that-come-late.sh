#!/usr/bin/env bash
# polars 2.1.0: read_ndjson and scan_ndjson learn the columns from the first 100 lines, and a field that occurs only
# later is dropped without a word (values of another type there are an error). One would expect a column with nulls, or
# an error. It matters here because fields that few rows have are common in logs. infer_schema_length=None gives the
# column. Seen: "['a'] ['a', 'b']". This fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet polars==2.1.0
"$folder/venv/bin/python" - <<'PYTHON'
import io

import polars as pl

lines = b'{"a": 1}\n' * 100 + b'{"a": 1, "b": 5}\n'
learned = pl.read_ndjson(io.BytesIO(lines))
whole = pl.read_ndjson(io.BytesIO(lines), infer_schema_length=None)
print(learned.columns, whole.columns)
assert (learned.columns, whole.columns) == (["a"], ["a", "b"])
assert pl.scan_ndjson(io.BytesIO(lines)).collect().shape == (101, 1)
try:
    pl.read_ndjson(io.BytesIO(b'{"a": 1}\n' * 100 + b'{"a": "x"}\n'))
except pl.exceptions.ComputeError as error:
    print(error)
else:
    raise SystemExit("a string in a column of integers is taken")
PYTHON

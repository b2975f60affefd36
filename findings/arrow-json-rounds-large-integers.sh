#!/usr/bin/env bash
# PyArrow 26.0.1: read_json makes doubles of a column of integers where one is beyond 2**63, or one has a fraction,
# without a word. Identifiers beyond 2**53 in it are rounded, and different ones become equal. One would expect uint64
# for the first, or an error. It matters here because hashes of 64 bits are written into JSON as numbers, and used as
# groups and keys. Seen: "double 9.223372036854776e+18 9.223372036854776e+18". This fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet pyarrow==26.0.1
"$folder/venv/bin/python" - <<'PYTHON'
import io

import pyarrow.json

table = pyarrow.json.read_json(io.BytesIO(b'{"id": 9223372036854775809}\n{"id": 9223372036854775807}\n'))
print(table["id"].type, *table["id"].to_pylist())
assert str(table["id"].type) == "double" and len(table["id"].unique()) == 1, table
table = pyarrow.json.read_json(io.BytesIO(b'{"id": 9223372036854775806}\n{"id": 9223372036854775807}\n'))
assert str(table["id"].type) == "int64" and len(table["id"].unique()) == 2, table
PYTHON

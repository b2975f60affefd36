#!/usr/bin/env bash
# Polars 2.1.0, PyArrow 26.0.1: a column of Python objects (dtype Object) goes to Arrow without an error, and what
# arrives are eight bytes a row, fixed_size_binary[8], which are not the values: strings in it are lost. One would
# expect an error, or strings where all objects are strings.
# It matters here because data frames of any package are read through Arrow.
# Seen: "c: fixed_size_binary[8]", and no value is b"red" or "red". This fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet polars==2.1.0 pyarrow==26.0.1
"$folder/venv/bin/python" - <<'PYTHON'
import polars as pl
import pyarrow as pa

frame = pl.DataFrame({"c": pl.Series(["red", "green"], dtype=pl.Object)})
table = pa.table(frame)
print(table.schema)
assert table.schema.field("c").type == pa.binary(8), table.schema
assert not {"red", b"red", b"red\0\0\0\0\0"} & set(table["c"].to_pylist())
PYTHON

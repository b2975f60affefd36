#!/usr/bin/env bash
# Polars 2.1.0, PyArrow 26.0.1: a data frame with a column of Int128 cannot become an Arrow table, although Arrow has
# decimal128, and the error is PyArrow's of a format string, which names no column. One would expect a decimal of 38
# digits, as DuckDB makes of its hugeint, or an error of Polars that names the column.
# Seen: "ArrowInvalid Invalid or unsupported format string: '_pli128'". This fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet polars==2.1.0 pyarrow==26.0.1
"$folder/venv/bin/python" - <<'PYTHON'
import polars as pl
import pyarrow as pa

frame = pl.DataFrame({"name": ["a", "b"], "key": pl.Series([1, 2], dtype=pl.Int128)})
try:
    table = pa.table(frame)
except pa.ArrowInvalid as error:
    print(type(error).__name__, error)
    assert "_pli128" in str(error) and "key" not in str(error), error
else:
    raise SystemExit(f"Arrow has the column: {table.schema}")
assert pa.table(frame.with_columns(pl.col("key").cast(pl.Int64)))["key"].to_pylist() == [1, 2]
PYTHON

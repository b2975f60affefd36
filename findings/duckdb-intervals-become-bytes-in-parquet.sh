#!/usr/bin/env bash
# DuckDB 2.0.1, PyArrow 26.0.1: a column of INTERVAL that DuckDB writes to Parquet is read by PyArrow as twelve bytes a
# row, fixed_size_binary[12], of months, days and milliseconds; handed over without a file, the same column is an
# interval of Arrow (month_day_nano_interval). One would expect one type on both ways.
# Seen: "fixed_size_binary[12] month_day_nano_interval". This fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet duckdb==2.0.1 pyarrow==26.0.1
"$folder/venv/bin/python" - "$folder/spans.parquet" <<'PYTHON'
import sys

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

spans = duckdb.sql("select interval 2 month + interval 3 day as span")
spans.write_parquet(sys.argv[1])
stored = pq.read_table(sys.argv[1])["span"]
handed = spans.to_arrow_table()["span"]
print(stored.type, handed.type)
assert stored.type == pa.binary(12) and handed.type == pa.month_day_nano_interval(), (stored.type, handed.type)
assert stored[0].as_py() == (2).to_bytes(4, "little") + (3).to_bytes(4, "little") + bytes(4)
PYTHON

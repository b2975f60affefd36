#!/usr/bin/env bash
# PyArrow 26.0.1: timestamps that Parquet holds as INT96, as Spark, Hive and Impala write them, are read in nanoseconds,
# and dates that these cannot hold (before 1678, after 2262) become other dates, without an error. One would expect
# an error, as when such dates are cast to nanoseconds. coerce_int96_timestamp_unit="us" reads the right ones.
# It matters here because 9999-12-31 stands for "no end" in many warehouses.
# Seen: "1816-03-29 05:56:08.066277376" and "1754-08-30 22:43:41.128654848". This fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet pyarrow==26.0.1
"$folder/venv/bin/python" - "$folder/dates.parquet" <<'PYTHON'
import datetime
import sys

import pyarrow as pa
import pyarrow.parquet as pq

dates = [datetime.datetime(9999, 12, 31), datetime.datetime(1, 1, 1)]
table = pa.table({"until": pa.array(dates, pa.timestamp("us"))})
pq.write_table(table, sys.argv[1], use_deprecated_int96_timestamps=True)
found = pq.read_table(sys.argv[1])["until"].cast(pa.string()).to_pylist()
print(*found)
assert found == ["1816-03-29 05:56:08.066277376", "1754-08-30 22:43:41.128654848"], found
assert pq.read_table(sys.argv[1], coerce_int96_timestamp_unit="us")["until"].to_pylist() == dates
try:
    table["until"].cast(pa.timestamp("ns"))
except pa.ArrowInvalid as error:
    print("a cast of the same dates raises:", error)
else:
    raise SystemExit("a cast of the same dates to nanoseconds works")
PYTHON

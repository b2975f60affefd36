#!/usr/bin/env bash
# DuckDB 2.0.1, PyArrow 26.0.1: while a reader of record batches of a relation is not read to its end, or closed, the
# next query of the same connection raises. One would expect that a query that was handed over as a reader stands by
# itself: whoever looks at the first batch and then asks for a count is stopped.
# This fails if a query beside an open reader works, or raises something else.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet duckdb==2.0.1 pyarrow==26.0.1
"$folder/venv/bin/python" - <<'PYTHON'
import duckdb

connection = duckdb.connect()
connection.execute("create table flights as select range as number from range(100000)")
reader = connection.sql("select number from flights").to_arrow_reader(1000)
assert reader.read_next_batch().num_rows == 1000
try:
    found = connection.execute("select count(*) from flights").fetchall()
except duckdb.Error as error:
    print(type(error).__name__, str(error).splitlines()[0])
    assert type(error).__name__ == "ResourceInUseException", error
else:
    raise SystemExit(f"a query beside an open reader works: {found}")
for _ in reader:
    pass
assert connection.execute("select count(*) from flights").fetchall() == [(100_000,)]
PYTHON

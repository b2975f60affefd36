#!/usr/bin/env bash
# DuckDB 2.0.1, PyArrow 26.0.1: where a field of JSON lines is a number in some rows and a string in others, read_json
# makes a column of JSON texts of it, so that strings keep their quotes, also when the column goes to Arrow as strings.
# In a column of strings alone they have none. One would expect bare strings in both, or an error. It matters here
# because the same postal code is then two categories. Seen: '10115 "1011A"' and '1011A'. This fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet duckdb==2.0.1 pyarrow==26.0.1
"$folder/venv/bin/python" - "$folder/zips.jsonl" <<'PYTHON'
import sys

import duckdb


def zips(*lines):
    with open(sys.argv[1], "w") as file:
        file.writelines(line + chr(10) for line in lines)
    table = duckdb.read_json(sys.argv[1]).to_arrow_table()
    return [str(zip) for zip in table["zip"].to_pylist()]


mixed, alone = zips('{"zip": 10115}', '{"zip": "1011A"}'), zips('{"zip": "1011A"}')
print(*mixed, "|", *alone)
assert mixed == ["10115", '"1011A"'], mixed
assert alone == ["1011A"], alone
PYTHON

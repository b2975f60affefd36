#!/usr/bin/env bash
# PyArrow 26.0.1: 0.0 and -0.0, which are equal (pc.equal says so), are two groups of Table.group_by, two values of
# unique, and do not meet in a join. polars 2.1.0 has one group. One would expect that equal numbers are one group. It
# matters here because rounding small negative numbers gives -0.0 in columns of categories. Seen: "Arrow: [1, 2],
# polars: [3]". This fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet pyarrow==26.0.1 polars==2.1.0
"$folder/venv/bin/python" - <<'PYTHON'
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

table = pa.table({"key": [0.0, -0.0, -0.0], "count": [1, 1, 1]})
by_arrow = table.group_by("key", use_threads=False).aggregate([("count", "sum")])["count_sum"].to_pylist()
by_polars = pl.from_arrow(table).group_by("key").agg(pl.col("count").sum())["count"].to_list()
print(f"Arrow: {by_arrow}, polars: {by_polars}")
assert (by_arrow, by_polars) == ([1, 2], [3])
assert pc.all(pc.equal(table["key"], 0.0)).as_py() and len(pc.unique(table["key"])) == 2
joined = table.join(pa.table({"key": [0.0], "name": ["nought"]}), "key", join_type="inner")
assert joined.num_rows == 1, joined
PYTHON

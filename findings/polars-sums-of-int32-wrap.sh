#!/usr/bin/env bash
# polars 2.1.0: the sum of a column of Int8 or Int16 is an Int64, but that of Int32 is an Int32, which wraps without a
# word; so is it within group_by. Counts in Int32 (as R and many Parquet files have them) get negative totals. One would
# expect Int64 for all small types, as in PyArrow 26.0.1. Seen: "polars: -2147483648, Arrow: 2147483648". This fails if
# that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet polars==2.1.0 pyarrow==26.0.1
"$folder/venv/bin/python" - <<'PYTHON'
import polars as pl
import pyarrow.compute as pc

counts = pl.Series("count", [2**31 - 1, 1], dtype=pl.Int32)
by_polars, by_arrow = counts.sum(), pc.sum(counts.to_arrow()).as_py()
print(f"polars: {by_polars}, Arrow: {by_arrow}")
assert (by_polars, by_arrow) == (-(2**31), 2**31)
assert pl.Series([127, 1], dtype=pl.Int8).sum() == 128
groups = pl.DataFrame({"key": ["a", "a"], "count": counts}).group_by("key").agg(pl.col("count").sum())
assert groups["count"].to_list() == [-(2**31)], groups
PYTHON

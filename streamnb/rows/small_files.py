"""Reads small files of a table, or of texts, by Arrow alone: a process that scores a few rows starts quickly."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from streamnb.rows.files import CSV, ENDINGS, JSON, PARQUET, pyarrow_for
from streamnb.rows.table_columns import BOOLEAN, CATEGORY, DATE, NUMBER, type_in_lines

SMALL = 1 << 22  # bytes
DELIMITERS = ",;\t|"


def read_small(path: Any, kinds: Mapping[str, str | None], most_rows: int) -> Any:
    """An Arrow table with columns of these kinds, or the records of JSON lines.

    None for a file that is large, not here, or of another format, and where anything is wrong with it: whoever reads
    large files tells what.
    """
    file = Path(path)
    form = ENDINGS.get(file.suffix)
    try:
        if form not in (PARQUET, CSV, JSON) or file.stat().st_size > SMALL:
            return None
        if form == JSON:
            return [json.loads(line) for line in file.read_text("utf-8").split("\n") if line.strip()]
        return _parquet(file, [*kinds], most_rows) if form == PARQUET else _csv(file, kinds)
    except (OSError, ValueError, LookupError, NotImplementedError):
        return None


def _parquet(file: Path, names: list[str], most_rows: int) -> Any:
    pyarrow_for("a .parquet file")
    import pyarrow.parquet as pq

    parquet = pq.ParquetFile(file, coerce_int96_timestamp_unit="us")
    return parquet.read(names) if parquet.metadata.num_rows <= most_rows else None


def _csv(file: Path, kinds: Mapping[str, str | None]) -> Any:
    pyarrow_for("a .csv file")
    from pyarrow import csv

    if not {*kinds.values()} <= {NUMBER, BOOLEAN, CATEGORY, DATE}:
        return None
    with file.open(encoding="utf-8") as lines:
        heading = lines.readline()
    types = {name: type_in_lines(kind) or "string" for name, kind in kinds.items()}
    convert = csv.ConvertOptions(include_columns=[*kinds], column_types=types, strings_can_be_null=True)
    parse = csv.ParseOptions(delimiter=max(DELIMITERS, key=heading.count), newlines_in_values=True)
    return csv.read_csv(file, parse_options=parse, convert_options=convert)

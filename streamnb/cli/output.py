"""Writes results: tables by file extension, data to stdout, messages to stderr."""

import csv
import io
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
import numpy as np

from streamnb.cli.given import new_file
from streamnb.core.stored_files import replacing, replacing_folder

AT_ONCE = 1 << 16  # rows that are converted to Python objects at a time
ENDINGS = (".csv", ".tsv", ".parquet", ".npy", ".jsonl")
DELIMITERS = {".csv": ",", ".tsv": "\t"}


def check_ending(path: Path | None) -> None:
    """Refuse a file extension that no table can be written to."""
    if path is not None and path.suffix not in ENDINGS:
        raise click.BadParameter(f"{str(path)!r} should end with one of {', '.join(ENDINGS)}", param_hint="-o")


def write_table(columns: dict[str, np.ndarray], path: Path | None) -> None:
    """Write columns to a file, or as CSV to stdout."""
    if path is None:
        _write_lines(columns, ".csv", sys.stdout)
        return
    with replacing(path) as file:
        if path.suffix == ".npy":
            only = list(columns.values())
            np.save(file, only[0] if len(only) == 1 else np.column_stack(only[1:]), allow_pickle=False)
        elif path.suffix == ".parquet":
            from streamnb.rows.table_opening import write_parquet

            write_parquet(columns, file)
        else:
            text = io.TextIOWrapper(file, "utf-8", newline="")
            _write_lines(columns, path.suffix, text)
            text.detach()


@contextmanager
def new_store(store: str, force: bool) -> Iterator[str]:
    """Yield the path to write a store to: a new folder that replaces `store` once it is complete, or a URL itself."""
    if "://" in store:
        yield store
        return
    with replacing_folder(Path(new_file(store, force, "STORE") or store)) as new:
        yield str(new)


def write_json(found: Any) -> None:
    """Print a value to stdout as JSON, which has null for numbers that are not finite."""
    finite = json.loads(json.dumps(found, default=_plain), parse_constant=lambda _: None)
    click.echo(json.dumps(finite))


def _write_lines(columns: dict[str, np.ndarray], ending: str, file: Any) -> None:
    """Write a line of CSV, TSV or JSON for each row; JSON has null for numbers that are not finite."""
    nothing = np.array(None)
    table = csv.writer(file, delimiter=DELIMITERS.get(ending, ","), lineterminator="\n")
    if ending in DELIMITERS:
        table.writerow(columns)
    for first in range(0, len(next(iter(columns.values()))), AT_ONCE):
        parts = [column[first : first + AT_ONCE] for column in columns.values()]
        if ending in DELIMITERS:
            table.writerows(zip(*(part.tolist() for part in parts), strict=True))
            continue
        parts = [np.where(np.isfinite(part), part, nothing) if part.dtype.kind == "f" else part for part in parts]
        for row in zip(*(part.tolist() for part in parts), strict=True):
            file.write(f"{json.dumps(dict(zip(columns, row, strict=True)), default=_plain)}\n")


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else str(value)

"""Raw rows for the examples of contracts: a matrix as texts and as a table, and columns of several kinds."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import streamnb as snb
from streamnb.encoding.table_codes import TableCounts
from streamnb.rows.opening import opened
from streamnb.rows.source import FoldRows
from streamnb.rows.splits import Folding
from streamnb.rows.table_columns import LEVEL, MEASURE, ColumnPart
from streamnb.rows.table_opening import open_tables
from streamnb.rows.tables import NumberSource, TableSource
from streamnb.rows.texts import TextSource

N = 40
WORDS = ["ash", "beech", "cedar", "elm", "fir"]


def texts_of(X: np.ndarray, y: np.ndarray, weight: np.ndarray, folder: Any = None) -> TextSource:
    """Counts as words, in memory or in JSON lines."""
    words = [" ".join(word for n, word in zip(row, WORDS) for _ in range(int(n))) for row in X]
    if folder is None:
        return snb.text(words, y=y, weight=weight, vocabulary=WORDS, n_threads=2)
    records = ({"of": text, "y": label, "w": w} for text, label, w in zip(words, y.tolist(), weight.tolist()))
    (folder / "texts.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    return snb.text(folder / "texts.jsonl", "of", "y", weight="w", vocabulary=WORDS, n_threads=1)


def table_of(X: np.ndarray, y: Any, weight: Any, folder: Any = None) -> TableSource:
    """A matrix as columns of a table, in memory or in Parquet."""
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]).assign(of=y, w=weight)
    options: Any = {"y": "of", "weight": "w", "bins": None, "n_threads": 2}
    if folder is None:
        return snb.table(frame, **options)
    frame.to_parquet(folder / "rows.parquet", row_group_size=7)
    return snb.table(folder / "rows.parquet", **options)


def numbers_of(X: np.ndarray, y: Any, weight: Any, folder: Path | None = None) -> NumberSource:
    """A matrix as numbers of a table that stay as they are, in memory or in Parquet."""
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]).assign(of=y, w=weight)
    names, rows = [*frame.columns[:-2]], frame if folder is None else folder / "rows.parquet"
    if folder is not None:
        frame.to_parquet(rows, row_group_size=7)
    return NumberSource.of(open_tables(rows, {}, 1), names, "of", "w", 2)


def kinds_of_columns(most: int = 9) -> tuple[TableCounts, TableSource]:
    """Numbers of which some are missing, and categories, some of more values than are counted; counts, and rows."""
    real = np.random.default_rng(0).normal(size=N)
    real[real > 1.0] = np.nan
    frame = pd.DataFrame({"real": real, "of": np.array(["ash", "birch", None])[np.arange(N) % 3], "row": np.arange(N)})
    parts = ColumnPart(("real",), MEASURE), *(ColumnPart(of, LEVEL) for of in (("of",), ("row",), ("of", "row")))
    kinds = {"real": "number", "of": "category", "row": None}
    return TableCounts(parts, most), TableSource.of_columns(open_tables(frame, {}, 1), kinds, {}, None, None, 1)


def counted_columns(seed: int) -> TableCounts:
    """What is known of nine of the rows."""
    counts, rows = kinds_of_columns()
    for block in rows.blocks(9 * seed, 9 * seed + 9):
        counts.add_block(block)
    return counts.finish()


def outside_a_fold(
    X: np.ndarray, y: np.ndarray, weight: np.ndarray
) -> tuple[Callable[[Any], FoldRows], dict[str, Any]]:
    """Rows of which one fold weighs nothing, and what is read of them."""
    left = np.where(snb.fold_numbers(len(y), 3) == 1, 0.0, weight)
    return lambda _: FoldRows(opened(X, y, weight), Folding(3), 1, inside=False), {"X": X, "y": y, "weight": left}

"""A column of texts of a table, read like texts in files."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from streamnb.rows.tables import Fields, Tables, check_has
from streamnb.rows.texts import Job, Texts, of_arrow


class TextColumn:
    """The texts of a column of Parquet or Arrow IPC files; `y` and `weight` name columns beside it."""

    def __init__(self, tables: Tables, text: str | None, y: str | None, weight: str | None):
        if text is None:
            raise ValueError("text=None, but the files are tables; name the column that holds the text")
        for name, argument in ((text, "text"), (y, "y"), (weight, "weight")):
            check_has(tables.schema, [] if name is None else [name], argument)
        self._tables, self._text = tables.selected(Fields((text,), y, weight)), text
        self.n_rows, self.nbytes, self.files, self.step = tables.n_rows, self._tables.nbytes, tables.files, tables.step

    def jobs(self, start: int, stop: int) -> Iterator[Job]:
        for first_row, read in self._tables.jobs(start, stop):
            yield first_row, partial(self._texts, read, first_row)

    def _texts(self, read: Any, first_row: int) -> Texts:
        return texts_of(read(), self._text, first_row)

    def column(self, column: str, name: str) -> np.ndarray:
        """All values of another column, read like labels."""
        return self._tables.column(column, name)


def texts_of(rows: Any, text: str, first_row: int) -> Texts:
    """The texts in a column of rows of a table, with labels, weights and what is beside them."""
    found = of_arrow(rows.columns.column(text), first_row, rows.where, f"has no text in {text!r}")
    return Texts(found.buffer, found.starts, found.stops, rows.y, rows.weight, rows.where, rows.beside)

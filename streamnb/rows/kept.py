"""Rows that are read several times: what was made of them is kept in memory where there is room."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Self

import numpy as np

from streamnb.core import row_checks
from streamnb.rows.block import Block
from streamnb.rows.boundary import checked
from streamnb.rows.chunk import CSRChunk, frozen
from streamnb.rows.of_another import SourceOfAnother
from streamnb.rows.preparing import RowOptions, transformed
from streamnb.rows.source import Source

ALIKE = "n_rows", "n_features", "n_values", "nbytes", "stored", "files", "reading", "group", "in_memory", "dtype"


class KeptSource(SourceOfAnother):
    """The rows of another source, not of Dask, whose blocks are made once where all of them fit.

    Parameters
    ----------
    rows : Source
    room : int
        Bytes of X that are kept at most; rows of more are made with each read, as without this.
    """

    def __init__(self, rows: Source, room: int):
        self._rows, self._room = rows, room
        self._kept: dict[tuple[int, int | None, bool], list[Block]] = {}
        for name in ALIKE:
            setattr(self, name, getattr(rows, name))

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        asked = start, stop, self.values_matter
        if asked in self._kept:
            yield from self._kept[asked]
            return
        made: list[Block] = []
        left = self._room - sum(block.nbytes for blocks in self._kept.values() for block in blocks)
        for block in self._rows.blocks(start, stop):
            left -= block.nbytes
            if left >= 0:
                made.append(block)
            else:
                made.clear()
            yield block
        if left >= 0:
            self._kept[asked] = made

    def with_split(self, name: str, values: object) -> Self:
        part = super().with_split(name, values)
        part._kept = {}  # which lack it
        return part

    def cut(self, start: int, stop: int) -> Self:
        part = super().cut(start, stop)
        part._kept, part._room = {}, 0  # whoever it is sent to reads these rows once
        return part


class NarrowSource(SourceOfAnother):
    """The rows of another source, not of Dask, as a model takes them: prepared, and without columns that are all 0.

    Of 2^18 columns of hashed words a fifth is in use, and the arrays of a read are as long as there are columns.

    Parameters
    ----------
    rows : Source
    options : RowOptions
        What is done to a row.
    columns : (n_columns,) ints, ascending
    n_features : int
        Columns of `rows`, which are 0 in all of these but for `columns`.
    """

    def __init__(self, rows: Source, options: RowOptions, columns: np.ndarray, n_features: int):
        self._rows, self._options, self._columns = rows, options, columns
        self._places = np.full(n_features, -1, np.int32)
        self._places[columns] = np.arange(len(columns), dtype=np.int32)
        for name in ALIKE:
            setattr(self, name, getattr(rows, name))
        self.n_features = len(columns)

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        for block in self._rows.blocks(start, stop):
            chunk, survey = checked(block)
            row_checks.check_n_features(chunk.shape[1], len(self._places), "the first read")
            chunk, _ = transformed(chunk, survey, self._options)
            if isinstance(chunk, CSRChunk):
                places = self._places[chunk.indices]
                if (places < 0).any():  # of values that count for nothing: zeros, and those of rows of weight 0
                    chunk = chunk.of_columns(self._columns)
                    places = chunk.indices
                arrays = None if chunk.ones else chunk.data, frozen(places), chunk.indptr
                nbytes = sum(0 if array is None else array.nbytes for array in arrays)
                yield replace(block, X=(*arrays, len(self._columns)), nbytes=nbytes)
            else:
                values = chunk.of_columns(self._columns).values
                yield replace(block, X=values, nbytes=values.nbytes)

    def layout(self) -> dict[str, str]:
        columns = f"{len(self._columns)} of {len(self._places)}"
        return {**super().layout(), "columns": columns, "options": repr(self._options)}


def kept(rows: Source, room: int) -> Source:
    """Rows whose features are made as they are read, which takes longer than to sum them, made once."""
    return KeptSource(rows, room) if rows.making_takes and not rows.lazy else rows

"""Several columns of one length read side by side, such as labels and scores without X."""

from collections.abc import Iterator, Mapping
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
import zarr

from streamnb.core import label_checks
from streamnb.core.arguments import as_array
from streamnb.rows import sizes
from streamnb.rows.block import Block
from streamnb.rows.labels import ColumnsByName, InMemory, Stored, in_zarr
from streamnb.rows.matrices import check_not_delayed, dask_array, is_dask
from streamnb.rows.source import Source
from streamnb.rows.zarr_reading import Clock, Readers


class NamedColumns(Source):
    """Columns in memory or in Zarr; X of their blocks is a dict of arrays."""

    def __init__(self, columns: Mapping[str, Any]):
        self.columns, parts = {**columns}, dict[str, Any]()
        for name, values in columns.items():
            if isinstance(values, zarr.Group):
                parts[name] = self.columns[name] = in_zarr(values, name)
            else:
                parts[name] = (Stored if isinstance(values, zarr.Array) else InMemory)(values)
        self.reading, self._parts = Clock(), ColumnsByName(parts)
        self.n_rows = self._parts.n_rows
        widths = [np.shape(values)[1] for values in columns.values() if len(np.shape(values)) == 2]
        self._step = sizes.rows_of_block(8 * max([1, *widths]))

    @property
    def arrays(self) -> tuple[zarr.Array, ...]:
        return self._parts.arrays

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        end = self.n_rows or 0 if stop is None else stop
        with Readers(self.reading) as readers:
            ask = self._parts.reader(start, readers)
            for row in range(start, max(end, start + 1), self._step):  # at least one block
                until = min(row + self._step, end)
                yield Block(ask(row, until)(), None, None, None, row, 0)

    def row_columns(self, step: int) -> Iterator[dict[str, Any]]:
        return (block.X for block in self.blocks())

    def cut(self, start: int, stop: int) -> Self:
        part = super().cut(start, stop)
        part.columns, part._parts = {}, self._parts.cut(start, stop)
        return part


class DaskColumns(Source):
    """Columns of which at least one is a Dask array; the others are cut at its blocks."""

    lazy = True
    X = None

    def __init__(self, columns: Mapping[str, Any]):
        self.columns = {**columns}
        for name, values in columns.items():
            if isinstance(values, zarr.Group):
                self.columns[name] = in_zarr(values, name).whole()
        self.lead = next(name for name, values in columns.items() if is_dask(values))


def opened_columns(given: Mapping[str, Any], labels: tuple[str, ...] = ()) -> Source:
    """Open columns as a source of rows; each is a NumPy, Dask or Zarr array, CSR, or array-like.

    `labels` names the columns that hold labels, 1-D, or an indicator matrix of labels, 2-D.
    """
    check_not_delayed(**given)
    columns = {name: _as_column(name, values, name in labels) for name, values in given.items()}
    return (DaskColumns if any(map(is_dask, columns.values())) else NamedColumns)(columns)


def _as_column(name: str, values: Any, is_label: bool) -> Any:
    """Keep Dask and Zarr arrays and CSR; convert anything else to a NumPy array, with labels checked."""
    if is_dask(values):
        values = dask_array(values)
    elif isinstance(values, zarr.Group):
        return values
    elif sp.issparse(values):
        values = sp.csr_array(values)
    elif is_label and not isinstance(values, zarr.Array) and as_array(name, values).ndim != 2:
        values = label_checks.check_labels(values, name)
    elif not isinstance(values, np.ndarray | zarr.Array):
        values = as_array(name, values)
    if values.ndim not in (1, 2):
        raise ValueError(f"{name} has shape {values.shape}; it should have one dimension or two")
    return values

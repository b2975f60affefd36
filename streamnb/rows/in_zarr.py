"""Dense or CSR rows in Zarr."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import zarr

from streamnb.core.messages import DataError
from streamnb.rows import sizes
from streamnb.rows.block import Block
from streamnb.rows.csr_store import CSRCursor, CSRStore
from streamnb.rows.labels import Pending, RowColumns
from streamnb.rows.source import Source, multiple
from streamnb.rows.zarr_reading import Cursor, Readers, ahead, check_complete


class ZarrSource(Source):
    """Rows of a dense Zarr array."""

    def __init__(self, X: zarr.Array, columns: RowColumns):
        super().__init__(columns)
        self._X = X
        self.n_rows, self.n_features = X.shape
        self.n_values, self.nbytes, self.stored = X.size, X.nbytes, (X,)

    def layout(self) -> dict[str, str]:
        return {"X": _layout(self._X)}

    def rows_near(self, n_rows: int) -> int:
        return multiple((self._X.shards or self._X.chunks)[0], n_rows)

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        end = (self.n_rows or 0) if stop is None else stop
        with Readers(self.reading) as readers:
            ask, pending = self._columns.reader(start, readers), self._pending_rows(readers, start, end)
            yield from ahead(partial(self._block, rows, ask(row, until), row) for row, until, rows in pending)

    def _pending_rows(self, readers: Readers, start: int, stop: int) -> Iterator[tuple[int, int, Callable[[], Any]]]:
        """Yield the first row, the end row and a function that waits for the rows, for all in [start, stop)."""
        rows = Cursor(self._X, start, readers)
        step = sizes.rows_of_block(self._X.dtype.itemsize * self._X.shape[1])
        while start < stop:
            until = min(rows.aligned(start + step), stop)
            yield start, until, rows.ask(until)
            start = until

    def _block(self, rows: Callable[[], Any], columns: Pending, first_row: int) -> Block:
        X = rows()
        if not isinstance(X, tuple):
            return Block(X, *columns(), first_row, X.nbytes)
        nbytes = sum(array.nbytes for array in X if array is not None)
        return Block((*X, self.n_features), *columns(), first_row, nbytes)


class ZarrCSRSource(ZarrSource):
    """Rows of a CSR matrix in a Zarr group, in AnnData's layout."""

    def __init__(self, store: CSRStore, columns: RowColumns):
        Source.__init__(self, columns)
        check_complete(*store.arrays)
        self._store = store
        self.n_rows, self.n_features = store.shape
        self.n_values, self.stored = store.data.shape[0], store.arrays
        self.nbytes = sum(array.nbytes for array in store.arrays)

    def layout(self) -> dict[str, str]:
        return {"data of X": _layout(self._store.data), "indices of X": _layout(self._store.indices)}

    def rows_near(self, n_rows: int) -> int:
        # which rows end with a chunk of values would take a read of indptr; its chunks, often those of labels, must do
        unit = (self._store.indptr.shards or self._store.indptr.chunks)[0]
        return multiple(unit, n_rows) if n_rows >= unit else n_rows

    def _pending_rows(self, readers: Readers, start: int, stop: int) -> Iterator[tuple[int, int, Callable[[], Any]]]:
        """As for a dense array: a block ends with the last row that lies entirely within the chunks read for it.

        A row cut by a chunk boundary goes to the next block. Each chunk of each array is read once; values are None,
        and not read, if the caller does not need them and all are positive.
        """
        store = self._store
        rows = CSRCursor(store, start, self.values_matter or not store.positive, readers)
        target = max(sizes.BLOCK_BYTES // (store.data.dtype.itemsize + store.indices.dtype.itemsize), 1)
        while rows.row < stop:
            first, last = rows.row, rows.row_near(target, min(rows.row + sizes.BLOCK_ROWS, stop))
            yield first, last, rows.ask(last)
        if stop == store.shape[0] and rows.position != store.data.shape[0]:
            n_values = store.data.shape[0]
            raise DataError(f"X: {store.where}: indptr ends at {rows.position}, but data has {n_values} entries")


def _layout(array: zarr.Array) -> str:
    return f"{array.dtype} {array.shape} in chunks of {array.shards or array.chunks}"

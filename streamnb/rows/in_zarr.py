"""Dense or CSR rows in Zarr."""

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import zarr

from streamnb.rows import sizes
from streamnb.rows.block import Block
from streamnb.rows.csr_store import CSRArrays, CSRStore
from streamnb.rows.labels import Pending, RowColumns
from streamnb.rows.source import Source, multiple
from streamnb.rows.zarr_reading import Cursor, Readers, ahead


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
        with Readers(self.reading) as readers:
            yield from ahead(self._pending_blocks(readers, start, self._X.shape[0] if stop is None else stop))

    def _pending_blocks(self, readers: Readers, start: int, end: int) -> Iterator[Callable[[], Block]]:
        rows, ask = Cursor(self._X, start, readers), self._columns.reader(start, readers)
        step = max(sizes.BLOCK_BYTES // max(self._X.dtype.itemsize * self._X.shape[1], 1), 1)
        while start < end:
            stop = min(rows.aligned(start + min(step, sizes.BLOCK_ROWS)), end)
            yield partial(self._block, rows.ask(stop), ask(start, stop), start)
            start = stop

    def _block(self, rows: Callable[[], np.ndarray], columns: Pending, first_row: int) -> Block:
        X = rows()
        return Block(X, *columns(), first_row, X.nbytes)


class ZarrCSRSource(Source):
    """Rows of a CSR matrix in a Zarr group, in AnnData's layout."""

    def __init__(self, store: CSRStore, columns: RowColumns):
        super().__init__(columns)
        store.check_complete()
        self._store = store
        self.n_rows, self.n_features, self.nbytes = store.n_rows, store.n_features, store.nbytes
        self.n_values = store.data.shape[0]
        self.stored = store.data, store.indices, store.indptr

    def layout(self) -> dict[str, str]:
        return {"data of X": _layout(self._store.data), "indices of X": _layout(self._store.indices)}

    def rows_near(self, n_rows: int) -> int:
        # which rows end with a chunk of values would take a read of indptr; its chunks, often those of labels, must do
        unit = (self._store.indptr.shards or self._store.indptr.chunks)[0]
        return multiple(unit, n_rows) if n_rows >= unit else n_rows

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        with Readers(self.reading) as readers:
            yield from ahead(self._pending_blocks(readers, start, self._store.n_rows if stop is None else stop))

    def _pending_blocks(self, readers: Readers, start: int, stop: int) -> Iterator[Callable[[], Block]]:
        ask = self._columns.reader(start, readers)
        blocks = self._store.blocks(readers, sizes.BLOCK_BYTES, sizes.BLOCK_ROWS, self.values_matter, start, stop)
        for row, until, arrays in blocks:
            yield partial(self._block, arrays, ask(row, until), row)

    def _block(self, rows: Callable[[], CSRArrays], columns: Pending, first_row: int) -> Block:
        arrays = rows()
        nbytes = sum(a.nbytes for a in arrays if a is not None)
        return Block((*arrays, self.n_features), *columns(), first_row, nbytes)


def _layout(array: zarr.Array) -> str:
    return f"{array.dtype} {array.shape} in chunks of {array.shards or array.chunks}"

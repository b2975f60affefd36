"""Rows in memory."""

from collections.abc import Iterator
from typing import Any

import scipy.sparse as sp

from streamnb.rows import sizes
from streamnb.rows.block import Block
from streamnb.rows.labels import RowColumns
from streamnb.rows.source import Source


class ArraySource(Source):
    """Rows in memory: NumPy or SciPy CSR."""

    in_memory = True

    def __init__(self, X: Any, columns: RowColumns):
        super().__init__(columns)
        self._X = X
        self.n_rows, self.n_features = X.shape
        self.nbytes = X.data.nbytes + X.indices.nbytes if sp.issparse(X) else X.nbytes
        self.n_values, self.dtype = X.size, X.dtype

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        n_rows = self.n_rows or 0
        ask, end = self._columns.reader(start), n_rows if stop is None else stop
        step = max(sizes.BLOCK_BYTES, self.longer_blocks) * n_rows // max(self.nbytes, 1)
        step = min(max(step, 1), sizes.BLOCK_ROWS)
        for row in range(start, end, step):
            until = min(row + step, end)
            if sp.issparse(self._X):
                first, last = self._X.indptr[[row, until]]
                data, indices = self._X.data[first:last], self._X.indices[first:last]
                X: Any = (data, indices, self._X.indptr[row : until + 1], self.n_features)
                nbytes = data.nbytes + indices.nbytes
            else:
                X = self._X[row:until]
                nbytes = X.nbytes
            y, weight, split = ask(row, until)()
            yield Block(X, y, weight, split, row, nbytes)

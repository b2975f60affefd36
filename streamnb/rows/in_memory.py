"""Rows in memory: NumPy and SciPy arrays, and streams of chunks."""

from collections.abc import Iterable, Iterator
from typing import Any
from zlib import crc32

import numpy as np
import scipy.sparse as sp

from streamnb.core import row_checks
from streamnb.core.csr import as_csr
from streamnb.rows import sizes
from streamnb.rows.block import Block, cut_csr
from streamnb.rows.labels import RequestColumns, RowColumns, y_check
from streamnb.rows.matrices import as_matrix
from streamnb.rows.source import Source
from streamnb.rows.zarr_reading import timed


class ArraySource(Source):
    """Rows in a NumPy array or a SciPy CSR matrix."""

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
                data, indices, indptr = cut_csr(self._X.data, self._X.indices, self._X.indptr, row, until)
                X: Any = (data, indices, indptr, self.n_features)
                nbytes = data.nbytes + indices.nbytes
            else:
                X = self._X[row:until]
                nbytes = X.nbytes
            y, weight, split = ask(row, until)()
            yield Block(X, y, weight, split, row, nbytes)


class StreamSource(Source):
    """An iterable of chunks, or a callable that returns one: X, (X, y) or (X, y, w)."""

    costly_features = True  # as a guess: nobody knows

    def __init__(self, chunks: Any, columns: RowColumns):
        super().__init__(columns)
        self._chunks, self.read_once = chunks, not callable(chunks)
        self._reads: list[Trace] | None = None  # of this stream and its copies, where there are to be several

    def check_resumable(self) -> None:
        raise ValueError(
            "checkpoint= needs rows that can be read again from any row on, and X is a stream of chunks; write it to a "
            "store with snb.write_csr, or scan it in parts, and add up and save their statistics yourself"
        )

    def check_read_again(self, who: str) -> None:
        if self.read_once:
            raise ValueError(
                f"X is an iterator, which can be read once, but {who} reads the rows more than once; pass a callable "
                "that returns a fresh iterator, or fit with keep='auto', which keeps its rows (see snb.set_scratch)"
            )
        self._reads = [] if self._reads is None else self._reads

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        assert start == 0 and stop is None, "a stream is read from its first row to its last"
        chunks = self._chunks() if callable(self._chunks) else self._chunks
        if not isinstance(chunks, Iterable):
            raise TypeError(f"X: the callable returned {type(chunks).__name__}; it should return an iterator of chunks")
        ask, trace = self._columns.reader(), None if self._reads is None else Trace()
        for chunk in timed(chunks, self.reading):
            block = self._block(chunk, start, ask)
            if trace is not None:
                trace.add(block)
            yield block
            start += block.X.shape[0]
        self._columns.check_exhausted(start)
        if trace is not None and self._reads is not None:
            self._reads.append(trace)
            check_same_rows(self._reads)
        why = "X gave no rows: a generator can be read once only; pass a callable that returns a fresh one"
        row_checks.check_min_size(start, 1, why)

    def _block(self, chunk: Any, row: int, ask: RequestColumns) -> Block:
        parts = chunk if isinstance(chunk, tuple) else (chunk,)
        if not 1 <= len(parts) <= 3:
            raise ValueError(f"X: a chunk is a tuple of {len(parts)}; it should be X, (X, y) or (X, y, sample_weight)")
        rows, y, weight = (*parts, None, None)[:3]
        # copies, because the stream may reuse its buffers while these rows are still being summed
        X: Any = as_csr(rows, "X", copy=True) if sp.issparse(rows) else np.array(as_matrix(rows, row))
        y = None if y is None else y_check(self._columns.labelled)(y, first_row=row).copy()
        weight = None if weight is None else np.array(row_checks.check_weights(weight, row))
        columns = ask(row, row + X.shape[0], y, weight)()
        for name, column in zip(self._columns.names, columns, strict=True):
            if column is not None:
                row_checks.check_lengths(X.shape[0], column.shape[0], name)
        return Block(X, *columns, row, X.data.nbytes + X.indices.nbytes if sp.issparse(X) else X.nbytes)


class Trace:
    """Checksums of some rows of a read: the first ones, and one in `EVERY` after that, whatever chunks they come in."""

    FIRST, EVERY = 64, 256

    def __init__(self) -> None:
        self.n_rows = self.n_features = 0
        self._sums: dict[tuple[str, str], int] = {}

    def add(self, block: Block) -> None:
        """Add the rows of the next block."""
        first, self.n_rows, self.n_features = self.n_rows, self.n_rows + block.n_rows, block.X.shape[1]
        head = min(max(self.FIRST - first, 0), block.n_rows)
        self._add(block, slice(head))
        self._add(block, slice(head + -(first + head) % self.EVERY, None, self.EVERY))

    def _add(self, block: Block, rows: slice) -> None:
        if len(range(*rows.indices(block.n_rows))):
            for what, part in (("features", block.X), ("labels", block.y), ("weights", block.weight)):
                for name, content in () if part is None else _contents(part[rows]):
                    self._sums[what, name] = crc32(content, self._sums.get((what, name), 0))

    def unlike(self, other: "Trace") -> list[str]:
        """What differs from that of another read."""
        keys = dict.fromkeys([*self._sums, *other._sums])
        return list(dict.fromkeys(key[0] for key in keys if self._sums.get(key, 0) != other._sums.get(key, 0)))


def check_same_rows(reads: list[Trace]) -> None:
    """Refuse the last read of a stream if its rows differ from those of the first one."""
    first, last = reads[0], reads[-1]
    before, now = (f"{one.n_rows} rows of {one.n_features} features" for one in (first, last))
    if now != before:
        what = f"{now} in read {len(reads)} and {before}"
    elif unlike := first.unlike(last):
        what = f"other {' and '.join(unlike)} in read {len(reads)} than"
    else:
        return
    raise ValueError(
        f"X gave {what} in read 1; a callable should return a fresh iterator of the same rows, in the same order, each "
        "time"
    )


def _contents(rows: Any) -> Iterator[tuple[str, Any]]:
    """The bytes of rows or of labels, so that those of consecutive rows follow each other, however they are cut."""
    if sp.issparse(rows):
        yield "columns", rows.indices.astype(np.int64)
        yield "numbers of values", np.diff(rows.indptr).astype(np.int64)
        rows = rows.data
    if rows.dtype.kind in "biuf":  # a list of whole numbers is int64, of others float64
        yield "values", np.ascontiguousarray(rows, np.float64 if rows.dtype in (bool, np.int64) else None)
    else:
        yield "values", "\0".join([*map(str, rows.tolist()), ""]).encode()

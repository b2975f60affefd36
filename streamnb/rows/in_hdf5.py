"""Reads dense or CSR rows from HDF5 in AnnData's .h5ad layout, block by block."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from streamnb.core.messages import DataError
from streamnb.rows import sizes
from streamnb.rows.block import Block
from streamnb.rows.labels import RowColumns
from streamnb.rows.source import Source
from streamnb.rows.zarr_reading import timed


def opened_hdf5(path: Any) -> Any:
    """Open an HDF5 file for reading; a context manager."""
    try:
        import h5py
    except ImportError as error:
        raise ImportError(
            f"X={str(path)!r} is an HDF5 file, which h5py reads: pip install streamnb[cells], or pip install h5py"
        ) from error
    try:
        return h5py.File(path, "r")
    except OSError as error:
        raise DataError(f"X={str(path)!r} cannot be opened as HDF5: {error}") from error


class HDF5Matrix:
    """A matrix in an HDF5 file, a dataset or a CSR group of AnnData; opening it reads only the shape."""

    ndim = 2

    def __init__(self, path: Any, key: str):
        self.path, self.key = Path(path), key
        with opened_hdf5(path) as file:
            member = file[key]
            self.sparse = hasattr(member, "keys")
            where = f"X: {key!r} in {str(path)!r}"
            if self.sparse:
                kind = member.attrs.get("encoding-type")
                if kind != "csr_matrix":
                    raise ValueError(
                        f"{where} is of encoding-type {kind!r}; rows are read from 'csr_matrix' or from a dense array: "
                        "adata.X = adata.X.tocsr(), and write the file again"
                    )
                lacking = [name for name in ("data", "indices", "indptr") if name not in member]
                if lacking:
                    raise DataError(f"{where} lacks {lacking} of the CSR layout of AnnData; write the file again")
                self.shape = tuple(int(n) for n in member.attrs["shape"])
                self.dtype, self.n_values = member["data"].dtype, member["data"].shape[0]
                self.nbytes = self.n_values * (self.dtype.itemsize + member["indices"].dtype.itemsize)
                if member["indptr"].shape[0] != self.shape[0] + 1 or member["indices"].shape[0] != self.n_values:
                    raise DataError(f"{where} has data, indices and indptr of lengths that do not go together")
            else:
                self.shape, self.dtype = member.shape, member.dtype
                self.n_values, self.nbytes = int(member.size), int(member.nbytes)
        if len(self.shape) != 2 or self.dtype.kind not in "buif":
            raise ValueError(f"{where} has shape {self.shape} and dtype {self.dtype}; it should be 2-D numbers")


class HDF5Source(Source):
    """Rows of a matrix in an HDF5 file."""

    def __init__(self, matrix: HDF5Matrix, columns: RowColumns):
        super().__init__(columns)
        self._matrix = matrix
        self.n_rows, self.n_features = matrix.shape
        self.files = ((str(matrix.path), matrix.path.stat().st_size),)
        self.n_values, self.nbytes = matrix.n_values, matrix.nbytes

    def layout(self) -> dict[str, str]:
        return {"X": f"{self._matrix.key} in HDF5, {self._matrix.dtype} with {self.n_values} values"}

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        end = self._matrix.shape[0] if stop is None else stop
        ask = self._columns.reader(start)
        with opened_hdf5(self._matrix.path) as file:
            ranges = (_csr_rows if self._matrix.sparse else _dense_rows)(file[self._matrix.key], start, end)
            for row, until, X, nbytes in timed(ranges, self.reading):
                y, weight, split = ask(row, until)()
                yield Block((*X, self.n_features) if self._matrix.sparse else X, y, weight, split, row, nbytes)


def _dense_rows(values: Any, start: int, stop: int) -> Iterator[tuple[int, int, Any, int]]:
    """Yield dense rows in batches: the first row, the end row, the values and their bytes."""
    step = min(max(sizes.BLOCK_BYTES // max(values.dtype.itemsize * values.shape[1], 1), 1), sizes.BLOCK_ROWS)
    for row in range(start, stop, step):
        until = min(row + step, stop)
        X = _read(values, row, until)
        yield row, until, X, X.nbytes


def _csr_rows(group: Any, start: int, stop: int) -> Iterator[tuple[int, int, Any, int]]:
    """Yield sparse rows like `_dense_rows`; the values are data, indices and indptr."""
    data, indices, indptr = (group[name] for name in ("data", "indices", "indptr"))
    most = max(sizes.BLOCK_BYTES // (data.dtype.itemsize + indices.dtype.itemsize), 1)
    row, ends = start, np.empty(0, np.int64)
    while row < stop:
        if len(ends) < 2:
            ends = _read(indptr, row, min(row + sizes.BLOCK_ROWS, stop) + 1).astype(np.int64)
            if ends[0] < 0 or (np.diff(ends) < 0).any() or ends[-1] > data.shape[0]:
                raise DataError(f"X: indptr in {group.name!r} of {group.file.filename!r} falls, near row {row}")
        n_rows = max(int(np.searchsorted(ends, ends[0] + most, side="right")) - 1, 1)
        arrays = [_read(part, int(ends[0]), int(ends[n_rows])) for part in (data, indices)]
        yield row, row + n_rows, (*arrays, ends[: n_rows + 1]), sum(array.nbytes for array in arrays)
        row, ends = row + n_rows, ends[n_rows:]


def _read(dataset: Any, start: int, stop: int) -> np.ndarray:
    try:
        return dataset[start:stop]
    except OSError as error:
        raise DataError(
            f"X: {dataset.name!r} in {dataset.file.filename!r} cannot be read from {start} to {stop} ({error}); copy "
            "or write the file again"
        ) from error

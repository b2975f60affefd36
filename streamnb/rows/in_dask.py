"""Rows in Dask arrays, processed block by block where Dask has them."""

from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np

from streamnb.core import row_checks
from streamnb.core.label_checks import check_y
from streamnb.rows.block import Block
from streamnb.rows.matrices import computed, dask_array, is_dask
from streamnb.rows.source import Source


class DaskSource(Source):
    """A 2-D Dask array or data frame with its features in one chunk; `X` is the array.

    `columns` holds labels, weights and splits by name, as they were given; `check_y` checks labels or targets.
    """

    lazy = True

    def __init__(self, X: Any, columns: dict[str, Any], check_y: Callable[..., Any] = check_y):
        X = dask_array(X)
        if X.ndim != 2:
            raise ValueError(
                f"Expected 2D array, got {X.ndim}D array instead: X should have shape (n_rows, n_features)"
            )
        if X.numblocks[1] > 1:
            raise ValueError(
                f"X has its features in {X.numblocks[1]} chunks; put them in one with X.rechunk({{1: -1}})"
            )
        self.X, self.columns, self.check_y = X, columns, check_y
        self.n_rows, self.n_features = (None if np.isnan(n) else int(n) for n in X.shape)
        if self.n_rows is not None:
            row_checks.check_min_size(*X.shape)
        if isinstance(X._meta, np.ndarray) and self.n_rows is not None and self.n_features is not None:
            self.n_values, self.nbytes = int(X.size), int(X.nbytes)

    @property
    def n_blocks(self) -> int:
        return self.X.numblocks[0]

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        raise TypeError("Dask processes the blocks of its arrays itself")

    def in_tiles(self, tile: int) -> Self:
        """The same rows in blocks that do not cut any tile of `tile` rows."""
        ends = np.cumsum(self.X.chunks[0])
        if np.isnan(ends).any():
            raise ValueError(
                "X has unknown row-chunk sizes, and sums of products need the numbers of rows: call "
                "X.compute_chunk_sizes() first, or scan with exact=True"
            )
        cuts = np.unique([0, *((ends[:-1] + tile // 2) // tile * tile), ends[-1]])
        cuts = cuts[cuts <= ends[-1]].astype(int)
        return type(self)(self.X.rechunk({0: tuple(np.diff(cuts).tolist())}), self.columns, self.check_y)

    def with_split(self, name: str, values: Any) -> Self:
        more = values if isinstance(values, dict) else {name: values}
        return type(self)(self.X, {**self.columns, **more}, self.check_y)

    def with_columns(self, y: Any, weight: Any) -> Self:
        more = {name: column for name, column in (("y", y), ("sample_weight", weight)) if column is not None}
        return type(self)(self.X, {**self.columns, **more}, self.check_y)

    def whole_column(self, column: Any, name: str) -> np.ndarray:
        return np.asarray(computed(self.named(column, name)))

    def cut_alike(self, column: Any, whole: np.ndarray) -> Any:
        return column if is_dask(column) else whole

    def check_resumable(self) -> None:
        raise ValueError(
            "checkpoint= needs rows that can be read again from any row on, and X is a Dask array; pass the Zarr array "
            "or group that it reads, or its path, or write it to a Zarr array with X.to_zarr"
        )

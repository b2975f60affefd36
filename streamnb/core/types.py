"""What users may give, as type checkers know it."""

from collections.abc import Callable, Iterable
from os import PathLike
from typing import Any, Protocol, TypeAlias

from numpy.typing import ArrayLike


class Shaped(Protocol):
    """Whatever has a shape: sparse and Dask arrays, arrays in Zarr, frames, AnnData."""

    @property
    def shape(self) -> Any: ...


class Opened(Protocol):
    """Rows that were opened, by `snb.table` and its like."""

    n_features: int | None


Path: TypeAlias = str | PathLike[str]
# Each item of an iterable, or of what a function returns, is a chunk of rows; groups in Zarr are iterables, too.
Rows: TypeAlias = ArrayLike | Shaped | Opened | PathLike[str] | Iterable[Any] | Callable[[], Iterable[Any]]
# One for each row, or the name of the column or array that holds them.
PerRow: TypeAlias = ArrayLike | Shaped | None
Bytes: TypeAlias = int | float | str | None  # such as 10**9 or "1GB"; None for half of the free memory

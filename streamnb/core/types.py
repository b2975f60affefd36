"""Type aliases of what users may pass."""

from collections.abc import Callable, Iterable
from os import PathLike
from typing import Any, Protocol, TypeAlias

from numpy.typing import ArrayLike


class Shaped(Protocol):
    """Anything with a shape: sparse, Dask and Zarr arrays, data frames, AnnData."""

    @property
    def shape(self) -> Any: ...


class Opened(Protocol):
    """Rows opened by `snb.table`, `snb.text` and similar functions."""

    n_features: int | None


Path: TypeAlias = str | PathLike[str]
# Each item of an iterable, or of one that a function returns, is a chunk of rows; Zarr groups are iterables, too.
Rows: TypeAlias = ArrayLike | Shaped | Opened | PathLike[str] | Iterable[Any] | Callable[[], Iterable[Any]]
# One value for each row, or the name of the column or array that holds them.
PerRow: TypeAlias = ArrayLike | Shaped | None
Bytes: TypeAlias = int | float | str | None  # such as 10**9 or "1GB"; None for half of the free memory

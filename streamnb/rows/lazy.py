"""Dask collections, recognised without importing dask."""

from typing import Any

from streamnb.rows.matrices import check_dtypes


def is_dask(X: Any) -> bool:
    """True for Dask collections."""
    return hasattr(X, "__dask_graph__") and (hasattr(X, "chunks") or hasattr(X, "to_dask_array"))


def dask_array(X: Any) -> Any:
    """A Dask array of a Dask array, data frame or series."""
    if not hasattr(X, "to_dask_array"):
        return X
    if X.ndim == 2:
        check_dtypes(X._meta)
    return X.to_dask_array()


def computed(column: Any) -> Any:
    """Labels or weights, computed if lazy; None stays None."""
    return dask_array(column).compute() if is_dask(column) else column

"""Dask collections, recognised without importing dask."""

from typing import Any

from streamnb.rows.matrices import check_dtypes


def is_dask(X: Any) -> bool:
    """True for Dask arrays, data frames and series."""
    kind = type(X)  # a delayed object itself has every attribute that it is asked for
    return hasattr(kind, "__dask_graph__") and (hasattr(kind, "chunks") or hasattr(kind, "to_dask_array"))


def check_not_delayed(**given: Any) -> None:
    """Refuse what is lazy and no array, such as `dask.delayed` objects and bags: nobody knows what rows they hold."""
    for name, value in given.items():
        if hasattr(type(value), "__dask_graph__") and not is_dask(value):
            raise TypeError(
                f"{name} is a {type(value).__name__} of Dask, of which neither shape nor dtype is known; make an array "
                f"of it with dask.array.from_delayed({name}, shape=.., dtype=..), or take {name}.compute()"
            )


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

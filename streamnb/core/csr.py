"""SciPy's sparse arrays as CSR. Their own conversions trust what stands in them: a wrong index is memory corruption."""

from copy import copy as shallow
from typing import Any

import numpy as np
import scipy.sparse as sp


def as_csr(matrix: Any, name: str, *, copy: bool = False) -> Any:
    """A sparse array of any format as CSR, whose indptr fits its rows and values; `name` is for messages.

    Raises
    ------
    ValueError
        Its parts contradict each other or its shape. Columns of what came as CSR are left for the caller to check.
    """
    if matrix.ndim != 2:
        raise ValueError(f"Expected 2D array, got {matrix.ndim}D sparse array instead: {name} should be 2-D")
    n_rows, n_columns = matrix.shape
    if copy or matrix.format != "csr":
        matrix = _with_own_places(matrix)  # which nobody changes between the check and the conversion
    if matrix.format == "csr":
        _check_ends(matrix, name, n_rows)
    elif matrix.format == "csc":
        _check_ends(matrix, name, n_columns)
        _check_range(matrix.indices, n_rows, f"{name}.indices")
    elif matrix.format == "bsr":
        height, width = matrix.blocksize
        _check_ends(matrix, name, n_rows // height)
        _check_range(matrix.indices, n_columns // width, f"{name}.indices")
    elif matrix.format == "coo":
        for part, length in zip(matrix.coords, matrix.shape, strict=True):
            _check_range(part, length, f"{name}.coords")
            _check_same(len(part), len(matrix.data), f"{name}.coords")
    return matrix.tocsr(copy=copy)


def sound_csr(matrix: Any, name: str) -> sp.csr_array:
    """A copy as CSR with nothing wrong in it, and without the marks that say it were canonical."""
    csr = as_csr(matrix, name, copy=True)
    _check_range(csr.indices, csr.shape[1], f"{name}.indices")
    return sp.csr_array((csr.data, csr.indices, csr.indptr), shape=csr.shape)


def _with_own_places(matrix: Any) -> Any:
    """The same values, whose places in the matrix are copies."""
    own = shallow(matrix)
    for name in vars(own).keys() & {"indices", "indptr", "offsets"}:
        setattr(own, name, getattr(own, name).copy())
    if "coords" in vars(own):
        own.coords = tuple(part.copy() for part in own.coords)
    return own


def _check_range(indices: np.ndarray, length: int, name: str) -> None:
    """Refuse indices outside [0, length)."""
    indices = _integers(indices, name)
    if len(indices) and not (indices.min() >= 0 and indices.max() < length):
        bad = indices[(indices < 0) | (indices >= length)][0]
        raise ValueError(f"{name} has index {bad}; it should be from 0 to {length - 1}")


def _check_ends(matrix: Any, name: str, n: int) -> None:
    ends, n_values = _integers(matrix.indptr, f"{name}.indptr"), len(matrix.data)
    if len(ends) != n + 1:
        raise ValueError(f"{name}.indptr has {len(ends)} entries; {n} rows or columns need {n + 1}")
    if ends[0] != 0 or (ends[1:] < ends[:-1]).any():
        raise ValueError(f"{name}.indptr should begin with 0 and rise from row to row; it does not")
    if ends[-1] > n_values or ends[-1] > len(matrix.indices):
        raise ValueError(
            f"{name}.indptr speaks of {ends[-1]} values, {name}.data holds {n_values} and {name}.indices "
            f"{len(matrix.indices)}; the three should agree"
        )


def _check_same(given: int, wanted: int, name: str) -> None:
    if given != wanted:
        raise ValueError(f"{name} has {given} entries for {wanted} values; there should be one for each")


def _integers(array: Any, name: str) -> np.ndarray:
    if np.ndim(array) != 1 or array.dtype.kind not in "iu":
        raise TypeError(f"{name} has shape {np.shape(array)} and dtype {array.dtype}; it should hold integers")
    return array

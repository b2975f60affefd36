"""SciPy sparse arrays as validated CSR. SciPy itself trusts every index, and a wrong one corrupts memory."""

from copy import copy as shallow
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.core import arguments, persistence


def as_csr(matrix: Any, name: str, *, copy: bool = False) -> Any:
    """Convert a sparse array of any format to CSR with a valid indptr; `name` is for messages.

    Raises
    ------
    ValueError
        Its parts contradict each other or its shape. Column indices of CSR input are left for the caller to check.
    """
    if matrix.ndim != 2:
        raise ValueError(f"Expected 2D array, got {matrix.ndim}D sparse array instead: {name} should be 2-D")
    n_rows, n_columns = matrix.shape
    if copy or matrix.format != "csr":
        matrix = _with_own_indices(matrix)  # no other thread can change these between the check and the conversion
    if matrix.format == "csr":
        _check_indptr(matrix, name, n_rows)
    elif matrix.format == "csc":
        _check_indptr(matrix, name, n_columns)
        _check_range(matrix.indices, n_rows, f"{name}.indices")
    elif matrix.format == "bsr":
        height, width = matrix.blocksize
        _check_indptr(matrix, name, n_rows // height)
        _check_range(matrix.indices, n_columns // width, f"{name}.indices")
    elif matrix.format == "coo":
        for part, length in zip(matrix.coords, matrix.shape, strict=True):
            _check_range(part, length, f"{name}.coords")
            if len(part) != len(matrix.data):
                raise ValueError(
                    f"{name}.coords has {len(part)} entries for {len(matrix.data)} values, not one for each"
                )
    return matrix.tocsr(copy=copy)


def sound_csr(matrix: Any, name: str) -> sp.csr_array:
    """A checked copy as CSR, without the flags that claim it is canonical."""
    csr = as_csr(matrix, name, copy=True)
    _check_range(csr.indices, csr.shape[1], f"{name}.indices")
    return sp.csr_array((csr.data, csr.indices, csr.indptr), shape=csr.shape)


def saved_parts(csr: Any) -> list[Any]:
    """The parts of a CSR array, as files hold them."""
    return [csr.data, csr.indices, csr.indptr, list(csr.shape)]


def of_saved_parts(parts: Any, name: str) -> sp.csr_array:
    """The CSR array with these parts, checked."""
    data, indices, indptr, shape = parts
    for part, values in (("indices", indices), ("indptr", indptr)):
        persistence.array(f"{name}.{part}", values, ["i4", "i8"], (None,))
    shape = [arguments.whole_number("shape", n) for n in shape]
    return sound_csr(sp.csr_array((data, indices, indptr), shape=shape), name)


def _with_own_indices(matrix: Any) -> Any:
    """The same values with copies of the indices."""
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


def _check_indptr(matrix: Any, name: str, n: int) -> None:
    indptr, n_values = _integers(matrix.indptr, f"{name}.indptr"), len(matrix.data)
    if len(indptr) != n + 1:
        raise ValueError(f"{name}.indptr has {len(indptr)} entries; {n} rows or columns need {n + 1}")
    if indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any():
        raise ValueError(f"{name}.indptr should begin with 0 and rise from row to row; it does not")
    if indptr[-1] > n_values or indptr[-1] > len(matrix.indices):
        raise ValueError(
            f"{name}.indptr speaks of {indptr[-1]} values, {name}.data holds {n_values} and {name}.indices "
            f"{len(matrix.indices)}; the three should agree"
        )


def _integers(array: Any, name: str) -> np.ndarray:
    if np.ndim(array) != 1 or array.dtype.kind not in "iu":
        raise TypeError(f"{name} has shape {np.shape(array)} and dtype {array.dtype}; it should hold integers")
    return array

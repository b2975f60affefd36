"""Arrays as chunks have them, which kernels are compiled for: read-only, ends of rows in int64."""

import numpy as np
import scipy.sparse as sp

from streamnb.rows.row_blocks import frozen


def stored(x, first=0, index=np.int32):
    """data, indices and indptr of the rows from `first` on, as they lie in the arrays of all rows."""
    matrix = sp.csr_array(x)
    start = matrix.indptr[first]
    arrays = matrix.data[start:], matrix.indices[start:].astype(index), matrix.indptr[first:].astype(np.int64)
    return tuple(map(frozen, arrays))


def all_frozen(arrays):
    """The same arrays, none of which can be written to."""
    return tuple(map(frozen, arrays))

"""All rows of sources and of raw rows, read piece by piece."""

import numpy as np
import scipy.sparse as sp

from streamnb.rows.boundary import checked


def matrix_of(rows, *asked):
    """The rows of a source in a range, or all of them, as one dense array."""
    return np.vstack([sp.csr_array(checked(block)[0].to_matrix()).toarray() for block in rows.blocks(*asked)])


def texts_of(raw, start=0, stop=None):
    """The texts that holders of raw rows read in a range, each piece where it should begin."""
    found = []
    for first, read in raw.jobs(start, raw.n_rows if stop is None else stop):
        assert first == start + len(found)
        texts = read()
        found += [texts.decoded(row) for row in range(texts.shape[0])]
    return found

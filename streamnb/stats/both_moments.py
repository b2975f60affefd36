"""Sums and sums of squares of dense float32 rows at once: each value is read once for both."""

from typing import Any

import numpy as np

from streamnb.core.memory import aligned
from streamnb.kernels import dense_sums
from streamnb.kernels.lanes import LANES
from streamnb.rows.boundary import Survey
from streamnb.rows.chunk import Chunk, Entries


def may_add_both(chunk: Chunk, survey: Survey, entries: Entries, n_groups: int) -> bool:
    """True where each float32 row enters one group with weight 1, and groups have enough rows for sums of their own."""
    if survey.tops is None or survey.tops.shape[1] < LANES or chunk.stored.dtype != np.float32:
        return False
    return len(entries.rows) >= dense_sums.FEWEST * n_groups and dense_sums.each_once(entries.rows, entries.weight)


def add_both(
    chunk: Chunk, survey: Survey, entries: Entries, n_groups: int, sums: Any, squares: Any
) -> tuple[bool, bool]:
    """Add the group sums of x and of x^2 to the parts (hi, lo) of two tables; True where a second low part took any."""
    n_rows, n_features = chunk.shape
    values, (hi, lo), (hi_sq, lo_sq) = chunk.stored.reshape(chunk.shape), sums, squares
    top, least = np.empty(n_features), np.empty((2, n_features), np.float32)
    depth, rows, ends = (np.empty(n, np.intp) for n in (-(-n_features // LANES), n_rows, n_groups))
    room = top, least, depth, rows, ends, aligned(dense_sums.PARTS, n_features)
    return dense_sums.add_both(values, entries.codes, survey.tops, survey.tile, *room, hi, lo, hi_sq, lo_sq)

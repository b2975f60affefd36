"""Sums and sums of squares of dense rows at once: each value is read once for both."""

from typing import Any

import numpy as np

from streamnb._jit import LANES
from streamnb.data.chunk import Chunk, Entries
from streamnb.data.survey import Survey
from streamnb.kernels import dense_pairs
from streamnb.memory import aligned


def may_add_both(survey: Survey, entries: Entries, n_groups: int) -> bool:
    """True where each row enters one group with weight 1, and groups have enough rows for sums of their own."""
    if survey.tops is None or survey.tops.shape[1] < LANES or len(entries.rows) < dense_pairs.FEWEST * n_groups:
        return False
    return dense_pairs.each_once(entries.rows, entries.weight)


def add_both(chunk: Chunk, survey: Survey, entries: Entries, n_groups: int, sums: Any, squares: Any) -> None:
    """Add the group sums of x and of x^2 to the pairs (hi, lo) of two tables."""
    n_features = chunk.shape[1]
    scratch = np.empty(n_features), aligned(dense_pairs.PARTS * n_groups, n_features)
    values = chunk.stored.reshape(chunk.shape)
    dense_pairs.add_both(values, entries.codes, survey.tops, survey.tile, *scratch, *sums, *squares)

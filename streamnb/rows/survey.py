"""What one look at the values of a block tells."""

from dataclasses import dataclass

import numpy as np

from streamnb.core.memory import aligned
from streamnb.kernels import row_values

TILE = 1 << 17  # values looked at together
FEWEST, MOST = 16, 4096  # rows of them, where these have columns; of more, sums by the largest would lose digits
SIDE_BY_SIDE = 2048  # values of short rows that are looked at at once
_BITS = {  # the integer that a float is looked at as, and all its bits but the sign
    np.dtype(np.float32): (np.int32, np.int32(2**31 - 1)),
    np.dtype(np.float64): (np.int64, np.int64(2**63 - 1)),
}


@dataclass(frozen=True, slots=True, eq=False)
class Survey:
    """What is known of all values of a block."""

    whole: bool  # every value is a whole number
    negatives: int  # values below zero
    low: float  # no value is below
    top: float  # no absolute value is larger; NaN where some value is none
    tops: np.ndarray | None = None  # of each column in each `tile` of rows, (n_tiles, n_features); of dense floats
    tile: int = 0


def look_at(stored: np.ndarray, width: int) -> Survey:
    """Survey flat values, of rows stored in full where `width` is more than 1."""
    if stored.dtype.kind != "f":
        low, high = int(stored.min(initial=0)), int(stored.max(initial=0))
        negatives = int(np.count_nonzero(stored < 0)) if low < 0 else 0
        return Survey(True, negatives, float(low), float(max(-low, high)))
    integer, magnitude = _BITS[stored.dtype]
    tile = min(max(TILE // width, FEWEST), MOST) if width > 1 else TILE
    tops = np.empty((-(-len(stored) // (width * tile)), width), integer)
    n_wide = max(SIDE_BY_SIDE // width, 1) * width
    wide = aligned(1, n_wide, integer)[0, :n_wide]
    negatives, whole = row_values.survey(stored, stored.view(integer), magnitude, tile, wide, tops)
    tops = tops.view(stored.dtype)
    top = float(tops.max(initial=0.0))
    of_columns = (tops, tile) if width > 1 else (None, 0)
    return Survey(bool(whole), int(negatives), -top if negatives else 0.0, top, *of_columns)

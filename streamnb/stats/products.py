"""Computes X' diag(w) X by BLAS: exactly for integers and for sliced floats, rounded otherwise.

Sums of whole numbers do not depend on the order in which BLAS adds them, as long as their absolute values sum to less
than 2^53, or 2^24 in float32. Other values are cut into slices of few bits, whole multiples of a power of two of each
column, so that sums of products of slices are exact (Ozaki, Ogita, Oishi and Rump 2012).
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from streamnb.kernels import class_sums, products
from streamnb.rows.row_blocks import frozen

TILE = 2048  # rows that are summed together: row i is in tile i // TILE
BITS = 21  # bits of a slice: the sum of TILE products of two slices is below 2^53
SINGLE, DOUBLE = 2.0**24, 2.0**53  # whole numbers below these are exact
FEWEST = 128  # fewer rows are not worth a product in single precision


FAR = 1024.0  # ratio of distance from 0 to spread beyond which products would hide the variation
PLAIN = 2.0**20  # whole numbers below it have exact sums of products


class Slice(NamedTuple):
    """Values of some columns, whole multiples of one power of two for each column."""

    columns: np.ndarray
    values: np.ndarray


def rounded(values: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """Return X' diag(w) X in float64: exact for small whole numbers, else rounded in the same way on every machine."""
    x = values.astype(np.float64, copy=False)
    return x.T @ x if weight is None else (x * weight[:, None]).T @ x


def centres(values: np.ndarray, rows: np.ndarray, begins: np.ndarray, ends: np.ndarray) -> np.ndarray | None:
    """Return centres of the columns that lie far from 0 relative to their spread, (groups, n), NaN for others; or None.

    Three rows of each group ``rows[begins:ends]`` decide: the spread of all rows is at least theirs.
    """
    some = values[np.stack([rows[begins], rows[(begins + ends) // 2], rows[ends - 1]])].astype(np.float64)
    low, high = some.min(axis=0), some.max(axis=0)
    spread, least = high - low, np.maximum(np.maximum(low, -high), 0.0)
    far = least > FAR * spread
    if not far.any():
        return None
    far &= ~((spread == 0.0) & (least < PLAIN) & (least == np.floor(least)))
    return np.where(far, some[0], np.nan) if far.any() else None


def about(values: np.ndarray, weight: np.ndarray | None, middle: np.ndarray) -> Iterator[np.ndarray]:
    """Yield matrices that add up to X' diag(w) X, with the rounding error of the products of d = x - c.

    ``sum w x_i x_j = sum w d_i d_j + c_i (U_j - c_j W) + U_i c_j``, the sums U of w x and W of w in pairs.
    """
    x = values.astype(np.float64)
    yield rounded(x - middle, weight)
    columns, n = frozen(np.column_stack([x, np.ones(len(x))])), len(x)
    hi, lo = np.zeros((1, len(middle) + 1)), np.zeros((1, 1, len(middle) + 1))
    entries = np.arange(n), np.zeros(n, np.int64), np.ones(n) if weight is None else weight
    class_sums.add_dense_pairs(columns, *entries, class_sums.SUM, 0.0, class_sums.lost_of(hi.shape[1]), hi, lo)
    sums, of_rows = (hi[0, :-1], lo[0, 0, :-1]), (hi[0, -1], lo[0, 0, -1])
    shift, shift_low = _outer(np.ones(1) * of_rows[0], middle)[:, 0]
    left = sums[0] - shift  # exact: nearly equal numbers, or 0 subtracted
    left_low = sums[1] - shift_low - of_rows[1] * middle
    for a, b in ((middle, left), (middle, left_low), (sums[0], middle), (sums[1], middle)):
        yield from _outer(a, b)


def _outer(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a_i b_j and its rounding error, (2, len(a), len(b))."""
    out = np.empty((2, len(a), len(b)))
    products.weigh(np.ascontiguousarray(np.broadcast_to(b, out.shape[1:])), a, out[0], out[1])
    return out


def of_small(values: np.ndarray, top: float) -> np.ndarray:
    """Return X' X of whole numbers up to `top`, computed in single precision."""
    x, step = values.astype(np.float32), max(int(SINGLE / max(top * top, 1.0)), 1)
    total = (x[:step].T @ x[:step]).astype(np.float64)
    for first in range(step, len(x), step):
        some = x[first : first + step]
        total += some.T @ some
    return total


def may_be_small(top: float) -> bool:
    """Return whether single precision holds the products of enough rows exactly."""
    return FEWEST * top * top < SINGLE


def exactly(values: np.ndarray, weight: np.ndarray | None) -> Iterator[np.ndarray]:
    """Yield exact matrices whose upper triangles add up to that of X' diag(w) X; for at most TILE rows."""
    n_features, right = values.shape[1], slices(values.astype(np.float64))
    if weight is None:
        for a, left in enumerate(right):
            yield _spread(left, left, n_features)
            for other in right[a + 1 :]:
                product = _spread(left, other, n_features)
                yield product
                yield product.T
        return
    hi, lo = np.empty((2, *values.shape))
    products.weigh(values, weight, hi, lo)
    for left in slices(hi) + slices(lo):
        for other in right:
            yield _spread(left, other, n_features)


def slices(rest: np.ndarray) -> list[Slice]:
    """Return slices that add up to the values in `rest`, which is overwritten."""
    found, columns = list[Slice](), np.arange(rest.shape[1])
    while True:
        top = np.maximum(rest.max(axis=0, initial=0.0), -rest.min(axis=0, initial=0.0))
        left = np.flatnonzero(top)
        if not left.size:
            return found
        if len(left) < len(columns):
            columns, rest, top = columns[left], rest[:, left], top[left]
        grid = np.ldexp(3.0, np.frexp(top)[1] - BITS + 51)  # adding it rounds to 2^-BITS of a power above the largest
        values = rest + grid
        values -= grid
        rest -= values
        found.append(Slice(columns, values))


def _spread(left: Slice, right: Slice, n_features: int) -> np.ndarray:
    """Return the product of two slices, expanded to all columns."""
    product = left.values.T @ right.values
    if len(left.columns) == len(right.columns) == n_features:
        return product
    out = np.zeros((n_features, n_features))
    out[np.ix_(left.columns, right.columns)] = product
    return out

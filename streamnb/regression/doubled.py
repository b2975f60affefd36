"""Symmetric systems in doubled precision: numbers as pairs (hi, lo), about 32 digits (Dekker 1971, Knuth 1969)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

SPLITTER = 2.0**27 + 1.0
SMALLEST_PIVOT = 2.0**-94  # relative to a diagonal of ones; smaller ones are rounding errors


class Doubled(NamedTuple):
    """Arrays whose sum is the value; `lo` is at most half a unit of the last digit of `hi`."""

    hi: np.ndarray
    lo: np.ndarray

    def at(self, *index: Any) -> Doubled:
        """Some of the values."""
        return Doubled(self.hi[index], self.lo[index])

    def scaled(self, factors: np.ndarray) -> Doubled:
        """The values times powers of two."""
        return Doubled(self.hi * factors, self.lo * factors)

    def plus(self, other: Doubled) -> Doubled:
        """The sum."""
        s, e = _two_sum(self.hi, other.hi)
        return _normalised(s, e + (self.lo + other.lo))

    def minus(self, other: Doubled) -> Doubled:
        """The difference."""
        return self.plus(Doubled(-other.hi, -other.lo))

    def times(self, other: Doubled) -> Doubled:
        """The product."""
        p, e = _two_product(self.hi, other.hi)
        return _normalised(p, e + (self.hi * other.lo + self.lo * other.hi))

    def over(self, other: Doubled) -> Doubled:
        """The quotient."""
        first = self.hi / other.hi
        left = self.minus(other.times(exactly(first)))
        second = left.hi / other.hi
        left = left.minus(other.times(exactly(second)))
        return _normalised(*_two_sum(first, second + left.hi / other.hi))


def exactly(values: Any) -> Doubled:
    """Float64 values as pairs."""
    values = np.asarray(values, np.float64)
    return Doubled(values, np.zeros_like(values))


def solved(matrix: Doubled, right: Doubled, least: float = SMALLEST_PIVOT) -> tuple[np.ndarray, int | None]:
    """Solve a symmetric positive definite system with a diagonal near 1, by the factors L D L'.

    Parameters
    ----------
    matrix : (n, n)
    right : (n, n_right)
    least : float
        The share of a row's diagonal that is left of it beside the rows before it, if it does not depend on them.

    Returns
    -------
    solution : (n, n_right)
    dependent : int or None
        The first row that depends on those before it, to the precision of pairs; there is no solution then.
    """
    left, rest, n = (
        Doubled(*(part.copy() for part in matrix)),
        Doubled(*(part.copy() for part in right)),
        len(matrix.hi),
    )
    for j in range(n):
        if not left.hi[j, j] > least:
            return np.zeros(right.hi.shape), j
        below = slice(j + 1, n)
        row, factors = left.at(j, below), left.at(below, j).over(left.at(j, j))
        _put(left, (below, below), left.at(below, below).minus(_outer(factors, row)))
        _put(rest, (below,), rest.at(below).minus(_outer(factors, rest.at(j))))
        _put(left, (below, j), factors)
    rest = rest.over(Doubled(*(np.broadcast_to(np.diagonal(part)[:, None], rest.hi.shape) for part in left)))
    for j in reversed(range(n)):
        above = slice(0, j)
        _put(rest, (above,), rest.at(above).minus(_outer(left.at(j, above), rest.at(j))))
    return rest.hi + rest.lo, None


def about_means(products: Doubled, sums: Doubled, weight: Doubled) -> Doubled:
    """Sums of products about the means, (n, n), of sums of products (n, n) and sums (n,) of rows of this weight."""
    means = sums.over(Doubled(*np.broadcast_arrays(*weight, sums.hi)[:2]))
    return products.minus(_outer(means, sums))


def _outer(column: Doubled, row: Doubled) -> Doubled:
    return Doubled(column.hi[:, None], column.lo[:, None]).times(Doubled(row.hi[None], row.lo[None]))


def _put(pair: Doubled, index: Any, values: Doubled) -> None:
    pair.hi[index], pair.lo[index] = values


def _two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    s = a + b
    v = s - a
    return s, (a - (s - v)) + (b - v)


def _normalised(s: Any, e: Any) -> Doubled:
    hi = s + e
    return Doubled(hi, e - (hi - s))


def _two_product(a: Any, b: Any) -> tuple[Any, Any]:
    p = a * b
    (a_hi, a_lo), (b_hi, b_lo) = _halves(a), _halves(b)
    return p, ((a_hi * b_hi - p) + a_hi * b_lo + a_lo * b_hi) + a_lo * b_lo


def _halves(a: Any) -> tuple[Any, Any]:
    t = SPLITTER * a
    hi = t - (t - a)
    return hi, a - hi

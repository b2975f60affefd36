"""The normal equations of a regression, about the means of its rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import cho_solve, lapack

from streamnb.core import messages
from streamnb.core.threads import in_order, one_thread
from streamnb.regression.target_sums import TargetSums
from streamnb.stats.second_moments import CONSTANT, diagonal, scatter_of_all, unpacked
from streamnb.stats.totals import whole

SPLITTER = 2.0**27 + 1.0
SMALLEST_PIVOT = 2.0**-94  # relative to a diagonal of ones; smaller ones are rounding errors
VANISHING = 1e-280  # smaller sums of squares have lost digits to underflow
UNSURE = 1e-6  # relative error of weights that deserves a warning
ROUGH = 1e-3  # reciprocal condition of a matrix below which systems are solved in doubled precision
MOST_DOUBLED = 500  # features up to which that takes seconds


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


@dataclass(frozen=True, eq=False)
class System:
    """Sums of products about the means, of the columns that vary, each divided by its scale.

    Attributes
    ----------
    sums : TargetSums
    intercept : bool
        Whether columns are centred.
    standardize : bool
        Whether columns are divided by their standard deviations, whether or not there is an intercept. Columns that do
        not vary, which only count without an intercept, are left as they are.
    """

    sums: TargetSums
    intercept: bool = True
    standardize: bool = False

    @property
    def n_features(self) -> int:
        """Number of features, with constant ones."""
        return self.sums.n_features

    @property
    def weight(self) -> float:
        """Total weight of the rows."""
        return self.sums.total_weight

    @cached_property
    def _tables(self) -> tuple[Doubled, Doubled, Doubled]:
        """Weight, sums and packed sums of products of features and targets."""
        names = "weight", "sum", "gram"
        of_weight, sums, packed = (Doubled(*whole(self.sums.joined.table(name)).row(0)) for name in names)
        return of_weight, sums, packed

    @cached_property
    def _scatter(self) -> np.ndarray:
        return self._about_means if self.intercept else unpacked(self._tables[2].hi)

    @cached_property
    def _about_means(self) -> np.ndarray:
        return scatter_of_all(self.sums.joined)

    @cached_property
    def _variances(self) -> np.ndarray:
        """Variances of features and, after them, targets; 0 of those that are constant but for rounding."""
        spread = np.diagonal(self._about_means)
        return np.where(spread > CONSTANT * self._squares, spread, 0.0) / self.weight

    @property
    def deviations(self) -> np.ndarray:
        """Standard deviations of the features, (n_features,)."""
        return np.sqrt(self._variances[: self.n_features])

    @property
    def are_indicators(self) -> np.ndarray:
        """Which features seem to have the values 0 and 1 alone, (n_features,) bool."""
        return (self._tables[1].hi == self._squares)[: self.n_features]

    @property
    def target_variances(self) -> np.ndarray:
        """Variances of the targets, (n_targets,)."""
        return self._variances[self.n_features :]

    @cached_property
    def means(self) -> np.ndarray:
        """Means of features and, after them, targets; zeros without an intercept."""
        return self._tables[1].hi / self.weight if self.intercept else np.zeros(self.sums.joined.n_features)

    @cached_property
    def kept(self) -> np.ndarray:
        """Numbers of the features that vary."""
        varies = np.diagonal(self._scatter) > CONSTANT * self._squares
        return np.flatnonzero(varies[: self.n_features])

    @property
    def _squares(self) -> np.ndarray:
        """Sums of squares of features and targets."""
        packed = self._tables[2].hi
        return packed[diagonal(self.sums.joined.n_features)]

    @cached_property
    def vanishing(self) -> np.ndarray:
        """Numbers of the features whose values are not 0, but their squares."""
        vanishing = (self._tables[1].hi != 0.0) & (self._squares < VANISHING)
        return np.flatnonzero(vanishing[: self.n_features])

    @cached_property
    def scale(self) -> np.ndarray:
        """What each kept feature is divided by."""
        if not self.standardize:
            return np.ones(len(self.kept))
        deviations = np.sqrt(self._variances[self.kept])
        return np.where(deviations > 0.0, deviations, 1.0)

    @cached_property
    def products(self) -> np.ndarray:
        """G, (n_kept, n_kept)."""
        return self._scatter[np.ix_(self.kept, self.kept)] / np.outer(self.scale, self.scale)

    @cached_property
    def with_targets(self) -> np.ndarray:
        """c, (n_kept, n_targets)."""
        return self._scatter[self.kept, self.n_features :] / self.scale[:, None]

    @cached_property
    def of_targets(self) -> np.ndarray:
        """Sums of squares of the targets, (n_targets,)."""
        return np.diagonal(self._scatter)[self.n_features :].copy()

    @cached_property
    def condition_number(self) -> float:
        """The ratio of the largest to the smallest singular value of the columns, each scaled to length 1."""
        if not len(self.kept):
            return 1.0
        length = np.sqrt(np.diagonal(self.products))
        with one_thread():
            values = np.linalg.eigvalsh(self.products / np.outer(length, length))
        return float(np.sqrt(values[-1] / values[0])) if values[0] > 0.0 else np.inf

    def equilibrated(self, strength: float) -> tuple[np.ndarray, np.ndarray]:
        """G + strength I with a diagonal of ones, (n_kept, n_kept), and the factors of its rows and columns, (n_kept,).

        So units of columns do not matter to how systems are solved.
        """
        matrix = self.products + strength * np.eye(len(self.kept))
        factors = 1.0 / np.sqrt(np.diagonal(matrix))
        matrix *= np.outer(factors, factors)
        return matrix, factors

    def inverse(self, strength: float) -> tuple[np.ndarray, float]:
        """The inverse of G + strength I, (n_kept, n_kept), and the logarithm of its determinant.

        Raises
        ------
        ValueError
            Columns depend on others.
        """
        matrix, unit = self.equilibrated(strength)
        if not len(unit):
            return matrix, 0.0
        with one_thread():
            factor, failed = lapack.dpotrf(matrix, lower=1)
            if failed:
                raise ValueError(f"alpha={strength:g}: columns of X depend on others; give a larger alpha")
            inverse = lapack.dpotri(factor, lower=1)[0]
        inverse = np.tril(inverse) + np.tril(inverse, -1).T
        return inverse * np.outer(unit, unit), float(2.0 * (np.log(np.diagonal(factor)) - np.log(unit)).sum())

    # ---- weights -----------------------------------------------------------------------------------------------------

    def ridge(self, strength: float, name_of: Callable[[int], str]) -> np.ndarray:
        """Solve (G + strength I) b = c; (n_kept, n_targets).

        Raises
        ------
        ValueError
            Columns depend on others, and the strength is 0.
        """
        if not len(self.kept):
            return np.zeros((0, self.sums.n_targets))
        matrix, unit = self.equilibrated(strength)
        with one_thread():
            factor, order, rank, _ = lapack.dpstrf(matrix, lower=1, tol=len(unit) * 2.0**-52)
        order -= 1
        condition = 0.0 if rank < len(unit) else _reciprocal_condition(factor)
        dependent = order[rank:].tolist()
        if condition < ROUGH and len(unit) <= MOST_DOUBLED:
            weights, first = self._in_pairs(strength)
            dependent = [] if first is None else dependent or [first]
        elif not dependent:
            with one_thread():
                solution = cho_solve((factor, True), (self.with_targets * unit[:, None])[order])
            weights = solution[np.argsort(order)] * unit[:, None]
        if dependent:
            names = messages.listed([name_of(int(self.kept[j])) for j in dependent])
            raise ValueError(
                f"alpha={strength:g} leaves the weights undetermined: {names} depend on other columns of X, or nearly "
                "so; leave them out, or give a larger alpha"
                + ("" if self.sums.exact else " (exact=True tells nearly dependent columns apart)")
            )
        rounded = not self.sums.exact or len(unit) > MOST_DOUBLED
        if rounded and condition < 2.0**-53 / UNSURE:
            messages.warn(
                f"columns of X nearly depend on each other (condition number {self.condition_number:.1e}), and "
                "products rounded to float64 may leave fewer than 6 digits of the weights right: exact=True loses none "
                f"of them (up to {MOST_DOUBLED} columns), and a larger alpha, or fewer columns, needs fewer digits"
            )
        return weights

    def _in_pairs(self, strength: float) -> tuple[np.ndarray, int | None]:
        """The same in doubled precision; and the first feature that depends on those before it, if any."""
        weight, sums, packed = self._tables
        matrix = Doubled(unpacked(packed.hi), unpacked(packed.lo))
        matrix = about_means(matrix, sums, weight) if self.intercept else matrix
        square, targets = np.ix_(self.kept, self.kept), np.ix_(self.kept, np.arange(self.n_features, len(matrix.hi)))
        left = matrix.at(*square).plus(exactly(np.diag(strength * self.scale**2)))
        near = np.exp2(-np.round(0.5 * np.log2(np.diagonal(left.hi))))  # powers of two, which round nothing
        least = SMALLEST_PIVOT if self.sums.exact else len(near) * 2.0**-52
        weights, dependent = solved(left.scaled(np.outer(near, near)), matrix.at(*targets).scaled(near[:, None]), least)
        return weights * (near * self.scale)[:, None], dependent

    def coefficients(self, weights: np.ndarray) -> np.ndarray:
        """Weights (n_features, ..) of X as it was given, from those of scaled kept columns (n_kept, ..)."""
        out = np.zeros((self.n_features, *weights.shape[1:]))
        out[self.kept] = weights / self.scale.reshape(-1, *[1] * (weights.ndim - 1))
        return out

    def intercepts(self, coefficients: np.ndarray) -> np.ndarray:
        """Intercepts (n_targets, ..) of coefficients (n_features, n_targets, ..)."""
        means, targets = self.means[: self.n_features], self.means[self.n_features :]
        predicted = np.tensordot(means, coefficients, axes=1)
        return targets.reshape(-1, *[1] * (predicted.ndim - 1)) - predicted

    def squared_errors(self, coefficients: np.ndarray, intercepts: np.ndarray) -> np.ndarray:
        """Sums of squared errors on these rows, (n_targets, ..), of any coefficients (n_features, n_targets, ..).

        Taken about the means of these rows, so that large means do not cancel.
        """
        n, scatter = self.n_features, self._scatter
        with one_thread():
            turned = np.tensordot(scatter[:n, :n], coefficients, axes=1)
        inner = np.einsum("ij...,ij...->j...", coefficients, turned)
        crossed = np.einsum("ij...,ij->j...", coefficients, scatter[:n, n:])
        about = self.of_targets.reshape(-1, *[1] * (inner.ndim - 1)) - 2.0 * crossed + inner
        gap = self.intercepts(coefficients) - intercepts
        return np.maximum(about, 0.0) + self.weight * gap * gap


def held_out_errors(
    sums: TargetSums,
    weights_of: Callable[[System], np.ndarray],
    intercept: bool,
    standardize: bool,
    n_threads: int,
) -> np.ndarray:
    """Mean squared errors on the rows of each fold of the models without them, (n_targets, n_models, n_folds).

    `weights_of` returns the weights of the models of a system, (n_kept, n_targets, n_models).
    """

    def errors(fold: int) -> np.ndarray:
        system, held_out = System(sums.without_fold(fold), intercept, standardize), System(sums.folds[fold], intercept)
        coefficients = system.coefficients(weights_of(system))
        return held_out.squared_errors(coefficients, system.intercepts(coefficients)) / held_out.weight

    return np.stack(list(in_order(errors, range(len(sums.folds)), n_threads)), axis=-1)


def _reciprocal_condition(factor: np.ndarray) -> float:
    """The reciprocal condition number of a matrix with a diagonal near 1, from its Cholesky factor."""
    lower = np.tril(factor)
    norm = float(np.abs(lower @ lower.T).sum(axis=0).max())
    return float(lapack.dpocon(lower, norm, uplo="L")[0])

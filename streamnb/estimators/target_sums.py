"""Sums of products of features and targets, by fold, and the normal equations that follow from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from operator import add
from typing import Annotated, Any, NamedTuple, Self

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_solve, lapack

from streamnb.core import memory, messages, persistence, row_checks
from streamnb.core.threads import in_order, one_thread
from streamnb.passes.contract import Report, Wants
from streamnb.passes.statistic import Statistic
from streamnb.rows.boundary import checked
from streamnb.rows.preparing import RowOptions
from streamnb.rows.row_blocks import Block
from streamnb.rows.splits import Folding
from streamnb.scanning.class_scan import ClassScan
from streamnb.stats.class_stats import ClassStats, as_of
from streamnb.stats.columns import aligned, moved_columns, without_absent
from streamnb.stats.second_moments import CONSTANT, Products, diagonal, scatter_of_all, unpacked
from streamnb.stats.tables import whole

OUTWEIGHED = 1e-6  # share of a sum of squares that is left
BYTES_OF_PAIR = 8.0  # of sums: half a table of pairs of two numbers each


@persistence.register
@dataclass(frozen=True, eq=False)
class TargetSums(persistence.Saved):
    """Weight, sums and sums of products of features and targets: a value that adds up, subtracts and fades exactly.

    Sums of parts of the rows, made anywhere, add up to those of all rows; ``a - b`` takes rows away again, and
    ``a * 0.5`` halves their weight. Fitted regressions keep them as `stats_`, and take them in place of rows.

    Attributes
    ----------
    joined : ClassStats
        Sums over all rows of the features and, after them, the targets, as if these were features of one class.
    n_targets : int
    exact : bool
        Whether sums of products were not rounded.
    encoding : Encoding, NamesOfColumns or None
        As of `ClassStats`: columns of features are matched by name.

    Examples
    --------
    Two sites share sums in place of rows:

    >>> import streamnb as snb
    >>> here = snb.Ridge().fit([[0.0], [1.0]], [1.0, 3.0]).stats_
    >>> there = snb.Ridge().fit([[2.0], [4.0]], [5.0, 9.0]).stats_
    >>> here + there
    <TargetSums: 4 rows, 1 features, 1 targets>
    >>> snb.Ridge(0.0).fit(here + there).predict([[10.0]]).round(6)
    array([21.])
    """

    joined: ClassStats
    n_targets: int
    exact: bool = False
    encoding: Any = None

    n_rows, total_weight, nbytes = (as_of("joined", name) for name in ("n_rows", "total_weight", "nbytes"))
    folding, has_fixed_columns = as_of("joined", "folding"), as_of("joined", "has_fixed_columns")
    knows_ones = as_of("joined", "knows_ones")

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.joined.n_features - self.n_targets

    @property
    def folds(self) -> tuple[Self, ...]:
        """The sums of the rows of each fold."""
        return tuple(replace(self, joined=fold) for fold in self.joined.folds)

    def without_fold(self, fold: int) -> Self:
        """The sums of the rows outside a fold."""
        return replace(self, joined=self.joined.without_fold(fold))

    def __add__(self, other: Any) -> Self:
        return self._combined(other, "__add__")

    def __sub__(self, other: Any) -> Self:
        return self._combined(other, "__sub__")

    def __mul__(self, gamma: float) -> Self:
        return replace(self, joined=self.joined * gamma)

    def _combined(self, other: Any, how: str) -> Any:
        if not isinstance(other, TargetSums):
            return NotImplemented
        if other.n_targets != self.n_targets:
            raise ValueError(f"these sums have {self.n_targets} targets, the others {other.n_targets}; give as many")
        ours, theirs = aligned(self, other)
        joined = getattr(ours.joined, how)(theirs.joined)
        sums = TargetSums(joined, self.n_targets, self.exact and other.exact, ours.encoding or theirs.encoding)
        return without_absent(sums) if how == "__sub__" and other.encoding is not None else sums

    def column_weights(self) -> tuple[np.ndarray, float]:
        """As of `ClassStats`, for the features."""
        weights, total = self.joined.column_weights()
        return weights[: self.n_features], total

    def with_columns(self, sources: np.ndarray) -> Self:
        """As of `ClassStats`, for the features."""
        n, targets = self.n_features, np.arange(self.n_features, self.joined.n_features)
        of_joined = np.append(np.where(sources == n, self.joined.n_features, sources), targets)
        return replace(self, joined=self.joined.with_columns(of_joined), encoding=moved_columns(self.encoding, sources))

    def check_folds(self, who: str) -> None:
        """Raise unless there are folds, each with some of the weight."""
        if self.folding is None:
            raise ValueError(f"the sums have no folds, which {who} needs to choose: fit the rows themselves")
        for number, fold in enumerate(self.folds):
            if not 0.0 < fold.total_weight < self.total_weight:
                has = "all of" if fold.total_weight else "none of"
                raise ValueError(f"fold {number} has {has} the weight of the rows; use fewer folds, or another seed")

    def warn_of_rounding(self, before: Self) -> None:
        """Warn where so little is left of rounded sums that their rounding shows."""
        diagonals = (np.diagonal(sums.joined.gram) for sums in (self, before))
        left, all_rows = (np.asarray(one) for one in diagonals)
        if not self.exact and (left < OUTWEIGHED * all_rows).any():
            messages.warn(
                "the rows taken away outweigh those left, so that rounding of the sums shows in the weights; fit the "
                "rows left anew, or use exact=True from the start"
            )

    def __repr__(self) -> str:
        return f"<TargetSums: {self.n_rows:,} rows, {self.n_features:,} features, {self.n_targets:,} targets>"

    def _check_loaded(self) -> None:
        if not 0 < self.n_targets < self.joined.n_features or self.joined.moments != ("sum", "gram"):
            raise ValueError(f"n_targets={self.n_targets} does not go with {self.joined!r}")


@dataclass(eq=False)
class TargetScan(Statistic):
    """Sums of products of features and targets, side by side.

    Attributes
    ----------
    joined : ClassStats
        Of one class, the features first.
    scan : ClassScan
        How rows of features and targets are summed.
    """

    joined: Annotated[Any, add]  # an Accumulator as long as rows are added
    scan: ClassScan
    n_targets: Annotated[int, max] = 0
    title = "scan"

    @classmethod
    def asked(cls, folding: Folding | None = None, exact: bool = False, memory_limit: int | None = None) -> Self:
        """The sums of no rows; `exact` ones are without any rounding."""
        how, one = Products(exact, pooled=True), np.zeros(1, np.int64)
        scan = ClassScan(("sum", "gram"), RowOptions(), one, folding=folding, how=how, memory_limit=memory_limit)
        return cls(scan.partial(), scan)

    def add_block(self, block: Block) -> None:
        X, y = checked(block)[0].to_matrix(), targets_of(block)
        if self.joined.n_features is None:
            self._check_fits(X.shape[1] + y.shape[1])
        if self.n_targets:
            row_checks.check_n_features(X.shape[1], self.joined.n_features - self.n_targets)
        self.n_targets = checked_targets(y.shape[1], self.n_targets)
        self.scan.add(self.joined, replace(block, X=joined(X, y), y=np.zeros(len(y), np.int64)))

    def wants(self, n_rows: int | None, n_features: int | None) -> Wants:
        if n_features is not None:
            self._check_fits(n_features + 1)
        # whether each fold has rows is checked where models of folds are made: further rows may be few
        return replace(self.scan, folding=None).wants(n_rows, None if n_features is None else n_features + 1)

    def _check_fits(self, n_columns: int) -> None:
        """Raise where products of so many columns, targets among them, need more memory than allowed."""
        n_tables = 1 if self.scan.folding is None else self.scan.folding.n_splits
        most = int(np.sqrt(memory.allowed(self.scan.memory_limit) / (BYTES_OF_PAIR * n_tables)))
        if n_columns > most:
            raise MemoryError(
                f"sums of products of {n_columns:,} columns, y among them, need more memory than memory_limit allows, "
                f"which is enough for {most:,}: leave some out, use fewer folds, or for ridge regression "
                "solver='conjugate_gradients'"
            )

    @property
    def nbytes(self) -> int:
        """Bytes of the tables: 0 until there are any, so that no thread joins before it is known how large they are."""
        return self.joined.nbytes

    def ended(self, report: Report) -> Self:
        row_checks.check_min_size(report.rows, 1)
        row_checks.check_total_weight(self.joined.total_weight)
        return self

    @property
    def sums(self) -> TargetSums:
        """The sums of all rows."""
        return TargetSums(self.joined, self.n_targets, self.scan.how.exact)

    def about(self) -> dict[str, str]:
        return {**self.scan.about(), "the model": "TargetScan"}


def checked_targets(n_targets: int, before: int) -> int:
    """The number of targets of a block, which should be that of the blocks before (0 if there were none)."""
    if before not in (0, n_targets):
        raise ValueError(f"y has {n_targets} columns, and {before} in the rows before")
    return n_targets


def targets_of(block: Block) -> np.ndarray:
    """The targets of a block, (n_rows, n_targets)."""
    return block.y if block.y.ndim == 2 else block.y[:, None]


def joined(X: Any, y: np.ndarray) -> Any:
    """Features and, after them, targets, (n_rows, n_features + n_targets)."""
    return sp.hstack([X, sp.csr_array(y)], format="csr") if sp.issparse(X) else np.hstack([X, y])


def check_none_beside(X: Any, **beside: Any) -> None:
    """Refuse arguments that would have no effect."""
    what = "sums in place of rows" if isinstance(X, TargetSums) else "a fit by conjugate gradients"
    for name, value in beside.items():
        if value is not None:
            raise ValueError(f"{name} is given beside {what}, where it has no effect; leave it out")


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
        return np.flatnonzero((np.diagonal(self._scatter) > CONSTANT * self._squares)[: self.n_features])

    @property
    def _squares(self) -> np.ndarray:
        """Sums of squares of features and targets."""
        return self._tables[2].hi[diagonal(self.sums.joined.n_features)]

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
        found = self._scatter[self.kept, self.n_features :] / self.scale[:, None]
        if self.intercept:
            found[:, self.target_variances == 0.0] = 0.0  # but for rounding
        return found

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
                + ("" if self.sums.exact else " (exact=True can separate nearly dependent columns)")
            )
        rounded = not self.sums.exact or len(unit) > MOST_DOUBLED
        if rounded and condition < 2.0**-53 / UNSURE:
            messages.warn(
                f"columns of X are nearly collinear (condition number {self.condition_number:.1e}), and "
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

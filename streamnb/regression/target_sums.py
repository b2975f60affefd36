"""Sums of products of features and targets, by fold: all that a regression learns from rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from streamnb.core import memory, messages, persistence, row_checks
from streamnb.passes.contract import PassTask, Report, Wants
from streamnb.rows.boundary import checked
from streamnb.rows.preparing import RowOptions
from streamnb.rows.row_blocks import Block
from streamnb.rows.splits import Folding
from streamnb.scanning.class_scan import ClassScan
from streamnb.stats.class_stats import ClassStats, as_of
from streamnb.stats.columns import aligned, moved_columns, without_absent
from streamnb.stats.second_moments import Products

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
                raise ValueError(f"fold {number} has {has} the weight of the rows; take fewer folds, or another seed")

    def warn_of_rounding(self, before: Self) -> None:
        """Warn where so little is left of rounded sums that their rounding shows."""
        diagonals = (np.diagonal(sums.joined.gram) for sums in (self, before))
        left, all_rows = (np.asarray(one) for one in diagonals)
        if not self.exact and (left < OUTWEIGHED * all_rows).any():
            messages.warn(
                "the rows taken away outweigh those left, so that rounding of the sums shows in the weights; fit the "
                "rows left anew, or take exact=True from the start"
            )

    def __repr__(self) -> str:
        return f"<TargetSums: {self.n_rows:,} rows, {self.n_features:,} features, {self.n_targets:,} targets>"

    def arrays(self) -> dict[str, Any]:
        """All content by name."""
        return self._to_state()

    def _check_loaded(self) -> None:
        if not 0 < self.n_targets < self.joined.n_features or self.joined.moments != ("sum", "gram"):
            raise ValueError(f"n_targets={self.n_targets} does not go with {self.joined!r}")


@dataclass(frozen=True)
class TargetScan(PassTask):
    """The task that sums products of features and targets.

    Attributes
    ----------
    folding : Folding, optional
        Keep the sums of each fold as well.
    exact : bool
        Sum products without any rounding.
    memory_limit : int, optional
        Bytes that the sums may take.
    """

    folding: Folding | None = None
    exact: bool = False
    memory_limit: int | None = None
    title = "scan"

    @property
    def _joined(self) -> ClassScan:
        how, limit = Products(self.exact, pooled=True), self.memory_limit
        return ClassScan(
            ("sum", "gram"), RowOptions(), np.zeros(1, np.int64), folding=self.folding, how=how, memory_limit=limit
        )

    def partial(self) -> Any:
        return _Sums(self._joined.partial(), self.exact)

    def add(self, partial: Any, block: Block) -> None:
        X, y = checked(block)[0].to_matrix(), targets_of(block)
        if partial.own.n_features is None:
            self._check_fits(X.shape[1] + y.shape[1])
        partial.check_widths(X.shape[1], y.shape[1])
        labels = np.zeros(len(y), np.int64)
        self._joined.add(partial.own, replace(block, X=joined(X, y), y=labels))

    def wants(self, n_rows: int | None, n_features: int | None) -> Wants:
        if n_features is not None:
            self._check_fits(n_features + 1)
        # whether each fold has rows is checked where models of folds are made: further rows may be few
        return replace(self._joined, folding=None).wants(n_rows, None if n_features is None else n_features + 1)

    def _check_fits(self, n_columns: int) -> None:
        """Raise where products of so many columns, targets among them, need more memory than allowed."""
        n_tables = 1 if self.folding is None else self.folding.n_splits
        most = int(np.sqrt(memory.allowed(self.memory_limit) / (BYTES_OF_PAIR * n_tables)))
        if n_columns > most:
            raise MemoryError(
                f"sums of products of {n_columns:,} columns, y among them, need more memory than memory_limit allows, "
                f"which is enough for {most:,}: leave some out, take fewer folds, or for ridge regression "
                "solver='conjugate_gradients'"
            )

    def ended(self, total: Any, report: Report) -> Any:
        row_checks.check_min_size(report.rows, 1)
        row_checks.check_total_weight(total.total_weight)
        return total

    def about(self) -> dict[str, str]:
        return {**self._joined.about(), "the model": "TargetScan"}


class _Sums:
    """The sums of a thread: those of features and targets side by side."""

    def __init__(self, own: Any, exact: bool):
        self.own, self.exact, self.n_targets = own, exact, 0

    @property
    def nbytes(self) -> int:
        return self.own.nbytes

    def check_widths(self, n_features: int, n_targets: int) -> None:
        """Refuse blocks with another number of features or targets than those before."""
        if self.n_targets:
            row_checks.check_n_features(n_features, self.own.n_features - self.n_targets)
        self.n_targets = checked_targets(n_targets, self.n_targets)

    def finish(self) -> TargetSums:
        return TargetSums(self.own.finish(), self.n_targets, self.exact)


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

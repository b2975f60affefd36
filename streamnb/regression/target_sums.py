"""Sums of products of features and targets, by fold: all that a regression learns from rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from streamnb.core import memory, persistence, row_checks
from streamnb.passes.contract import PassTask, Wants
from streamnb.passes.report import Report
from streamnb.rows.block import Block
from streamnb.rows.boundary import checked
from streamnb.rows.preparing import RowOptions
from streamnb.rows.splits import Folding
from streamnb.scanning.class_scan import ClassScan
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.second_moments import Products

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

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.joined.n_rows

    @property
    def n_features(self) -> int:
        """Number of features."""
        return self.joined.n_features - self.n_targets

    @property
    def total_weight(self) -> float:
        """Sum of the weights."""
        return self.joined.total_weight

    @property
    def nbytes(self) -> int:
        """Bytes of memory."""
        return self.joined.nbytes

    @property
    def folding(self) -> Folding | None:
        """How rows were split into folds."""
        return self.joined.folding

    @property
    def folds(self) -> tuple[Self, ...]:
        """The sums of the rows of each fold."""
        return tuple(replace(self, joined=fold) for fold in self.joined.folds)

    @property
    def whole(self) -> Self:
        """The same sums without those of folds."""
        return replace(self, joined=replace(self.joined, folds=(), folding=None))

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
        return replace(self, joined=getattr(self.joined, how)(other.joined), exact=self.exact and other.exact)

    def __repr__(self) -> str:
        return f"<TargetSums: {self.n_rows:,} rows, {self.n_features:,} features, {self.n_targets:,} targets>"

    def arrays(self) -> dict[str, Any]:
        """All content by name."""
        return self._to_state()

    def _to_state(self) -> dict[str, Any]:
        return dict(vars(self))

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        sums = cls(**persistence.typed(cls, state))
        if not 0 < sums.n_targets < sums.joined.n_features or sums.joined.moments != ("sum", "gram"):
            raise ValueError(f"n_targets={sums.n_targets} does not go with {sums.joined!r}")
        return sums


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
        X, y = checked(block)[0].to_matrix(), block.y if block.y.ndim == 2 else block.y[:, None]
        partial.check_targets(y.shape[1])
        labels = np.zeros(len(y), np.int64)
        self._joined.add(partial.own, replace(block, X=joined(X, y), y=labels))

    def wants(self, n_rows: int | None, n_features: int | None) -> Wants:
        if n_features is not None:
            n_tables = 1 if self.folding is None else self.folding.n_splits
            most = int(np.sqrt(memory.allowed(self.memory_limit) / (BYTES_OF_PAIR * n_tables))) - 1
            if n_features > most:
                raise MemoryError(
                    f"sums of products of {n_features:,} columns need more memory than memory_limit allows, which is "
                    f"enough for {max(most, 0):,} columns: leave some out, take fewer folds, or for ridge regression "
                    "solver='conjugate_gradients'"
                )
        return self._joined.wants(n_rows, None if n_features is None else n_features + 1)

    def ended(self, total: Any, report: Report) -> Any:
        row_checks.check_min_size(report.rows, 1)
        return replace(total, joined=self._joined.ended(total.joined, report))

    def about(self) -> dict[str, str]:
        return {**self._joined.about(), "the model": "TargetScan"}

    def total(self, arrays: Any) -> Any:
        return persistence.restored(TargetSums, arrays)


class _Sums:
    """The sums of a thread: those of features and targets side by side."""

    def __init__(self, own: Any, exact: bool):
        self.own, self._n_targets, self._exact = own, 0, exact

    @property
    def nbytes(self) -> int:
        return self.own.nbytes

    def check_targets(self, n_targets: int) -> None:
        """Refuse blocks with another number of targets."""
        if self._n_targets not in (0, n_targets):
            raise ValueError(f"y has {n_targets} columns, and {self._n_targets} in the rows before")
        self._n_targets = n_targets

    def finish(self) -> TargetSums:
        return TargetSums(self.own.finish(), self._n_targets, self._exact)


def joined(X: Any, y: np.ndarray) -> Any:
    """Features and, after them, targets, (n_rows, n_features + n_targets)."""
    if sp.issparse(X):
        return sp.hstack([X, sp.csr_array(y)], format="csr")
    out = np.empty((len(X), X.shape[1] + y.shape[1]))
    out[:, : X.shape[1]], out[:, X.shape[1] :] = X, y
    return out

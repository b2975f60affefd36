"""Class x feature sums as frozen (hi, lo) pairs: a commutative monoid with an inverse, in floating point."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from streamnb.core import persistence
from streamnb.kernels import exact

_COLUMNS = 1 << 16  # looked at at once


@persistence.register
@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Sums (n_classes, n_columns), each the unevaluated pair hi + lo; `lo` is None while every hi is exact."""

    hi: np.ndarray
    lo: np.ndarray | None = None

    def __post_init__(self) -> None:
        for part in (self.hi, self.lo):
            if part is not None:
                part.flags.writeable = False

    @property
    def shape(self) -> tuple[int, int]:
        return self.hi.shape

    @property
    def nbytes(self) -> int:
        return self.hi.nbytes + (0 if self.lo is None else self.lo.nbytes)

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes

    def value(self, columns: Any = slice(None), classes: Any = slice(None)) -> np.ndarray:
        """The sums rounded to float64, (classes, columns); each a slice or numbers."""
        if isinstance(columns, np.ndarray) and isinstance(classes, np.ndarray):
            classes = classes[:, None]
        hi = self.hi[classes, columns]
        return hi if self.lo is None else hi + self.lo[classes, columns]

    def select(self, columns: Any) -> "Table":
        """Some columns, a slice or numbers."""
        order = np.asarray if isinstance(columns, slice) else np.ascontiguousarray
        return Table(order(self.hi[:, columns]), None if self.lo is None else order(self.lo[:, columns]))

    def row(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """One class, as (hi, lo)."""
        return self.hi[k], np.zeros(self.shape[1]) if self.lo is None else self.lo[k]

    def take(self, order: np.ndarray) -> "Table":
        """The classes in another order, or some of them; neighbours are not copied."""
        first = int(order[0]) if len(order) else 0
        rows: Any = order
        if (order == np.arange(first, first + len(order))).all():
            rows = slice(first, first + len(order))
        return Table(self.hi[rows], None if self.lo is None else self.lo[rows])

    def to_state(self) -> dict[str, Any]:
        return {"hi": self.hi, "lo": self.lo}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> "Table":
        hi = persistence.array("hi", state["hi"], ["f8"], (None, None))
        return cls(hi, None if state["lo"] is None else persistence.array("lo", state["lo"], ["f8"], hi.shape))

    def above(self, other: "Table") -> "Table":
        """The rows of this table and then those of the other."""
        hi = np.vstack([self.hi, other.hi])
        if self.lo is None and other.lo is None:
            return Table(hi)
        return Table(hi, np.vstack([t.lo if t.lo is not None else np.zeros(t.shape) for t in (self, other)]))

    def extended(self, n_more: int) -> "Table":
        """With more classes, whose sums are 0."""
        return self.above(Table(np.zeros((n_more, self.shape[1]))))

    def combined(self, other: "Table", rows: np.ndarray, other_rows: np.ndarray, sign: float) -> "Table":
        """self + sign * other, row by row; where a row number is -1 that side has no such class."""
        out = _Builder(len(rows), self.shape[1])
        zeros = np.zeros(self.shape[1])
        for k, (a, b) in enumerate(zip(rows, other_rows, strict=True)):
            left = self.row(a) if a >= 0 else (zeros, zeros)
            right = other.row(b) if b >= 0 else (zeros, zeros)
            right_hi, right_lo = right
            out.keep(k, exact.add_rows(*left, right_hi, right_lo, sign, out.hi[k], out.lo))
        return out.table()

    def totals(self) -> np.ndarray:
        """The sums over all classes, rounded to float64, (n_columns,)."""
        out = np.empty(self.shape[1])
        for start in range(0, self.shape[1], _COLUMNS):
            some = slice(start, start + _COLUMNS)
            out[some] = self.value(some).sum(axis=0)
        return out

    def others(self, columns: np.ndarray, classes: np.ndarray) -> np.ndarray:
        """For each of a list of columns the sum over all classes but one, rounded to float64; none is subtracted."""
        out, step = np.empty(len(columns)), max(_COLUMNS // max(self.shape[0], 1), 1)
        for start in range(0, len(columns), step):
            some = slice(start, start + step)
            sums = self.value(columns[some])
            sums[classes[some], np.arange(sums.shape[1])] = 0.0
            out[some] = sums.sum(axis=0)
        return out

    def pairs(self, columns: np.ndarray, classes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """High and low parts of a list of cells."""
        hi = self.hi[classes, columns]
        return hi, np.zeros(len(hi)) if self.lo is None else self.lo[classes, columns]

    def has_negative(self) -> bool:
        """True where a sum is below 0."""
        return bool((self.hi < 0).any())

    def first(self, wrong: Callable[[np.ndarray], np.ndarray]) -> tuple[int, int] | None:
        """Class and column of the first sum that is wrong, as far as its high part tells."""
        for start in range(0, self.shape[1], _COLUMNS):
            at = np.argwhere(wrong(self.hi[:, start : start + _COLUMNS]))
            if at.size:
                return int(at[0, 0]), start + int(at[0, 1])
        return None

    @property
    def dense_bytes(self) -> int:
        """Memory of the same with every cell."""
        return self.nbytes

    def dense(self) -> "Table":
        """Itself: every cell is there."""
        return self

    def scaled(self, factor: Any) -> "Table":
        """self * factor; one number, or one for each class."""
        factors = np.broadcast_to(np.asarray(factor, np.float64), self.shape[0])
        out = _Builder(*self.shape)
        for k in range(self.shape[0]):
            out.keep(k, exact.scale_rows(*self.row(k), float(factors[k]), out.hi[k], out.lo))
        return out.table()


class _Builder:
    """Collects rows of a table; the low parts get memory with the first row that needs them."""

    def __init__(self, n_rows: int, n_columns: int):
        self.hi = np.empty((n_rows, n_columns))
        self.lo = np.empty(n_columns)  # of the row at hand
        self._all_lo: np.ndarray | None = None

    def keep(self, k: int, left: bool) -> None:
        if left:
            if self._all_lo is None:
                self._all_lo = np.zeros(self.hi.shape)
            self._all_lo[k] = self.lo

    def table(self) -> Table:
        return Table(self.hi, self._all_lo)

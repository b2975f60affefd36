"""Class x feature sums as immutable (hi, lo) parts, which add and subtract exactly."""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from functools import reduce
from itertools import pairwise
from typing import Annotated, Any, Self

import numpy as np

from streamnb.core import persistence
from streamnb.kernels import exact
from streamnb.rows.row_blocks import frozen

HiLo = tuple[np.ndarray, np.ndarray]  # the sums of one class, hi (n,) and lo (n,)
Parts = tuple[np.ndarray, np.ndarray]  # the parts of a list of sums: hi (n,) and lo (n_parts, n)

_COLUMNS = 1 << 16  # columns processed at once
NO_LOW_PARTS = np.zeros((0, 0))
NO_LOW_PARTS.flags.writeable = False


class ExactSums(persistence.Parameters):
    """Sums in parts: `hi`, rounded, and `lo`, None or the parts that rounding took; files have them by their fields."""

    __slots__ = ()
    hi: np.ndarray
    lo: np.ndarray | None
    rounded: bool

    @property
    def nbytes(self) -> int:
        parts = [getattr(self, part.name) for part in fields(self)]  # type: ignore[arg-type]
        return sum(part.nbytes for part in parts if isinstance(part, np.ndarray))

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes

    def _picked(self, at: Any, axis: int = -1, **more: Any) -> Self:
        """Return the sums at some places along an axis, a slice, which copies nothing, or numbers."""

        def picked(sums: np.ndarray) -> np.ndarray:
            if not isinstance(at, slice):
                return sums.take(at, axis)
            return sums[..., at] if axis == -1 else sums[..., at, :]

        low = None if self.lo is None else picked(self.lo)  # with its parts along another, first axis
        return replace(self, hi=picked(self.hi), lo=low, **more)  # type: ignore[type-var]

    def _to_state(self) -> dict[str, Any]:
        state = super()._to_state()
        if self.lo is None and not self.rounded:
            del state["rounded"]
        elif self.lo is not None and len(self.lo) == 1:  # has no axis of its own, as in the first versions
            state["lo"] = self.lo[0]
        return state

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        table = super()._from_state(state)
        lo, rounded = restored_low(table.hi, table.lo, state.get("rounded"))
        return replace(table, lo=lo, rounded=rounded)  # type: ignore[type-var]


@persistence.register
@dataclass(frozen=True, slots=True, eq=False)
class Table(ExactSums):
    """Sums (n_classes, n_columns), each the unevaluated sum of hi, the rounded value, and the parts of lo.

    `lo` (n_parts, n_classes, n_columns) is None while every hi is exact; otherwise it has one or three parts. Sums are
    exact, and subtraction undoes addition. Scaling leaves one part and sets `rounded` if that loses digits.
    """

    hi: Annotated[np.ndarray, "f8[K, n_columns]"]
    lo: np.ndarray | None = None
    rounded: bool = False

    def __post_init__(self) -> None:
        for part in (self.hi, self.lo):
            if part is not None:
                part.flags.writeable = False

    @property
    def shape(self) -> tuple[int, int]:
        return self.hi.shape

    def value(self, columns: Any = slice(None), classes: Any = slice(None)) -> np.ndarray:
        """Return the sums rounded to float64, (classes, columns); each argument is a slice or numbers."""
        if isinstance(columns, np.ndarray) and isinstance(classes, np.ndarray):
            classes = classes[:, None]
        return self.hi[classes, columns]

    def select(self, columns: Any) -> "Table":
        """Return some columns, a slice or numbers."""
        return self._picked(columns if isinstance(columns, slice) else np.arange(self.shape[1])[columns])

    def row(self, k: int) -> HiLo:
        """Return one class as a (hi, lo) pair."""
        return self.hi[k], frozen(np.zeros(self.shape[1]) if self.lo is None else self.lo[0, k])

    def parts(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return one class: hi (n_columns,) and all parts of lo (n_parts, n_columns)."""
        return self.hi[k], NO_LOW_PARTS if self.lo is None else frozen(np.ascontiguousarray(self.lo[:, k]))

    def take(self, order: np.ndarray) -> "Table":
        """Return some classes in the given order; contiguous classes are not copied."""
        first = int(order[0]) if len(order) else 0
        rows: Any = order
        if (order == np.arange(first, first + len(order))).all():
            rows = slice(first, first + len(order))
        return self._picked(rows, axis=-2)

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        table = super(Table, cls)._from_state(state)  # where there are slots, super() without names fails
        return table if "rounded" in state or table.lo is None else renormalised(table)

    def above(self, other: "Table") -> Self:
        """Stack the rows of this table above those of the other."""
        return self._joined([self, other], axis=-2)

    def beside(self, *others: "Table") -> Self:
        """Put the columns of other tables of the same classes to the right."""
        return self._joined([self, *others], axis=-1)

    def _joined(self, tables: Sequence["Table"], axis: int) -> Self:
        n_parts = max(0 if table.lo is None else len(table.lo) for table in tables)
        hi, lo = np.concatenate([table.hi for table in tables], axis), None
        if n_parts:
            low = [np.zeros((n_parts, *table.shape)) for table in tables]
            for out, table in zip(low, tables, strict=True):
                if table.lo is not None:
                    out[: len(table.lo)] = table.lo
            lo = np.concatenate(low, axis)
        return replace(self, hi=hi, lo=lo, rounded=any(table.rounded for table in tables))

    def combined(self, other: "Table", rows: np.ndarray, other_rows: np.ndarray, sign: float) -> Self:
        """Return self + sign * other, row by row; a row number of -1 means that the operand lacks the class."""
        rounded = self.rounded or other.rounded
        out, residue = _Builder(len(rows), self.shape[1]), residue_of(rounded)
        no_lo = np.zeros((1, self.shape[1]))
        nothing = no_lo[0], no_lo
        for k, (a, b) in enumerate(zip(rows, other_rows, strict=True)):
            hi, lo = self.parts(a) if a >= 0 else nothing
            more, more_lo = other.parts(b) if b >= 0 else nothing
            if not rounded and self.lo is None and other.lo is None and are_small(hi) and are_small(more):
                np.add(hi, sign * more, out=out.hi[k])
                continue
            operands = map(frozen, (hi, lo if len(lo) else no_lo, more, more_lo if len(more_lo) else no_lo))
            out.keep(k, exact.add_rows(*operands, sign, residue, out.hi[k], out.lo))
        return replace(self, hi=out.hi, lo=out.all_lo, rounded=rounded)

    def plus(self, other: "Table", sign: float = 1.0) -> Self:
        """Return self + sign * other for tables of the same classes."""
        rows = np.arange(len(self.hi))
        return self.combined(other, rows, rows, sign)

    def totals(self) -> np.ndarray:
        """Return the sums over all classes, rounded to float64, (n_columns,)."""
        out = np.empty(self.shape[1])
        for start in range(0, self.shape[1], _COLUMNS):
            columns = slice(start, start + _COLUMNS)
            out[columns] = self.value(columns).sum(axis=0)
        return out

    def others(self, columns: np.ndarray, classes: np.ndarray) -> np.ndarray:
        """For each listed column, return the sum over all classes except one, in float64, without subtraction."""
        out, step = np.empty(len(columns)), max(_COLUMNS // max(self.shape[0], 1), 1)
        for start in range(0, len(columns), step):
            part = slice(start, start + step)
            sums = self.value(columns[part])
            sums[classes[part], np.arange(sums.shape[1])] = 0.0
            out[part] = sums.sum(axis=0)
        return out

    def pairs(self, columns: np.ndarray, classes: np.ndarray) -> Parts:
        """Return the parts of a list of cells."""
        lo = np.zeros((1, len(columns))) if self.lo is None else np.ascontiguousarray(self.lo[:, classes, columns])
        return frozen(self.hi[classes, columns]), frozen(lo)

    def dense(self) -> "Table":
        """Return self: every cell is stored."""
        return self

    def scaled(self, factor: Any) -> Self:
        """Return self * factor; `factor` is one number, or one for each class."""
        factors = np.broadcast_to(np.asarray(factor, np.float64), self.shape[0])
        out, rounded = _Builder(*self.shape), self.rounded
        for k in range(self.shape[0]):
            hi, lo = self.parts(k)
            used, lost = exact.scale_rows(hi, lo, float(factors[k]), out.hi[k], out.lo)
            out.keep(k, used)
            rounded |= bool(lost)
        return replace(self, hi=out.hi, lo=out.all_lo, rounded=rounded)

    def times(self, factor: float) -> "Table":
        """Return self * factor, exactly."""
        if factor == 1.0:  # as for presence, which so needs no kernel
            return self
        return reduce(Table.plus, [Table(part).scaled(factor) for part in parts_of(self)])


@persistence.register
@dataclass(frozen=True, slots=True, eq=False)
class PooledTable(Table):
    """Sums over all classes, (1, n_columns): any selection of classes yields this one row."""

    hi: Annotated[np.ndarray, "f8[1, n_columns]"]

    def combined(self, other: Table, rows: np.ndarray, other_rows: np.ndarray, sign: float) -> Self:
        one = np.zeros(1, np.intp)
        return Table.combined(self, other, one, one, sign)

    def take(self, order: np.ndarray) -> "PooledTable":
        return self

    def above(self, other: Table) -> Self:
        return self

    def scaled(self, factor: Any) -> Self:
        factors = np.unique(np.asarray(factor, np.float64))
        if len(factors[factors != 0.0]) > 1:
            raise ValueError(
                "sums that are pooled over the classes cannot be weighed class by class; scan with pooled=False"
            )
        return Table.scaled(self, float(factors[-1]))


def pooled(table: Table) -> PooledTable:
    """Return one row of sums as a pooled table."""
    return PooledTable(table.hi, table.lo, table.rounded)


class _Builder:
    """Collects the rows of a table; low parts are allocated with the first row that needs them."""

    def __init__(self, n_rows: int, n_columns: int):
        self.hi = np.empty((n_rows, n_columns))
        self.lo = np.zeros((3, n_columns))  # of the current row
        self.all_lo: np.ndarray | None = None

    def keep(self, k: int, used: int) -> None:
        """Store the low parts of row k, of which `used` are in use."""
        kept = 0 if self.all_lo is None else len(self.all_lo)
        if used > kept:
            more = np.zeros((used - kept, *self.hi.shape))
            self.all_lo = more if self.all_lo is None else np.concatenate([self.all_lo, more])
        if self.all_lo is not None:
            self.all_lo[:used, k] = self.lo[:used]
        self.lo[1:used] = 0.0


def parts_of(table: Any) -> list[np.ndarray]:
    """Return the arrays that add up to the sums of a table."""
    return [table.hi, *([] if table.lo is None else table.lo)]


def difference(a: Parts, b: Parts, rounded: bool) -> Parts:
    """Subtract two lists of sums, keeping all digits however small the difference is."""
    hi, lo = np.empty(len(a[0])), np.zeros((3, len(a[0])))
    exact.add_rows(*map(frozen, (*a, *b)), -1.0, residue_of(rounded), hi, lo)
    return hi, lo


def scatter_about_mean(sums: HiLo, squares: HiLo, weight: HiLo) -> np.ndarray:
    """Return sum w (x - mean)^2 of each column from the pairs (hi, lo) of sum w x, sum w x^2 and sum w; 0 without w."""
    (s, s_lo), (q, q_lo), (w, w_lo) = sums, squares, weight
    out = np.zeros(len(s))
    if w[0] > 0.0:
        exact.scatter_about_mean(s, s_lo, q, q_lo, float(w[0]), float(w_lo[0]), out)
    return out


def renormalised(table: Any) -> Any:
    """Return the same sums, with each hi rounded from all of its parts."""
    rows = np.arange(len(table.hi))
    return table.combined(table, rows, np.full(len(rows), -1), 1.0)


def are_small(sums: np.ndarray, n: int = 2) -> bool:
    """Return whether sums are whole numbers so small that NumPy adds `n` of them without error, and without a kernel.

    A kernel takes half a second to compile, and sums of most rows are counts.
    """
    return bool((np.abs(sums) <= 2.0**53 / n).all() and (np.rint(sums) == sums).all())


def enlarged(array: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return a larger copy, padded with zeros."""
    out = np.zeros(shape, array.dtype)
    out[tuple(map(slice, array.shape))] = array
    return out


def columns_at_once(n_classes: int) -> int:
    """Return the number of columns whose sums fit into a temporary array."""
    return max(min(_COLUMNS, (1 << 24) // max(n_classes, 1)), 1)


def residue_of(rounded: bool) -> float:
    """Return the fraction of a sum below which a difference is only rounding error."""
    return exact.RESIDUE if rounded else exact.DEEP_RESIDUE


def restored_low(hi: np.ndarray, lo: np.ndarray | None, rounded: bool | None) -> tuple[np.ndarray | None, bool]:
    """Restore the low parts and whether they are rounded; the first versions rounded all and did not say so."""
    if lo is None:
        return None, bool(rounded)
    n_parts = () if np.ndim(lo) == hi.ndim else (3,)
    lo = persistence.array("lo", lo, ["f8"], (*n_parts, *hi.shape)).reshape(-1, *hi.shape)
    if not np.isfinite(lo).all():
        raise ValueError("lo should be finite numbers")
    if rounded is not None and any(
        (lower[lower != 0] + upper[lower != 0] != upper[lower != 0]).any() for upper, lower in pairwise([hi, *lo])
    ):
        raise ValueError("each part of lo should be what rounding took from the part before")
    return lo, rounded is not False

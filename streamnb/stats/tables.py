"""Class x feature sums as immutable (hi, lo) parts, which add and subtract exactly: dense, or cells that rows touch.

Blocks of rows become sorted runs of cells, which are merged as in a log-structured store: two of similar size at a
time, so that each cell is moved only a few times.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import reduce
from itertools import pairwise
from typing import Annotated, Any, Self

import numpy as np
import scipy.sparse as sp

from streamnb.core import arguments, memory, persistence
from streamnb.kernels import class_sums, exact, table_sums
from streamnb.rows.row_blocks import Chunk, CSRChunk, DenseChunk, Entries, frozen

HiLo = tuple[np.ndarray, np.ndarray]  # the sums of one class, hi (n,) and lo (n,)
Parts = tuple[np.ndarray, np.ndarray]  # the parts of a list of sums: hi (n,) and lo (n_parts, n)

_COLUMNS = 1 << 16  # columns processed at once
LARGE = 1 << 30  # bytes of a dense array from which on the free memory is checked
_SPAN = 1 << 24  # cells of a dense table processed at once
NO_LOW_PARTS = np.zeros((0, 0))
NO_LOW_PARTS.flags.writeable = False


class ExactSums(persistence.Parameters):
    """Sums in parts: `hi`, rounded, and `lo`, None or the parts that rounding took; files have them by their fields."""

    __slots__ = ()
    hi: np.ndarray
    lo: np.ndarray | None
    rounded: bool

    def __post_init__(self) -> None:
        for part in self._arrays:
            part.flags.writeable = False

    @property
    def _arrays(self) -> list[np.ndarray]:
        parts = [getattr(self, part.name) for part in fields(self)]  # type: ignore[arg-type]
        return [part for part in parts if isinstance(part, np.ndarray)]

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in self._arrays)

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
            operands = hi, lo if len(lo) else no_lo, more, more_lo if len(more_lo) else no_lo
            hi, lo, more, more_lo = map(frozen, operands)
            out.keep(k, exact.add_rows(hi, lo, more, more_lo, sign, residue, out.hi[k], out.lo))
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
    (a_hi, a_lo), (b_hi, b_lo) = map(frozen, a), map(frozen, b)
    exact.add_rows(a_hi, a_lo, b_hi, b_lo, -1.0, residue_of(rounded), hi, lo)
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


# ---- sparse tables ---------------------------------------------------------------------------------------------------


def class_bits(n_columns: int) -> int:
    """Return how many of the low bits of a 63-bit key are the class; the high bits are the column."""
    return 63 - max(n_columns - 1, 0).bit_length()


def check_countable(n_classes: int, n_columns: int) -> None:
    """Raise an error if there are more cells than keys can number."""
    if n_classes > 1 << class_bits(n_columns):
        raise MemoryError(f"{n_classes:,} classes and {n_columns:,} features have more cells than can be numbered")


@persistence.register
@dataclass(frozen=True, slots=True, eq=False)
class SparseTable(ExactSums):
    """Sums (n_classes, n_columns) as sorted cells in parts hi and lo, with the interface of `Table`.

    A key is ``column << class_bits(n_columns) | class``: cells are ordered by column, so that the blocks of columns
    that are solved together are contiguous. `lo` is None while every hi is exact; see `Table`.
    """

    shape: tuple[int, int]
    keys: Annotated[np.ndarray, "i8[n_cells]"]
    hi: Annotated[np.ndarray, "f8[n_cells]"]
    lo: np.ndarray | None = None  # (1 or 3, n_cells)
    rounded: bool = False

    @classmethod
    def of(cls, table: Table) -> "SparseTable":
        """Return the nonzero cells of a dense table."""
        check_countable(*table.shape)
        n_classes, n_columns = table.shape
        bits, parts = class_bits(n_columns), []
        step = max(_SPAN // max(n_classes, 1), 1)
        for first in range(0, n_columns, step):
            part = slice(first, first + step)
            hi, lo = table.hi[:, part].T, None if table.lo is None else table.lo[:, :, part].transpose(0, 2, 1)
            columns, classes = np.nonzero(hi if lo is None else (hi != 0.0) | (lo[0] != 0.0))
            keys = (columns + first) << bits | classes
            parts.append((keys, hi[columns, classes], None if lo is None else lo[:, columns, classes]))
        keys, values = (np.concatenate([part[i] for part in parts]) for i in (0, 1))
        lo = None if table.lo is None else np.ascontiguousarray(np.concatenate([part[2] for part in parts], axis=1))
        return cls(table.shape, keys, values, lo, table.rounded)

    @property
    def _bits(self) -> int:
        return class_bits(self.shape[1])

    @property
    def _low(self) -> np.ndarray:
        return NO_LOW_PARTS if self.lo is None else self.lo

    def value(self, columns: Any = slice(None), classes: Any = slice(None)) -> np.ndarray:
        """Return the sums rounded to float64, dense, (classes, columns); each argument is a slice or numbers."""
        at, local, width = self.cells_of(columns)
        wanted = np.arange(self.shape[0])[classes]
        _check_size(len(wanted), width)
        place = _inverse(wanted, self.shape[0])
        rows, values = place[self.classes_of(at)], self.hi[at]
        out = np.zeros((len(wanted), width))
        out[rows[rows >= 0], local[rows >= 0]] = values[rows >= 0]
        return out if isinstance(classes, slice) else out[place[wanted]]  # a class may be listed more than once

    def classes_of(self, at: Any = slice(None)) -> np.ndarray:
        """Return the classes of cells."""
        return self.keys[at] & ((1 << self._bits) - 1)

    def columns_of(self, at: Any = slice(None)) -> np.ndarray:
        """Return the columns of cells."""
        return self.keys[at] >> self._bits

    def cells_of(self, columns: Any) -> tuple[Any, np.ndarray, int]:
        """Return the cells in some columns, the place of the column of each among these, and the number of columns."""
        bits = self._bits
        if isinstance(columns, slice) and columns.step in (None, 1):
            first, stop, _ = columns.indices(self.shape[1])
            if stop <= first:
                return slice(0, 0), np.zeros(0, np.int64), 0
            cells = slice(*np.searchsorted(self.keys, [first << bits, (stop << bits) - 1]))
            return cells, (self.keys[cells] >> bits) - first, stop - first
        numbers = np.arange(self.shape[1])[columns]
        starts = np.searchsorted(self.keys, numbers << bits)
        stops = np.searchsorted(self.keys, (numbers << bits) | ((1 << bits) - 1), side="right")
        return ranges(starts, stops), np.repeat(np.arange(len(numbers)), stops - starts), len(numbers)

    def select(self, columns: Any) -> "SparseTable":
        """Return some columns, a slice or numbers."""
        at, local, width = self.cells_of(columns)
        return self._placed(at, local, self.classes_of(at), (self.shape[0], width))

    def moved(self, columns: np.ndarray, n_columns: int) -> "SparseTable":
        """Move each cell to the given column; -1 drops the cell."""
        kept = slice(None) if (columns >= 0).all() else np.flatnonzero(columns >= 0)
        return self._placed(kept, columns[kept], self.classes_of(kept), (self.shape[0], n_columns))

    def take(self, order: np.ndarray) -> "SparseTable":
        """Return some classes in the given order."""
        if len(order) == self.shape[0] and (order == np.arange(len(order))).all():
            return self
        return self._with_classes(_inverse(order, self.shape[0]), len(order))

    def above(self, other: "SparseTable") -> "SparseTable":
        """Stack the rows of this table above those of the other."""
        n, more = self.shape[0], other.shape[0]
        mine, theirs = np.append(np.arange(n), np.full(more, -1)), np.append(np.full(n, -1), np.arange(more))
        return self.combined(other, mine, theirs, 1.0)

    def combined(self, other: "SparseTable", rows: np.ndarray, other_rows: np.ndarray, sign: float) -> "SparseTable":
        """Return self + sign * other, row by row; a row number of -1 means that the operand lacks the class."""
        a, b = (
            table._with_classes(_inverse(numbers, table.shape[0]), len(rows))
            for table, numbers in ((self, rows), (other, other_rows))
        )
        return a.plus(b, sign)

    def plus(self, other: "SparseTable", sign: float = 1.0) -> "SparseTable":
        """Return self + sign * other for tables of the same classes."""
        n_cells = table_sums.count_union(self.keys, other.keys)
        rounded = self.rounded or other.rounded
        keys, hi, lo = np.empty(n_cells, np.int64), np.empty(n_cells), np.zeros((3, n_cells))
        arrays = map(frozen, (self.keys, self.hi, self._low, other.keys, other.hi, other._low))
        used = table_sums.merge_cells(*arrays, sign, residue_of(rounded), keys, hi, lo)
        return SparseTable(self.shape, keys, hi, lo[:used] if used else None, rounded)._packed()

    def scaled(self, factor: Any) -> "SparseTable":
        """Return self * factor; `factor` is one number, or one for each class."""
        factors = np.broadcast_to(np.asarray(factor, np.float64), self.shape[0])[self.classes_of()]
        hi, lo = np.empty(len(self.keys)), np.zeros((3, len(self.keys)))
        used, lost = table_sums.scale_cells(frozen(self.hi), frozen(self._low), factors, hi, lo)
        return replace(self, hi=hi, lo=lo[:used] if used else None, rounded=self.rounded or bool(lost))._packed()

    def totals(self) -> np.ndarray:
        """Return the sums over all classes, rounded to float64, (n_columns,)."""
        return np.bincount(self.columns_of(), self.hi, self.shape[1])

    def others(self, columns: np.ndarray, classes: np.ndarray) -> np.ndarray:
        """For each listed column, return the sum over all classes except one, in float64, without subtraction."""
        at, place, n = self.cells_of(columns)
        return np.bincount(place, np.where(self.classes_of(at) == classes[place], 0.0, self.hi[at]), n)

    def pairs(self, columns: np.ndarray, classes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the parts of a list of cells: hi (n,) and lo (n_parts, n)."""
        keys = columns.astype(np.int64) << self._bits | classes
        hi, lo = np.zeros(len(keys)), np.zeros((max(len(self._low), 1), len(keys)))
        at = np.searchsorted(self.keys, keys)
        there = np.flatnonzero(np.append(self.keys, -1)[at] == keys)
        hi[there] = self.hi[at[there]]
        if self.lo is not None:
            lo[:, there] = self.lo[:, at[there]]
        return frozen(hi), frozen(lo)

    def dense(self) -> Table:
        """Return the dense table with every cell."""
        _check_size(*self.shape)
        at = self.classes_of(), self.columns_of()
        hi, lo = np.zeros(self.shape), None if self.lo is None else np.zeros((len(self.lo), *self.shape))
        hi[at] = self.hi
        if lo is not None:
            lo[:, *at] = self.lo
        return Table(hi, lo, self.rounded)

    def _with_classes(self, place: np.ndarray, n_classes: int) -> "SparseTable":
        """Renumber the classes by `place`, (old n_classes,); -1 drops a class."""
        classes = place[self.classes_of()]
        kept = slice(None) if (place >= 0).all() else np.flatnonzero(classes >= 0)
        return self._placed(kept, self.columns_of(kept), classes[kept], (n_classes, self.shape[1]))

    def _placed(self, at: Any, columns: np.ndarray, classes: np.ndarray, shape: tuple[int, int]) -> "SparseTable":
        """Return some cells in new places."""
        check_countable(*shape)
        keys = columns << class_bits(shape[1]) | classes
        cells = self._picked(at, keys=keys, shape=shape)
        if (keys[1:] >= keys[:-1]).all():
            return cells
        order = np.argsort(keys)
        return cells._picked(order, keys=keys[order])

    def _packed(self) -> "SparseTable":
        """Return the table without cells that are 0."""
        kept = self.hi != 0.0
        if self.lo is not None:
            kept |= self.lo[0] != 0.0
        if kept.all():
            return self
        return self._picked(np.flatnonzero(kept), keys=self.keys[kept])

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        shape = tuple(state["shape"])  # a list in older files
        return super(SparseTable, cls)._from_state({**state, "shape": shape})

    def _check_loaded(self) -> None:
        n_classes, n_columns = (arguments.whole_number("shape", n) for n in self.shape)
        inside = (self.classes_of() < n_classes).all() and (self.columns_of() < n_columns).all()
        if (self.keys < 0).any() or not inside or (self.keys[1:] <= self.keys[:-1]).any():
            raise ValueError("the keys of a sparse table should rise, and number its classes and columns")


AnyTable = Table | SparseTable


def dense_bytes(table: AnyTable) -> int:
    """Return the bytes of the table with every cell."""
    return 8 * (1 if table.lo is None else 1 + len(table.lo)) * table.shape[0] * table.shape[1]


def first(table: AnyTable, wrong: Callable[[np.ndarray], np.ndarray]) -> tuple[int, int] | None:
    """Return class and column of the first wrong sum, judged by its high part, or None; 0 is never wrong."""
    if isinstance(table, SparseTable):
        at = np.flatnonzero(wrong(table.hi))[:1]
        return (int(table.classes_of(at)[0]), int(table.columns_of(at)[0])) if at.size else None
    step = columns_at_once(table.shape[0])
    for start in range(0, table.shape[1], step):
        cells = np.argwhere(wrong(table.hi[:, start : start + step]))
        if cells.size:
            return int(cells[0, 0]), start + int(cells[0, 1])
    return None


def as_scipy(table: AnyTable) -> sp.csr_array:
    """Return the sums rounded to float64, as CSR."""
    if isinstance(table, Table):
        return sp.csr_array(table.value())
    return sp.csr_array((table.hi, (table.classes_of(), table.columns_of())), shape=table.shape)


def extended(table: AnyTable, n_more: int) -> AnyTable:
    """Return the table with more classes, whose sums are 0."""
    if isinstance(table, Table):
        return table.above(Table(np.zeros((n_more, table.shape[1]))))
    return replace(table, shape=(table.shape[0] + n_more, table.shape[1]))


def compact(table: AnyTable) -> AnyTable:
    """Convert to the kind of table that is clearly smaller; pooled tables stay as they are."""
    if isinstance(table, PooledTable):
        return table
    if isinstance(table, SparseTable):
        return table.dense() if 2 * table.nbytes > dense_bytes(table) else table
    n_cells = np.count_nonzero(table.hi if table.lo is None else (table.hi != 0) | (table.lo[0] != 0))
    return SparseTable.of(table) if 8 * 24 * n_cells < table.nbytes else table


def alike(a: AnyTable, b: AnyTable) -> tuple[Any, Any]:
    """Make both tables sparse if one of them is, so that they can be combined."""
    if type(a) is type(b):
        return a, b
    return tuple(SparseTable.of(t) if isinstance(t, Table) else t for t in (a, b))  # type: ignore[return-value]


def ranges(starts: np.ndarray, stops: np.ndarray) -> np.ndarray:
    """Concatenate the ranges from each start to its stop."""
    lengths = stops - starts
    return np.arange(lengths.sum()) + np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)


def _inverse(numbers: np.ndarray, n: int) -> np.ndarray:
    """Return the position of each of n numbers in a list, -1 if missing; entries of -1 in the list are skipped."""
    place, listed = np.full(n, -1), numbers >= 0
    place[numbers[listed]] = np.flatnonzero(listed)
    return place


def _check_size(n_classes: int, n_columns: int) -> None:
    """Raise an error for a dense array that would not fit into memory."""
    n_bytes = 8 * n_classes * n_columns
    if n_bytes > LARGE and n_bytes > memory.allowed(None):
        raise MemoryError(
            f"the sums of {n_classes:,} classes and {n_columns:,} features would take {memory.size(n_bytes)} in one "
            f"dense array, more than half of the free memory; use those of some features, "
            "stats.select(columns, moments), or stats.to_scipy(moment), which is sparse"
        )


class Runs:
    """Sums of one moment over the blocks so far, as sorted runs of cells, each at least twice as long as the next."""

    def __init__(self) -> None:
        self._runs: list[SparseTable] = []

    def add(self, run: SparseTable) -> None:
        """Add the cells of more rows, merging runs of similar length."""
        while self._runs and len(self._runs[-1].keys) < 2 * len(run.keys):
            run = self._runs.pop().plus(run)
        if len(run.keys):
            self._runs.append(run)

    def table(self, n_classes: int, n_columns: int) -> SparseTable:
        """Return the sum of all runs, which cannot be used afterwards."""
        shape = n_classes, n_columns
        total = SparseTable(shape, np.zeros(0, np.int64), np.zeros(0))
        while self._runs:
            total = self._runs.pop().plus(total)
        return replace(total, shape=shape)


@dataclass(frozen=True, slots=True, eq=False)
class Listing:
    """The cells that a block of rows touches: distinct keys, and the values to be added to each."""

    shape: tuple[int, int]
    keys: np.ndarray
    starts: np.ndarray  # (n_cells + 1,) where the values of each cell begin
    values: np.ndarray  # sorted by cell
    weight: np.ndarray

    @classmethod
    def of(cls, chunk: Chunk, entries: Entries, n_groups: int) -> "Listing":
        """Sort the stored values of a block by cell."""
        check_countable(n_groups, chunk.shape[1])
        X = sp.csr_array(chunk.to_matrix())
        starts, stops = X.indptr[entries.rows].astype(np.int64), X.indptr[entries.rows + 1].astype(np.int64)
        whole = len(entries.rows) == X.shape[0] and np.array_equal(entries.rows, np.arange(X.shape[0]))
        at = slice(None) if whole else ranges(starts, stops)
        keys = X.indices[at].astype(np.int64) << class_bits(X.shape[1])
        keys |= np.repeat(entries.codes, stops - starts)
        if isinstance(chunk, CSRChunk) and chunk.ones and (entries.weight == 1.0).all():
            keys.sort()  # takes less than half as long as an order, which values that are alike do not need
            values = weight = np.ones(len(keys))
        else:
            order = np.argsort(keys)
            keys = keys[order]
            values, weight = X.data[at][order].astype(np.float64), np.repeat(entries.weight, stops - starts)[order]
        firsts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]])) if len(keys) else np.zeros(0, np.intp)
        return cls((n_groups, X.shape[1]), keys[firsts], np.append(firsts, len(keys)), values, weight)

    def sums(self, moment: int, threshold: float) -> SparseTable:
        """Return the sums of a moment in each cell."""
        hi, lo = np.empty(len(self.keys)), np.zeros((3, len(self.keys)))
        used = table_sums.sum_cells(self.values, self.weight, self.starts, moment, threshold, hi, lo)
        return SparseTable(self.shape, self.keys, hi, lo[:used] if used else None)


# ---- sums of all classes ---------------------------------------------------------------------------------------------

FEW = 1 << 20  # sums that NumPy may add, as far as its temporary arrays are small


def whole(table: AnyTable) -> Table:
    """Return the sums over all classes, (1, n_columns), of a table (n_classes, n_columns)."""
    if isinstance(table, PooledTable):
        return table
    n_classes, n_columns = table.shape
    chunks: list[Chunk]
    if isinstance(table, SparseTable):  # as one row, which stores a column once for each class
        places, ends = frozen(table.columns_of().astype(np.int32)), np.array([0, len(table.keys)])
        chunks = [CSRChunk(frozen(part), places, ends, n_columns, 0) for part in parts_of(table)]
    elif 0 < table.hi.size <= FEW and table.lo is None and not table.rounded and are_small(table.hi, n_classes):
        return Table(table.hi.sum(axis=0, keepdims=True))
    else:
        chunks = [DenseChunk(frozen(np.ascontiguousarray(part)), 0) for part in parts_of(table)]
    n_rows = chunks[0].shape[0]
    entries = Entries(np.arange(n_rows), np.zeros(n_rows, np.int64), np.ones(n_rows))
    hi, lo = np.zeros((1, n_columns)), np.zeros((3, 1, n_columns))
    for chunk in chunks:
        chunk.add_moment(entries, class_sums.SUM, 0.0, hi, lo)
    return renormalised(Table(hi, lo, table.rounded))


def spread_about_mean(stats: Any) -> np.ndarray:
    """Return the sum over all rows of w (x - mean)^2, (n_features,), without cancellation."""
    return scatter_about_mean(*(whole(stats.table(name)).row(0) for name in ("sum", "sum_sq", "weight")))


def deviations(stats: Any) -> np.ndarray:
    """Return the standard deviations of the columns over all rows, (n_features,); the sums include squares."""
    counted_once = stats if stats.every is None else stats.every
    return np.sqrt(spread_about_mean(counted_once) / counted_once.total_weight)


def by_column(table: AnyTable) -> Any:
    """Return the sums rounded to float64, (n_columns, n_classes), the order of sparse cells: as CSR where these are."""
    if not isinstance(table, SparseTable):
        return np.ascontiguousarray(table.hi.T)
    ends = np.searchsorted(table.columns_of(), np.arange(table.shape[1] + 1))
    return sp.csr_array((table.hi, table.classes_of(), ends), table.shape[::-1])

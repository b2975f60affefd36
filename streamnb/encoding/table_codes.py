"""Codes of a table's columns: which column of the model each value has, by counts of one pass and of further rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import add
from threading import Lock
from typing import Annotated, Any, Self

import numpy as np

from streamnb.core import memory, persistence, row_checks
from streamnb.core.messages import listed, warn
from streamnb.core.persistence import shown
from streamnb.encoding.bins import BinEdges
from streamnb.encoding.ngrams import ENTRY_BYTES, columns_of, hashes_of
from streamnb.passes.statistic import Statistic, added
from streamnb.rows.row_blocks import Block
from streamnb.rows.table_columns import (
    BOOLEAN,
    CATEGORY,
    LEVEL,
    NOTHING,
    WEEKDAYS,
    Coded,
    ColumnPart,
    kind_of,
    levels_of,
    numbers_of,
    same_values,
    strings_of,
    takes,
)
from streamnb.stats.value_counts import NO_VALUES, ValueCells, ValueCounts, cells_of, counted_cells

NONE = -1  # no indicator


@dataclass(frozen=True)
class Code(persistence.Parameters):
    """Encodes the values of a `ColumnPart` as columns of the model, of which each row has at most one."""

    @property
    def n_columns(self) -> int:
        """Number of output columns."""
        raise NotImplementedError

    @property
    def kinds(self) -> list[tuple[str, int]]:
        """As in `Encoding`."""
        return [("categorical", self.n_columns)]

    def places(self, part: ColumnPart, values: Any) -> np.ndarray:
        """The column of each value and, last, of missing values, (n_values + 1,) int32; -1 for none."""
        raise NotImplementedError

    def names(self, part: ColumnPart) -> list[str]:
        """Names of the columns."""
        raise NotImplementedError

    def with_gaps(self, gaps: bool) -> Code:
        """The code with a column for missing values, or without one."""
        return replace(self, missing=gaps)  # type: ignore[call-arg]


@persistence.register
@dataclass(frozen=True)
class LevelCodes(Code):
    """An indicator for each known value, optionally one for rare and new values and one for missing values.

    `new` is the share of values in further rows that are likely to be new, by Good and Turing that of values that one
    row had.
    """

    values: list[str]
    rare: bool = False
    missing: bool = False
    new: float = 0.0

    @property
    def n_columns(self) -> int:
        return len(self.values) + self.rare + self.missing

    @cached_property
    def known(self) -> dict[str, int]:
        """The place of each known value."""
        return {value: place for place, value in enumerate(self.values)}

    def places(self, part: ColumnPart, values: Any) -> np.ndarray:
        other = len(self.values) if self.rare else NONE
        get = self.known.get
        found = [get(value, other) for value in values]
        found.append(self.n_columns - 1 if self.missing else NONE)
        return np.array(found, np.int32)

    def names(self, part: ColumnPart) -> list[str]:
        rare = [f"{part.label} is rare"] if self.rare else []
        return [*map(part.named, self.values), *rare, *([part.missing()] if self.missing else [])]


@persistence.register
@dataclass(frozen=True)
class HashedCodes(Code):
    """An indicator for the hash of each value, in columns of the part's own; of models before `SharedHash`."""

    n_features: int
    missing: bool = False

    @property
    def n_columns(self) -> int:
        return self.n_features + self.missing

    def places(self, part: ColumnPart, values: Any) -> np.ndarray:
        columns, _ = columns_of(hashes_of([part.named(value) for value in values]), self.n_features)
        return np.append(columns, self.n_features if self.missing else NONE).astype(np.int32)

    def names(self, part: ColumnPart) -> list[str]:
        hashed = [f"{part.label}: hash {column}" for column in range(self.n_features)]
        return [*hashed, *([part.missing()] if self.missing else [])]


@persistence.register
@dataclass(frozen=True)
class SharedHash(Code):
    """An indicator for the hash of each value and the part's name, in columns that all parts with this code share."""

    n_features: int
    missing: bool = False

    @property
    def n_columns(self) -> int:
        return self.n_features

    @property
    def kinds(self) -> list[tuple[str, int]]:
        return [("multinomial", self.n_features)]  # rows have one for each part

    def places(self, part: ColumnPart, values: Any) -> np.ndarray:
        named = [part.named(value) for value in values] + [part.missing()]
        columns = columns_of(hashes_of(named), self.n_features)[0].astype(np.int32)
        columns[-1] = columns[-1] if self.missing else NONE
        return columns

    def names(self, part: ColumnPart) -> list[str]:
        return [f"hash {column}" for column in range(self.n_features)]


@persistence.register
@dataclass(frozen=True, eq=False)
class BinCodes(Code):
    """An indicator for the bin of each number."""

    edges: BinEdges  # of one feature

    @property
    def n_columns(self) -> int:
        return self.edges.n_columns

    def places(self, part: ColumnPart, values: Any) -> np.ndarray:
        inner = self.edges.edges[0]
        gap = len(inner) + 1 if self.edges.missing[0] else NONE
        found = np.searchsorted(inner, values)
        if values.dtype.kind == "f":
            found = np.where(np.isnan(values), gap, found)
        return np.append(found, gap).astype(np.int32)

    def names(self, part: ColumnPart) -> list[str]:
        return self.edges.names([part.label])

    def with_gaps(self, gaps: bool) -> BinCodes:
        return BinCodes(BinEdges(self.edges.edges, np.array([gaps])))

    def with_gap_of(self, one: OneNumber) -> BinCodes:
        """The code for further rows, too, that all have one number or are all missing."""
        return self.with_gaps(bool(self.edges.missing[0] or np.isnan(one.value)))

    def name_of(self, part: ColumnPart, one: OneNumber) -> str:
        """The name of the column of rows that all have one number or are all missing."""
        return self.names(part)[int(self.places(part, np.array([one.value]))[0])]


@persistence.register
@dataclass(frozen=True)
class PlainNumber(Code):
    """A number, the median if it is missing, and optionally an indicator of missing values."""

    median: float
    missing: bool = False

    @property
    def n_columns(self) -> int:
        return 1 + self.missing

    @property
    def kinds(self) -> list[tuple[str, int]]:
        return [("gaussian", 1), *([("bernoulli", 1)] if self.missing else [])]

    def filled(self, values: np.ndarray) -> np.ndarray:
        """The number for each value and, last, for missing values."""
        return np.append(np.where(np.isnan(values), self.median, values), self.median)

    def places(self, part: ColumnPart, values: Any) -> np.ndarray:
        """The column of the indicator of missing values."""
        gap = 1 if self.missing else NONE
        return np.append(np.where(np.isnan(values), gap, NONE), gap).astype(np.int32)

    def names(self, part: ColumnPart) -> list[str]:
        return [part.label, *([part.missing()] if self.missing else [])]


@persistence.register
@dataclass(frozen=True)
class OneNumber(Code):
    """The number that all rows have, which needs no column."""

    value: float

    @property
    def n_columns(self) -> int:
        return 0

    def names(self, part: ColumnPart) -> list[str]:
        return []

    def with_gaps(self, gaps: bool) -> OneNumber:
        return self


def ordered(part: ColumnPart, values: Iterable[str]) -> list[str]:
    """Values of a category in the order of their columns: numbers first, by size; days of the week as they follow."""
    return sorted(values, key=WEEKDAYS.index if part.date_part == "weekday" else _order)


def _order(value: str) -> tuple[float, str]:
    """A sort key: numbers first, by size."""
    try:
        return float(value), value
    except ValueError:
        return np.inf, value


# ---- values, counts and quantiles, learned in one pass ---------------------------------------------------------------


class LevelCounts:
    """The count of each value of a category; discarded once there are more than `most` values."""

    def __init__(self, counts: Mapping[str, float], missing: float, most: int, full: bool = False):
        self.counts: Counter[str] = Counter()
        self.missing: float = 0
        self.most, self.full = most, full
        self.add(counts, missing)

    def add(self, counts: Mapping[str, Any], missing: float) -> None:
        """Add the counts of a block of rows to a partial result."""
        self.missing += missing
        self.counts.update(counts)
        self.full = self.full or len(self.counts) > self.most
        if self.full:
            self.counts.clear()

    def scaled(self, factor: float) -> LevelCounts:
        """The counts multiplied by a factor."""
        counts = {value: count * factor for value, count in self.counts.items()}
        return LevelCounts(counts, self.missing * factor, self.most, self.full)

    def __add__(self, other: Self) -> LevelCounts:
        both = LevelCounts(self.counts, self.missing, self.most, self.full or other.full)
        both.add(other.counts, other.missing)
        return both

    @property
    def nbytes(self) -> int:
        return ENTRY_BYTES * len(self.counts)


@dataclass(eq=False)
class TableCounts(Statistic):
    """A `LevelCounts` or `ValueCounts` for each part of a table; weights are numbers of copies.

    Categories of more than `most` values are not counted.
    """

    parts: tuple[ColumnPart, ...]
    most: int
    memory_limit: int | None = None
    n_rows: Annotated[float, add] = 0
    of_parts: Annotated[list[Any], added] = field(default_factory=list)
    title = "columns"

    def __post_init__(self) -> None:
        if not self.of_parts:
            self.of_parts = [self._missing(part, 0) for part in self.parts]
        self._pending: dict[int, tuple[Any, np.ndarray]] = {}  # values of the last blocks, by part, and their counts

    def _missing(self, part: ColumnPart, n_rows: float) -> Any:
        """The counts of a part that is missing in all of these rows."""
        return LevelCounts({}, n_rows, self.most) if part.role == LEVEL else _of_numbers(NO_VALUES, n_rows, np.empty(0))

    def add_block(self, block: Block) -> None:
        """Count the values of a block of rows."""
        self.n_rows += block.n_rows if block.weight is None else int(block.weight.sum())
        for k, part in enumerate(self.parts):
            if part.role == LEVEL:
                self._add_levels(k, levels_of(part, block.X), block.weight)
            else:
                self.of_parts[k] += _numbers(part, block, self.of_parts[k].features[0].shift)
        cure = "leave columns out with columns=, give a smaller hash_features, or a larger memory_limit"
        memory.check(f"the values of {len(self.parts)} columns, counted", self.nbytes, self.memory_limit, cure)

    def __add__(self, other: Self) -> Self:
        theirs = dict(zip(other.parts, other.of_parts, strict=True))  # other sites may have another order of columns
        of_parts = [ours + theirs[part] for part, ours in zip(self.parts, self.of_parts, strict=True)]
        return replace(self, n_rows=self.n_rows + other.n_rows, of_parts=of_parts)

    def scaled(self, factor: float) -> Self:
        """The counts multiplied by a factor."""
        of_parts = [part.scaled(factor) for part in self.of_parts]
        return replace(self, n_rows=self.n_rows * factor, of_parts=of_parts)

    def _add_levels(self, k: int, coded: Coded, copies: np.ndarray | None) -> None:
        """Count values by their codes as long as blocks have the same distinct values."""
        counts = coded.counts(copies)
        if k in self._pending and same_values(self._pending[k][0], coded.values):
            self._pending[k][1][:] += counts
        else:
            self._flush(k)
            self._pending[k] = coded.values, counts

    def _flush(self, k: int) -> None:
        """Add the pending counts of a part."""
        if k in self._pending:
            values, counts = self._pending.pop(k)
            seen = np.flatnonzero(counts[:-1])
            of_values = strings_of(self.parts[k], values)[seen].tolist()
            self.of_parts[k].add(dict(zip(of_values, counts[seen].tolist(), strict=True)), int(counts[-1]))

    def is_empty(self, column: str) -> bool:
        """Whether no row has a value in a column."""
        for part, counts in zip(self.parts, self.of_parts, strict=True):
            if part.columns != (column,):
                continue
            if part.role == LEVEL and (counts.full or counts.counts):
                return False
            if part.role != LEVEL and counts.features[0].keys.size:
                return False
        return True

    def with_missing(self, parts: tuple[ColumnPart, ...]) -> Self:
        """The counts of these parts, of which those that are not counted here are missing in every row."""
        known = dict(zip(self.parts, self.of_parts, strict=True))
        of_parts = [known[part] if part in known else self._missing(part, self.n_rows) for part in parts]
        return replace(self, parts=parts, of_parts=of_parts)

    def finish(self) -> Self:
        for k in range(len(self.parts)):
            self._flush(k)
        return self

    def about(self) -> dict[str, str]:
        return {"parts": shown(self.parts), "most": shown(self.most)}

    def arrays(self) -> dict[str, Any]:
        arrays: dict[str, Any] = {"n_rows": self.n_rows}
        for k, part in enumerate(self.of_parts):
            if isinstance(part, ValueCounts):
                arrays[f"numbers {k}"] = part.arrays()
            else:
                values = sorted(part.counts)
                counts = np.array([part.counts[value] for value in values], np.int64)
                arrays[f"levels {k}"] = {
                    "values": values, "counts": counts, "missing": part.missing, "full": part.full,
                }  # fmt: skip
        return arrays

    def of_arrays(self, arrays: Mapping[str, Any]) -> Self:
        of_parts: list[Any] = []
        for k, part in enumerate(self.parts):
            if part.role == LEVEL:
                saved = arrays[f"levels {k}"]
                values = persistence.part(saved, "values", list[str])
                counts = persistence.array("counts", saved["counts"], ["i8"], (len(values),)).tolist()
                missing, full = persistence.part(saved, "missing", int), persistence.part(saved, "full", bool)
                of_parts.append(LevelCounts(dict(zip(values, counts, strict=True)), missing, self.most, full))
            else:
                of_parts.append(ValueCounts().of_arrays(arrays[f"numbers {k}"]))
                row_checks.check_n_features(of_parts[k].n_features, 1)
        return replace(self, n_rows=persistence.part(arrays, "n_rows", int), of_parts=of_parts)


def _numbers(part: ColumnPart, block: Block, shift: int) -> ValueCounts:
    coded, copies = numbers_of(part, block.X, block.first_row), block.weight
    values = coded.values
    if coded.codes is None:
        gaps = np.isnan(values)
        n_missing = int(np.count_nonzero(gaps) if copies is None else copies[gaps].sum())
        cells = cells_of(values[~gaps], shift, None if copies is None else copies[~gaps])
        return _of_numbers(cells, n_missing, values[~gaps])
    counts = coded.counts(copies)
    seen = np.flatnonzero(counts[:-1])
    return _of_numbers(counted_cells(values[seen], counts[seen]), int(counts[-1]), values[seen])


def _of_numbers(cells: ValueCells, missing: float, known: np.ndarray) -> ValueCounts:
    """Value counts of one column."""
    low, high = np.array([known.min(initial=np.inf)]), np.array([known.max(initial=-np.inf)])
    return ValueCounts((cells,), np.array([missing]), low, high)


class UnknownValues:
    """Counts unknown values as several threads read rows; at the end, warns of parts where most values are unknown.

    Where new values are usual, most of the values that should be known have to be unknown.
    """

    def __init__(self) -> None:
        self._counts: dict[ColumnPart, np.ndarray] = {}  # of rows, of values and of unknown values
        self._examples: dict[ColumnPart, set[str]] = {}
        self._codes: dict[ColumnPart, LevelCodes] = {}
        self._warned, self._lock, self.told = False, Lock(), set[str]()  # the labels of parts that it warned of

    def __reduce__(self) -> Any:
        return UnknownValues, ()  # workers count separately

    def add(self, part: ColumnPart, code: LevelCodes, coded: Coded, places: np.ndarray) -> None:
        """Count the values of a part in a block; `places`, (n_values + 1,), has the column of each, -1 for none."""
        if self._warned:
            return
        counts = coded.counts()
        unknown = np.flatnonzero((places[:-1] < 0) & (counts[:-1] > 0))
        example = {str(strings_of(part, coded.values)[unknown[0]])} if len(unknown) else set[str]()
        with self._lock:
            self._codes[part] = code
            numbers = np.array([counts.sum(), counts[:-1].sum(), counts[unknown].sum()])
            self._counts[part] = self._counts.get(part, 0) + numbers
            self._examples[part] = self._examples.get(part, example) | example

    def totals(self) -> dict[str, int]:
        """The number of unknown values of each part that has any."""
        return {part.label: int(unknown) for part, (_, _, unknown) in self._counts.items() if unknown}

    def warn_of_most(self, n_rows: int) -> None:
        """Warn, once, if all `n_rows` rows have been read."""
        with self._lock:
            if self._warned or any(counts[0] < n_rows for counts in self._counts.values()):
                return
            self._warned = True
        for part, (_, values, unknown) in self._counts.items():
            if unknown > values * (1.0 + self._codes[part].new) / 2.0:
                self.told.add(part.label)
                warn(
                    f"X: {unknown:,} of {values:,} values of {part.label!r} were not seen in fit, such "
                    f"as {min(self._examples[part])!r}, and have no effect; the fitted values are "
                    f"{listed(self._codes[part].values)}"
                )


# ---- further rows ----------------------------------------------------------------------------------------------------

PartCodes = Mapping[ColumnPart, Code]
PartCounts = Mapping[ColumnPart, Any]  # the counts of the values of each part


@persistence.register
@dataclass(frozen=True, eq=False)
class Growth(persistence.Parameters):
    """What turns further rows into the columns that a fit of all rows would have.

    `parts` are all parts of columns, in order, and `constant` those without a column of the model because every row had
    the same value, with its code. `kinds` and `zones` are those of all columns. The rest are options of `table`:
    whether missing values have a column, from how many rows on a value has one, and how many values may have one.
    """

    parts: list[ColumnPart]
    constant: list[tuple[ColumnPart, Code]]
    kinds: dict[str, str | None]
    zones: dict[str, str] | None
    missing: bool = True
    min_count: int = 1
    most: int = 1 << 18

    def kinds_in(self, schema: Any, encoded: Collection[str]) -> dict[str, str | None]:
        """The kinds of the columns of a table; those that were not encoded count only if they are of the same kind."""
        found: dict[str, str | None] = {}
        for name in (name for name in self.kinds if name in schema.names):
            kind, given = self.kinds[name], kind_of(schema.field(name).type)
            if kind == NOTHING and given in (CATEGORY, BOOLEAN):
                kind = given
            if name in encoded or given in (kind, NOTHING) or (kind is None and given in takes(None)):
                found[name] = kind
        return found

    def grown(self, codes: PartCodes, learned: PartCounts) -> dict[ColumnPart, Code]:
        """The codes with columns for values that only further rows have; warns of what cannot have one."""
        grown = {part: self._grown(part, code, learned[part]) for part, code in codes.items() if part in learned}
        more = {part: code.n_columns - codes[part].n_columns for part, code in grown.items()}
        full = [part for part, code in codes.items() if isinstance(code, LevelCodes) and learned[part].full]
        excess = sum(code.n_columns for code in grown.values() if isinstance(code, LevelCodes)) - self.most
        for part in sorted(more, key=more.__getitem__, reverse=True):
            if excess > 0 and more[part]:
                excess -= more[part]
                grown[part] = codes[part]
                full.append(part)
        if full:
            warn(
                f"X: new values of {_labels(full)} have no effect, as categories have {self.most:,} columns at most; "
                "fit such columns with snb.table(.., hashed=)"
            )
        return grown

    def _grown(self, part: ColumnPart, code: Code, learned: Any) -> Code:
        gaps = self.missing and bool(np.any(learned.missing))
        if not isinstance(code, LevelCodes):
            return code.with_gaps(True) if gaps else code
        new = {value: count for value, count in learned.counts.items() if value not in code.known}
        kept = [value for value, count in new.items() if count >= self.min_count]
        rare = code.rare or len(kept) < len(new)
        return LevelCodes(ordered(part, [*code.values, *kept]), rare, code.missing or gaps, code.new)

    def joined(self, other: Growth, ours: PartCodes, theirs: PartCodes) -> dict[ColumnPart, Code]:
        """The codes of the rows of two tables, each encoded by itself; a ValueError where columns cannot be matched."""
        if (self.missing, self.min_count, self.most) != (other.missing, other.min_count, other.most):
            raise ValueError("their tables were encoded with other options of snb.table")
        ours, theirs = dict(self.constant) | {**ours}, dict(other.constant) | {**theirs}
        joined: dict[ColumnPart, Code] = {}
        for part in dict.fromkeys([*self.parts, *other.parts]):
            one, two = ours.get(part), theirs.get(part)
            if one is not None and two is not None and all(self._is_alike(other, name) for name in part.columns):
                joined[part] = self._joined(part, one, two)
            elif any(code is not None and has_columns(code) for code in (one, two)):
                raise ValueError(f"the column {part.label!r} is missing, empty or of another kind in one of the tables")
        return joined

    def _is_alike(self, other: Growth, name: str) -> bool:
        """Whether two tables have the same kind and time zone of a column."""
        kinds = {self.kinds.get(name), other.kinds.get(name)}
        zones = {(one.zones or {}).get(name) for one in (self, other)}
        return len(kinds - {NOTHING}) < 2 and (len(zones) < 2 or NOTHING in kinds)

    def _joined(self, part: ColumnPart, one: Code, two: Code) -> Code:
        if isinstance(one, LevelCodes) and isinstance(two, LevelCodes):
            for code, more in ((one, two), (two, one)):
                if code.rare and more.known.keys() - code.known.keys():
                    raise ValueError(f"values of {part.label!r} are rare in one of the tables and not in the other")
            values = ordered(part, {*one.known, *two.known})
            return LevelCodes(values, one.rare or two.rare, one.missing or two.missing, max(one.new, two.new))
        if self.missing and isinstance(one, BinCodes) and isinstance(two, OneNumber):
            return one.with_gap_of(two)
        if self.missing and isinstance(one, OneNumber) and isinstance(two, BinCodes):
            return two.with_gap_of(one)
        plain = isinstance(one, PlainNumber) and isinstance(two, PlainNumber) and not one.missing and not two.missing
        if plain and self.missing:  # no median stands for a number
            return one
        if persistence.digest(one.with_gaps(True)) != persistence.digest(two.with_gaps(True)):
            raise ValueError(
                f"the numbers of {part.label!r} have other bins or another median in each of the tables, or "
                "are all equal in one"
            )
        return one if persistence.digest(two) == persistence.digest(two.with_gaps(False)) else two

    def is_constant(self, code: Code, learned: Any) -> bool:
        """Whether rows have one value, by its code and the counts of their values."""
        if isinstance(code, OneNumber):
            others = learned.low[0] <= learned.high[0] and not learned.low[0] == code.value == learned.high[0]
            return not others and not (self.missing and learned.missing[0] and not np.isnan(code.value))
        return isinstance(code, LevelCodes) and code.n_columns == 1 and (code.missing or not learned.missing)

    def warn_of_learned(self, codes: PartCodes, learned: PartCounts) -> None:
        """Warn of values that a fit of all rows may not count as rare."""
        rare = [
            part
            for part, code in codes.items()
            if isinstance(code, LevelCodes)
            and (code.rare or self.min_count > 1)
            and learned[part].counts.keys() - code.known.keys()
        ]
        if rare:
            warn(
                f"which values of {_labels(rare)} are rare was learned from the first rows, and stays as it is; a fit "
                "of all rows may learn others"
            )

    def _varies(self, part: ColumnPart, code: Code | None, learned: Any) -> bool:
        """Whether rows have other values than the one of a code, or several if it is not known which."""
        if code is None:
            return isinstance(learned, LevelCounts) and len(learned.counts) > 1
        return not self.is_constant(self._grown(part, code, learned), learned)

    def warn_of_left_out(self, names: Collection[str], codes: PartCodes, learned: PartCounts) -> None:
        """Warn of columns that had one value, have others in further rows, and yet have no column of the model."""
        constant = dict(self.constant)
        odd = []
        for part in self.parts:
            if part in codes or part.columns[0] not in names:
                continue
            if part not in learned or self._varies(part, constant.get(part), learned[part]):
                odd.append(part)
        if odd:
            warn(f"X: {_labels(odd)} had one value in the rows before, and stay left out; fit all rows to include them")


def has_columns(code: Code) -> bool:
    """Whether a code has columns in a model; those of categories are two or more, as one would tell nothing."""
    return code.n_columns > isinstance(code, LevelCodes)


def shrunk(code: Code, there: np.ndarray) -> Code:
    """The code without columns that no row has; `there` says of each of its columns whether some row has it."""
    if isinstance(code, LevelCodes):
        values = [value for value, is_there in zip(code.values, there, strict=False) if is_there]
        rare = code.rare and bool(there[len(code.values)])
        return LevelCodes(values, rare, code.missing and bool(there[-1]), code.new)
    if isinstance(code, SharedHash):  # other parts have its columns, too
        return code
    return code if there[-1] else code.with_gaps(False)


def _labels(parts: Collection[ColumnPart]) -> list[str]:
    return [", ".join(part.columns) if len(part.columns) > 1 else part.label for part in parts]

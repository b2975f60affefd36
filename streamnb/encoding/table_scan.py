"""Learns the columns of a table in one pass: their values, counts and quantiles."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from operator import add
from threading import Lock
from typing import Annotated, Any, Self

import numpy as np

from streamnb.core import memory, persistence, row_checks
from streamnb.core.descriptions import shown
from streamnb.core.messages import listed, warn
from streamnb.encoding.ngrams import ENTRY_BYTES
from streamnb.encoding.table_codes import LevelCodes
from streamnb.fits.statistic import Statistic, added
from streamnb.rows.row_blocks import Block
from streamnb.rows.table_columns import LEVEL, Coded, ColumnPart, levels_of, numbers_of, same_values, strings_of
from streamnb.stats.value_counts import NOTHING, ValueCells, ValueCounts, cells_of, counted_cells


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

    def scaled(self, factor: float) -> "LevelCounts":
        """The counts multiplied by a factor."""
        counts = {value: count * factor for value, count in self.counts.items()}
        return LevelCounts(counts, self.missing * factor, self.most, self.full)

    def __add__(self, other: Self) -> "LevelCounts":
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
        return LevelCounts({}, n_rows, self.most) if part.role == LEVEL else _of_numbers(NOTHING, n_rows, np.empty(0))

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
        self._warned, self._lock = False, Lock()

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
                fitted = listed(self._codes[part].values)
                warn(
                    f"X: {unknown:,} of {values:,} values of {part.label!r} were not seen at fit, such "
                    f"as {min(self._examples[part])!r}, and have no effect; the fitted values are {fitted}"
                )

"""The encoding of a table's columns, saved with the model."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property, partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import xlogy

from streamnb.core import persistence
from streamnb.core.messages import listed, warn
from streamnb.core.threads import n_cores
from streamnb.encoding.bins import at_places, warn_of_beyond
from streamnb.encoding.encoding import Encoding
from streamnb.encoding.ngrams import NGrams, named
from streamnb.encoding.table_codes import (
    NONE,
    BinCodes,
    Code,
    Growth,
    LevelCodes,
    OneNumber,
    PlainNumber,
    SharedHash,
    TableCounts,
    UnknownValues,
    has_columns,
    shrunk,
)
from streamnb.passes.contract import RunOptions
from streamnb.passes.dask_blocks import of_partitions
from streamnb.passes.passes import StatisticTask
from streamnb.passes.run import run
from streamnb.rows.boundary import checked
from streamnb.rows.source import EncodedRows
from streamnb.rows.table_columns import (
    INSTANT,
    LEVEL,
    MEASURE,
    NOTHING,
    NUMBER,
    CachedCall,
    ColumnPart,
    TableRows,
    levels_of,
    numbers_of,
    strings_of,
)
from streamnb.rows.table_opening import is_row, is_table, open_tables
from streamnb.rows.tables import Tables, TableSource
from streamnb.rows.texts import of_arrow
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.columns import CURE

FEWEST = 100  # rows
LARGEST = 1 << 24  # cells of a table of classes and values
NEARLY = 0.02  # of the entropy of the label
BETWEEN = 0.2  # of the rows, in bins that lie between classes
PSEUDO_ROWS = 0.1
ALIKE = 0.75  # of two names, by difflib: one may be the other, misspelt


def warn_of_telling(stats: ClassStats, columns: Iterable[tuple[str, slice, bool]]) -> None:
    """Warn of columns with little left to tell of the label, by the sums of the indicators of their values.

    Parameters
    ----------
    stats : ClassStats
        Of rows with one label each.
    columns : iterable of (name, slice of indicators, whether these are bins)
    """
    if stats.n_rows < FEWEST or stats.multilabel or "sum" not in stats.tables:
        return
    table, n_classes = stats.table("sum"), len(stats.classes)
    rows_of_weight = stats.n_rows / stats.total_weight if stats.total_weight > 0.0 else 0.0
    told = [
        name
        for name, at, are_bins in columns
        if n_classes * (at.stop - at.start) <= LARGEST and _tells(table.value(at) * rows_of_weight, are_bins)
    ]
    if told:
        warn(
            f"each of the columns {told} alone almost determines the label; leave out what is not known before "
            f"the label, with snb.table(.., drop={told})"
        )


def _tells(sums: np.ndarray, are_bins: bool) -> bool:
    """Whether the label follows from the value, by the sums of values in classes, (K, n_values).

    Each row is judged by the other rows that have its value, so that values of one row tell nothing. A bin in which one
    class follows another, of which there are K - 1 if the classes are intervals, does not count.
    """
    counts, shares = sums.sum(axis=0), sums.sum(axis=1) / max(sums.sum(), 1.0)
    others = np.maximum(sums - 1.0, 0.0) + PSEUDO_ROWS * shares[:, None]
    others /= np.maximum(counts - 1.0, 0.0) + PSEUDO_ROWS
    lost = -xlogy(sums, np.maximum(others, 1e-12)).sum(axis=0)
    entropy = _entropy(sums)
    if are_bins:
        rest = np.argsort(lost)[: len(lost) - np.count_nonzero(shares) + 1]
        if counts[rest].sum() < (1.0 - BETWEEN) * counts.sum():
            rest = np.arange(len(lost))
        sums, lost = sums[:, rest], lost[rest]
    left = _entropy(sums)
    return bool(entropy > 0.0 and left > entropy / 2.0 and lost.sum() < NEARLY * left * sums.sum())


def _entropy(sums: np.ndarray) -> float:
    """Of the label."""
    shares = sums.sum(axis=1) / max(sums.sum(), 1.0)
    return float(-xlogy(shares, shares).sum())


@persistence.register
@dataclass(frozen=True, eq=False)
class TableEncoding(persistence.Parameters, Encoding):
    """Encodes each column of a table.

    `coded` has the parts of columns and their codes, last those that share columns, a `SharedHash` each; `texts` the
    text columns and their n-grams;
    `columns` the kind of each column that is read, None if numbers and strings are both taken as
    categories. `y` and `weight` name the columns of labels and weights. `zones` has the time zone of each column of
    instants; None in models of 0.2.0, which do not convert columns. `growth` says how further rows add columns; None in
    models of 0.3.0 and older, for which the defaults of `table` hold.
    """

    coded: list[tuple[ColumnPart, Code]]
    texts: list[tuple[str, NGrams]]
    columns: dict[str, str | None]
    y: str | None = None
    weight: str | None = None
    zones: dict[str, str] | None = None
    growth: Growth | None = None

    def __post_init__(self) -> None:
        if not self.coded and not self.texts:
            raise ValueError("a table should have a column that tells rows from each other")
        read = {name for part, _ in self.coded for name in part.columns} | {name for name, _ in self.texts}
        if read - self.columns.keys():
            raise ValueError(f"columns of the model are made of {min(read - self.columns.keys())!r}, which is not read")
        shared = [isinstance(code, SharedHash) for _, code in self.coded]
        if shared != sorted(shared) or len({code.n_columns for _, code in self.coded[len(shared) - sum(shared) :]}) > 1:
            raise ValueError("parts that share columns should come last and have one number of them")
        zoned = {name for name, kind in self.columns.items() if kind == INSTANT}
        if self.zones is not None and zoned != {*self.zones}:
            raise ValueError(f"zones of columns {[*self.zones]} should be of {sorted(zoned)}")

    @classmethod
    def of_numbers(cls, names: Iterable[str]) -> "TableEncoding":
        """The encoding that takes columns of numbers, without missing values, as they are."""
        coded: list[tuple[ColumnPart, Code]] = [(ColumnPart((name,), MEASURE), PlainNumber(np.nan)) for name in names]
        return cls(coded, [], {name: NUMBER for name in names}, zones={})

    @cached_property
    def _firsts(self) -> np.ndarray:
        """The first output column of each part and each text, and the total number."""
        widths = [code.n_columns for _, code in self._apart] + [grams.n_columns for _, grams in self.texts]
        firsts = np.concatenate([[0], np.cumsum(widths)])
        more = len(self.coded) - len(self._apart)
        return firsts if not more else np.insert(firsts, len(self._apart), [firsts[len(self._apart) - 1]] * more)

    @cached_property
    def _n_shared(self) -> int:
        """The number of parts that share columns."""
        return sum(isinstance(code, SharedHash) for _, code in self.coded)

    @property
    def _apart(self) -> list[tuple[ColumnPart, Code]]:
        """The parts with columns of their own, and one of those that share columns."""
        return self.coded[: len(self.coded) - max(self._n_shared - 1, 0)]

    @cached_property
    def _places(self) -> list[Callable[[Any], np.ndarray]]:
        """For each part a function that returns the columns of its values."""
        functions: list[Any] = []
        for (part, code), first in zip(self.coded, self._firsts.tolist(), strict=False):
            place = partial(_columns_of, part, code, first)
            functions.append(CachedCall(place) if part.role == LEVEL else place)
        return functions

    def __getstate__(self) -> dict[str, Any]:
        return self._to_state()  # without cached values

    def _to_state(self) -> dict[str, Any]:
        state = super()._to_state()
        return state if self.growth is not None else {k: v for k, v in state.items() if k != "growth"}

    @property
    def n_columns(self) -> int:
        return int(self._firsts[-1])

    @cached_property
    def column_names(self) -> np.ndarray:
        """Names of the output columns, (n_columns,) str."""
        return np.array([name for _, name in self._named_columns], object)

    @property
    def _named_columns(self) -> list[tuple[Any, str]]:
        """For each output column the part or the column of texts that it is made of, and its name."""
        named_columns: list[tuple[Any, str]] = [(part, name) for part, code in self._apart for name in code.names(part)]
        for text, grams in self.texts:
            tokens = [named(text, token) for token in grams.vocabulary or ()]
            names = tokens or [f"{text}: hash {column}" for column in range(grams.n_columns)]
            named_columns += [(text, name) for name in names]
        return named_columns

    @property
    def kinds(self) -> list[tuple[str, int]]:
        coded = [kind for _, code in self._apart for kind in code.kinds]
        return coded + [("multinomial", grams.n_columns) for _, grams in self.texts]

    # ---- rows --------------------------------------------------------------------------------------------------------

    def takes(self, X: Any) -> bool:
        return is_table(X) or is_row(X)

    def encode(self, X: Any, y: Any = None, weight: Any = None, *, labelled: bool = False) -> TableSource:
        if labelled:
            y, weight = self.y if y is None else y, self.weight if weight is None else weight
        tables = self.tables_of(X)
        rows = TableSource.of_columns(tables, self.columns, self.zones, y, weight, n_cores(), self.strings_too)
        return self.applied(rows, UnknownValues())

    def encoded_lazily(self, frame: Any) -> Any:
        """The columns of a Dask data frame to be scored: a Dask array of sparse blocks, one for each partition."""
        return of_partitions(partial(_matrix_of, self), frame, sp.csr_array((0, self.n_columns)))

    @property
    def strings_too(self) -> bool:
        """As in `Fields`: models of 0.3.0 and older know strings as they were written."""
        return self.growth is not None

    def tables_of(self, X: Any) -> Tables:
        """Open a table whose columns are to be encoded."""
        kinds = self.columns if self.growth is None else {**self.growth.kinds, **self.columns}
        return open_tables(X, kinds, n_cores())

    def applied(self, rows: TableSource, unknown: UnknownValues | None = None) -> TableSource:
        """The rows with encoded columns; `unknown` counts unknown values and warns once the rows are read."""
        self.check_columns(rows.tables)
        step = partial(self, unknown=unknown)
        about = persistence.digest(replace(self, growth=None))  # further rows do not matter to what these become
        made = rows.with_step(step, self.n_columns, about, self.column_names, self)
        made.unknown = unknown
        return made

    def differs(self, other: Encoding) -> str:
        if not isinstance(other, TableEncoding):
            return "they were made of a table"
        fitted, given = self.column_names.tolist(), other.column_names.tolist()
        odd = sorted(set(fitted) ^ set(given))
        if odd:
            return f"{odd[0]!r} is one of {'those fitted' if odd[0] in fitted else 'X'} alone"
        return "" if fitted == given else "they are in another order"

    def warn_of_telling(self, stats: ClassStats) -> None:
        columns = []
        for (part, code), first in zip(self.coded, self._firsts.tolist(), strict=False):
            alone = isinstance(code, SharedHash) and self._n_shared == 1  # else sums of several columns are one
            if alone or isinstance(code, LevelCodes | BinCodes):
                name = part.label if len(part.columns) == 1 else ", ".join(part.columns)
                columns.append((name, slice(first, first + code.n_columns), isinstance(code, BinCodes)))
        warn_of_telling(stats, columns)

    def with_columns_of(self, other: "TableEncoding") -> "TableEncoding":
        """A copy that reads the columns of another encoding of the same table, too."""
        for name, kind in other.columns.items():
            if self.columns.get(name, kind) != kind:
                raise ValueError(f"the models take column {name!r} as {self.columns[name]} and as {kind}")
        zones = None if self.zones is None and other.zones is None else {**(self.zones or {}), **(other.zones or {})}
        return replace(self, columns={**self.columns, **other.columns}, zones=zones)

    # ---- further rows ------------------------------------------------------------------------------------------------

    @property
    def _growth(self) -> Growth:
        return self.growth or Growth([part for part, _ in self.coded], [], self.columns, self.zones)

    def grown(self, tables: Tables, options: RunOptions, ones: bool) -> "TableEncoding":
        """The encoding with a column for each value that only further rows have, learned in a pass over these.

        `ones` says whether columns with one value in all rows before may become columns of the model.
        """
        self.check_columns(tables)
        growth = self._growth
        kinds = growth.kinds_in(tables.schema, self.columns)
        parts = tuple(part for part in growth.parts if {*part.columns} <= kinds.keys())
        rows = TableSource.of_columns(tables, kinds, growth.zones, None, None, options.threads)
        counts, _ = run(StatisticTask(TableCounts(parts, growth.most, options.memory_limit)), rows, options)
        learned = dict(zip(counts.parts, counts.of_parts, strict=True))
        own = dict(self.coded)
        constant = {
            part: code for part, code in growth.constant if ones and part in learned and isinstance(code, LevelCodes)
        }
        growth.warn_of_learned(own, learned)
        growth.warn_of_left_out(tables.schema.names, own | constant, learned)
        grown = growth.grown(own | constant, learned)
        left_out = {part: grown.get(part, code) for part, code in growth.constant}
        same = {part for part, code in left_out.items() if part in learned and growth.is_constant(code, learned[part])}
        return self._with_codes(left_out | grown, same, {**self.columns, **kinds})

    def without_absent(self, weights: np.ndarray, total: float) -> "TableEncoding":
        """The encoding without columns that no row has, by the weight of rows of each column and that of all rows."""
        constant, codes = dict(self._growth.constant), dict[ColumnPart, Code]()
        same = {*constant}
        for (part, code), first in zip(self.coded, self._firsts.tolist(), strict=False):
            at = slice(first, first + code.n_columns)
            codes[part] = shrunk(code, weights[at] != 0.0)
            if (weights[at] == total).any():
                same.add(part)
        if not self.texts and not any(map(has_columns, codes.values())):
            return self
        return self._with_codes(constant | codes, same, self._growth.kinds)

    def joined(self, other: Any) -> "TableEncoding":
        try:
            if persistence.digest(self.texts) != persistence.digest(other.texts):
                raise ValueError("their columns of texts are others, or have other n-grams")
            codes = self._growth.joined(other._growth, dict(self.coded), dict(other.coded))
        except ValueError as error:
            raise ValueError(f"the columns of these statistics cannot be matched, as {error}; {CURE}") from None
        same = dict(self._growth.constant).keys() & dict(other._growth.constant).keys()
        kinds = {**other._growth.kinds, **{name: kind for name, kind in self._growth.kinds.items() if kind != NOTHING}}
        return self._with_codes(codes, same, kinds)

    def warn_of_beyond(self, before: np.ndarray, weights: np.ndarray) -> None:
        """Warn of numbers that mostly lie beyond all borders, by the weights of columns before and in further rows."""
        beyond = []
        for (part, code), first in zip(self.coded, self._firsts.tolist(), strict=False):
            if isinstance(code, BinCodes) and code.edges.mostly_beyond(before[first:], weights[first:]):
                beyond.append(part.label)
        warn_of_beyond(beyond)

    def _with_codes(
        self, codes: dict[ColumnPart, Code], same: set[ColumnPart], kinds: dict[str, str | None]
    ) -> "TableEncoding":
        """The encoding with these codes of parts; those that all rows have the `same` value of are remembered."""
        growth, shared = self._growth, {part for part, code in self.coded if isinstance(code, SharedHash)}
        found = [(part, codes[part]) for part in growth.parts if part in codes]
        coded = sorted((pair for pair in found if has_columns(pair[1])), key=lambda pair: pair[0] in shared)
        left_out = [pair for pair in found if pair[0] in same and not has_columns(pair[1])]
        used = {name for part, _ in coded for name in part.columns} | {name for name, _ in self.texts}
        columns = {name: kinds[name] for name in growth.kinds if name in used}
        zones = None if growth.zones is None else {name: growth.zones[name] for name in growth.zones if name in used}
        growth = replace(growth, constant=left_out, kinds={**growth.kinds, **columns})
        return replace(self, coded=coded, columns=columns, zones=zones, growth=growth)

    def sources(self, before: "TableEncoding") -> np.ndarray:
        """For each column its number in an earlier encoding of the same table, as in `ClassStats.with_columns`."""
        known = dict(zip(before._named_columns, range(before.n_columns), strict=True))
        codes, ones = dict(self.coded), dict[tuple[Any, str], int]()
        for part, code in before._growth.constant:
            now, names = codes.get(part), code.names(part)
            if isinstance(code, OneNumber) and isinstance(now, BinCodes):
                names = [now.name_of(part, code)]
            ones |= {(part, name): before.n_columns for name in names}
        known = ones | known
        return np.array([known.get(column, -1) for column in self._named_columns], np.int64)

    def check_width(self, X: Any) -> None:
        """Refuse a matrix whose width is not that of the encoded table."""
        X = np.array(X, object) if isinstance(X, list) else X
        shape: tuple[Any, ...] = getattr(X, "shape", ())
        if len(shape) == 2 and shape[1] != self.n_columns:
            raise ValueError(
                f"X has {shape[1]} features, but the model is expecting a table, as a data frame, dicts or a file, "
                f"with the columns {listed([*self.columns])}, or the {self.n_columns} columns that "
                "it made of them"
            )

    def check_columns(self, tables: Tables) -> None:
        """Refuse a table that lacks a column; kinds of values are checked where they are read."""
        for name in self.columns:
            if name not in tables.schema.names:
                raise ValueError(
                    f"X has no column {name!r}, which the model was fitted on; it has {listed(tables.schema.names)}"
                )
        if tables.unseen.issuperset(self.columns):
            raise ValueError(
                f"no row of X has any of the columns that the model was fitted on, {listed([*self.columns])}"
            )
        others = [name for name in tables.schema.names if name not in self.columns]
        for name in sorted(tables.unseen.intersection(self.columns)):
            for key in get_close_matches(name, others, 1, ALIKE):
                warn(f"X has no {name!r}, which counts as missing in every row, but {key!r}; name keys as the columns")

    def __call__(self, rows: TableRows, first_row: int, unknown: UnknownValues | None = None) -> EncodedRows:
        """Encode a block of rows as CSR."""
        made = self._indicators(rows, first_row, unknown)
        if not self.texts:
            return made
        arrays = (np.ones(len(made.indices)) if made.data is None else made.data), made.indices, made.indptr
        first = int(self._firsts[len(self.coded)])
        parts = [sp.csr_array(arrays, shape=(made.shape[0], first))] if self.coded else []
        for name, grams in self.texts:
            where = f"{rows.where}: column {name!r}"
            parts.append(grams(of_arrow(rows.columns.column(name), first_row, where), first_row))
        return sp.hstack(parts, format="csr")

    def _indicators(self, rows: TableRows, first_row: int, unknown: UnknownValues | None) -> EncodedRows:
        """Encode the parts other than texts: at most one indicator, or a number, for each."""
        n_rows = rows.shape[0]
        places: list[np.ndarray] = []
        values: list[Any] = []
        for (part, code), first, place in zip(self.coded, self._firsts.tolist(), self._places, strict=False):
            coded = levels_of(part, rows) if part.role == LEVEL else numbers_of(part, rows, first_row)
            if isinstance(code, PlainNumber):
                places.append(np.full(n_rows, first, np.int32))
                values.append(coded.spread(code.filled(coded.values)))
            if not isinstance(code, PlainNumber) or code.missing:
                of_values = place(coded.values)
                places.append(coded.spread(of_values))
                values.append(None)
                if unknown is not None and isinstance(code, LevelCodes) and not code.rare and len(part.columns) == 1:
                    unknown.add(part, code, coded, of_values)  # with `rare`, new values count as rare ones
        if self._n_shared > 1:
            places[-self._n_shared :] = _sorted_without_repeats(places[-self._n_shared :])
        return _joined(places, values, (n_rows, self.n_columns))


def _columns_of(part: ColumnPart, code: Code, first: int, values: Any) -> np.ndarray:
    """The column of each value and, last, of missing values, counted from the first column of the part."""
    places = code.places(part, strings_of(part, values) if part.role == LEVEL else values)
    return np.where(places < 0, NONE, places + np.int32(first))


def _sorted_without_repeats(places: list[np.ndarray]) -> list[np.ndarray]:
    """Columns in the order that rows have them; -1 in place of one that a row has already."""
    ordered = np.sort(np.stack(places), axis=0)
    ordered[1:][ordered[1:] == ordered[:-1]] = NONE
    return list(ordered)


def _joined(places: list[np.ndarray], values: list[Any], shape: tuple[int, int]) -> EncodedRows:
    """CSR rows with a value in each of these columns, (n_rows,) each, -1 for none; values None are all 1."""
    n_rows, width = shape[0], len(places)
    columns = np.empty((n_rows, width), np.int32)
    for j, of_rows in enumerate(places):
        columns[:, j] = of_rows
    data = None
    if any(of_rows is not None for of_rows in values):
        data = np.ones((n_rows, width))
        for j, of_rows in enumerate(values):
            if of_rows is not None:
                data[:, j] = of_rows
    indices, indptr = at_places(columns)
    return EncodedRows(None if data is None else data[columns >= 0], indices, indptr, shape)


def _matrix_of(encoding: TableEncoding, frame: Any) -> Any:
    """The encoded rows of a data frame, CSR."""
    blocks = encoding.encode(frame).blocks() if len(frame) else ()
    found = [sp.csr_array(checked(block, missing=True)[0].to_matrix()) for block in blocks]
    return sp.vstack([sp.csr_array((0, encoding.n_columns)), *found], format="csr")

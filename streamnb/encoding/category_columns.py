"""Learns the values of categorical columns in one pass; each value becomes a column."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cached_property, partial, reduce
from hashlib import blake2b
from typing import Annotated, Any, NoReturn, Self

import numpy as np
import scipy.sparse as sp

from streamnb.core import memory, messages, persistence, row_checks
from streamnb.core.frames import pandas_for
from streamnb.core.messages import DataError
from streamnb.encoding.bins import indicators
from streamnb.encoding.plain_steps import Indicators, RowStep
from streamnb.kernels.row_values import GOLDEN, scattered_bits
from streamnb.passes.contract import Report
from streamnb.passes.statistic import Statistic
from streamnb.rows.boundary import DATES, checked, is_dask
from streamnb.rows.preparing import LearnedStep
from streamnb.rows.row_blocks import Block, Chunk
from streamnb.rows.table_columns import LEVEL, ColumnPart, TableRows, arrow, from_text, kind_of, levels_of
from streamnb.rows.tables import Tables, TableSource

NUMERAL = re.compile(r"-?(0|[1-9][0-9]{0,14})(\.[0-9]*[1-9])?")  # a number as Python and NumPy write it
_WHOLE = 2.0**53  # whole numbers up to this are exact in float64


Values = list[np.ndarray]  # the sorted distinct values of each column


def _in_one_run(runs: list[Values], others: list[Values]) -> list[Values]:
    """The values in any of several runs, in a single one."""
    runs = runs + others
    return [[reduce(np.union1d, of_column) for of_column in zip(*runs, strict=True)]] if runs else []


def _same_width(one: int, other: int) -> int:
    if one and other:
        row_checks.check_n_features(other, one)
    return one or other


@dataclass(eq=False)
class LevelsSeen(Statistic):
    """The distinct values of some columns of X.

    Runs of values of similar size are merged, so that each value moves few times.

    Attributes
    ----------
    columns_of : callable
        Maps the width of X to the numbers of the columns.
    memory_limit : int, optional
    n_features : int
        The width of X, 0 if there were no rows.
    runs : list of lists of (n_values,) float64, sorted
    """

    columns_of: Callable[[int], np.ndarray]
    memory_limit: int | None = None
    n_features: Annotated[int, _same_width] = 0
    runs: Annotated[list[Values], _in_one_run] = field(default_factory=list)
    title = "categories"

    def __post_init__(self) -> None:
        self._limit = memory.allowed(self.memory_limit)  # not for each block, as it takes as long as some

    @property
    def columns(self) -> np.ndarray:
        """The numbers of the columns."""
        return self.columns_of(self.n_features) if self.n_features else np.zeros(0, np.int64)

    @property
    def values(self) -> Values:
        """The sorted distinct values of each column."""
        return [values for run in self.runs for values in run]

    def add_block(self, block: Block) -> None:
        chunk = checked(block, missing=True)[0]
        self.n_features = _same_width(self.n_features, chunk.shape[1])
        codes = codes_of(chunk, self.columns)
        self.add_codes(codes if block.weight is None else codes[block.weight > 0.0])

    def add_codes(self, codes: np.ndarray) -> None:
        """Add codes of the columns, (n_rows, n_columns)."""
        seen = [list(map(np.unique, np.ascontiguousarray(codes.T)))]
        while self.runs and memory.bytes_of(self.runs[-1]) < 2 * memory.bytes_of(seen):
            seen = _in_one_run([self.runs.pop()], seen)
        self.runs += seen
        if self.nbytes > self._limit:
            cure = "give a larger memory_limit, or fewer values: take them modulo some number"
            memory.refuse("the values of columns of categories", self.nbytes, self._limit, cure)

    def finish(self) -> Self:
        return replace(self, runs=_in_one_run(self.runs, []))

    def ended(self, report: Report) -> Self:
        row_checks.check_min_size(report.rows, self.n_features or 1)
        return self

    def about(self) -> dict[str, str]:
        return {}

    def arrays(self) -> dict[str, Any]:
        return {"n_features": self.n_features, "columns": self.columns, "values": self.values}

    def of_arrays(self, arrays: Any) -> Self:
        values = list(arrays["values"])
        return replace(self, n_features=int(arrays["n_features"]), runs=[values] if values else [])


@persistence.register
@dataclass(frozen=True, eq=False, repr=False)
class CategoryColumns(LearnedStep):
    """A column for each value of the categorical columns, in their place; other columns stay unchanged.

    Attributes
    ----------
    taken : int
        Number of input columns.
    columns : (n,) numbers of the categorical columns, sorted
    values : list of (n_values,) float64, the sorted values of each
    """

    taken: int
    columns: np.ndarray
    values: list[np.ndarray]

    @classmethod
    def of(cls, seen: LevelsSeen) -> "CategoryColumns":
        """Columns for the values that occurred."""
        return cls(seen.n_features, seen.columns, seen.values)

    @property
    def n_features(self) -> int:
        return self.taken

    def _to_state(self) -> dict[str, Any]:
        n_values = np.array(list(map(len, self.values)), np.int64)
        joined = np.concatenate([np.zeros(0), *self.values])
        return {"n_features": self.n_features, "columns": self.columns, "values": joined, "n_values": n_values}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> "CategoryColumns":
        form = {"n_features": int, "columns": "i8[n_columns]", "values": "f8[_]", "n_values": "i8[n_columns]"}
        n_features, columns, joined, n_values = persistence.parts(cls, state, **form)
        values = persistence.pieces("n_values", joined, n_values)
        if not are_some_of(columns, n_features) or (n_values < 1).any():
            raise ValueError("columns of categories should be some of all, each with its values")
        if not all((np.diff(one) > 0).all() for one in values):
            raise ValueError("the values of columns of categories should rise")
        return cls(n_features, columns, values)

    @cached_property
    def firsts(self) -> np.ndarray:
        """The first output column of each input column, and the total number, (n_features + 1,)."""
        widths = np.ones(self.n_features, np.int64)
        widths[self.columns] = list(map(len, self.values))
        return np.concatenate([[0], np.cumsum(widths)])

    @property
    def n_columns(self) -> int:
        """Number of output columns."""
        return int(self.firsts[-1])

    def applied(self, chunk: Chunk, survey: Any = None) -> sp.csr_array:
        """Indicators of the values of a block of rows; a value that was never seen has none."""
        row_checks.check_n_features(chunk.shape[1], self.n_features, "Categorical")
        codes = codes_of(chunk, self.columns)
        places = np.empty(codes.shape, np.int32 if self.n_columns < 2**31 else np.int64)
        for j, values in enumerate(self.values):
            at = np.minimum(_ranks(values, codes[:, j]), len(values) - 1)
            places[:, j] = np.where(values[at] == codes[:, j], self.firsts[self.columns[j]] + at, -1)
        categories = indicators(places, self.n_columns)
        if len(self.columns) == self.n_features:
            return categories
        X = sp.csr_array(chunk.to_matrix())
        categorical = np.isin(np.arange(self.n_features), self.columns)
        kept = ~categorical[X.indices]
        ends = np.concatenate([[0], np.cumsum(kept)])[X.indptr]
        others = X.data[kept], self.firsts[X.indices[kept]].astype(places.dtype), ends.astype(places.dtype)
        return categories + sp.csr_array(others, shape=categories.shape)

    # ---- further rows ------------------------------------------------------------------------------------------------

    def joined(self, other: "CategoryColumns") -> "CategoryColumns":
        """Columns for the values of both."""
        values = [np.union1d(ours, theirs) for ours, theirs in zip(self.values, other.values, strict=True)]
        return CategoryColumns(self.taken, self.columns, values)

    def without_absent(self, weights: np.ndarray) -> "CategoryColumns":
        """The same without values that no row has, by the weight of rows of each output column."""
        kept = []
        for column, values in zip(self.columns, self.values, strict=True):
            there = weights[self.firsts[column] : self.firsts[column + 1]] != 0.0
            kept.append(values[there] if there.any() else values)
        return CategoryColumns(self.taken, self.columns, kept)

    def sources(self, before: "CategoryColumns") -> np.ndarray:
        """For each output column its number in an earlier step, as in `ClassStats.with_columns`."""
        sources = np.full(self.n_columns, -1)
        sources[self.firsts[:-1]] = before.firsts[:-1]  # right for columns that are not categorical
        for column, values, known in zip(self.columns, self.values, before.values, strict=True):
            at = np.minimum(np.searchsorted(known, values), len(known) - 1)
            places = np.where(known[at] == values, before.firsts[column] + at, -1)
            sources[self.firsts[column] : self.firsts[column + 1]] = places
        return sources

    def new(self, weights: np.ndarray, total: float) -> np.ndarray:
        """The weight of rows with a value that has no column, (n_features,), by those of the output columns."""
        found = np.zeros(self.taken)
        for column in self.columns:
            found[column] = total - weights[self.firsts[column] : self.firsts[column + 1]].sum()
        return found

    def names(self, features: Sequence[str]) -> list[str]:
        """Names of the columns, such as "x3=5"; columns that are not categorical keep theirs."""
        levels = dict(zip(self.columns.tolist(), self.values, strict=True))
        found = []
        for j, name in enumerate(features):
            found += [f"{name}={value:.0f}" for value in levels[j]] if j in levels else [name]
        return found

    def plain(self) -> list[RowStep]:
        """A column for each value v: the interval from the float before v, exclusive, to v."""
        values = dict(zip(self.columns.tolist(), self.values, strict=True))
        each = [values.get(j, np.zeros(1)) for j in range(self.n_features)]
        feature, high = np.repeat(np.arange(len(each)), list(map(len, each))), np.concatenate(each)
        as_is = ~np.isin(feature, self.columns)
        made = Indicators(feature, np.nextafter(high, -np.inf), high, np.zeros(len(feature), bool), as_is)
        return [RowStep("indicators", made)]


def _ranks(values: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """The number of sorted values below each code; for the values 0, 1, 2, .. it is the code itself."""
    if values[-1] == len(values) - 1:
        return np.minimum(codes, len(values)).astype(np.int64)
    return np.searchsorted(values, codes)


def are_some_of(columns: np.ndarray, n: int) -> bool:
    """Whether numbers of columns rise, from 0 on and below n."""
    inside = not len(columns) or (columns[0] >= 0 and columns[-1] < n)
    return bool(inside and (columns[1:] > columns[:-1]).all())


def codes_of(chunk: Chunk, columns: np.ndarray) -> np.ndarray:
    """The category codes in some columns of a block, (n_rows, n_columns) float64."""
    X: Any = chunk.to_matrix()
    some = X[:, columns] if len(columns) < chunk.shape[1] else X
    codes = np.asarray(some.toarray() if sp.issparse(some) else some, np.float64)
    right = (codes >= 0.0) & (codes < _WHOLE) & (codes == np.floor(codes))
    if not right.all():
        row, j = np.argwhere(~right)[0]
        _refuse(float(codes[row, j]), chunk.first_row + int(row), int(columns[j]))
    return codes


def _refuse(value: float, row: int, column: int) -> NoReturn:
    where = f"X has at row {row}, column {column},"
    if np.isnan(value):
        raise ValueError(
            f"{where} a missing value; family='categorical' takes numbers of categories 0, 1, 2, ..: give what is "
            "missing a number of its own (Input X contains NaN.)"
        )
    raise ValueError(
        f"{where} {value:g}, which is not a category number; family='categorical' takes 0, 1, 2, .. "
        "(sklearn.preprocessing.OrdinalEncoder makes them; Negative values in data are none)"
    )


MANY = 100  # with this many rows, all distinct values are no coincidence


def numbers_of(X: Any, strings_too: bool = True) -> Any:
    """Convert a data frame, or rows in memory with non-numeric columns, to float64; other X stays unchanged.

    Numbers keep their values, with `strings_too` also those that are written as strings, and so do booleans; dates
    become nanoseconds, other strings become negative whole numbers from 53 bits of a hash, and None, NaN and NaT become
    NaN. Of n values two share a number with a probability of about n^2 / 2^54.
    """
    if is_dask(X) and hasattr(X, "columns"):
        return X.map_partitions(numbers_of, strings_too, meta=numbers_of(X._meta))
    if hasattr(X, "iloc") and hasattr(X, "columns"):
        numbers = np.empty(X.shape)
        for j, name in enumerate(X.columns):
            numbers[:, j] = _column(X.iloc[:, j], f"column {name!r}", strings_too)
        return pandas_for("a data frame").DataFrame(numbers, X.index, X.columns)
    if isinstance(X, list | tuple):
        X = np.array(X, object)  # NumPy would convert numbers to strings if there are any
    if isinstance(X, np.ndarray) and X.dtype.kind in "OUSTMm" and X.ndim == 2:
        return np.stack([_column(X[:, j], f"column {j}", strings_too) for j in range(X.shape[1])], axis=1)
    return X


def numbers_of_table(
    tables: Tables, names: Sequence[str], y: Any, weight: Any, n_threads: int, strings_too: bool
) -> TableSource:
    """The rows of a table with these columns as numbers, the same as those of a data frame."""
    kinds = {name: kind_of(tables.schema.field(name).type) for name in names}
    rows = TableSource.of_columns(tables, kinds, None, y, weight, n_threads)
    step = partial(_numbers_of_rows, strings_too)
    return rows.with_step(step, len(names), "categories of a table", np.array(names, object))


def _numbers_of_rows(strings_too: bool, rows: TableRows, first_row: int) -> np.ndarray:
    numbers = np.empty(rows.shape)
    for j, name in enumerate(rows.columns.schema.names):
        coded = levels_of(ColumnPart((name,), LEVEL), rows)
        values = coded.values
        try:
            values = values if isinstance(values, np.ndarray) else values.to_numpy(zero_copy_only=False)
        except arrow().ArrowInvalid as error:  # times of day, of which Python has no nanoseconds
            cure = "round them to microseconds"
            raise DataError(
                f"{rows.where}: column {name!r} holds values that Python lacks ({error}); {cure}"
            ) from error
        numbers[:, j] = coded.spread(np.append(_column(values, f"column {name!r}", strings_too), np.nan))
    return numbers


def _column(column: Any, where: str, strings_too: bool) -> np.ndarray:
    """Convert one column to float64."""
    categories = getattr(getattr(column, "cat", None), "categories", None)
    if categories is not None:  # a pandas categorical: each category is converted once
        numbers = np.append(_column(np.asarray(categories), where, strings_too), np.nan)
        return numbers[np.asarray(column.cat.codes)]
    if getattr(column.dtype, "tz", None) is not None:
        column = column.dt.tz_convert(None)
    values = np.asarray(column)
    if values.dtype.kind in DATES:
        return _nanoseconds(values)
    if values.dtype.kind in "buif":
        return values.astype(np.float64)
    values = values.astype(object)
    known: dict[Any, float] = {}
    out = np.empty(len(values))
    for row, value in enumerate(values):
        try:
            number = known.get(value)
        except TypeError:  # a list, a dict or an array
            number = None
        if number is None:
            number = _number(value, where, row, strings_too)
            known[value] = number
        out[row] = number
    return out


def _nanoseconds(dates: np.ndarray) -> np.ndarray:
    """Dates or durations of any unit in nanoseconds, (n,) float64, NaN where they are missing."""
    unit: Any
    unit, n = np.datetime_data(dates.dtype)
    if unit in "YM":
        return _nanoseconds(dates.astype("M8[D]"))
    numbers = dates.astype(np.int64) * (np.timedelta64(n, unit) / np.timedelta64(1, "ns"))
    return np.where(np.isnat(dates), np.nan, numbers)


def _number(value: Any, where: str, row: int, strings_too: bool) -> float:
    if isinstance(value, bytes):
        value = value.decode(errors="backslashreplace")
    if isinstance(value, str):
        value = str(from_text(value)) if strings_too else value
        if strings_too and NUMERAL.fullmatch(value):
            return float(value)
        return -1.0 - (int.from_bytes(blake2b(value.encode(), digest_size=8).digest(), "little") >> 11)
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return np.nan
    if isinstance(value, bool | int | float | Decimal | np.number | np.bool_):
        return float(value)
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    if isinstance(value, date):  # Python's, with or without a time of day
        return float(_nanoseconds(np.array(value, "M8[us]")))
    if hasattr(value, "isoformat"):
        return _number(value.isoformat(), where, row, strings_too)
    raise TypeError(
        f"X has a {type(value).__name__} at row {row}, {where}; a category should be a string, a number or a date: "
        "make columns of what is nested, or leave it out"
    )


def scattered(*columns: np.ndarray, n_bits: int = 53) -> np.ndarray:
    """A pseudo-random number in [0, 2^n_bits) for each row, a hash of its values in these columns."""
    mixed = np.zeros(len(columns[0]), np.uint64)
    for values in columns:
        bits = np.where(np.isnan(values), np.nan, values + 0.0).view(np.uint64)  # one form of zero, and of NaN
        mixed = scattered_bits(mixed * GOLDEN + bits)
    return (mixed >> np.uint64(64 - n_bits)).astype(np.float64)


def warn_of_distinct(n_values: Sequence[int], columns: Sequence[int], n_rows: int) -> None:
    """Warn of columns with a distinct value in each of many rows, which say nothing about new rows."""
    alone = [str(column) for column, n in zip(columns, n_values, strict=True) if n == n_rows >= MANY]
    if alone:
        messages.warn(
            f"each of the {n_rows:,} rows has a category of its own in column {', '.join(alone)} of X, which says "
            "nothing about new rows; leave it out, or group values (such as numbers into bins)"
        )

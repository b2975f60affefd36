"""`table`: opens tables whose columns of any kind are encoded as they are read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from inspect import signature
from typing import Any

import numpy as np

from streamnb.core import arguments
from streamnb.core.memory import check_memory_limit
from streamnb.core.messages import warn
from streamnb.core.threads import check_n_threads
from streamnb.encoding.bins import BinEdges
from streamnb.encoding.ngrams import NGrams, check_n_features
from streamnb.encoding.table_encoding import BinCodes, Code, HashedCodes, LevelCodes, PlainNumber, TableEncoding
from streamnb.encoding.table_scan import LevelCounts, TableCounts, TableScan
from streamnb.passes.options import RunOptions
from streamnb.passes.run import run
from streamnb.rows.raw import TableSource
from streamnb.rows.table_columns import (
    CATEGORY,
    DATES,
    LEVEL,
    NOTHING,
    NUMBER,
    WEEKDAYS,
    ColumnPart,
    arrow,
    kind_of,
    part_of,
    parts_of_dates,
    zones_of,
)
from streamnb.rows.table_opening import open_tables
from streamnb.rows.tables import Tables, check_has
from streamnb.stats.value_counts import ValueCells

MISSING = "level", "ignore"
COLUMN_OPTIONS = "categorical", "text", "bins", "dates", "pairs", "min_count", "missing", "hash_features", "hashed"


def table(
    X: Any,
    y: Any = None,
    *,
    weight: Any = None,
    groups: str | None = None,
    columns: Iterable[str] | None = None,
    categorical: Any = "auto",
    text: Iterable[str] = (),
    bins: Any = 16,
    dates: bool = True,
    pairs: Iterable[tuple[str, str]] = (),
    min_count: int = 1,
    missing: str = "level",
    hash_features: int = 1 << 18,
    hashed: Iterable[str] = (),
    n_threads: int | None = None,
    memory_limit: Any = None,
) -> TableSource:
    r"""Open a table, whose columns of any kind are encoded, to be given as X to `fit`, `scan` or `predict`.

    One pass learns the values of the columns; they are then encoded block by block as rows are read, by threads or
    on the workers of a cluster, again in each pass and from any row on. A model fitted on the rows keeps the encoding,
    and saves it: it accepts the path of a table, or a data frame, with columns in any order.

    Parameters
    ----------
    X : path, list of paths, or table
        Parquet, Arrow IPC (Feather), CSV, TSV or JSON lines files, the last three optionally ".gz" or ".zst";
        a pattern such as `flights/*.parquet`; a folder of such files (folder names such as "month=7" become a column,
        too). Or a table in memory: pandas, Polars (a lazy one is collected), Dask or Arrow, or an Arrow dataset.
    y, weight : str or (n_rows,), optional
        Labels and weights: the name of a column, which is then not a feature, or an array. Without them
        `fit`, `scan` and `score` take labels and weights beside X.
    groups : str, optional
        A column of groups: rows with the same value stay in one fold wherever rows are split by number. Not a feature
        unless `columns` lists it. `fit(.., groups=)` takes precedence.
    columns : list of str, optional
        The feature columns; by default all others, except the index of a data frame written by pandas.
    categorical : "auto", or list of str
        Columns to treat as categories whatever their type, besides strings, booleans and pandas categoricals. Values
        are compared as strings: numbers without trailing zeros, "07" and " a" as they are written.
    text : list of str
        Columns of texts, whose words are counted in `hash_features` columns each, as `snb.text` counts them.
    bins : int, None, or dict
        Numbers become indicators of about this many bins with equally many rows (one bin for each value if there are no
        more values than bins), with edges half-way between values. None keeps numbers, with the median for
        missing ones. A dict sets it by column, 16 for others. Durations and times of day are numbers of seconds.
    dates : bool
        Dates become categories of year, month, weekday and hour, converted to the time zone of the first rows if they
        have one; False leaves out such columns.
    pairs : list of (str, str)
        Pairs of columns whose combined values become a category, too.
    min_count : int
        Values with fewer rows share one indicator, "is rare", also used for values never seen. With 1, values never
        seen have no indicator and no effect.
    missing : {"level", "ignore"}
        "level" gives missing values their own indicator in columns that have any; "ignore" gives them no effect.
    hash_features : int, a power of two
        Categories with more values than this are hashed to this many columns.
    hashed : list of str
        Columns to treat as categories and to hash to `hash_features` columns each, however few values they have, so
        that values never seen have columns, too.
    n_threads : int, optional
        Threads that read and encode; as many as there are cores by default.
    memory_limit : int or str, optional
        Bytes that values may take while they are being learned; half of the free memory by default.

    Returns
    -------
    TableSource
        With `n_rows`, `n_features`, `feature_names` and `encoding`.

    Raises
    ------
    ValueError, TypeError
        An argument is wrong; a named column does not exist, is nested or of mixed types; a label is missing. The
        message names it.
    DataError
        A file cannot be read, or files differ in their columns: the message names them, and the row.
    ImportError
        Tables need pyarrow, ``pip install streamnb[tables]``.

    Warns
    -----
    StreamnbWarning
        Columns have at most one value and are left out, or a category has a different value in each row.

    Notes
    -----
    A row has one of the indicators of a column: ``family="auto"`` treats each column as one multinomial variable, which
    is categorical naive Bayes. A hashed value shares its column with one of v others with probability
    1 - (1 - 1 / hash_features)^v.

    Examples
    --------
    >>> import pandas as pd
    >>> import streamnb as snb
    >>> frame = pd.DataFrame({"plane": ["N1", "N2", "N1", "N3"], "miles": [90, 200, 1500, 700], "late": [1, 0, 1, 0]})
    >>> rows = snb.table(frame, "late", bins=2)
    >>> rows.feature_names.tolist()
    ['plane=N1', 'plane=N2', 'plane=N3', 'miles in (-inf, 450]', 'miles in (450, inf)']
    >>> snb.LinearNB("auto").fit(rows).predict(frame).tolist()
    [1, 0, 1, 0]
    """
    n_threads = check_n_threads(n_threads)
    options = _ColumnOptions(categorical, text, bins, dates, pairs, min_count, missing, hash_features, hashed)
    to_learn = TableToLearn(X, y, weight, groups, columns, options, (n_threads, memory_limit))
    counts, _ = run(to_learn.task, to_learn.rows, RunOptions(None, n_threads))
    return to_learn.encoded(counts)


class TableToLearn:
    """A table whose encoding is learned in a pass: run `task` on `rows`, and give its total to `encoded`."""

    _searched = False  # whether the arguments are those of an encoding in `search`, for warnings

    def __init__(
        self, X: Any, y: Any, weight: Any, groups: Any, columns: Any, options: _ColumnOptions, run: tuple[int, Any]
    ):
        self._options, (self._n_threads, memory_limit) = options, run
        self._tables = open_tables(X, options.strings, self._n_threads)
        self._kinds = options.kinds(self._tables, _features(self._tables, columns, y, weight, groups))
        self._labels, self._groups = (y, weight), groups
        self._zones = zones_of(self._tables.schema)
        self.rows = TableSource.of_columns(self._tables, self._kinds, self._zones, y, weight, self._n_threads)
        limit = check_memory_limit(memory_limit)
        self.task = TableScan(options.parts(self._tables, self._kinds), options.n_hashed, limit)

    @classmethod
    def from_options(cls, X: Any, y: Any, weight: Any, options: Mapping[str, Any]) -> TableToLearn:
        """Create it from the arguments of `table`."""
        bound = signature(table).bind(X, y, weight=weight, **options)
        bound.apply_defaults()
        every = bound.arguments
        checked = _ColumnOptions(*(every[name] for name in COLUMN_OPTIONS))
        run = check_n_threads(every["n_threads"]), every["memory_limit"]
        found = cls(X, y, weight, every["groups"], every["columns"], checked, run)
        found._searched = True
        return found

    @property
    def has_numbers(self) -> bool:
        """Whether some columns are numbers."""
        return NUMBER in self._kinds.values()

    def encoded(self, counts: TableCounts, quiet: bool = False) -> TableSource:
        """The rows with columns encoded by these counts; warns of columns left out unless `quiet`."""
        encoding = self._options.encoding(counts, self._kinds, *self._labels, self._zones)
        if not quiet:
            _warn_of(counts, [name for name in self._kinds if name not in encoding.columns], self._searched)
        rows = TableSource.of_columns(self._tables, encoding.columns, encoding.zones, *self._labels, self._n_threads)
        rows = encoding.applied(rows)
        rows.own_groups = self._groups
        return rows


class _ColumnOptions:
    """The checked options of `table` about columns."""

    def __init__(
        self,
        categorical: Any,
        text: Any,
        bins: Any,
        dates: Any,
        pairs: Any,
        min_count: Any,
        missing: Any,
        n_hashed: int,
        hashed: Any,
    ):
        self.hashed = _names("hashed", hashed)
        self.categorical = (
            () if isinstance(categorical, str) and categorical == "auto" else _names("categorical", categorical)
        ) + self.hashed
        self.text, self.pairs = _names("text", text), _pairs(pairs)
        self.bins = _bins(bins)
        self.dates = arguments.one_of("dates", dates, [True, False])
        self.min_count = arguments.positive_integer("min_count", min_count)
        self.missing = arguments.one_of("missing", missing, MISSING) == "level"
        self.n_hashed = check_n_features(n_hashed, "hash_features")

    @property
    def strings(self) -> tuple[str, ...]:
        """Columns that are read as strings from files without types."""
        return self.categorical + self.text

    def kinds(self, tables: Tables, features: list[str]) -> dict[str, str | None]:
        """The kind of each column, None if all values are treated as categories; unsupported types are refused."""
        kinds: dict[str, str | None] = {}
        named = {"hashed": self.hashed, "categorical": self.categorical, "text": self.text, "bins": tuple(self.bins[1])}
        for argument, names in {**named, "pairs": tuple(name for pair in self.pairs for name in pair)}.items():
            check_has(tables.schema.empty_table().select(features).schema, names, argument)
        for name in features:
            dtype = tables.schema.field(name).type
            kind = kind_of(dtype)
            if kind is None:
                raise TypeError(
                    f"X: column {name!r} is nested, of type {dtype}; make columns of its parts, or leave it out with "
                    "columns="
                )
            if name in self.text and kind not in (CATEGORY, NOTHING):
                raise TypeError(f"text={name!r} is a column of type {dtype}; it should hold strings")
            if kind not in DATES or self.dates:
                kinds[name] = None if name in self.categorical and kind not in DATES else kind
        return kinds

    def parts(self, tables: Tables, kinds: dict[str, str | None]) -> tuple[ColumnPart, ...]:
        """The parts to encode: columns and parts of dates first, then pairs."""
        parts: list[ColumnPart] = []
        for name, kind in kinds.items():
            if kind in DATES:
                parts += parts_of_dates(name, tables.schema.field(name).type)
            elif name not in self.text:
                parts.append(part_of(name, kind))
        return (*parts, *(ColumnPart(pair, LEVEL) for pair in self.pairs))

    def encoding(
        self, counts: TableCounts, kinds: dict[str, str | None], y: Any, weight: Any, zones: dict[str, str]
    ) -> TableEncoding:
        """The encoding of the columns, from the counts of one pass."""
        found = [(part, self._code(part, one)) for part, one in zip(counts.parts, counts.of_parts, strict=True)]
        coded = [(part, code) for part, code in found if code is not None]
        used = {name for part, _ in coded for name in part.columns} | {*self.text}
        if not used:
            raise ValueError("X has no column of more than one value, so that nothing tells its rows from each other")
        y, weight = (given if isinstance(given, str) else None for given in (y, weight))
        grams = [(name, NGrams(n_features=self.n_hashed)) for name in self.text]
        kinds = {name: kind for name, kind in kinds.items() if name in used}
        return TableEncoding(coded, grams, kinds, y, weight, {name: zones[name] for name in zones if name in used})

    def _code(self, part: ColumnPart, learned: Any) -> Code | None:
        """The code of a part; None if all its values are the same."""
        if isinstance(learned, LevelCounts):
            return self._level_code(part, learned)
        gaps = self.missing and bool(learned.missing[0])
        if not learned.features[0].keys.size or (learned.low[0] == learned.high[0] and not gaps):
            return None
        name = part.columns[0]
        n_bins = self.bins[1].get(name, self.bins[0])
        if n_bins is None:
            return PlainNumber(_median(learned.features[0]), gaps)
        return BinCodes(BinEdges.learned(learned, n_bins, "quantile", gaps))

    def _level_code(self, part: ColumnPart, learned: LevelCounts) -> Code | None:
        gaps = self.missing and learned.missing > 0
        if learned.full or part.columns in [(name,) for name in self.hashed]:
            return HashedCodes(self.n_hashed, gaps)
        kept = [value for value, count in learned.counts.items() if count >= self.min_count]
        order = WEEKDAYS.index if part.date_part == "weekday" else _order
        code = LevelCodes(sorted(kept, key=order), len(kept) < len(learned.counts), gaps)
        return code if code.n_columns > 1 else None


def _median(cells: ValueCells) -> float:
    """The largest number in the cell that contains the median."""
    up_to = np.cumsum(cells.counts)
    return float(cells.tops()[np.searchsorted(up_to, (up_to[-1] + 1) // 2)])


def _order(value: str) -> tuple[float, str]:
    """A sort key: numbers first, by size."""
    try:
        return float(value), value
    except ValueError:
        return np.inf, value


def _warn_of(counts: TableCounts, left_out: list[str], searched: bool) -> None:
    if left_out:
        warn(f"columns {left_out} have at most one value and are left out")
    apart = [
        part.label
        for part, one in zip(counts.parts, counts.of_parts, strict=True)
        if isinstance(one, LevelCounts) and len(one.counts) == counts.n_rows > 2
    ]
    if apart:
        cure = "leave them out with columns=, or name those of texts in text="
        if searched:
            cure = (
                f"leave them out with encodings=[{{'columns': [..]}}], texts take encodings=[{{'text': {apart[0]!r}}}]"
            )
        warn(
            f"columns {apart} have a different value in each of {counts.n_rows:,} rows, which says nothing about new "
            f"rows; {cure}"
        )


# ---- arguments -------------------------------------------------------------------------------------------------------


def _names(argument: str, given: Any) -> tuple[str, ...]:
    if isinstance(given, str) or not isinstance(given, Iterable) or not all(isinstance(one, str) for one in given):
        raise TypeError(f"{argument}={given!r} should be a list of names of columns")
    return tuple(dict.fromkeys(given))


def _pairs(given: Any) -> tuple[tuple[str, str], ...]:
    pairs = [_names("pairs", pair) for pair in given] if isinstance(given, list | tuple) else [()]
    if any(len(pair) != 2 for pair in pairs):
        raise TypeError(f"pairs={given!r} should be a list of pairs of names of columns")
    return tuple((first, second) for first, second in pairs)


def _bins(given: Any) -> tuple[int | None, dict[str, int | None]]:
    """The default number of bins, and that of columns with another number; None for no bins."""
    each = dict(given) if isinstance(given, Mapping) else {}
    numbers = [*each.values()] if isinstance(given, Mapping) else [given]
    for n in numbers:
        if n is not None and arguments.positive_integer("bins", n) < 2:
            raise ValueError(f"bins={given!r} should be 2 or more, or None for numbers as they are")
    return (16 if isinstance(given, Mapping) else given), each


def _index_of(schema: Any) -> list[str]:
    """The columns that hold the index of a written data frame, which are not features."""
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in index if isinstance(name, str)]


def _features(tables: Tables, columns: Any, y: Any, weight: Any, groups: Any) -> list[str]:
    """The names of the feature columns."""
    schema = arrow().schema(
        [field for field in tables.schema if field.name not in tables.unseen], tables.schema.metadata
    )
    if groups is not None:
        if not isinstance(groups, str):
            raise TypeError(f"groups is of type {type(groups).__name__}; it should be the name of a column")
        check_has(schema, [groups], "groups")
    named = {name: given for name, given in (("y", y), ("weight", weight)) if isinstance(given, str)}
    if columns is None:
        others = *named.values(), groups, *_index_of(schema)
        return [name for name in schema.names if name not in others]
    found = _names("columns", columns)
    check_has(schema, found, "columns")
    for argument, name in named.items():
        if name in found:
            raise ValueError(f"columns has {name!r}, which is {argument}; leave it out of columns")
    if not found:
        raise ValueError("columns is empty; it should name the columns that are features")
    return list(found)

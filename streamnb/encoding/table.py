"""`table`: opens tables whose columns of any kind are encoded as they are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from inspect import signature
from typing import Any

import numpy as np

from streamnb.core import arguments, persistence
from streamnb.core.memory import check_memory_limit
from streamnb.core.messages import warn
from streamnb.core.threads import check_n_threads
from streamnb.encoding.bins import BinEdges
from streamnb.encoding.learning import OfCopies
from streamnb.encoding.ngrams import NGrams, check_n_features
from streamnb.encoding.records import KINDS
from streamnb.encoding.table_codes import (
    BinCodes,
    Code,
    Growth,
    LevelCodes,
    LevelCounts,
    OneNumber,
    PlainNumber,
    SharedHash,
    TableCounts,
    has_columns,
    ordered,
)
from streamnb.encoding.table_encoding import TableEncoding
from streamnb.passes.contract import RunOptions
from streamnb.passes.passes import StatisticTask
from streamnb.passes.run import run
from streamnb.rows.table_columns import (
    CATEGORY,
    DATES,
    LEVEL,
    MEASURE,
    MEASURED,
    NOTHING,
    NUMBER,
    ColumnPart,
    arrow,
    kind_of,
    parts_of_dates,
    zones_of,
)
from streamnb.rows.table_opening import open_tables
from streamnb.rows.tables import Tables, TableSource, check_has

MISSING = "level", "ignore"
SOME = 100  # values that are looked at, of as many rows or more
TEXT = 5  # words of a string from which on it is a text, and no identifier


@dataclass
class ColumnOptions:
    """The options of `table` about columns, by its argument names; checked."""

    categorical: Any
    text: Any
    bins: Any
    dates: Any
    pairs: Any
    min_count: Any
    missing: Any
    hash_features: Any
    hashed: Any

    @classmethod
    def among(cls, given: Mapping[str, Any]) -> ColumnOptions:
        """Those among the arguments of `table`, with its defaults."""
        defaults = {name: parameter.default for name, parameter in signature(table).parameters.items()}
        return cls(**{name: given.get(name, defaults[name]) for name in cls.__dataclass_fields__})

    def __post_init__(self) -> None:
        self.hashed = names_of("hashed", self.hashed)
        automatic = isinstance(self.categorical, str) and self.categorical == "auto"
        self.categorical = () if automatic else names_of("categorical", self.categorical)
        self.categorical += self.hashed
        self.hash_features = check_n_features(self.hash_features, "hash_features")
        self.grams = {name: self._ngrams(name, self.text) for name in names_of("text", self.text)}
        self.text, self.pairs, self.bins = tuple(self.grams), _pairs(self.pairs), _bins(self.bins)
        arguments.one_of("dates", self.dates, [True, False])
        arguments.positive_integer("min_count", self.min_count)
        self.missing = arguments.one_of("missing", self.missing, MISSING) == "level"

    @property
    def strings(self) -> tuple[str, ...]:
        """Columns that are read as strings from files without types."""
        return self.categorical + self.text

    def _ngrams(self, name: str, text: Any) -> NGrams:
        """The n-grams of a column of texts, with options where `text` maps its name to any."""
        options = text[name] if isinstance(text, Mapping) else {}
        known = *KINDS, "lowercase"
        if not isinstance(options, Mapping) or not {*options} <= {*known}:
            raise ValueError(f"text={text!r}: {name!r} should map to options of n-grams, which are {', '.join(known)}")
        return NGrams(n_features=self.hash_features, **options)

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
                    f"X: column {name!r} is nested or an interval, of type {dtype}; make columns of its parts, or "
                    "leave it out with columns="
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
                parts.append(ColumnPart((name,), MEASURE if kind in MEASURED else LEVEL))
        return (*parts, *(ColumnPart(pair, LEVEL) for pair in self.pairs))

    def encoding(self, counts: TableCounts, how: LearnedTable) -> TableEncoding:
        """The encoding of the columns, from the counts of one pass."""
        hashed = self._hashed(counts)
        codes = [
            (part, SharedHash(self.hash_features, self._gaps(learned)) if part in hashed else self._code(part, learned))
            for part, learned in zip(counts.parts, counts.of_parts, strict=True)
        ]
        coded = sorted((pair for pair in codes if has_columns(pair[1])), key=lambda pair: pair[0] in hashed)
        used = {name for part, _ in coded for name in part.columns} | {*self.text}
        if not used:
            raise ValueError(
                f"Every column of X is constant, or has no value that min_count={self.min_count} rows share, so there "
                "is nothing to learn"
            )
        growth = Growth([*counts.parts], [], how.kinds, how.zones, self.missing, self.min_count, self.hash_features)
        every = zip(codes, counts.of_parts, strict=True)
        constant = [pair for pair, learned in every if growth.is_constant(pair[1], learned)]
        growth = replace(growth, constant=constant)
        kinds = {name: kind for name, kind in how.kinds.items() if name in used}
        zones = {name: zone for name, zone in how.zones.items() if name in used}
        return TableEncoding(coded, [*self.grams.items()], kinds, how.y, how.weight, zones, growth)

    def _hashed(self, counts: TableCounts) -> set[ColumnPart]:
        """The parts to hash: named ones, then those with most values, until the others have few enough together."""
        levels = [pair for pair in zip(counts.parts, counts.of_parts, strict=True) if isinstance(pair[1], LevelCounts)]
        hashed = {part for part, learned in levels if learned.full or part.columns in [(name,) for name in self.hashed]}
        sizes = {part: len(self._kept(learned)) for part, learned in levels if part not in hashed}
        for part in sorted(sizes, key=sizes.__getitem__, reverse=True):
            if sum(sizes.values()) <= self.hash_features:
                break
            del sizes[part]
            hashed.add(part)
        return hashed

    def _gaps(self, learned: LevelCounts) -> bool:
        """Whether missing values have a column."""
        return self.missing and learned.missing > 0

    def _kept(self, learned: LevelCounts) -> list[str]:
        """The values that are not rare; with a `min_count` of 1 all that occur, however small their weight is."""
        least = self.min_count if self.min_count > 1 else 0
        return [value for value, count in learned.counts.items() if count >= least]

    def _code(self, part: ColumnPart, learned: Any) -> Code:
        """The code of a part."""
        if isinstance(learned, LevelCounts):
            return self._level_code(part, learned)
        gaps = self.missing and bool(learned.missing[0])
        if not learned.features[0].keys.size:
            return OneNumber(np.nan)
        if learned.low[0] == learned.high[0] and not gaps:
            return OneNumber(float(learned.low[0]))
        name = part.columns[0]
        n_bins = self.bins[1].get(name, self.bins[0])
        if n_bins is None:
            cells = learned.features[0]
            # the top of its cell, of the lower one of two
            return PlainNumber(float(cells.tops()[cells.reaching(np.array(0.5))]), gaps)
        return BinCodes(BinEdges.learned(learned, n_bins, "quantile", gaps))

    def _level_code(self, part: ColumnPart, learned: LevelCounts) -> LevelCodes:
        kept = self._kept(learned)
        n_values, n_once = learned.counts.total(), sum(count == 1 for count in learned.counts.values())
        new = n_once / n_values if n_values else 0.0
        return LevelCodes(ordered(part, kept), len(kept) < len(learned.counts), self._gaps(learned), new)


def names_of(argument: str, given: Any) -> tuple[str, ...]:
    """Names of columns, each once; anything else is refused."""
    if isinstance(given, str) or not isinstance(given, Iterable) or not all(isinstance(one, str) for one in given):
        cure = f"; give [{given!r}]" if isinstance(given, str) else ""
        raise TypeError(f"{argument}={given!r} should be a list of names of columns{cure}")
    return tuple(dict.fromkeys(given))


def _pairs(given: Any) -> tuple[tuple[str, str], ...]:
    pairs: Any = [names_of("pairs", pair) for pair in given] if isinstance(given, list | tuple) else [()]
    if any(len(pair) != 2 for pair in pairs):
        raise TypeError(f"pairs={given!r} should be a list of pairs of names of columns")
    return tuple(pairs)


def _bins(given: Any) -> tuple[int | None, dict[str, int | None]]:
    """The default number of bins, and that of columns with another number; None for no bins."""
    each: dict[Any, Any] = dict(given) if isinstance(given, Mapping) else {None: given}
    for n in each.values():
        if n is not None and arguments.positive_integer("bins", n) < 2:
            raise ValueError(f"bins={given!r} should be 2 or more, or None for numbers as they are")
    return each.pop(None, 16), each


def table(
    X: Any,
    y: Any = None,
    *,
    weight: Any = None,
    groups: str | None = None,
    columns: Iterable[str] | None = None,
    drop: Iterable[str] = (),
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
    r"""Open a table and encode its columns, whatever their types, for use as X in `fit`, `scan` or `predict`.

    One pass learns the values of the columns. Each later pass encodes rows block by block as they are read, starting at
    any row, in threads or on the workers of a cluster. A model fitted on the rows keeps the encoding, and saves it: it
    accepts the path of a table, or a data frame, with columns in any order.

    Parameters
    ----------
    X : path, URL, list of these, or table
        Parquet, Arrow IPC (Feather), CSV, TSV or JSON lines files (the last three may be compressed, as for `text`); a
        pattern such as `flights/*.parquet`; a folder of such files (folder names such as "month=7" become a column). Or
        a table: pandas, Polars, Dask, Arrow, an Arrow dataset, or a list of dicts. A lazy frame of Polars, a relation
        of DuckDB, a reader of record batches and an iterator (or callable) of batches or frames are read into memory
        first.
    y, weight : str or (n_rows,), optional
        Labels and weights: the name of a column, which is then not a feature, or an array. Without them, pass labels
        and weights to `fit`, `scan` and `score`. Weights also count when columns are learned: a weight of k stands for
        k rows, and rows of weight 0 are left out.
    groups : str, optional
        A column of groups: rows with the same value stay in one fold wherever rows are split by number. Not a feature
        unless `columns` lists it. `fit(.., groups=)` takes precedence.
    columns : list of str, optional
        The feature columns; by default all others, except the index of a data frame written by pandas.
    drop : list of str
        Columns that are no features, such as identifiers; in place of `columns`.
    categorical : "auto", or list of str
        Columns to treat as categories whatever their type, besides strings, booleans and pandas categoricals. Values
        are compared as strings: numbers lose trailing zeros, "07" and " a" stay as written.
    text : list of str, or dict
        Columns of texts, whose words are counted in `hash_features` columns each, as `snb.text` counts them. A dict has
        options of `snb.text` by column, such as ``{"title": {"words": (1, 2), "chars": (3, 5)}}``.
    bins : int, None, or dict
        Numbers become indicators of about this many bins with equal numbers of rows (one bin for each value if there
        are no more values than bins), with edges half-way between values. None keeps numbers, with the median for
        missing ones. A dict sets it by column, with 16 for the others. Durations and times of day are numbers of
        seconds.
    dates : bool
        Dates become categories of year, month, weekday and hour, converted to the time zone of the first rows if they
        have one; False drops columns of dates.
    pairs : list of (str, str)
        Pairs of columns whose combined values become a further category.
    min_count : int
        Values with fewer rows, or less weight, share one indicator, "is rare", which unseen values use as well. With 1,
        unseen values have no indicator and no effect.
    missing : {"level", "ignore"}
        "level" gives missing values an indicator of their own in columns that have any; with "ignore" they have no
        effect.
    hash_features : int, a power of two
        At most this many categorical values in the whole table get a column of their own. If there are more, the
        columns with the most values are hashed into this many shared ones. Each column of texts is hashed into as many.
    hashed : list of str
        Columns to treat as categories and always hash, even if they have few values, so that unseen values have columns
        as well.
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
        Columns have at most one value and are left out, are texts, or have a different value in each row.

    Notes
    -----
    Each row has exactly one of a column's indicators, so ``family="auto"`` treats the column as one multinomial
    variable, which is categorical naive Bayes. Hashed categories form one such variable together. A value is hashed
    with the name of its column, and collides with one of v others with probability 1 - (1 - 1 / hash_features)^v.

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
    options = {
        "groups": groups, "columns": columns, "drop": drop, "categorical": categorical, "text": text, "bins": bins,
        "dates": dates, "pairs": pairs, "min_count": min_count, "missing": missing, "hash_features": hash_features,
        "hashed": hashed, "n_threads": n_threads, "memory_limit": memory_limit,
    }  # fmt: skip
    to_learn = TableToLearn(X, y, weight, options)
    counts, _ = run(StatisticTask(to_learn.statistic), to_learn.rows, RunOptions(None, n_threads))
    return to_learn.encoded(counts.whole())


@persistence.register
@dataclass(frozen=True, eq=False)
class LearnedTable(persistence.Parameters):
    """How the columns of a table are learned: `options` of `table`, and the kinds and time zones of its columns."""

    options: dict[str, Any]
    kinds: dict[str, str | None]
    zones: dict[str, str]
    parts: tuple[ColumnPart, ...]
    y: str | None = None
    weight: str | None = None

    def counts(self, memory_limit: int | None = None) -> OfCopies:
        """The counts of no rows, to which rows are added."""
        return OfCopies(TableCounts(self.parts, ColumnOptions.among(self.options).hash_features, memory_limit))

    def encoding(self, counts: TableCounts) -> TableEncoding:
        """The encoding, from the counts of all rows."""
        return ColumnOptions.among(self.options).encoding(counts, self)

    def with_kinds_of(self, other: LearnedTable, names: set[str]) -> LearnedTable:
        """A copy in which the columns of these names are of the kinds that they have in another one."""
        kinds = {name: (other if name in names else self).kinds[name] for name in self.kinds}
        zones = {**self.zones, **{name: zone for name, zone in other.zones.items() if name in names}}
        parts = [part for part in self.parts if not names.issuperset(part.columns)]
        more = [part for part in other.parts if names.issuperset(part.columns)]
        return replace(self, kinds=kinds, zones=zones, parts=(*parts, *more))


class TableToLearn:
    """A table whose encoding is learned in a pass: add `rows` to `statistic`, and give it to `encoded`.

    Parameters
    ----------
    X, y, weight
    options : mapping
        Other arguments of `table`.
    """

    def __init__(self, X: Any, y: Any, weight: Any, options: Mapping[str, Any]):
        options = {name: [*each] if isinstance(each, Iterator) else each for name, each in options.items()}
        given = signature(table).bind(X, y, weight=weight, **options).arguments  # which refuses others
        columns, self._n_threads = ColumnOptions.among(given), check_n_threads(given.get("n_threads"))
        self._tables = open_tables(X, dict.fromkeys(columns.strings), self._n_threads)
        self._labels, self._groups = (y, weight), given.get("groups")
        names = feature_names(self._tables, given.get("columns"), y, weight, self._groups, given.get("drop", ()))
        kinds, zones = columns.kinds(self._tables, names), zones_of(self._tables.schema)
        y, weight = (one if isinstance(one, str) else None for one in self._labels)
        self.how = LearnedTable(options, kinds, zones, columns.parts(self._tables, kinds), y, weight)
        self.rows = TableSource.of_columns(self._tables, kinds, zones, *self._labels, self._n_threads)
        self.rows.own_groups = self._groups
        self.statistic = self.how.counts(check_memory_limit(given.get("memory_limit")))

    @property
    def has_numbers(self) -> bool:
        """Whether some columns are numbers."""
        return NUMBER in self.how.kinds.values()

    def encoded(self, counts: TableCounts, quiet: bool = False) -> TableSource:
        """The rows with columns encoded by these counts; warns of columns left out unless `quiet`."""
        encoding = self.how.encoding(counts)
        if not quiet:
            left_out = [name for name in self.how.kinds if name not in encoding.columns]
            _warn_of(counts, left_out, self.how.options.get("min_count", 1))
        rows = TableSource.of_columns(self._tables, encoding.columns, encoding.zones, *self._labels, self._n_threads)
        rows = encoding.applied(rows)
        rows.own_groups, rows.opened_with = self._groups, (self._tables, *self._labels, self.how.options)
        return rows


def _warn_of(counts: TableCounts, left_out: list[str], min_count: int) -> None:
    levels = {
        part.label: list(one.counts)
        for part, one in zip(counts.parts, counts.of_parts, strict=True)
        if isinstance(one, LevelCounts)
    }
    n_rows = counts.n_rows
    different = {name: values for name, values in levels.items() if n_rows > 2 and 2 * len(values) > n_rows}
    texts = [name for name, values in different.items() if n_rows >= SOME and are_texts(values[:SOME])]
    apart = [name for name, values in different.items() if len(values) == n_rows and name not in texts]
    constant = [name for name in left_out if name not in (*apart, *texts)]
    if constant:
        of_rows = f" in {min_count} rows or more" if min_count > 1 else ""
        warn(f"columns {constant} have at most one value{of_rows} and are left out")
    if texts:
        warn(
            f"columns {texts} are texts, most of which are in one row each; open them as X=snb.table(.., text={texts})",
            once=f"texts {texts}",
        )
    if apart:
        warn(
            f"columns {apart} have a different value in each of {n_rows:,} rows, which says nothing about new "
            f"rows; leave them out with snb.table(.., drop={apart}), or name those of texts in text=",
            once=f"a different value in each row of {apart}",
        )


def are_texts(values: Any) -> bool:
    """Whether values are texts of several words."""
    return len(values) > 0 and float(np.median([len(str(value).split()) for value in values])) >= TEXT


def feature_names(tables: Tables, columns: Any, y: Any, weight: Any, groups: Any, drop: Any = ()) -> list[str]:
    """The names of the feature columns."""
    schema = arrow().schema(
        [field for field in tables.schema if field.name not in tables.unseen], tables.schema.metadata
    )
    if groups is not None:
        if not isinstance(groups, str):
            raise TypeError(f"groups is of type {type(groups).__name__}; it should be the name of a column")
        check_has(schema, [groups], "groups")
    named = {name: given for name, given in (("y", y), ("weight", weight)) if isinstance(given, str)}
    drop = names_of("drop", drop)
    check_has(schema, drop, "drop")
    if columns is None:
        index = (schema.pandas_metadata or {}).get("index_columns", [])  # of a data frame that was written
        others = *named.values(), groups, *drop, *(name for name in index if isinstance(name, str))
        return [name for name in schema.names if name not in others]
    if drop:
        raise ValueError("columns and drop are both given; columns names all features, so leave drop out")
    found = names_of("columns", columns)
    check_has(schema, found, "columns")
    for argument, name in named.items():
        if name in found:
            raise ValueError(f"columns={name!r} is given as {argument}, too; leave it out of columns=")
    if not found:
        raise ValueError("columns is empty; it should name the columns that are features")
    return list(found)

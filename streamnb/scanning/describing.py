"""`describe`: a first look at rows of any kind, from one read: the target, each column, and what is odd about it."""

import operator
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np
import scipy.sparse as sp
from scipy.stats import rankdata

from streamnb.core import frames
from streamnb.core.arguments import PerRow, Rows
from streamnb.core.memory import check_memory_limit
from streamnb.core.row_checks import look_measured
from streamnb.core.threads import check_n_threads
from streamnb.encoding.opening import holds_raw_texts, opened
from streamnb.encoding.table import are_texts, feature_names
from streamnb.encoding.table_codes import LevelCounts, TableCounts
from streamnb.encoding.text import open_texts
from streamnb.passes.contract import RunOptions
from streamnb.passes.passes import StatisticTask
from streamnb.passes.run import run
from streamnb.passes.statistic import Statistic
from streamnb.rows import opening
from streamnb.rows.boundary import checked, columns_in, is_dask
from streamnb.rows.labels import TARGETS
from streamnb.rows.row_blocks import Block, DenseChunk
from streamnb.rows.source import Source
from streamnb.rows.splits import scattered
from streamnb.rows.table_columns import (
    BOOLEAN,
    CATEGORY,
    DATES,
    DURATION,
    LEVEL,
    MEASURE,
    MEASURED,
    TIME,
    ColumnPart,
    TableRows,
    arrow,
    kind_of,
    zones_of,
)
from streamnb.rows.table_opening import as_table, is_table, open_tables, tabular
from streamnb.rows.tables import TableSource, check_has
from streamnb.rows.texts import Texts
from streamnb.stats.row_sample import sample_size
from streamnb.stats.value_counts import ValueCounts

MOST_COLUMNS = 2_000  # of a matrix, that are described one by one
MOST_VALUES = 1 << 18  # of a category, that are counted
MOST_CLASSES = 100  # of a label that columns may tell
SHOWN_CLASSES, SHOWN_VALUES = 10, 3
OFTEN = 0.01  # share of the rows from which on a value is shown as frequent
LONG = 19  # letters of a value that are shown
LONGEST = 200  # letters of a value in the sample
SHARES = np.array([0.25, 0.5, 0.75])
CELLS = 256  # of a number, in which the labels of the sample are counted
LEAK = 0.02  # of the errors of guesses: a column that makes fewer is told as a leak
SAME_ORDER = 0.99  # rank correlation with a target from which on a column is told as a leak
RARE = 10  # rows of a class that is told as rare
FEW_ROWS = 20  # from which nothing is concluded
WRITTEN_DATE = r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d.*)?"
WRITTEN_NUMBER = r"\s*[-+]?(\d[\d,]*(\.\d*)?|\.\d+)([eE][-+]?\d+)?\s*%?\s*"


@dataclass(frozen=True)
class _Sample:
    """The values of the rows whose hashed numbers are lowest, the same for any blocks."""

    size: int
    keys: np.ndarray = field(default_factory=lambda: np.zeros(0, np.uint64))
    columns: Sequence[np.ndarray] = ()

    @property
    def limit(self) -> Any:
        return self.keys.max() if len(self.keys) >= self.size else np.iinfo(np.uint64).max

    def __add__(self, other: "_Sample") -> "_Sample":
        parts = [part for part in (self, other) if len(part.keys)]
        if not parts:
            return self
        keys = np.concatenate([part.keys for part in parts])
        lowest = np.argsort(keys)[: self.size]
        columns = zip(*(part.columns for part in parts), strict=True)
        return _Sample(self.size, keys[lowest], [np.concatenate(column)[lowest] for column in columns])


def _joined(a: Any, b: Any) -> Any:
    return a if b is None else b if a is None else a + b


def _counted(y: Any) -> LevelCounts | ValueCounts:
    """Counts of the labels or targets of a block, or of the rows that have each label."""
    if sp.issparse(y):
        return LevelCounts({str(k): count for k, count in enumerate(y.sum(axis=0).tolist())}, 0, MOST_VALUES)
    if y.dtype.kind in "iuf":
        counts = ValueCounts()
        counts.add_rows(DenseChunk(y.astype(np.float64)[:, None], 0))
        return counts
    return LevelCounts(Counter(map(str, y.tolist())), 0, MOST_VALUES)


@dataclass
class _Look(Statistic):
    """Counts of the values of each column and of the labels beside the rows, and a sample of rows."""

    parts: tuple[ColumnPart, ...] | None  # of a table
    sample: Annotated[_Sample, operator.add]
    columns: Annotated[Any, operator.add]
    n_rows: Annotated[int, operator.add] = 0
    filled: Annotated[Any, operator.add] = 0  # values of each column that are not 0
    target: Annotated[Any, _joined] = None  # counts of the labels beside the rows
    title = "describe"

    def add_block(self, block: Block) -> None:
        if isinstance(block.X, Texts):
            texts = [block.X.decoded(row, "replace") for row in range(block.n_rows)]
            block = replace(block, X=TableRows(arrow().record_batch({"text": texts})))
        self.n_rows += block.n_rows
        keys = scattered(np.arange(block.first_row, block.stop, dtype=np.uint64), 0)
        rows = np.flatnonzero(keys <= self.sample.limit)
        if self.parts is not None:
            block = replace(block, X=_with_numbers(block.X))
            self.columns.add_block(block)
            picked = block.X.picked(rows).columns.columns
            columns = [_values(column.to_pylist()) for column in picked]
        else:
            chunk, _ = checked(block, missing=True)
            X: Any = chunk.to_matrix()
            columns = []
            if X.shape[1] > MOST_COLUMNS:
                self.filled = self.filled + np.bincount(X.nonzero()[1], minlength=X.shape[1])
            else:
                self.columns.add_rows(chunk)
                some = X[rows].toarray() if sp.issparse(X) else X[rows].astype(np.float64)
                columns = [*some.T]
        if block.y is not None:
            self.target = _joined(self.target, _counted(block.y))
            columns += [] if sp.issparse(block.y) else [block.y[rows].astype(object)]
        self.sample = self.sample + _Sample(self.sample.size, keys[rows], columns)


def _with_numbers(rows: TableRows) -> TableRows:
    """Rows of a table with dates as microseconds since 1970."""
    moments = arrow().timestamp("us")
    columns = [
        column.cast(moments, safe=False).cast(arrow().int64()) if kind_of(column.type) in DATES else column
        for column in rows.columns.columns
    ]
    return replace(rows, columns=arrow().RecordBatch.from_arrays(columns, names=rows.columns.schema.names))


def _values(values: list[Any]) -> np.ndarray:
    out = np.empty(len(values), object)
    out[:] = [value[:LONGEST] if isinstance(value, str | bytes) else value for value in values]
    return out


def describe(
    X: "Rows",
    y: "PerRow" = None,
    *,
    progress: bool | None = None,
    n_threads: int | None = None,
    client: Any = None,
) -> "Description":
    """Take a first look at rows of any kind, in one read: the target, each column, and anything odd.

    Parameters
    ----------
    X : (n_rows, n_features)
        Anything that `scan` accepts: a path, a folder, a data frame, an array, a Dask array, a stream, texts.
    y : str or (n_rows,), optional
        The target: the name of a column, or labels or numbers beside X.
    progress, n_threads, client
        As in `scan`.

    Returns
    -------
    Description
        Prints as text, and as tables in notebooks; `to_frame` and `to_dict` return its numbers.

    Raises
    ------
    ValueError, TypeError, DataError
        The rows cannot be read; the message names the column, and the row.

    Notes
    -----
    Counts and ranges are of all rows. How much a column reveals about the target, whether numbers are whole, and which
    columns are equal is judged on a sample of up to 10,000 rows, the same for any blocks, threads and workers. A column
    that alone predicts the target almost perfectly is reported as a leak: it may not be known in advance.

    Examples
    --------
    >>> import pandas as pd, streamnb as snb
    >>> frame = pd.DataFrame({"city": ["Bonn", "Kiel", "Bonn", None], "km": [3, 80, 5, 41], "year": 2024})
    >>> print(snb.describe(frame.assign(late=[0, 1, 0, 1]), "late"))
    4 rows, 3 columns
    <BLANKLINE>
    Target late: 2 classes
    class  rows   share
    0         2  50.0 %
    1         2  50.0 %
    <BLANKLINE>
    column           type  missing  distinct  lowest  25 %  median  75 %  highest             most frequent
    city         category   25.0 %         2                                       Bonn (50 %), Kiel (25 %)
    km      whole numbers                  4       3     3       5    41       80
    year    whole numbers                  1    2024  2024    2024  2024     2024              2024 (100 %)
    <BLANKLINE>
    Look at
      year: one value in every row
    """
    n_threads = check_n_threads(n_threads)
    named = y if isinstance(y, str) else None
    X = tabular(as_table(X, named is not None))
    labelled: Any = TARGETS if named is None and _are_fractions(y) else False
    kinds: dict[str, str | None] = {}
    parts: tuple[ColumnPart, ...] | None = None
    rows: Source
    if is_table(X):
        tables = open_tables(X, {}, n_threads)
        check_has(tables.schema, [named], "y")
        kinds = {
            name: kind_of(tables.schema.field(name).type) for name in feature_names(tables, None, None, None, None)
        }
        flat = {name: kind for name, kind in kinds.items() if kind is not None}
        rows = TableSource.of_columns(tables, flat, zones_of(tables.schema), None, None, n_threads)
        rows = opening.opened(rows, None if named else y, labelled=labelled)
        numbers = *MEASURED, *DATES
        parts = tuple(ColumnPart((name,), MEASURE if kind in numbers else LEVEL) for name, kind in flat.items())
    elif holds_raw_texts(X):
        rows, named = open_texts(X, None, y, None, n_threads), None
        kinds, parts = {"text": CATEGORY}, (ColumnPart(("text",), LEVEL),)
    else:
        rows, named = opened(X, y, labelled=labelled), None
    n_columns = len(parts or ()) or rows.n_features or 1
    counts: Any = ValueCounts()
    if parts is not None:
        counts = TableCounts(parts, MOST_VALUES, check_memory_limit(None))
    look = _Look(parts, _Sample(sample_size(1, 64 * n_columns)), counts)
    found, _ = run(StatisticTask(look), rows, RunOptions(progress, n_threads, client=client))
    names = rows.feature_names if rows.feature_names is not None else columns_in(rows.given)
    beside = y if isinstance(y, str) else str(getattr(y, "name", None) or "y")
    return _description(found, kinds, names, named, beside)


def _are_fractions(y: Any) -> bool:
    """Whether y are numbers, of which some are not whole."""
    values = np.asarray(y) if np.iterable(y) and not is_dask(y) and not hasattr(y, "store") else np.empty(0)
    return values.dtype.kind == "f" and bool((values != np.floor(values)).any())


# ---- what is found ---------------------------------------------------------------------------------------------------


@dataclass
class _Found:
    """A column, the counts of its values, and its values in the sample."""

    name: str
    kind: str | None  # of a table
    counts: LevelCounts | ValueCounts
    sample: np.ndarray

    @cached_property
    def known(self) -> np.ndarray:
        """The values of the sample that are not missing."""
        return self.sample[~self.gaps]

    @cached_property
    def gaps(self) -> np.ndarray:
        return np.array([value is None or value != value for value in self.sample.tolist()], bool)

    @cached_property
    def codes(self) -> np.ndarray:
        """A whole number for each row of the sample: 0 for a missing value, else that of the value or of its range."""
        codes = np.zeros(len(self.sample), np.int64)
        if isinstance(self.counts, LevelCounts):
            codes[~self.gaps] = 1 + np.unique(self.known.astype(str), return_inverse=True)[1]
        elif self.known.size:
            values = self.known.astype(np.float64)
            cuts = np.quantile(values, np.linspace(0.0, 1.0, CELLS + 1)[1:-1], method="lower")
            codes[~self.gaps] = 1 + np.searchsorted(np.unique(cuts), values)
        return codes

    def described(self, n_rows: int) -> "ColumnDescription":
        """What is known of the column by itself."""
        if isinstance(self.counts, LevelCounts):
            column = self._of_levels(self.counts)
        else:
            column = self._of_numbers(self.counts)
        return replace(column, notes=tuple(self._notes(column, n_rows)))

    def _of_levels(self, counts: LevelCounts) -> "ColumnDescription":
        kind = "text" if self.is_text else "category"
        if self.kind == BOOLEAN:
            kind = "true or false"
        if not counts.counts and not counts.full:
            kind = "empty"
        frequent = tuple([*self.by_frequency(counts).items()][:SHOWN_VALUES])
        distinct = None if counts.full else len(counts.counts)
        return ColumnDescription(self.name, kind, int(counts.missing), distinct, frequent=frequent)

    def by_frequency(self, counts: LevelCounts) -> dict[str, int]:
        """The rows of each value, the most frequent first."""
        words = {"0": "False", "1": "True"} if self.kind == BOOLEAN else {}
        order = sorted(counts.counts, key=lambda value: (-counts.counts[value], value))
        return {words.get(value, value): int(counts.counts[value]) for value in order}

    def _of_numbers(self, counts: ValueCounts) -> "ColumnDescription":
        cells, missing = counts.features[0], int(counts.missing[0])
        if not len(cells.keys):
            return ColumnDescription(self.name, "empty", missing, 0)
        exact, tops = cells.shift == 0, np.minimum(cells.tops(), counts.high[0])
        ends = counts.low[0], *tops[cells.reaching(SHARES)], counts.high[0]
        often = np.argsort(-cells.counts, kind="stable")[: SHOWN_VALUES if exact and cells.counts.max() > 1 else 0]
        shown: Callable[[float], Any] = _moment if self.kind in DATES else float
        frequent = tuple((shown(tops[k]), int(cells.counts[k])) for k in often)
        kind = "numbers"
        if self.kind in (*DATES, DURATION, TIME):
            kind = "date" if self.kind in DATES else "seconds"
        elif all(float(value).is_integer() for value in self.known.tolist()):
            kind = "whole numbers"
        distinct = len(cells.keys) if exact else None
        low, q25, median, q75, high = (shown(end) for end in ends)
        return ColumnDescription(self.name, kind, missing, distinct, low, q25, median, q75, high, frequent)

    @property
    def is_text(self) -> bool:
        """Whether values are texts of several words."""
        return are_texts(self.known)

    def _notes(self, column: "ColumnDescription", n_rows: int) -> Iterator[str]:
        """What is odd about the column by itself."""
        n_known = n_rows - column.missing
        if column.missing > n_rows / 2:
            yield f"missing in {_share(column.missing, n_rows)} of the rows"
        if column.distinct == 1 and n_rows > 1:
            yield "one value in every row" if not column.missing else "one value, or none"
        if column.type == "text":
            yield f"texts, whose words count with snb.table(.., text=[{self.name!r}])"
        elif column.type in ("category", "whole numbers") and n_known > FEW_ROWS:
            all_differ = len(set(self.known.tolist())) == len(self.known)
            if column.distinct == n_known or (column.distinct is None and all_differ):
                yield f"a different value in each row, as identifiers have: snb.table(.., drop=[{self.name!r}])"
        if column.type == "category" and self.known.size:
            values = [str(value) for value in self.known.tolist()]
            odd = [value for value in values if not re.fullmatch(WRITTEN_NUMBER, value)]
            coded = any(re.match(r"0\d", value) for value in values)  # such as 007
            if len(odd) <= len(values) / 10 and not coded:
                others = f", others are such as {odd[0]!r}" if odd else ""
                yield f"numbers that are written as text{others}"
            if all(re.fullmatch(WRITTEN_DATE, value) for value in values):
                yield f"dates that are written as text: pandas.read_csv(.., parse_dates=[{self.name!r}]) reads dates"

    def leak(self, target: "_Found", by_class: bool) -> str:
        """What the column tells of the target by itself, where that is suspiciously much."""
        rows = np.flatnonzero(~target.gaps)
        if len(rows) <= FEW_ROWS or not len(self.sample):
            return ""
        if not by_class:
            both = np.flatnonzero(~target.gaps & ~self.gaps)
            if isinstance(self.counts, LevelCounts) or len(both) < len(rows) / 2:
                return ""
            ranks = [rankdata(one.sample[both].astype(np.float64)) for one in (self, target)]
            if min(np.ptp(each) for each in ranks) == 0.0:
                return ""
            order = abs(float(np.corrcoef(*ranks)[0, 1]))
            return (
                f"has nearly the same order as the target (rank correlation {order:.4f})" if order > SAME_ORDER else ""
            )
        labels = np.unique(target.sample[rows].astype(str), return_inverse=True)[1]
        counts = np.zeros((self.codes.max() + 1, labels.max() + 2), np.int64)
        np.add.at(counts, (self.codes[rows], labels), 1)
        second, first = np.partition(counts, -2, axis=1)[:, -2:].T
        right = first[first - 1 > second].sum() / len(rows)  # of rows that the others of the same value decide
        guessed = counts.sum(axis=0).max() / len(rows)
        if guessed == 1.0 or 1.0 - right > LEAK * (1.0 - guessed):
            return ""
        by_guessing = f"(by guessing: {_share(guessed, 1)})"
        return f"alone determines {_share(right, 1)} of the labels {by_guessing}; is it known in advance?"


def _moment(microseconds: float) -> str:
    """A date, with the time of day where it has one."""
    text = str(np.datetime64(int(microseconds), "us")).removesuffix(".000000")
    return text.removesuffix("T00:00:00").removesuffix(":00").replace("T", " ")


def _description(look: _Look, kinds: Mapping[str, str | None], names: Any, named: str | None, beside: str) -> Any:
    """What the counts and the sample say, of a table with these kinds of columns or of a matrix."""
    counts, samples = [], [*look.sample.columns]
    if look.parts is not None:
        names, counts = [part.label for part in look.parts], look.columns.of_parts
    elif look.columns.n_features:
        counts = [look.columns.of_feature(j) for j in range(look.columns.n_features)]
    target = None
    if look.target is not None:
        labels = samples.pop() if len(samples) > len(counts) else np.empty(0, object)
        target = _Found(beside, None, look.target, labels)
    names = [str(name) for name in (range(len(counts)) if names is None else names)][: len(counts)]
    triples = zip(names, counts, samples, strict=True)
    found = [_Found(name, kinds.get(name), one, sample) for name, one, sample in triples]
    if named is not None:
        target = next(one for one in found if one.name == named)
        found.remove(target)
    notes, classes, of_target = list[str](), None, None
    if target is not None:
        of_target = replace(target.described(look.n_rows), notes=())
        classes = _classes(target, of_target, look.n_rows)
        notes += _notes_of_target(of_target, classes, look.n_rows)
    columns, seen = [], dict[bytes, str]()
    for one in found:
        column, more = one.described(look.n_rows), []
        if target is not None and (classes is None or 1 < len(classes) <= MOST_CLASSES):
            more = [one.leak(target, classes is not None)]
        same = seen.setdefault("\0".join(map(str, one.sample.tolist())).encode(), one.name)
        if same != one.name and column.distinct != 1:
            more.append(f"the same values as {same}")
        columns.append(replace(column, notes=(*column.notes, *filter(None, more))))
    nested = [name for name, kind in kinds.items() if kind is None]
    columns += [
        ColumnDescription(name, "nested", 0, None, notes=("nested: make columns of its parts",)) for name in nested
    ]
    if isinstance(look.filled, np.ndarray):
        n_columns, n_empty = len(look.filled), int((look.filled == 0).sum())
        notes.append(f"{_share(look.filled.sum() / n_columns, look.n_rows)} of the values are not 0")
        if n_empty:
            notes.append(f"{n_empty:,} columns are 0 in every row")
        return Description(look.n_rows, n_columns, of_target, classes, (), tuple(notes))
    return Description(look.n_rows, len(columns), of_target, classes, tuple(columns), tuple(notes))


def _classes(target: _Found, described: "ColumnDescription", n_rows: int) -> dict[Any, int] | None:
    """Rows of each class, the most frequent first; None if the target is a number."""
    counts = target.counts
    if isinstance(counts, LevelCounts):
        return target.by_frequency(counts)
    cells = counts.features[0]
    if described.type != "whole numbers" or cells.shift or look_measured(len(cells.keys), n_rows):
        return None
    values = zip(cells.tops().tolist(), cells.counts.tolist(), strict=True)
    return {int(value): count for value, count in sorted(values, key=lambda pair: (-pair[1], pair[0]))}


def _notes_of_target(target: "ColumnDescription", classes: dict[Any, int] | None, n_rows: int) -> Iterator[str]:
    if target.missing:
        yield f"{target.name}: missing in {target.missing:,} rows, which a fit refuses"
    if classes is None:
        return
    if len(classes) < 2:
        yield f"{target.name}: a single class, so there is nothing to learn"
    rare = [label for label, count in classes.items() if count < RARE]
    if rare and n_rows > FEW_ROWS:
        yield f"{target.name}: {len(rare):,} classes have fewer than {RARE} rows, such as {rare[0]}"


# ---- what is shown ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ColumnDescription:
    """What is known of a column: its type, how many values are missing and distinct, where they lie, and what is odd.

    Attributes
    ----------
    name, type : str
    missing : int
        Rows without a value.
    distinct : int or None
        Distinct values; None if there were too many to count.
    lowest, q25, median, q75, highest : float or str or None
        For numbers and dates; quartiles are exact for up to 4,096 distinct values, and otherwise within one of 4,096
        cells.
    frequent : tuple of (value, rows)
        The most frequent values.
    notes : tuple of str
        What to check before fitting a model.
    """

    name: str
    type: str
    missing: int
    distinct: int | None
    lowest: Any = None
    q25: Any = None
    median: Any = None
    q75: Any = None
    highest: Any = None
    frequent: tuple[tuple[Any, int], ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Description:
    """A first look at rows, as `describe` makes it; prints as text, and as a table in notebooks.

    Attributes
    ----------
    n_rows, n_columns : int
    target : ColumnDescription or None
        The labels or numbers to predict.
    classes : dict or None
        Rows of each class, the most frequent first; None if the target is a number.
    columns : tuple of ColumnDescription
        Empty for matrices of more than 2,000 columns.
    notes : tuple of str
        What is odd about the rows as a whole.

    Examples
    --------
    >>> import streamnb as snb
    >>> found = snb.describe([[1.0, 7.5], [2.0, 7.5], [3.0, 8.5]], [0, 1, 1])
    >>> found.classes, found.columns[1].median, found.to_frame()["distinct"].tolist()
    ({1: 2, 0: 1}, 7.5, [3, 2])
    """

    n_rows: int
    n_columns: int
    target: "ColumnDescription | None"
    classes: dict[Any, int] | None
    columns: "tuple[ColumnDescription, ...]"
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The description as plain dicts, lists, strings and numbers, ready for JSON."""
        return asdict(self)

    def to_frame(self) -> Any:
        """The columns as a data frame, one a row."""
        pandas = frames.pandas_for("to_frame")
        return pandas.DataFrame(
            [asdict(column) for column in self.columns], columns=[*ColumnDescription.__annotations__]
        )

    def __str__(self) -> str:
        parts = [self._head]
        if self.target is not None:
            parts.append("\n".join([f"Target {self._target}", *frames.aligned(self._classes)]))
        if self.columns:
            parts.append("\n".join(frames.aligned(self._table)))
        if self._odd:
            parts.append("\n".join(["Look at", *(f"  {note}" for note in self._odd)]))
        return "\n\n".join(parts)

    __repr__ = __str__

    def to_html(self) -> str:
        """The description as tables of HTML."""
        target = "" if self.target is None else frames.html(self._classes, (), f"Target {self._target}")
        return f"<p>{self._head}</p>{target}{frames.html(self._table, self._odd)}"

    _repr_html_ = to_html

    @property
    def _odd(self) -> list[str]:
        return [*self.notes, *(f"{one.name}: {note}" for one in self.columns for note in one.notes)]

    @property
    def _head(self) -> str:
        return f"{self.n_rows:,} rows, {self.n_columns:,} columns"

    @property
    def _target(self) -> str:
        assert self.target is not None
        missing = f", {self.target.missing:,} rows have none" if self.target.missing else ""
        what = self.target.type if self.classes is None else f"{len(self.classes):,} classes"
        return f"{self.target.name}: {what}{missing}"

    @property
    def _classes(self) -> list[list[str]]:
        """The rows of each class, or the range of the target."""
        if self.classes is None:
            assert self.target is not None
            return [["lowest", "25 %", "median", "75 %", "highest"], _quantiles(self.target)]
        shown = [*self.classes.items()][:SHOWN_CLASSES]
        rows = [["class", "rows", "share"]]
        rows += [[str(label), f"{count:,}", _share(count, self.n_rows)] for label, count in shown]
        rest = [*self.classes.values()][SHOWN_CLASSES:]
        if rest:
            rows.append([f"{len(rest):,} others", f"{sum(rest):,}", _share(sum(rest), self.n_rows)])
        return rows

    @property
    def _table(self) -> list[list[str]]:
        head = ["column", "type", "missing", "distinct", "lowest", "25 %", "median", "75 %", "highest", "most frequent"]
        return [head, *(self._line(column) for column in self.columns)]

    def _line(self, column: ColumnDescription) -> list[str]:
        missing = _share(column.missing, self.n_rows) if column.missing else ""
        distinct = "many" if column.distinct is None else f"{column.distinct:,}"
        often = [(value, count) for value, count in column.frequent if count >= OFTEN * self.n_rows]
        frequent = ", ".join(f"{_shown(value)} ({_share(count, self.n_rows, 0)})" for value, count in often)
        return [column.name, column.type, missing, distinct, *_quantiles(column), frequent]


def _quantiles(column: ColumnDescription) -> list[str]:
    every = column.lowest, column.q25, column.median, column.q75, column.highest
    return ["" if value is None else _shown(value) for value in every]


def _shown(value: Any) -> str:
    """A value in few letters."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e4:
        return f"{value:.0f}"  # years have no comma
    if isinstance(value, float):
        return f"{value:,.0f}" if 1e3 <= abs(value) < 1e15 else f"{value:.4g}"
    value = value if value.strip() else repr(value)
    return value if len(value) <= LONG else value[: LONG - 1] + "…"


def _share(count: float, n_rows: int, digits: int = 1) -> str:
    return f"{100.0 * count / n_rows:.{digits}f} %"

"""`train_test_split`: splits rows of any kind in two parts, which are read from where the rows are, not copied."""

from collections.abc import Callable, Iterable, Iterator
from copy import copy
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import chain
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from streamnb.core import arguments, row_checks
from streamnb.core.arguments import PerRow, Rows
from streamnb.core.guesses import with_hints
from streamnb.core.threads import n_cores
from streamnb.rows import opening
from streamnb.rows.boundary import holds_texts, is_dask, is_stream, made_by, picked
from streamnb.rows.labels import TARGETS, Labelled
from streamnb.rows.row_blocks import Block
from streamnb.rows.source import Job, Source, WrappedSource
from streamnb.rows.splits import Folding, keys_of, scattered
from streamnb.rows.table_opening import as_table, is_path, is_table, open_tables
from streamnb.rows.tables import Fields, Tables

STEP = 1 << 16  # rows by which they are counted
PLACES = 4  # of a part that is spread
LEAST = Fraction(1, 10_000)  # of the rows are test rows, and train rows


@with_hints
def train_test_split(
    X: "Rows",
    y: "PerRow" = None,
    *,
    test_size: float = 0.25,
    groups: "PerRow" = None,
    stratify: "PerRow" = None,
    seed: int = 0,
) -> tuple[Any, ...]:
    """Split rows of any kind, even of files larger than memory, into training and test rows.

    Nothing is written: each part is read from where the rows are, and can be given to `fit`, `search`, `predict`,
    `evaluate`, `report` and so on. Arrays and frames in memory are indexed, as by scikit-learn's function.

    Parameters
    ----------
    X : (n_rows, n_features)
        Anything that `fit` accepts except an iterator, which can be read only once; use a callable that returns one.
    y : str or (n_rows,), optional
        Labels beside X, which are split, too. The name of a column need not be given.
    test_size : float
        The share of test rows, between 0 and 1, exact in each hundred rows in turn, or in more if this share or the
        rest is below a hundredth. With `groups`, the share of groups.
    groups : str or (n_rows,), optional
        A column, or its name: rows of one group, such as those of a patient, stay together.
    stratify : str or (n_rows,), optional
        A column, or its name, such as that of the labels: of each of its values, this share goes to the test rows.
    seed : int
        Seed of the split.

    Returns
    -------
    train, test
        The two parts; with an array y, `X_train`, `X_test`, `y_train`, `y_test`. Rows keep their order.

    Raises
    ------
    ValueError, TypeError
        An argument is wrong; both `groups` and `stratify` are given; a part would have no row.

    Notes
    -----
    The part of a row depends on a hash of its number, or its group, and the seed, so it is the same for any container,
    chunks, threads and workers. The split takes a byte for each row of a file and, with `groups` or `stratify`, a read
    of that column.

    Examples
    --------
    >>> import pandas as pd, streamnb as snb
    >>> pd.DataFrame({"km": range(100), "late": ["no", "yes"] * 50}).to_csv("rows.csv", index=False)
    >>> train, test = snb.train_test_split("rows.csv", test_size=0.2, stratify="late")
    >>> model = snb.LinearNB("auto").fit(train, "late")
    >>> len(model.predict(test)), model.evaluate(test, "late").n_rows
    (20, 20)
    """
    share = arguments.finite_number("test_size", test_size)
    if not 0.0 < share < 1.0:
        raise ValueError(f"test_size={test_size!r} should be a share between 0 and 1, such as 0.2")
    if groups is not None and stratify is not None:
        raise ValueError("give groups or stratify, not both: rows of a group stay together, whatever their labels")
    choose = _Choice(share, arguments.whole_number("seed", seed))
    if is_stream(X):
        return _split_stream(X, choose, (y, groups, stratify))
    X = as_table(X)
    part, named, column, n_rows = _parts(X)
    if isinstance(y, str):
        named(y, "y")
    name, given = ("stratify", stratify) if groups is None else ("groups", groups)
    values = column(given, name) if isinstance(given, str) else given
    if values is None:
        test = choose.rows(0, n_rows)
    else:
        if isinstance(values, bool):
            raise ValueError(f"{name}={values} should be the name of a column, or an array with a value for each row")
        labels = row_checks.check_labels(values, name)
        row_checks.check_lengths(n_rows, len(labels), name, "X")
        test = choose.within(labels) if groups is None else choose.groups(labels)
    if test.all() or not test.any():
        raise ValueError(f"test_size={test_size!r} leaves no row for one part of {n_rows:,} rows; use another share")
    both = [part(mask) for mask in (~test, test)]
    if y is not None and not isinstance(y, str):
        row_checks.check_lengths(n_rows, np.shape(y)[0], "y", "X")
        both += [_picked(y, mask) for mask in (~test, test)]
    return tuple(both)


def spread_part(X: Any, y: Any, share: float) -> tuple[Any, Any, int, int]:
    """A share of the rows of X and y, which lie at several places throughout; their number, and that of all rows."""
    X = as_table(X)
    part, _, _, n_rows = _parts(X)
    length = min(max(int(n_rows * share) // PLACES, 1), n_rows)
    mask = np.zeros(n_rows, bool)
    for start in np.linspace(0, n_rows - length, PLACES).astype(int):
        mask[start : start + length] = True
    labels = y if y is None or isinstance(y, str) else _picked(y, mask)
    return part(mask), labels, int(mask.sum()), n_rows


class _Choice:
    """Which rows are test rows: of each run of `whole` rows `n`, by hashes of their numbers."""

    def __init__(self, share: float, seed: int):
        ratio = Fraction(share).limit_denominator(100 if 0.01 <= share <= 0.99 else LEAST.denominator)
        self._n, self._whole = min(max(ratio, LEAST), 1 - LEAST).as_integer_ratio()
        self._share = share
        self._folding = Folding(self._whole, seed=seed)

    def rows(self, first: int, n_rows: int) -> np.ndarray:
        """Whether each row of a block is a test row, (n_rows,) bool."""
        return self._folding.numbers(first, n_rows, None, 0) < self._n

    def groups(self, labels: np.ndarray) -> np.ndarray:
        """The same, of rows whose groups stay together: of the groups in a random order, the first ones are tested."""
        values, inverse = np.unique(labels, return_inverse=True)
        order = np.argsort(scattered(keys_of(values), self._folding.seed), kind="stable")
        n_test = min(max(round(self._share * len(values)), 1), len(values) - 1)
        return np.isin(inverse, order[:n_test])

    def within(self, labels: np.ndarray) -> np.ndarray:
        """The same, with as many of each label, whose rows begin a run of their own."""
        order, first = np.argsort(labels, kind="stable"), 0
        test = np.empty(len(labels), bool)
        for same in np.split(order, np.flatnonzero(labels[order][1:] != labels[order][:-1]) + 1):
            test[same] = self.rows(first, len(same))
            first += -(-len(same) // self._whole) * self._whole
        return test


def _parts(X: Any) -> tuple[Callable[[np.ndarray], Any], Callable[[str, str], Any], Callable[[str, str], Any], int]:
    """Functions that pick rows of X by a mask, refuse a name of no column, and read a column; the number of rows."""
    pick, no_column = partial(_picked, X), partial(_no_column, X)
    in_memory = not is_dask(X) and not is_path(X)
    if is_table(X):
        of_frame = in_memory and hasattr(X, "__len__")
        tables = open_tables(X, {}, 1 if of_frame else n_cores())
        pick = pick if of_frame else partial(PickedTables, tables)
        return pick, tables.named, tables.values, tables.n_rows
    if in_memory and holds_texts(X) and hasattr(X, "__len__"):
        return pick, no_column, no_column, len(X)
    if is_dask(X) or (in_memory and isinstance(X, np.ndarray | list | tuple)) or sp.issparse(X):
        X = X if hasattr(X, "shape") else np.asarray(X)
        n_rows = X.shape[0]
        if n_rows != n_rows:
            raise ValueError("X has unknown row-chunk sizes: call X.compute_chunk_sizes() first")
        return partial(_picked, X), no_column, no_column, n_rows
    rows = opening.opened(X, labelled=False)
    assert rows.n_rows is not None
    return partial(PickedRows, X, rows), rows.whole_column, rows.whole_column, rows.n_rows


def _no_column(X: Any, column: str, name: str) -> Any:
    raise ValueError(
        f"{name}={column!r} names a column, and X is a {type(X).__name__}, which has none; give the values"
    )


def _picked(values: Any, mask: np.ndarray) -> Any:
    """Rows of anything in memory, or of a Dask array."""
    if hasattr(values, "iloc"):
        return values.iloc[np.flatnonzero(mask)]
    if made_by(values, "pyarrow"):
        return values.take(np.flatnonzero(mask))
    if isinstance(values, list | tuple):
        return [values[row] for row in np.flatnonzero(mask).tolist()]
    return (
        values.tocsr()[mask] if sp.issparse(values) else values[np.flatnonzero(mask) if not is_dask(values) else mask]
    )


def _split_stream(X: Any, choose: _Choice, beside: tuple[Any, ...]) -> tuple[Any, Any]:
    """Two callables, which give the chunks of the rows of each part."""
    if not callable(X):
        raise TypeError(
            "X is an iterator, which is read once; give a callable that returns one, so that each part can be"
        )
    if any(one is not None for one in beside):
        raise ValueError("y, groups and stratify are of rows that are counted; chunks of a stream have labels in them")
    return partial(_chunks, X, choose, False), partial(_chunks, X, choose, True)


def _chunks(X: Any, choose: _Choice, of_test: bool) -> Iterator[Any]:
    first = 0
    for chunk in X():
        parts = chunk if isinstance(chunk, tuple) else (chunk,)
        n_rows = parts[0].shape[0] if hasattr(parts[0], "shape") else len(parts[0])
        mask = choose.rows(first, n_rows) == of_test
        first += n_rows
        if mask.any():
            some = tuple(None if part is None else _picked(part, mask) for part in parts)
            yield some if isinstance(chunk, tuple) else some[0]


class _Numbers:
    """The numbers of picked rows among all rows, in steps of which both numbers are known."""

    def __init__(self, mask: np.ndarray):
        self.mask = mask
        each = np.add.reduceat(mask, np.arange(0, len(mask), STEP), dtype=np.int64)
        self._before = np.append(0, np.cumsum(each))

    @property
    def n_rows(self) -> int:
        return int(self._before[-1])

    def before(self, row: int) -> int:
        """How many of the rows before this one are picked."""
        step = row // STEP
        return int(self._before[step] + np.count_nonzero(self.mask[step * STEP : row]))

    def place(self, number: int) -> int:
        """The number, among all rows, of the picked row with this number; that of all rows for the last one's end."""
        if number >= self.n_rows:
            return len(self.mask)
        step = int(np.searchsorted(self._before, number, side="right")) - 1
        inside = np.flatnonzero(self.mask[step * STEP : (step + 1) * STEP])
        return int(step * STEP + inside[number - self._before[step]])

    def runs(self, start: int, stop: int) -> Iterator[tuple[int, int]]:
        """The ranges of all rows that hold the picked ones numbered [start, stop), without long gaps between these."""
        first, last = self.place(start), self.place(stop)
        steps = np.flatnonzero(np.diff(self._before[first // STEP : -(-last // STEP) + 1])) + first // STEP
        for some in np.split(steps, np.flatnonzero(np.diff(steps) > 1) + 1):
            if not len(some):  # of no rows
                return
            mask = self.mask[some[0] * STEP : (some[-1] + 1) * STEP]
            begin, end = some[0] * STEP + mask.argmax(), some[0] * STEP + len(mask) - mask[::-1].argmax()
            yield int(max(begin, first)), int(min(end, last))


class PickedTables(Tables):
    """The rows of a table that a mask picks."""

    def __init__(self, tables: Tables, mask: np.ndarray):
        self._tables, self._numbers = tables, _Numbers(mask)
        self.schema, self.fields, self.unseen = tables.schema, tables.fields, tables.unseen
        self.files, self.step = tables.files, tables.step
        self.n_rows, self.nbytes = self._numbers.n_rows, int(tables.nbytes * mask.mean())

    def __repr__(self) -> str:
        return f"<{self.n_rows:,} of {len(self._numbers.mask):,} rows of a table>"

    def selected(self, fields: Fields) -> Self:
        part = super().selected(fields)
        part._tables = self._tables.selected(fields)
        return part

    def jobs(self, start: int, stop: int) -> Iterator[Job]:
        for first, end in self._numbers.runs(start, stop):
            for row, read in self._tables.jobs(first, end):
                yield self._numbers.before(row), partial(_read_picked, read, self._numbers.mask[row:])


def _read_picked(read: Callable[[], Any], mask: np.ndarray) -> Any:
    rows = read()
    return rows.picked(np.flatnonzero(mask[: rows.shape[0]]))


class PickedRows(WrappedSource):
    """The rows of a store or file that a mask picks; labels and weights are named, or of these rows."""

    opened_by_user = True
    needs_values = True

    def __init__(self, X: Any, rows: Source, mask: np.ndarray):
        super().__init__(rows)
        self._X, self._numbers = X, _Numbers(mask)
        self._labelled: Labelled = False
        self._offset = 0, 0  # of the mask and of the picked rows, in the part of a worker
        self.given, self.feature_names, self.encoding = rows.given, rows.feature_names, rows.encoding
        self.costly_features, self.names_last = rows.costly_features, rows.names_last
        self.n_rows, self.n_values, self.in_memory = self._numbers.n_rows, None, False
        self.nbytes = int(rows.nbytes * mask.mean())

    def __repr__(self) -> str:
        return f"<{self.n_rows:,} of {len(self._numbers.mask):,} rows>"

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        skipped, numbered = self._offset
        end = (self.n_rows or 0) + numbered if stop is None else stop
        runs = self._numbers.runs(start - numbered, end - numbered)
        return self._picked(chain.from_iterable(self._rows.blocks(a + skipped, b + skipped) for a, b in runs), start)

    def _picked(self, blocks: Iterable[Block], number: int) -> Iterator[Block]:
        """The picked rows of blocks, numbered from `number` on."""
        skipped = self._offset[0]
        for block in blocks:
            rows = np.flatnonzero(self._numbers.mask[block.first_row - skipped : block.stop - skipped])
            if len(rows) < block.n_rows:
                block = picked(block, rows)
            yield replace(block, first_row=number)
            number += len(rows)

    def cut(self, start: int, stop: int) -> Self:
        skipped, numbered = self._offset
        first, last = (self._numbers.place(number - numbered) for number in (start, stop))
        part = self.with_each(lambda rows: rows.cut(first + skipped, last + skipped))
        part.group, part._X = None, None
        part._numbers, part._offset = _Numbers(self._numbers.mask[first:last]), (first + skipped, start)
        return part

    def with_columns(
        self, y: Any = None, sample_weight: Any = None, *, offset: Any = None, split: Any = None, targets: bool = False
    ) -> Self:
        part = copy(self)
        if targets:
            part._labelled = TARGETS
        if y is not None or sample_weight is not None or (targets and self.opened_by_user):
            y, sample_weight = self._spread(y, "y"), self._spread(sample_weight, "sample_weight")
            part._rows = opening.opened(self._X, y, sample_weight, labelled=part._labelled)
            part.opened_by_user, part.label_names = False, part._rows.label_names
        offset = self._spread(offset, "offset")
        split = {name: self._spread(column, name) for name, column in (split or {}).items()}
        part._rows = part._rows.with_columns(offset=offset, split=split, targets=targets)
        return part

    def whole_column(self, column: Any, name: str) -> np.ndarray:
        if not isinstance(column, str):
            return super().whole_column(column, name)
        return super().whole_column(column, name)[self._numbers.mask]

    def row_columns(self) -> Iterator[Block]:
        return self._picked(self._rows.row_columns(), 0)

    def _spread(self, values: Any, name: str) -> Any:
        """Values of the picked rows as those of all rows; names and dicts as they are."""
        if values is None or isinstance(values, str | dict) or not hasattr(values, "__len__"):
            return values
        values = values.tocsr() if sp.issparse(values) else np.asarray(values)
        row_checks.check_lengths(self._numbers.n_rows, values.shape[0], name)
        number = np.maximum(np.cumsum(self._numbers.mask) - 1, 0)
        return values[number]

"""What the columns of statistics are, by which those of two are matched before they merge, and how columns move."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from streamnb.core import persistence
from streamnb.stats.moment_sums import LABELS, SECOND_MOMENTS, TABLE
from streamnb.stats.second_moments import diagonal, n_multiplied, n_pairs
from streamnb.stats.tables import PooledTable, SparseTable, Table, whole

CURE = (
    "learn the columns from all rows before: schema = snb.schema(rows, y), where schemas of parts add, and "
    "schema.scan(part) for each part"
)


@persistence.register
@dataclass(frozen=True, eq=False)
class NamesOfColumns(persistence.Parameters):
    """Columns by their names, where no encoding of raw rows made them.

    Attributes
    ----------
    names : list of str or None
    learned : str or None
        The fingerprint of the step, such as bins, that makes the columns that are summed of those with these names.
    """

    names: list[str] | None
    learned: str | None = None

    def joined(self, other: NamesOfColumns) -> NamesOfColumns:
        """The columns of the sum of statistics, in the order of these."""
        if self.learned != other.learned:
            raise ValueError(
                "the columns of these statistics were learned from other rows than those of the others, such as bins "
                "or categories; scan both with transform=stats.step, or add the rows by partial_fit"
            )
        ours, theirs = self.names, other.names
        if ours is None or theirs is None or ours == theirs:
            return other if ours is None else self
        odd = sorted({*ours} ^ {*theirs})
        if odd or len({*ours}) < len(ours) or self.learned is not None:
            raise ValueError(
                "these statistics have different columns, or have them in another order that cannot be undone: "
                f"{(odd or ours)[0]!r}; give both scans the same columns"
            )
        return self

    def sources(self, before: NamesOfColumns) -> np.ndarray | None:
        """As of `Encoding`."""
        if self.names is None or before.names is None or self.names == before.names:
            return None
        places = {name: place for place, name in enumerate(before.names)}
        return np.array([places[name] for name in self.names], np.int64)


def columns_of(encoding: Any, names: Any, step: Any = None) -> Any:
    """What the columns of rows are: their encoding, or their names and the step applied to them; None if unknown."""
    if step is None and (encoding is not None or names is None):
        return encoding
    learned = None if step is None else persistence.digest(step)
    return NamesOfColumns(None if names is None else [str(name) for name in names], learned)


def moved_columns(columns: Any, sources: np.ndarray) -> NamesOfColumns | None:
    """What columns are once they were moved, as by `ClassStats.with_columns`; None where they had no names."""
    if columns is None:
        return None
    learned, names = (
        getattr(columns, "learned", None),
        getattr(columns, "column_names", getattr(columns, "names", None)),
    )
    if isinstance(learned, str) or names is None:
        return NamesOfColumns(names, persistence.digest([learned, sources]))
    own = dict(enumerate(map(str, names)))
    moved = [own.get(source, f"column {place}, {source}") for place, source in enumerate(sources.tolist())]
    return NamesOfColumns(moved)


def aligned(ours: Any, theirs: Any) -> tuple[Any, Any]:
    """Statistics of two sets of rows with the same columns, those of both; refuses if these cannot be matched.

    Rows of arrays have no names: their columns are taken as they are.
    """
    one, two = ours.encoding, theirs.encoding
    if one is None or two is None or one is two:
        return ours, theirs
    if isinstance(one, type(two)):
        both = one.joined(two)
        return with_encoding(ours, both), with_encoding(theirs, both)
    first, second = (getattr(columns, "column_names", getattr(columns, "names", None)) for columns in (one, two))
    if first is None or second is None or [*first] != [*second]:
        raise ValueError(f"these statistics have different columns, as their rows were opened differently; {CURE}")
    return ours, theirs


def with_encoding(stats: Any, encoding: Any) -> Any:
    """The statistics with the columns of another encoding of the same rows, those that no row has with sums of 0."""
    sources = encoding.sources(stats.encoding)
    if sources is not None and not np.array_equal(sources, np.arange(stats.n_features)):
        if stats.has_fixed_columns or (not stats.knows_ones and (sources == stats.n_features).any()):
            raise ValueError(
                "these statistics have other columns than the others, and hold sums to which none can be added or "
                f"moved, such as histograms; {CURE}"
            )
        stats = replace(stats, encoding=None).with_columns(sources)
    return replace(stats, encoding=encoding)


def renamed(names: np.ndarray, before: Any, columns: Any) -> np.ndarray:
    """The names of columns, given other names of those before; further columns keep their own."""
    sources = None if before is None else columns.sources(before)
    if sources is None:
        return names
    own = columns.column_names
    return np.array([names[j] if 0 <= j < len(names) else own[place] for place, j in enumerate(sources)], object)


def without_absent(stats: Any) -> Any:
    """The statistics without columns of a table that no row has."""
    if stats.has_fixed_columns or not hasattr(stats.encoding, "without_absent"):
        return stats
    return with_encoding(stats, stats.encoding.without_absent(*stats.column_weights()))


def moved(stats: Any, name: str, places: np.ndarray) -> Any:
    """The table of a moment with the columns at these places, of which n_features has ones, and the next zeros."""
    table, n = stats.tables[name], stats.n_features
    if name in ("weight", LABELS):
        return table
    if name in SECOND_MOMENTS:
        return _moved_products(stats, name, places)
    own = np.flatnonzero(places < n)
    if isinstance(table, SparseTable) and (places != n).all() and (np.diff(places[own]) > 0).all():
        place_of = np.full(n, -1)  # zeros between columns in the same order, which takes no search
        place_of[places[own]] = own
        return table.moved(place_of[table.columns_of()], len(places))
    ones, zeros = _constant(stats, name, 1.0), _constant(stats, name, 0.0)
    if not isinstance(table, SparseTable):
        return table.beside(ones, zeros).select(places)
    cells = SparseTable.of(ones)  # zeros have none: a moment that is not 0 there is never sparse
    wide = table.moved(table.columns_of(), n + 2).plus(cells.moved(np.full(len(cells.keys), n), n + 2))
    return wide.select(places)


def _weight(stats: Any, name: str) -> Table:
    """The weight of the rows of each class, of all classes where the moment is summed over them, (K, 1)."""
    weight = stats.tables["weight"]
    return whole(weight) if isinstance(stats.tables[name], PooledTable) else weight


def _constant(stats: Any, name: str, value: float) -> Table:
    """The sums of a moment, (K, 1), in a column that has this value in all rows."""
    moment, weight = TABLE[name], _weight(stats, name)
    if not moment.domain[0] <= value <= moment.domain[1]:
        return Table(np.full(weight.shape, np.nan))
    of_value = float(moment.of(np.array([value]), stats.options)[0])
    return weight.scaled(of_value + moment.of_absent(stats.options))


def _moved_products(stats: Any, name: str, places: np.ndarray) -> Table:
    """The sums of products of these columns: those of a column and one of ones are the sums of the column."""
    table, n, m = stats.tables[name], stats.n_features, n_multiplied(name, stats.n_features)
    squares = table.select(diagonal(m)[:n])  # of what is multiplied; of presence, 0 or 1, they are the sums
    sums = squares
    if name != "gram_above":
        first = stats.tables["sum"].dense() if "sum" in stats.tables else Table(np.zeros((len(table.hi), n)))
        first = whole(first) if isinstance(table, PooledTable) else first
        sums = first.beside(squares) if name == "gram_sq" else first
    wide = table.beside(sums, _weight(stats, name), Table(np.zeros((len(table.hi), 1))))
    at = np.full((m + 2, m + 2), wide.shape[1] - 1)  # of each pair, the last two columns being those of ones and zeros
    upper = np.triu_indices(m)
    at[upper] = at[upper[1], upper[0]] = np.arange(n_pairs(m))
    at[:m, m] = at[m, :m] = n_pairs(m) + np.arange(m)
    at[m, m] = n_pairs(m) + m
    ones, zeros = m, m + 1
    if name == "gram_above":
        ones, zeros = (m if value > stats.options.binarize else m + 1 for value in (1.0, 0.0))
    constant = {n: ones, n + 1: zeros}
    first_places = np.array([constant.get(place, place) for place in places.tolist()], np.int64)
    every = first_places
    if name == "gram_sq":
        every = np.concatenate([first_places, np.where(places < n, places + n, first_places)])
    pairs = np.triu_indices(len(every))
    return wide.select(at[every[pairs[0]], every[pairs[1]]])

"""Moves the columns of statistics, and adds columns in which all rows so far have one value."""

from typing import Any

import numpy as np

from streamnb.stats.dense_tables import PooledTable, Table
from streamnb.stats.moments import LABELS, SECOND_MOMENTS, TABLE
from streamnb.stats.second_moments import diagonal, n_multiplied, n_pairs
from streamnb.stats.sparse_tables import SparseTable
from streamnb.stats.totals import whole

COUNTS = "sum", "nonzero", "above", "sum_sq", "gram_above"  # of indicators these are their weight


def knows_ones(stats: Any) -> bool:
    """Whether the sums of a column of ones follow from the others: ones were summed as they are."""
    options, tables = stats.options, stats.tables
    changed = options.by_length or options.scale is not None or {*options.steps} - {"binary"}
    return not changed and ("sum" in tables or not {"gram", "gram_sq"} & tables.keys())


def has_fixed_columns(stats: Any) -> bool:
    """Whether columns have something of their own besides sums: bins of a histogram, a map, or noise."""
    return "histogram" in stats.tables or stats.options.columns is not None or stats.privacy is not None


def column_weights(stats: Any) -> tuple[np.ndarray, float]:
    """Return the weight of the rows with a 1 in each column of indicators, (n_features,), and that of all rows."""
    stats = stats if stats.every is None else stats.every
    name = next((name for name in COUNTS if name in stats.tables), None)
    if name is None:
        return np.full(stats.n_features, np.nan), stats.total_weight
    sums = whole(stats.tables[name]).hi[0]
    sums = sums[diagonal(stats.n_features)] if name in SECOND_MOMENTS else sums
    return sums, float(whole(stats.tables["weight"]).hi[0, 0])


def moved(stats: Any, name: str, places: np.ndarray) -> Any:
    """The table of a moment with the columns at these places, of which n_features has ones, and the next zeros."""
    table, n = stats.tables[name], stats.n_features
    if name in ("weight", LABELS):
        return table
    if name in SECOND_MOMENTS:
        return _moved_products(stats, name, places)
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

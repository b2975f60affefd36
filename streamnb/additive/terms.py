"""The terms of additive models: as tables of scores, of which none is explained by others, and what they add to rows.

B. Lengerich, S. Tan, C.-H. Chang, G. Hooker, R. Caruana, Purifying interaction effects with the functional ANOVA,
AISTATS 2020.
"""

from collections.abc import Callable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import Annotated, Any

import numpy as np

from streamnb.core import arguments, persistence
from streamnb.core.frames import pandas_for
from streamnb.core.threads import one_thread
from streamnb.encoding.bins import TermColumns
from streamnb.encoding.encoding import Encoding
from streamnb.encoding.table_codes import BinCodes, LevelCodes
from streamnb.encoding.table_encoding import TableEncoding
from streamnb.passes.answering import answer
from streamnb.rows.row_blocks import Chunk
from streamnb.rows.source import Source
from streamnb.rows.table_columns import ColumnPart

TINY = 1e-12  # of the weight of the largest step; those of less are not told apart from steps without rows


@persistence.register
@dataclass(frozen=True, eq=False)
class TermTables(persistence.Parameters):
    """Counts, deviations and degrees of freedom of the terms of an additive model.

    Attributes
    ----------
    features : list of str
    counts : (n_columns,)
        The weight of the rows in each step or cell.
    std : (n_columns, R)
        Standard deviation of the scores over the models without each fold; NaN for pairs that few of them have.
    freedom : (n_terms,)
        Effective degrees of freedom.
    n_rows : int, optional
        Of the rows, which older files lack.
    """

    features: list[str]
    counts: Annotated[np.ndarray, "f8[n_columns]"]
    std: Annotated[np.ndarray, "f8[n_columns, R]"]
    freedom: Annotated[np.ndarray, "f8[n_terms]"]
    n_rows: int | None = None

    def check(self, columns: TermColumns, n_rows: int) -> None:
        """Raise where tables loaded from a file are not of these columns, or of as many rows of weights."""
        expected = columns.n_columns, n_rows
        if self.std.shape != expected or len(self.freedom) != len(columns.features):
            raise ValueError(f"terms should have counts and deviations of {expected} scores, and degrees of freedom")
        if len(self.features) != len(columns.firsts) - 1:
            raise ValueError(f"terms should have the names of {len(columns.firsts) - 1} features")


def of_terms(columns: TermColumns, values: np.ndarray, others: TermColumns) -> np.ndarray:
    """The values of columns, for the columns of other terms; 0 for those of terms that `columns` lack."""
    grid_of = {tuple(features): grid for grid, features in enumerate(columns.features.tolist())}
    out = np.zeros((others.n_columns, *values.shape[1:]))
    for features, first, width in zip(others.features.tolist(), others.starts.tolist(), others.widths, strict=False):
        if tuple(features) in grid_of:
            start = columns.starts[grid_of[tuple(features)]]
            out[first : first + width] = values[start : start + width]
    return out


def purified(
    columns: TermColumns, weights: np.ndarray, intercept: np.ndarray, counts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The same scores of rows by terms whose means are 0: cells of pairs have none along either of their features.

    Means are weighted by `counts` (n_columns,) and move from pairs to features, and from features to the intercept.
    """
    weights, intercept = weights.copy(), intercept.copy()
    of_feature = {i: grid for grid, (i, j) in enumerate(columns.features.tolist()) if j < 0}
    for grid, (i, j) in enumerate(columns.features.tolist()):
        if j < 0:
            continue
        table, of_cells = cells_of(columns, weights, grid), cells_of(columns, counts[:, None], grid)[:, :, 0]
        along_first = _shares(of_cells, 1)
        of_first = np.einsum("ijk,ij->ik", table, along_first)
        table -= of_first[:, None]
        with one_thread():
            between = np.diag(of_cells.sum(axis=0)) - of_cells.T @ along_first
            of_second = np.linalg.pinv(between, TINY, hermitian=True) @ np.einsum("ijk,ij->jk", table, of_cells)
            moved = along_first @ of_second
        table -= of_second - moved[:, None]
        means = of_first - moved, of_second
        for feature, steps, mean in zip((i, j), columns.sides[grid], means, strict=True):
            first = columns.starts[of_feature[feature]]
            weights[first : first + len(steps)] += mean[steps]
        weights[columns.starts[grid] : columns.starts[grid + 1]] = table.reshape(-1, table.shape[2])
    for grid in of_feature.values():
        steps_of_grid = slice(columns.starts[grid], columns.starts[grid + 1])
        mean = _shares(counts[steps_of_grid], 0) @ weights[steps_of_grid]
        weights[steps_of_grid] -= mean
        intercept += mean
    return weights, intercept


def cells_of(columns: TermColumns, values: np.ndarray, grid: int) -> np.ndarray:
    """A copy of the values of a grid's columns by the steps of both features, (n_first, n_second, R)."""
    b = columns.sides[grid][1]
    n_second = int(b.max()) + 1 if len(b) else 1
    flat = values[columns.starts[grid] : columns.starts[grid + 1]]
    return flat.reshape(-1, n_second, values.shape[1]).copy()


def _shares(counts: np.ndarray, axis: int) -> np.ndarray:
    """Counts as shares of their sums along an axis; 0 without rows."""
    total = counts.sum(axis=axis, keepdims=True)
    return np.divide(counts, total, out=np.zeros_like(counts), where=total > 0)


def importances(columns: TermColumns, weights: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """The mean absolute score of each term over rows, and over classes, (n_terms,)."""
    size = np.abs(weights).mean(axis=1)
    sums = np.add.reduceat(size * counts, columns.starts[:-1])
    total = np.add.reduceat(counts, columns.starts[:-1])
    return np.divide(sums, total, out=np.zeros(len(sums)), where=total > 0)


# ---- as tables of users ----------------------------------------------------------------------------------------------


def terms_table(columns: TermColumns, weights: np.ndarray, tables: TermTables) -> Any:
    """Name, kind, importance and degrees of freedom of each term, the most important first."""
    order = by_importance(columns, weights, tables)
    names = np.empty(len(order), object)
    names[:] = names_of_terms(columns, tables.features)
    table = {
        "name": names[order],
        "kind": np.where(columns.features[order, 1] < 0, "main", "pair"),
        "importance": importances(columns, weights, tables.counts)[order],
        "degrees of freedom": tables.freedom[order],
    }
    return pandas_for("terms_").DataFrame(table)


def by_importance(columns: TermColumns, weights: np.ndarray, tables: TermTables) -> np.ndarray:
    """The numbers of the terms, the most important first."""
    return np.argsort(-importances(columns, weights, tables.counts), kind="stable")


def contributions_of_terms(
    columns: TermColumns, weights: np.ndarray, tables: TermTables, rows: Source, out: Any = None
) -> Any:
    """What each term adds to the scores of rows, in the kind of the rows: (n_rows, n_terms), or with classes last."""
    n_terms, n_scores = len(columns.features), weights.shape[1]
    function = partial(_added, columns.starts, by_importance(columns, weights, tables), weights)
    return answer(function, rows, (n_terms, n_scores)[: 1 + (n_scores > 1)], np.dtype(np.float64), out=out)


def _added(starts: np.ndarray, order: np.ndarray, weights: np.ndarray, chunk: Chunk, survey: Any) -> np.ndarray:
    """What terms in this order add to the scores of a block of indicators, of which a row has at most one a term."""
    X: Any = chunk.to_matrix()
    n_rows, n_terms = X.shape[0], len(order)
    place_of = np.empty(n_terms, np.intp)
    place_of[order] = np.arange(n_terms)
    added = np.zeros((n_rows, n_terms, weights.shape[1]))
    if X.nnz == n_rows * n_terms:  # a row has one of every term
        for term, columns in enumerate(np.ascontiguousarray(X.indices.reshape(n_rows, n_terms).T)):
            added[:, place_of[term]] = weights[columns]
    else:
        terms = np.searchsorted(starts, X.indices, side="right") - 1
        added[np.repeat(np.arange(n_rows), np.diff(X.indptr)), place_of[terms]] = weights[X.indices]
    return added if weights.shape[1] > 1 else added[:, :, 0]


def term_table(
    encoding: Encoding | None,
    columns: TermColumns,
    weights: np.ndarray,
    tables: TermTables,
    grid: int,
    endings: Sequence[str],
) -> Any:
    """The steps or cells of a term, with scores, their standard deviations and counts.

    `endings` are those of the names of the columns of each score.
    """
    pandas, cells = pandas_for("term"), slice(columns.starts[grid], columns.starts[grid + 1])
    features = [j for j in columns.features[grid].tolist() if j >= 0]
    sides = [
        pandas.DataFrame(steps_of(encoding, columns, feature, steps))
        for feature, steps in zip(features, columns.sides[grid], strict=False)
    ]
    frame = sides[0]
    if len(sides) == 2:
        first, second = (side.add_prefix(f"{tables.features[j]} ") for j, side in zip(features, sides, strict=True))
        frame = first.merge(second, how="cross")
    for k, ending in enumerate(endings):
        frame[f"score{ending}"], frame[f"std{ending}"] = weights[cells, k], tables.std[cells, k]
    frame["count"] = tables.counts[cells]
    return frame


def steps_of(encoding: Encoding | None, columns: TermColumns, feature: int, steps: np.ndarray) -> dict[str, list[Any]]:
    """What the steps of a feature hold, given the step of each code: ends of bins, or levels.

    Missing values have NaN in place of ends, and None in place of a level. Rare levels are "rare", and levels that
    share a step "others", in brackets where a level has that name itself.
    """
    order = [np.flatnonzero(steps == step) for step in range(int(steps.max()) + 1)]
    if isinstance(encoding, TableEncoding):
        part, code = encoding.coded[feature]
        if isinstance(code, LevelCodes):
            return {"level": list(_levels(part, code, order))}
        assert isinstance(code, BinCodes)
        edges = code.edges.edges[0]
    else:
        assert columns.base is not None
        edges = columns.base.edges[feature]
    ends = np.concatenate([[-np.inf], edges, [np.inf, np.nan]])
    is_gap = [codes[0] == len(edges) + 1 for codes in order]
    lower = [np.nan if gap else ends[codes[0]] for codes, gap in zip(order, is_gap, strict=True)]
    upper = [np.nan if gap else ends[codes[-1] + 1] for codes, gap in zip(order, is_gap, strict=True)]
    return {"lower": lower, "upper": upper}


def _levels(part: ColumnPart, code: LevelCodes, order: list[np.ndarray]) -> Iterator[str | None]:
    """The levels of steps that hold these codes."""
    known = [part.named(value) for value in code.values] if len(part.columns) > 1 else code.values
    levels = [*known, *[_unlike("rare", known)] * code.rare, *[None] * code.missing]
    for codes in order:
        yield levels[codes[0]] if len(codes) == 1 else _unlike("others", known)


def _unlike(word: str, levels: Sequence[str]) -> str:
    """A word that is no level: in brackets, if need be."""
    while word in levels:
        word = f"({word})"
    return word


def names_of_terms(columns: TermColumns, features: Sequence[str]) -> list[Any]:
    """The name of the feature of each term, or the names of its pair."""
    return [features[i] if j < 0 else (features[i], features[j]) for i, j in columns.features.tolist()]


def term_of(columns: TermColumns, features: Sequence[str], name: Any) -> int:
    """The number of a term by the name of its feature, or by the names of its pair in any order; or by numbers."""
    each = [_named(one, features) for one in name] if isinstance(name, tuple | list) else [_named(name, features)]
    known = names_of_terms(columns, features)
    for one in [each[0]] if len(each) == 1 else [tuple(each), tuple(each[::-1])]:
        if one in known:
            return known.index(one)
    raise ValueError(f"there is no term of {' and '.join(map(repr, each)) or 'no feature'}; terms_ lists them")


def _named(feature: Any, features: Sequence[str]) -> Any:
    """The name of a feature that may be given by its number."""
    by_number = isinstance(feature, Integral) and 0 <= int(feature) < len(features)
    return features[int(feature)] if by_number else feature


class TermScores(MutableMapping[Any, np.ndarray]):
    """The scores of terms by name, or by a pair of names; an array that is written back changes the model.

    Parameters
    ----------
    parts : callable
        Returns the columns, the weights and the tables of the terms.
    write : callable
        Replaces the scores of a term, given its number.
    """

    def __init__(self, parts: Callable[[], Any], write: Callable[[int, np.ndarray], None]):
        self._parts, self._write = parts, write

    def __getitem__(self, name: Any) -> np.ndarray:
        columns, weights, _ = self._parts()
        grid = self._grid(name)
        table = cells_of(columns, weights, grid)
        table = table[:, 0] if columns.features[grid, 1] < 0 else table
        table.flags.writeable = False  # an array changed in place would not change the model
        return table

    def __setitem__(self, name: Any, scores: Any) -> None:
        before, given = self[name], np.asarray(arguments.as_array("scores", scores), np.float64)
        if given.shape != before.shape or not np.isfinite(given).all():
            what = f"values of shape {given.shape}" if given.shape != before.shape else "values that are not finite"
            raise ValueError(f"term_scores_[{name!r}] is set to {what}; they should be finite, of shape {before.shape}")
        self._write(self._grid(name), given)

    def __delitem__(self, name: Any) -> None:
        raise TypeError("a term cannot be deleted; set it to zeros: term_scores_[name] = 0 * term_scores_[name]")

    def __iter__(self) -> Iterator[Any]:
        columns, _, tables = self._parts()
        return iter(names_of_terms(columns, tables.features))

    def __len__(self) -> int:
        return len(self._parts()[0].features)

    def _grid(self, name: Any) -> int:
        columns, _, tables = self._parts()
        try:
            return term_of(columns, tables.features, name)
        except ValueError as error:
            raise KeyError(str(error)) from None  # so that `in` and `get` work

"""The terms of additive models as data frames, and what each of them adds to the scores of rows."""

from collections.abc import Iterator, Sequence
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np

from streamnb.additive.terms import TermTables, importances
from streamnb.core.frames import pandas_for
from streamnb.encoding.encoding import Encoding
from streamnb.encoding.table_codes import BinCodes, LevelCodes
from streamnb.encoding.table_encoding import TableEncoding
from streamnb.encoding.terms import TermColumns
from streamnb.passes.answering import answer
from streamnb.rows.row_blocks import Chunk
from streamnb.rows.source import Source
from streamnb.rows.table_columns import ColumnPart


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

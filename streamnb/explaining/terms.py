"""The terms of additive models as data frames."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from streamnb.core.frames import pandas_for
from streamnb.encoding.encoding import Encoding
from streamnb.encoding.table_codes import BinCodes
from streamnb.encoding.table_encoding import TableEncoding
from streamnb.encoding.terms import TermColumns
from streamnb.models.additive import TermTables, importances
from streamnb.models.linear import LinearModel


def terms_table(columns: TermColumns, model: LinearModel, tables: TermTables) -> Any:
    """Name, kind, importance and degrees of freedom of each term, the most important first."""
    found = {
        "name": [" x ".join(names) for names in names_of_terms(columns, tables.features)],
        "kind": ["main" if j < 0 else "pair" for j in columns.features[:, 1].tolist()],
        "importance": importances(columns, model.weights, tables.counts),
        "degrees of freedom": tables.freedom,
    }
    frame = pandas_for("terms_").DataFrame(found)
    return frame.sort_values("importance", ascending=False, kind="stable", ignore_index=True)


def term_table(
    encoding: Encoding | None, columns: TermColumns, model: LinearModel, tables: TermTables, grid: int
) -> Any:
    """The steps or cells of a term, with scores, their standard deviations and counts."""
    pandas, some = pandas_for("term"), slice(columns.starts[grid], columns.starts[grid + 1])
    features = [j for j in columns.features[grid].tolist() if j >= 0]
    sides = [
        pandas.DataFrame(steps_of(encoding, columns, feature, steps))
        for feature, steps in zip(features, columns.sides[grid], strict=False)
    ]
    frame = sides[0]
    if len(sides) == 2:
        first, second = (side.add_prefix(f"{tables.features[j]} ") for j, side in zip(features, sides, strict=True))
        frame = first.merge(second, how="cross")
    one = model.weights.shape[1] == 1
    for k, label in enumerate([""] if one else [f" {label}" for label in model.classes_.tolist()]):
        frame[f"score{label}"], frame[f"std{label}"] = model.weights[some, k], tables.std[some, k]
    frame["count"] = tables.counts[some]
    return frame


def steps_of(encoding: Encoding | None, columns: TermColumns, feature: int, steps: np.ndarray) -> dict[str, list[Any]]:
    """What the steps of a feature hold, given the step of each code: ends of bins, or levels.

    Missing values have NaN in place of ends. Levels that share a step are called "others".
    """
    order = [np.flatnonzero(steps == step) for step in range(int(steps.max()) + 1)]
    if isinstance(encoding, TableEncoding):
        part, code = encoding.coded[feature]
        if not isinstance(code, BinCodes):
            levels = [name.removeprefix(f"{part.label}=") for name in code.names(part)]
            return {"level": [levels[own[0]] if len(own) == 1 else "others" for own in order]}
        edges = code.edges.edges[0]
    else:
        assert columns.base is not None
        edges = columns.base.edges[feature]
    ends = np.concatenate([[-np.inf], edges, [np.inf, np.nan]])
    is_gap = [own[0] == len(edges) + 1 for own in order]
    lower = [np.nan if gap else ends[own[0]] for own, gap in zip(order, is_gap, strict=True)]
    upper = [np.nan if gap else ends[own[-1] + 1] for own, gap in zip(order, is_gap, strict=True)]
    return {"lower": lower, "upper": upper}


def names_of_terms(columns: TermColumns, features: Sequence[str]) -> list[tuple[str, ...]]:
    """The names of the features of each term."""
    return [tuple(features[j] for j in pair if j >= 0) for pair in columns.features.tolist()]


def term_of(columns: TermColumns, features: Sequence[str], names: tuple[Any, ...]) -> int:
    """The number of a term by the names of its features, in any order."""
    known = {own: grid for grid, own in enumerate(names_of_terms(columns, features))}
    for one in (names, names[::-1]):
        if one in known:
            return known[one]
    raise ValueError(f"there is no term of {' and '.join(map(repr, names)) or 'no feature'}; terms_ lists them")

"""A portable model as tables of scores: of the codes of each column, of pairs of codes, and weights of numbers.

A score is ``intercept + sum_f table_f[code_f] + sum_fg table_fg[code_f, code_g] + sum_j weight_j number_j``. Programs
with neither arrays nor indicators can compute this: SQL by joins, plain Python by look-ups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from streamnb.encoding.plain_steps import Indicators, RowStep
from streamnb.encoding.table_codes import BinCodes, LevelCodes, PlainNumber
from streamnb.encoding.table_encoding import TableEncoding
from streamnb.rows.table_columns import PAIR_SEPARATOR, ColumnPart

OF_NUMBERS = "binary", "log1p", "sqrt", "log", "distance"  # steps that are functions of one number
TRUE, FALSE = ("true", "True", "TRUE"), ("false", "False", "FALSE")


@dataclass(frozen=True, eq=False)
class NumberCodes:
    """The code of a number x: how many of the rising `edges` are below x, and ``len(edges) + 1`` if x is missing."""

    column: str
    edges: tuple[float, ...]

    @property
    def n_codes(self) -> int:
        return len(self.edges) + 2


@dataclass(frozen=True, eq=False)
class CategoryCodes:
    """The code of a category: its place in `values`, then one for other values, then one for missing values."""

    part: ColumnPart
    kind: str | None
    zone: str | None
    values: tuple[str, ...]

    @property
    def n_codes(self) -> int:
        return len(self.values) + 2

    @property
    def spelt(self) -> dict[str, int]:
        """The code of each value in all its spellings: whole numbers also with ".0", 1 and 0 also as booleans."""
        codes = {value: code for code, value in enumerate(self.values)}
        for code, value in enumerate(self.values):
            found = [""]
            for n, one in enumerate(value.split(PAIR_SEPARATOR)):
                more = (f"{one}.0", *{"1": TRUE, "0": FALSE}.get(one, ())) if one.removeprefix("-").isdecimal() else ()
                found = [f"{before}{PAIR_SEPARATOR * (n > 0)}{after}" for before in found for after in (one, *more)]
            for spelling in found:
                codes.setdefault(spelling, code)
        return codes


CodesOfFeatures = list[NumberCodes | CategoryCodes]


@dataclass(frozen=True)
class Number:
    """A number, the median if it is missing, and what functions make of it in turn."""

    column: str
    median: float = np.nan
    functions: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True, eq=False)
class ModelColumn:
    """A column of the model: 1 for some codes of a feature, or of two; or a number. `factor` multiplies it."""

    features: tuple[int, ...] = ()
    masks: tuple[np.ndarray, ...] = ()
    number: Number | None = None
    factor: float = 1.0


@dataclass(frozen=True, eq=False)
class ScoreTables:
    """Scores of K classes.

    Attributes
    ----------
    names : (n_features,) the names of the columns of a row
    kinds : dict of name to the kind of a table's column; empty for rows of arrays
    features : list of NumberCodes or CategoryCodes
    tables : dict of feature to (n_codes, K) float64
        NaN for what the model refuses, as missing values in columns of complete numbers.
    pairs : dict of two features to (n_codes, n_codes, K) float64
    numbers : dict of Number to (K,) float64
    intercept : (K,) float64
    """

    names: list[str]
    intercept: np.ndarray
    features: CodesOfFeatures = field(default_factory=list)
    tables: dict[int, np.ndarray] = field(default_factory=dict)
    pairs: dict[tuple[int, int], np.ndarray] = field(default_factory=dict)
    numbers: dict[Number, np.ndarray] = field(default_factory=dict)
    kinds: dict[str, str | None] = field(default_factory=dict)

    @property
    def used(self) -> list[int]:
        """The features that scores depend on."""
        return sorted(self.tables.keys() | {feature for pair in self.pairs for feature in pair})

    def plain(self) -> dict[str, Any]:
        """Everything as lists, numbers and strings; the features that are used are numbered anew.

        A feature is its columns, rising edges or values, and the part of a date; None stands for scores of what the
        model refuses.
        """
        place = {feature: n for n, feature in enumerate(self.used)}
        pairs = []
        for (first, second), of_pair in self.pairs.items():
            of_first, of_second, table = steps_of_codes(of_pair)
            pairs.append([place[first], place[second], of_first.tolist(), of_second.tolist(), table.tolist()])
        return {
            "features": [_plain_feature(self.features[feature]) for feature in self.used],
            "intercept": self.intercept.tolist(),
            "tables": [
                [place[feature], [None if np.isnan(scores).any() else scores.tolist() for scores in table]]
                for feature, table in self.tables.items()
            ],
            "pairs": pairs,
            "numbers": [_plain_number(number, weights) for number, weights in self.numbers.items()],
        }


def _plain_feature(feature: NumberCodes | CategoryCodes) -> list[Any]:
    if isinstance(feature, NumberCodes):
        return ["number", [feature.column], list(feature.edges), None]
    return ["category", list(feature.part.columns), list(feature.values), feature.part.date_part]


def _plain_number(number: Number, weights: np.ndarray) -> list[Any]:
    median = None if np.isnan(number.median) else number.median
    return [number.column, median, [list(function) for function in number.functions], weights.tolist()]


def score_tables(
    encoding: Any, names: list[str], steps: tuple[RowStep, ...], weights: Any, intercept: np.ndarray, cure: str
) -> ScoreTables:
    """The tables of a model with these columns of weights, (n_columns, K).

    Raises
    ------
    ValueError
        A column or a step needs something else, such as hashes or the norm of a row; the message names it and `cure`.
    """
    columns, features = list[ModelColumn](), CodesOfFeatures()
    if encoding is None:
        columns = [ModelColumn(number=Number(name)) for name in names]
    else:
        names = _names_of_table(encoding, cure)
        for part, code in encoding.coded:
            columns += _columns_of_part(encoding, part, code, features, cure)
    for step in steps:
        columns = _after(step, columns, features, cure)
    kinds = {} if encoding is None else encoding.columns
    tables = ScoreTables(names, np.asarray(intercept, np.float64), features, kinds=kinds)
    weights = weights.toarray() if hasattr(weights, "toarray") else np.asarray(weights)
    for column, of_classes in zip(columns, weights, strict=True):
        if of_classes.any():
            _add(tables, column, column.factor * of_classes)
    if encoding is None:
        _refuse_missing(tables, steps)
    return tables


def _names_of_table(encoding: Any, cure: str) -> list[str]:
    if not isinstance(encoding, TableEncoding) or encoding.texts:
        raise ValueError(f"the columns are made of texts, which are hashed or counted; {cure}")
    return list(encoding.columns)


def _columns_of_part(
    encoding: TableEncoding, part: ColumnPart, code: Any, features: CodesOfFeatures, cure: str
) -> list[ModelColumn]:
    """The columns of a part of a table, in their order; appends the feature that they are of."""
    name = part.columns[0]
    feature = len(features)
    if isinstance(code, LevelCodes):
        zone = None if encoding.zones is None else encoding.zones.get(name)
        features.append(CategoryCodes(part, encoding.columns[name], zone, tuple(code.values)))
        n_values = len(code.values)
        used = list(range(n_values)) + [n_values] * code.rare + [n_values + 1] * code.missing
        return [_of_codes(feature, n_values + 2, [one]) for one in used]
    if isinstance(code, BinCodes):
        features.append(NumberCodes(name, tuple(code.edges.edges[0].tolist())))
        n_codes = features[feature].n_codes
        return [_of_codes(feature, n_codes, [one]) for one in range(n_codes - 1 + int(code.edges.missing[0]))]
    if isinstance(code, PlainNumber):
        number = [ModelColumn(number=Number(name, float(code.median)))]
        if code.missing:
            features.append(NumberCodes(name, ()))
            number.append(_of_codes(feature, 2, [1]))
        return number
    raise ValueError(f"column {part.label!r} is hashed, which has no plain form; {cure}")


def _of_codes(feature: int, n_codes: int, codes: list[int]) -> ModelColumn:
    mask = np.zeros(n_codes, bool)
    mask[codes] = True
    return ModelColumn((feature,), (mask,))


# ---- steps -----------------------------------------------------------------------------------------------------------


def _after(step: RowStep, columns: list[ModelColumn], features: CodesOfFeatures, cure: str) -> list[ModelColumn]:
    """The columns after a step."""
    if step.do == "indicators":
        return list(_indicators(step.value, columns, features, cure))
    if step.do == "sums":
        return columns + _sums(step.value.parts, columns)
    if step.do == "products":
        return columns + [_product(columns[a], columns[b], cure) for a, b in step.value.tolist()]
    of_step: Callable[[int, ModelColumn], ModelColumn]
    if step.do == "scale":
        factors = step.value

        def of_step(j: int, column: ModelColumn) -> ModelColumn:
            return replace(column, factor=column.factor * float(factors[j]))
    elif step.do == "above":

        def of_step(j: int, column: ModelColumn) -> ModelColumn:
            return _above(column, float(step.value), features, cure)
    elif step.do in OF_NUMBERS:

        def of_step(j: int, column: ModelColumn) -> ModelColumn:
            return _function(column, step.do, step.value, cure)
    else:
        raise ValueError(f"normalize={step.do!r} divides by a norm of the row, which has no plain form; {cure}")
    chosen = range(len(columns)) if step.columns is None else step.columns.tolist()
    columns = columns.copy()
    for j in chosen:
        columns[j] = of_step(j, columns[j])
    return columns


def _function(column: ModelColumn, do: str, value: Any, cure: str) -> ModelColumn:
    if column.number is None and do in ("binary", "sqrt") and column.factor == 1.0:
        return column  # of 0 and 1
    if column.number is None or column.factor != 1.0:
        raise ValueError(f"{do!r} of columns that are no numbers has no plain form; {cure}")
    return ModelColumn(number=replace(column.number, functions=(*column.number.functions, (do, value))))


def _above(column: ModelColumn, value: float, features: CodesOfFeatures, cure: str) -> ModelColumn:
    """Whether a number is above a value."""
    if column.number is None and 0.0 <= value < column.factor:
        return replace(column, factor=1.0)  # of 0 and the factor
    if column.number is None or column.number.functions or column.factor != 1.0:
        raise ValueError(f"binarize= of columns that are no numbers has no plain form; {cure}")
    features.append(NumberCodes(column.number.column, (value,)))
    return _of_codes(len(features) - 1, 3, [1])


def _indicators(
    made: Indicators, columns: list[ModelColumn], features: CodesOfFeatures, cure: str
) -> Iterator[ModelColumn]:
    """Columns that are 1 where a number lies in an interval, or is missing; intervals of a number share its codes."""
    places = dict[int, tuple[int, tuple[float, ...]]]()
    for n, j in enumerate(made.feature.tolist()):
        number = columns[j].number
        if made.as_is[n]:
            yield columns[j]
            continue
        if number is None or number.functions or columns[j].factor != 1.0:
            raise ValueError(f"bins of columns that are no numbers have no plain form; {cure}")
        if j not in places:
            own = (made.feature == j) & ~made.missing & ~made.as_is
            bounds = np.unique(np.concatenate([made.low[own], made.high[own]]))
            edges = tuple(bounds[np.isfinite(bounds)].tolist())
            features.append(NumberCodes(number.column, edges))
            places[j] = len(features) - 1, edges
        feature, edges = places[j]
        mask = np.zeros(len(edges) + 2, bool)
        if made.missing[n]:
            mask[-1] = True
        else:
            first = np.searchsorted(edges, made.low[n], side="right") if np.isfinite(made.low[n]) else 0
            last = np.searchsorted(edges, made.high[n]) if np.isfinite(made.high[n]) else len(edges)
            mask[first : last + 1] = True
        yield ModelColumn((feature,), (mask,))


def _sums(parts: np.ndarray, columns: list[ModelColumn]) -> list[ModelColumn]:
    """Sums of indicators of one feature each."""
    found: dict[int, ModelColumn] = {}
    for j, number in parts.tolist():
        one, before = columns[j], found.get(number)
        assert len(one.features) == 1, "steps of additive models are of one feature each"
        assert before is None or before.features == one.features
        found[number] = one if before is None else ModelColumn(one.features, (before.masks[0] | one.masks[0],))
    return [found[number] for number in range(len(found))]


def _product(one: ModelColumn, other: ModelColumn, cure: str) -> ModelColumn:
    if len(one.features) != 1 or len(other.features) != 1 or one.features == other.features:
        raise ValueError(f"products of columns that are no indicators have no plain form; {cure}")
    (first, mask), (second, other_mask) = sorted(
        [(one.features[0], one.masks[0]), (other.features[0], other.masks[0])], key=lambda pair: pair[0]
    )
    return ModelColumn((first, second), (mask, other_mask), factor=one.factor * other.factor)


# ---- tables ----------------------------------------------------------------------------------------------------------


def _add(tables: ScoreTables, column: ModelColumn, weights: np.ndarray) -> None:
    """Add the weights of a column, (K,), where they belong."""
    n_classes = len(tables.intercept)
    if column.number is not None:
        tables.numbers[column.number] = tables.numbers.get(column.number, np.zeros(n_classes)) + weights
        return
    first = column.features[0]
    n_first = tables.features[first].n_codes
    if len(column.features) == 1:
        table = tables.tables.setdefault(first, np.zeros((n_first, n_classes)))
        table[column.masks[0]] += weights
        return
    second = column.features[1]
    of_pair = tables.pairs.setdefault((first, second), np.zeros((n_first, tables.features[second].n_codes, n_classes)))
    of_pair[np.ix_(column.masks[0], column.masks[1])] += weights


def _refuse_missing(tables: ScoreTables, steps: tuple[RowStep, ...]) -> None:
    """Make scores of missing numbers NaN where the model does not take missing values."""
    first = steps[0].value if steps and steps[0].do == "indicators" else None
    names = set() if first is None else {tables.names[j] for j in first.feature[first.missing].tolist()}
    for feature, table in tables.tables.items():
        one = tables.features[feature]
        if isinstance(one, NumberCodes) and one.column not in names:
            table[-1] = np.nan


def steps_of_codes(of_pair: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A table of pairs without repeats: the step of each code of both features, and the table of steps."""
    first, of_first = np.unique(of_pair.reshape(len(of_pair), -1), axis=0, return_inverse=True)
    small = first.reshape(len(first), *of_pair.shape[1:])
    turned = small.transpose(1, 0, 2)
    second, of_second = np.unique(turned.reshape(len(turned), -1), axis=0, return_inverse=True)
    return of_first.reshape(-1), of_second.reshape(-1), second.reshape(len(second), len(first), -1).transpose(1, 0, 2)

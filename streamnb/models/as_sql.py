"""Writes a model as one SQL query that scores the rows of a table, by joins with tables of scores."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from streamnb.core.messages import listed
from streamnb.models.portable import PortableModel
from streamnb.models.score_tables import CategoryCodes, Number, NumberCodes, ScoreTables, steps_of_codes
from streamnb.rows.table_columns import DURATION, INSTANT, PAIR_SEPARATOR, TIME, WEEKDAYS

CURE = "save(path) keeps the model"
MOST = 1_000_000  # numbers in a query
LEAST_POWER = -700.0
IN_SQLITE = {"year": "%Y", "month": "%m", "hour": "%H"}


@dataclass(frozen=True)
class Scoring:
    """How a query scores: its dialect, the table whose rows it scores, and the columns beside the predictions.

    `keep` None stands for the columns that the model reads.
    """

    dialect: str
    table: str = "rows"
    keep: Sequence[str] | None = None


class Query:
    """A query in a dialect, made of common table expressions."""

    def __init__(self, scoring: Scoring, names: Sequence[str]):
        try:
            import sqlglot
        except ImportError as error:
            raise ImportError("export to .sql needs sqlglot: pip install streamnb[sql]") from error
        known = sorted(one.value for one in sqlglot.Dialects if one.value)
        if scoring.dialect not in known:
            raise ValueError(f"dialect={scoring.dialect!r} should be one of {listed(known)}")
        self.exp, self.dialect = sqlglot.exp, scoring.dialect
        self.keep = list(names if scoring.keep is None else scoring.keep)
        *schemas, table = scoring.table.split(".")
        self.table = self.exp.table_(self.quoted(table), *map(self.quoted, reversed(schemas)))
        self.expressions: list[Any] = []

    def quoted(self, name: str) -> Any:
        return self.exp.to_identifier(name, quoted=True)

    def column(self, name: str, table: str | None = None) -> Any:
        return self.exp.column(self.quoted(name), table=None if table is None else self.quoted(table))

    def number(self, value: float) -> Any:
        """A literal that no dialect takes for a decimal number."""
        if np.isnan(value):
            return self.exp.Null()
        text = repr(abs(float(value)))
        literal = self.exp.Literal.number(text if "e" in text else f"{text}e0")
        return self.exp.Neg(this=literal) if value < 0.0 else literal

    def double(self, value: Any) -> Any:
        return self.exp.cast(value, "double")

    def is_finite(self, x: Any) -> Any:
        """Whether it is neither NULL, NaN nor infinite.

        DuckDB answers ``x <= 1e308`` by the least and largest value of a Parquet file, which leave out its NaN.
        """
        return self.exp.paren(x.copy() - x.copy()).eq(self.number(0.0))

    def add(self, name: str, select: Any) -> None:
        """Add the result of a query as a table."""
        self.expressions.append(self.exp.CTE(this=select, alias=self.exp.TableAlias(this=self.quoted(name))))

    def add_values(self, name: str, columns: list[str], rows: Sequence[Sequence[Any]]) -> None:
        """Add a table of values; SQLite indexes only materialized ones, and PostgreSQL plans others better."""
        tuples = [self.exp.Tuple(expressions=list(row)) for row in rows]
        alias = self.exp.TableAlias(this=self.quoted(name), columns=[self.quoted(one) for one in columns])
        values = self.exp.Values(expressions=tuples)
        self.expressions.append(self.exp.CTE(this=values, alias=alias, materialized=self.dialect == "sqlite" or None))

    def add_scores(
        self, name: str, keys: list[str], key_values: np.ndarray, scores: np.ndarray
    ) -> list[tuple[int, Any]]:
        """Add a table with keys, and the scores of the classes that have any; returns these and their columns."""
        classes = np.flatnonzero(scores.any(axis=0)).tolist()
        rows = list[list[Any]]()
        for of_keys, of_classes in zip(key_values.tolist(), scores[:, classes].tolist(), strict=True):
            numbers = list(map(self.number, of_classes))
            if not rows:  # the type of the column follows from its first value
                numbers = list(map(self.double, numbers))
            rows.append(list(map(self.integer, of_keys)) + numbers)
        self.add_values(name, keys + [f"s{k}" for k in classes], rows)
        return [(k, self.column(f"s{k}", name)) for k in classes]

    def integer(self, value: int) -> Any:
        return self.exp.Literal.number(str(value))

    def written(self, table: str, results: dict[str, Any]) -> bytes:
        """The query as UTF-8 text: the kept columns and these results, from a table that was added."""
        import sqlglot

        taken = [name for name in self.keep if name in results]
        if taken:
            raise ValueError(
                f"keep={self.keep!r} should not have {taken[0]!r}, as the query makes a column of that name"
            )
        kept = {name: self.column(f"kept {n}") for n, name in enumerate(self.keep)}
        columns = [self.exp.alias_(one, self.quoted(name)) for name, one in (kept | results).items()]
        query = self.exp.select(*columns).from_(self.exp.to_table(self.quoted(table)))
        query.set("with_", self.exp.With(expressions=self.expressions))
        try:
            text = query.sql(self.dialect, pretty=True, unsupported_level=sqlglot.ErrorLevel.RAISE)
        except sqlglot.errors.UnsupportedError as error:
            raise ValueError(f"dialect={self.dialect!r} cannot say what the model does: {error}") from error
        return f"{text}\n".encode()


def sql_of_classifier(model: PortableModel, tables: ScoreTables, scoring: Scoring) -> bytes:
    """The file as bytes.

    Raises
    ------
    ImportError
        sqlglot is not installed.
    ValueError
        There is no such dialect, or the query would be too long.
    """
    query = _scored(tables, scoring)
    scores = [query.column(f"score {k}") for k in range(len(model.classes_))]
    names = list(map(str, model.classes_.tolist()))
    if model.multilabel:
        results = {name: _above_zero(query, score) for name, score in zip(names, scores, strict=True)}
    else:
        literals = [_literal(query, label) for label in model.classes_.tolist()]
        results = {"label": _highest(query, scores, literals)}
    if model.probabilities is None:
        return query.written("scored", results)
    shares = {f"probability of {name}": share for name, share in zip(names, _shares(query, model), strict=True)}
    return query.written("shares", results | shares)


def sql_of_regression(tables: ScoreTables, scoring: Scoring, link: str) -> bytes:
    """The file as bytes, with the column "prediction", or one for each target, "prediction 0" first."""
    query = _scored(tables, scoring)
    n_targets = len(tables.intercept)
    names = ["prediction"] if n_targets == 1 else [f"prediction {k}" for k in range(n_targets)]
    found = {name: query.column(f"score {k}") for k, name in enumerate(names)}
    if link == "log":
        found = {name: _exponential(query, score) for name, score in found.items()}
    return query.written("scored", found)


def _literal(query: Query, label: Any) -> Any:
    if isinstance(label, bool):
        return query.exp.true() if label else query.exp.false()
    return query.number(label) if isinstance(label, float) else query.exp.convert(label)


def _above_zero(query: Query, score: Any) -> Any:
    zero = query.number(0.0)
    positive = query.exp.Case().when(score > zero, query.integer(1))
    return positive.when(score <= zero.copy(), query.integer(0))


def _highest(query: Query, scores: list[Any], labels: list[Any]) -> Any:
    """The label of the highest score, the first of equal ones."""
    found = query.exp.Case()
    for k, (score, label) in enumerate(zip(scores[:-1], labels[:-1], strict=True)):
        found = found.when(query.exp.and_(*[score.copy() >= other.copy() for other in scores[k + 1 :]]), label)
    last = query.exp.Is(this=scores[-1].copy(), expression=query.exp.Null())
    return found.when(query.exp.not_(last), labels[-1])


def _shares(query: Query, model: PortableModel) -> list[Any]:
    """Add the table "shares" and return the probability of each class by its columns."""
    exp, n_classes = query.exp, len(model.classes_)
    scores = [query.column(f"score {k}") for k in range(n_classes)]
    table = "scored"
    if model.probabilities == "softmax":
        table, top = "tops", exp.alias_(_greatest(query, scores), query.quoted("highest"))
        query.add(table, exp.select("*", top).from_(exp.to_table(query.quoted("scored"))))
        parts = [_exponential(query, score - query.column("highest")) for score in scores]
    else:
        parts = [_sigmoid(query, score) for score in scores]
    if model.reference is not None:  # the lower the highest score of the others, the likelier the reference
        others = [score for k, score in enumerate(scores) if k != model.reference]
        parts[model.reference] = _sigmoid(query, exp.Neg(this=exp.paren(_greatest(query, others))))
    named = [exp.alias_(part, query.quoted(f"part {k}")) for k, part in enumerate(parts)]
    query.add("shares", exp.select("*", *named).from_(exp.to_table(query.quoted(table))))
    found = [query.column(f"part {k}") for k in range(n_classes)]
    if model.probabilities in ("sigmoid", "reference"):
        return found
    return [part / exp.paren(_sum(found)) for part in found]


def _sum(terms: list[Any]) -> Any:
    total = terms[0].copy()
    for term in terms[1:]:
        total = total + term.copy()
    return total


def _greatest(query: Query, values: list[Any]) -> Any:
    values = [value.copy() for value in values]
    if len(values) == 1:
        return values[0]
    name = "MAX" if query.dialect == "sqlite" else "GREATEST"
    return query.exp.Anonymous(this=name, expressions=values)


def _exponential(query: Query, value: Any) -> Any:
    """e to a power; PostgreSQL ends queries with an error where the result would be below 1e-307."""
    small = value.copy() < query.number(LEAST_POWER)
    return query.exp.Case().when(small, query.number(0.0)).else_(query.exp.Exp(this=value))


def _sigmoid(query: Query, score: Any) -> Any:
    """1 / (1 + exp(-score)), by exponentials of negative numbers."""
    exp = query.exp
    small = _exponential(query, exp.Neg(this=exp.Abs(this=score.copy())))
    above = exp.Case().when(score.copy() > query.number(0.0), query.number(1.0)).else_(small.copy())
    return above / exp.paren(query.number(1.0) + small)


# ---- tables of scores ------------------------------------------------------------------------------------------------


def _scored(tables: ScoreTables, scoring: Scoring) -> Query:
    """A query with the table "scored": the kept columns and the score of each class."""
    timed = [name for name, kind in tables.kinds.items() if kind in (DURATION, TIME)]
    if timed:
        raise ValueError(f"column {timed[0]!r} holds times or durations, of which databases have no one form; {CURE}")
    compact = {pair: steps_of_codes(of_pair) for pair, of_pair in tables.pairs.items()}
    n_numbers = sum(one.size for one in tables.tables.values()) + sum(one[2].size for one in compact.values())
    if n_numbers > MOST:
        raise ValueError(f"the query would hold {n_numbers:,} numbers, more than {MOST:,}; {CURE}")
    query = Query(scoring, tables.names)
    _add_codes(query, tables)
    exp, n_classes = query.exp, len(tables.intercept)
    terms: list[list[Any]] = [[query.number(value)] for value in tables.intercept.tolist()]
    steps: dict[int, dict[str, np.ndarray]] = {feature: {} for feature in tables.used}
    scored = exp.select().from_(exp.to_table(query.quoted("coded")))
    for n, ((first, second), (of_first, of_second, _)) in enumerate(compact.items()):
        steps[first][f"first {n}"] = of_first
        steps[second][f"second {n}"] = of_second
    found = []
    for feature in tables.used:
        name, n_codes = f"feature {feature}", tables.features[feature].n_codes
        of_codes = tables.tables.get(feature, np.zeros((n_codes, n_classes)))
        codes = {"code": np.arange(n_codes)} | steps[feature]
        found += query.add_scores(name, list(codes), np.column_stack(list(codes.values())), of_codes)
        matches = query.column("code", name).eq(query.column(f"code {feature}", "coded"))
        scored = scored.join(exp.to_table(query.quoted(name)), on=matches, join_type="left")
    for n, ((first, second), (_, _, of_steps)) in enumerate(compact.items()):
        name, keys = f"pair {n}", np.indices(of_steps.shape[:2]).reshape(2, -1).T
        found += query.add_scores(name, ["first", "second"], keys, of_steps.reshape(-1, n_classes))
        same_first = query.column("first", name).eq(query.column(f"first {n}", f"feature {first}"))
        same_second = query.column("second", name).eq(query.column(f"second {n}", f"feature {second}"))
        matches = exp.and_(same_first, same_second)
        scored = scored.join(exp.to_table(query.quoted(name)), on=matches, join_type="left")
    for k, score in found:
        terms[k].append(score)
    for j, weights in enumerate(tables.numbers.values()):
        for k in np.flatnonzero(weights).tolist():
            terms[k].append(query.column(f"number {j}", "coded") * query.number(weights[k]))
    named = [exp.alias_(_sum(of_class), query.quoted(f"score {k}")) for k, of_class in enumerate(terms)]
    kept = [query.column(f"kept {n}", "coded") for n in range(len(query.keep))]
    query.add("scored", scored.select(*(kept + named)))
    return query


def _add_codes(query: Query, tables: ScoreTables) -> None:
    """Add the table "coded": the kept columns, the code of each feature, and numbers."""
    exp, joins = query.exp, []
    kept = [query.column(name, "row") for name in query.keep]
    columns = [exp.alias_(one, query.quoted(f"kept {n}")) for n, one in enumerate(kept)]
    for feature in tables.used:
        one, level = tables.features[feature], f"level {feature}"
        if isinstance(one, NumberCodes):
            code = _code_of_number(query, one)
        else:
            value = _text_of(query, one)
            _add_levels(query, level, one)
            joins.append((level, query.column("value", level).eq(value.copy())))
            other = exp.Case().when(exp.Is(this=value, expression=exp.Null()), query.integer(len(one.values) + 1))
            code = exp.func("COALESCE", query.column("code", level), other.else_(query.integer(len(one.values))))
        columns.append(exp.alias_(code, query.quoted(f"code {feature}")))
    for j, number in enumerate(tables.numbers):
        columns.append(exp.alias_(_number(query, number), query.quoted(f"number {j}")))
    table = exp.alias_(query.table, query.quoted("row"), table=True)
    coded = exp.select(*columns).from_(table)
    for level, matches in joins:
        coded = coded.join(exp.to_table(query.quoted(level)), on=matches, join_type="left")
    query.add("coded", coded)


def _code_of_number(query: Query, bins: NumberCodes) -> Any:
    """The code of a number, by halves; numbers that are not finite count as missing."""
    x, exp = query.double(query.column(bins.column, "row")), query.exp

    def between(low: int, high: int) -> Any:
        if low == high:
            return query.integer(low)
        middle = (low + high) // 2
        below = x.copy() <= query.number(bins.edges[middle])
        return exp.Case().when(below, between(low, middle)).else_(between(middle + 1, high))

    return exp.Case().when(query.is_finite(x), between(0, len(bins.edges))).else_(query.integer(len(bins.edges) + 1))


def _add_levels(query: Query, name: str, levels: CategoryCodes) -> None:
    """Add the code of each value of a category, as databases write it."""
    codes = levels.spelt if levels.part.date_part is None else {v: code for code, v in enumerate(levels.values)}
    if levels.part.date_part == "weekday":
        codes = {str(WEEKDAYS.index(value) + 1): code for value, code in codes.items()}
    rows = [[query.exp.Literal.string(value), query.integer(code)] for value, code in codes.items()]
    query.add_values(name, ["value", "code"], rows)


def _text_of(query: Query, levels: CategoryCodes) -> Any:
    """The value of a category as text, NULL if it is missing."""
    exp, part = query.exp, levels.part
    if part.date_part is not None:
        column = query.column(part.columns[0], "row")
        if levels.kind == INSTANT:
            if query.dialect == "sqlite":
                raise ValueError(f"column {part.columns[0]!r} has a time zone, which SQLite does not know")
            column = exp.AtTimeZone(this=column, zone=exp.Literal.string(levels.zone))
        number = exp.cast(_of_date(query, column, part.date_part), "bigint")
        if query.dialect == "sqlite":
            return exp.DPipe(this=exp.Literal.string(""), expression=number)
        return exp.cast(number, "text")
    if query.dialect == "sqlite":  # a result of CAST has a type there, and is looked up in no index of values without
        texts = [exp.DPipe(this=exp.Literal.string(""), expression=query.column(name, "row")) for name in part.columns]
    else:
        texts = [exp.cast(query.column(name, "row"), "text") for name in part.columns]
        nan, known = "nan" if query.dialect == "duckdb" else "NaN", PAIR_SEPARATOR.join(levels.values)
        if nan not in known.split(PAIR_SEPARATOR):  # a number that is missing, not a level of this name
            texts = [exp.Nullif(this=text, expression=exp.Literal.string(nan)) for text in texts]
    if len(texts) == 1:
        return texts[0]
    between = exp.DPipe(this=texts[0], expression=exp.Literal.string(PAIR_SEPARATOR))
    return exp.DPipe(this=between, expression=texts[1])


def _of_date(query: Query, date: Any, date_part: str) -> Any:
    """A part of a date as a number; days of the week from 1, Monday."""
    exp = query.exp
    if query.dialect == "sqlite":
        form = exp.Literal.string(IN_SQLITE.get(date_part, "%w"))
        number = exp.cast(exp.Anonymous(this="STRFTIME", expressions=[form, date]), "integer")
        return number if date_part != "weekday" else (number + 6) % 7 + 1
    if date_part == "weekday":
        if query.dialect not in ("duckdb", "postgres"):
            raise ValueError(f"the day of the week has no known function in dialect={query.dialect!r}")
        return exp.Extract(this=exp.var("ISODOW"), expression=date)
    return exp.Extract(this=exp.var(date_part.upper()), expression=date)


def _number(query: Query, number: Number) -> Any:
    """A number, the median or NULL if it is missing, after its functions."""
    exp, x = query.exp, query.double(query.column(number.column, "row"))
    x = exp.Case().when(query.is_finite(x), x).else_(query.number(number.median))
    for do, value in number.functions:
        if do == "binary":
            is_zero = exp.Case().when(x.eq(query.number(0.0)), query.number(0.0))
            x = is_zero.when(x.neq(query.number(0.0)), query.number(1.0))
        elif do == "distance":
            x = exp.Abs(this=exp.paren(x - query.number(value)))
        elif do == "sqrt":
            x = exp.Sqrt(this=x)
        else:
            x = exp.Ln(this=x if do == "log" else query.number(1.0) + exp.paren(x))
    return x

"""Counts from which the columns of tables and the vocabularies of texts are learned; those of several sites add up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from streamnb.core import persistence, row_checks
from streamnb.encoding.encoding import Encoding
from streamnb.encoding.learning import OfCopies
from streamnb.encoding.ngrams import NGrams, TokenScan
from streamnb.encoding.table import column_options
from streamnb.encoding.table_scan import TableScan
from streamnb.encoding.text import learned_encoding
from streamnb.passes.contract import PassTask
from streamnb.rows.row_blocks import Block
from streamnb.rows.table_columns import NOTHING, ColumnPart
from streamnb.sharing.site_rows import single_labels


class LabelCounts:
    """The number of rows of each label, and the counts of an encoding; both partial result and total."""

    def __init__(self, rows: Mapping[Any, int], of_columns: Any = None):
        self.rows, self.of_columns = Counter(rows), of_columns

    @property
    def nbytes(self) -> int:
        return 100 * len(self.rows) + (0 if self.of_columns is None else self.of_columns.nbytes)

    @property
    def labels(self) -> np.ndarray:
        """The labels, sorted."""
        return np.unique(row_checks.check_labels([*self.rows])) if self.rows else np.zeros(0, np.int64)

    def __add__(self, other: LabelCounts) -> LabelCounts:
        columns = None if self.of_columns is None else self.of_columns + other.of_columns
        return LabelCounts(self.rows + other.rows, columns)

    def finish(self) -> LabelCounts:
        return self if self.of_columns is None else LabelCounts(self.rows, self.of_columns.finish())

    def arrays(self) -> dict[str, Any]:
        columns = None if self.of_columns is None else self.of_columns.arrays()
        labels = self.labels
        return {"labels": labels, "rows": [self.rows[label] for label in labels.tolist()], "of_columns": columns}


@dataclass(frozen=True)
class LabelScan(PassTask):
    """Counts the labels of rows and, in the same pass, what `columns` counts."""

    columns: PassTask | None = None
    title = "schema"

    def partial(self) -> LabelCounts:
        return LabelCounts({}, None if self.columns is None else self.columns.partial())

    def add(self, partial: LabelCounts, block: Block) -> None:
        labels, counts = np.unique(single_labels(block), return_counts=True)
        partial.rows.update(dict(zip(labels.tolist(), counts.tolist(), strict=True)))
        if self.columns is not None:
            self.columns.add(partial.of_columns, block)

    def total(self, arrays: Mapping[str, Any]) -> LabelCounts:
        labels = row_checks.check_labels(arrays["labels"], "labels").tolist()
        rows = dict(zip(labels, persistence.part(arrays, "rows", list[int]), strict=True))
        return LabelCounts(rows, None if self.columns is None else self.columns.total(arrays["of_columns"]))


class LearnedColumns(persistence.Parameters):
    """How columns are learned: the task that counts, and the encoding that follows from its total."""

    @property
    def task(self) -> PassTask:
        """The task that counts."""
        raise NotImplementedError

    def encoding(self, counts: Any) -> Encoding:
        """The encoding, from the counts of all rows."""
        raise NotImplementedError


@persistence.register
@dataclass(frozen=True, eq=False)
class LearnedTable(LearnedColumns):
    """How the columns of a table are learned: `options` of `table`, and the kinds and time zones of its columns."""

    options: dict[str, Any]
    kinds: dict[str, str | None]
    zones: dict[str, str]
    parts: tuple[ColumnPart, ...]
    y: str | None = None
    weight: str | None = None

    @property
    def task(self) -> PassTask:
        return OfCopies(TableScan(self.parts, column_options(self.options).n_hashed))

    def with_kinds_of(self, other: LearnedTable, names: set[str]) -> LearnedTable:
        """A copy in which the columns of these names are of the kinds that they have in another one."""
        kinds = {name: (other if name in names else self).kinds[name] for name in self.kinds}
        zones = {**self.zones, **{name: zone for name, zone in other.zones.items() if name in names}}
        parts = [part for part in self.parts if not names.issuperset(part.columns)]
        more = [part for part in other.parts if names.issuperset(part.columns)]
        return replace(self, kinds=kinds, zones=zones, parts=(*parts, *more))

    def encoding(self, counts: Any) -> Encoding:
        return column_options(self.options).encoding(counts, self.kinds, self.y, self.weight, self.zones)


@persistence.register
@dataclass(frozen=True, eq=False)
class LearnedVocabulary(LearnedColumns):
    """The most frequent n-grams of texts."""

    ngrams: NGrams
    n_tokens: int
    text: str | None = None
    y: str | None = None
    weight: str | None = None

    @property
    def task(self) -> PassTask:
        return OfCopies(TokenScan(self.ngrams))

    def encoding(self, counts: Any) -> Encoding:
        return learned_encoding(self.ngrams, self.n_tokens, (self.text, self.y, self.weight), counts)


@persistence.register
@dataclass(frozen=True, eq=False)
class LearnedSchema:
    """The counts of labels and columns that a schema was learned from."""

    counts: LabelCounts
    columns: LearnedColumns | None = None

    @cached_property
    def encoding(self) -> Encoding | None:
        """The encoding that is learned from the counts."""
        return None if self.columns is None else self.columns.encoding(self.counts.of_columns.whole())

    def __add__(self, other: LearnedSchema) -> LearnedSchema:
        kinds = {row_checks.label_kind(one.counts.labels) for one in (self, other)}
        if len(kinds) > 1:
            raise ValueError(f"one schema has labels that are {min(kinds)}, the other {max(kinds)}; give all one kind")
        ours = self._as_in(other)
        theirs = other._as_in(ours)
        if ours.columns is not None:
            check_columns_alike(ours.columns, theirs.columns)
        return LearnedSchema(ours.counts + theirs.counts, ours.columns)

    def _as_in(self, other: LearnedSchema) -> LearnedSchema:
        """The same schema, in which columns of a table that have no value here are of the kinds that they are there."""
        ours, theirs, counts = self.columns, other.columns, self.counts.of_columns
        if not isinstance(ours, LearnedTable) or not isinstance(theirs, LearnedTable):
            return self
        shared = (name for name in ours.kinds if name in theirs.kinds)
        others = [name for name in shared if theirs.kinds[name] not in (ours.kinds[name], NOTHING)]
        empty = {name for name in others if all(part.is_empty(name) for part in counts.units.values())}
        made = ours.with_kinds_of(theirs, empty)
        filled = counts.changed(lambda part: part.with_missing(made.parts))
        return LearnedSchema(LabelCounts(self.counts.rows, filled), made)

    def _to_state(self) -> dict[str, Any]:
        return {"counts": self.counts.arrays(), "columns": self.columns}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        counts, columns = persistence.parts(cls, state, counts=dict[str, Any], columns=LearnedColumns | None)
        return cls(LabelScan(None if columns is None else columns.task).total(counts), columns)


def check_columns_alike(one: LearnedColumns, other: Any) -> None:
    """Refuse sites that learn from different columns, or in different ways."""
    if type(one) is not type(other):
        raise ValueError("one schema is of a table, the other of texts or numbers")
    for name, ours in vars(one).items():
        theirs = getattr(other, name)
        if isinstance(ours, dict) and isinstance(theirs, dict):
            odd = sorted(key for key in {*ours, *theirs} if ours.get(key, ...) != theirs.get(key, ...))
            if odd and name == "kinds":
                here, there = (repr(each[odd[0]]) if odd[0] in each else "absent" for each in (ours, theirs))
                raise ValueError(
                    f"column {odd[0]!r} is {here} in one schema, {there} in the other; name the columns that all sites "
                    "have with columns=, and give a column the same type everywhere"
                )
            if odd:
                here, there = (each.get(odd[0], "none") for each in (ours, theirs))
                raise ValueError(f"{name} of the schemas differ: {odd[0]!r} is {here!r} in one, {there!r} in the other")
        elif {*ours} != {*theirs} if name == "parts" else ours != theirs:
            raise ValueError(f"{name} of the schemas differ: {ours!r:.200} and {theirs!r:.200}")

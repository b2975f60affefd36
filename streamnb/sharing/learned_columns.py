"""The rows of one site under a schema, and the counts from which columns of tables and vocabularies are learned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import add
from typing import Annotated, Any, NamedTuple, NoReturn, Self

import numpy as np

from streamnb.core import messages, persistence, row_checks
from streamnb.encoding.encoding import Encoding
from streamnb.encoding.table import LearnedTable
from streamnb.encoding.text import LearnedVocabulary
from streamnb.fits.statistic import Statistic, added
from streamnb.passes.contract import Report
from streamnb.rows.boundary import picked
from streamnb.rows.opening import opened
from streamnb.rows.row_blocks import Block
from streamnb.rows.source import Source, WrappedSource
from streamnb.rows.splits import Folding
from streamnb.rows.table_columns import NOTHING


class Outside(NamedTuple):
    """Rows with labels outside of the schema, and values of categories outside of it by column."""

    rows: int
    levels: dict[str, int]


class SiteRows(WrappedSource):
    """The rows of a site, without those whose labels are not declared.

    Like a stream they have no number before they are read, so that whatever depends on it is the same at all sites.

    Parameters
    ----------
    rows : Source
    classes : (K,) sorted labels
    folding : Folding, optional
        Of sites, where each is a fold; `number` is that of this one.
    number : int
    declared : Folding, optional
        Of the rows of each site, as the schema says.
    """

    needs_values = True

    def __init__(
        self,
        rows: Source,
        classes: np.ndarray,
        folding: Folding | None = None,
        number: int = 0,
        declared: Folding | None = None,
    ):
        super().__init__(rows)
        self._classes, self._number, self.own_folding, self.declared_folding = classes, number, folding, declared
        self.n_rows = self.n_values = None
        self.nbytes, self.in_memory, self.stored, self.files = 0, False, (), ()
        self.feature_names, self.names_last, self.encoding = rows.feature_names, rows.names_last, rows.encoding
        self.given = rows.given
        self._outside: dict[Any, int] = {}

    @property
    def arrays(self) -> tuple[Any, ...]:
        return ()  # so that rows are read here, by no cluster

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        assert start == 0 and stop is None, "the rows of a site are read from the first to the last"
        first_row = 0
        self._outside.clear()  # which copies of this source share
        for block in self._rows.blocks():
            kept = self._declared(block)
            split = kept.split if self.own_folding is None else np.full(kept.n_rows, self._number)
            yield replace(kept, split=split, first_row=first_row)
            first_row += kept.n_rows
        if first_row == 0:
            classes = messages.listed(self._classes)
            raise ValueError(f"no row of this site has one of the labels of the schema, {classes}; leave the site out")

    def check_resumable(self) -> None:
        raise ValueError("checkpoint= goes with rows of one place, not with those of several sites")

    def with_columns(self, *labels: Any, targets: bool = False, **columns: Any) -> Self:
        if targets:
            raise TypeError("a schema has classes, and the estimator predicts numbers; take a classifier")
        return super().with_columns(*labels, **columns)

    def _declared(self, block: Block) -> Block:
        """The rows of a block with declared labels."""
        y = single_labels(block)
        if len(y) and row_checks.label_kind(y) != row_checks.label_kind(self._classes):
            raise ValueError(f"y holds {row_checks.label_kind(y)}, and the classes are {self._classes.tolist()}")
        known = np.isin(y, self._classes)
        if known.all():
            return block
        labels, counts = np.unique(y[~known], return_counts=True)
        for label, count in zip(labels.tolist(), counts.tolist(), strict=True):
            self._outside[label] = self._outside.get(label, 0) + count
        return picked(block, np.flatnonzero(known))

    def warn_of_outside(self) -> Outside:
        """Warn of rows and values outside of the schema, once all rows have been read; return their numbers."""
        rows, unknown = sum(self._outside.values()), getattr(self._rows, "unknown", None)
        levels = {} if unknown is None else unknown.totals()
        if rows:
            labels = messages.listed([*self._outside])
            messages.warn(f"{rows:,} rows have labels outside of the schema, {labels}; they count nowhere")
        if levels:
            of_columns = ", ".join(f"{name!r} {count:,}" for name, count in levels.items())
            messages.warn(f"values outside of the schema have no effect; by column there are: {of_columns}")
        return Outside(rows, levels)


def single_labels(block: Block) -> np.ndarray:
    """The labels of a block, one for each row."""
    y = row_checks.check_y(block.y, block.first_row)
    if y.ndim == 2:
        raise ValueError("y is an indicator of labels; a schema is of rows with one label each")
    return y


def no_rows(n_features: int, names: Any, encoding: Any) -> Source:
    """A placeholder for rows at other sites: a stream with their columns, which cannot be read here."""
    rows = opened(_elsewhere)
    rows.n_features, rows.encoding = n_features, encoding
    if names is not None:
        rows.feature_names = np.empty(len(names), object)
        rows.feature_names[:] = names
    return rows


def _elsewhere() -> NoReturn:
    raise ValueError("the rows are at the sites; each reads its own")


@dataclass(eq=False)
class LabelCounts(Statistic):
    """The number of rows of each label and, from the same pass, what the columns are learned from."""

    of_columns: Annotated[Any, added] = None
    rows: Annotated[Counter[Any], add] = field(default_factory=Counter)
    title = "schema"

    def add_block(self, block: Block) -> None:
        labels, counts = np.unique(single_labels(block), return_counts=True)
        self.rows.update(dict(zip(labels.tolist(), counts.tolist(), strict=True)))
        if self.of_columns is not None:
            self.of_columns.add_block(block)

    def ended(self, report: Report) -> LabelCounts:
        return self

    @property
    def labels(self) -> np.ndarray:
        """The labels, sorted."""
        return np.unique(row_checks.check_labels([*self.rows])) if self.rows else np.zeros(0, np.int64)

    def arrays(self) -> dict[str, Any]:
        labels, parts = self.labels, super().arrays()
        return {**parts, "labels": labels, "rows": [self.rows[label] for label in labels.tolist()]}

    def of_arrays(self, arrays: Mapping[str, Any]) -> Self:
        labels = row_checks.check_labels(arrays["labels"], "labels").tolist()
        rows = Counter(dict(zip(labels, persistence.part(arrays, "rows", list[int]), strict=True)))
        columns = None if self.of_columns is None else self.of_columns.of_arrays(arrays["of_columns"])
        return replace(self, rows=rows, of_columns=columns)


LearnedColumns = LearnedTable | LearnedVocabulary


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
        units = {unit: part.with_missing(made.parts) for unit, part in counts.units.items()}
        return LearnedSchema(replace(self.counts, of_columns=replace(counts, units=units)), made)

    def _to_state(self) -> dict[str, Any]:
        return {"counts": self.counts.arrays(), "columns": self.columns}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        counts, columns = persistence.parts(cls, state, counts=dict[str, Any], columns=LearnedColumns | None)
        return cls(LabelCounts(None if columns is None else columns.counts()).of_arrays(counts), columns)


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

"""Schemas: what several sites agree on before each scans its own rows, and the counts from which they are learned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from inspect import signature
from operator import add
from typing import Annotated, Any, Literal, NoReturn, Self

import numpy as np

from streamnb.core import arguments, messages, persistence, row_checks
from streamnb.core.threads import n_cores
from streamnb.encoding.encoding import Encoding
from streamnb.encoding.opening import as_numbers, holds_raw_texts, opened, opened_for
from streamnb.encoding.table import LearnedTable, TableToLearn
from streamnb.encoding.text import LearnedVocabulary, TextsToLearn, is_learned, text
from streamnb.passes.checkpoint import SUMS
from streamnb.passes.contract import Report, RunOptions
from streamnb.passes.passes import StatisticTask
from streamnb.passes.run import run, run_reads
from streamnb.passes.statistic import Statistic, added
from streamnb.rows import opening
from streamnb.rows.boundary import picked
from streamnb.rows.labels import TARGETS
from streamnb.rows.preparing import RowOptions
from streamnb.rows.row_blocks import Block
from streamnb.rows.source import Source, WrappedSource
from streamnb.rows.splits import Folding, as_folding
from streamnb.rows.table_columns import NOTHING
from streamnb.rows.table_opening import COMPLETE, as_table, is_table, open_tables
from streamnb.rows.tables import check_has
from streamnb.scanning.class_scan import ClassScan, names_of, run_scan
from streamnb.scanning.rounds import Site, SiteSums, begun, check_one_schema, folding_of_sites
from streamnb.stats.moment_sums import check_moments

Task = Literal["classification", "regression"]
CLASSES: Task = "classification"
NUMBERS: Task = "regression"


class SiteRows(WrappedSource):
    """The rows of a site, without those whose labels are not declared.

    Like a stream they have no number before they are read, so that whatever depends on it is the same at all sites.

    Parameters
    ----------
    rows : Source
    schema : Schema
    number : int
        Of this site, where each is a fold.
    """

    needs_values = True

    def __init__(self, rows: Source, schema: Schema, number: int = 0):
        super().__init__(rows)
        self._schema, self._classes, self._number = schema, schema.classes, number
        self.own_folding, self.declared_folding = folding_of_sites(schema.sites), schema.folding
        self.n_rows = self.n_values = None
        self.nbytes, self.in_memory, self.stored, self.files = 0, False, (), ()
        self.feature_names, self.names_last, self.encoding = rows.feature_names, rows.names_last, rows.encoding
        self.given = rows.given
        self._outside: Counter[Any] = Counter()

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
            raise ValueError(f"this site has no row for {self._schema.predicted}; leave the site out")

    def check_resumable(self) -> None:
        raise ValueError("checkpoint= is for rows in one place, not at several sites")

    def with_columns(self, *labels: Any, offset: Any = None, **columns: Any) -> Self:
        return super().with_columns(*labels, **columns)  # the rows have their offset, of the schema

    def _declared(self, block: Block) -> Block:
        """The rows of a block with declared labels."""
        if self._classes is None:
            return block
        y = single_labels(block)
        if len(y) and row_checks.label_kind(y) != row_checks.label_kind(self._classes):
            raise ValueError(f"y holds {row_checks.label_kind(y)}, and the classes are {self._classes.tolist()}")
        known = np.isin(y, self._classes)
        if known.all():
            return block
        self._outside.update(y[~known].tolist())
        return picked(block, np.flatnonzero(known))

    def warn_of_outside(self) -> tuple[int, dict[str, int]]:
        """Warn of rows and values outside of the schema, once all rows have been read; return their numbers."""
        rows, unknown = self._outside.total(), getattr(self._rows, "unknown", None)
        levels = {} if unknown is None else unknown.totals()
        if rows:
            labels = messages.listed(list(self._outside))
            messages.warn(f"{rows:,} rows have labels outside of the schema, {labels}; they are left out")
        if levels:
            of_columns = ", ".join(f"{name!r} {count:,}" for name, count in levels.items())
            messages.warn(f"values outside of the schema have no effect; their numbers by column: {of_columns}")
        return rows, levels


def single_labels(block: Block) -> np.ndarray:
    """The labels of a block, one for each row."""
    y = row_checks.check_y(block.y, block.first_row)
    if y.ndim == 2:
        raise ValueError("y is an indicator of labels; a schema is of rows with one label each")
    return y


def _elsewhere() -> NoReturn:
    raise ValueError("the rows are at the sites; each reads its own")


@dataclass(eq=False)
class LabelCounts(Statistic):
    """The number of rows of each label and, from the same pass, what the columns are learned from."""

    of_columns: Annotated[Any, added] = None
    rows: Annotated[Counter[Any], add] = field(default_factory=Counter)
    of_classes: bool = True
    title = "schema"

    def add_block(self, block: Block) -> None:
        if self.of_classes:
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
        others = [name for name, kind in ours.kinds.items() if theirs.kinds.get(name, kind) not in (kind, NOTHING)]
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
        if isinstance(ours, dict):
            odd = min((key for key in {*ours, *theirs} if ours.get(key, ...) != theirs.get(key, ...)), default=None)
            if odd is not None:
                here, there = (each.get(odd, "absent") for each in (ours, theirs))
                raise ValueError(
                    f"the schemas differ in their {name}: {odd!r} is {here!r} in one, {there!r} in the other; name the "
                    "columns that all sites have with columns=, and give a column the same type everywhere"
                )
        elif {*ours} != {*theirs} if name == "parts" else ours != theirs:
            raise ValueError(f"the schemas differ in their {name}: {ours!r:.200} and {theirs!r:.200}")


# ---- schemas ---------------------------------------------------------------------------------------------------------


@persistence.register
@dataclass(frozen=True, eq=False)
class Schema(persistence.Saved):
    """What several sites agree on before each scans its own rows: made once, and passed round as a small file.

    Schemas can be added. If each site makes one from its own rows, ``a + b`` is the schema of the rows of both. It has
    the bins, categories, vocabulary and classes that a fit of all rows together would learn.

    Attributes
    ----------
    task : {"classification", "regression"}
    classes : (K,) labels, sorted; None for a regression
    encoding : Encoding or None
        Makes columns of raw rows: tables and texts.
    n_columns : int
    moments : tuple of str
        What `scan` sums.
    folding : Folding or None
        How each site splits its rows into folds.
    sites : tuple of str
        The names of all sites, where each is to be a fold.
    y, weight : str or None
        The names of the columns of labels and weights.
    offset : str or None
        The name of the column of offsets; "" if each site gives its own.
    fingerprint : str
        A hash of all of this, which is the same for files that fit together.

    Examples
    --------
    >>> import pandas as pd
    >>> import streamnb as snb
    >>> north = pd.DataFrame({"sex": ["f", "m", "f"], "age": [30, 41, 52], "ill": ["no", "no", "yes"]})
    >>> south = pd.DataFrame({"sex": ["m", "f"], "age": [64, 70], "ill": ["yes", "yes"]})
    >>> schema = snb.schema(north, "ill", bins=2) + snb.schema(south, "ill", bins=2)
    >>> sums = schema.scan(north, site="north") + schema.scan(south, site="south")
    >>> sums.stats.classes.tolist(), sums.stats.sum.tolist()
    (['no', 'yes'], [[1.0, 1.0, 2.0, 0.0], [2.0, 1.0, 1.0, 2.0]])
    >>> sums.fit(snb.LinearNB("auto")).predict(south).tolist()
    ['yes', 'yes']
    """

    declared: np.ndarray | None
    fixed: Encoding | None
    n_features: int | None
    names: list[str] | None
    moments: tuple[str, ...]
    options: RowOptions
    folding: Folding | None
    sites: tuple[str, ...]
    learned: LearnedSchema | None
    y: str | None = None
    weight: str | None = None
    sums: int = SUMS
    task: Task = CLASSES
    offset: str | None = None

    @property
    def classes(self) -> np.ndarray | None:
        if self.declared is not None or self.task == NUMBERS:
            return self.declared
        assert self.learned is not None
        return self.learned.counts.labels

    @property
    def encoding(self) -> Encoding | None:
        return self.fixed if self.learned is None or self.learned.columns is None else self.learned.encoding

    @property
    def n_columns(self) -> int:
        encoding = self.encoding
        return encoding.n_columns if encoding is not None else int(self.n_features or 0)

    @property
    def fingerprint(self) -> str:
        return persistence.digest(self.without_counts())

    def without_counts(self) -> Schema:
        """The same schema without the counts that it was learned from: it reveals less, but cannot be added."""
        return replace(self, declared=self.classes, fixed=self.encoding, learned=None)

    @property
    def predicted(self) -> str:
        """What y holds, in words."""
        if self.classes is not None:
            return f"the classes {messages.listed(self.classes)}"
        return "numbers" if self.offset is None else "numbers with an offset"

    def check_predicts(self, estimator: Any) -> None:
        """Refuse an estimator that predicts something else, or takes no offset."""
        tags = getattr(estimator, "__sklearn_tags__", None)  # which a class from outside may lack
        fits = tags is None or (tags().estimator_type == "regressor") == (self.task == NUMBERS)
        if not fits or (self.offset is not None and "offset" not in signature(estimator.fit).parameters):
            raise TypeError(
                f"{type(estimator).__name__} does not predict {self.predicted}; fit another one, or make a schema with "
                "another task= or offset="
            )

    def __repr__(self) -> str:
        folds = f"; sites {', '.join(self.sites)}" if self.sites else ""
        folds = f"; {self.folding.n_folds} folds" if self.folding is not None else folds
        sums = f"; {', '.join(self.moments)}" if self.task == CLASSES else ""
        return f"<Schema {self.fingerprint}: {self.predicted}, {self.n_columns:,} columns{sums}{folds}>"

    def __add__(self, other: Schema) -> Schema:
        if not isinstance(other, Schema):
            return NotImplemented
        if self.learned is None or other.learned is None:
            raise ValueError("a schema without its counts adds to no other; add those that the sites made")
        check_one_schema(self, other)
        return replace(self, learned=self.learned + other.learned)

    def __radd__(self, other: Any) -> Any:
        return self if isinstance(other, int) and other == 0 else NotImplemented  # so that sum() works

    # ---- rows ----------------------------------------------------------------------------------------------------

    def rows(
        self, X: Any, y: Any = None, sample_weight: Any = None, site: str | None = None, offset: Any = None
    ) -> SiteRows:
        """Open the rows of a site; those with labels outside of `classes` are left out, and counted."""
        if site is not None and (not isinstance(site, str) or not site):
            raise TypeError(f"site={site!r} should be the name of the site, a str that is not empty")
        if self.sites and site not in self.sites:
            raise ValueError(f"site={site!r} should be one of {', '.join(map(repr, self.sites))}, which are folds")
        if self.sums != SUMS:
            raise ValueError(
                "the schema was made by a version of streamnb that sums in another way; install that one here"
            )
        y, weight = self.y if y is None else y, self.weight if sample_weight is None else sample_weight
        if offset is not None and self.offset is None:
            raise ValueError("offset is given, and the schema has none: make it with offset=, or leave this out")
        offset = self.offset if offset is None else offset
        if isinstance(offset, str) and not offset:
            raise ValueError("offset is missing: the schema has one that stands beside the rows; give offset=")
        X, offset = opening.with_column(X, offset, "offset")
        rows: Source = opened_for(
            self.encoding, X, y, weight, labelled=self.task == CLASSES or TARGETS, names=self.names
        )
        if rows.lazy:
            raise ValueError("X is in Dask; give the store or the files behind it")
        if rows.n_features not in (None, self.n_columns):
            raise ValueError(f"X has {rows.n_features} columns, and the schema {self.n_columns}")
        names = names_of(rows)
        if None not in (self.names, names) and names != self.names:
            raise ValueError(
                f"X has the columns {messages.listed(names)}, and the schema {messages.listed(self.names)}"
            )
        if offset is not None:
            rows = rows.with_columns(offset=offset)
        return SiteRows(rows, self, self.sites.index(site) if self.sites else 0)

    def rows_elsewhere(self) -> SiteRows:
        """A placeholder for the rows of all sites: a stream with their columns, which cannot be read here."""
        rows = opening.opened(_elsewhere)
        rows.n_features, rows.encoding = self.n_columns, self.encoding
        names = getattr(self.encoding, "column_names", self.names)
        if names is not None:
            rows.feature_names = np.array(list(names), object)
        return SiteRows(rows, self)

    def scan(
        self,
        X: Any,
        y: Any = None,
        *,
        site: str | None = None,
        sample_weight: Any = None,
        progress: bool | None = None,
        n_threads: int | None = None,
        memory_limit: Any = None,
    ) -> SiteSums:
        """Scan the rows of one site: its sums are all that leaves it.

        Rows whose label is not one of `classes` are left out, and categories that are not in the schema count as rare
        if the column has rare ones; both are counted, with a warning.

        Parameters
        ----------
        X, y, sample_weight, progress, n_threads, memory_limit
            As for `snb.scan`; by default y and weights are the columns that the schema names.
        site : str, optional
            The name of the site, to notice if it is added twice; the fingerprint of its sums by default.

        Returns
        -------
        SiteSums
            With `stats`; those of several sites can be added.
        """
        if self.task == NUMBERS:
            raise TypeError("a scan sums rows by class, and the schema has numbers to predict: begin with its fit")
        rows, options = self.rows(X, y, sample_weight, site), RunOptions(progress, n_threads, memory_limit)
        task = ClassScan(self.moments, self.options, self.classes, memory_limit=options.memory_limit)
        stats, report = run_reads(run_scan(replace(task, folding=self.folding), rows, options))
        outside, levels = rows.warn_of_outside()
        name = persistence.digest(stats) if site is None else site
        read = Site(report.rows, outside, levels, persistence.digest(stats))
        return SiteSums(self.without_counts(), {name: read}, stats, {name: stats} if self.sites else {})

    def fit(self, *estimators: Any) -> Any:
        """Begin to fit a model to the rows of all sites, which each site reads in rounds.

        Parameters
        ----------
        *estimators : estimators of streamnb, not fitted
            Naive Bayes, including steps that are learned before rows are summed; iterative models; regressions; CV
            forms. If there are several, the one with the best score on held-out rows is kept.

        Returns
        -------
        Round
            The first request to the sites: `read` answers it at each site, and `step` goes on with all answers. The
            last step returns the fitted estimator: that of a fit to the rows of all sites, to the last bit, where that
            fit draws no sample of the rows.
        """
        return begun(self, estimators)

    # ---- in files ------------------------------------------------------------------------------------------------

    def _check_loaded(self) -> None:
        if self.task == CLASSES and self.declared is None and self.learned is None:
            raise ValueError("a schema should have classes, or the counts of labels")
        if self.declared is not None:
            labels = row_checks.check_labels(self.declared, "classes")
            if not (labels[1:] > labels[:-1]).all():
                raise ValueError("the classes of a schema should be sorted, each once")
        check_moments(self.moments)


def schema(
    X: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    task: Task = "classification",
    offset: Any = None,
    classes: Any = None,
    moments: Iterable[str] | None = None,
    transform: Any = None,
    normalize: str | None = None,
    binarize: float = 0.0,
    folds: int | None = None,
    seed: int = 0,
    sites: Iterable[str] = (),
    n_threads: int | None = None,
    **columns: Any,
) -> Schema:
    """Make the schema by which several sites scan their rows, from rows like theirs or, site by site, from their own.

    One pass counts labels and, for a table or texts with a vocabulary, what columns are learned from. Adding the
    schemas of several sites gives that of all their rows, and no row leaves its site.

    Parameters
    ----------
    X, y, sample_weight
        As for `scan`. Names of columns of labels and weights are part of the schema.
    task : {"classification", "regression"}
        Whether y holds classes, or numbers to predict.
    offset : (n_rows,) or name of a column, optional
        For regressions of counts and amounts; see `PoissonRegressor.fit`.
    classes : array-like, optional
        All labels; those of `y` by default. Rows with other labels are left out.
    moments, transform, normalize, binarize
        As for `scan`; steps that are learned, such as bins of numbers, are learned by `Schema.fit`.
    folds, seed : int, optional
        Each site splits its rows into this many folds; folds with the same number are added.
    sites : names, optional
        All sites, to make each a fold: models are then judged on sites that they have not seen.
    n_threads : int, optional
    **columns
        Arguments of `snb.table` about columns, such as ``bins=8``; or of `snb.text`, such as ``vocabulary=10_000``.
        Without them, numbers of a table that has no other columns and no missing values stay as they are.

    Returns
    -------
    Schema

    Raises
    ------
    ValueError, TypeError
        An argument is wrong; the message names it.

    Examples
    --------
    >>> import streamnb as snb
    >>> snb.schema([[1, 0], [0, 2]], ["ham", "spam"], moments="sum").classes.tolist()
    ['ham', 'spam']
    """
    sites = _sites(sites, folds)
    options, listed = RowOptions(transform, normalize, binarize), row_checks.check_classes(classes)
    labels, weights, beside = (name if isinstance(name, str) else None for name in (y, sample_weight, offset))
    X = as_table(X, labels is not None)
    own = y
    if arguments.one_of("task", task, [CLASSES, NUMBERS]) == NUMBERS:
        own = labels  # others are looked at in the first round
        X, offset = opening.with_column(X, offset, "offset")
        if listed is not None or moments is not None or transform is not None or normalize is not None:
            raise ValueError(f"classes, moments, transform and normalize are for classes: omit them with task={task!r}")
    elif offset is not None:
        raise ValueError(f"offset is given, and is for task={NUMBERS!r}")
    how: LearnedColumns | None = None
    rows: Source
    fixed, n_features, names = None, None, None
    if holds_raw_texts(X) or isinstance(columns.get("text"), str):
        if is_learned(columns.get("vocabulary")):
            texts = TextsToLearn.from_options(X, own, sample_weight, columns)
            how, rows = texts.how, texts.rows
        else:
            rows = text(X, y=own, weight=sample_weight, **columns)
            fixed = rows.encoding
    elif is_table(X) and (columns or as_numbers(X, own, sample_weight, COMPLETE, (offset,)) is None):
        if task == NUMBERS:
            columns = _of_numbers(X, y, offset, columns)
        table = TableToLearn(X, own, sample_weight, columns)
        how, rows = table.how, table.rows
    elif columns:
        raise TypeError(f"{min(columns)}= is of tables and texts, and X holds numbers")
    else:
        rows = opened(X, y, sample_weight, labelled=task == CLASSES or TARGETS, beside=(offset,))
        if offset is not None:
            rows = rows.with_columns(offset=offset)
        n_features, names, fixed = rows.n_features, names_of(rows), rows.encoding
    asked = LabelCounts(None if how is None else how.counts(), of_classes=task == CLASSES)
    counts, _ = run(StatisticTask(asked), rows, RunOptions(None, n_threads))
    folding = None if folds is None else as_folding(arguments.positive_integer("folds", folds, 2), seed=seed)
    declared = None if listed is None else np.sort(listed)
    learned, moments = LearnedSchema(counts, how), check_moments(moments)
    beside = beside if beside or offset is None else ""
    of_rows: dict[str, Any] = {"y": labels, "weight": weights, "task": task, "offset": beside}
    return Schema(declared, fixed, n_features, names, moments, options, folding, sites, learned, **of_rows)


def _of_numbers(X: Any, y: Any, offset: Any, columns: dict[str, Any]) -> dict[str, Any]:
    """The options of a table whose numbers stay as they are, and whose offset is no feature."""
    if y is None:
        row_checks.check_targets(y)
    if isinstance(offset, str) and "columns" not in columns:
        check_has(open_tables(X, {}, n_cores()).schema, [offset], "offset")
        columns = {**columns, "drop": [*columns.get("drop", ()), offset]}
    return {"bins": None, **columns}


def _sites(given: Any, folds: Any) -> tuple[str, ...]:
    sites = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (None,)
    if not all(name and isinstance(name, str) for name in sites):
        raise TypeError(f"sites={given!r:.200} should be a list of names")
    if len({*sites}) < len(sites) or len(sites) == 1:
        raise ValueError(f"sites={list(sites)} should be two names or more, each once")
    if sites and folds is not None:
        raise ValueError(f"folds={folds!r} splits the rows of each site, and sites= makes a fold of each; give one")
    return sites

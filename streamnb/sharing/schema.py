"""Schemas: what several sites agree on before each scans its own rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from streamnb.core import arguments, messages, persistence, row_checks
from streamnb.encoding.encoding import Encoding
from streamnb.encoding.opening import as_numbers, holds_raw_texts, opened, opened_for
from streamnb.encoding.table import TableToLearn
from streamnb.encoding.text import TextsToLearn, is_learned, text
from streamnb.fits.passes import StatisticTask
from streamnb.passes.checkpoint import SUMS
from streamnb.passes.contract import RunOptions
from streamnb.passes.run import run, run_reads
from streamnb.rows.preparing import RowOptions
from streamnb.rows.source import Source
from streamnb.rows.splits import Folding, as_folding
from streamnb.rows.table_opening import COMPLETE, as_table, is_table
from streamnb.scanning.class_scan import ClassScan, names_of, run_scan
from streamnb.sharing.learned_columns import (
    LabelCounts,
    LearnedColumns,
    LearnedSchema,
    SiteRows,
    no_rows,
)
from streamnb.sharing.rounds import begun
from streamnb.sharing.site_sums import Site, SiteSums, folding_of_sites
from streamnb.stats.moment_sums import check_moments

_WORDS = {
    "sums": "way of summing, which is that of the version of streamnb: install the same everywhere",
    "declared": "declared classes",
    "folding": "folds",
    "names": "names of columns",
    "n_features": "number of columns (give all sites bins=, where only some have missing values)",
    "fixed": "encoding",
}


@persistence.register
@dataclass(frozen=True, eq=False)
class Schema(persistence.Saved):
    """What several sites agree on before each scans its own rows: made once, and handed round as a small file.

    Schemas add. If each site makes one of its own rows, ``a + b`` is the schema of the rows of both. It has the bins,
    categories, vocabulary and classes that a fit of all rows together would learn.

    Attributes
    ----------
    classes : (K,) labels, sorted
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
    fingerprint : str
        Of all of this; that of files that fit together is the same.

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

    @property
    def classes(self) -> np.ndarray:
        if self.declared is not None:
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
        """The same schema without the counts that it was learned from: it reveals less, and does not add."""
        return replace(self, declared=self.classes, fixed=self.encoding, learned=None)

    def __repr__(self) -> str:
        folds = f"; sites {', '.join(self.sites)}" if self.sites else ""
        folds = f"; {self.folding.n_folds} folds" if self.folding is not None else folds
        return (
            f"<Schema {self.fingerprint}: classes {messages.listed(self.classes)}, {self.n_columns:,} columns; "
            f"{', '.join(self.moments)}{folds}>"
        )

    def __add__(self, other: Schema) -> Schema:
        if not isinstance(other, Schema):
            return NotImplemented
        if self.learned is None or other.learned is None:
            raise ValueError("a schema without its counts adds to no other; add those that the sites made")
        for name in ("declared", "n_features", "names", "moments", "options", "folding", "sites", "sums"):
            ours, theirs = getattr(self, name), getattr(other, name)
            if not np.array_equal(ours, theirs) if isinstance(ours, np.ndarray) else ours != theirs:
                raise ValueError(f"the schemas differ in their {_WORDS.get(name, name)}: {ours!r} and {theirs!r}")
        return replace(self, learned=self.learned + other.learned)

    def __radd__(self, other: Any) -> Any:
        return self if isinstance(other, int) and other == 0 else NotImplemented  # so that sum() works

    # ---- rows ----------------------------------------------------------------------------------------------------

    def rows(self, X: Any, y: Any = None, sample_weight: Any = None, site: str | None = None) -> SiteRows:
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
        rows = opened_for(self.encoding, X, y, weight, names=self.names)
        self._check(rows)
        number = self.sites.index(site) if self.sites and site else 0
        return SiteRows(rows, self.classes, folding_of_sites(self.sites), number, self.folding)

    def rows_elsewhere(self) -> Source:
        """A placeholder for the rows of all sites, which has their columns."""
        names = getattr(self.encoding, "column_names", self.names)
        rows = no_rows(self.n_columns, names, self.encoding)
        return SiteRows(rows, self.classes, folding_of_sites(self.sites), declared=self.folding)

    def _check(self, rows: Source) -> None:
        if rows.lazy:
            raise ValueError("X is in Dask; give the store or the files behind it")
        if rows.n_features not in (None, self.n_columns):
            raise ValueError(f"X has {rows.n_features} columns, and the schema {self.n_columns}")
        names = names_of(rows)
        if self.names is not None and names is not None and names != self.names:
            odd = next((pair for pair in zip(self.names, names, strict=True) if pair[0] != pair[1]), ("", ""))
            raise ValueError(f"X has the column {odd[1]!r} where the schema has {odd[0]!r}")

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

        Rows whose label is not one of `classes` count nowhere, and categories that are not in the schema count as rare
        ones where there are such, else nowhere; both are counted and warned of.

        Parameters
        ----------
        X, y, sample_weight, progress, n_threads, memory_limit
            As for `snb.scan`; by default y and weights are the columns that the schema names.
        site : str, optional
            The name of the site, by which the same site twice is noticed; the fingerprint of its sums by default.

        Returns
        -------
        SiteSums
            With `stats`; those of several sites add.
        """
        rows, options = self.rows(X, y, sample_weight, site), RunOptions(progress, n_threads, memory_limit)
        task = ClassScan(self.moments, self.options, self.classes, memory_limit=options.memory_limit)
        stats, report = run_reads(run_scan(replace(task, folding=self.folding), rows, options))
        outside = rows.warn_of_outside()
        name = persistence.digest(stats) if site is None else site
        read = Site(report.rows, outside.rows, outside.levels, persistence.digest(stats))
        return SiteSums(self.without_counts(), {name: read}, stats, {name: stats} if self.sites else {})

    def fit(self, *estimators: Any) -> Any:
        """Begin to fit a model of the rows of all sites, which each of them reads in rounds.

        Parameters
        ----------
        *estimators : estimators of streamnb, not fitted
            Naive Bayes, with what it learns of rows before it sums them; models of several reads; a choice by
            cross-validation. Of several, the one with the best score on held-out rows is kept.

        Returns
        -------
        Round
            What is asked of the sites first: `read` at each site answers it, and `step` goes on with all answers. The
            last step returns the fitted estimator: that of a fit to the rows of all sites, to the last bit, where that
            fit draws no sample of the rows.
        """
        return begun(self, estimators)

    # ---- in files ------------------------------------------------------------------------------------------------

    def _check_loaded(self) -> None:
        if self.declared is None and self.learned is None:
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

    One pass counts labels and, of a table or of texts with a vocabulary, what their columns are learned from. Schemas
    of several sites add to that of all their rows, without a row leaving its site.

    Parameters
    ----------
    X, y, sample_weight
        As for `scan`. Names of columns of labels and weights are part of the schema.
    classes : array-like, optional
        All labels; those of `y` by default. Rows with other labels count nowhere.
    moments, transform, normalize, binarize
        As for `scan`; steps that are learned, such as bins of numbers, are learned by `Schema.fit`.
    folds, seed : int, optional
        Each site splits its rows into so many folds; folds of the same number add.
    sites : names, optional
        All sites, where each is to be one fold: models are then judged on sites that they have not seen.
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
    labels, weights = (name if isinstance(name, str) else None for name in (y, sample_weight))
    X = as_table(X, labels is not None)
    how: LearnedColumns | None = None
    rows: Source
    fixed, n_features, names = None, None, None
    if holds_raw_texts(X) or isinstance(columns.get("text"), str):
        if is_learned(columns.get("vocabulary")):
            texts = TextsToLearn.from_options(X, y, sample_weight, columns)
            how, rows = texts.how, texts.rows
        else:
            rows = text(X, y=y, weight=sample_weight, **columns)
            fixed = rows.encoding
    elif is_table(X) and (columns or as_numbers(X, y, sample_weight, COMPLETE) is None):
        table = TableToLearn(X, y, sample_weight, columns)
        how, rows = table.how, table.rows
    elif columns:
        raise TypeError(f"{min(columns)}= is of tables and texts, and X holds numbers")
    else:
        rows = opened(X, y, sample_weight)
        n_features, names, fixed = rows.n_features, names_of(rows), rows.encoding
    asked = LabelCounts(None if how is None else how.counts())
    counts, _ = run(StatisticTask(asked), rows, RunOptions(None, n_threads))
    folding = None if folds is None else as_folding(arguments.positive_integer("folds", folds, 2), seed=seed)
    declared = None if listed is None else np.sort(listed)
    learned = LearnedSchema(counts, how)
    moments = check_moments(moments)
    return Schema(declared, fixed, n_features, names, moments, options, folding, sites, learned, labels, weights)


def _sites(given: Any, folds: Any) -> tuple[str, ...]:
    sites = tuple(given) if isinstance(given, Iterable) and not isinstance(given, str) else (None,)
    if not all(name and isinstance(name, str) for name in sites):
        raise TypeError(f"sites={given!r:.200} should be a list of names")
    if len({*sites}) < len(sites) or len(sites) == 1:
        raise ValueError(f"sites={list(sites)} should be two names or more, each once")
    if sites and folds is not None:
        raise ValueError(f"folds={folds!r} splits the rows of each site, and sites= makes a fold of each; give one")
    return sites

"""Drift: how rows differ from those that a model has learned from, by the model's own columns and sums."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from streamnb.core import arguments
from streamnb.core.frames import pandas_for
from streamnb.core.messages import StreamnbWarning, listed
from streamnb.encoding.bins import BinEdges, TermColumns
from streamnb.encoding.category_columns import CategoryColumns
from streamnb.encoding.opening import opened_for
from streamnb.encoding.table_codes import Code, LevelCodes, PlainNumber, SharedHash, TableCounts
from streamnb.encoding.table_encoding import TableEncoding
from streamnb.encoding.text import TextEncoding
from streamnb.passes.contract import RunOptions
from streamnb.passes.passes import StatisticTask
from streamnb.passes.run import run
from streamnb.rows.boundary import is_dask
from streamnb.rows.preparing import RowOptions
from streamnb.rows.table_columns import ColumnPart
from streamnb.rows.table_opening import as_table
from streamnb.rows.tables import TableSource
from streamnb.scanning.class_scan import ClassScan
from streamnb.stats.stability import ColumnProfile, limit, of_cells, of_numbers

CELLS, COUNTS, NUMBER = "cells", "counts", "number"
MOST_VALUES = 1 << 16  # new values of a column that are counted one by one
SHOWN = 20  # rows of a printed table
QUANTILES = 0.1, 0.5, 0.9
NEW, ABSENT = "(new values)", "(missing)"


@dataclass(frozen=True, eq=False)
class Drift:
    """How rows differ from the training rows of a model, or from other rows.

    Attributes
    ----------
    columns : DataFrame
        "column"; "psi", the population stability index; "limit", which it exceeds by chance in one of 1,000 columns
        that have not moved; "moved", whether it is above both `threshold` and the limit; the shares of rows without a
        value, "missing_before" and "missing"; "new_values", the share of rows with a category that the model does not
        know, NaN for columns without categories; and what changed most: "change", a value, with its share "before" and
        "after", or the mean of a number. The largest index first.
    values : DataFrame
        "column", "value", "before" and "after": the share of each bin, category or word, by which columns are
        compared; "mean" and "deviation" of numbers.
    unseen : DataFrame
        "column", "value", "rows_before" and "rows": the categories that the model does not know, the most frequent
        first.
    scores : DataFrame
        For each class: "before", its share of the training labels, or the share predicted for the other rows; "after",
        the share predicted for these rows; and their mean probability, "mean", with its quantiles "10 %", "50 %", "90
        %". For rows given as `before`, also "mean_before" and "psi" and "moved" of the probabilities, by deciles. For
        regressions the predictions; without probabilities no quantiles.
    n_before, n_rows : int
        Numbers of rows.
    threshold : float
    """

    columns: Any
    values: Any
    unseen: Any
    scores: Any
    n_before: int
    n_rows: int
    threshold: float

    @property
    def moved(self) -> list[str]:
        """The columns that have moved, the largest index first; last "score", if that has."""
        names = self.columns["column"][self.columns["moved"]].tolist()
        return names + ["score"] * bool(self.scores.get("moved", self.columns["moved"].head(0)).any())

    def summary(self) -> dict[str, Any]:
        """All of it but `values`, as plain lists and dicts, such as for JSON."""
        tables = {name: getattr(self, name).to_dict("records") for name in ("columns", "unseen", "scores")}
        numbers = {"rows": self.n_rows, "rows_before": self.n_before, "threshold": self.threshold}
        return {**numbers, "moved": self.moved, **tables}

    def __repr__(self) -> str:
        what = f"{int(self.columns['moved'].sum())} of {len(self.columns)} columns moved"
        lines = [f"{self.n_rows:,} rows against {self.n_before:,}: {what} (psi above {self.threshold:g} and the limit)"]
        for heading, table in (("", self.columns), ("new values", self.unseen), ("scores", self.scores)):
            if len(table):
                lines += ["", *([heading] if heading else []), table.head(SHOWN).round(3).to_string(index=False)]
            if len(table) > SHOWN:
                lines.append(f".. {len(table) - SHOWN:,} more")
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class ColumnGroup:
    """What is compared as one: the columns of a model that are made of one column of the rows, or of several hashed."""

    name: str
    at: slice
    kind: str
    part: ColumnPart | None = None
    code: Code | None = None
    gap: int | None = None  # the column of missing values


@dataclass(frozen=True, eq=False)
class RowsCompared:
    """What is known of a set of rows: sums of columns, counts of the values of a table, and predictions."""

    profile: ColumnProfile
    counts: TableCounts | None = None
    scores: Any = None
    labels: Any = None


def drift(
    model: Any,
    preparation: Any,
    profile: ColumnProfile | None,
    opened: Callable,
    given: Any,
    threshold: float,
    ignore: Sequence[str],
) -> Drift:
    """The drift of rows, given as (rows, others or None), from those with a `profile`, or from the others.

    Parameters
    ----------
    model : fitted estimator
    preparation : Preparation
        What makes its columns.
    profile : ColumnProfile, optional
        Of the rows that it has learned from.
    opened : function
        Opens rows as the model takes them.
    ignore : list of str
        Columns that are left out.
    """
    pandas_for("drift")
    X, others = (_collected(rows, preparation.encoding) for rows in given)
    threshold = arguments.finite_number("threshold", threshold, minimum=0.0)
    groups, ignore = groups_of(model, preparation), [ignore] if isinstance(ignore, str) else ignore
    names = [group.name for group in groups]
    for name in ignore:
        if name not in names:
            raise ValueError(f"ignore={name!r} is no column that is compared; these are {listed(names)}")
    groups = [group for group in groups if group.name not in ignore]
    scan = profile or ColumnProfile("sum", RowOptions(), 0, 0.0, np.zeros(0), np.zeros(0))
    if profile is None and others is None:
        raise ValueError(
            f"{type(model).__name__} keeps no sums of the rows it has learned from, or those of exposures, to compare "
            f"{listed(names)}; give such rows, drift(X, before=rows)"
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StreamnbWarning)  # of new values, which are counted here
        new = _looked_at(model, preparation, scan, opened, X)
        before = RowsCompared(scan) if others is None else _looked_at(model, preparation, scan, opened, others)
    return _drift(model, groups, before, new, threshold)


def _collected(X: Any, encoding: Any) -> Any:
    """Rows that can be read several times; a Dask data frame as a table, whose values can be counted."""
    if isinstance(encoding, TableEncoding) and is_dask(X):
        return encoding.tables_of(X)
    return as_table(X, named=encoding is not None)


def _looked_at(model: Any, preparation: Any, like: ColumnProfile, opened: Callable, X: Any) -> RowsCompared:
    rows, counts = opened(X), None
    rows.check_read_again("drift")
    scanned = run(ClassScan(like.moments, like.options, of_all=True), rows, RunOptions())[0]
    encoding = preparation.encoding
    if isinstance(encoding, TableEncoding):
        table = opened_for(encoding, X, labelled=False)
        if isinstance(table, TableSource):
            parts = tuple(part for part, _ in encoding.coded)
            values = table.with_step(None, 0, "values")
            counts, _ = run(StatisticTask(TableCounts(parts, MOST_VALUES)), values, RunOptions())
    profile = ColumnProfile.of(scanned)
    assert profile is not None
    if not hasattr(model, "classes_"):
        return RowsCompared(profile, counts, np.asarray(model.predict(X)))
    proba = np.asarray(model.predict_proba(X)) if hasattr(model, "predict_proba") else None
    return RowsCompared(profile, counts, proba, np.asarray(model.predict(X)))


# ---- columns ---------------------------------------------------------------------------------------------------------


def groups_of(model: Any, preparation: Any) -> list[ColumnGroup]:
    """What is compared as one."""
    encoding, step, names = preparation.encoding, preparation.step, getattr(model, "feature_names_in_", None)
    if isinstance(step, TermColumns):
        return [*_of_terms(step, encoding, names)]
    if isinstance(step, BinEdges | CategoryColumns):
        return [*_of_firsts(step, names)]
    if isinstance(encoding, TableEncoding) and step is None:
        return [*_of_table(encoding)]
    if isinstance(encoding, TextEncoding):
        return [ColumnGroup(encoding.text or "text", slice(0, encoding.n_columns), COUNTS)]
    n_columns = model.n_features_in_ if step is None else step.n_columns
    names = [f"x{j}" for j in range(n_columns)] if names is None or len(names) != n_columns else names
    return [ColumnGroup(str(name), slice(j, j + 1), NUMBER) for j, name in enumerate(names)]


def _of_table(encoding: TableEncoding) -> Iterator[ColumnGroup]:
    shared = [part.label for part, code in encoding.coded if isinstance(code, SharedHash)]
    first = 0
    for part, code in encoding.coded:
        width = code.n_columns
        if isinstance(code, SharedHash):
            if part.label == shared[0]:
                yield ColumnGroup(f"{', '.join(shared)} (hashed)", slice(first, first + width), COUNTS)
                first += width
            continue
        gap = first + width - 1 if part.missing() == code.names(part)[-1] else None
        kind = NUMBER if isinstance(code, PlainNumber) else CELLS
        yield ColumnGroup(_name(part), slice(first, first + (1 if kind == NUMBER else width)), kind, part, code, gap)
        first += width
    for name, grams in encoding.texts:
        yield ColumnGroup(name, slice(first, first + grams.n_columns), COUNTS)
        first += grams.n_columns


def _name(part: ColumnPart) -> str:
    return part.label if len(part.columns) == 1 else ", ".join(part.columns)


def _names_of(n_features: int, names: Any) -> list[str]:
    return [f"x{j}" for j in range(n_features)] if names is None else [*map(str, names)]


def _of_terms(step: TermColumns, encoding: Any, names: Any) -> Iterator[ColumnGroup]:
    if encoding is None:
        coded: Any = [(None, None)] * step.n_features
        names = _names_of(step.n_features, names)
        gaps: Any = step.base.missing if step.base is not None else np.zeros(step.n_features, bool)
    else:
        coded = encoding.coded
        names = [_name(part) for part, _ in coded]
        gaps = [part.missing() == code.names(part)[-1] for part, code in coded]
    for (feature, other), first, last in zip(step.features.tolist(), step.starts[:-1], step.starts[1:], strict=True):
        if other < 0:
            part, code = coded[feature]
            gap = int(last) - 1 if gaps[feature] else None
            yield ColumnGroup(names[feature], slice(int(first), int(last)), CELLS, part, code, gap)


def _of_firsts(step: BinEdges | CategoryColumns, names: Any) -> Iterator[ColumnGroup]:
    names = _names_of(step.n_features, names)
    categories = {*step.columns.tolist()} if isinstance(step, CategoryColumns) else {*range(step.n_features)}
    gaps = step.missing if isinstance(step, BinEdges) else np.zeros(step.n_features, bool)
    for j, (first, last) in enumerate(zip(step.firsts[:-1].tolist(), step.firsts[1:].tolist(), strict=True)):
        gap = last - 1 if gaps[j] else None
        yield ColumnGroup(names[j], slice(first, last), CELLS if j in categories else NUMBER, gap=gap)


# ---- comparing -------------------------------------------------------------------------------------------------------


def _drift(model: Any, groups: list[ColumnGroup], before: RowsCompared, new: RowsCompared, threshold: float) -> Drift:
    pd = pandas_for("drift")
    old, now = before.profile, new.profile
    names = getattr(model, "column_names_", getattr(model, "feature_names_in_", None))
    indices = of_numbers(old, now)
    columns, values, unseen = [], [], []
    for group in groups:
        found = _compared(group, names, before, new, indices)
        values += [(group.name, *row) for row in found.values]
        unseen += [(group.name, *row) for row in found.unseen]
        moved = bool(found.psi > max(threshold, found.limit))
        columns.append((group.name, found.psi, found.limit, moved, *found.missing, found.share_new, *found.change))
    kinds = "column psi limit moved missing_before missing new_values change before after"
    table = pd.DataFrame(columns, columns=kinds.split()).sort_values("psi", ascending=False, kind="stable")
    new_values = pd.DataFrame(unseen, columns=["column", "value", "rows_before", "rows"])
    return Drift(
        table.reset_index(drop=True),
        pd.DataFrame(values, columns=["column", "value", "before", "after"]),
        new_values.sort_values("rows", ascending=False, kind="stable", ignore_index=True),
        _scores(model, before, new, threshold),
        old.n_rows,
        now.n_rows,
        threshold,
    )


@dataclass(frozen=True, eq=False)
class ComparedGroup:
    """What was found of a group of columns."""

    psi: float
    limit: float
    missing: tuple[float, float]
    share_new: float
    values: list[tuple[str, float, float]]
    unseen: list[tuple[str, int, int]]

    @property
    def change(self) -> tuple[str, float, float]:
        """The value whose share, or the mean or deviation of a number, that differs most."""
        return max(self.values, key=lambda row: abs(row[2] - row[1]), default=("", np.nan, np.nan))


def _compared(
    group: ColumnGroup, names: Any, before: RowsCompared, new: RowsCompared, indices: np.ndarray
) -> ComparedGroup:
    sets, n_rows = (before, new), [each.profile.weight for each in (before, new)]
    sums = [each.profile.sums[group.at] for each in sets]
    gaps = [_missing(group, each) for each in sets]
    unknown = _unseen(group, new)
    share_new = np.nan if unknown is None else sum(unknown.values()) / n_rows[1]
    earlier = _unseen(group, before) or {}
    unseen = [(value, earlier.get(value, 0), (unknown or {}).get(value, 0)) for value in {**(unknown or {}), **earlier}]
    missing = gaps[0] / n_rows[0], gaps[1] / n_rows[1]
    if group.kind == NUMBER:
        psi, most = float(indices[group.at.start]), limit(2, *n_rows)
        if new.profile.moment != "sum":  # of presence
            psi, most = of_cells(*(np.append(own, n - own) for own, n in zip(sums, n_rows, strict=True)))
        if max(gaps) > 0.0:
            more = of_cells(*(np.array([gap, n - gap]) for gap, n in zip(gaps, n_rows, strict=True)))
            psi, most = psi + more[0], most + more[1]
        means = [float(each.profile.means[group.at.start]) for each in sets]
        deviations = [float(np.sqrt(each.profile.variances[group.at.start])) for each in sets]
        of_number = [("mean", means[0], means[1]), ("deviation", deviations[0], deviations[1])]
        return ComparedGroup(psi, most, missing, share_new, of_number, [])
    there = np.flatnonzero(sums[0] + sums[1])
    labels = [f"hash {j}" if names is None else str(names[group.at.start + j]) for j in there.tolist()]
    sums = [own[there] for own in sums]
    if group.kind == CELLS:
        rest = [max(n - float(own.sum()), 0.0) for own, n in zip(sums, n_rows, strict=True)]
        absent = [gap if group.gap is None else 0.0 for gap in gaps]
        others = [max(left - gap, 0.0) for left, gap in zip(rest, absent, strict=True)]
        sums = [np.append(own, [left, gap]) for own, left, gap in zip(sums, others, absent, strict=True)]
        labels += [NEW, ABSENT]
    psi, most = of_cells(*sums)
    totals = [max(float(own.sum()), np.finfo(float).tiny) for own in sums]
    shares = [(own / total).tolist() for own, total in zip(sums, totals, strict=True)]
    values = [row for row in zip(labels, *shares, strict=True) if row[1] or row[2]]
    return ComparedGroup(psi, most, missing, share_new, values, unseen)


def _missing(group: ColumnGroup, rows: RowsCompared) -> float:
    """The weight of the rows without a value."""
    if group.gap is not None:
        return float(rows.profile.sums[group.gap])
    return 0.0 if rows.counts is None or group.part is None else float(np.sum(_values_in(group, rows.counts).missing))


def _values_in(group: ColumnGroup, counts: TableCounts) -> Any:
    """The counts of the values of a column of a table."""
    return counts.of_parts[counts.parts.index(group.part)]


def _unseen(group: ColumnGroup, rows: RowsCompared) -> dict[str, int] | None:
    """Categories that have no column, and their rows; None where there is none such, or it is not known."""
    part, code = group.part, group.code
    if rows.counts is None or part is None or not isinstance(code, LevelCodes) or code.rare:
        return None
    found = _values_in(group, rows.counts)
    if found.full:
        return None
    unknown = {value: int(n) for value, n in found.counts.items() if value not in code.known}
    return unknown if len(part.columns) == 1 else {part.named(value): n for value, n in unknown.items()}


# ---- scores ----------------------------------------------------------------------------------------------------------


def _scores(model: Any, before: RowsCompared, new: RowsCompared, threshold: float) -> Any:
    pd, classes = pandas_for("drift"), getattr(model, "classes_", None)
    if classes is None:
        found = new.scores if new.scores.ndim == 2 else new.scores[:, None]
        columns: dict[str, Any] = {"target": range(found.shape[1])}
    else:
        weight, found = before.profile.class_weight, new.scores
        shares = np.full(len(classes), np.nan) if weight is None else weight / before.profile.weight
        if before.labels is not None:
            shares = _shares(before.labels, classes)
        columns = {"class": classes, "before": shares, "after": _shares(new.labels, classes)}
    if found is not None:
        columns["mean"] = found.mean(axis=0)
        columns |= {f"{share:.0%}": np.quantile(found, share, axis=0) for share in QUANTILES}
    if found is not None and before.scores is not None:
        old = before.scores.reshape(len(before.scores), -1)
        indices = [_of_deciles(*both) for both in zip(old.T, found.T, strict=True)]
        columns["mean_before"] = old.mean(axis=0)
        columns["psi"] = [psi for psi, _ in indices]
        columns["moved"] = [psi > max(threshold, most) for psi, most in indices]
    return pd.DataFrame(columns)


def _shares(labels: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """The share of each class among labels, or of each label among rows that have several."""
    if labels.ndim == 2:
        return labels.mean(axis=0)
    found = dict(zip(*(each.tolist() for each in np.unique(labels, return_counts=True)), strict=True))
    return np.array([found.get(label, 0) for label in classes.tolist()]) / len(labels)


def _of_deciles(old: np.ndarray, new: np.ndarray) -> tuple[float, float]:
    """The index of scores, and its limit, by the deciles of the old ones."""
    borders = np.unique(np.quantile(old, np.arange(1, 10) / 10))
    counts = (np.bincount(np.searchsorted(borders, each), minlength=len(borders) + 1) for each in (old, new))
    return of_cells(*(each.astype(np.float64) for each in counts))

"""Scans in which each row and each person add a bounded amount, for sums that will be made private."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.core import arguments, messages, row_checks
from streamnb.encoding.learning import of_values
from streamnb.rows.boundary import check_not_delayed
from streamnb.rows.clipping import Clip, Clipping, content_keys, rows_to_count
from streamnb.rows.preparing import LearnedStep
from streamnb.rows.source import Source
from streamnb.rows.splits import Folding
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.grouping import LabelCodes

WEIGHED = "sample_weight does not go with clip=, because weights have no bound; leave it out"


def check_clipping(
    clip: Any, rows_per_group: Any, n_features: Any, *, groups: Any, repeats: int, transform: Any, normalize: Any
) -> Clipping | None:
    """How rows are bounded; None without `clip`, and then its other options are refused."""
    if clip is None:
        for name, given in (("rows_per_group", rows_per_group), ("n_features", n_features)):
            if given is not None:
                raise ValueError(f"{name}={given!r} goes with clip=; give snb.Clip(..), or leave it out")
        return None
    if not isinstance(clip, Clip):
        raise TypeError(f"clip={clip!r} should be a snb.Clip, such as snb.Clip(presence=True, max_features=50)")
    if n_features is None:
        raise ValueError("clip= needs n_features=, the number of columns: learning it would reveal information")
    arguments.positive_integer("n_features", n_features)
    if (groups is None) != (rows_per_group is None):
        missing, given = ("rows_per_group", "groups") if rows_per_group is None else ("groups", "rows_per_group")
        raise ValueError(f"clip= with {given}= needs {missing}=, too: who a row belongs to, and how many rows count")
    if repeats != 1:
        raise ValueError(f"repeats={repeats} would count each row several times, which clip= does not allow; take 1")
    if not isinstance(transform, LearnedStep) and of_values(transform) is not transform:
        raise ValueError(f"transform={transform!r} is learned from the rows and would reveal information; leave it out")
    if clip.presence and (normalize is not None or not isinstance(transform, LearnedStep | None)):
        raise ValueError("Clip(presence=True) counts values as 0 or 1; leave transform and normalize out")
    most = 1 if rows_per_group is None else arguments.positive_integer("rows_per_group", rows_per_group)
    return Clipping(clip, most, groups is not None)


def check_declared(classes: Any, rows: Source, n_features: int | None, batch: Any, weight: Any) -> None:
    """Refuse what reveals information: classes and columns that are not declared, and weights without a bound."""
    if classes is None:
        raise ValueError("clip= needs classes=, all labels that may occur: learning them would reveal information")
    if batch is not None:
        raise ValueError(
            "batch= takes its names from the rows, which would reveal information; with clip= leave it out"
        )
    if weight is not None:
        raise ValueError(WEIGHED)
    if rows.n_features is not None:
        _check_width(rows.n_features, n_features)
    if rows.encoding is not None and rows.encoding.learned:
        messages.warn(
            "the columns of X were learned from rows, and no noise hides what they tell: a vocabulary, or the values "
            "of a table; learn them from rows that are public, or hash"
        )


def with_people(rows: Source, clipping: Clipping, groups: Any) -> tuple[Source, int | None]:
    """The rows, with weight 0 where a person has more of them than count, and how many are left, if that is known."""
    if not clipping.by_group:
        return rows, rows.n_rows
    check_not_delayed(groups=groups)
    column = row_checks.check_labels(rows.whole_column(groups, "groups"), "groups")
    if rows.n_rows is not None:
        row_checks.check_lengths(rows.n_rows, len(column), "groups")
    kept = rows_to_count(column, clipping.rows_per_group, clipping.clip.seed)
    return rows.with_columns(None, kept.astype(np.float64)), int(kept.sum())


def moments_of(clip: Clip, moments: Any) -> Any:
    """The names of moments, of which fewer are summed by default where each has a noise of its own."""
    return ("sum", "sum_sq") if moments is None and not clip.presence else moments


def folding_of_people(folding: Folding | None) -> Folding | None:
    """A folding in which the fold of a row does not depend on its number, that is, on how many rows precede it."""
    return replace(folding, by="groups") if folding is not None and folding.by == "rows" else folding


def clipped(rows: tuple[Any, ...], classes: Any, clipping: Clipping) -> tuple[Any, ...]:
    """The rows of a block that count, given and returned as chunk, survey, labels, weights and groups or folds."""
    chunk, _, y, weight, column = rows
    if sp.issparse(y):
        raise ValueError("y is an indicator of labels; clip= takes one label a row, so that a row counts once")
    if weight is not None and not clipping.by_group:  # of rows that bring weights
        raise ValueError(WEIGHED)
    codes = LabelCodes(classes)
    kept = np.ones(len(y), bool) if weight is None else weight > 0.0
    if row_checks.label_kind(y) == row_checks.label_kind(classes) and codes.codes_of(y) is None:
        kept &= np.isin(y, classes)
    if not kept.all():
        rows_kept = np.flatnonzero(kept)
        chunk, y, column = chunk.picked(rows_kept), y[rows_kept], None if column is None else column[rows_kept]
    chunk, survey = clipping.clip.applied(chunk)
    return chunk, survey, y, None, content_keys(chunk) if column is None else column


def bounded(stats: ClassStats, clipping: Clipping, n_rows: int | None, n_features: int | None) -> ClassStats:
    """Statistics that know how their rows were bounded; models of them score whole rows.

    How many of the rows have other labels is said on the screen, where nothing is kept.
    """
    _check_width(stats.n_features, n_features)
    if n_rows is not None and n_rows > stats.n_rows:
        n_outside = n_rows - stats.n_rows
        messages.warn(f"{n_outside:,} rows have labels outside of classes and count nowhere; the sums do not tell this")
    options = stats.options
    if clipping.clip.presence:
        options = replace(options, transform="binary")
    folds = tuple(replace(fold, options=options) for fold in stats.folds)
    return replace(stats, options=options, clipping=clipping, folds=folds)


def _check_width(n_columns: int, n_features: int | None) -> None:
    if n_columns != n_features:
        raise ValueError(f"X has {n_columns} columns, and n_features={n_features} were declared; give the same columns")

"""Searches for features: what they look at beside the sums, and what all of them have in common."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from streamnb.core import persistence
from streamnb.passes.options import RunOptions
from streamnb.rows.source import Source
from streamnb.selection.criteria import Criterion
from streamnb.selection.feature_ranking import FeatureRanking, scored, with_weight
from streamnb.stats.class_stats import ClassStats


class Found(NamedTuple):
    """What a search has found.

    Attributes
    ----------
    chosen : (n_chosen,) int
        Features that it keeps, the best first; none where it ranks alone, and `order` says how.
    order : (n,) int
        All features that it looked at, the best first.
    scores : (n_features,) float64
    curve : (n_steps, n_folds) or None
    """

    chosen: np.ndarray | None
    order: np.ndarray
    scores: np.ndarray
    curve: np.ndarray | None = None


@dataclass(frozen=True)
class FeatureSearch(persistence.Parameters):
    """A way to choose features that looks at more than one of them at a time; a subclass says what it reads.

    It begins with the scores of a criterion, which any search for a few features among many needs.

    Attributes
    ----------
    name : str
    reads : str
        What it looks at beside the sums, in words.
    keeps : bool
        False where it ranks alone.
    """

    name: ClassVar[str]
    reads: ClassVar[str]
    keeps: ClassVar[bool] = True

    @property
    def begins(self) -> str:
        """The criterion whose best features are looked at."""
        raise NotImplementedError

    @property
    def n_folds(self) -> int | None:
        """Into how many folds a scan for it splits the rows."""
        return None

    def moments(self, criterion: Criterion) -> tuple[str, ...]:
        """What that scan sums."""
        return criterion.moments

    def range(self, criterion: Criterion) -> tuple[float, float]:
        """The least and the largest value of x that it takes."""
        return criterion.lowest, criterion.highest

    def asked(self, k: Any) -> FeatureSearch:
        """The search for k features, "auto" for as many as it finds good, or "all"."""
        return self

    def check(self, criterion: Criterion) -> None:
        """Refuse what it cannot be asked under."""

    def read(self, stats: ClassStats, criterion: Criterion, rows: Source, options: RunOptions) -> Any:
        """What it looks at beside the sums, from another read of the same rows; None where the sums tell."""
        raise NotImplementedError

    def found(self, stats: ClassStats, criterion: Criterion, beside: Any) -> Found:
        """The features, from the sums and what was read beside them."""
        raise NotImplementedError


def best_first(stats: ClassStats, search: FeatureSearch, criterion: Criterion) -> tuple[np.ndarray, np.ndarray]:
    """Scores (n_features,) by the criterion that a search begins with, and features, the best first."""
    scores, _ = scored(stats, search.begins, criterion)
    return scores, np.argsort(-scores, kind="stable")


def among(stats: ClassStats, search: FeatureSearch, criterion: Criterion, candidates: int | None) -> np.ndarray | None:
    """The best features by that criterion, ascending; None for all."""
    if candidates is None or candidates >= stats.n_features:
        return None
    return np.sort(best_first(stats, search, criterion)[1][:candidates])


def searched(stats: ClassStats, search: FeatureSearch, criterion: Criterion, beside: Any) -> FeatureRanking:
    """The ranking that a search leads to: what it keeps, what else it looked at, and all others in their order."""
    if stats.multilabel:
        raise ValueError(f"y is a 2-D indicator of labels; by={search.name!r} takes one label a row")
    with_weight(stats)
    search.check(criterion)
    found = search.found(stats, criterion, beside)
    first = np.concatenate([np.zeros(0, np.int64) if found.chosen is None else found.chosen, found.order])
    _, places = np.unique(first, return_index=True)
    first = first[np.sort(places)]
    others = np.setdiff1d(np.argsort(-found.scores, kind="stable"), first, assume_unique=True)
    ranking = np.concatenate([first, others]).astype(np.int64)
    chosen = None if found.chosen is None else ranking[: len(found.chosen)]
    return FeatureRanking(search.name, found.scores, ranking, None, criterion.values, None, chosen, found.curve)

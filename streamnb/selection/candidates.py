"""Candidates of cross-validation, a family and a grid of penalties each, and the results of their models by fold."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from streamnb.evaluation.scorers import Scorer
from streamnb.problem.family import Family
from streamnb.problem.penalties import Penalty
from streamnb.rows.preparing import NONE
from streamnb.rows.splits import check_learns
from streamnb.scanning.class_scan import ClassScan
from streamnb.selection.folded_scan import ScannedFolds
from streamnb.selection.score_table import GridScores
from streamnb.solving.weight_paths import weight_path
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.second_moments import Products


@dataclass(frozen=True, eq=False)
class Candidate:
    """A family and a penalty, judged at every point of its grid, on statistics with folds.

    Attributes
    ----------
    stats : ClassStats
    family : Family
    options : dict
        The arguments of `solve` other than family and penalty.
    path : the models of all rows, at every grid point
    by_split : dict {split: (family, statistics)}, optional
        Those of the rows outside each fold, where columns are learned from these alone.
    """

    stats: ClassStats
    family: Any
    options: dict[str, Any]
    path: Any
    by_split: Mapping[int, tuple[Any, ClassStats]] | None = None

    @classmethod
    def of(
        cls, stats: ClassStats, family: Any, penalty: Penalty | None, options: dict[str, Any], n_threads: int | None
    ) -> "Candidate":
        """A candidate with its models of all rows."""
        return cls(stats, family, options, weight_path(stats, family, penalty, n_threads=n_threads, **options))

    def outside(self, split: int, rest: ClassStats | None) -> Any:
        """The models of the rows outside a fold, at the same taus; `rest` are their statistics unless in `by_split`."""
        family, stats = (self.family, rest) if self.by_split is None else self.by_split[split]
        assert stats is not None
        check_learns(stats.total_weight, split, self.stats.n_folds)
        if family.covariant and np.count_nonzero(stats.weight) < 2:
            fold, seen = split % self.stats.n_folds, stats.classes[stats.weight > 0.0].tolist()
            raise ValueError(
                f"y holds one class only ({seen}) outside fold {fold}; take fewer folds, another seed, or folds= that "
                "mix the classes"
            )
        with of_columns_outside(split % self.stats.n_folds, self.by_split is not None):
            return weight_path(stats, family, self.path.penalty, n_threads=1, **self.options)


@contextmanager
def of_columns_outside(fold: int, learned: bool = True) -> Iterator[None]:
    """Add to errors that the columns were learned outside a fold."""
    try:
        yield
    except ValueError as error:
        if not learned:
            raise
        raise ValueError(f"{error}: these columns were learned from the rows outside fold {fold}") from error


@dataclass(frozen=True, eq=False)
class JudgedGrid:
    """Evaluations of the models of a candidate, at every point of its grid, in each split.

    Attributes
    ----------
    path : the models of all rows
    unseen, seen : dict {split: evaluation}
        On the rows that the models of a split have not seen, and on those that they have seen, where these are judged.
    singular : (G,) bool
        The points at which the models of some split do not exist.
    """

    path: Any
    unseen: Mapping[int, Any]
    seen: Mapping[int, Any]
    singular: np.ndarray

    def __or__(self, other: "JudgedGrid") -> "JudgedGrid":
        """Join the evaluations of further splits."""
        unseen, seen = {**self.unseen, **other.unseen}, {**self.seen, **other.seen}
        return JudgedGrid(self.path, unseen, seen, self.singular | other.singular)

    def scores(self, scorer: Scorer) -> GridScores:
        """Scores at all points, including those of models that do not exist."""
        unseen, seen = ([judged[split] for split in sorted(judged)] for judged in (self.unseen, self.seen))
        scores = GridScores.of(unseen, self.path, scorer)
        return replace(scores, train=GridScores.of(seen, self.path, scorer)) if seen else scores


def scores_of(judged: Sequence[JudgedGrid], scorer: Scorer) -> GridScores:
    """Scores of a candidate from the scores with each map that its family tries; NaN at points without a model."""
    scores = GridScores.joined([one.scores(scorer) for one in judged])
    return scores.without(np.concatenate([one.singular for one in judged]))


def summing(scan: ClassScan, families: Sequence[Family], idf: bool) -> ClassScan:
    """The scan with the sums that these families, and idf, need."""
    moments = {moment for family in families for moment in family.moments} | ({"nonzero"} if idf else set())
    how = Products(pooled=all(family.pooled for family in families if family.covariant))
    return replace(scan, how=how).with_moments(moments)


def with_maps(
    mapped: Mapping[str, ScannedFolds],
    family: Family,
    penalty: Penalty | None,
    options: dict[str, Any],
    n_threads: int | None,
) -> list[Candidate]:
    """A candidate for each of the maps that its family tries, or a single one without maps."""
    found = []
    for name in family.map_names or [NONE]:
        scanned = mapped[name]
        own, *outside = (
            one.with_map(name) if one.map_names else one
            for one in (family, *(scanned.families or [family] * len(scanned.rests)))
        )
        by_split = dict(enumerate(zip(outside, scanned.rests, strict=True))) if scanned.rests else None
        found.append(replace(Candidate.of(scanned.stats, own, penalty, options, n_threads), by_split=by_split))
    return found

"""What is judged by cross-validation: a family and a penalty with its grid, for each map that the family tries."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from streamnb.problem.family import Family
from streamnb.problem.penalties import Penalty
from streamnb.rows.preparing import NONE
from streamnb.rows.splits import check_learns
from streamnb.selection.folded_scan import ScannedFolds
from streamnb.selection.grid_scores import GridScores
from streamnb.solving.weight_paths import weight_path
from streamnb.stats.class_stats import ClassStats


@dataclass(frozen=True, eq=False)
class Candidate:
    """A family and a penalty, whose whole grid is judged, on statistics with folds; `options` are those of `solve`.

    `rests` are the family and statistics of the rows outside each fold, where columns are learned of these alone.
    """

    stats: ClassStats
    family: Any
    penalty: Penalty | None
    options: dict[str, Any]
    rests: Mapping[int, tuple[Any, ClassStats]] | None = None

    def path(self, n_threads: int | None) -> Any:
        """The models of all rows."""
        return weight_path(self.stats, self.family, self.penalty, n_threads=n_threads, **self.options)

    def of_rest(self, split: int, rest: ClassStats | None, penalty: Penalty | None) -> Any:
        """The models of the rows outside a fold, by a penalty whose taus are known."""
        family, stats = (self.family, rest) if self.rests is None else self.rests[split]
        assert stats is not None
        check_learns(stats.total_weight, split, self.stats.n_folds)
        with of_columns_outside(split % self.stats.n_folds, self.rests is not None):
            return weight_path(stats, family, penalty, n_threads=1, **self.options)


@contextmanager
def of_columns_outside(fold: int, learned: bool = True) -> Iterator[None]:
    """Say of what is wrong with columns that they were learned outside a fold."""
    try:
        yield
    except ValueError as error:
        if not learned:
            raise
        raise ValueError(f"{error}: these are the columns that were learned of the rows outside fold {fold}") from error


def joined_scores(found: list[tuple[GridScores, np.ndarray]], lengths: list[int]) -> list[GridScores]:
    """Scores of candidates from those of their maps, so many of each; NaN at points that have no model."""
    ends = np.cumsum(lengths)
    parts = [found[end - length : end] for end, length in zip(ends, lengths, strict=True)]
    return [_of_parts(part) for part in parts]


def _of_parts(parts: list[tuple[GridScores, np.ndarray]]) -> GridScores:
    scores, lacking = [own for own, _ in parts], np.concatenate([singular for _, singular in parts])
    joined = GridScores.joined(scores).without(lacking)
    if scores[0].train is None:
        return joined
    return replace(joined, train=GridScores.joined([own.train for own in scores if own.train]).without(lacking))


def with_maps(
    mapped: Mapping[str, ScannedFolds],
    family: Family,
    penalty: Penalty | None,
    options: dict[str, Any],
) -> list[Candidate]:
    """A candidate with each of the maps that its family tries, or as it is."""

    def with_map(name: str) -> Candidate:
        def of(family: Family) -> Family:
            return family.with_map(name) if family.map_names else family

        scanned = mapped[name]
        own = map(of, scanned.families or [family] * len(scanned.rests))
        rests = dict(enumerate(zip(own, scanned.rests, strict=True))) if scanned.rests else None
        return Candidate(scanned.stats, of(family), penalty, options, rests)

    return [with_map(name) for name in family.map_names or [NONE]]


def without(stats: ClassStats, split: int) -> ClassStats:
    """The statistics of the rows outside a split."""
    repeat, number = divmod(split, stats.folding.n_folds)  # type: ignore[union-attr]
    return stats.without_fold(number, repeat)

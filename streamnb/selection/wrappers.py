"""Searches that judge subsets of features by cross-validated models; no data is read.

The contribution of each feature to the scores of a sample of rows is computed beforehand (`contributions`). A subset is
judged by adding these up; no model is fitted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, ClassVar, NamedTuple

import numpy as np

from streamnb.core import arguments, persistence
from streamnb.passes.contract import RunOptions
from streamnb.problem.families import as_family
from streamnb.problem.family import Family
from streamnb.problem.penalties import as_penalty
from streamnb.rows.source import Source
from streamnb.selection.class_sample import ClassSample
from streamnb.selection.contributions import JudgedSubsets, State, check_adds_up, judged
from streamnb.selection.criteria import Criterion
from streamnb.selection.feature_ranking import FeatureSearch, Found
from streamnb.stats.class_stats import ClassStats

MAX_FEATURES = 20  # of an exhaustive search, which judges a million subsets then
GROUPED = 8  # features whose subsets are all judged at once


@dataclass(frozen=True)
class Wrapper(FeatureSearch):
    """Chooses features by the accuracy of naive Bayes models with them, cross-validated on a sample of rows.

    The first read sums the folds. The best features by `first` become candidates, and the second read keeps `rows` rows
    of each class. The search then needs only each feature's contribution to the scores of these rows, by the models of
    the folds that have not seen them: h rows, c candidates and R rows of weights take 4 h c R bytes. This works for
    families and penalties under which the weight of a feature does not depend on other features, and for "multinomial",
    whose normaliser ``ln S_yA`` follows from the sums of the subset A: ``sum_A x_j [ln S_yj - ln S_yA]``. The variance
    of Gaussian features is the one shared by all of them. The scores are optimistic, as candidates are chosen on all
    rows and the best of many scores is reported; judge the chosen features on other rows.

    Parameters
    ----------
    first : str
        The criterion whose best features are candidates, as in `rank_features`.
    candidates : int
        The number of candidates.
    rows : int or None
        Rows of each class; a smaller class is kept whole. Classes are weighted as in all rows. None: all rows.
    folds : int
        At least 2. The rows of a group of `table(groups=)` stay in one fold.
    penalty : Penalty, optional
        With one tau, as in `solve`.
    k : int or None
        How many features to find; None for the best number. `FeatureSelector` sets its own.
    seed : int
        Seed of the folds and of the sample.
    """

    first: str = "score"
    candidates: int = 100
    rows: int | None = 1000
    folds: int = 5
    penalty: Any = None
    k: int | None = None
    seed: int = 0
    reads: ClassVar[str] = "a sample of rows, of statistics with folds: sample=snb.sample_rows(X, y, stats)"

    def __post_init__(self) -> None:
        super().__post_init__()
        arguments.positive_integer("candidates", self.candidates)
        arguments.positive_integer("folds", self.folds, 2)
        as_penalty(self.penalty)
        if self.k is not None:
            arguments.positive_integer("k", self.k)

    @property
    def begins(self) -> str:  # type: ignore[override]
        return self.first

    @property
    def n_folds(self) -> int | None:  # type: ignore[override]
        return self.folds

    def needs(self, criterion: Criterion) -> list[Criterion | Family]:
        return [criterion, as_family(criterion.family)]

    def with_k(self, k: Any) -> Wrapper:
        return replace(self, k=None if k in ("auto", "all") else k)

    def check(self, criterion: Criterion) -> None:
        check_adds_up(self.name, criterion.family, criterion.scheme, self.penalty)

    def read(self, stats: ClassStats, criterion: Criterion, rows: Source, options: RunOptions) -> ClassSample:
        self._check_k(min(stats.n_features, self.candidates), stats.n_features)
        return super().read(stats, criterion, rows, options)

    def found(self, stats: ClassStats, criterion: Criterion, beside: Any) -> Found:
        sample = self.checked_sample(beside if stats.folding is not None else None)
        self._check_k(len(sample.columns), stats.n_features)
        scores, order = self.best_first(stats, criterion)
        models = judged(stats, sample, self.name, criterion, as_penalty(self.penalty))
        order = order[np.isin(order, sample.columns)]
        chosen, path, curve = self._search(models, np.searchsorted(sample.columns, order))
        first = sample.columns[np.array([*chosen, *path], np.int64)]
        return Found(first[: len(chosen)], np.concatenate([first, order]), scores, curve)

    def _check_k(self, n_candidates: int, n_features: int) -> None:
        if self.k is not None and self.k > n_candidates:
            what = f"{n_features} features" if n_candidates == n_features else f"{n_candidates} candidates"
            raise ValueError(f"k={self.k} is more than the {what} that by={self.name!r} chooses among")

    def _search(self, models: JudgedSubsets, order: np.ndarray) -> tuple[list[int], list[int], np.ndarray]:
        """The features kept, those that would follow, and the scores by number of features.

        Features are indices among the candidates; `order` has them best first by the criterion.
        """
        raise NotImplementedError

    def _n_kept(self, curve: np.ndarray) -> int:
        """k, or the smallest number of features with the best mean score."""
        return int(np.argmax(curve.mean(axis=1))) + 1 if self.k is None else self.k


@persistence.register
@dataclass(frozen=True)
class ForwardSelection(Wrapper):
    """Sequential forward selection, "sfs": repeatedly adds the feature with the best mean score.

    Ties go to the first column. With ``rows=None``, which keeps all rows, the result is that of scikit-learn's
    `SequentialFeatureSelector` on the same folds.

    Parameters
    ----------
    first, candidates, rows, folds, penalty, k, seed
        As in every search that judges subsets: the criterion whose best features are candidates, the number of these,
        the rows of each class that are judged, the number of folds, a penalty of one tau, the number of features to
        find (None: the best number), and the seed of folds and sample.

    Examples
    --------
    >>> import numpy as np, streamnb as snb
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 300)
    >>> X = rng.poisson(1.0 + np.outer(y, [0.0, 2.0, 0.0, 2.0]))
    >>> snb.FeatureSelector(snb.ForwardSelection(folds=3), k=2, family="poisson").fit(X, y).chosen_
    array([1, 3])
    """

    name: ClassVar[str] = "sfs"

    def _search(self, models: JudgedSubsets, order: np.ndarray) -> tuple[list[int], list[int], np.ndarray]:
        n_steps = len(order) if self.k is None else self.k
        path, curve = _greedy(models, models.contributions.start(), np.sort(order), 1.0, n_steps)
        n = self._n_kept(np.array(curve))
        return path[:n], path[n:], np.array(curve)


@persistence.register
@dataclass(frozen=True)
class IncrementalSelection(Wrapper):
    """Incremental wrapper subset selection, "iwss": tries each feature once, the best by `first` before the others.

    The first feature is kept, and each further one that raises the mean score and the scores of at least two folds
    (Bermejo, Gamez and Puerta 2011). It stops early at `k` features. Parameters are those of `ForwardSelection`.

    Examples
    --------
    >>> import numpy as np, streamnb as snb
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 300)
    >>> X = rng.poisson(1.0 + np.outer(y, [0.0, 2.0, 0.0, 2.0]))
    >>> stats = snb.scan(X, y, folds=3)
    >>> sample = snb.sample_rows(X, y, stats)
    >>> snb.rank_features(stats, snb.IncrementalSelection(), sample=sample).chosen
    array([3, 1])
    """

    name: ClassVar[str] = "iwss"

    def _search(self, models: JudgedSubsets, order: np.ndarray) -> tuple[list[int], list[int], np.ndarray]:
        state, chosen, curve = models.contributions.start(), list[int](), list[np.ndarray]()
        for feature in order.tolist():
            scores = models.scores(state, np.array([feature]))[:, 0]
            if curve and not (scores.mean() > curve[-1].mean() and np.count_nonzero(scores > curve[-1]) >= 2):
                continue
            chosen.append(feature)
            curve.append(scores)
            state = models.contributions.moved(state, feature, 1.0)
            if len(chosen) == self.k:
                break
        return chosen, [], np.array(curve)


@persistence.register
@dataclass(frozen=True)
class BackwardElimination(Wrapper):
    """Backward elimination, "backward": starts with all candidates and removes the one that is least missed.

    That is the feature without which the mean score is best; ties go to the first column, as in scikit-learn's
    `SequentialFeatureSelector`. The curve begins with one feature, as in all searches. Parameters are those of
    `ForwardSelection`.

    Examples
    --------
    >>> import numpy as np, streamnb as snb
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 300)
    >>> X = rng.poisson(1.0 + np.outer(y, [0.0, 2.0, 0.0, 2.0]))
    >>> snb.FeatureSelector("backward", k=2, family="poisson").fit(X, y).chosen_
    array([1, 3])
    """

    name: ClassVar[str] = "backward"

    def _search(self, models: JudgedSubsets, order: np.ndarray) -> tuple[list[int], list[int], np.ndarray]:
        parts, features = models.contributions, np.sort(order)
        state = parts.start()
        for feature in features.tolist():
            state = parts.moved(state, feature, 1.0)
        last = features[-1:]
        whole = models.scores(parts.moved(state, int(last[0]), -1.0), last)[:, 0]
        removed, scores = _greedy(models, state, features, -1.0, len(features) - 1)
        path, curve = [*np.setdiff1d(features, removed).tolist(), *reversed(removed)], np.array([whole, *scores])[::-1]
        n = self._n_kept(curve)
        return path[:n], path[n:], curve


def _greedy(
    models: JudgedSubsets, state: State, features: np.ndarray, sign: float, n_steps: int
) -> tuple[list[int], list[np.ndarray]]:
    """The features added to a subset one by one (sign 1) or removed from it (-1), and the scores after each step.

    Each step takes the feature with the best mean score; ties go to the first.
    """
    path, curve = [], []
    for _ in range(n_steps):
        scores = models.scores(state, features, sign)
        best = int(np.argmax(scores.mean(axis=0)))
        path.append(int(features[best]))
        curve.append(scores[:, best])
        state, features = models.contributions.moved(state, path[-1], sign), np.delete(features, best)
    return path, curve


class Subset(NamedTuple):
    """A subset of features and its scores in the folds."""

    mean: float
    features: tuple[int, ...]
    scores: np.ndarray


@persistence.register
@dataclass(frozen=True)
class ExhaustiveSearch(Wrapper):
    """Judges all subsets of at most 20 features, "exhaustive", for the best one of k features or of any number.

    Ties go to the smaller subset, then to the one with the earlier columns. The curve has the scores of the best subset
    of each size; these need not be nested. Parameters are those of `ForwardSelection`.

    Examples
    --------
    >>> import numpy as np, streamnb as snb
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 300)
    >>> X = rng.poisson(1.0 + np.outer(y, [0.0, 2.0, 0.0, 2.0]))
    >>> selector = snb.FeatureSelector("exhaustive", k=2, family="poisson").fit(X, y)
    >>> selector.chosen_, selector.curve_.shape
    (array([1, 3]), (4, 5))
    """

    candidates: int = MAX_FEATURES
    name: ClassVar[str] = "exhaustive"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.candidates > MAX_FEATURES:
            raise ValueError(
                f"candidates={self.candidates} should be at most {MAX_FEATURES}: that is a million subsets"
            )

    def _search(self, models: JudgedSubsets, order: np.ndarray) -> tuple[list[int], list[int], np.ndarray]:
        n = len(order)
        if n > MAX_FEATURES:
            raise ValueError(f"by='exhaustive' takes {MAX_FEATURES} features at most; the sample has {n}")
        few = min(n, GROUPED)
        subsets = [list(combinations(range(few), size)) for size in range(few + 1)]
        groups = np.array([np.isin(np.arange(n), subset) for alike in subsets for subset in alike])
        grouped = replace(models, contributions=models.contributions.grouped(groups))
        best: dict[int, Subset] = {}
        state, every, before = models.contributions.start(), np.arange(2**few), 0
        for number in range(2 ** (n - few)):
            gray = number ^ number >> 1  # each differs from the one before it by one feature
            for at in range(n - few):
                if (gray ^ before) >> at & 1:
                    state = models.contributions.moved(state, few + at, 1.0 if gray >> at & 1 else -1.0)
            before, others = gray, tuple(few + at for at in range(n - few) if gray >> at & 1)
            _keep_best(best, grouped.scores(state, every), subsets, others)
        curve = np.array([best[size].scores for size in range(1, n + 1)])
        return list(best[self._n_kept(curve)].features), [], curve


def _keep_best(
    best: dict[int, Subset], scores: np.ndarray, subsets: list[list[tuple[int, ...]]], others: tuple[int, ...]
) -> None:
    """Update the best subset of each size with the scores of `subsets`, each joined with the features `others`."""
    mean = scores.mean(axis=0)
    first = 0
    for alike in subsets:  # of one size
        own = mean[first : first + len(alike)]
        known, top = best.get(len(alike[0]) + len(others)), own.max()
        if known is None or top >= known.mean:
            features, at = min((alike[at] + others, at) for at in np.flatnonzero(own == top).tolist())
            if known is None or top > known.mean or features < known.features:
                best[len(features)] = Subset(float(top), features, scores[:, first + at])
        first += len(alike)

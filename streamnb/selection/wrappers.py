"""Searches that judge subsets of features by cross-validated models, by what each feature adds to their scores.

The contribution of each feature to the scores of a sample of rows is computed beforehand. A subset is judged by adding
these up; no model is fitted, and no data is read.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np

from streamnb.core import arguments, memory, persistence
from streamnb.core.threads import one_thread
from streamnb.passes.contract import RunOptions
from streamnb.problem.families import Together, as_family
from streamnb.problem.family import Family
from streamnb.problem.multinomial import Multinomial
from streamnb.problem.penalties import Custom, Penalty, Pull, TopK, as_penalty, pull_at
from streamnb.problem.schemes import Scheme, as_scheme, top_class
from streamnb.rows.source import Source
from streamnb.selection.criteria import Criterion
from streamnb.selection.feature_ranking import ClassSample, FeatureSearch, Found
from streamnb.solving.decorrelation import decorrelated
from streamnb.solving.weight_problem import Problem, check_penalty
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.moment_sums import TABLE

CURE = "use fewer rows of each class, or fewer candidates"
FEW = 512  # rows whose contributions stay in the cache until they are rounded
AT_ONCE = 1 << 22  # scores of rows by models with one feature more

# The features kept, those that would follow, and the scores by number of features.
Subsets = tuple[list[int], list[int], np.ndarray]
State = tuple[np.ndarray, ...]  # of a subset: what the scores of rows by its models are made of


@dataclass(frozen=True, eq=False)
class AddedScores:
    """Margins that add up: `base` (n_rows, R, 1) without any feature, `parts` (n_rows, R, n) of each.

    A subset is a state: that of none is `start`, and `moved` adds features to it (sign 1) or takes them away (-1).
    """

    scheme: Scheme
    base: np.ndarray
    parts: np.ndarray

    def start(self) -> State:
        """What models know without any feature."""
        return (self.base,)

    def moved(self, state: State, feature: int, sign: float) -> State:
        """The state with a feature more or less."""
        return (state[0] + np.float32(sign) * self.parts[:, :, feature, None],)

    def decided(self, state: State, features: Any, sign: float) -> np.ndarray:
        """Class numbers of the rows, (n_rows, n), by the models with one more or less of these features each."""
        more = self.parts[:, :, features]
        return self.scheme.decide(state[0] + more if sign > 0 else state[0] - more)

    def grouped(self, groups: np.ndarray) -> AddedScores:
        """The same of groups of features, (n_groups, n_features) of 0 and 1, in place of features."""
        return replace(self, parts=_summed(self.parts, groups))


@dataclass(frozen=True, eq=False)
class CountedScores:
    """Multinomial scores of a subset A, ``sum_A x_j [ln S_yj - ln S_yA]``, from which priors are apart.

    `base` (n_rows, K, 1) of the priors; `parts` (n_rows, K, n) are x_j ln S_yj, `counts` (n_rows, n) x_j, `sums`
    (n_folds, K, n) S_yj of the rows outside each fold, and `fold` (n_rows,). All logarithms are less those of the first
    class: scores are compared alone, and what all classes share would cost digits. States are as those of
    `AddedScores`.
    """

    base: np.ndarray
    parts: np.ndarray
    counts: np.ndarray
    sums: np.ndarray
    fold: np.ndarray

    def start(self) -> State:
        return self.base, np.zeros((len(self.fold), 1)), np.zeros((*self.sums.shape[:2], 1))

    def moved(self, state: State, feature: int, sign: float) -> State:
        scores, counts, sums = state
        scores = scores + np.float32(sign) * self.parts[:, :, feature, None]
        return scores, counts + sign * self.counts[:, feature, None], sums + sign * self.sums[:, :, feature, None]

    def decided(self, state: State, features: Any, sign: float) -> np.ndarray:
        scores, counts, sums = state
        total, n = sums + sign * self.sums[:, :, features], counts + sign * self.counts[:, features]
        with np.errstate(divide="ignore", invalid="ignore"):  # of no features nothing is left
            logs = np.where(total > 0.0, np.log(total), 0.0)
        logs = (logs - logs[:, :1])[self.fold]
        # of one feature alone both are the same bits, and priors decide
        more = np.float32(sign) * self.parts[:, :, features] - (n[:, None] * logs).astype(np.float32)
        return top_class(scores + more)

    def grouped(self, groups: np.ndarray) -> CountedScores:
        parts, counts, sums = (_summed(values, groups) for values in (self.parts, self.counts, self.sums))
        return replace(self, parts=parts, counts=counts, sums=sums)


def _summed(values: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """Sums along the last axis over groups of features, (n_groups, n_features)."""
    with one_thread():
        return values @ groups.T.astype(values.dtype)


@dataclass(frozen=True, eq=False)
class JudgedSubsets:
    """The accuracy of subsets on the rows of each fold; rows are weighted, and classes count as in all rows.

    Rows are ordered by fold; `ends` (F + 1,) are the boundaries.
    """

    contributions: AddedScores | CountedScores
    codes: np.ndarray
    weight: np.ndarray | None  # None: 1 each
    ends: np.ndarray

    def scores(self, state: State, features: np.ndarray, sign: float = 1.0) -> np.ndarray:
        """Shares of right answers with one of these features more or less, (n_folds, n)."""
        step = max(AT_ONCE // len(self.codes), 1)
        pieces = [features[first : first + step] for first in range(0, len(features), step)]
        return np.concatenate([self._scores(state, piece, sign) for piece in pieces], axis=1)

    def _scores(self, state: State, features: np.ndarray, sign: float) -> np.ndarray:
        columns: Any = features
        if len(features) == self.contributions.parts.shape[2]:
            columns = slice(None)  # which copies nothing
        right = self.contributions.decided(state, columns, sign) == self.codes[:, None]
        folds = list(pairwise(self.ends))
        if self.weight is None:
            return np.stack([np.count_nonzero(right[a:b], axis=0) / (b - a) for a, b in folds])
        with one_thread():
            return np.stack([self.weight[a:b] @ right[a:b] / self.weight[a:b].sum() for a, b in folds])


def judged(
    stats: ClassStats, sample: ClassSample, by: str, criterion: Criterion, penalty: Penalty | None
) -> JudgedSubsets:
    """Contributions of features to the scores of a sample's rows, under the family and scheme of a criterion."""
    sample = sample.by_fold()
    family = check_adds_up(by, criterion.family, criterion.scheme, penalty)
    scheme = as_scheme(criterion.scheme, stats.classes, criterion.reference, False)
    n_rows = scheme.n_rows(len(stats.classes))
    what = f"contributions of {len(sample.columns):,} features to {n_rows} scores of {len(sample.codes):,} rows"
    memory.check(what, 4 * len(sample.codes) * len(sample.columns) * n_rows, None, CURE)
    ends = np.searchsorted(sample.fold, np.arange(stats.n_folds + 1))
    weighed = [sample.weight[a:b].sum() > 0.0 for a, b in pairwise(ends)]
    if not all(weighed):
        raise ValueError(
            f"the sample has no row of fold {weighed.index(False)}, of {len(sample.codes)} rows of {len(weighed)} "
            "folds; use more rows of each class, or fewer folds"
        )
    outside = [stats.without_fold(fold) for fold in range(stats.n_folds)]
    parts: AddedScores | CountedScores
    if isinstance(family, Multinomial):
        parts = _counted(sample, outside, ends, criterion.smoothing)
    else:
        parts = _added(sample, outside, ends, family, scheme, criterion.smoothing, penalty)
    weight = sample.shares(stats)
    return JudgedSubsets(parts, sample.codes, None if (weight == 1.0).all() else weight, ends)


def check_adds_up(by: str, family: Any, scheme: str, penalty: Any) -> Family:
    """The family, if the contributions of its features add up under the penalty; otherwise raises."""
    member, penalty = as_family(family), as_penalty(penalty)
    refused = f"by={by!r} adds up what each feature brings to a score, which depends on the others under"
    multinomial = type(member) is Multinomial
    each = all(not (m.coupled or m.coded or isinstance(m, Together)) for m in member.members)
    linear = all(getattr(m, "covariance", "diagonal") == "diagonal" for m in member.members)
    if not (multinomial or each) or not linear:
        raise ValueError(
            f"{refused} family={member!r}; use a family of features by themselves, such as 'gaussian', 'poisson' or "
            "'bernoulli', or 'multinomial'"
        )
    for part in penalty.parts if penalty else ():
        if multinomial or isinstance(part, TopK | Custom):
            under = f" with family={member.name!r}" if multinomial else ""
            raise ValueError(f"{refused} penalty={part!r}{under}; leave the penalty out, or use another one")
        if part.tau is None or len(part.tau) != 1:
            raise ValueError(f"penalty={part!r} should have one tau for by={by!r}, which judges features, not taus")
    if multinomial and scheme != "joint":
        raise ValueError(f"scheme={scheme!r} is not for by={by!r} with family='multinomial'; use scheme='joint'")
    return member


def _values(X: np.ndarray, moments: dict[str, np.ndarray | None], columns: np.ndarray, options: Any) -> np.ndarray:
    """The values of rows that weights multiply, (n_rows, n)."""
    out = np.empty(X.shape)
    for moment, of_moment in moments.items():
        at = slice(None) if of_moment is None else np.isin(columns, of_moment)
        out[:, at] = TABLE[moment].of(X[:, at], options)
        if absent := TABLE[moment].of_absent(options):
            out[:, at] += absent
    return out


def _added(
    sample: ClassSample,
    outside: list[ClassStats],
    ends: np.ndarray,
    family: Family,
    scheme: Scheme,
    smoothing: float,
    penalty: Penalty | None,
) -> AddedScores:
    check_penalty(penalty, family, scheme, len(outside[0].classes))
    point = {part.kind: part.tau[0] for part in (penalty.parts if penalty else ())}
    pull, n_rows = pull_at(penalty, point), scheme.n_rows(len(outside[0].classes))
    base = np.empty((len(sample.codes), n_rows, 1), np.float32)
    parts = np.empty((len(sample.codes), n_rows, len(sample.columns)), np.float32)
    X = sample.dense()
    for stats, start, stop in zip(outside, ends[:-1], ends[1:], strict=True):
        problem = Problem(stats, family, scheme, smoothing)
        weights, shifts, moments = *_of_each(problem, sample.columns, pull), problem.moments
        base[start:stop] = problem.intercepts[:, None]
        for first in range(start, stop, FEW):
            values = X[first : min(first + FEW, stop)]
            added = _values(values, moments, sample.columns, stats.options)[:, None] * weights
            added += shifts  # before rounding: for values far from 0 both terms are large, but their sum is not
            parts[first : first + len(added)] = added
    return AddedScores(scheme, base, parts)


def _of_each(problem: Problem, columns: np.ndarray, pull: Pull) -> tuple[np.ndarray, np.ndarray]:
    """Weights of features and their contributions to the intercepts, both (R, n)."""
    weights, shifts = np.empty((2, problem.n_rows, len(columns)))
    for block, at in problem.pieces(columns):
        weights[:, at], shifts[:, at], _ = decorrelated(block.equations(), pull)
    return weights, shifts


def _counted(sample: ClassSample, outside: list[ClassStats], ends: np.ndarray, smoothing: float) -> CountedScores:
    if smoothing <= 0.0:
        raise ValueError(f"smoothing={smoothing!r} should be above 0: counts of 0 have no logarithm")
    n_classes = len(outside[0].classes)
    counts = sample.dense().astype(np.float64)
    base = np.empty((len(counts), n_classes, 1), np.float32)
    parts = np.empty((len(counts), n_classes, len(sample.columns)), np.float32)
    sums = np.empty((len(outside), n_classes, len(sample.columns)))
    for fold, (stats, start, stop) in enumerate(zip(outside, ends[:-1], ends[1:], strict=True)):
        sums[fold] = stats.table("sum").value(sample.columns) + smoothing
        with np.errstate(divide="ignore"):  # a class that occurs in this fold only
            base[start:stop] = np.log(stats.weight / stats.total_weight)[:, None]
        logs = np.log(sums[fold])
        parts[start:stop] = counts[start:stop, None] * (logs - logs[:1])
    return CountedScores(base, parts, counts, sums, sample.fold)


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

    def _search(self, models: JudgedSubsets, order: np.ndarray) -> Subsets:
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

    def _search(self, models: JudgedSubsets, order: np.ndarray) -> Subsets:
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

    def _search(self, models: JudgedSubsets, order: np.ndarray) -> Subsets:
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
    """Backward elimination, "backward": starts with all candidates and removes the least useful one.

    It is the feature without which the mean score is best; ties go to the first column, as in scikit-learn's
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

    def _search(self, models: JudgedSubsets, order: np.ndarray) -> Subsets:
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

    def _search(self, models: JudgedSubsets, order: np.ndarray) -> Subsets:
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

"""What each feature adds to the scores of sampled rows; subsets of features are judged by it."""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from streamnb.core import memory
from streamnb.core.threads import one_thread
from streamnb.problem.families import as_family
from streamnb.problem.family import Family
from streamnb.problem.multinomial import Multinomial
from streamnb.problem.penalties import Custom, Penalty, Pull, TopK, as_penalty, pull_at
from streamnb.problem.schemes import Scheme, as_scheme, top_class
from streamnb.problem.together import Together
from streamnb.selection.class_sample import ClassSample
from streamnb.selection.criteria import Criterion
from streamnb.solving.decorrelation import decorrelated
from streamnb.solving.weight_problem import Problem, check_penalty
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.moment_sums import TABLE

CURE = "take fewer rows of each class, or fewer candidates"
FEW = 512  # rows whose contributions stay in the cache until they are rounded
AT_ONCE = 1 << 22  # scores of rows by models with one feature more

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

    def grouped(self, groups: np.ndarray) -> "AddedScores":
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

    def grouped(self, groups: np.ndarray) -> "CountedScores":
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
            "folds; take more rows of each class, or fewer folds"
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
            f"{refused} family={member!r}; take a family of features by themselves, such as 'gaussian', 'poisson' or "
            "'bernoulli', or 'multinomial'"
        )
    for part in penalty.parts if penalty else ():
        if multinomial or isinstance(part, TopK | Custom):
            under = f" with family={member.name!r}" if multinomial else ""
            raise ValueError(f"{refused} penalty={part!r}{under}; leave the penalty out, or take another one")
        if part.tau is None or len(part.tau) != 1:
            raise ValueError(f"penalty={part!r} should have one tau for by={by!r}, which judges features, not taus")
    if multinomial and scheme != "joint":
        raise ValueError(f"scheme={scheme!r} is not for by={by!r} with family='multinomial'; take scheme='joint'")
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

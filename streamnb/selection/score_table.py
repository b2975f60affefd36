"""The table of cross-validated scores, and the rules that choose a grid point by it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Annotated, Any

import numpy as np
from scipy import stats
from scipy.stats import rankdata

from streamnb.core import arguments, messages, persistence, row_checks
from streamnb.evaluation.evaluation import Evaluation
from streamnb.evaluation.scorers import Scorer, as_scorer
from streamnb.problem.penalties import L1, Penalty, TopK
from streamnb.problem.points import loaded_point
from streamnb.rows.splits import as_folding, check_no_splits
from streamnb.solving.weight_paths import WeightPath

RULES = ("best", "parsimonious", "one_se", "per_split")
ENDS = "a value at the end of its grid"  # what warnings of it are known by
CLEAR, N_ERRORS = 0.01, 2.0  # share of a score, and standard errors, by which more is clearly better
STEP = 10.0  # beyond an end, at most
SLACK = 0.01  # a score is good enough if it is less than this below the best of its split


@persistence.register
@dataclass(frozen=True, eq=False)
class GridScores(persistence.Parameters):
    """Scores and numbers of features of G grid points in S splits.

    Attributes
    ----------
    grid : G points
    scores : the greater the better
    n_features_per_class : of all classes together for a class without its own row of weights, such as the reference
    errors : error bounds of scores from histograms, or None where all are exact
    train : GridScores on the rows that the models of each split have seen, where these were judged
    named : for a list of scorings, the scores of each by name, of which the first are these here
    """

    grid: Sequence[dict[str, Any]]
    scores: Annotated[np.ndarray, "f8[G, S]"]
    class_scores: Annotated[np.ndarray, "f8[G, S, K]"] | None
    n_features: Annotated[np.ndarray, "i8[G]"]
    n_features_per_class: Annotated[np.ndarray, "i8[G, _]"]
    classes: Annotated[np.ndarray, "[K]"]
    errors: Annotated[np.ndarray, "f8[G, S]"] | None = None
    train: "GridScores | None" = None
    named: "dict[str, GridScores] | None" = None

    @classmethod
    def of(cls, judged: Sequence[Evaluation], path: WeightPath, scorer: Scorer) -> "GridScores":
        """Scores of one candidate from the evaluations of each split; `path` has the models of all rows."""
        if scorer.others:
            each = {one.name: cls.of(judged, path, replace(one, others=())) for one in scorer.each}
            return replace(each[scorer.name], named=each)
        classes = judged[0].classes
        of_splits = [scorer.of_each(evaluation) for evaluation in judged]
        scores, per_class, errors = (_stacked(parts) for parts in zip(*of_splits, strict=True))
        check_defined(scorer, scores)
        of_rows, of_all = path.n_features_per_class, path.n_features
        n_features = path.shell().scheme.of_each_class(of_rows, of_all, len(classes))
        if errors is not None and not (errors > 0.0).any():
            errors = None
        return cls(path.grid, scores, per_class, path.n_features, n_features, classes, errors)

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> "GridScores":
        return super()._from_state({**state, "grid": [loaded_point(point) for point in state["grid"]]})

    def _check_loaded(self) -> None:
        row_checks.check_labels(self.classes)
        if len(self.grid) != len(self.scores):
            raise ValueError(f"scores have shape {self.scores.shape} for {len(self.grid)} points of a grid")
        if self.train is not None and self.train.scores.shape != self.scores.shape:
            raise ValueError("the scores of training rows should be of the same points and splits")
        if any(other.scores.shape != self.scores.shape for other in (self.named or {}).values()):
            raise ValueError("the scores by name should be of the same points and splits")

    def without(self, points: np.ndarray) -> "GridScores":
        """A copy with NaN scores at the given points, (G,) bool, whose models do not exist."""
        if not points.any():
            return self
        if points.all():
            raise ValueError(
                "covariances have no inverse at any point of the grid: a class has few rows, or features are functions "
                "of others; give shrinkage=[(a, g), ..] with g above 0, or shrinkage='auto'"
            )
        scores = np.where(points[:, None], np.nan, self.scores)
        per_class = None
        if self.class_scores is not None:
            per_class = np.where(points[:, None, None], np.nan, self.class_scores)
        named = self.named and {name: own.without(points) for name, own in self.named.items()}
        train = self.train and self.train.without(points)
        return replace(self, scores=scores, class_scores=per_class, train=train, named=named)

    @classmethod
    def joined(cls, parts: "Sequence[GridScores]") -> "GridScores":
        """The concatenated scores of several grids that were judged on the same rows."""
        if len(parts) == 1:
            return parts[0]
        first = parts[0]
        errors = [np.zeros(part.scores.shape) if part.errors is None else part.errors for part in parts]
        return cls(
            [point for part in parts for point in part.grid],
            np.concatenate([part.scores for part in parts]),
            None if first.class_scores is None else np.concatenate([part.class_scores for part in parts]),
            np.concatenate([part.n_features for part in parts]),
            np.concatenate([part.n_features_per_class for part in parts]),
            first.classes,
            None if all(part.errors is None for part in parts) else np.concatenate(errors),
            first.train and cls.joined([part.train for part in parts if part.train]),
            first.named
            and {name: cls.joined([part.named[name] for part in parts if part.named]) for name in first.named},
        )

    @property
    def mean(self) -> np.ndarray:
        """Mean over the splits where the score is defined, (G,)."""
        return _mean(self.scores)

    @property
    def std(self) -> np.ndarray:
        """Standard deviation over the same splits, with their number as divisor, (G,)."""
        return np.sqrt(_mean((self.scores - self.mean[:, None]) ** 2))

    @property
    def class_mean(self) -> np.ndarray:
        """Mean of each class over the splits where its score is defined, (G, K)."""
        assert self.class_scores is not None
        return _mean(self.class_scores.transpose(0, 2, 1))

    def best(self, rule: str) -> int:
        """The chosen point: of those good enough by the rule, the one with the fewest features, ties by score."""
        mean = self.mean
        enough = np.flatnonzero(mean >= self.least(rule))
        return int(enough[np.lexsort([-mean[enough], self.n_features[enough]])[0]])

    def least(self, rule: str) -> float:
        """The lowest mean score that is good enough by the rule; at least one score must be defined."""
        mean = self.mean
        top = int(np.nanargmax(mean))
        slack = {
            "best": 0.0,
            "per_split": 0.0,
            "parsimonious": 0.01 * abs(mean[top]),
            "one_se": standard_error(self.scores[top]),
        }[rule]
        return float(mean[top] - slack)

    def class_best(self, rule: str) -> np.ndarray:
        """The point that the rule chooses by the scores and features of each class alone, (K,); -1 without a score."""
        if self.class_scores is None:
            return np.full(len(self.classes), -1)
        if rule == "per_split":
            return self.per_split()[1]
        undefined = np.isnan(self.class_scores).all(axis=(0, 1)).tolist()
        return np.array([-1 if lacks else self.of_class(k).best(rule) for k, lacks in enumerate(undefined)])

    def per_split(self, at: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        """The number of features of each class by procedure 7.1, and the nearest grid point, (K,); -1 without a score.

        The taus of other penalties are those of the point `at`, or of the best point of each class.
        """
        assert self.class_scores is not None
        k, points = np.full((2, len(self.classes)), -1)
        best = self.class_best("best")
        for u in np.flatnonzero(best >= 0):
            alike, numbers = points_alike(self.grid, int(best[u]) if at is None else at)
            chosen = features_per_split(self.class_scores[alike, :, u], numbers)
            if chosen is not None:
                k[u], points[u] = chosen, alike[nearest(numbers, chosen)]
        return k, points

    def chosen_per_split(self, best: int, rows: Sequence[Any]) -> tuple[np.ndarray, float, dict[str, Any]]:
        """Numbers of features of the classes, their mean score, and the point with a number for each row of weights.

        A row whose class has no score gets the number of the best point.
        """
        assert self.class_mean is not None
        k, points = self.per_split(best)
        class_scores = [self.class_mean[point, u] for u, point in enumerate(points) if point >= 0]
        of_class, same = dict(zip(self.classes.tolist(), k.tolist(), strict=True)), self.grid[best][TopK.kind]
        of_rows = {label: same if of_class[label] < 0 else of_class[label] for label in rows}
        return k, float(np.mean(class_scores)), {**self.grid[best], TopK.kind: of_rows}

    def of_class(self, k: int) -> "GridScores":
        """The scores and features of one class alone."""
        assert self.class_scores is not None
        own, n_features = self.class_scores[:, :, k], self.n_features_per_class[:, k]
        seen = None
        if self.train is not None:
            seen = self.train.of_class(k)
        alone = replace(self, class_scores=None, errors=None, named=None)
        return replace(alone, scores=own, n_features=n_features, train=seen)

    def class_features(self) -> np.ndarray:
        """For each class the fewest features whose mean score is within 1 % of its best, (K,); -1 without a score."""
        points = self.class_best("parsimonious")
        return np.where(points < 0, -1, self.n_features_per_class[points, np.arange(len(points))])

    def table(self, repeats: int = 1) -> dict[str, np.ndarray]:
        """The content of `cv_results_`: 1-D arrays with one entry for each grid point, of folds that were repeated."""
        columns: dict[str, Any] = {"params": np.array([*self.grid, None], dtype=object)[:-1]}
        for kind in self.grid[0]:
            columns[f"param_{kind}"] = np.array([point[kind] for point in self.grid])
        columns |= self._columns("score", repeats)
        for name, scores in (self.named or {}).items():
            seen = None
            if self.train is not None and self.train.named is not None:
                seen = self.train.named[name]
            columns |= replace(scores, train=seen)._columns(name, repeats)
        columns["n_features"] = self.n_features
        return columns

    def _columns(self, name: str, repeats: int) -> dict[str, np.ndarray]:
        """The columns of `table` for one scoring."""
        columns: dict[str, Any] = {f"mean_test_{name}": self.mean, f"std_test_{name}": self.std}
        low, high = split_interval(self.scores, self.scores.shape[1] // repeats)
        columns |= {f"low_test_{name}": low, f"high_test_{name}": high}
        if self.errors is not None:
            columns[f"mean_test_{name}_error"] = _mean(self.errors)
        order = -np.where(np.isnan(self.mean), -np.inf, self.mean)
        columns[f"rank_test_{name}"] = rankdata(order, "min").astype(int)
        columns |= self._details("test", name)
        if self.train is not None:
            columns |= {f"mean_train_{name}": self.train.mean, f"std_train_{name}": self.train.std}
            columns |= self.train._details("train", name)
        return columns

    def _details(self, rows: str, name: str) -> dict[str, np.ndarray]:
        """The score of each split, and the mean of each class."""
        columns = {f"split{split}_{rows}_{name}": scores for split, scores in enumerate(self.scores.T)}
        if self.class_scores is not None:
            of_classes = zip(self.classes.tolist(), self.class_mean.T, strict=True)
            columns |= {f"class_{rows}_{name}_{label}": mean for label, mean in of_classes}
        return columns

    def warn_missing(self, reference: Any = None) -> None:
        """Warn once about classes without a score in some splits; the reference never has one."""
        per_class = self.class_scores if self.class_scores is not None else self.scores[:, :, None]
        per_class = per_class[~np.isnan(self.scores).all(axis=1)]  # without models that do not exist
        missing = np.isnan(per_class).any(axis=0)
        if self.class_scores is not None:
            missing &= np.array([reference is None or label != reference for label in self.classes.tolist()])
        if missing.any():
            names = "the score"
            if self.class_scores is not None:
                names = messages.listed(self.classes[missing.any(axis=0)])
            n_lacking = np.count_nonzero(missing.any(axis=1))
            messages.warn(
                f"{n_lacking} of {len(missing)} splits lack rows of a class: no score there for {names}; the means are "
                "over the others"
            )

    def warn_of_penalties(self, point: int, n_features: int, argument: str = "penalty") -> None:
        """Warn of a penalty or shrinkage of naive Bayes that is clearly best at an end of its grid."""
        shrinkages, share = {"a": "shrinkage (as a)", "g": "shrinkage"}, (0.0, 1.0)
        names = {name: shrinkages.get(name, argument) for name in self.grid[point]}
        limits = {TopK.kind: (1, n_features), "a": share, "g": share}
        if self.n_features[point] <= 1 and L1.kind in names:
            limits[L1.kind] = (0.0, self.grid[point][L1.kind])  # a larger one leaves no feature
        warn_of_ends(self.grid, self.scores, point, names, limits)


@dataclass(frozen=True)
class EndOfGrid:
    """A hyperparameter whose value is the largest or the smallest of those tried, and the best of them.

    Attributes
    ----------
    name : str
    value : float
    inner : float
        The nearest of the other values.
    further : float
        A value beyond the end, by as large a step, at most tenfold.
    """

    name: str
    value: float
    inner: float
    further: float

    @classmethod
    def at(
        cls,
        grid: Sequence[Mapping[str, Any]],
        scores: np.ndarray,
        best: int,
        name: str,
        limits: tuple[float, float] = (0.0, np.inf),
        n_errors: float = N_ERRORS,
        promising: bool = False,
    ) -> "EndOfGrid | None":
        """The end at which a point is, if its scores (G, S) are clearly better than those of the next value.

        Better by more than 1 %, and by more than `n_errors` standard errors of the difference. None at `limits`, beyond
        which there is nothing. A `promising` end is one beyond which the next step would gain 1 %, as gains rise or
        fall from step to step.
        """
        chosen, means = grid[best], _mean(scores)
        others = [other for other in chosen if other not in (name, "max_passes")]
        along: dict[Any, int] = {}  # of each value, the best point that differs in no other hyperparameter
        for place, point in enumerate(grid):
            alike = isinstance(point[name], Real) and all(point[other] == chosen[other] for other in others)
            if alike and (point[name] not in along or means[place] > means[along[point[name]]]):
                along[point[name]] = place
        value, values = chosen[name], sorted(along)
        if len(values) < 2 or value not in (values[0], values[-1]) or not limits[0] < value < limits[1]:
            return None
        inwards = values if value == values[0] else values[::-1]
        inner, next_best = inwards[1], along[inwards[1]]
        gains, least = scores[best] - scores[next_best], CLEAR * abs(means[next_best])
        gain = float(_mean(gains))
        promised = 2.0 * gain - (means[next_best] - means[along[inwards[2]]]) if len(values) > 2 else gain
        n_folds = np.count_nonzero(~np.isnan(gains))  # one does not tell what is chance
        by_chance = n_errors > 0.0 and (n_folds < 2 or gain <= n_errors * standard_error(gains))
        if not gain > least or by_chance or (promising and promised <= least):
            return None
        further = value * min(max(value / inner, 1.0 / STEP), STEP) if inner > 0.0 else STEP * value
        further = min(max(round(further) if isinstance(value, Integral) else further, limits[0]), limits[1])
        return cls(name, value, inner, further)

    def sentence(self, argument: str) -> str:
        """What to say of it, where values are given in an argument."""
        end, more = ("largest", "larger") if self.value > self.inner else ("smallest", "smaller")
        return (
            f"{self.name}={self.value:g} is the {end} of those tried, and the best of them; {more} ones may be better: "
            f"give them in {argument}, such as [{self.inner:g}, {self.value:g}, {self.further:g}]"
        )


def warn_of_ends(
    grid: Sequence[Mapping[str, Any]],
    scores: np.ndarray,
    best: int,
    arguments: Mapping[str, str],
    limits: Mapping[str, tuple[float, float]],
    cautious: bool = True,
) -> None:
    """Warn of hyperparameters that are best at an end of those tried, by scores (G, S).

    `arguments` are those in which each one is given; `limits` have no value beyond them, by default 0.
    A `cautious` warning takes more than chance to be given, and only for ends beyond which scores promise to rise.
    """
    n_errors = 0.0
    if cautious:
        n_errors = N_ERRORS
    ends = [
        EndOfGrid.at(grid, scores, best, name, limits.get(name, (0.0, np.inf)), n_errors, cautious)
        for name in arguments
    ]
    sentences = [end.sentence(arguments[end.name]) for end in ends if end is not None]
    if sentences:
        messages.warn("; ".join(sentences), once=ENDS)


def check_defined(scorer: Scorer, scores: np.ndarray) -> None:
    """Refuse to choose where all scores (G, S) are NaN."""
    if np.isnan(scores).all():
        raise ValueError(
            f"scoring={scorer.name!r} has no value in any of the {scores.shape[1]} splits, as each lacks rows of a "
            "class; use fewer folds, or folds= that mix the classes"
        )


def check_choice(scheme: str, folds: Any, repeats: int, seed: int, scoring: Any, rule: str) -> Scorer:
    """The scorer, after checking the arguments of judging and choosing that do not depend on the data."""
    if folds is None:
        raise ValueError("folds=None should be a number of folds of at least 2, or the fold of each row")
    check_no_splits(folds)
    as_folding(folds if np.ndim(folds) == 0 and not isinstance(folds, str) else 2, repeats=1)
    arguments.positive_integer("repeats", repeats)
    arguments.whole_number("seed", seed)
    arguments.one_of("rule", rule, RULES)
    scorer = as_scorer(scoring)
    if "reference" in scorer.needs and scheme != "reference":
        raise ValueError(f"scoring={scorer.name!r} needs scheme='reference' and a reference=, not scheme={scheme!r}")
    for one in scoring if isinstance(scoring, list | tuple) else [scoring]:
        if scheme == "ovo" and isinstance(one, str) and "probabilities" in as_scorer(one).needs:
            raise ValueError(
                f"scoring={one!r} needs probabilities, which scheme='ovo' lacks; use scoring='roc_auc' or "
                "'accuracy', or another scheme"
            )
    return scorer


def check_rule(rule: str, penalty: Penalty | None, scorer: Scorer, scheme: str) -> None:
    """Refuse the rule "per_split" without a grid of numbers of features, or without scores of each class."""
    if rule != "per_split":
        return
    parts = penalty.parts if penalty else ()
    if not any(isinstance(part, TopK) and not isinstance(part.k, dict) for part in parts):
        raise ValueError(f"rule='per_split' needs TopK with a grid of numbers to choose from, not penalty={penalty!r}")
    if scorer.per_class is None:
        raise ValueError(f"rule='per_split' needs a score of each class, which scoring={scorer.name!r} lacks")
    if scheme == "ovo":
        raise ValueError("rule='per_split' is not for scheme='ovo', whose rows of weights are of pairs of classes")


def _stacked(splits: Sequence[Any]) -> Any:
    """The arrays of all splits, stacked along a second axis; None for None."""
    if splits[0] is None:
        return None
    return np.stack(splits, axis=1)


def _mean(values: np.ndarray) -> np.ndarray:
    """Mean over the last axis without NaN; NaN where all are.

    Values are summed in ascending order, so that equal scores in other splits give the same bits.
    """
    defined = ~np.isnan(values)
    total = np.sort(np.ascontiguousarray(np.where(defined, values, 0.0)), axis=-1).sum(axis=-1)
    count = defined.sum(axis=-1)
    return np.divide(total, count, out=np.full(total.shape, np.nan), where=count > 0)


# ---- procedure 7.1 of Shishkova 2016 ---------------------------------------------------------------------------------


def features_per_split(scores: np.ndarray, k: np.ndarray) -> int | None:
    """The mean over splits s of the smallest k with scores[k, s] > max_k scores[k, s] - 0.01.

    Parameters
    ----------
    scores : (G, S)
        NaN where a split has no score; splits without any score are skipped.
    k : (G,) int
        Distinct numbers of features.

    Returns
    -------
    int or None
        The mean, halves rounded up, which need not be on the grid. None where no split has a score.
    """
    order = np.argsort(k)
    defined = ~np.isnan(scores).all(axis=0)
    if not defined.any():
        return None
    scores = scores[np.ix_(order, np.flatnonzero(defined))]
    enough = scores > np.nanmax(scores, axis=0) - SLACK
    chosen = k[order][enough.argmax(axis=0)]
    return int((2 * chosen.sum() + len(chosen)) // (2 * len(chosen)))


def points_alike(grid: Sequence[dict[str, Any]], point: int) -> tuple[np.ndarray, np.ndarray]:
    """The points that differ from a given one only in the number of features, and these numbers."""
    others = [{kind: tau for kind, tau in other.items() if kind != TopK.kind} for other in grid]
    alike = np.flatnonzero([one == others[int(point)] for one in others])
    return alike, np.array([grid[i][TopK.kind] for i in alike.tolist()])


def nearest(k: np.ndarray, wanted: int) -> int:
    """The position of the number nearest to `wanted`, the lower of two."""
    return int(np.lexsort([k, np.abs(k - wanted)])[0])


# ---- means over splits -----------------------------------------------------------------------------------------------

APPROXIMATE = "approximate: training sets overlap"


def split_interval(scores: np.ndarray, n_folds: int, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper end of an interval of the mean score over splits.

    Models of different splits have learned from much the same rows, so their scores vary together, and ``s^2 / J`` is
    too small a variance of the mean of J scores. With ``(1 / J + n_test / n_train) s^2`` (Nadeau and Bengio 2003) the
    interval is ``mean -+ t sqrt(..)``, t the quantile of Student's distribution with J - 1 degrees of freedom. It is
    approximate: no unbiased variance can be had from the splits.

    Parameters
    ----------
    scores : (.., J)
        NaN where a split has no score.
    n_folds : int
        Folds in one repeat, so that ``n_test / n_train = 1 / (n_folds - 1)``.
    level : float

    Returns
    -------
    low, high : (..)
        NaN with fewer than two scores.
    """
    scores = np.asarray(scores, np.float64)
    defined = ~np.isnan(scores)
    number = defined.sum(axis=-1)
    enough = np.maximum(number, 2)
    mean = np.where(defined, scores, 0.0).sum(axis=-1) / enough
    squares = np.where(defined, scores - mean[..., None], 0.0) ** 2
    variance = (1.0 / enough + 1.0 / max(n_folds - 1.0, 1.0)) * squares.sum(axis=-1) / (enough - 1.0)
    half = np.where(number > 1, stats.t.ppf(0.5 + level / 2.0, enough - 1.0) * np.sqrt(variance), np.nan)
    return mean - half, mean + half


def standard_error(scores: np.ndarray) -> float:
    """The standard error of the mean of scores, without those that are NaN; 0 for fewer than two."""
    scores = scores[~np.isnan(scores)]
    return float(scores.std(ddof=1) / np.sqrt(len(scores))) if len(scores) > 1 else 0.0

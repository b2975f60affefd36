"""Chooses penalties and pairs of features of an additive model, by models without each fold of a sample of the rows.

Pairs are ranked by what their cells add to a model of single features: Y. Lou, R. Caruana, J. Gehrke, G. Hooker,
Accurate intelligible models with pairwise interactions, KDD 2013 (FAST).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations_with_replacement
from typing import Any, NamedTuple, Self

import numpy as np

from streamnb.additive.descent import (
    AdditiveTerms,
    FeaturePair,
    LaneModel,
    TermDescent,
    TermRows,
    TermWeights,
    bytes_of_models,
)
from streamnb.additive.losses import TermJudge
from streamnb.additive.terms import of_terms, purified
from streamnb.core import memory
from streamnb.core.threads import one_thread
from streamnb.encoding.bins import TermColumns
from streamnb.kernels.lanes import LANES
from streamnb.selection.score_table import EndOfGrid, standard_error
from streamnb.stats.row_sample import SampledRows

ALL = -1  # in place of the number of a fold: all rows
MODELS_BYTES = 128 << 20  # of models that train at a time; of the sample, which is in memory, more reads cost nothing
LEAST_FACTOR = 1.0  # of the penalty of pairs: smaller ones than of features follow from l2
STEP_OF_L2 = 3.0  # about the ratio of neighbours among the default ones
MOST_FURTHER = 8  # penalties beyond the end of the default ones
NUMBERS = 5, 10, 20, 40  # of pairs, for "auto"
MOST_WEIGHTS = 1 << 20  # of the cells of pairs of all classes, for "auto"; each takes some 300 bytes in training
CLEAR = 0.25  # standard errors of the mean difference by which more pairs must be better
MOST_FEATURES = 200  # whose pairs are ranked; of more, those that matter most alone
CELLS = 8  # steps of each feature of a pair that is ranked
GRID = 2.0**-24  # slopes are rounded to multiples of this, so that their sums are exact in any order
ROWS_AT_ONCE = 1 << 11
FEATURES_AT_ONCE = 32  # so that sums of cells take a few megabytes


@dataclass(frozen=True)
class AdditiveRequest:
    """The parameters of the choice and fit of an additive model.

    Attributes
    ----------
    l2, pair_factors : numbers to choose from
    going_on : list of str
        Those of "l2" and "pair_factor" of which further ones are tried where an end is clearly the best.
    interactions : int, "auto" or pairs of names
    resolutions : numbers of steps coarser than the bins, ascending
    monotone : dict of name to 1 or -1
    folds, groups, seed
        The folds, their groups and seed.
    tol, max_passes
        As for `SoftmaxRegression`.
    settles : callable, optional
        Whether no other point than the first is tried, given its scores on the folds by each scorer.
    """

    l2: Sequence[float]
    pair_factors: Sequence[float]
    going_on: Sequence[str]
    interactions: Any
    resolutions: Sequence[int]
    monotone: dict[str, int]
    folds: Any
    groups: Any
    seed: int
    tol: float
    max_passes: int
    settles: Callable[[dict[str, np.ndarray]], bool] | None = None

    def of_rows(self, weight: np.ndarray) -> Self:
        """The same, with the usual penalties in units of the weights of rows."""
        if "l2" not in self.going_on:
            return self
        return replace(self, l2=[unit_of(weight) * l2 for l2 in self.l2])


def unit_of(weight: np.ndarray) -> float:
    """The weight of a row, as a power of 3: 1 for weights up to 3, which may be numbers of copies.

    Others are exposures or numbers of people, which say little of how much a row tells.
    """
    mean = np.square(weight).sum() / weight.sum()
    return float(STEP_OF_L2 ** np.trunc(np.log(mean) / np.log(STEP_OF_L2)))


# ---- the models of a point ----------------------------------------------------------------------------------------


class JudgedPoint(NamedTuple):
    """A point, its scores on the folds, those by each scorer, by name, and the weights without each fold."""

    point: dict[str, Any]
    scores: np.ndarray
    each: dict[str, np.ndarray]
    weights: dict[int, np.ndarray]

    @property
    def mean(self) -> float:
        return float(np.nanmean(self.scores))


@dataclass(frozen=True, eq=False)
class AdditiveChooser:
    """Chooses on a sample of rows in memory.

    Attributes
    ----------
    terms : AdditiveTerms
        Without pairs.
    n_folds : int
    judge : TermJudge
        Its rows have the codes of features, (n_rows, n_features) int32.
    memory_limit : int or None
    """

    terms: AdditiveTerms
    n_folds: int
    judge: TermJudge
    memory_limit: int | None

    @cached_property
    def starts(self) -> dict[int, tuple[TermColumns, dict[str, Any], TermWeights]]:
        """The columns, point and weights of the best model so far without each fold, from which others start."""
        return {}

    @property
    def rows(self) -> SampledRows:
        return self.judge.rows

    @property
    def width(self) -> int:
        """Rows of weights of a model."""
        return self.judge.losses.width

    @cached_property
    def without_pairs(self) -> "FoldStage":
        """The models of single features."""
        return FoldStage(self, {fold: [] for fold in range(ALL, self.n_folds)})

    def n_weights(self, pairs: Sequence[FeaturePair]) -> int:
        """The number of weights that these pairs add to a model."""
        n_steps = replace(self.terms, pairs=tuple(pairs)).layers.parts.shape[1]
        return (n_steps - self.terms.layers.parts.shape[1]) * self.width

    def bytes_needed(self, terms: AdditiveTerms, n_models: int = 1) -> int:
        """Bytes of so many models of these terms that train together, at least a vector, and of the rows by columns."""
        n_rows, n_terms = len(self.rows.weight), int(terms.layers.terms[-1]) + 1
        n_models = max(n_models, LANES // self.width)
        of_models = bytes_of_models(n_models, self.width, n_rows, *terms.layers.parts.shape)
        return of_models + 8 * n_rows * n_terms

    def check_memory(self, terms: AdditiveTerms, n_pairs: int) -> None:
        """Raise before training where models of these terms need more memory than allowed; say how many pairs fit."""
        limit = self.memory_limit
        needed, alone, may = self.bytes_needed(terms), self.bytes_needed(self.terms), memory.allowed(limit)
        what, cure = "an additive model of these features", "give a larger memory_limit, or fewer features"
        if n_pairs and needed > may:
            fit = min(int(n_pairs * max(may - alone, 0) / (needed - alone)), n_pairs // 2)
            what = f"{n_pairs:,} pairs of features"
            cure = f"give a larger memory_limit, or use fewer interactions: about {fit:,} fit"
        memory.check(what, needed, limit, cure)

    def ranked(self, best: JudgedPoint, most: int, left_out: Sequence[int] = ()) -> dict[int, list[FeaturePair]]:
        """The best pairs, by the rows outside each fold and by all rows, by slopes of models without a row's fold.

        Features `left_out` do not take part; of the others those whose curves matter most, if there are many.
        """
        rows = self.without_pairs.rows
        scores = rows.held_out(best.weights)
        found, coded = self.judge.losses.derivatives(scores, self.judge.targets, self.rows.weight), self.terms.coded
        kept = self._worth_pairing(rows, best.weights, left_out)
        codes = self.rows.X[:, kept]
        steps = np.full(codes.shape, -1, np.int32)
        for of_feature, codes_of_feature, j in zip(steps.T, codes.T, kept.tolist(), strict=True):
            present = codes_of_feature >= 0
            of_feature[present] = coded.steps(j, CELLS)[codes_of_feature[present]]
        unit = unit_of(self.rows.weight)
        l2 = best.point["l2"] / (found.dispersion * unit)
        gains = pair_gains(steps, found.slopes / unit, found.curvatures / unit, self.rows.fold, self.n_folds, l2)
        folds = ALL, *range(self.n_folds)
        return {fold: [(int(kept[i]), int(kept[j])) for i, j in best_pairs(gains[fold], most)] for fold in folds}

    def _worth_pairing(self, rows: TermRows, weights: Mapping[int, np.ndarray], left_out: Sequence[int]) -> np.ndarray:
        """The features whose pairs are ranked, ascending: those with the largest scores."""
        columns, counts = rows.columns, np.bincount(rows.places.reshape(-1), minlength=rows.columns.n_columns + 1)[:-1]
        size = sum(np.abs(of_fold[:-1]).mean(axis=1) * counts for of_fold in weights.values())
        of_features = np.zeros(self.terms.coded.n_features)
        np.add.at(of_features, np.repeat(columns.features[:, 0], columns.widths), size)
        order = np.argsort(-of_features, kind="stable")
        return np.sort(order[~np.isin(order, list(left_out))][:MOST_FEATURES])


@dataclass(frozen=True, eq=False)
class FoldStage:
    """Models without each fold, with pairs that may differ by fold.

    All of them have columns for the pairs of any fold; where a pair is not one of its fold, its weights are 0.

    Attributes
    ----------
    chooser : AdditiveChooser
    pairs : mapping of a fold, or `ALL`, to its pairs
    """

    chooser: AdditiveChooser
    pairs: Mapping[int, list[FeaturePair]]

    @cached_property
    def terms(self) -> AdditiveTerms:
        """All features, and the pairs of any fold."""
        pairs = dict.fromkeys(pair for fold in range(self.chooser.n_folds) for pair in self.pairs[fold])
        return replace(self.chooser.terms, pairs=tuple(pairs))

    @cached_property
    def rows(self) -> TermRows:
        """The sampled rows by the columns of these terms."""
        chooser, columns = self.chooser, self.terms.columns()
        given = chooser.rows
        places = columns.places_of(given.X, columns.n_columns)
        losses, targets = chooser.judge.losses, chooser.judge.targets
        return TermRows(columns, self.terms.layers, places, losses, targets, given.weight, given.fold)

    def judged(self, points: Sequence[dict[str, Any]]) -> list[JudgedPoint]:
        """Each point, with its score on each fold."""
        chooser, folds = self.chooser, range(self.chooser.n_folds)
        chooser.check_memory(self.terms, max(map(len, self.pairs.values())))
        every = [(point, fold) for point in points for fold in folds]
        at_once, most = max(LANES // chooser.width, 1), min(MODELS_BYTES, memory.allowed(chooser.memory_limit))
        while at_once < len(every) and chooser.bytes_needed(self.terms, at_once + 1) <= most:
            at_once += 1
        found, results = list[TermWeights](), list[list[float]]()
        for first in range(0, len(every), at_once):
            some = every[first : first + at_once]
            models = [self.model(point, fold) for point, fold in some]
            descent = TermDescent(self.rows, models)
            found += descent.trained()
            scores = descent.scores
            for (_, fold), lane in zip(some, range(0, scores.shape[1], chooser.width), strict=False):
                own = np.flatnonzero(self.rows.fold == fold)
                results.append(chooser.judge.scores(scores[own, lane : lane + chooser.width], own))
        judged = []
        for place, point in enumerate(points):
            of_point = slice(place * len(folds), (place + 1) * len(folds))
            scores = np.array(results[of_point])
            each = dict(zip(chooser.judge.names, scores.T, strict=True))
            weights = dict(zip(folds, [one.weights for one in found[of_point]], strict=True))
            judged.append(JudgedPoint(point, scores[:, 0], each, weights))
        best = max(range(len(points)), key=lambda place: judged[place].mean)
        first = best * len(folds)
        chooser.starts.update({fold: (self.rows.columns, points[best], found[first + fold]) for fold in folds})
        return judged

    def model(self, point: dict[str, Any], fold: int) -> LaneModel:
        """The model of a point without a fold, or of all rows; it starts from the best so far."""
        terms, l2 = self.terms, self.chooser.judge.penalty(point["l2"], fold)
        has = np.append(np.ones(terms.coded.n_features, bool), [pair in self.pairs[fold] for pair in terms.pairs])
        variance = terms.factors(point["pair_factor"]) ** 2 / l2
        variance *= has[np.repeat(terms.layers.terms, terms.layers.widths)]
        known, start = self.chooser.starts.get(max(fold, 0)), None
        if known is not None:
            before, known_point, at = known
            own, alone = self.rows.columns, self.rows.columns.features[:, 1] < 0
            weights, pulls = (of_terms(before, part[:-1], own) for part in (at.weights, at.pulls))
            stronger = np.where(alone, 1.0, point["pair_factor"] / known_point["pair_factor"])
            of_column = np.repeat(stronger * has, own.widths)[:, None]
            weights *= np.repeat(has, own.widths)[:, None]
            pulls *= of_column * (point["l2"] / known_point["l2"])
            start = TermWeights(np.concatenate([weights, at.weights[-1:]]), np.pad(pulls, ((0, 1), (0, 0))))
        return LaneModel(fold, variance, start)


# ---- the choice ----------------------------------------------------------------------------------------------------


def choose(
    chooser: AdditiveChooser, request: AdditiveRequest, features: Sequence[str]
) -> tuple[JudgedPoint, FoldStage, list[JudgedPoint]]:
    """The best point, the models without each fold of its terms, and all points with their scores.

    Penalties are chosen without pairs. Then pairs are added, as many as asked for, or ever more while scores rise.
    """
    stage = chooser.without_pairs
    judged = stage.judged([point_of(request)])
    if request.settles is not None and request.settles(judged[0].each):
        return judged[0], stage, judged
    judged += _other_penalties(request, stage, judged[0])
    best = max(judged, key=lambda point: point.mean)
    automatic, given = request.interactions == "auto", not isinstance(request.interactions, int | str)
    pairs = [(features.index(one), features.index(other)) for one, other in request.interactions] if given else []
    numbers = NUMBERS if automatic else [len(pairs) if given else request.interactions]
    if not any(numbers) or len(features) < 2:
        return _with_penalties_beyond(request, stage, judged, judged)
    n_alone = len(judged)
    if given:
        ranked = dict.fromkeys(range(ALL, chooser.n_folds), pairs)
    else:
        left_out = [features.index(name) for name in request.monotone]
        ranked = chooser.ranked(best, max(numbers), left_out)
    pair_factors = request.pair_factors
    for number in numbers:
        n_pairs = min(number, len(ranked[ALL]))  # as many for each fold as for all rows
        chosen = {fold: pairs[:n_pairs] for fold, pairs in ranked.items()}
        if not any(chosen.values()) or chosen == stage.pairs:
            break
        if automatic and chooser.n_weights(chosen[ALL]) > MOST_WEIGHTS:
            break
        points = [{**best.point, "pair_factor": factor, "interactions": len(chosen[ALL])} for factor in pair_factors]
        with_pairs = FoldStage(chooser, chosen)
        more = with_pairs.judged(points)
        if "pair_factor" in request.going_on and len(points) > 1:
            more = _going_on(with_pairs, more, "pair_factor", LEAST_FACTOR)
        judged, top = judged + more, max(more, key=lambda point: point.mean)
        if automatic and not _clearly_better(top.scores, best.scores):
            break
        best, stage, pair_factors = top, with_pairs, [top.point["pair_factor"]]
    if stage is chooser.without_pairs:
        return _with_penalties_beyond(request, stage, judged[:n_alone], judged)
    more = _other_penalties(request, stage, best)  # pairs may bear a smaller one than features alone
    return _with_penalties_beyond(request, stage, [best, *more], judged + more)


def point_of(request: AdditiveRequest) -> dict[str, Any]:
    """The first point that is judged: the middle penalty, without pairs."""
    return {"l2": request.l2[len(request.l2) // 2], "pair_factor": 1.0, "interactions": 0}


def _other_penalties(request: AdditiveRequest, stage: FoldStage, best: JudgedPoint) -> list[JudgedPoint]:
    """Points that differ from this one in l2: all that were given, or the usual ones as far as scores rise."""
    l2, judged = best.point["l2"], list[JudgedPoint]()
    larger, smaller = sorted(one for one in request.l2 if one > l2), sorted(one for one in request.l2 if one < l2)[::-1]
    last = {True: best.mean, False: best.mean}
    while larger or smaller:
        for point in stage.judged([{**best.point, "l2": side.pop(0)} for side in (larger, smaller) if side]):
            above = point.point["l2"] > l2
            if "l2" in request.going_on and not point.mean > last[above]:
                (larger if above else smaller).clear()
            last[above] = point.mean
            judged.append(point)
    return judged


def _with_penalties_beyond(
    request: AdditiveRequest, stage: FoldStage, along: list[JudgedPoint], judged: list[JudgedPoint]
) -> tuple[JudgedPoint, FoldStage, list[JudgedPoint]]:
    """The best of points `along` that differ in their penalty, which may go on, the stage, and all points judged.

    This comes last: where features say nothing by themselves, their penalty would leave no room for pairs.
    """
    further = _going_on(stage, along, "l2")[len(along) :] if "l2" in request.going_on else []
    return max([*along, *further], key=lambda point: point.mean), stage, judged + further


def _going_on(stage: FoldStage, judged: list[JudgedPoint], name: str, least: float = 0.0) -> list[JudgedPoint]:
    """Points that differ in a penalty, and further ones as long as one is clearly the best, above `least`."""
    for _ in range(MOST_FURTHER):
        best = max(range(len(judged)), key=lambda place: judged[place].mean)
        points, scores = [point.point for point in judged], np.array([point.scores for point in judged])
        end = EndOfGrid.at(points, scores, best, name, (least, np.inf))
        if end is None:
            break
        judged = judged + stage.judged([{**points[best], name: end.further}])
    return judged


def _clearly_better(scores: np.ndarray, than: np.ndarray) -> bool:
    """Whether scores are higher on average, by more than a part of the standard error of the difference."""
    gains = (scores - than)[~np.isnan(scores - than)]
    return bool(len(gains)) and bool(gains.mean() > CLEAR * standard_error(gains))


def deviations_of(columns: TermColumns, best: JudgedPoint, stage: FoldStage) -> np.ndarray:
    """Standard deviations of scores (n_columns, R) over the models without each fold; NaN for too few of them."""
    own, each = stage.rows.columns, np.concatenate([*best.weights.values()], axis=1)
    each, _ = purified(own, each[:-1], each[-1], stage.rows.counts)  # of all of them: they share the means of pairs
    of_models = np.split(of_terms(own, each, columns), len(best.weights), axis=1)
    for fold, pure in zip(best.weights, of_models, strict=True):
        lacks = [j >= 0 and (i, j) not in stage.pairs[fold] for i, j in columns.features.tolist()]
        pure[np.repeat(lacks, columns.widths)] = np.nan
        pure[:] = centred(pure, np.full(pure.shape[1], True))
    known = np.isfinite(of_models).sum(axis=0)
    mean = np.nansum(of_models, axis=0) / np.maximum(known, 1)
    squares = np.nansum((np.array(of_models) - mean) ** 2, axis=0)
    return np.where(known > 1, np.sqrt(squares / np.maximum(known - 1, 1)), np.nan)


def centred(scores: np.ndarray, possible: np.ndarray) -> np.ndarray:
    """Scores (n_steps, K) less their mean over the `possible` classes (K,), 0 for others; one score stays as it is."""
    if scores.shape[1] == 1:
        return scores
    return np.where(possible, scores - scores[:, possible].mean(axis=1, keepdims=True), 0.0)


# ---- pairs -----------------------------------------------------------------------------------------------------------


def pair_gains(
    steps: np.ndarray, slopes: np.ndarray, curvature: np.ndarray, fold: np.ndarray, n_folds: int, l2: float
) -> np.ndarray:
    """The gains of all pairs by the rows outside each fold and, last, by all rows, (n_folds + 1, d, d).

    The gain of a pair is twice the drop of the objective after a Newton step in each of its cells, beyond that of steps
    in its rows and in its columns, and beyond what cells without an effect give by chance.

    Parameters
    ----------
    steps : (n_rows, d) ints
        The step of each feature; -1 for none.
    slopes, curvature : (n_rows, K)
        First and second derivatives of the losses in the scores of the model of single features, times row weights.
    fold : (n_rows,) ints
    n_folds : int
    l2 : float
        The penalty of a cell.
    """
    n_features = steps.shape[1]
    unit = float(np.abs(slopes).max(initial=0.0)) or 1.0
    gains = np.zeros((n_folds + 1, n_features, n_features))
    blocks = [np.arange(a, min(a + FEATURES_AT_ONCE, n_features)) for a in range(0, n_features, FEATURES_AT_ONCE)]
    starts = [np.concatenate([[0], np.cumsum(steps[:, some].max(axis=0, initial=0) + 1)]) for some in blocks]
    for (one, of_one), (other, of_other) in combinations_with_replacement(zip(blocks, starts, strict=True), 2):
        for k in range(slopes.shape[1]):
            sums = np.zeros((2, n_folds, of_one[-1], of_other[-1]))
            for number in range(n_folds):
                within = np.flatnonzero(fold == number)
                for rows in np.split(within, np.arange(ROWS_AT_ONCE, len(within), ROWS_AT_ONCE)):
                    first_hot = _indicators(steps[np.ix_(rows, one)], of_one)
                    second_hot = _indicators(steps[np.ix_(rows, other)], of_other)
                    for total, values in zip(sums[:, number], (slopes, curvature), strict=True):
                        rounded = np.rint(values[rows, k] / (unit * GRID)) * GRID
                        with one_thread():
                            total += first_hot.T @ (second_hot * rounded[:, None])
            whole = sums.sum(axis=1)
            for number in range(n_folds + 1):
                first, second = whole if number == n_folds else whole - sums[:, number]
                gains[number][np.ix_(one, other)] += _gains(first * unit, second * unit, of_one, of_other, l2)
    for of_fold in gains:
        upper = np.triu(of_fold, 1)
        of_fold[:] = upper + upper.T
    return gains


def _indicators(steps: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Dense indicators of the steps of rows (n_rows, d), given the first column of each feature and their number."""
    hot = np.zeros((len(steps), starts[-1]))
    row, feature = np.nonzero(steps >= 0)
    hot[row, starts[feature] + steps[row, feature]] = 1.0
    return hot


def _gains(first: np.ndarray, second: np.ndarray, rows: np.ndarray, columns: np.ndarray, l2: float) -> np.ndarray:
    """The gain of each pair of two blocks of features, from the sums of slopes and curvatures in all cells.

    `rows` and `columns` are the first cells of the features of both blocks.
    """

    def drop(G: np.ndarray, H: np.ndarray) -> np.ndarray:
        """Twice the drop of a Newton step less 1 by chance; 0 in cells without rows."""
        return np.where(H > 0.0, (G * G) / (H + l2) - H / (H + l2), 0.0)

    def by_rows(values: np.ndarray) -> np.ndarray:
        return np.add.reduceat(values, rows[:-1], axis=0)

    def by_columns(values: np.ndarray) -> np.ndarray:
        return np.add.reduceat(values, columns[:-1], axis=1)

    cells = by_columns(by_rows(drop(first, second)))
    alone = by_rows(drop(by_columns(first), by_columns(second)))
    return cells - alone - by_columns(drop(by_rows(first), by_rows(second)))


def best_pairs(gains: np.ndarray, number: int) -> list[tuple[int, int]]:
    """The pairs of the highest gains (d, d) above 0, best first, at most `number`."""
    i, j = np.triu_indices(len(gains), 1)
    found = gains[i, j]
    order = np.lexsort([j, i, -found])[:number]
    return [(int(i[one]), int(j[one])) for one in order if found[one] > 0.0]

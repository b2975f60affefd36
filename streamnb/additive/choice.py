"""Chooses penalties and pairs of features of an additive model, by models without each fold of a sample of the rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from streamnb.additive.descent import LaneModel, TermDescent, TermRows, TermWeights, bytes_of_models
from streamnb.additive.layers import AdditiveTerms, FeaturePair
from streamnb.additive.losses import ClassLosses, NumberLosses, TermLosses
from streamnb.additive.pair_ranking import CELLS, best_pairs, pair_gains
from streamnb.additive.terms import of_terms
from streamnb.core import memory
from streamnb.encoding.terms import TermColumns
from streamnb.evaluation.scorers import Scorer, check_scorer
from streamnb.kernels.lanes import LANES
from streamnb.problem.schemes import Scheme, as_scheme
from streamnb.selection.fold_judge import FoldJudge
from streamnb.selection.fold_models import results_of
from streamnb.stats.row_sample import SampledRows
from streamnb.training.learner import check_seen

ALL = -1  # in place of the number of a fold: all rows
MODELS_BYTES = 128 << 20  # of models that train at a time; of the sample, which is in memory, more reads cost nothing


class JudgedPoint(NamedTuple):
    """A point, its scores on the folds, those by each scorer, by name, and the weights without each fold."""

    point: dict[str, Any]
    scores: np.ndarray
    each: dict[str, np.ndarray]
    weights: dict[int, np.ndarray]

    @property
    def mean(self) -> float:
        return float(np.nanmean(self.scores))


class Start(NamedTuple):
    """The best model so far without a fold: its columns, point and weights."""

    columns: TermColumns
    point: dict[str, Any]
    weights: TermWeights


class TermJudge:
    """What models of sampled rows minimise, and how they are judged on the rows of a fold.

    Attributes
    ----------
    names : list of str
        Of the scorers, the one that decides first.
    losses : TermLosses
        Those of the sampled rows.
    """

    names: list[str]
    losses: TermLosses

    def check(self) -> None:
        """Raise where models without a fold, or scores of them, are not defined for these rows."""

    def scores(self, scores: np.ndarray, some: np.ndarray) -> list[float]:
        """What each scorer finds of the scores (n, R) of `some` rows."""
        raise NotImplementedError

    def penalty(self, l2: float, fold: int) -> float:
        """The penalty of the lanes of a model without a fold."""
        return l2


@dataclass(frozen=True, eq=False)
class ClassJudge(TermJudge):
    """Judges probabilities of classes.

    Attributes
    ----------
    name : str
        That of the estimator, for messages.
    rows : SampledRows
    classes : (K,)
    n_folds : int
    scorer : Scorer
    """

    name: str
    rows: SampledRows
    classes: np.ndarray
    n_folds: int
    scorer: Scorer

    @property
    def names(self) -> list[str]:  # type: ignore[override]
        return [scorer.name for scorer in self.scorer.each]

    @cached_property
    def _own(self) -> tuple[np.ndarray, np.ndarray]:
        """The classes that the sampled rows have, and for each row the place of its class among them."""
        numbers, codes = np.unique(np.asarray(self.rows.labels.indices, np.int64), return_inverse=True)
        return self.classes[numbers], codes

    @cached_property
    def losses(self) -> ClassLosses:  # type: ignore[override]
        return ClassLosses(self._own[1], len(self._own[0]))

    @cached_property
    def _judge(self) -> FoldJudge:
        """Evaluates one model of a fold at a time."""
        return FoldJudge(self._own[0], self.scorer.needs, self.n_folds)

    @cached_property
    def _scheme(self) -> Scheme:
        return as_scheme("joint", self._own[0])

    def check(self) -> None:
        check_scorer(self.scorer, self._judge.evaluation(self._scheme, 1))
        classes, codes = self._own
        for fold in range(self.n_folds):
            seen = classes[np.bincount(codes, self.rows.weight * (self.rows.fold != fold), len(classes)) > 0.0]
            check_seen(seen.tolist(), self.name, fold)

    def scores(self, scores: np.ndarray, some: np.ndarray) -> list[float]:
        evaluation = self._judge.evaluation(self._scheme, 1)
        evaluation.add_margins(self._scheme, scores[:, :, None], self._own[1][some], self.rows.weight[some])
        return [value for value, _, _ in results_of(self.scorer, evaluation)[0]]

    def penalty(self, l2: float, fold: int) -> float:
        if self.losses.width > 1 and len(np.unique(self._own[1][self.rows.fold != fold])) == 2:
            return 2.0 * l2  # weights w / 2 and -w / 2 have half the penalty of the one row w of a model of two classes
        return l2


@dataclass(frozen=True, eq=False)
class NumberJudge(TermJudge):
    """Judges predicted numbers by the share of the deviance that they explain.

    Attributes
    ----------
    rows : SampledRows
    losses : NumberLosses
        Whose unit is the mean deviance of a constant prediction.
    """

    rows: SampledRows
    losses: NumberLosses
    names = ["d2"]  # noqa: RUF012

    def scores(self, scores: np.ndarray, some: np.ndarray) -> list[float]:
        losses, weight = self.losses, self.rows.weight[some]
        of_rows = losses.loss.values(scores[:, 0], losses.y[some])
        total = losses.unit * float(weight.sum())
        return [1.0 - 2.0 * float(weight @ of_rows) / total if total > 0.0 else np.nan]


@dataclass(frozen=True, eq=False)
class AdditiveChooser:
    """Chooses on a sample of rows in memory.

    Attributes
    ----------
    terms : AdditiveTerms
        Without pairs.
    rows : SampledRows
        With the codes of features, (n_rows, n_features) int32.
    n_folds : int
    judge : TermJudge
    memory_limit : int or None
    """

    terms: AdditiveTerms
    rows: SampledRows
    n_folds: int
    judge: TermJudge
    memory_limit: int | None

    @cached_property
    def starts(self) -> dict[int, Start]:
        """The best model so far without each fold, from which others start."""
        return {}

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
        """Bytes of so many models of these terms that train together, and of the rows by their columns."""
        n_rows, n_terms = len(self.rows.weight), len(terms.columns().features)
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
            cure = f"give a larger memory_limit, or take fewer interactions: about {fit:,} fit"
        memory.check(what, needed, limit, cure)

    def ranked(
        self, best: JudgedPoint, most: int, left_out: Sequence[int] = (), most_features: int = 200
    ) -> dict[int, list[FeaturePair]]:
        """The best pairs, by the rows outside each fold and by all rows, by slopes of models without a row's fold.

        Features `left_out` do not take part; of the others those whose curves matter most, if there are many.
        """
        rows = self.without_pairs.rows
        scores = rows.held_out(best.weights)
        found, coded = self.judge.losses.derivatives(scores, self.rows.weight), self.terms.coded
        kept = self._worth_pairing(rows, best.weights, left_out, most_features)
        codes = self.rows.X[:, kept]
        steps = np.full(codes.shape, -1, np.int32)
        for of_feature, codes_of_feature, j in zip(steps.T, codes.T, kept.tolist(), strict=True):
            present = codes_of_feature >= 0
            of_feature[present] = coded.steps(j, CELLS)[codes_of_feature[present]]
        l2 = best.point["l2"] / found.dispersion
        gains = pair_gains(steps, found.slopes, found.curvatures, self.rows.fold, self.n_folds, l2)
        folds = ALL, *range(self.n_folds)
        return {fold: [(int(kept[i]), int(kept[j])) for i, j in best_pairs(gains[fold], most)] for fold in folds}

    def _worth_pairing(
        self, rows: TermRows, weights: Mapping[int, np.ndarray], left_out: Sequence[int], most: int
    ) -> np.ndarray:
        """The features whose pairs are ranked, ascending: those with the largest scores."""
        columns, counts = rows.columns, np.bincount(rows.places.reshape(-1), minlength=rows.columns.n_columns + 1)[:-1]
        size = sum(np.abs(of_fold[:-1]).mean(axis=1) * counts for of_fold in weights.values())
        of_features = np.zeros(self.terms.coded.n_features)
        np.add.at(of_features, np.repeat(columns.features[:, 0], columns.widths), size)
        order = np.argsort(-of_features, kind="stable")
        return np.sort(order[~np.isin(order, list(left_out))][: max(most, 2)])


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
        parents, leaves = self.terms.layers.tree
        return TermRows(columns, parents, leaves, places, chooser.judge.losses, given.weight, given.fold)

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
            models = [self._model(point, fold) for point, fold in some]
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
        of_best = found[best * len(folds) : (best + 1) * len(folds)]
        starts = [Start(self.rows.columns, points[best], one) for one in of_best]
        chooser.starts.update(zip(folds, starts, strict=True))
        return judged

    def _model(self, point: dict[str, Any], fold: int) -> LaneModel:
        """The model of a point without a fold; it starts from the best so far."""
        terms, l2 = self.terms, self.chooser.judge.penalty(point["l2"], fold)
        has = np.append(np.ones(terms.coded.n_features, bool), [pair in self.pairs[fold] for pair in terms.pairs])
        variance = terms.factors(point["pair_factor"]) ** 2 / l2
        variance *= has[np.repeat(terms.layers.terms, terms.layers.widths)]
        known, start = self.chooser.starts.get(fold), None
        if known is not None:
            own, alone = self.rows.columns, self.rows.columns.features[:, 1] < 0
            parts = known.weights.weights, known.weights.pulls
            weights, pulls = (of_terms(known.columns, part[:-1], own) for part in parts)
            stronger = np.where(alone, 1.0, point["pair_factor"] / known.point["pair_factor"])
            of_column = np.repeat(stronger * has, own.widths)[:, None]
            weights *= np.repeat(has, own.widths)[:, None]
            pulls *= of_column * (point["l2"] / known.point["l2"])
            intercepts = known.weights.weights[-1:]
            start = TermWeights(np.concatenate([weights, intercepts]), np.concatenate([pulls, 0.0 * pulls[:1]]))
        return LaneModel(fold, variance, start)

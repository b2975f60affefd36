"""Chooses penalties and pairs of features of an additive model, by models without each fold of a sample of the rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from streamnb.core import memory
from streamnb.encoding.terms import TermColumns
from streamnb.evaluation.scorers import Scorer, check_scorer
from streamnb.kernels.lanes import LANES
from streamnb.models.additive import of_terms
from streamnb.problem.schemes import Scheme, as_scheme
from streamnb.selection.fold_judge import FoldJudge
from streamnb.selection.fold_models import results_of
from streamnb.selection.pair_ranking import CELLS, best_pairs, pair_gains
from streamnb.selection.term_descent import LaneModel, TermDescent, TermRows, TermWeights, bytes_of_models
from streamnb.selection.term_layers import AdditiveTerms, FeaturePair
from streamnb.stats.row_sample import SampledRows
from streamnb.training.learner import check_seen
from streamnb.training.objectives import Logistic, Softmax

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


@dataclass(frozen=True, eq=False)
class AdditiveChooser:
    """Chooses on a sample of rows in memory.

    Attributes
    ----------
    name : str
        That of the estimator, for messages.
    terms : AdditiveTerms
        Without pairs.
    rows : SampledRows
        With the codes of features, (n_rows, n_features) int32.
    classes : (K,)
    n_folds : int
    scorer : Scorer
    memory_limit : int or None
    """

    name: str
    terms: AdditiveTerms
    rows: SampledRows
    classes: np.ndarray
    n_folds: int
    scorer: Scorer
    memory_limit: int | None

    @cached_property
    def starts(self) -> dict[int, Start]:
        """The best model so far without each fold, from which others start."""
        return {}

    @cached_property
    def own(self) -> tuple[np.ndarray, np.ndarray]:
        """The numbers of the classes that the sampled rows have, and for each row the place of its class among them."""
        return np.unique(np.asarray(self.rows.labels.indices, np.int64), return_inverse=True)

    @property
    def n_classes(self) -> int:
        return len(self.own[0])

    @property
    def width(self) -> int:
        """Rows of weights of a model."""
        return 1 if self.n_classes == 2 else self.n_classes

    @cached_property
    def without_pairs(self) -> "FoldStage":
        """The models of single features."""
        return FoldStage(self, {fold: [] for fold in range(ALL, self.n_folds)})

    @cached_property
    def judge(self) -> FoldJudge:
        """Evaluates one model of a fold at a time."""
        return FoldJudge(self.classes[self.own[0]], self.scorer.needs, self.n_folds)

    @cached_property
    def scheme(self) -> Scheme:
        return as_scheme("joint", self.classes[self.own[0]])

    def check(self) -> None:
        """Raise where the rows outside a fold are of one class, or where scores are not defined for these classes."""
        check_scorer(self.scorer, self.judge.evaluation(self.scheme, 1).of_point(0))
        classes, codes = self.classes[self.own[0]], self.own[1]
        for fold in range(self.n_folds):
            seen = classes[np.bincount(codes, self.rows.weight * (self.rows.fold != fold), len(classes)) > 0.0]
            check_seen(seen.tolist(), self.name, fold)

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
        if self.width == 1:
            slopes, _ = Logistic().losses(scores, rows.own[:, None].astype(np.uint8))
            curvature = Logistic().hessian(scores, rows.own)
        else:
            slopes, _ = Softmax().losses(scores, rows.own)
            curvature = Softmax().hessian_diagonal(Softmax().hessian(scores, rows.own))
        weight, coded = self.rows.weight[:, None], self.terms.coded
        kept = self._worth_pairing(rows, best.weights, left_out, most_features)
        codes = self.rows.X[:, kept]
        steps = np.full(codes.shape, -1, np.int32)
        for of_feature, codes_of_feature, j in zip(steps.T, codes.T, kept.tolist(), strict=True):
            present = codes_of_feature >= 0
            of_feature[present] = coded.steps(j, CELLS)[codes_of_feature[present]]
        gains = pair_gains(steps, slopes * weight, curvature * weight, self.rows.fold, self.n_folds, best.point["l2"])
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
        return TermRows(columns, parents, leaves, places, chooser.own[1], chooser.n_classes, given.weight, given.fold)

    def judged(self, points: Sequence[dict[str, Any]]) -> list[JudgedPoint]:
        """Each point, with its score on each fold."""
        chooser, folds = self.chooser, range(self.chooser.n_folds)
        chooser.check_memory(self.terms, max(map(len, self.pairs.values())))
        every = [(point, fold) for point in points for fold in folds]
        at_once, most = max(LANES // chooser.width, 1), min(MODELS_BYTES, memory.allowed(chooser.memory_limit))
        while at_once < len(every) and chooser.bytes_needed(self.terms, at_once + 1) <= most:
            at_once += 1
        found, results = list[TermWeights](), list[tuple[Any, ...]]()
        for first in range(0, len(every), at_once):
            some = every[first : first + at_once]
            models = [self._model(point, fold) for point, fold in some]
            descent = TermDescent(self.rows, models)
            found += descent.trained()
            scores = descent.scores
            for (_, fold), lane in zip(some, range(0, scores.shape[1], chooser.width), strict=False):
                results.append(self._judged(scores[:, lane : lane + chooser.width], fold))
        judged = []
        for place, point in enumerate(points):
            of_point = slice(place * len(folds), (place + 1) * len(folds))
            scores = np.array([[value for value, _, _ in by_scorer] for by_scorer in results[of_point]])
            each = dict(zip([scorer.name for scorer in chooser.scorer.each], scores.T, strict=True))
            weights = dict(zip(folds, [one.weights for one in found[of_point]], strict=True))
            judged.append(JudgedPoint(point, scores[:, 0], each, weights))
        best = max(range(len(points)), key=lambda place: judged[place].mean)
        of_best = found[best * len(folds) : (best + 1) * len(folds)]
        starts = [Start(self.rows.columns, points[best], one) for one in of_best]
        chooser.starts.update(zip(folds, starts, strict=True))
        return judged

    def _model(self, point: dict[str, Any], fold: int) -> LaneModel:
        """The model of a point without a fold; it starts from the best so far."""
        terms, l2 = self.terms, point["l2"]
        has = np.append(np.ones(terms.coded.n_features, bool), [pair in self.pairs[fold] for pair in terms.pairs])
        of_rows = self.chooser.rows
        if self.chooser.width > 1 and len(np.unique(self.chooser.own[1][of_rows.fold != fold])) == 2:
            l2 = 2.0 * l2  # weights w / 2 and -w / 2 have half the penalty of the one row w of a model of two classes
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

    def _judged(self, scores: np.ndarray, fold: int) -> tuple[tuple[float, Any, Any], ...]:
        """What each scorer finds of the scores of a model on the rows of its fold."""
        chooser, rows = self.chooser, self.rows
        own = np.flatnonzero(rows.fold == fold)
        evaluation, scheme = chooser.judge.evaluation(chooser.scheme, 1), chooser.scheme
        evaluation.add(scheme, scores[own][:, :, None], rows.own[own], rows.weight[own])
        return results_of(chooser.scorer, evaluation, 1)[0]

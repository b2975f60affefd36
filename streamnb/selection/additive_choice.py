"""Chooses penalties and pairs of features of an additive model, by models without each fold of a sample of the rows."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from streamnb.core.memory import allowed
from streamnb.encoding.learning import StepsOfFolds
from streamnb.encoding.terms import TermColumns, codes_of
from streamnb.evaluation.scorers import Scorer
from streamnb.passes.options import RunOptions
from streamnb.rows.boundary import as_chunk
from streamnb.rows.opening import opened
from streamnb.rows.preparing import RowOptions
from streamnb.rows.splits import Folding
from streamnb.selection.fold_models import FoldModel, train_together
from streamnb.selection.folded_scan import ScannedRows, scan_to_train
from streamnb.selection.pair_ranking import CELLS, best_pairs, pair_gains
from streamnb.selection.penalty_search import ModelGroups, PenaltySearch
from streamnb.selection.term_layers import AdditiveTerms, FeaturePair
from streamnb.stats.row_sample import SampledRows
from streamnb.training.fitting import LayeredMethod
from streamnb.training.learner import Learner
from streamnb.training.objectives import softmax_of
from streamnb.training.reading import scores_of

ALL = -1  # in place of the number of a fold: all rows
FEW_READS = 20  # of models that are judged


class JudgedPoint(NamedTuple):
    """A point, its scores on the folds, those by each scorer, by name, and the models that they are of."""

    point: dict[str, Any]
    scores: np.ndarray
    each: dict[str, np.ndarray]
    models: list[FoldModel]

    @property
    def mean(self) -> float:
        return float(np.nanmean(self.scores))


@dataclass(frozen=True, eq=False)
class AdditiveChooser:
    """Chooses on a sample of rows in memory, which are indicators of their codes.

    Attributes
    ----------
    learner : Learner
    terms : AdditiveTerms
        Without pairs.
    rows : SampledRows
    classes : (K,)
    n_folds : int
    scorer : Scorer
    options : RunOptions
    """

    learner: Learner
    terms: AdditiveTerms
    rows: SampledRows
    classes: np.ndarray
    n_folds: int
    scorer: Scorer
    options: RunOptions

    @cached_property
    def alone(self) -> "FoldStage":
        """The models of single features."""
        return self.stage({ALL: []})

    def stage(self, pairs: Mapping[int, list[FeaturePair]]) -> "FoldStage":
        """The models with these pairs, by fold."""
        with self.enough_memory(pairs):
            return FoldStage.of(self, pairs)

    def best_alone(self, l2: Sequence[float]) -> list[JudgedPoint]:
        """Each penalty judged without pairs."""
        return self.alone.judged([{"l2": one, "l1": 0.0, "pair_factor": 1.0, "interactions": 0} for one in l2])

    @contextmanager
    def enough_memory(self, pairs: Mapping[int, list[FeaturePair]]) -> Iterator[None]:
        """Say how many of these pairs fit into memory where they do not."""
        try:
            yield
        except MemoryError as error:
            n_pairs = len(pairs[ALL])
            if not n_pairs:
                raise
            method, n_rows = self.learner.method, 1 if len(self.classes) == 2 else len(self.classes)
            sizes = [terms.layers.parts.shape for terms in (self.terms, replace(self.terms, pairs=tuple(pairs[ALL])))]
            alone, all_of_them = (
                ModelGroups.of(method, 1, n_columns, n_rows, self.options, n_weights).model_bytes
                for n_columns, n_weights in sizes
            )
            left = max(allowed(self.options.memory_limit) - alone, 0)
            fit = min(int(n_pairs * left / (all_of_them - alone)), n_pairs // 2)
            raise MemoryError(
                f"{n_pairs:,} pairs of features need more than memory_limit allows, which is enough for about {fit:,} "
                f"of them; take fewer interactions, or give a larger memory_limit ({error})"
            ) from None

    def ranked(
        self, best: JudgedPoint, most: int, left_out: Sequence[int] = (), most_features: int = 200
    ) -> dict[int, list[FeaturePair]]:
        """The best pairs, by the rows outside each fold and by all rows, by slopes of models without a row's fold.

        Features `left_out` do not take part; of the others those whose curves matter most, if there are many.
        """
        weights = self.alone.weights(best)
        scores = np.zeros((len(self.rows.weight), weights[0].shape[1]))
        chunk = as_chunk(self.alone.matrix)[0]
        for fold, of_fold in weights.items():
            rows = np.flatnonzero(self.rows.fold == fold)
            scores[rows] = scores_of(chunk.picked(rows), of_fold)
        objective = softmax_of(self.alone.scanned.stats)
        targets = objective.sampled_targets(self.rows.labels, scores.shape[1])
        curvature = objective.hessian_diagonal(objective.hessian(scores, targets))
        slopes, _ = objective.losses(scores, targets)
        weight, coded = self.rows.weight[:, None], self.terms.coded
        kept = self._worth_pairing(weights, left_out, most_features)
        codes = codes_of(self.rows.X, coded.firsts)[:, kept]
        steps = np.full(codes.shape, -1, np.int32)
        for of_feature, codes_of_feature, j in zip(steps.T, codes.T, kept.tolist(), strict=True):
            present = codes_of_feature >= 0
            of_feature[present] = coded.steps(j, CELLS)[codes_of_feature[present]]
        gains = pair_gains(steps, slopes * weight, curvature * weight, self.rows.fold, self.n_folds, best.point["l2"])
        folds = ALL, *range(self.n_folds)
        return {fold: [(int(kept[i]), int(kept[j])) for i, j in best_pairs(gains[fold], most)] for fold in folds}

    def _worth_pairing(self, weights: Mapping[int, np.ndarray], left_out: Sequence[int], most: int) -> np.ndarray:
        """The features whose pairs are ranked, ascending: those with the largest scores, as many as memory allows."""
        columns, counts = (
            self.alone.columns,
            np.bincount(self.alone.matrix.indices, minlength=self.alone.matrix.shape[1]),
        )
        size = sum(np.abs(of_fold[:-1]).mean(axis=1) * counts for of_fold in weights.values())
        of_features = np.zeros(self.terms.coded.n_features)
        np.add.at(of_features, np.repeat(columns.features[:, 0], columns.widths), size)
        bytes_of_cell = 32 * (self.n_folds + 1)  # of sums for each fold, and of work on them
        within = int(np.sqrt(allowed(self.options.memory_limit) / bytes_of_cell)) // (CELLS + 1)
        order = np.argsort(-of_features, kind="stable")
        return np.sort(order[~np.isin(order, list(left_out))][: max(min(most, within), 2)])


@dataclass(frozen=True, eq=False)
class FoldStage:
    """Models without each fold, with pairs that may differ by fold."""

    chooser: AdditiveChooser
    pairs: Mapping[int, list[FeaturePair]]
    columns: TermColumns
    matrix: Any
    learner: Learner
    scanned: ScannedRows

    @classmethod
    def of(cls, chooser: AdditiveChooser, pairs: Mapping[int, list[FeaturePair]]) -> "FoldStage":
        """Scan the sampled rows for models with these pairs."""
        rows, options = chooser.rows, chooser.options
        terms = replace(chooser.terms, pairs=tuple(sorted(set(chain(*pairs.values())))))
        columns = terms.columns()
        matrix = columns.applied(as_chunk(rows.X)[0])
        y = chooser.classes[rows.labels.indices]
        given = opened(matrix, y, rows.weight, ("folds", rows.fold))

        def of_point(point: dict[str, Any], outside: int | None) -> np.ndarray:
            return terms.factors(pairs.get(ALL if outside is None else outside, []), point["pair_factor"])

        learner = replace(
            chooser.learner,
            method=LayeredMethod(softmax_of, len(columns.features), terms.layers.parts, of_point),
            max_passes=FEW_READS,
        )
        folding, steps = Folding(chooser.n_folds, by="given"), StepsOfFolds()
        scanned = scan_to_train(learner, RowOptions(), steps, given, (y, rows.weight), folding, options)
        return cls(chooser, pairs, columns, matrix, learner, scanned)

    def judged(self, points: Sequence[dict[str, Any]]) -> list[JudgedPoint]:
        """Each point, with its score on each fold."""
        search = PenaltySearch(self.learner, points, self.scanned, self.chooser.scorer)
        with self.chooser.enough_memory(self.pairs):
            search.check()
        search.judge()
        judged, scorers = [], self.chooser.scorer.each
        for point, models in zip(points, search.by_point(), strict=True):
            last = [model.scores[model.after(len(model.reached))] for model in models]
            each = {scorer.name: np.array([scores[k][0] for scores in last]) for k, scorer in enumerate(scorers)}
            judged.append(JudgedPoint(point, each[scorers[0].name], each, models))
        return judged

    def weights(self, judged: JudgedPoint) -> dict[int, np.ndarray]:
        """The weights (n_columns + 1, R) of the models without each fold, trained again if memory was short."""
        models = judged.models
        if any(model.trained is None for model in models):
            models = self._trained(judged.point)
        return {model.fold: model.trained.weights for model in models if model.trained is not None}

    def _trained(self, point: dict[str, Any]) -> list[FoldModel]:
        """The models of a point without each fold."""
        scanned, learner, n_folds = self.scanned, self.learner, self.chooser.n_folds
        models = []
        for fold in range(n_folds):
            data = learner.data(scanned.of_folds.outside(fold), scanned.shared, scanned.options, fold)
            models.append(FoldModel(fold, 0, learner.trainer(data, point, learner.max_passes, judges=False)))
        train_together(learner, models, scanned, "folds-read")
        return models

"""Chooses penalties and pairs of features of an additive model, by models without each fold of a sample of the rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from streamnb.core import memory
from streamnb.encoding.learning import StepsOfFolds
from streamnb.encoding.terms import TermColumns
from streamnb.evaluation.scorers import Scorer
from streamnb.passes.contract import RunOptions
from streamnb.passes.run import run_reads
from streamnb.rows.boundary import as_chunk
from streamnb.rows.opening import opened
from streamnb.rows.preparing import RowOptions
from streamnb.rows.splits import Folding
from streamnb.selection.fold_models import (
    FoldModel,
    ModelGroups,
    bytes_of_data,
    check_models,
    judged_models,
    models_by_point,
)
from streamnb.selection.folded_scan import ScannedRows, scan_to_train
from streamnb.selection.pair_ranking import CELLS, best_pairs, pair_gains
from streamnb.selection.term_layers import AdditiveTerms, FeaturePair
from streamnb.stats.row_sample import SampledRows
from streamnb.training.fitting import LayeredMethod
from streamnb.training.learner import Learner
from streamnb.training.objectives import softmax_of
from streamnb.training.reading import scores_of

ALL = -1  # in place of the number of a fold: all rows
FEW_READS = 20  # of models that are judged
MEMORY_FACTOR = 2.0  # measured: of an open model and sums of folds, with judged weights, layers and threads
MODELS_BYTES = 40 << 20  # of models that train at a time; of the sample, which is in memory, more reads cost nothing


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
    """Chooses on a sample of rows in memory.

    Attributes
    ----------
    learner : Learner
    terms : AdditiveTerms
        Without pairs.
    rows : SampledRows
        With the codes of features, (n_rows, n_features) int32.
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
    def starts(self) -> dict[int | None, np.ndarray]:
        """The weights of the best model so far without each fold, from which others start."""
        return {}

    @cached_property
    def without_pairs(self) -> "FoldStage":
        """The models of single features."""
        return FoldStage(self, {fold: [] for fold in range(ALL, self.n_folds)})

    @cached_property
    def _last_terms(self) -> dict[tuple[FeaturePair, ...], AdditiveTerms]:
        return {}

    def with_pairs(self, pairs: Sequence[FeaturePair]) -> AdditiveTerms:
        """The terms of all features and of these pairs; the last ones are kept, as making their layers takes long."""
        if tuple(pairs) not in self._last_terms:
            self._last_terms.clear()
            self._last_terms[tuple(pairs)] = replace(self.terms, pairs=tuple(pairs))
        return self._last_terms[tuple(pairs)]

    def n_weights(self, pairs: Sequence[FeaturePair]) -> int:
        """The number of weights that these pairs add to a model."""
        n_columns = self.with_pairs(pairs).layers.parts.shape[1] - self.terms.layers.parts.shape[1]
        return n_columns * (1 if len(self.classes) == 2 else len(self.classes))

    def bytes_needed(self, terms: AdditiveTerms) -> float:
        """Bytes of an open model of these terms, and of all that is held beside it."""
        (n_columns, n_weights), n_classes = terms.layers.parts.shape, len(self.classes)
        n_rows = 1 if n_classes == 2 else n_classes
        groups = ModelGroups.of(self.learner.method, 1, n_columns, n_rows, self.options, n_weights)
        sums = 16 * (self.n_folds + 1) * n_columns * n_classes
        return MEMORY_FACTOR * (groups.model_bytes + sums + bytes_of_data(n_columns, n_rows, self.n_folds))

    def check_memory(self, pairs: Sequence[FeaturePair]) -> None:
        """Raise before training where models with these pairs need more memory than allowed; say how many pairs fit."""
        n_pairs, limit = len(pairs), self.options.memory_limit
        needed = self.bytes_needed(self.with_pairs(pairs))
        what, cure = "an additive model of these features", "give a larger memory_limit, or fewer features"
        alone, may = self.bytes_needed(self.terms), memory.allowed(limit)
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
        weights, alone = self.without_pairs.weights(best), self.without_pairs.terms(ALL)
        scores = np.zeros((len(self.rows.weight), weights[0].shape[1]))
        chunk = as_chunk(alone.matrix)[0]
        for fold, of_fold in weights.items():
            rows = np.flatnonzero(self.rows.fold == fold)
            scores[rows] = scores_of(chunk.picked(rows), of_fold)
        objective = softmax_of(alone.scanned.stats)
        targets = objective.sampled_targets(self.rows.labels, scores.shape[1])
        curvature = objective.hessian_diagonal(objective.hessian(scores, targets))
        slopes, _ = objective.losses(scores, targets)
        weight, coded = self.rows.weight[:, None], self.terms.coded
        kept = self._worth_pairing(alone, weights, left_out, most_features)
        del alone, chunk
        self.without_pairs.last.clear()
        codes = self.rows.X[:, kept]
        steps = np.full(codes.shape, -1, np.int32)
        for of_feature, codes_of_feature, j in zip(steps.T, codes.T, kept.tolist(), strict=True):
            present = codes_of_feature >= 0
            of_feature[present] = coded.steps(j, CELLS)[codes_of_feature[present]]
        gains = pair_gains(steps, slopes * weight, curvature * weight, self.rows.fold, self.n_folds, best.point["l2"])
        folds = ALL, *range(self.n_folds)
        return {fold: [(int(kept[i]), int(kept[j])) for i, j in best_pairs(gains[fold], most)] for fold in folds}

    def _worth_pairing(
        self, alone: "ScannedTerms", weights: Mapping[int, np.ndarray], left_out: Sequence[int], most: int
    ) -> np.ndarray:
        """The features whose pairs are ranked, ascending: those with the largest scores."""
        columns, counts = alone.columns, np.bincount(alone.matrix.indices, minlength=alone.matrix.shape[1])
        size = sum(np.abs(of_fold[:-1]).mean(axis=1) * counts for of_fold in weights.values())
        of_features = np.zeros(self.terms.coded.n_features)
        np.add.at(of_features, np.repeat(columns.features[:, 0], columns.widths), size)
        order = np.argsort(-of_features, kind="stable")
        return np.sort(order[~np.isin(order, list(left_out))][: max(most, 2)])


@dataclass(frozen=True, eq=False)
class ScannedTerms:
    """The sampled rows as columns of terms, scanned for models of these.

    Attributes
    ----------
    columns : TermColumns
    matrix : (n_rows, n_columns) CSR array
    scanned : ScannedRows
    """

    columns: TermColumns
    matrix: Any
    scanned: ScannedRows

    @classmethod
    def of(cls, chooser: AdditiveChooser, pairs: Sequence[FeaturePair]) -> "ScannedTerms":
        """The terms of all features and of these pairs."""
        rows, terms = chooser.rows, chooser.with_pairs(pairs)
        columns = terms.columns()
        matrix = columns.of_codes(rows.X)
        y = chooser.classes[rows.labels.indices]
        given = opened(matrix, y, rows.weight, ("folds", rows.fold))

        def factors(point: dict[str, Any]) -> np.ndarray:
            return terms.factors(point["pair_factor"])

        method = LayeredMethod(softmax_of, len(columns.features), terms.layers.parts, factors)
        learner = replace(chooser.learner, method=method.comparing(chooser.starts), max_passes=FEW_READS)
        folding, steps = Folding(chooser.n_folds, by="given"), StepsOfFolds()
        scanned = run_reads(scan_to_train(learner, RowOptions(), steps, given, folding, chooser.options))
        return cls(columns, matrix, scanned)


@dataclass(frozen=True, eq=False)
class FoldStage:
    """Models without each fold, with pairs that may differ by fold: folds with the same pairs are judged together.

    Attributes
    ----------
    chooser : AdditiveChooser
    pairs : mapping of a fold, or `ALL`, to its pairs
    """

    chooser: AdditiveChooser
    pairs: Mapping[int, list[FeaturePair]]

    def terms(self, fold: int) -> ScannedTerms:
        """The terms of the models without a fold."""
        if self.last.get("pairs") != self.pairs[fold]:
            self.last.clear()
            self.last.update(pairs=self.pairs[fold], terms=ScannedTerms.of(self.chooser, self.pairs[fold]))
        return self.last["terms"]

    @cached_property
    def last(self) -> dict[str, Any]:
        """The last pairs and their terms, which are made again where they were freed."""
        return {}

    def judged(self, points: Sequence[dict[str, Any]]) -> list[JudgedPoint]:
        """Each point, with its score on each fold."""
        models: list[list[FoldModel]] = [[] for _ in points]
        at_a_time = min(MODELS_BYTES, int(memory.allowed(self.chooser.options.memory_limit) / MEMORY_FACTOR))
        for pairs, alike in groupby(range(self.chooser.n_folds), self.pairs.__getitem__):
            folds = list(alike)
            self.chooser.check_memory(pairs)
            terms = self.terms(folds[0])
            scanned = replace(terms.scanned, grid=points)
            check_models(scanned)
            found, _ = run_reads(judged_models(scanned, self.chooser.scorer, folds, most_bytes=at_a_time))
            for own, of_folds in zip(models, models_by_point(found, len(points)), strict=True):
                own.extend(of_folds)
        del terms, scanned
        self.last.clear()
        judged, scorers = [], self.chooser.scorer.each
        for point, of_folds in zip(points, models, strict=True):
            last = [model.scores[model.after(len(model.reached))] for model in of_folds]
            each = {scorer.name: np.array([scores[k][0] for scores in last]) for k, scorer in enumerate(scorers)}
            judged.append(JudgedPoint(point, each[scorers[0].name], each, of_folds))
        best = max(judged, key=lambda point: point.mean)
        self.chooser.starts.update({model.fold: model.outcome for model in best.models})
        return judged

    def weights(self, judged: JudgedPoint) -> dict[int, np.ndarray]:
        """The weights (n_columns + 1, R) of the models without each fold."""
        found = {}
        for model in judged.models:
            parts = self.chooser.with_pairs(self.pairs[model.fold]).layers.parts
            found[model.fold] = np.concatenate([parts @ model.outcome[:-1], model.outcome[-1:]])
        return found

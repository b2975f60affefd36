"""Judges several models on the same rows in one pass, with sums of the differences between two models, row by row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.core import label_checks, persistence
from streamnb.evaluation.estimates import spread_of
from streamnb.evaluation.evaluation import Evaluation
from streamnb.evaluation.judging import JudgingTask, class_numbers, methods_of, needs_of, outputs_of, ranked_apart
from streamnb.evaluation.spread import RowSpread
from streamnb.evaluation.tallies import LOSSES, Rows, Tally, losses_of, stacked
from streamnb.models.linear import LinearModel
from streamnb.passes.contract import PassTask
from streamnb.rows.block import Block
from streamnb.rows.boundary import checked
from streamnb.rows.chunk import DenseChunk, frozen
from streamnb.rows.source import Source
from streamnb.stats.matching import positions
from streamnb.stats.row_means import RowMeans
from streamnb.stats.row_sample import RowSample, sample_size

CACHED_SCORES = 1 << 18  # scores of all models that are held at once
FEW_ROWS = 512  # rows at a time at least
CELLS = 1 << 20  # of the histograms of scores of one model
BINS = 2048, 1 << 14  # of a histogram: areas differ by less than they would by those of `evaluate`
Outputs = dict[str, Any]  # what a model says of rows, as `Evaluation.add` takes it


@dataclass(frozen=True, eq=False)
class JudgedModel:
    """A model of streamnb that is compared with others.

    Attributes
    ----------
    model : LinearModel
    needs : what is kept of its outputs, as `Evaluation` takes it
    rows : Source
        Its changes are applied to rows before the model scores them.
    encode : callable, optional
        Makes columns of raw rows; None where the rows have columns.
    """

    model: LinearModel
    needs: frozenset[str]
    rows: Source
    encode: Callable[[Any, int], Any] | None = None

    def outputs(self, block: Block) -> Outputs:
        """What the model says of the rows of a block."""
        judge = JudgingTask(self.model, self.needs)
        parts = [
            judge.outputs(margins)
            for changed in self.rows.changed(iter([block]))
            for _, margins in self.model.few_margins(*checked(changed))
        ]
        return {name: stacked([outputs[name] for outputs in parts]) for name in parts[0]}

    def digest(self) -> str:
        """A text that differs between models."""
        return persistence.digest(self.model)


@dataclass(frozen=True, eq=False)
class JudgedEstimator:
    """A fitted classifier of another package, with `classes_` and `predict`."""

    estimator: Any
    needs: frozenset[str]
    encode: None = None

    @classmethod
    def of(cls, estimator: Any) -> JudgedEstimator:
        """A classifier with every metric that its methods allow."""
        return cls(estimator, needs_of(methods_of(estimator), len(estimator.classes_), False))

    def outputs(self, block: Block) -> Outputs:
        """What the classifier says of the rows of a block."""
        X, classes = checked(block)[0].to_matrix(), np.asarray(self.estimator.classes_)
        outputs: Outputs = {"predicted": positions(classes, np.asarray(self.estimator.predict(X)))}
        proba, scores = (
            np.asarray(getattr(self.estimator, method)(X), np.float64) if hasattr(self.estimator, method) else None
            for method in ("predict_proba", "decision_function")
        )
        return outputs | outputs_of(scores, proba, ranked_apart(len(classes), multilabel=False))

    def digest(self) -> str:
        """A text that differs between models."""
        return repr(self.estimator)


@dataclass(eq=False)
class PairedSums(Tally):
    """Evaluations of each model, and sums of differences of each model from the baseline.

    Attributes
    ----------
    evaluations : list of Evaluation
    decisions : RowMeans
        Of each model but the baseline, the weight of rows where only the model is right ("won"), and only the baseline.
    losses : RowMeans
        Of each model and loss that both have, differences and their squares.
    sample : RowSample
        A sample of the rows with the scores of all models that rank them.
    ranked : list of str
        These models.
    compared_losses : list of (str, str)
        The models and losses of which there are sums.
    """

    parts = "evaluations", "decisions", "losses", "sample"

    evaluations: list[Evaluation]
    decisions: RowMeans
    losses: RowMeans
    sample: RowSample
    ranked: list[str]
    compared_losses: list[tuple[str, str]]
    evaluation_bytes: int = 0

    @property
    def nbytes(self) -> int:
        return self.evaluation_bytes + self.decisions.nbytes + self.losses.nbytes + self.sample.nbytes

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes

    def finish(self) -> PairedSums:
        for spread in map(spread_of, self.evaluations):
            if isinstance(spread, RowSpread) and spread.sample is not None:
                spread.sample.prune()
        self.sample.finish()
        return self

    def arrays(self) -> dict[str, Any]:
        """All parts by name."""
        means = {name: getattr(self, name).arrays() for name in ("decisions", "losses")}
        return {**vars(self), **means}


@dataclass(frozen=True, eq=False)
class PairedTask(PassTask):
    """Judges models of the same classes on rows, and compares each with the baseline, the first of `models`."""

    models: Mapping[str, JudgedModel | JudgedEstimator]
    classes: np.ndarray
    multilabel: bool
    interval: float
    grouped: bool = False
    title = "comparing"

    def partial(self) -> PairedSums:
        K = len(self.classes)
        form: dict[str, Any] = {"multilabel": self.multilabel, "classes": self.classes, "interval": self.interval}
        form["n_bins"] = int(np.clip(CELLS // K**2, *BINS))
        evaluations = [Evaluation(K, one.needs, grouped=self.grouped, **form) for one in self.models.values()]
        n_scores = max(len(self.ranked) * K, 1)
        return PairedSums(
            evaluations,
            RowMeans([f"{what} {name}" for name in self.others for what in ("won", "lost")]),
            RowMeans([f"{what} {loss} {name}" for name, loss in self.compared_losses for what in ("sum", "square")]),
            RowSample(K, sample_size(K, 8 * n_scores)),
            self.ranked,
            self.compared_losses,
            8 * n_scores * 10_000,
        )

    @property
    def others(self) -> list[str]:
        """The models that are compared with the baseline."""
        return [*self.models][1:]

    @property
    def compared_losses(self) -> list[tuple[str, str]]:
        """Models and losses that both the model and the baseline have."""
        first, *_ = self.models.values()
        both = [name for name in self.others if "probabilities" in first.needs & self.models[name].needs]
        return [(name, loss) for name in both for loss in LOSSES]

    @property
    def ranked(self) -> list[str]:
        """The models that rank rows; none where the baseline does not."""
        ranking = [name for name, model in self.models.items() if model.needs & {"ranking", "margin"}]
        return ranking if ranking[:1] == [*self.models][:1] else []

    def add(self, partial: PairedSums, block: Block) -> None:
        """Judge one block of rows by all models."""
        y = label_checks.check_y(block.y)
        label_checks.check_kind(y, self.classes, self.multilabel)
        codes = class_numbers(self.classes, y)
        for rows, outputs in self._outputs(block):
            weight = np.ones(block.n_rows)[rows] if block.weight is None else block.weight[rows]
            groups = block.split[rows] if self.grouped and block.split is not None else None
            for evaluation, said in zip(partial.evaluations, outputs, strict=True):
                evaluation.add(codes[rows], weight, groups=groups, **said)
            self._add(partial, codes[rows], weight, outputs, block.first_row + rows.start)

    def _outputs(self, block: Block) -> Iterator[tuple[slice, list[Outputs]]]:
        """Yield what the models say of a few rows at a time."""
        step = max(CACHED_SCORES // (len(self.classes) * len(self.models)), FEW_ROWS)
        blocks = {id(one.encode): _encoded(one.encode, block) for one in self.models.values()}
        for start in range(0, block.n_rows, step):
            first, stop = block.first_row + start, block.first_row + min(start + step, block.n_rows)
            few = {encode: whole.cut(first, stop) for encode, whole in blocks.items()}
            yield slice(start, start + step), [one.outputs(few[id(one.encode)]) for one in self.models.values()]

    def _add(self, partial: PairedSums, codes: Any, weight: np.ndarray, outputs: list[Outputs], first_row: int) -> None:
        """Add the differences between models."""
        by_name = dict(zip(self.models, outputs, strict=True))
        known = weight > 0.0 if self.multilabel else (weight > 0.0) & (codes >= 0)
        baseline, *others = (_right(codes, said["predicted"])[known] for said in outputs)
        differing = [part for right in others for part in (right & ~baseline, baseline & ~right)]
        partial.decisions.add(differing, weight[known])
        losses = self._loss_differences(codes[known], weight[known], by_name, known) if self.compared_losses else []
        partial.losses.add(losses, weight[known])
        if self.ranked and not self.grouped:
            scores = np.hstack([self._scores(by_name[name]) for name in self.ranked])
            labels = codes if self.multilabel else np.maximum(codes, 0)
            weight = np.where(known, weight, 0.0)  # no rows are left out, as their numbers are those of the chunk
            partial.sample.add(DenseChunk(frozen(scores), first_row), labels, weight, np.zeros(len(weight), np.int64))

    def _loss_differences(
        self, codes: Any, weight: np.ndarray, outputs: dict[str, Outputs], known: np.ndarray
    ) -> list[np.ndarray]:
        """Differences of the losses of each model from those of the baseline, and their squares."""
        judged = dict.fromkeys([next(iter(self.models)), *(name for name, _ in self.compared_losses)])
        losses = {name: losses_of(Rows(codes, weight, log_proba=outputs[name]["log_proba"][known])) for name in judged}
        first, *_ = losses.values()
        values: list[np.ndarray] = []
        for name, loss in self.compared_losses:
            at = LOSSES.index(loss)
            difference = losses[name][at] - first[at]
            values += [difference, difference * difference]
        return values

    def _scores(self, outputs: Outputs) -> np.ndarray:
        """The scores that rank the rows, (n, K), or (n, 1) for two classes."""
        scores = np.asarray(outputs["ranking"] if "ranking" in outputs else outputs["margin"], np.float64)
        scores = scores[:, None] if scores.ndim == 1 else scores
        return scores[:, 1:] if scores.shape[1] == 2 and not self.multilabel else scores

    def about(self) -> dict[str, str]:
        return {
            "the task": f"{self.name}, {self.interval}",
            **{name: one.digest() for name, one in self.models.items()},
        }

    def total(self, arrays: Mapping[str, Any]) -> PairedSums:
        means = {name: RowMeans(**arrays[name]) for name in ("decisions", "losses")}
        return PairedSums(**{**arrays, **means})


def _encoded(encode: Callable[[Any, int], Any] | None, block: Block) -> Block:
    """The block with columns in place of raw rows."""
    if encode is None:
        return block
    made = encode(block.X, block.first_row)
    return replace(block, X=(made.data, made.indices, made.indptr, made.shape[1]))


def _right(codes: Any, predicted: Any) -> np.ndarray:
    """Whether each row is predicted correctly, with all of its labels where there are several."""
    if not sp.issparse(codes):
        return codes == predicted
    return np.diff(sp.csr_array(codes != sp.csr_array(predicted)).indptr) == 0

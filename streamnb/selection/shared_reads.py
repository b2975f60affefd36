"""Reads the rows once for many models, each of which is judged on its own fold."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any, Self

import numpy as np

from streamnb.passes.contract import PassTask, Wants
from streamnb.problem.schemes import Scheme, as_scheme
from streamnb.rows.block import Block
from streamnb.rows.splits import Folding
from streamnb.selection.cross_validation import empty_evaluation
from streamnb.stats.class_stats import ClassStats
from streamnb.training.learner import Learner
from streamnb.training.objectives import class_codes
from streamnb.training.reading import (
    WEIGHTS_KEY,
    FactoredWeights,
    JudgedWeights,
    ReadSums,
    ReadTask,
    RowBatch,
    judged_scores,
)

BLOCK_BYTES = 32 << 20  # of rows; larger blocks bring the weights of all models into the cache less often


@dataclass(frozen=True, eq=False)
class ReadRequest:
    """A model's request for a read: sums over the rows outside its fold, and weights to judge on the rows inside.

    Weights (n_features + 1, R) apply to unscaled rows. Either may be None.
    """

    fold: int
    read: ReadTask | None
    judged: JudgedWeights | None


@dataclass(frozen=True, eq=False)
class Judge:
    """How models are judged: scheme and classes of their scores, the tallies needed, and the number of all models.

    The scores of a model are `factor` times those of its trained weights.
    """

    scheme: Scheme
    classes: np.ndarray
    needs: frozenset[str]
    n_models: int
    factor: float = 1.0

    @classmethod
    def of(cls, learner: Learner, stats: ClassStats, needs: frozenset[str], n_models: int) -> Self:
        """The judge of a learner's models."""
        scheme = as_scheme(learner.scheme, stats.classes, multilabel=stats.multilabel)
        return cls(scheme, stats.classes, needs, n_models, learner.factor)

    def evaluation(self, n_points: int) -> Any:
        """An empty evaluation for the models of a fold."""
        return empty_evaluation(self.scheme, self.classes, self.needs, n_points, self.n_models)

    def labels(self, rows: RowBatch) -> Any:
        """The labels of rows in the form of evaluations."""
        return rows.y if self.scheme.multilabel else class_codes(rows.y, self.classes, rows.chunk.first_row)


@dataclass(eq=False)
class SharedSums:
    """The sums of each model, an evaluation for each fold, and the number of rows in each fold, (n_folds,)."""

    sums: list[ReadSums | None]
    judged: list[Any]
    rows: np.ndarray

    @property
    def nbytes(self) -> int:
        return sum(sums.nbytes for sums in self.sums if sums is not None)

    def finish(self) -> "SharedSums":
        return self

    def __add__(self, other: "SharedSums") -> "SharedSums":
        both = (
            zip(mine, theirs, strict=True) for mine, theirs in ((self.sums, other.sums), (self.judged, other.judged))
        )
        sums, judged = ([None if a is None else a + b for a, b in pairs] for pairs in both)
        return SharedSums(sums, judged, self.rows + other.rows)

    def arrays(self) -> dict[str, Any]:
        sums = [None if sums is None else sums.arrays() for sums in self.sums]
        return {"sums": sums, "judged": self.judged, "rows": self.rows}


@dataclass(frozen=True, eq=False)
class SharedRead(PassTask):
    """Gives every row to all models, which learn from it or are judged on it.

    `template` is a read of the same rows, which defines how they are prepared, once for all models. Where preparation
    was learned outside each fold, `templates` has one for the models of each fold.
    """

    models: tuple[ReadRequest, ...]
    folding: Folding
    judge: Judge
    template: ReadTask
    title: str = "read"
    templates: Mapping[int, ReadTask] = field(default_factory=dict)
    most_bytes = 1 << 62  # each thread has tables for all models; their memory was checked before

    def partial(self) -> SharedSums:
        sums = [None if model.read is None else model.read.partial() for model in self.models]
        counts = [len(self.judged(fold)) for fold in range(self.folding.n_folds)]
        judged = [self.judge.evaluation(n_points) if n_points else None for n_points in counts]
        return SharedSums(sums, judged, np.zeros(self.folding.n_folds, np.int64))

    def judged(self, fold: int) -> list[int]:
        """Indices of the models that are judged on the rows of a fold, in the order of its evaluation."""
        return [i for i, model in enumerate(self.models) if model.fold == fold and model.judged is not None]

    def wants(self, n_rows: int | None, n_features: int | None) -> Wants:
        return Wants(block_bytes=min(len(self.models) * self.template.weights.nbytes, BLOCK_BYTES))

    def add(self, partial: SharedSums, block: Block) -> None:
        """Add one block of rows."""
        folds = self.folding.numbers(block.first_row, block.n_rows, block.split, 0)
        partial.rows += np.bincount(folds, minlength=self.folding.n_folds)
        for template, of_folds in self._templates():
            for rows in template.batches(block, shared=len(self.models) > 2):
                for fold in of_folds:
                    self._add(partial, rows, fold, folds[rows.where] == fold)

    def _templates(self) -> list[tuple[ReadTask, list[int]]]:
        """Reads that define how rows are prepared, each with the folds that it serves."""
        folds = sorted({model.fold for model in self.models})
        return [(self.templates[fold], [fold]) for fold in folds] if self.templates else [(self.template, folds)]

    def _add(self, partial: SharedSums, rows: RowBatch, fold: int, held: np.ndarray) -> None:
        """Add a batch of rows to the sums of a fold's models; held-out rows have weight 0 in the sums."""
        others, own = replace(rows, weight=np.where(held, 0.0, rows.weight)), np.flatnonzero(held)
        margins = []
        for model, sums in zip(self.models, partial.sums, strict=True):
            if model.fold != fold:
                continue
            scores = None
            if model.read is not None and sums is not None:
                scores = model.read.add_rows(sums, others)
                scores = scores if model.judged is model.read.weights else None
            if model.judged is not None:
                margins.append(judged_scores(rows.chunk.picked(own), model.judged) if scores is None else scores[own])
        if margins and own.size:
            labels, weight = self.judge.labels(rows)[own], rows.weight[own]
            scores = np.stack(margins, axis=2) * self.judge.factor
            partial.judged[fold].add(self.judge.scheme, scores, labels, weight)

    # ---- in a checkpoint ---------------------------------------------------------------------------------------------

    def about(self) -> dict[str, str]:
        """As for any task, with models compared by a digest."""
        digest = sha256()
        for model in self.models:
            digest.update(repr((model.fold, None if model.read is None else model.read.about())).encode())
            parts = model.judged if isinstance(model.judged, FactoredWeights) else (model.judged,)
            for part in parts:
                digest.update(b"" if part is None else np.ascontiguousarray(part).tobytes())
        about = {"the task": self.name, "folding": repr(self.folding), **self.template.about()}
        judge = {"scoring": repr(sorted(self.judge.needs)), "classes": repr(self.judge.classes.tolist())}
        judge |= {"scores": f"{self.judge.factor:g} x what is trained, {self.judge.scheme.name}"}
        models = {"models": f"{len(self.models)}", f"{WEIGHTS_KEY} of the models": digest.hexdigest()[:16]}
        ways = [(fold, self.templates[fold].options) for fold in sorted(self.templates)]
        return about | judge | models | ({"ways": repr(ways)} if ways else {})

    def total(self, arrays: Mapping[str, Any]) -> SharedSums:
        sums = [None if sums is None else ReadSums(**sums) for sums in arrays["sums"]]
        return SharedSums(sums, list(arrays["judged"]), arrays["rows"])


def templates_of(tasks: Mapping[int, ReadTask]) -> Mapping[int, ReadTask]:
    """The reads of each fold, or empty where all prepare the rows in the same way."""
    first, *others = (task.options for task in tasks.values())
    return {} if all(options is first or options == first for options in others) else tasks

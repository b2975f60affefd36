"""Evaluates one fitted model on rows of any kind."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from streamnb.core import label_checks
from streamnb.encoding.learning import opened_through
from streamnb.evaluation.beside import NOTHING, Beside
from streamnb.evaluation.evaluation import Evaluation
from streamnb.evaluation.intervals import check_groups
from streamnb.evaluation.slice_columns import Slicing
from streamnb.evaluation.tallied import DECISIONS
from streamnb.models.linear import LinearModel
from streamnb.passes.contract import PassTask
from streamnb.passes.options import RunOptions
from streamnb.passes.run import run
from streamnb.problem.schemes import raw_scores
from streamnb.problem.score_logs import odds_of
from streamnb.rows.block import Block
from streamnb.rows.boundary import checked
from streamnb.stats.matching import merged_classes, positions

_MANY_CLASSES = 1000  # no confusion matrix beyond
_MANY_PAIRS = 20  # no one-vs-one beyond
_METHODS = {"y_pred": "predict", "scores": "decision_function", "proba": "predict_proba"}


def needs_of(given: Collection[str], n_classes: int, multilabel: bool) -> frozenset[str]:
    """The needs of an `Evaluation` of whichever of y_pred, scores and proba are given."""
    separate, needs = ranked_apart(n_classes, multilabel), set()
    if "y_pred" in given:
        many = {"hits", "confused"} if n_classes > _MANY_CLASSES else {"confusion"}
        needs |= {"multilabel"} if multilabel else many
    if "scores" in given or "proba" in given:
        needs |= {"pairs"} if n_classes <= _MANY_PAIRS else set()
        needs |= {"ranking"} if "proba" in given or not separate else set()
        needs |= {"margin"} if "scores" in given and separate else set()
    if "proba" in given:
        needs |= {"probabilities", "reliability"}
    return frozenset(needs)


def ranked_apart(n_classes: int, multilabel: bool) -> bool:
    """Whether the score of a class ranks rows differently from its probability."""
    return n_classes > 2 and not multilabel


@dataclass(eq=False)
class Sheet:
    """Evaluations of each model, evaluations[candidate][split], each of a grid, or a single one; sheets merge.

    `rows` (n_splits, K) counts the rows of each class in each split, for comparison with the first scan.
    `sample` holds a sample of the rows.
    """

    evaluations: Any
    nbytes: int
    rows: Any = 0
    sample: Any = None

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes

    def finish(self) -> "Sheet":
        if self.sample is not None:
            self.sample.finish()
        return self

    def arrays(self) -> dict[str, Any]:
        """All parts by name."""
        return vars(self)

    def __add__(self, other: "Sheet") -> "Sheet":
        sample = None if self.sample is None else self.sample + other.sample
        return Sheet(_added(self.evaluations, other.evaluations), self.nbytes, self.rows + other.rows, sample)


def _added(a: Any, b: Any) -> Any:
    return [_added(*pair) for pair in zip(a, b, strict=True)] if isinstance(a, list) else a + b


@dataclass(frozen=True, eq=False)
class JudgingTask(PassTask):
    """Evaluates one fitted model on rows."""

    model: LinearModel
    needs: frozenset[str]
    interval: float | None = None
    grouped: bool = False
    slicing: Slicing | None = None
    title = "judging"

    def partial(self) -> Sheet:
        classes, multilabel = self.model.classes_, self.model.scheme.multilabel
        more: dict[str, Any] = {"interval": self.interval, "grouped": self.grouped, "slicing": self.slicing}
        evaluation = Evaluation(len(classes), self.needs, multilabel=multilabel, classes=classes, **more)
        return Sheet(evaluation, 8 * len(classes) * 10_000)

    def add(self, partial: Sheet, block: Block) -> None:
        """Judge one block of rows; a label that the model does not know counts as a wrong prediction."""
        y, model = label_checks.check_y(block.y), self.model
        label_checks.check_kind(y, model.classes_, model.scheme.multilabel)
        codes = class_numbers(model.classes_, y)
        for some, margins in model.few_margins(*checked(block)):
            weight = None if block.weight is None else block.weight[some]
            outputs = self.outputs(margins)
            if block.split is not None:
                outputs |= self._beside(block.split[some])
            partial.evaluations.add(codes[some], weight, **outputs)

    def _beside(self, columns: np.ndarray) -> dict[str, np.ndarray]:
        """The groups and the numbers of slices of some rows."""
        found = {}
        if self.grouped:
            found["groups"] = columns if columns.dtype.names is None else columns["groups"]
        if self.slicing is not None:
            found["slices"] = self.slicing.taken(columns, len(columns))
        return found

    def outputs(self, margins: np.ndarray) -> dict[str, Any]:
        """The outputs of the model for rows with these margins, as far as they are needed."""
        outputs: dict[str, Any] = {}
        if "ranking" in self.needs:
            outputs["ranking"] = self.model.scheme.ranking(margins)
        if "margin" in self.needs:
            outputs["margin"] = raw_scores(self.model.scheme, margins)
        if "probabilities" in self.needs:
            outputs["log_proba"] = self.model.scheme.log_proba(margins)
        if {"ranking", "margin", "probabilities"} <= self.needs:
            outputs["ranking"] = odds_of(outputs["margin"], np.exp(outputs["log_proba"]))
        if self.needs & DECISIONS:
            outputs["predicted"] = self.model.decided(margins)
            if not self.model.scheme.multilabel and (outputs["predicted"] < 0).any():
                raise ValueError("the model rejects rows, which have no place among the classes; refit(threshold=None)")
        return outputs


def class_numbers(classes: np.ndarray, y: Any) -> Any:
    """The class of each row by its number, -1 for a label that is none of `classes`; an indicator as it is."""
    if y.ndim == 2:
        return y
    merged_classes(classes, y[:1])  # refuses labels of another kind
    return positions(classes, y)


def judged_in_full(
    estimator: Any, model: LinearModel, given: tuple[Any, Any, Any], beside: Beside = NOTHING
) -> Evaluation:
    """Evaluate `estimator`, which predicts by `model`, with every metric that its methods allow.

    `given` are X, y and sample_weight.
    """
    return judged(model, *given, needs_in_full(estimator, model), beside)


def needs_in_full(estimator: Any, model: LinearModel) -> frozenset[str]:
    """The needs of an evaluation of `estimator`, which predicts by `model`, with every metric of its methods."""
    return needs_of(methods_of(estimator), len(model.classes_), model.scheme.multilabel)


def methods_of(estimator: Any) -> list[str]:
    """Which of y_pred, scores and proba an estimator gives."""
    return [name for name, method in _METHODS.items() if hasattr(estimator, method)]


def judged(
    model: LinearModel, X: Any, y: Any, sample_weight: Any, needs: Iterable[str], beside: Beside = NOTHING
) -> Evaluation:
    """Evaluate a model on rows of any kind with the given needs; the other arguments are those of `scan`."""
    needs, beside = frozenset(needs), beside.checked()
    if "probabilities" in needs and not model.scheme.has_probabilities:
        raise ValueError(f"scheme={model.scheme.name!r} has no probabilities; take 'joint', 'ovr' or 'reference'")
    rows = opened_through(model.options.step, X, y, sample_weight)
    label_checks.check_labels_of_model(rows.label_names, model.classes_)
    rows, slicing = beside.opened(rows)
    task = JudgingTask(model, needs, beside.interval, beside.groups is not None, slicing)
    evaluation = run(task, rows, RunOptions())[0].evaluations
    if beside.groups is not None:
        check_groups(evaluation)
    return evaluation

"""Evaluates one fitted model on rows of any kind, with the options of `evaluate`."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from streamnb.core import label_checks, messages
from streamnb.encoding.learning import opened_through
from streamnb.evaluation.evaluation import Evaluation
from streamnb.evaluation.intervals import check_groups
from streamnb.evaluation.slices import MIN_ROWS, Slicing, given_columns
from streamnb.evaluation.tallied import DECISIONS, check_grouped, check_level
from streamnb.evaluation.tallies import Tally
from streamnb.models.linear import LinearModel
from streamnb.passes.contract import PassTask
from streamnb.passes.options import RunOptions
from streamnb.passes.run import run
from streamnb.problem.schemes import raw_scores
from streamnb.problem.score_logs import odds_of
from streamnb.rows.block import Block
from streamnb.rows.boundary import checked
from streamnb.rows.source import Source
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


def outputs_of(scores: np.ndarray | None, proba: np.ndarray | None, apart: bool) -> dict[str, np.ndarray]:
    """The arguments of `Evaluation.add` that follow from scores and probabilities; `apart` as in `ranked_apart`."""
    outputs = {}
    if proba is not None:
        with np.errstate(divide="ignore"):
            outputs = {"log_proba": np.log(proba), "ranking": proba}
    if scores is not None:
        outputs |= {"margin": scores, "ranking": odds_of(scores, proba) if apart and proba is not None else scores}
    return outputs


@dataclass(eq=False)
class Sheet(Tally):
    """Evaluations of each model, evaluations[candidate][split], each of a grid, or a single one; sheets merge.

    `rows` (n_splits, K) counts the rows of each class in each split, for comparison with the first scan.
    `sample` holds a sample of the rows.
    """

    parts = "evaluations", "rows", "sample"

    evaluations: Any
    nbytes: int
    rows: Any = 0
    sample: Any = None

    @classmethod
    def of_one(cls, classes: np.ndarray, multilabel: bool, needs: Iterable[str], **options: Any) -> Self:
        """An empty evaluation of a single model."""
        evaluation = Evaluation(len(classes), needs, multilabel=multilabel, classes=classes, **options)
        return cls(evaluation, 8 * len(classes) * 10_000)

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes

    def finish(self) -> "Sheet":
        if self.sample is not None:
            self.sample.finish()
        return self

    def arrays(self) -> dict[str, Any]:
        """All parts by name."""
        return vars(self)


@dataclass(frozen=True)
class EvaluationOptions:
    """The arguments of `evaluate` but for rows, labels and weights: intervals, and columns of groups and of slices.

    Attributes
    ----------
    interval : float or None
    groups, by : column, its name, several in a dict, or None
    min_rows : int
    """

    interval: float | None = None
    groups: Any = None
    by: Any = None
    min_rows: int = MIN_ROWS

    def checked(self) -> Self:
        """The same with numbers checked."""
        level = check_level(self.interval)
        check_grouped(self.groups, level, self.by)
        return replace(self, interval=level)

    def taken_from(
        self, X: Any, y: Any, weight: Any = None, encoding: Any = None, names: Any = None
    ) -> tuple[Any, Self]:
        """X and the options, with columns of a data frame X (pandas or Dask) in place of their names.

        The columns stay in X if they are y or weights, or features by the encoding or the names that a model was fitted
        with.
        """
        features: Collection[Any] = getattr(encoding, "columns", () if names is None else names)
        if not (hasattr(X, "iloc") and hasattr(X, "columns")):
            return X, self
        taken: list[str] = []

        def column(named: Any) -> Any:
            if not isinstance(named, str):
                return named
            if named not in X.columns:
                known = messages.listed(np.asarray(X.columns, object))
                raise ValueError(f"{named!r} is none of the columns of X: {known}")
            taken.append(named)
            return X[named]

        by = self.by
        if by is not None:
            by = {name: column(values) for name, values in given_columns(by, names_beside=True).items()}
        options = replace(self, groups=column(self.groups), by=by)
        stay = {*features, *(name for name in (y, weight) if isinstance(name, str))}
        return X.drop(columns=[name for name in dict.fromkeys(taken) if name not in stay]), options

    def opened(self, rows: Source) -> tuple[Source, Slicing | None]:
        """The rows with groups and numbers of slices beside them, and what the numbers mean."""
        if self.by is None:
            return rows if self.groups is None else rows.with_split("groups", self.groups), None
        slicing, numbers = Slicing.of(given_columns(self.by, names_beside=True), rows, self.min_rows)
        groups = {} if self.groups is None else {"groups": self.groups}
        return rows.with_split("by", {**numbers, **groups}), slicing

    def read_from(self, rows: Source) -> Self:
        """The same with columns of the rows in place of their names."""
        by, groups = self.by, self.groups
        if by is not None:
            by = {name: rows.whole_column(values, "by") for name, values in given_columns(by, True).items()}
        return replace(self, by=by, groups=None if groups is None else rows.whole_column(groups, "groups"))

    def given(self) -> dict[str, Any]:
        """The arguments that are not left at their defaults."""
        return {name: value for name, value in vars(self).items() if value is not getattr(EvaluationOptions, name)}


DEFAULTS = EvaluationOptions()


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
        options = {"interval": self.interval, "grouped": self.grouped, "slicing": self.slicing}
        return Sheet.of_one(self.model.classes_, self.model.scheme.multilabel, self.needs, **options)

    def add(self, partial: Sheet, block: Block) -> None:
        """Judge one block of rows; rows with a label that the model does not know are counted."""
        y, model = label_checks.check_y(block.y), self.model
        label_checks.check_kind(y, model.classes_, model.scheme.multilabel)
        codes = class_numbers(model.classes_, y)
        for rows, margins in model.few_margins(*checked(block)):
            weight = None if block.weight is None else block.weight[rows]
            outputs = self.outputs(margins)
            if block.split is not None:
                columns = block.split[rows]
                if self.grouped:
                    outputs["groups"] = columns if columns.dtype.names is None else columns["groups"]
                if self.slicing is not None:
                    outputs["slices"] = self.slicing.taken(columns, len(columns))
            partial.evaluations.add(codes[rows], weight, **outputs)

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


def needs_in_full(estimator: Any, model: LinearModel) -> frozenset[str]:
    """The needs of every metric that the methods of `estimator`, which predicts by `model`, allow."""
    return needs_of(methods_of(estimator), len(model.classes_), model.scheme.multilabel)


def methods_of(estimator: Any) -> list[str]:
    """Which of y_pred, scores and proba an estimator gives."""
    return [name for name, method in _METHODS.items() if hasattr(estimator, method)]


def judged(
    model: LinearModel,
    X: Any,
    y: Any,
    sample_weight: Any,
    needs: Iterable[str],
    options: EvaluationOptions = DEFAULTS,
) -> Evaluation:
    """Evaluate a model on rows of any kind with the given needs; the other arguments are those of `scan`."""
    needs, options = frozenset(needs), options.checked()
    if "probabilities" in needs and not model.scheme.has_probabilities:
        raise ValueError(f"scheme={model.scheme.name!r} has no probabilities; take 'joint', 'ovr' or 'reference'")
    rows = opened_through(model.options.step, X, y, sample_weight)
    label_checks.check_labels_of_model(rows.label_names, model.classes_)
    rows, slicing = options.opened(rows)
    task = JudgingTask(model, needs, options.interval, options.groups is not None, slicing)
    evaluation = run(task, rows, RunOptions())[0].evaluations
    evaluation.warn_of_unknown()
    if options.groups is not None and options.interval is not None:
        check_groups(evaluation)
    return evaluation

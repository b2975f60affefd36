"""Evaluates fitted models on rows of any kind: one with the options of `evaluate`, or several that are compared."""

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Self

import numpy as np
import scipy.sparse as sp

from streamnb.core import messages, persistence, row_checks
from streamnb.encoding.learning import opened_through
from streamnb.evaluation.evaluation import Evaluation
from streamnb.evaluation.intervals import check_groups
from streamnb.evaluation.slices import MIN_ROWS, Slicing, given_columns
from streamnb.evaluation.tallied import DECISIONS, check_grouped, check_level, outputs_of_margins
from streamnb.evaluation.tallies import LOSSES, Rows, losses_of
from streamnb.models.linear import LinearModel
from streamnb.passes.contract import PassTask, RunOptions
from streamnb.passes.run import run
from streamnb.passes.statistic import Statistic, added
from streamnb.problem.schemes import odds_of
from streamnb.rows.boundary import checked
from streamnb.rows.row_blocks import Block, DenseChunk, frozen, stacked
from streamnb.rows.source import Source
from streamnb.stats.grouping import merged_classes, positions
from streamnb.stats.row_means import RowMeans
from streamnb.stats.row_sample import RowSample, sample_size

CACHED_SCORES = 1 << 17  # scores of all models that are held at once
FEW_ROWS = 512  # rows at a time at least
CELLS = 1 << 20  # of the histograms of scores of one model, where several are compared
BINS = 2048, 1 << 14  # of such a histogram: areas differ by less than they would by those of `evaluate`
Outputs = dict[str, Any]  # what a model says of rows, as `Evaluation.add` takes it
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
class Evaluations(Statistic):
    """Evaluations of models, and what else is counted of the rows that they judge.

    Attributes
    ----------
    evaluations : list
        An `Evaluation` of each model.
    sample : RowSample or None
        A sample of the scores of models that are compared.
    differences : RowMeans or None
        Of each metric of a row, such as "log_loss bernoulli": that of the model less that of the baseline, and squares.
    """

    evaluations: Annotated[list[Any], added]
    sample: Annotated[RowSample | None, added] = None
    differences: Annotated[Any, added] = None


@dataclass(frozen=True)
class EvaluationOptions:
    """The arguments of `evaluate` but for rows, labels and weights: intervals, and columns of groups and of slices.

    Attributes
    ----------
    interval : float or None
    groups, by : column, its name, several in a dict, or None
    min_rows : int
    positive : label of one of two classes, or None
    """

    interval: float | None = None
    groups: Any = None
    by: Any = None
    min_rows: int = MIN_ROWS
    positive: Any = None

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
                known = messages.listed(X.columns)
                raise ValueError(f"{named!r} is not a column of X: {known}")
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
            return rows if self.groups is None else rows.with_columns(split={"groups": self.groups}), None
        slicing, numbers = Slicing.of(given_columns(self.by, names_beside=True), rows, self.min_rows)
        groups = {} if self.groups is None else {"groups": self.groups}
        return rows.with_columns(split={**numbers, **groups}), slicing

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
class JudgedModel:
    """A model of streamnb.

    Attributes
    ----------
    model : LinearModel
    needs : what is kept of its outputs, as `Evaluation` takes it
    rows : Source, optional
        Its changes are applied to rows before the model scores them.
    encode : callable, optional
        Makes columns of raw rows; None where the rows have columns.
    """

    model: LinearModel
    needs: frozenset[str]
    rows: Source | None = None
    encode: Callable[[Any, int], Any] | None = None

    def outputs(self, block: Block) -> Outputs:
        """What the model says of the rows of a block."""
        parts = []
        for changed in [block] if self.rows is None else self.rows.changed(iter([block])):
            for _, margins in self.model.few_margins(*checked(changed)):
                parts.append(self._outputs(margins))
        first, *others = parts
        if others:
            return {name: stacked([first[name], *(part[name] for part in others)]) for name in first}
        return first

    def _outputs(self, margins: np.ndarray) -> Outputs:
        """What the model says of rows with these margins, as far as it is needed."""
        scheme = self.model.scheme
        outputs = outputs_of_margins(scheme, margins, self.needs)
        if {"ranking", "margin", "probabilities"} <= self.needs:
            outputs["ranking"] = odds_of(outputs["margin"], np.exp(outputs["log_proba"]))
        if self.needs & DECISIONS:
            outputs["predicted"] = self.model.decided(margins)
            if not scheme.multilabel and (outputs["predicted"] < 0).any():
                raise ValueError("the model rejects rows, which have no place among the classes; refit(threshold=None)")
        return outputs

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
    def of(cls, estimator: Any) -> "JudgedEstimator":
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


@dataclass(frozen=True, eq=False)
class JudgingTask(PassTask):
    """Evaluates models of the same classes on rows, and compares each with the baseline, the first of `models`."""

    models: Mapping[str, JudgedModel | JudgedEstimator]
    classes: np.ndarray
    multilabel: bool
    interval: float | None = None
    grouped: bool = False
    slicing: Slicing | None = None
    title: str = "judging"

    @classmethod
    def of_one(cls, model: LinearModel, needs: Iterable[str], *options: Any) -> Self:
        """Evaluates a single model."""
        one = {"model": JudgedModel(model, frozenset(needs))}
        return cls(one, model.classes_, model.scheme.multilabel, *options)

    def partial(self) -> Evaluations:
        K, several = len(self.classes), len(self.models) > 1
        form: dict[str, Any] = {"multilabel": self.multilabel, "classes": self.classes, "interval": self.interval}
        form |= {"grouped": self.grouped, "slicing": self.slicing}
        if several:
            form["n_bins"] = int(np.clip(CELLS // K**2, *BINS))
        partial = Evaluations([])
        for one in self.models.values():
            partial.evaluations.append(Evaluation(K, one.needs, **form))
        if several:
            partial.differences = RowMeans.of_values([f"{metric} {name}" for name, metric in self.paired], n_powers=2)
            partial.sample = RowSample(K, sample_size(K, 8 * max(len(self.ranked) * K, 1)))
        return partial

    @property
    def paired(self) -> list[tuple[str, str]]:
        """The models that are compared with the baseline, and metrics of a row that both of them have."""
        paired, (first, *_) = [], self.models.values()
        for name in [*self.models][1:]:
            losses = LOSSES if "probabilities" in first.needs & self.models[name].needs else ()
            paired += [(name, metric) for metric in ("accuracy", *losses)]
        return paired

    @property
    def ranked(self) -> list[str]:
        """The models that rank rows; none where the baseline does not."""
        ranking = [name for name, model in self.models.items() if model.needs & {"ranking", "margin"}]
        if ranking[:1] == [*self.models][:1]:
            return ranking
        return []

    def add(self, partial: Evaluations, block: Block) -> None:
        """Judge one block of rows by all models; rows with a label that these do not know are counted."""
        y = row_checks.check_y(block.y)
        row_checks.check_kind(y, self.classes, self.multilabel)
        codes = y
        if y.ndim == 1:
            merged_classes(self.classes, y[:1])  # refuses labels of another kind
            codes = positions(self.classes, y)  # -1 for a label that is none of the classes
        blocks = {id(None): block}  # as it is, and with the columns that encodings make of raw rows
        for one in self.models.values():
            if one.encode is not None and id(one.encode) not in blocks:
                made = one.encode(block.X, block.first_row)
                blocks[id(one.encode)] = replace(block, X=(made.data, made.indices, made.indptr, made.shape[1]))
        step = max(CACHED_SCORES // (len(self.classes) * len(self.models)), FEW_ROWS)
        for start in range(0, block.n_rows, step):
            stop, outputs = min(start + step, block.n_rows), []
            weight = None
            if block.weight is not None:
                weight = block.weight[start:stop]
            beside = {} if block.split is None else self._beside(block.split[start:stop])
            for one, evaluation in zip(self.models.values(), partial.evaluations, strict=True):
                few = blocks[id(one.encode)].cut(block.first_row + start, block.first_row + stop)
                outputs.append(one.outputs(few))
                evaluation.add(codes[start:stop], weight, **beside, **outputs[-1])
            if len(self.models) > 1:
                if weight is None:
                    weight = np.ones(stop - start)
                self._compare(partial, codes[start:stop], weight, outputs, block.first_row + start)

    def _beside(self, columns: np.ndarray) -> dict[str, np.ndarray]:
        """Groups and numbers of slices, from the columns beside the rows."""
        beside = {}
        if self.grouped:
            beside["groups"] = columns if columns.dtype.names is None else columns["groups"]
        if self.slicing is not None:
            beside["slices"] = self.slicing.taken(columns, len(columns))
        return beside

    def _compare(
        self, partial: Evaluations, codes: Any, weight: np.ndarray, outputs: list[Outputs], first_row: int
    ) -> None:
        """Add the differences between models."""
        by_name = dict(zip(self.models, outputs, strict=True))
        known = weight > 0.0 if self.multilabel else (weight > 0.0) & (codes >= 0)
        values = {}
        for name, said in by_name.items():
            values[name] = {"accuracy": _right(codes, said["predicted"])[known].astype(np.float64)}
            if "log_proba" in said:
                rows = Rows(codes[known], weight[known], log_proba=said["log_proba"][known])
                values[name] |= zip(LOSSES, losses_of(rows), strict=True)
        first, *_ = values.values()
        differences = [values[name][metric] - first[metric] for name, metric in self.paired]
        partial.differences.add(differences, weight[known])
        if self.ranked and not self.grouped:
            scores = np.hstack([self._scores(by_name[name]) for name in self.ranked])
            labels = codes if self.multilabel else np.maximum(codes, 0)
            weight = np.where(known, weight, 0.0)  # no rows are left out, as their numbers are those of the chunk
            assert partial.sample is not None
            partial.sample.add(DenseChunk(frozen(scores), first_row), labels, weight, np.zeros(len(weight), np.int64))

    def _scores(self, outputs: Outputs) -> np.ndarray:
        """The scores that rank the rows, (n, K), or (n, 1) for two classes."""
        scores = np.asarray(outputs["ranking"] if "ranking" in outputs else outputs["margin"], np.float64)
        if scores.ndim == 1:
            scores = scores[:, None]
        if scores.shape[1] == 2 and not self.multilabel:
            return scores[:, 1:]
        return scores

    def about(self) -> dict[str, str]:
        return {
            "the task": f"{self.name}, {self.interval}",
            **{name: one.digest() for name, one in self.models.items()},
        }


def _right(codes: Any, predicted: Any) -> np.ndarray:
    """Whether each row is predicted correctly, with all of its labels where there are several."""
    if not sp.issparse(codes):
        return codes == predicted
    return np.diff(sp.csr_array(codes != sp.csr_array(predicted)).indptr) == 0


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
        raise ValueError(f"scheme={model.scheme.name!r} has no probabilities; use 'joint', 'ovr' or 'reference'")
    rows = opened_through(model.options.step, X, y, sample_weight)
    row_checks.check_labels_of_model(rows.label_names, model.classes_)
    rows, slicing = options.opened(rows)
    task = JudgingTask.of_one(model, needs, options.interval, options.groups is not None, slicing)
    (evaluation,) = run(task, rows, RunOptions())[0].evaluations
    evaluation.warn_of_unknown()
    if options.groups is not None and options.interval is not None:
        check_groups(evaluation)
    return evaluation.with_positive(options.positive)

"""`evaluate`: judges labels, scores and probabilities, wherever they are stored."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from typing import Annotated, Any

import numpy as np
from sklearn.utils.validation import has_fit_parameter

from streamnb.core import row_checks
from streamnb.core.arguments import PerRow
from streamnb.encoding.opening import opened_for
from streamnb.evaluation.evaluation import Evaluation
from streamnb.evaluation.intervals import check_groups
from streamnb.evaluation.judging import (
    EvaluationOptions,
    Evaluations,
    judged,
    needs_in_full,
    needs_of,
    outputs_of,
    ranked_apart,
)
from streamnb.evaluation.slices import MIN_ROWS, Slicing, given_columns
from streamnb.models.linear import LinearModel
from streamnb.models.portable import PortableModel, PortableRegression
from streamnb.passes.contract import PassTask, Report, RunOptions
from streamnb.passes.passes import StatisticTask
from streamnb.passes.run import run
from streamnb.passes.statistic import Statistic
from streamnb.rows.in_arrays import opened_columns
from streamnb.rows.opening import with_labels
from streamnb.rows.row_blocks import Block, stacked
from streamnb.stats.grouping import merged_classes, positions

LABELS = ("y_true", "y_pred")
_SUM_TOLERANCE = 0.01  # probabilities written with few digits do not sum to 1 exactly


def evaluate(
    y_true: Any,
    y_pred: Any = None,
    y: PerRow = None,
    *,
    scores: Any = None,
    proba: Any = None,
    classes: Any = None,
    sample_weight: PerRow = None,
    interval: float | None = None,
    groups: PerRow = None,
    by: Any = None,
    min_rows: int = MIN_ROWS,
    positive: Any = None,
    offset: PerRow = None,
) -> Evaluation:
    """Judge predictions, ``evaluate(y_true, y_pred)``, or a model, ``evaluate(model, X, y)``, in one read.

    Every metric whose input is given is available. Arguments may be any mixture of NumPy, pandas, Dask
    and Zarr arrays. Zarr is read in slices along its chunks; Dask blocks are judged where they are, and the results are
    merged in a tree.

    Parameters
    ----------
    y_true : fitted model
        Followed by X, rows of any kind that the model accepts, such as a path, and y, which may be the name of a column
        of X. The model makes the predictions, so do not give `scores`, `proba` or `classes`. Rows with labels that the
        model does not know are left out, with a warning.
    y_true : (n_rows,) labels, or a 2-D indicator (dense or CSR) of multi-label rows
        A Zarr group may hold a categorical column in the AnnData layout, or an indicator as CSR.
    y_pred : as y_true, optional
        For accuracy, precision, recall, F score and the like, and the confusion matrix of up to 1000 classes. Without
        it, the prediction is the class with the largest probability (for multi-label rows, each label above 1/2), or
        with the largest score, if `scores` has a column for each class.
    scores : (n_rows,) of the second of two classes, (n_rows, K) otherwise, optional
        For ROC AUC and average precision, such as from `decision_function`. For two classes, and for multi-label rows,
        rows are ranked by `scores` even where `proba` is given, since scores distinguish rows whose probabilities are
        rounded to 0 or 1; two columns for two classes rank by the second minus the first. For more classes
        `roc_auc_margin` uses scores; `roc_auc` and average precision use the log-odds of `proba`, or scores without
        it. The printed result names the metrics that it has.
    proba : (n_rows, K), or (n_rows,) of the second of two classes, optional
        For log loss and Brier score, and for ROC AUC by log-odds, as in `LinearNBCV`.
    classes : (K,) labels, optional
        The class of each column of scores and proba, in any order; the second of two is the one listed last. By default
        the columns of a data frame of scores or proba, if these include all labels of y_true and y_pred, otherwise the
        sorted labels, which takes a further read of these. Multi-label: names of the labels, in the order of the
        columns; data frames are put in the order of y_true.
    sample_weight : (n_rows,), optional
    interval : float, optional
        Confidence of intervals, such as 0.95: they are printed, and `Evaluation.interval` gives that of each metric.
        They need no further read.
    groups : (n_rows,) labels, optional
        Rows of one group, such as those of a patient, are not independent; intervals are then those of independent
        groups. With a model it may be the name of a column of X.
    by : (n_rows,), or a dict of several, optional
        Slice the rows by the values of a column: `Evaluation.slices` has their metrics with intervals, 95 % unless
        `interval` says otherwise, and `Evaluation.slice` is the evaluation of one. Each string, bool or number makes a
        slice; more than 10 distinct numbers are binned by deciles, and missing values are a slice. With a model it may
        be the name of a column of X, or a list of names, whether or not these are features. The column itself is read
        beforehand.
    min_rows : int
        Slices with fewer rows, if there are several beside larger ones, are "other" in the table.
    positive : label, optional
        Of two classes, the one that precision, recall, F score, average precision, curves and thresholds refer to; the
        second of the sorted classes by default.
    offset : (n_rows,) or name of a column, optional
        With a model of counts or amounts, the logarithm of the exposure of each row, as in its `fit`.

    Returns
    -------
    Evaluation, or RegressionEvaluation of a model that predicts numbers
        Its classes are sorted. One-vs-one ROC AUC is kept up to 20 classes.

    Raises
    ------
    ValueError, TypeError
        Lengths or widths do not match; labels are not in classes; values are NaN; probabilities lie outside [0, 1];
        weights are negative; an interval lies outside (0, 1). `groups` has another length or one group only; `by` has
        another length or more than 500 slices. With a model: the errors of its `score`, a column that does not exist,
        and arguments that only apply to predictions.

    Examples
    --------
    >>> import streamnb as snb
    >>> judged = snb.evaluate(["a", "b", "b"], ["a", "b", "a"], scores=[-1.0, 2.0, 0.5])
    >>> round(judged.accuracy(), 3), judged.roc_auc()
    (0.667, 1.0)
    >>> model = snb.LinearNB().fit(["red wine", "green tea"], ["wine", "tea"])
    >>> snb.evaluate(model, ["white wine", "black tea"], ["wine", "tea"]).accuracy()
    1.0
    """
    if _predicts(y_true):
        _check_model(y_true, y_pred, {"scores": scores, "proba": proba, "classes": classes})
        return _judged_model(
            y_true, (y_pred, y, sample_weight), EvaluationOptions(interval, groups, by, min_rows, positive), offset
        )
    if offset is not None:
        raise ValueError("offset needs a model, evaluate(model, X, y, offset=..); predictions have theirs already")
    _check_columns(y_true, y_pred, y)
    if y_pred is None and scores is None and proba is None:
        raise ValueError("nothing to judge: give y_pred, scores or proba")
    level = EvaluationOptions(interval, groups, by, min_rows).checked().interval
    given = {"y_true": y_true, "y_pred": y_pred, "scores": scores, "proba": proba, "sample_weight": sample_weight}
    given["groups"] = groups
    if y_true is None:
        row_checks.check_labels(y_true, "y_true")
    given = {name: values for name, values in given.items() if values is not None}
    given, classes = _matched_by_name(given, classes)
    with _numbers_named():
        rows, slicing = opened_columns(given, (*LABELS, "groups")), None
    if by is not None:
        slicing, numbers = Slicing.of(given_columns(by, names_beside=False), rows, min_rows)
        rows = opened_columns({**given, **numbers}, (*LABELS, "groups"))
    truth = rows.columns["y_true"]
    multilabel = getattr(truth, "ndim", 1) == 2
    if multilabel:
        width = int(truth.shape[1])
        names = np.arange(width) if classes is None else row_checks.check_labels(classes, "classes")
    else:
        if getattr(y_pred, "ndim", 1) == 2 and y_pred.shape[1] > 1:
            raise ValueError(
                f"y_pred has shape {tuple(y_pred.shape)}; it should be a label for each row: give probabilities as "
                "proba=, and other scores of the classes as scores="
            )
        listed = row_checks.check_classes(classes)
        names = _labels(given) if listed is None else listed
    if not len(names):
        raise ValueError("y_true is empty; there is nothing to judge")
    order = np.arange(len(names)) if multilabel else np.argsort(names)
    decided_by = None
    if y_pred is None:
        decided_by = _deciding(rows.columns, multilabel)
    judge = _Judge(names[order], multilabel, frozenset(given), order, level, slicing, decided_by)
    (evaluation,) = run(judge, rows, RunOptions())[0].evaluations
    if groups is not None and level is not None:
        check_groups(evaluation)
    return evaluation.with_positive(positive)


def _predicts(given: Any) -> bool:
    """Whether this is a model. The class is checked, since a delayed Dask object has every attribute."""
    return hasattr(given if isinstance(given, type) else type(given), "predict")


def _check_model(model: Any, X: Any, others: dict[str, Any]) -> None:
    """Refuse arguments that do not go with a model."""
    if isinstance(model, type):
        raise TypeError(f"{model.__name__} is a class; give a model of it that is fitted: evaluate(model, X, y)")
    if X is None:
        raise ValueError("there are no rows to judge the model on: evaluate(model, X, y)")
    for name, given in others.items():
        if given is not None:
            raise ValueError(f"{name} is given with a model, which has its own; leave it out: evaluate(model, X, y)")


def _check_columns(y_true: Any, y_pred: Any, y: Any) -> None:
    """Refuse arguments that are meant for a model."""
    if _predicts(y_pred):
        raise TypeError(f"the model comes first: evaluate(model, X, y), and here y_true={type(y_true).__name__}")
    if hasattr(type(y_true), "best_score_"):
        raise TypeError(f"a {type(y_true).__name__} is of several models; give one, such as its best_")
    if y is not None:
        raise ValueError("y needs a model, evaluate(model, X, y); labels and predictions are y_true and y_pred")
    if isinstance(y_true, str | PathLike):
        raise TypeError(
            f"y_true={str(y_true)!r} is a path or a name, and no labels; a model is judged on a file by "
            "evaluate(model, path, y), with y the name of its column of labels"
        )


def _deciding(columns: Mapping[str, Any], multilabel: bool) -> str | None:
    """Whether what is predicted follows from "proba" or from "scores"; None if neither has a column for each class."""
    if "proba" in columns:
        return "proba"
    scores = columns.get("scores")
    if scores is not None and not multilabel and scores.ndim == 2 and scores.shape[1] > 1:
        return "scores"
    return None


def _judged_model(
    model: Any, labelled: tuple[Any, Any, Any], options: EvaluationOptions, offset: Any = None
) -> Evaluation:
    """The evaluation of a model on rows, labels and weights."""
    if offset is not None and not has_fit_parameter(model, "offset"):
        raise TypeError(
            f"offset is given, and {type(model).__name__} has none: it is for models of counts and amounts, such as "
            "PoissonRegressorCV and AdditiveRegressor"
        )
    if isinstance(model, LinearModel):
        X, options = options.taken_from(*labelled)
        return judged(model, X, *labelled[1:], needs_in_full(model, model), options)
    if isinstance(model, PortableModel):
        return _judged_portable(model, labelled, options)
    if isinstance(model, PortableRegression):
        raise TypeError(
            "a regression that was saved with stats=False predicts, and does no more: evaluate the model that it was "
            "saved from"
        )
    if not hasattr(model, "evaluate"):
        raise TypeError(
            f"{type(model).__name__} is not a model of streamnb; give its predictions: "
            "evaluate(y_true, model.predict(X), proba=model.predict_proba(X))"
        )
    if options.positive is not None and not hasattr(model, "classes_"):
        raise TypeError(f"positive={options.positive!r} is of two classes, and {type(model).__name__} predicts numbers")
    exposed = {} if offset is None else {"offset": offset}
    return model.evaluate(*labelled, **options.given(), **exposed)


def _judged_portable(model: PortableModel, labelled: tuple[Any, Any, Any], options: EvaluationOptions) -> Evaluation:
    """The evaluation of a portable model by its predictions; labels are read separately."""
    X, options = options.taken_from(*labelled, model.encoding, model.feature_names_in_)
    X, y = with_labels(X, labelled[1])
    rows = opened_for(model.encoding, X, y, labelled[2], names=model.feature_names_in_)
    blocks = list(rows.row_columns())
    truth, weight = (stacked([getattr(block, name) for block in blocks]) for name in ("y", "weight"))
    given: dict[str, Any] = {"classes": model.classes_, "sample_weight": weight, **options.read_from(rows).given()}
    if model.reference is None:  # a reference class has no score
        given["scores"] = model.decision_function(X)
    if model.probabilities is not None:
        given["proba"] = model.predict_proba(X)
    return evaluate(truth, model.predict(X), **given)


def _matched_by_name(given: dict[str, Any], classes: Any) -> tuple[dict[str, Any], Any]:
    """The arguments, and `classes` where data frames of scores or probabilities name their columns after the classes.

    Frames of several labels for each row get the order of the columns of y_true.
    """
    frames = {name: given[name] for name in ("y_pred", "scores", "proba") if hasattr(given.get(name), "columns")}
    truth = given["y_true"]
    stored = not hasattr(truth, "ndim") and not isinstance(truth, list | tuple)  # a Zarr group
    unnamed = stored or (getattr(truth, "ndim", 1) == 2 and not hasattr(truth, "columns"))
    if not frames or unnamed:
        return given, classes
    if len(getattr(truth, "columns", ())) > 1:
        names = list(truth.columns)
        same = {name: frame[names] for name, frame in frames.items() if {*frame.columns} == {*names}}
        return {**given, **same}, classes
    order = _labels(given) if classes is None else row_checks.check_labels(classes, "classes")
    for name in sorted(frames.keys() - {"y_pred"}):
        columns = _columns_like(order, list(frames[name].columns))
        if columns is None or not {*order.tolist()} <= {*columns.tolist()}:
            continue
        unnamed = columns.tolist() == [*range(len(columns))]
        if classes is not None and columns.tolist() != order.tolist() and not unnamed:
            raise ValueError(
                f"{name} has the columns {columns.tolist()}, and the classes are listed as {order.tolist()}; give all "
                "of them in one order"
            )
        if classes is None:
            classes = order = columns
    return given, classes


def _columns_like(labels: np.ndarray, names: list[Any]) -> np.ndarray | None:
    """Names of columns as labels of the same kind as these; None if they are not."""
    columns = np.array(names)
    if columns.dtype.kind == "U" and labels.dtype.kind in "iuf":
        try:
            return columns.astype(labels.dtype)
        except ValueError:
            return None
    of_labels = columns.dtype.kind in row_checks.KINDS
    if of_labels and row_checks.label_kind(columns) == row_checks.label_kind(labels):
        return columns
    return None


def _labels(given: dict[str, Any]) -> np.ndarray:
    """The labels of y_true and y_pred, sorted."""
    columns = {name: values for name, values in given.items() if name in LABELS}
    with _numbers_named():
        return run(StatisticTask(_Labels(np.zeros(0))), opened_columns(columns, LABELS), RunOptions())[0].labels


@contextmanager
def _numbers_named() -> Iterator[None]:
    """Say how predicted numbers are judged where they are given as labels."""
    try:
        yield
    except row_checks.ContinuousLabels as error:
        raise ValueError(
            f"{error}; predictions of numbers are judged with their model: evaluate(model, X, y)"
        ) from None


@dataclass(frozen=True, eq=False)
class _Judge(PassTask):
    """Converts blocks of the arguments of `evaluate` into the input of an `Evaluation`.

    Columns of scores are sorted by `order`, like the classes.
    """

    classes: np.ndarray
    multilabel: bool
    given: frozenset[str]
    order: np.ndarray
    interval: float | None = None
    slicing: Slicing | None = None
    decided_by: str | None = None

    def partial(self) -> Evaluations:
        given = self.given if self.decided_by is None else self.given | {"y_pred"}
        form: dict[str, Any] = {"multilabel": self.multilabel, "classes": self.classes, "interval": self.interval}
        form |= {"grouped": "groups" in self.given, "slicing": self.slicing}
        return Evaluations([Evaluation(len(self.classes), needs_of(given, len(self.classes), self.multilabel), **form)])

    def add(self, partial: Evaluations, block: Block) -> None:
        """Add a block, a dict of the rows of each argument."""
        first_row, columns = block.first_row, block.X
        codes = self._codes(columns["y_true"], "y_true", first_row)
        n_rows = codes.shape[0]
        for name, values in columns.items():
            row_checks.check_lengths(n_rows, values.shape[0], name, "y_true")
        outputs: dict[str, Any] = {"groups": columns.get("groups")}
        if self.slicing is not None:
            outputs["slices"] = self.slicing.taken(columns, n_rows)
        if "sample_weight" in columns:
            outputs["weight"] = row_checks.check_weights(columns["sample_weight"], first_row)
        if "y_pred" in columns:
            outputs["predicted"] = self._codes(columns["y_pred"], "y_pred", first_row)
        scores = proba = None
        if "proba" in columns:
            proba = self._sorted(self._proba(columns["proba"], n_rows, first_row))
        if "scores" in columns:
            scores = self._numbers("scores", columns["scores"], n_rows, first_row)
            if self._two_classes and scores.shape[1] == 2:
                scores = _second_less_first(scores)
            scores = self._sorted(scores)
        if self.decided_by is not None:
            outputs["predicted"] = self._decided(scores if proba is None else proba)
        outputs |= outputs_of(scores, proba, ranked_apart(len(self.classes), self.multilabel))
        partial.evaluations[0].add(codes, **outputs)

    def _decided(self, scores: Any) -> np.ndarray:
        """What is predicted by probabilities, or by scores of classes, in sorted columns."""
        if self.multilabel:
            return (scores > 0.5).astype(np.uint8)
        alone = self._two_classes and scores.shape[1] == 1  # the second class, less the first
        if alone:
            return (scores[:, 0] > 0.0).astype(np.int64)
        return scores.argmax(axis=1)

    @property
    def _two_classes(self) -> bool:
        return len(self.classes) == 2 and not self.multilabel

    def _sorted(self, scores: np.ndarray) -> np.ndarray:
        """Columns in the order of the classes; a single column scores the second of two classes as listed."""
        if (self.order[1:] > self.order[:-1]).all():
            return scores
        if scores.shape[1] > 1:
            return scores[:, self.order]
        return -scores

    def _codes(self, labels: Any, name: str, first_row: int) -> Any:
        if self.multilabel:
            return row_checks.check_indicator(labels, len(self.classes), name)
        labels = row_checks.check_labels(labels, name, first_row)
        if len(labels) == 0:
            return np.zeros(0, np.int64)
        if row_checks.label_kind(labels) != row_checks.label_kind(self.classes):
            raise ValueError(
                f"{name} holds {row_checks.label_kind(labels)}, but the classes are "
                f"{row_checks.label_kind(self.classes)}; "
                "labels should be all of one kind"
            )
        codes = positions(self.classes, labels)
        unknown = np.flatnonzero(codes < 0)
        if unknown.size:
            raise ValueError(
                f"{name} has the label {labels[unknown[0]].item()!r} at row {first_row + unknown[0]}, which is not in "
                f"classes; list every label that y_true and y_pred may hold"
            )
        return codes

    def _proba(self, proba: Any, n_rows: int, first_row: int) -> np.ndarray:
        proba = self._numbers("proba", proba, n_rows, first_row)
        if ((proba < 0.0) | (proba > 1.0)).any():
            raise ValueError(
                f"proba has values from {proba.min():g} to {proba.max():g}; probabilities should be from 0 to 1 "
                "(pass other scores as scores=)"
            )
        if self._two_classes and proba.shape[1] == 1:
            return np.hstack([1.0 - proba, proba])
        off = np.flatnonzero(np.abs(proba.sum(axis=1) - 1.0) > _SUM_TOLERANCE)
        if off.size and not self.multilabel:
            raise ValueError(
                f"proba sums to {proba[off[0]].sum():g} at row {first_row + off[0]}; the probabilities of the "
                "classes should sum to 1 (pass other scores as scores=)"
            )
        return proba

    def _numbers(self, name: str, values: Any, n_rows: int, first_row: int) -> np.ndarray:
        """Scores or probabilities in a column for each class, or in one for the second of two."""
        n_columns = len(self.classes)
        if self._two_classes and values.ndim == 1:
            n_columns = 1
        if values.shape[1:] not in ((n_columns,), () if n_columns == 1 else (n_columns,)):
            raise ValueError(
                f"{name} has shape {values.shape} for {len(self.classes)} classes; it should have a column for each "
                "(one dimension will do for two classes), or give classes= all the labels that it has columns for"
            )
        return row_checks.check_scores(values, n_rows, n_columns, name, first_row)


def _second_less_first(scores: np.ndarray) -> np.ndarray:
    """Difference of the scores of two classes, (n, 1); 0 where both are the same infinity."""
    first, second = scores[:, :1], scores[:, 1:]
    return np.subtract(second, first, out=np.zeros(second.shape), where=first != second)


@dataclass(eq=False)
class _Labels(Statistic):
    """Distinct labels, sorted."""

    labels: Annotated[np.ndarray, merged_classes]
    title = "labels"

    def ended(self, report: Report) -> _Labels:
        return self

    def add_block(self, block: Block) -> None:
        for name, labels in block.X.items():
            seen = np.unique(row_checks.check_labels(labels, name, block.first_row))
            self.labels = merged_classes(self.labels, seen)

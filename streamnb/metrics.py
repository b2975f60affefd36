"""Scores by name, and `evaluate`: labels and predictions of any kind and size, judged block by block."""

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np
import scipy.sparse as sp
import zarr

from streamnb import _checks
from streamnb.cluster import in_a_tree
from streamnb.data import sources
from streamnb.data.columns import in_zarr
from streamnb.data.reader import Cursor
from streamnb.evaluation import Evaluation
from streamnb.grid_evaluation import GridEvaluation
from streamnb.stats.class_stats import merged_classes

# ---- scores by name --------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scorer:
    """A value of an `Evaluation`, the greater the better.

    Attributes
    ----------
    name : str
    needs : what the evaluation has to keep
    value : function of an Evaluation, a number
    per_class : function of an Evaluation, (K,), or None where it makes no sense
    error : function of an Evaluation, a bound on the error of the value, or None where that is exact
    of_grid : function of a GridEvaluation, the values (G,) and (G, K) of all its models at once, where there is one
    """

    name: str
    needs: frozenset[str]
    value: Callable[[Evaluation], float]
    per_class: Callable[[Evaluation], np.ndarray] | None = None
    error: Callable[[Evaluation], float] | None = None
    of_grid: Callable[[GridEvaluation], tuple[np.ndarray, np.ndarray]] | None = None


def _ask(evaluation: Evaluation, method: str, sign: float = 1.0, **options: Any) -> Any:
    return sign * getattr(evaluation, method)(**options)


def _of_classes(evaluation: Evaluation, method: str) -> np.ndarray:
    """The value of each class, NaN of those without rows, (K,)."""
    values = _ask(evaluation, method, average=None)
    return values if "ranking" in evaluation.needs else np.where(evaluation.class_weight > 0.0, values, np.nan)


def _error(evaluation: Evaluation, method: str) -> float:
    return 0.0 if evaluation._ranking().is_exact else getattr(evaluation, f"{method}_error")


def _scorer(name: str, needs: str, method: str, per_class: str | None = None, **options: Any) -> Scorer:
    sign = -1.0 if name.startswith("neg_") else 1.0
    by_class = None if per_class is None else partial(_of_classes, method=per_class)
    error = partial(_error, method=method) if method in ("roc_auc", "average_precision") else None
    return Scorer(name, frozenset(needs.split()), partial(_ask, method=method, sign=sign, **options), by_class, error)


def _scorers() -> dict[str, Scorer]:
    scorers = [
        _scorer("accuracy", "hits", "accuracy", "recall"),
        _scorer("balanced_accuracy", "hits", "balanced_accuracy", "recall"),
        _scorer("roc_auc", "ranking", "roc_auc", "roc_auc"),
        _scorer("roc_auc_ovr", "ranking", "roc_auc", "roc_auc"),
        _scorer("roc_auc_ovr_weighted", "ranking", "roc_auc", "roc_auc", average="weighted"),
        _scorer("roc_auc_ovo", "ranking pairs", "roc_auc", "roc_auc", multi_class="ovo"),
        _scorer("roc_auc_ovo_weighted", "ranking pairs", "roc_auc", "roc_auc", multi_class="ovo", average="weighted"),
        _scorer("average_precision", "ranking", "average_precision", "average_precision"),
        _scorer("neg_log_loss", "probabilities", "log_loss"),
        _scorer("neg_brier_score", "probabilities", "brier"),
        _scorer("neg_hamming_loss", "multilabel", "hamming_loss"),
        _scorer("neg_ranking_loss", "multilabel ranking", "ranking_loss"),
        _scorer("jaccard", "multilabel", "jaccard"),
        _scorer("subset_accuracy", "multilabel", "subset_accuracy"),
    ]
    for name, method in (("precision", "precision"), ("recall", "recall"), ("f1", "f_score")):
        scorers.append(_scorer(name, "hits", method, method))
        for average in ("micro", "macro", "weighted"):
            scorers.append(_scorer(f"{name}_{average}", "hits", method, method, average=average))
        scorers.append(_scorer(f"{name}_samples", "multilabel", method, method, average="samples"))
    scorers[0] = replace(scorers[0], of_grid=GridEvaluation.accuracy_and_recall)
    return {scorer.name: scorer for scorer in scorers}


SCORERS = _scorers()


def as_scorer(scoring: Any) -> Scorer:
    """The scorer of a name, of a function of an `Evaluation` (greater is better), or itself.

    A function gets evaluations that keep the confusion matrix, rankings, probabilities and, multi-label, what compares
    sets; a `Scorer` of one's own says what it needs.

    Raises
    ------
    ValueError, TypeError
        An unknown name; something that is neither a name nor a function.
    """
    if isinstance(scoring, Scorer):
        return scoring
    if isinstance(scoring, str):
        return SCORERS[_checks.one_of("scoring", scoring, SCORERS)]
    if callable(scoring):
        name = getattr(scoring, "__name__", type(scoring).__name__)
        if not _takes_one(scoring):
            raise TypeError(
                f"scoring={name!r} should be a function of one argument, an snb.Evaluation (metrics and scorers of "
                "scikit-learn take others: give a name, or such as lambda e: e.f_score(average='macro'))"
            )
        return Scorer(name, frozenset({"confusion", "ranking", "probabilities", "multilabel"}), scoring)
    raise TypeError(f"scoring={scoring!r} should be a name or a function of an snb.Evaluation")


def _takes_one(function: Callable[..., Any]) -> bool:
    """Whether it can be called with one argument; True where it does not tell."""
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        return False
    except ValueError:  # of some written in C
        return True
    return True


# ---- labels and predictions of any kind ------------------------------------------------------------------------------

_LABELS = ("y_true", "y_pred")
_MANY_CLASSES = 1000  # beyond, no confusion matrix
_MANY_PAIRS = 20  # beyond, no one-vs-one
_SUM_TOLERANCE = 0.01  # probabilities written with few digits do not sum to 1 exactly


def evaluate(
    y_true: Any,
    y_pred: Any = None,
    *,
    scores: Any = None,
    proba: Any = None,
    classes: Any = None,
    sample_weight: Any = None,
) -> Evaluation:
    """Judge predictions: every metric whose input is given, from one reading in blocks.

    All arguments may be NumPy, pandas, Dask or Zarr arrays, in any mixture; Zarr is read in slices along its chunks,
    Dask judged block by block where the blocks are, and merged in a tree.

    Parameters
    ----------
    y_true : (n_rows,) labels, or a 2-D indicator (dense or CSR) of multi-label rows
        A Zarr group may hold a categorical column in the AnnData layout.
    y_pred : as y_true, optional
        For accuracy, precision, recall, F score and the like; the confusion matrix up to 1000 classes.
    scores : (n_rows,) for two classes, (n_rows, K) otherwise, optional
        For ROC AUC and average precision, such as from `decision_function`; `proba` unless given. Scores keep apart
        rows whose probabilities are rounded to 0 or 1.
    proba : (n_rows, K), or (n_rows,) of the second of two classes, optional
        For log loss and Brier score.
    classes : (K,) labels, optional
        What the columns of scores and proba stand for, in sorted order. The labels of y_true and y_pred unless given;
        these are then read once more, beforehand. Multi-label: names of the labels, in the order of the columns.
    sample_weight : (n_rows,), optional

    Returns
    -------
    Evaluation
        Classes are numbered in sorted order. One-vs-one ROC AUC is kept up to 20 classes.

    Raises
    ------
    ValueError, TypeError
        Lengths or widths that do not fit, labels that are not in classes, NaN, probabilities outside [0, 1],
        negative weights.

    Examples
    --------
    >>> evaluation = evaluate(["a", "b", "b"], ["a", "b", "a"], scores=[-1.0, 2.0, 0.5])
    >>> round(evaluation.accuracy(), 3), evaluation.roc_auc()
    (0.667, 1.0)
    """
    if y_pred is None and scores is None and proba is None:
        raise ValueError("nothing to judge: give y_pred, scores or proba")
    given = {"y_true": y_true, "y_pred": y_pred, "scores": scores, "proba": proba, "sample_weight": sample_weight}
    if y_true is None:
        _checks.check_labels(y_true, "y_true")
    columns = {name: _opened(name, values) for name, values in given.items() if values is not None}
    multilabel = getattr(columns["y_true"], "ndim", 1) == 2
    rows: _Rows = _DaskRows(columns) if any(map(sources.is_dask, columns.values())) else _Rows(columns)
    if multilabel:
        width = int(columns["y_true"].shape[1])
        names = np.arange(width) if classes is None else _checks.check_labels(classes, "classes")
    else:
        listed = _checks.check_classes(classes)
        names = rows.labels() if listed is None else listed
    if not len(names):
        raise ValueError("y_true is empty; there is nothing to judge")
    return rows.judged(_Judge(names, multilabel, frozenset(columns)))


@dataclass(frozen=True, eq=False)
class _Judge:
    """Turns blocks of what `evaluate` was given into what an `Evaluation` takes."""

    classes: np.ndarray
    multilabel: bool
    given: frozenset[str]

    def evaluation(self) -> Evaluation:
        n_classes = len(self.classes)
        needs = set()
        if "y_pred" in self.given:
            needs |= {"multilabel" if self.multilabel else "confusion" if n_classes <= _MANY_CLASSES else "hits"}
        if self.given & {"scores", "proba"}:
            needs |= {"ranking"} | ({"pairs"} if n_classes <= _MANY_PAIRS else set())
        if "proba" in self.given:
            needs |= {"probabilities"}
        return Evaluation(n_classes, needs, multilabel=self.multilabel, classes=self.classes)

    def add(self, evaluation: Evaluation, first_row: int, block: dict[str, Any]) -> None:
        """Add a block: for each name given, its rows."""
        codes = self._codes(block["y_true"], "y_true", first_row)
        n_rows = codes.shape[0]
        for name, values in block.items():
            _checks.check_lengths(n_rows, values.shape[0], name, "y_true")
        said: dict[str, Any] = {}
        if "sample_weight" in block:
            said["weight"] = _checks.check_weights(block["sample_weight"], first_row)
        if "y_pred" in block:
            said["predicted"] = self._codes(block["y_pred"], "y_pred", first_row)
        if "proba" in block:
            proba = self._proba(block["proba"], n_rows, first_row)
            with np.errstate(divide="ignore"):
                said["log_proba"] = np.log(proba)
            said["ranking"] = proba
        if "scores" in block:
            scores = block["scores"]
            one_column = len(self.classes) == 2 and not self.multilabel and scores.ndim == 1
            said["ranking"] = self._numbers("scores", scores, n_rows, 1 if one_column else len(self.classes), first_row)
        evaluation.add(codes, **said)

    def _codes(self, labels: Any, name: str, first_row: int) -> Any:
        if self.multilabel:
            return _checks.check_indicator(labels, len(self.classes), name)
        labels = _checks.check_labels(labels, name, first_row)
        if len(labels) == 0:
            return np.zeros(0, np.int64)
        if _checks.label_kind(labels) != _checks.label_kind(self.classes):
            raise ValueError(
                f"{name} holds {_checks.label_kind(labels)}, but the classes are {_checks.label_kind(self.classes)}; "
                "labels should be all of one kind"
            )
        codes = np.minimum(np.searchsorted(self.classes, labels), len(self.classes) - 1)
        strange = np.flatnonzero(self.classes[codes] != labels)
        if strange.size:
            raise ValueError(
                f"{name} has the label {labels[strange[0]].item()!r} at row {first_row + strange[0]}, which is not in "
                f"classes; list every label that y_true and y_pred may hold"
            )
        return codes

    def _proba(self, proba: Any, n_rows: int, first_row: int) -> np.ndarray:
        two = len(self.classes) == 2 and not self.multilabel
        one_column = two and proba.ndim == 1
        proba = self._numbers("proba", proba, n_rows, 1 if one_column else len(self.classes), first_row)
        if ((proba < 0.0) | (proba > 1.0)).any():
            raise ValueError(
                f"proba has values from {proba.min():g} to {proba.max():g}; probabilities should be from 0 to 1 "
                "(pass other scores as scores=)"
            )
        if one_column:
            return np.hstack([1.0 - proba, proba])
        off = np.flatnonzero(np.abs(proba.sum(axis=1) - 1.0) > _SUM_TOLERANCE)
        if off.size and not self.multilabel:
            raise ValueError(
                f"proba sums to {proba[off[0]].sum():g} at row {first_row + off[0]}; the probabilities of the "
                "classes should sum to 1 (pass other scores as scores=)"
            )
        return proba

    def _numbers(self, name: str, values: Any, n_rows: int, n_columns: int, first_row: int) -> np.ndarray:
        if values.shape[1:] not in ((n_columns,), () if n_columns == 1 else (n_columns,)):
            raise ValueError(
                f"{name} has shape {values.shape} for {len(self.classes)} classes; it should have a column for each "
                "(one dimension will do for two classes), or give classes= all the labels that it has columns for"
            )
        return _checks.check_scores(values, n_rows, n_columns, name, first_row)


def _opened(name: str, values: Any) -> Any:
    """Dask and Zarr arrays and CSR as they are; anything else as a NumPy array, labels checked."""
    if sources.is_dask(values):
        values = sources.dask_array(values)
    elif isinstance(values, zarr.Group):
        return in_zarr(values, name)
    elif sp.issparse(values):
        values = sp.csr_array(values)
    elif name in _LABELS and np.ndim(values) != 2 and not isinstance(values, zarr.Array):
        values = _checks.check_labels(values, name)
    elif not isinstance(values, (np.ndarray, zarr.Array)):
        values = np.asarray(values)
    if values.ndim not in (1, 2):
        raise ValueError(f"{name} has shape {values.shape}; it should have one dimension or two")
    return values


def _n_rows(values: Any) -> Any:
    """How many rows a column has; NaN where Dask does not know."""
    return values.shape[0] if hasattr(values, "shape") else values.n_rows


class _Rows:
    """Columns in memory or in Zarr, read in blocks."""

    def __init__(self, columns: dict[str, Any]):
        self._columns = columns
        self._n_rows = _n_rows(columns["y_true"])
        for name, values in columns.items():
            _checks.check_lengths(self._n_rows, _n_rows(values), name, "y_true")

    def labels(self) -> np.ndarray:
        """The labels of y_true and y_pred, sorted."""
        names = [name for name in self._columns if name in _LABELS]
        return reduce(merged_classes, (_labels_of(first_row, block) for first_row, block in self._blocks(names)))

    def judged(self, judge: _Judge) -> Evaluation:
        evaluation = judge.evaluation()
        for first_row, block in self._blocks(list(self._columns)):
            judge.add(evaluation, first_row, block)
        return evaluation

    def _blocks(self, names: Sequence[str]) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the number of the first row and what stands in the rows of a block; there is at least one."""
        columns = {name: self._columns[name] for name in names}
        width = max(column.shape[1] if getattr(column, "ndim", 1) == 2 else 1 for column in columns.values())
        step = min(max(sources.BLOCK_BYTES // (8 * max(width, 1)), 1), sources.BLOCK_ROWS)
        readers = {name: _reader(column) for name, column in columns.items()}
        for start in range(0, max(self._n_rows, 1), step):
            stop = min(start + step, self._n_rows)
            yield start, {name: read(start, stop) for name, read in readers.items()}


def _reader(values: Any) -> Callable[[int, int], Any]:
    """A function that returns the rows from `start` to `stop`, called in order; each chunk is decoded once."""
    if isinstance(values, zarr.Array):
        cursor = Cursor(values)
        return lambda start, stop: cursor.take(stop)
    if isinstance(values, np.ndarray) or sp.issparse(values):
        return lambda start, stop: values[start:stop]
    ask = values.reader(0)
    return lambda start, stop: ask(start, stop)()


def _labels_of(first_row: int, block: dict[str, Any]) -> np.ndarray:
    labels = [np.unique(_checks.check_labels(labels, name, first_row)) for name, labels in block.items()]
    return reduce(merged_classes, labels)


# ---- where Dask arrays are -------------------------------------------------------------------------------------------


class _DaskRows(_Rows):
    """Columns of which one at least is a Dask array; all are cut into the same blocks."""

    def __init__(self, columns: dict[str, Any]):
        lead = next(name for name, column in columns.items() if sources.is_dask(column))
        self._lengths = columns[lead].chunks[0]
        self._columns = {name: _cut(name, column, lead, self._lengths) for name, column in columns.items()}

    def labels(self) -> np.ndarray:
        return self._folded([name for name in self._columns if name in _LABELS], _labels_of, merged_classes)

    def judged(self, judge: _Judge) -> Evaluation:
        return self._folded(list(self._columns), partial(_judged, judge=judge), add)

    def _folded(self, names: Sequence[str], of_block: Callable, merge: Callable) -> Any:
        """What `of_block` makes of the first row and the named columns of each block, merged in a tree."""
        import dask.array as da

        ends = np.nan_to_num(np.cumsum(self._lengths))  # first rows are told in messages; 0 where unknown
        first_rows = da.from_array(np.append(0, ends[:-1]).astype(np.int64), chunks=1)
        arrays = [first_rows, *(self._columns[name] for name in names)]
        pack = partial(_of_block, names=names, of_block=of_block)
        return in_a_tree(pack, arrays, partial(reduce, merge)).compute().item()


def _cut(name: str, column: Any, lead: str, lengths: tuple[float, ...]) -> Any:
    """A column as a Dask array with the row chunks of the column `lead`, and in one chunk across."""
    import dask.array as da

    known = not np.isnan(lengths).any()
    n_rows = _n_rows(column)
    if known and not np.isnan(n_rows):
        _checks.check_lengths(int(np.sum(lengths)), n_rows, name, lead)
        if sources.is_dask(column):
            return column.rechunk((lengths, *((n,) for n in column.shape[1:])))
        if getattr(column, "ndim", 1) == 1:
            column = np.asarray(_reader(column)(0, n_rows))
        return da.from_array(column, chunks=(lengths, *column.shape[1:]), asarray=False)
    if not sources.is_dask(column) or column.numblocks[0] != len(lengths):
        raise ValueError(
            f"{name} cannot be cut like {lead}, as row-chunk sizes are unknown: give all as Dask arrays with the same "
            "blocks, or call compute_chunk_sizes() first"
        )
    return column if column.ndim == 1 else column.rechunk({1: -1})


def _judged(first_row: int, block: dict[str, Any], judge: _Judge) -> Evaluation:
    evaluation = judge.evaluation()
    judge.add(evaluation, first_row, block)
    return evaluation


def _of_block(first_row: np.ndarray, *parts: Any, names: Sequence[str], of_block: Callable) -> Any:
    return of_block(int(first_row[0]), dict(zip(names, parts, strict=True)))

"""`Evaluation`: mergeable counts of judged rows, and the metrics computed from them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from streamnb.core import frames, guesses, persistence
from streamnb.evaluation import breakdowns, intervals, metrics, thresholds
from streamnb.evaluation.tallied import Tallied, has, is_binary, kinds_of

GUESSED = "accuracy", "average_precision", "log_loss"  # metrics that are printed of guesses
MOST_GUESSED = 1000  # classes
PRINTED = (  # what is kept of rows, the name of a metric, its method and its average
    ("decisions", "accuracy", "accuracy"),
    ("decisions", "f_score (macro)", "f_score", "macro"),
    ("label sets", "hamming_loss", "hamming_loss"),
    ("label sets", "jaccard", "jaccard"),
    ("margin", "roc_auc_margin", "roc_auc_margin"),
    ("ranking", "roc_auc", "roc_auc"),
    ("order", "average_precision", "average_precision"),
    ("losses", "log_loss", "log_loss"),
    ("losses", "brier", "brier"),
    ("reliability", "calibration error", "expected_calibration_error"),
)


@persistence.register
class Evaluation(Tallied):
    """The evaluation of one model in fixed memory: takes blocks of rows in any order, and merges exactly with ``+``.

    Values follow scikit-learn's conventions and agree with its functions on the same rows. They are the same to the
    last bit for any blocks and any order of merging, as sums of weights and losses are kept with their rounding errors.

    Parameters
    ----------
    n_classes : int
        K classes, or labels of multi-label rows.
    needs : list of names
        What to keep, which determines the available metrics:

        - "hits": accuracy, balanced accuracy, precision, recall, specificity, F score, Matthews' correlation, Cohen's
          kappa; of the order of K numbers;
        - "confusion": the same and the confusion matrix; K x K numbers;
        - "confused": the same and `confused_pairs`; 16 bytes for each pair of classes that is confused;
        - "ranking": ROC AUC and curve, average precision; scores of `exact_rows` rows, later ``2 K n_bins`` numbers;
        - "margin": `roc_auc_margin`, from a ranking by raw scores; without "ranking" all ranking metrics use it;
        - "pairs", with "ranking": ROC AUC one-vs-one for K > 2; ``K K n_bins`` numbers;
        - "probabilities": log loss, Brier score;
        - "reliability", with "probabilities": expected calibration error, reliability curve; 45 means;
        - "multilabel": metrics of label sets (with "ranking", the ranking loss too); no effect for single labels.
    multilabel : bool
        Rows have any number of labels. "hits", "confusion", "confused" and "multilabel" then mean the same.
    exact_rows : int
        Scores are kept one by one up to that many rows, and ROC AUC and average precision are exact. Beyond, they come
        from histograms, within `roc_auc_error` and `average_precision_error`.
    n_bins : int
        Bins of a histogram, at least 2.
    classes : (K,) labels, optional
        Names of the classes in the order of their numbers; 0 .. K - 1 unless given.
    interval : float, optional
        Confidence of `interval`, such as 0.95. It takes some more sums, and a sample of rows for more than two classes.
    grouped : bool
        Rows come in groups, such as those of one patient, which are not independent; intervals allow for this, and
        `add` takes the groups.
    slicing : Slicing, optional
        Columns by which rows are sliced, as the argument `by` of `evaluate` makes it; `add` takes numbers of slices.
    n_models : int
        Models that judge the same rows, added by `add_margins` or `add_decided`; metrics are those of `of_model`, the
        evaluation of one.
    reference : ReferenceGroups, optional
        Compare each class with a reference, using the rows of these two only. Only ROC AUC is kept.

    Notes
    -----
    Rows with a label that the model does not know (code -1) are left out of all metrics, and `n_unknown` counts them:
    they have no probabilities or ranks, and all metrics should cover the same rows.

    Examples
    --------
    >>> import streamnb as snb
    >>> first = snb.evaluate(["cat", "dog"], ["cat", "cat"], classes=["cat", "dog"])
    >>> second = snb.evaluate(["dog", "dog"], ["dog", "dog"], classes=["cat", "dog"])
    >>> (first + second).accuracy(), (first + second).confusion_matrix().tolist()
    (0.75, [[1.0, 0.0], [1.0, 2.0]])
    """

    # metrics are functions of judged rows, each named once
    accuracy = metrics.accuracy
    balanced_accuracy = metrics.balanced_accuracy
    confusion_matrix = metrics.confusion_matrix
    precision = metrics.precision
    recall = metrics.recall
    specificity = metrics.specificity
    f_score = metrics.f_score
    matthews_corrcoef = metrics.matthews_corrcoef
    cohen_kappa = metrics.cohen_kappa
    hamming_loss = metrics.hamming_loss
    jaccard = metrics.jaccard
    subset_accuracy = metrics.subset_accuracy
    ranking_loss = metrics.ranking_loss
    log_loss = metrics.log_loss
    brier = metrics.brier
    expected_calibration_error = metrics.expected_calibration_error
    reliability_curve = metrics.reliability_curve
    roc_auc = metrics.roc_auc
    roc_auc_margin = metrics.roc_auc_margin
    average_precision = metrics.average_precision
    roc_auc_error = property(metrics.roc_auc_error)
    average_precision_error = property(metrics.average_precision_error)
    roc_curve = metrics.roc_curve
    interval = intervals.interval
    report, confused_pairs = breakdowns.report, breakdowns.confused_pairs
    threshold, precision_recall_curve = thresholds.threshold, thresholds.precision_recall_curve
    cost_curve = thresholds.cost_curve
    slices, slice = property(breakdowns.slices), breakdowns.slice_of

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"'Evaluation' object has no attribute {name!r}{guesses.hint(name, guesses.OF_EVALUATION)}"
        )

    def summary(self) -> dict[str, float]:
        """The printed metrics by name; with intervals, their ends are "accuracy low" and "accuracy high"."""
        values: dict[str, float] = {}
        for name, value, ends, _ in self._shown():
            values |= {name: float(value)}
            values |= {f"{name} {end}": x for end, x in zip(("low", "high"), ends, strict=False)}
        return values

    def guesses(self) -> Evaluation:
        """Evaluate a baseline that knows only the class frequencies, on the same rows: every model should beat it.

        It always predicts the most frequent class, with the class frequencies as probabilities.

        Examples
        --------
        >>> import streamnb as snb
        >>> judged = snb.evaluate(["a", "b", "b", "b"], ["a", "b", "b", "a"])
        >>> judged.accuracy(), judged.guesses().accuracy()
        (0.75, 0.75)
        """
        return guesses_of(self.classes, self.class_weight, self.needs).with_positive(_positive(self))

    def __repr__(self) -> str:
        lines = [f"  {name:18} {value}" for name, value in self._lines(10)]
        return "\n".join([self._title(), *lines])

    def _repr_html_(self) -> str:
        return frames.table(self._title(), self._lines())

    def _lines(self, width: int = 0) -> list[tuple[str, str]]:
        """Names and values, with intervals and bounds of errors."""
        lines = []
        for name, value, ends, error in self._shown():
            interval = ""
            if ends:
                interval = f"  [{ends[0]:.6f}, {ends[1]:.6f}]"
            lines.append((name, f"{value:{width}.6f}{interval}" + (f"  (within {error:.1g})" if error > 0.0 else "")))
        if self.multilabel or not has(self, "decisions") or not self.class_weight.any():
            return lines
        values = {name: value for name, value, *_ in self.guesses()._shown() if name in GUESSED}
        guesses = ", ".join(f"{name} {value:.3f}" for name, value in values.items())
        return [*lines, ("by guessing", f"{'':>{max(width - 8, 0)}}{guesses}")]

    def _title(self) -> str:
        kind = "classes"
        if self.multilabel:
            kind = "labels"
        weight = ""
        if self.weight != self.n_rows:
            weight = f" (weight {self.weight:,.6g})"
        unknown = ""
        if self.n_unknown:
            unknown = f" without {self.n_unknown:,} of unknown labels"
        title = f"Evaluation of {self.n_rows:,} rows{weight}{unknown}, {self.n_classes:,} {kind}"
        if is_binary(self):
            title += f" (positive: {_positive(self)!r})"
        if self.level is None:
            return title
        return f"{title}, {intervals.described(self)}"

    def _shown(self) -> list[tuple[str, float, tuple[float, ...], float]]:
        """Names, values, intervals and error bounds of the available metrics."""
        values: list[tuple[str, float, tuple[float, ...], float]] = []
        kinds = kinds_of(self)
        for kind, name, metric, *average in PRINTED:
            if kind not in kinds:
                continue
            ends = () if self.level is None or self.weight == 0.0 else intervals.interval_if_any(self, metric, *average)
            error = 0.0
            if metric in metrics.ERRORS:
                error = metrics.ERRORS[metric](self)
            values.append((name, getattr(self, metric)(*average), ends, error))
        return values


def guesses_of(classes: np.ndarray, weight: np.ndarray, needs: Iterable[str]) -> Evaluation:
    """`Evaluation.guesses` for these classes, given the weight of each."""
    K = len(classes)
    needs = {*needs} - {"pairs", "confused"} if K <= MOST_GUESSED else {"hits"}
    found, even = Evaluation(K, needs, classes=classes), np.zeros((K, min(K, MOST_GUESSED)))
    with np.errstate(divide="ignore"):
        log_share = np.log(weight / weight.sum())[: even.shape[1]] + even
    predicted = np.full(K, int(weight.argmax()))
    found.add(np.arange(K), weight, predicted=predicted, ranking=even, margin=even, log_proba=log_share)
    return found


def _positive(judged: Tallied) -> Any:
    """The class of two that metrics of one class are of; None of more classes."""
    if is_binary(judged):
        return judged.classes[judged.positive].item()
    return None

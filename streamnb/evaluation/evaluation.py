"""`Evaluation`: mergeable counts of judged rows, and the metrics computed from them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from streamnb.core import frames, persistence
from streamnb.evaluation import breakdowns, intervals, metrics, thresholds
from streamnb.evaluation.tallied import Tallied, has, is_binary

GUESSED = "accuracy", "average_precision", "log_loss"  # metrics that are printed of guesses
MOST_GUESSED = 1000  # classes


@persistence.register
class Evaluation(Tallied):
    """The evaluation of one model in fixed memory: takes blocks of rows in any order, and merges exactly with ``+``.

    Values follow scikit-learn's conventions and agree with its functions on the same rows. They do not depend on how
    the rows are cut into blocks or in which order these are merged, to the last bit: sums of weights and of losses are
    kept with their rounding errors.

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
        Intervals are of rows in groups, such as those of one patient, which are not independent; `add` takes the
        groups.
    slicing : Slicing, optional
        Columns by which rows are sliced, as the argument `by` of `evaluate` makes it; `add` takes numbers of slices.
    n_models : int
        Models that judge the same rows, added by `add_margins` or `add_decided`; metrics are those of `of_model`, the
        evaluation of one.
    reference : ReferenceGroups, optional
        Compare each class with a reference, on the rows of the two alone: ROC AUC is all that is kept.

    Notes
    -----
    Rows with a label that the model does not know (code -1) are left out of all measures, and `n_unknown` counts them:
    probabilities and rankings have nothing to say of them, and all measures should be of the same rows.

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

    def summary(self) -> dict[str, float]:
        """The metrics of the printed form, by name; with intervals, their ends as "accuracy low", "accuracy high"."""
        values: dict[str, float] = {}
        for name, value, ends, _ in self._shown():
            values |= {name: float(value)}
            values |= {f"{name} {end}": x for end, x in zip(("low", "high"), ends, strict=False)}
        return values

    def guesses(self) -> Evaluation:
        """What guesses get that know how frequent each class is, on the same rows: the least that a model should beat.

        They always name the most frequent class, and say the shares of the classes as probabilities.

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
        guesses = self._guessed()
        if guesses:
            return [*lines, ("of guesses", f"{'':>{max(width - 8, 0)}}{guesses}")]
        return lines

    def _guessed(self) -> str:
        """What guesses that know how frequent each class is would have."""
        if self.multilabel or not has(self, "decisions") or not self.class_weight.any():
            return ""
        guesses = self.guesses()
        values = {name: value for name, value, *_ in guesses._shown() if name in GUESSED}
        return ", ".join(f"{name} {value:.3f}" for name, value in values.items())

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
        shown: dict[str, tuple[str, ...]] = {}  # the method of each metric, and its average
        if has(self, "decisions"):
            shown |= {"accuracy": ("accuracy",), "f_score (macro)": ("f_score", "macro")}
        if has(self, "decisions") and self.multilabel:
            shown |= {"hamming_loss": ("hamming_loss",), "jaccard": ("jaccard",)}
        if has(self, "margin"):
            shown["roc_auc_margin"] = ("roc_auc_margin",)
        if has(self, "ranking"):
            shown["roc_auc"] = ("roc_auc",)
        if has(self, "ranking") or has(self, "margin"):
            shown["average_precision"] = ("average_precision",)
        if has(self, "losses"):
            shown |= {"log_loss": ("log_loss",), "brier": ("brier",)}
        if has(self, "reliability"):
            shown["calibration error"] = ("expected_calibration_error",)
        values: list[tuple[str, float, tuple[float, ...], float]] = []
        for name, (metric, *average) in shown.items():
            ends = () if self.level is None or self.weight == 0.0 else intervals.interval_if_any(self, metric, *average)
            error = 0.0
            if metric in metrics.ERRORS:
                error = metrics.ERRORS[metric](self)
            values.append((name, getattr(self, metric)(*average), ends, error))
        return values


def guesses_of(classes: np.ndarray, weight: np.ndarray, needs: Iterable[str]) -> Evaluation:
    """`Evaluation.guesses` of rows of these classes, by the weight of each."""
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

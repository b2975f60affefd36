"""The registry of metrics by name."""

import inspect
import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import Any

import numpy as np

from streamnb.core import arguments
from streamnb.core.messages import listed
from streamnb.evaluation.evaluation import Evaluation
from streamnb.evaluation.metrics import ERRORS, accuracies_and_recalls, areas_against_reference, micro_error
from streamnb.evaluation.tallied import ranking


@dataclass(frozen=True)
class Scorer:
    """A score computed from an `Evaluation`; greater is better.

    Attributes
    ----------
    name : str
    needs : what the evaluation must keep; with "reference" it compares each class with its reference
    value : function of an Evaluation that returns a number
    per_class : function of an Evaluation that returns (K,), or None where the score has no value for a class
    error : function of an Evaluation that returns an error bound of the value, or None where the value is exact
    of_models : function of the Evaluation of G models that returns, for all at once, values (G,), values of each class
        (G, K) and error bounds (G,) or None; None where there is no such shortcut
    others : scorers reported along with this one; `needs` covers all of them
    """

    name: str
    needs: frozenset[str]
    value: Callable[[Any], float]
    per_class: Callable[[Evaluation], np.ndarray] | None = None
    error: Callable[[Evaluation], float] | None = None
    of_models: Callable[[Any], tuple[np.ndarray, np.ndarray, np.ndarray | None]] | None = None
    others: tuple["Scorer", ...] = ()

    @property
    def each(self) -> tuple["Scorer", ...]:
        """All scorers of a list."""
        return self, *self.others

    @property
    def by_name(self) -> bool:
        """Whether this is one of `SCORERS` rather than a user's function."""
        return self.name in SCORERS and SCORERS[self.name].value is self.value

    def of(self, evaluation: Evaluation) -> float:
        """The value, a finite number; NaN where no row has positive weight."""
        value = np.nan
        if evaluation.weight > 0.0:
            value = self.value(evaluation)
        if not isinstance(value, numbers.Real):
            raise TypeError(
                f"scoring={self.name!r} returned {value!r}; it should be one number, NaN where there is none"
            )
        if np.isinf(value):
            raise ValueError(f"scoring={self.name!r} returned {value}; it should be finite, or NaN where there is none")
        return float(value)

    def of_each(self, judged: Evaluation, models: Sequence[Evaluation] | None = None) -> tuple[Any, Any, Any]:
        """Values of several models (G,), of each class (G, K), and error bounds (G,); None where there are none.

        `models` are the evaluations of each in `judged`, if they were made before.
        """
        if self.of_models is not None:
            return self.of_models(judged)
        if models is None:
            models = judged.models
        per_class, errors = (f and [f(one) for one in models] for f in (self.per_class, self.error))
        return [self.of(one) for one in models], per_class, errors


def _value(evaluation: Evaluation, method: str, sign: float = 1.0, **options: Any) -> Any:
    """The value of a metric method, negated where lower is better."""
    return sign * getattr(evaluation, method)(**options)


def _of_classes(evaluation: Evaluation, method: str) -> np.ndarray:
    """The value of each class, NaN for classes without rows, (K,)."""
    values = _value(evaluation, method, average=None)
    if method in ERRORS:
        return values
    return np.where(evaluation.class_weight > 0.0, values, np.nan)


def _error(evaluation: Evaluation, method: str = "roc_auc", average: str | None = None, n_parts: int = 1) -> float:
    """The error bound of a score that is the mean of the metric and of others, which are exact."""
    if method != "roc_auc_margin" and ranking(evaluation).is_exact:
        return 0.0
    error = micro_error(evaluation, method) if average == "micro" else ERRORS[method](evaluation)
    return error / n_parts


def _accuracy_and_area(evaluation: Evaluation) -> float:
    """The mean of both, as few models are best at decisions and at ranking."""
    return 0.5 * (evaluation.accuracy() + evaluation.roc_auc())


def _overall(evaluation: Evaluation) -> float:
    """The mean of accuracy, area, and the geometric mean of the probability given to the true class."""
    return (evaluation.accuracy() + _area_of_known_classes(evaluation) + np.exp(-evaluation.log_loss())) / 3.0


def _area_of_known_classes(evaluation: Evaluation) -> float:
    """ROC AUC averaged over classes of at least `FEW_ROWS` rows; the area of a class of two rows is noise."""
    areas = evaluation.roc_auc(average=None)
    known = (evaluation.class_weight >= FEW_ROWS) & ~np.isnan(areas)
    if known.any():
        return float(areas[known].mean())
    return evaluation.roc_auc()


def _scorer(name: str, needs: str, method: str, per_class: str | None = None, **options: Any) -> Scorer:
    sign = 1.0
    if name.startswith("neg_"):
        sign = -1.0
    by_class = None
    if per_class is not None:
        by_class = partial(_of_classes, method=per_class)
    error = None
    if method in ERRORS:
        error = partial(_error, method=method, average=options.get("average"))
    return Scorer(name, frozenset(needs.split()), partial(_value, method=method, sign=sign, **options), by_class, error)


FEW_ROWS = 10
OF_ONE_CLASS = "precision", "recall", "specificity", "f1", "average_precision"  # differ between two classes
_RATES = ("precision", "precision"), ("recall", "recall"), ("specificity", "specificity"), ("f1", "f_score")


def _scorers() -> dict[str, Scorer]:
    scorers = [
        _scorer("accuracy", "hits", "accuracy", "recall"),
        _scorer("balanced_accuracy", "hits", "balanced_accuracy", "recall"),
        _scorer("matthews_corrcoef", "hits", "matthews_corrcoef"),
        _scorer("cohen_kappa", "hits", "cohen_kappa"),
        _scorer("roc_auc", "ranking", "roc_auc", "roc_auc"),
        _scorer("roc_auc_ovr", "ranking", "roc_auc", "roc_auc"),
        _scorer("roc_auc_ovr_weighted", "ranking", "roc_auc", "roc_auc", average="weighted"),
        _scorer("roc_auc_ovo", "ranking pairs", "roc_auc", "roc_auc", multi_class="ovo"),
        _scorer("roc_auc_ovo_weighted", "ranking pairs", "roc_auc", "roc_auc", multi_class="ovo", average="weighted"),
        _scorer("roc_auc_micro", "ranking", "roc_auc", average="micro"),
        _scorer("roc_auc_margin", "margin", "roc_auc_margin", "roc_auc_margin"),
        _scorer("average_precision", "ranking", "average_precision", "average_precision"),
        _scorer("average_precision_micro", "ranking", "average_precision", average="micro"),
        _scorer("neg_log_loss", "probabilities", "log_loss"),
        _scorer("neg_brier_score", "probabilities", "brier"),
        _scorer("neg_hamming_loss", "multilabel", "hamming_loss"),
        _scorer("neg_ranking_loss", "multilabel ranking", "ranking_loss"),
        _scorer("jaccard", "multilabel", "jaccard"),
        _scorer("subset_accuracy", "multilabel", "subset_accuracy"),
    ]
    for name, method in _RATES:
        scorers.append(_scorer(name, "hits", method, method))
        for average in ("micro", "macro", "weighted"):
            scorers.append(_scorer(f"{name}_{average}", "hits", method, method, average=average))
        if name != "specificity":  # its mean over rows is not kept
            scorers.append(_scorer(f"{name}_samples", "multilabel", method, method, average="samples"))
    needs, error = frozenset({"hits", "ranking"}), partial(_error, n_parts=2)
    scorers.append(Scorer("accuracy_and_roc_auc", needs, _accuracy_and_area, error=error))
    scorers.append(Scorer("overall", needs | {"probabilities"}, _overall, error=partial(_error, n_parts=3)))
    areas = _scorer("roc_auc_reference", "ranking reference", "roc_auc", "roc_auc")
    scorers.append(replace(areas, error=attrgetter("roc_auc_error"), of_models=areas_against_reference))
    scorers[0] = replace(scorers[0], of_models=accuracies_and_recalls)
    return {scorer.name: scorer for scorer in scorers}


SCORERS = _scorers()


def as_scorer(scoring: Any) -> Scorer:
    """The scorer of a name or of a function of an `Evaluation` (greater is better); for a list, one for all of them.

    "recall of fraud" is a metric of one class, by its label. A function gets evaluations that keep the confusion
    matrix, rankings, probabilities and, for multi-label rows, label sets; a custom `Scorer` is returned as it is and
    declares what it needs.

    Raises
    ------
    ValueError, TypeError
        An unknown name; something that is neither a name nor a function.
    """
    if isinstance(scoring, Scorer):
        return scoring
    if isinstance(scoring, list | tuple):
        return _first([as_scorer(one) for one in scoring])
    if isinstance(scoring, str) and " of " in scoring:
        return _of_label(*scoring.split(" of ", 1))
    if isinstance(scoring, str):
        return SCORERS[arguments.one_of("scoring", scoring, SCORERS)]
    if callable(scoring):
        name = getattr(scoring, "__name__", type(scoring).__name__)
        if not _takes_one(scoring):
            raise TypeError(
                f"scoring={name!r} should be a function of one argument, an snb.Evaluation (metrics and scorers of "
                "scikit-learn take others: give a name, or such as lambda e: e.f_score(average='macro'))"
            )
        return Scorer(name, frozenset({"confusion", "ranking", "probabilities", "multilabel"}), scoring)
    raise TypeError(f"scoring={scoring!r} should be a name, a function of an snb.Evaluation, or a list of such")


def _of_label(name: str, label: str) -> Scorer:
    """The scorer "recall of fraud": a metric of one class, by its label as text."""
    scorer = SCORERS[arguments.one_of("scoring", name, [*OF_ONE_CLASS, "roc_auc"])]
    return replace(scorer, name=f"{name} of {label}", value=partial(_value_of, scorer=scorer, label=label))


def _value_of(evaluation: Evaluation, scorer: Scorer, label: str) -> float:
    """The value of a class, by its label as text."""
    labels = [str(known) for known in evaluation.classes.tolist()]
    if label not in labels:
        raise ValueError(f"scoring={f'{scorer.name} of {label}'!r} names no class; these are {listed(labels)}")
    assert scorer.per_class is not None
    return float(scorer.per_class(evaluation)[labels.index(label)])


def of_positive(scoring: Any, positive: Any) -> Any:
    """The scorings, where those of one of two classes are of the class `positive`."""
    if positive is None:
        return scoring
    if isinstance(scoring, list | tuple):
        return [of_positive(one, positive) for one in scoring]
    if isinstance(scoring, str) and scoring in OF_ONE_CLASS:
        return f"{scoring} of {positive}"
    return scoring


def _first(scorers: list[Scorer]) -> Scorer:
    """The first scorer, which carries the others."""
    names = [scorer.name for scorer in scorers]
    if not names:
        raise ValueError("scoring=[] is empty; give at least one name; the first decides")
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(f"scoring={names} has {twice[0]!r} twice; list each once")
    alone = [scorer.name for scorer in scorers if "reference" in scorer.needs]
    if alone and len(names) > 1:
        raise ValueError(f"scoring={names}: {alone[0]!r} judges other rows than the others; it should stand alone")
    needs = frozenset().union(*(scorer.needs for scorer in scorers))
    return replace(scorers[0], needs=needs, others=tuple(scorers[1:]))


def _takes_one(function: Callable[..., Any]) -> bool:
    """Whether a function can be called with one argument; True where its signature is unknown."""
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        return False
    except ValueError:  # some functions written in C have no signature
        return True
    return True


def check_scorer(scorer: Scorer, empty: Evaluation) -> None:
    """Refuse a score that is not defined for such rows, before they are read again."""
    for one in scorer.each:
        if not one.by_name:
            continue  # a user's function, which may expect rows
        try:
            one.value(empty)
        except ValueError as error:
            means = [name for name in SCORERS if name.startswith(f"{one.name}_") and _defined(SCORERS[name], empty)]
            why = f"it is of one of two classes; use {' or '.join(map(repr, means))}" if means else error
            raise ValueError(f"scoring={one.name!r} is not for these rows: {why}") from error


def _defined(scorer: Scorer, empty: Evaluation) -> bool:
    """Whether the score is defined for such rows."""
    try:
        scorer.value(empty)
    except ValueError:
        return False
    return True

"""Estimators on the folds of a search: those of several reads, which choose by themselves, and any of scikit-learn."""

import time
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from streamnb.estimators.linear_nb_cv import LinearNBCV, judged_grid
from streamnb.estimators.trained_cv import TrainedClassifierCV, judged_reads
from streamnb.evaluation.evaluating import evaluate
from streamnb.evaluation.scorers import Scorer
from streamnb.searching.bayes import judged_at
from streamnb.searching.found import Judged

CHOOSING = TrainedClassifierCV, LinearNBCV


def named_models(models: Any) -> dict[str, Any]:
    """Estimators that choose on folds, by how they are written."""
    if not isinstance(models, list | tuple):
        raise TypeError(f"models={models!r} should be a list, such as models=[snb.SoftmaxRegressionCV()]")
    for model in models:
        if not isinstance(model, CHOOSING):
            raise TypeError(
                f"models has {model!r}; each should be an estimator that is judged on folds, such as "
                "snb.SoftmaxRegressionCV(); others={'name': model} takes any that has fit and predict"
            )
    named = {" ".join(repr(model).split()): model for model in models}
    if len(named) < len(models):
        raise ValueError("models has an estimator twice; each should be there once")
    return named


def check_others(others: Any) -> dict[str, Any]:
    """Estimators of any kind by name."""
    if not isinstance(others, Mapping):
        raise TypeError(f"others={others!r} should be a dict {{name: estimator}}")
    for name, one in others.items():
        if not (hasattr(one, "fit") and hasattr(one, "predict")) or isinstance(one, type):
            raise TypeError(f"others[{name!r}]={one!r} should be an estimator, an object with fit and predict")
    return {str(name): one for name, one in others.items()}


def judged_model(
    name: str, model: Any, given: tuple[Any, Any, Any], folding: dict[str, Any], how: dict[str, Any], scorer: Scorer
) -> tuple[Judged, Any]:
    """A model that chooses on the folds of the search, and is fitted to all rows then; `how` goes to its fit."""
    asked = {name: folding[name] for name in ("folds", "seed", "scoring")}
    asked |= {"repeats": 1} if isinstance(model, LinearNBCV) else {}
    model = clone(model).set_params(**asked)
    model.fit(*given, groups=folding["groups"], **how)
    if isinstance(model, LinearNBCV):
        report, scores = model.report_ + model.scoring_report_, judged_grid(model)[0]
        point, reads = scores.best(model.rule), 2
    else:
        report, (scores, point) = model.report_, judged_reads(model)
        reads = -1 if folding["n_rows"] is None else report.rows // folding["n_rows"]
    return judged_at(name, {}, scores, point, scorer, (reads, report.seconds)), model


def judged_other(name: str, estimator: Any, given: tuple[Any, Any, Any], numbers: np.ndarray, scorer: Scorer) -> Judged:
    """Any estimator, fitted anew without each fold, and judged on it."""
    X, y, weight = given
    began, scores = time.perf_counter(), {one.name: list[float]() for one in scorer.each}
    classes = None if y.ndim == 2 else np.unique(y)
    for fold in range(int(numbers.max()) + 1):
        rest, held = np.flatnonzero(numbers != fold), np.flatnonzero(numbers == fold)
        if classes is not None and len(np.unique(y[rest])) < len(classes):
            raise ValueError(
                f"a class has no rows outside fold {fold}; take fewer folds, or folds= that mix the classes"
            )
        model = fitted_other(estimator, (some(X, rest), y[rest], None if weight is None else weight[rest]))
        said, weights = _said(model, some(X, held), scorer.needs), None if weight is None else weight[held]
        judged = evaluate(y[held], classes=classes, sample_weight=weights, **said)
        for one in scorer.each:
            scores[one.name].append(float(one.value(judged)))
    seconds = time.perf_counter() - began
    return Judged(name, {}, {}, {each: np.array(values) for each, values in scores.items()}, -1, -1, seconds)


def fitted_other(estimator: Any, given: tuple[Any, Any, Any]) -> Any:
    """A copy, fitted to rows."""
    X, y, weight = given
    weighed = {} if weight is None else {"sample_weight": weight}
    if weighed and not has_fit_parameter(estimator, "sample_weight"):
        raise ValueError("sample_weight is given, and its fit takes none")
    return clone(estimator).fit(X, y, **weighed)


def in_memory(X: Any, y: Any) -> tuple[Any, Any]:
    """Rows and labels that any estimator takes, of which some can be picked."""
    if isinstance(X, list):
        X = np.asarray(X)
    if not (isinstance(X, np.ndarray) or hasattr(X, "iloc") or sp.issparse(X)) or y is None or isinstance(y, str):
        raise TypeError(
            f"others= needs rows and labels in memory, X a NumPy or SciPy array or a data frame, not {type(X).__name__}"
        )
    return sp.csr_array(X) if sp.issparse(X) else X, y.tocsr() if sp.issparse(y) else np.asarray(y)


def some(X: Any, rows: np.ndarray) -> Any:
    """Some of the rows."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def _said(model: Any, X: Any, needs: frozenset[str]) -> dict[str, Any]:
    """What a model says of rows, as far as it is asked."""
    said: dict[str, Any] = {"y_pred": model.predict(X)}
    if "probabilities" in needs and not hasattr(model, "predict_proba"):
        raise ValueError("a scoring needs probabilities, and it has none")
    if needs & {"probabilities", "ranking"} and hasattr(model, "predict_proba"):
        said["proba"] = model.predict_proba(X)
    if needs & {"ranking", "margin"} and hasattr(model, "decision_function"):
        said["scores"] = model.decision_function(X)
    if needs & {"ranking", "margin"} and not {"proba", "scores"} & said.keys():
        raise ValueError("a scoring needs scores, and it has neither decision_function nor predict_proba")
    return said

"""`compare_models`: differences between fitted models on the same rows, from one read of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from streamnb.core import arguments
from streamnb.core.types import PerRow, Rows
from streamnb.encoding.encoding import Encoding
from streamnb.encoding.learning import opened_through
from streamnb.encoding.opening import is_raw, opened_for
from streamnb.encoding.table_encoding import TableEncoding
from streamnb.encoding.text import TextEncoding
from streamnb.estimators.classifier import Classifier, model_and_rows
from streamnb.estimators.preparation import check_features
from streamnb.evaluation.differences import given_level
from streamnb.evaluation.intervals import check_groups
from streamnb.evaluation.judging import EvaluationOptions, needs_in_full
from streamnb.evaluation.paired import JudgedEstimator, JudgedModel, PairedTask
from streamnb.models.linear import LinearModel
from streamnb.passes.options import RunOptions
from streamnb.passes.run import run
from streamnb.rows.labels import open_columns
from streamnb.rows.opening import with_labels
from streamnb.rows.source import Source
from streamnb.searching.model_comparison import METRICS, ModelComparison

NamedModels = dict[str, JudgedModel | JudgedEstimator]


def compare_models(
    models: Mapping[str, Any],
    X: Rows,
    y: PerRow = None,
    *,
    baseline: str | None = None,
    metrics: Any = METRICS,
    interval: float = 0.95,
    groups: PerRow = None,
    sample_weight: PerRow = None,
    progress: bool | None = None,
    n_threads: int | None = None,
    client: Any = None,
) -> ModelComparison:
    """Judge fitted models on the same rows, in one read, and say how sure the differences between them are.

    Models are right and wrong about much the same rows, so their difference is known better than either value. This
    compares models that are fitted already, on rows that none of them has seen; `compare` fits naive Bayes of several
    families and penalties, and judges them by cross-validation.

    Parameters
    ----------
    models : dict of str to fitted classifiers
        Two or more, of the same classes; also classifiers of scikit-learn, which get rows of numbers block by block.
    X : (n_rows, n_features)
        Rows of any kind that the models take, such as a path or a stream; read once for all models.
    y : (n_rows,) or (n_rows, n_labels)
        Labels, or the name of a column of X. A label that the models do not know counts as a wrong prediction.
    baseline : str, optional
        The model that the others are compared with; by default the first.
    metrics : names out of "accuracy", "log_loss", "brier", "roc_auc"
        What is compared; metrics that a model or the baseline lacks are left out. P-values are corrected for all of
        them, so name few if one of them decides.
    interval : float
        Confidence of each interval, between 0 and 1.
    groups : (n_rows,) or name of a column, optional
        Labels of groups, such as patients, whose rows are not independent.
    sample_weight : (n_rows,), optional
        Counts as frequency.
    progress, n_threads, client
        As for `scan`.

    Returns
    -------
    ModelComparison
        Prints as a table; `differences` is a data frame, `evaluations` has the `Evaluation` of each model.

    Raises
    ------
    ValueError, TypeError
        Fewer than two models, models of different classes, groups of another length, an interval outside (0, 1).
    sklearn.exceptions.NotFittedError
        A model is not fitted.

    Notes
    -----
    With d the difference of a row's values, W the weight of all rows:

    - accuracy: ``(won - lost) / W``, from the weight of the rows that only one of two models gets right; interval by
      Agresti and Min (2005), p-value by McNemar (1947), exact for fewer than 25 such rows;
    - log loss and Brier score: the mean of d and Student's t, from the sums of d and d^2;
    - ROC AUC, for more classes the mean over classes: DeLong, DeLong and Clarke-Pearson (1988), exact up to 10,000
      rows. Beyond that, areas come from histograms, standard errors from a sample of 10,000 rows, with some of each
      class, and intervals are wider by the error bound of the areas.

    P-values are corrected by Holm (1979) for all tests in the table; each interval stands alone.

    Examples
    --------
    >>> import streamnb as snb
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> models = {family: snb.LinearNB(family).fit(X[:900], y[:900]) for family in ("poisson", "multinomial")}
    >>> compared = snb.compare_models(models, X[900:], y[900:], metrics="accuracy")
    >>> compared.differences[["model", "versus", "difference", "low", "high"]].round(3).values.tolist()
    [['multinomial', 'poisson', 0.003, -0.003, 0.009]]
    """
    named = _named(models, baseline)
    metrics = _metrics(metrics)
    level = given_level(interval)
    judged = {name: _judged(name, model) for name, model in named.items()}
    classes, multilabel = _classes_of_all(named, judged)
    X, columns = EvaluationOptions(level, groups).taken_from(X, y, names=_features(named))
    X, y = with_labels(X, y)
    rows, judged = _opened(named, judged, X, y, sample_weight)
    rows, _ = columns.opened(rows)
    options = RunOptions(progress, n_threads, client=client)
    sums, report = run(PairedTask(judged, classes, multilabel, level, groups is not None), rows, options)
    if groups is not None:
        check_groups(sums.evaluations[0])
    return ModelComparison.of(list(judged), sums, metrics, report)


# ---- models ----------------------------------------------------------------------------------------------------------


def _named(models: Any, baseline: str | None) -> dict[str, Any]:
    """The models by name, the baseline first."""
    if not isinstance(models, Mapping):
        raise TypeError(f"models is of type {type(models).__name__}; it should be a dict of names and fitted models")
    if len(models) < 2:
        raise ValueError(f"models has {len(models) or 'no'} model; a comparison takes two or more (snb.evaluate: one)")
    for name in models:
        if not isinstance(name, str):
            raise TypeError(f"models has the key {name!r}; names of models should be strings")
    first = next(iter(models)) if baseline is None else arguments.one_of("baseline", baseline, list(models))
    return {first: models[first], **models}


def _metrics(metrics: Any) -> list[str]:
    if not isinstance(metrics, Iterable):
        raise TypeError(f"metrics={metrics!r} should be names out of {', '.join(map(repr, METRICS))}")
    given = [metrics] if isinstance(metrics, str) else list(metrics)
    if not given:
        raise ValueError(f"metrics is empty; name at least one of {', '.join(map(repr, METRICS))}")
    for name in given:
        arguments.one_of("metrics", name, METRICS)
    return [name for name in METRICS if name in given]


def _judged(name: str, model: Any) -> JudgedModel | JudgedEstimator:
    """A model as the pass takes it."""
    nothing = Source(open_columns(None, None, None, False))  # whose changes stay when other rows take its place
    if isinstance(model, type):
        raise TypeError(f"models[{name!r}] is the class {model.__name__}; give a model of it that is fitted")
    if isinstance(model, LinearModel):
        rows = opened_through(model.options.step, nothing, labelled=False)
        return JudgedModel(model, needs_in_full(model, model), rows)
    if isinstance(model, Classifier):
        try:
            linear, rows = model_and_rows(model, nothing, labelled=False)
        except NotFittedError as error:
            raise NotFittedError(f"models[{name!r}]: {error}") from None
        return JudgedModel(linear, needs_in_full(model, linear), rows)
    if not (hasattr(model, "predict") and hasattr(model, "classes_")):
        raise TypeError(f"models[{name!r}]={model!r} should be a fitted classifier, with classes_ and predict")
    return JudgedEstimator.of(model)


def _classes_of_all(models: Mapping[str, Any], judged: NamedModels) -> tuple[np.ndarray, bool]:
    """The classes of all models, and whether rows have several of them."""
    found = {
        name: (one.model.classes_, one.model.scheme.multilabel)
        if isinstance(one, JudgedModel)
        else (np.asarray(models[name].classes_), False)
        for name, one in judged.items()
    }
    (first, (classes, multilabel)), *others = found.items()
    for name, (own, several) in others:
        if several != multilabel:
            which = (first, name) if multilabel else (name, first)
            raise ValueError(f"models[{which[0]!r}] predicts sets of labels and models[{which[1]!r}] one label a row")
        odd = sorted(set(classes.tolist()) ^ set(own.tolist()), key=str)
        if odd:
            whose = first if odd[0] in classes.tolist() else name
            raise ValueError(
                f"models[{first!r}] and models[{name!r}] have different classes: {odd[0]!r} is one of {whose!r} alone; "
                "compare models that were fitted to the same classes"
            )
    return classes, multilabel


def _features(models: Mapping[str, Any]) -> set[Any]:
    """The names of the columns that any of the models was fitted with."""
    found: set[Any] = set()
    for model in models.values():
        names = getattr(getattr(model, "encoding_", None), "columns", None)
        found |= {*(getattr(model, "feature_names_in_", ()) if names is None else names)}
    return found


# ---- rows ------------------------------------------------------------------------------------------------------------


def _opened(models: Mapping[str, Any], judged: NamedModels, X: Any, *beside: Any) -> tuple[Source, NamedModels]:
    """The rows, opened once for all models, and the models with what makes their columns of raw rows."""
    encodings = {name: getattr(model, "encoding_", None) for name, model in models.items()}
    given = [model for model in models.values() if isinstance(model, Classifier)]
    layers = {getattr(model, "layer_", None) for model in given}
    if len(layers) > 1:
        raise ValueError(f"the models were fitted on different layers, {sorted(map(str, layers))}; give models of one")
    distinct = _distinct(encodings) if _raw(X, encodings) else {}
    if len(set(map(id, distinct.values()))) > 1:
        return _raw_rows(distinct, X, *beside), {
            name: replace(one, encode=_step(distinct[name])) for name, one in judged.items()
        }

    def look(columns: Any) -> None:
        for model in given:
            check_features(model, columns)

    encoding = next((encoding for encoding in encodings.values() if encoding is not None), None)
    return opened_for(encoding, X, *beside, look=look, layer=next(iter(layers), None)), judged


def _raw(X: Any, encodings: Mapping[str, Encoding | None]) -> bool:
    """Whether the models make columns of X; refuse X of which only some do."""
    if isinstance(X, Source):
        makes = {name: X.encoding is not None and own is not None for name, own in encodings.items()}
        raw = X.encoding is not None
    else:
        makes = {name: own is not None and own.takes(X) for name, own in encodings.items()}
        raw = is_raw(X) or any(makes.values())
    if raw and not all(makes.values()):
        name = next(name for name, made in makes.items() if not made)
        raise ValueError(
            f"models[{name!r}] was fitted on numbers, and X holds texts or a table, of which the others make columns; "
            "fit all models on such rows, or all on matrices"
        )
    return raw


def _distinct(encodings: Mapping[str, Encoding | None]) -> dict[str, Encoding]:
    """The encoding of each model, one object for all that make the same columns."""
    found: dict[str, Encoding] = {}
    for name, own in encodings.items():
        if own is not None:
            found[name] = next((one for one in found.values() if not one.differs(own)), own)
    return found


def _step(encoding: Any) -> Any:
    """Makes the columns of raw rows."""
    return encoding.ngrams if isinstance(encoding, TextEncoding) else encoding


def _raw_rows(encodings: Mapping[str, Any], X: Any, *beside: Any) -> Source:
    """The raw rows that several encodings take."""
    first, *others = encodings.values()
    if all(isinstance(one, TextEncoding) for one in encodings.values()):
        fields = {one.text for one in encodings.values()}
        if len(fields) > 1:
            raise ValueError(
                f"the models were fitted on the fields {sorted(map(str, fields))} of X; compare models of one"
            )
    elif all(isinstance(one, TableEncoding) for one in encodings.values()) and not isinstance(X, Source):
        for other in others:
            first = first.with_columns_of(other)
    else:
        raise ValueError(
            "the models make different columns of X, which are made when it is opened; give its path, or the table "
            "or texts themselves"
        )
    rows: Any = opened_for(first, X, *beside)
    return rows.with_step(None, None, "rows as they are")

"""`compare_models`: differences between fitted models on the same rows, from one read of them, with intervals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import stats
from sklearn.exceptions import NotFittedError

from streamnb.core import arguments, frames
from streamnb.core.arguments import PerRow, Rows
from streamnb.core.frames import pandas_for
from streamnb.encoding.encoding import Encoding
from streamnb.encoding.learning import opened_through
from streamnb.encoding.opening import holds_raw_texts, is_raw, opened_for
from streamnb.encoding.table_encoding import TableEncoding
from streamnb.encoding.text import TextEncoding
from streamnb.estimators.classifier import Classifier, model_and_rows
from streamnb.estimators.preparation import check_features, names_of
from streamnb.evaluation.breakdowns import LESS_IS_BETTER
from streamnb.evaluation.estimates import clustered, per_weight
from streamnb.evaluation.evaluation import Evaluation
from streamnb.evaluation.intervals import added_by_buckets, added_by_rows, check_groups, described
from streamnb.evaluation.judging import (
    EvaluationOptions,
    Evaluations,
    JudgedEstimator,
    JudgedModel,
    JudgingTask,
    needs_in_full,
)
from streamnb.evaluation.tallied import decisions, given_level, losses
from streamnb.models.linear import LinearModel
from streamnb.passes.contract import Report, RunOptions
from streamnb.passes.run import run
from streamnb.reporting.forest import DifferencesDisplay
from streamnb.rows.labels import open_columns
from streamnb.rows.opening import with_labels
from streamnb.rows.source import Source
from streamnb.rows.table_opening import is_table
from streamnb.stats.row_means import RowMeans
from streamnb.stats.row_sample import SampledRows

METRICS = "accuracy", "log_loss", "brier", "roc_auc"
NamedModels = dict[str, JudgedModel | JudgedEstimator]


@dataclass(frozen=True, eq=False, repr=False)
class ModelComparison:
    """Differences of models from a baseline on the same rows; prints as a table.

    Attributes
    ----------
    evaluations : dict of str to Evaluation
        The evaluation of each model, the baseline first.
    found : list of (model, metric, Difference)
    report : Report
        Of the read.
    notes : list of str
        Remarks on the intervals.

    Examples
    --------
    >>> import streamnb as snb
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> models = {"bayes": snb.LinearNB("gaussian"), "bins": snb.LinearNB("bernoulli", transform=snb.Bins(8))}
    >>> models = {name: model.fit(X[::2], y[::2]) for name, model in models.items()}
    >>> snb.compare_models(models, X[1::2], y[1::2], metrics=["accuracy", "roc_auc"])
    Differences from 'bayes' on the same 284 rows, 95 % intervals of independent rows
                    difference      low     high  p (Holm)
    bins: accuracy     +0.0106  -0.0231  +0.0440    0.6776
    bins: roc_auc      -0.0031  -0.0077  +0.0015    0.3738
    P-values are corrected for 2 comparisons (Holm); each interval stands alone.
    """

    evaluations: dict[str, Evaluation]
    found: list[tuple[str, str, Difference]]
    report: Report
    notes: list[str]

    @classmethod
    def of(cls, task: JudgingTask, total: Evaluations, metrics: Sequence[str], report: Report) -> ModelComparison:
        """The differences that follow from the total of a pass."""
        differences, names = Differences(task, total), [*task.models]
        found = [
            (name, metric, difference)
            for name in names[1:]
            for metric in metrics
            if (difference := differences.of(metric, name)) is not None
        ]
        if not found:
            raise ValueError(f"metrics={list(metrics)}: no model has any of these that the baseline {names[0]!r} has")
        notes = []
        if differences.n_sampled and any(metric == "roc_auc" for _, metric, _ in found):
            notes = [
                f"roc_auc: standard errors are from a sample of {differences.n_sampled:,} rows, and intervals wider by "
                "the error bound of the areas."
            ]
        return cls(dict(zip(names, total.evaluations, strict=True)), found, report, notes)

    @property
    def baseline(self) -> str:
        """The model that the others are compared with."""
        return next(iter(self.evaluations))

    @property
    def p_adjusted(self) -> np.ndarray:
        """P-values corrected by Holm for all tests here, (n,)."""
        return holm(np.array([difference.p_value for _, _, difference in self.found]))

    @property
    def differences(self) -> Any:
        """A data frame: model, versus, metric, difference (model less baseline), low, high, p_value and p_adjusted."""
        rows = [
            (name, self.baseline, metric, *difference, adjusted)
            for (name, metric, difference), adjusted in zip(self.found, self.p_adjusted.tolist(), strict=True)
        ]
        columns = ["model", "versus", "metric", "difference", "low", "high", "p_value", "p_adjusted"]
        return pandas_for("differences").DataFrame(rows, columns=columns)

    def plot(self, metric: str | None = None, ax: Any = None, **kwargs: Any) -> DifferencesDisplay:
        """Draw the differences of one metric, the first by default, see `DifferencesDisplay`.

        Parameters
        ----------
        metric : str, optional
        ax : matplotlib axes, optional
        **kwargs
            Properties of the points.
        """
        metric = self.found[0][1] if metric is None else metric
        return DifferencesDisplay.from_differences(self.differences, metric=metric, ax=ax, **kwargs)

    def __repr__(self) -> str:
        return "\n".join([self._caption(), *frames.aligned(self._table()), *self._notes()])

    def _repr_html_(self) -> str:
        return frames.html(self._table(), self._notes(), self._caption())

    def _caption(self) -> str:
        first = self.evaluations[self.baseline]
        return f"Differences from {self.baseline!r} on the same {first.n_rows:,} rows, {described(first)}"

    def _table(self) -> list[list[str]]:
        """Cells, header first."""
        table = [["", "difference", "low", "high", "p (Holm)" if len(self.found) > 1 else "p"]]
        for (name, metric, difference), p_value in zip(self.found, self.p_adjusted.tolist(), strict=True):
            numbers = ["nan" if np.isnan(number) else f"{number:+.4f}" for number in difference[:3]]
            table.append([f"{name}: {metric}", *numbers, "< .0001" if p_value < 1e-4 else f"{p_value:.4f}"])
        return table

    def _notes(self) -> list[str]:
        notes = list(self.notes)
        lower = [metric for metric in LESS_IS_BETTER if any(metric == compared for _, compared, _ in self.found)]
        if lower:
            notes.insert(0, f"Lower is better: {', '.join(lower)}.")
        if len(self.found) > 1:
            notes.append(
                f"P-values are corrected for {len(self.found)} comparisons (Holm); each interval stands alone."
            )
        return notes


# ---- the comparison --------------------------------------------------------------------------------------------------


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
    positive: Any = None,
    progress: bool | None = None,
    n_threads: int | None = None,
    client: Any = None,
) -> ModelComparison:
    """Evaluate fitted models on the same rows, in one read, with confidence intervals for their differences.

    Models tend to be wrong about the same rows, so their difference is known more precisely than either score. The
    models must be fitted already, on other rows; to cross-validate naive Bayes under several families and penalties,
    use `compare`.

    Parameters
    ----------
    models : dict of str to fitted classifiers, or a list
        Two or more with the same classes. Classifiers of scikit-learn are accepted, and receive numeric rows block by
        block. Those of a list are named "1 LinearNB", "2 SoftmaxRegression" and the like.
    X : (n_rows, n_features)
        Rows of any kind that the models take, such as a path or a stream; read once for all models.
    y : (n_rows,) or (n_rows, n_labels)
        Labels, or the name of a column of X. Rows with labels that the models do not know are left out.
    baseline : str, optional
        The model that the others are compared with; by default the first.
    metrics : names out of "accuracy", "log_loss", "brier", "roc_auc"
        Metrics to compare; those that a model or the baseline lacks are left out. P-values are corrected for all of
        them, so name only the ones that matter.
    interval : float
        Confidence of each interval, between 0 and 1.
    groups : (n_rows,) or name of a column, optional
        Labels of groups, such as patients, whose rows are not independent.
    sample_weight : (n_rows,), optional
        Counts as frequency.
    positive : label, optional
        Of two classes, the one that precision, recall and the like in `evaluations` refer to, as in `snb.evaluate`.
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
    X, columns = EvaluationOptions(level, groups).taken_from(X, y, sample_weight, names=_features(named))
    X, y = with_labels(X, y)
    rows, judged = _opened(named, judged, X, y, sample_weight)
    rows, _ = columns.opened(rows)
    options = RunOptions(progress, n_threads, client=client)
    task = JudgingTask(judged, classes, multilabel, level, groups is not None, title="comparing")
    total, report = run(task, rows, options)
    evaluations = [one.with_positive(positive) for one in total.evaluations]
    total = replace(total, evaluations=evaluations)
    evaluations[0].warn_of_unknown()
    if groups is not None:
        check_groups(evaluations[0])
    return ModelComparison.of(task, total, metrics, report)


# ---- models ----------------------------------------------------------------------------------------------------------


def _named(models: Any, baseline: str | None) -> dict[str, Any]:
    """The models by name, the baseline first."""
    if isinstance(models, list | tuple):
        models = {f"{k} {type(model).__name__}": model for k, model in enumerate(models, 1)}
    if not isinstance(models, Mapping):
        raise TypeError(f"models is of type {type(models).__name__}; it should be a list or dict of fitted models")
    if len(models) < 2:
        raise ValueError(f"models has {len(models) or 'no'} model; a comparison takes two or more (snb.evaluate: one)")
    for name in models:
        if not isinstance(name, str):
            raise TypeError(f"models has the key {name!r}; names of models should be strings")
    first = next(iter(models)) if baseline is None else arguments.one_of("baseline", baseline, list(models))
    return {first: models[first], **models}


def _metrics(metrics: Any) -> list[str]:
    """The names of metrics, checked, in the order of `METRICS`."""
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
    if hasattr(type(model), "best_score_") and not hasattr(model, "predict"):
        raise TypeError(f"models[{name!r}]: a {type(model).__name__} is of several models; give one, such as its best_")
    if not (hasattr(model, "predict") and hasattr(model, "classes_")):
        raise TypeError(
            f"models[{name!r}]={model!r} should be a fitted classifier, with classes_ and predict; of regressions, use "
            "evaluate(X, y, interval=0.95) of each, or snb.search(X, y, models=[..]), which has them judged on folds"
        )
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
    for name, (other_classes, several) in others:
        if several != multilabel:
            which = (first, name) if multilabel else (name, first)
            raise ValueError(f"models[{which[0]!r}] predicts sets of labels and models[{which[1]!r}] one label a row")
        odd = sorted(set(classes.tolist()) ^ set(other_classes.tolist()), key=str)
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
    names = {name: names_of(model) for name, model in models.items()}
    if is_table(X) and any(isinstance(encoding, TableEncoding) for encoding in encodings.values()):
        of_numbers = {name: TableEncoding.of_numbers(columns) for name, columns in names.items() if columns is not None}
        encodings = {name: encoding or of_numbers.get(name) for name, encoding in encodings.items()}
    given = [model for model in models.values() if isinstance(model, Classifier)]
    layers = {getattr(model, "layer_", None) for model in given}
    if len(layers) > 1:
        raise ValueError(f"the models were fitted on different layers, {sorted(map(str, layers))}; give models of one")
    distinct: dict[str, Any] = {}  # one object for all models that make the same columns
    if _raw(X, encodings, all(columns is None for columns in names.values())):
        for name, encoding in encodings.items():
            distinct[name] = next((one for one in distinct.values() if not one.differs(encoding)), encoding)
    if len(set(map(id, distinct.values()))) > 1:
        steps: dict[str, Any] = {
            name: one.ngrams if isinstance(one, TextEncoding) else one for name, one in distinct.items()
        }
        return _raw_rows(distinct, X, *beside), {name: replace(one, encode=steps[name]) for name, one in judged.items()}

    def look(columns: Any) -> None:
        for model in given:
            check_features(model, columns)

    encoding = next((encoding for encoding in encodings.values() if encoding is not None), None)
    named = next((columns for columns in names.values() if columns is not None), None)
    return opened_for(encoding, X, *beside, look=look, layer=next(iter(layers), None), names=named), judged


def _raw(X: Any, encodings: Mapping[str, Encoding | None], nameless: bool) -> bool:
    """Whether the models make columns of X; refuse X of which only some do."""
    if isinstance(X, Source):
        makes = {name: X.encoding is not None and encoding is not None for name, encoding in encodings.items()}
        raw = X.encoding is not None
    else:
        makes = {name: encoding is not None and encoding.takes(X) for name, encoding in encodings.items()}
        raw = (is_raw(X) and (nameless or holds_raw_texts(X))) or any(makes.values())
    if raw and not all(makes.values()):
        name = next(name for name, made in makes.items() if not made)
        raise ValueError(
            f"models[{name!r}] was fitted on numbers, and X holds texts or a table, of which the others make columns; "
            "fit all models on such rows, or all on matrices"
        )
    return raw


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


# ---- differences on the same rows ------------------------------------------------------------------------------------

_ROUNDED = 1e-9  # relative rounding error of a sum of weights
FEW_DISCORDANT = 25  # rows that exactly one of two models predicts correctly: fewer are tested exactly


class Difference(NamedTuple):
    """The difference of a metric, its interval, and the p-value of no difference."""

    difference: float
    low: float
    high: float
    p_value: float


def of_decisions(won: float, lost: float, weight: float, level: float) -> Difference:
    """Difference of accuracy, ``(won - lost) / W``, from the weights of rows that only one of the models got right.

    The interval is Wald's after 1/2 was added to the four cells of the table of both models' hits and misses (Agresti
    and Min 2005). The p-value is McNemar's (1947): ``(won - lost)^2 / (won + lost)`` is chi-squared with one degree of
    freedom; of fewer than 25 rows it is exact, by the binomial distribution.
    """
    if not weight > 0.0:
        return Difference(np.nan, np.nan, np.nan, np.nan)
    discordant, all_rows = won + lost + 1.0, weight + 2.0
    middle = (won - lost) / all_rows
    half = stats.norm.ppf(0.5 + level / 2.0) * np.sqrt(discordant / all_rows - middle**2) / np.sqrt(all_rows)
    return Difference((won - lost) / weight, max(middle - half, -1.0), min(middle + half, 1.0), mcnemar(won, lost))


def mcnemar(won: float, lost: float) -> float:
    """The p-value of McNemar's test; see `of_decisions`."""
    n = won + lost
    if n == 0.0:
        return 1.0
    if n < FEW_DISCORDANT and won == int(won) and lost == int(lost):
        return float(stats.binomtest(int(won), int(n)).pvalue)
    return float(stats.chi2.sf((won - lost) ** 2 / n, 1))


def of_means(total: float, squares: float, weight: float, level: float) -> Difference:
    """Mean of paired differences, from their sum and the sum of their squares, by Student's t."""
    if not weight > 1.0:
        return Difference(total / weight if weight > 0.0 else np.nan, np.nan, np.nan, np.nan)
    mean = total / weight
    variance = max(squares - total * mean, 0.0) / (weight - 1.0)
    return about(mean, np.sqrt(variance / weight), level, weight - 1.0)


def about(difference: float, error: float, level: float, freedom: float = np.inf, bound: float = 0.0) -> Difference:
    """A difference with this standard error, and an interval wider by `bound`, of what else it may be wrong by."""
    if np.isnan(difference) or np.isnan(error):
        return Difference(difference, np.nan, np.nan, np.nan)
    half = stats.t.ppf(0.5 + level / 2.0, freedom) * error + bound
    beyond = max(abs(difference) - bound, 0.0)
    p_value = 2.0 * stats.t.sf(beyond / error, freedom) if error > 0.0 else float(beyond == 0.0)
    return Difference(difference, difference - half, difference + half, float(p_value))


def holm(p_values: np.ndarray) -> np.ndarray:
    """P-values of several tests, corrected so that any of them is below alpha by chance with probability alpha at most.

    The i-th smallest of m is multiplied by ``m - i + 1``, and is not smaller than those before it (Holm 1979). NaN
    stays NaN and is no test.
    """
    p_values = np.asarray(p_values, np.float64)
    adjusted, tests = np.full(len(p_values), np.nan), np.flatnonzero(~np.isnan(p_values))
    order = tests[np.argsort(p_values[tests], kind="stable")]
    adjusted[order] = np.minimum(np.maximum.accumulate(np.arange(len(order), 0, -1) * p_values[order]), 1.0)
    return adjusted


# ---- two models of a pass --------------------------------------------------------------------------------------------


class Differences:
    """Differences of each model from the first, from the sums of a pass; None where one of the two lacks the metric.

    With groups, rows are independent between groups alone: differences are summed in each bucket of groups, and their
    variance is that of the buckets, with Student's t. Of fractional weights, as many rows count as tell as much.
    """

    def __init__(self, task: JudgingTask, total: Evaluations):
        self._names, self._ranked, self._paired = [*task.models], task.ranked, task.paired
        self._sums, self._sample = total.differences, total.sample
        self._of = dict(zip(task.models, total.evaluations, strict=True))
        self._first, *_ = total.evaluations
        assert self._first.level is not None
        self._level, self._rate = self._first.level, per_weight(self._first)

    def of(self, metric: str, name: str) -> Difference | None:
        """The difference of one metric."""
        if metric == "roc_auc":
            return self._area(name)
        if (name, metric) not in self._paired:
            return None
        right = metric == "accuracy"
        if self._first.is_grouped:
            one, other = (decisions(each).means if right else losses(each) for each in (self._first, self._of[name]))
            return self._clustered(one, other, "right" if right else metric)
        places = [self._sums.place(f"{metric} {name}", power) for power in (1, 2)]
        total, squares, weight = (self._rate * self._sums.sums[0, [*places, -1]]).tolist()
        if right:  # each difference is 1, -1 or 0
            return of_decisions(0.5 * (squares + total), 0.5 * (squares - total), weight, self._level)
        return of_means(total, squares, weight, self._level)

    def _clustered(self, one: RowMeans, other: RowMeans, value: str) -> Difference:
        """The difference of the means of a value of each row, by the sums of buckets."""
        at, weight = one.place(value), one.sums[:, -1]
        differences = other.sums[:, at] - one.sums[:, at]
        mean = np.nan
        if weight.any():
            mean = float(differences.sum() / weight.sum())
        return self._by_buckets(mean, (differences - mean * weight) / weight.sum())

    def _by_buckets(self, difference: float, added: np.ndarray, bound: float = 0.0) -> Difference:
        variance, n, freedom = clustered(added)
        error = float(np.sqrt(variance)) if n > 1.0 else 0.0 if not added.any() else np.nan
        return about(difference, error, self._level, max(float(freedom), 1.0), bound)

    def _area(self, name: str) -> Difference | None:
        if not {self._names[0], name} <= {*self._ranked}:
            return None
        one, other = self._first, self._of[name]
        difference, bound = other.roc_auc() - one.roc_auc(), one.roc_auc_error + other.roc_auc_error
        if self._first.is_grouped:
            return self._by_buckets(difference, added_by_buckets(other) - added_by_buckets(one), bound)
        if np.isnan(difference):
            return about(difference, np.nan, self._level)
        assert self._sample is not None
        rows = self._sample.drawn()
        stands_for = rows.weight * (self._sums.weight / rows.weight.sum())
        added = self._added(name, rows) - self._added(self._names[0], rows)
        return about(difference, float(np.sqrt(stands_for @ added**2 / self._rate)), self._level, bound=bound)

    def _added(self, name: str, rows: SampledRows) -> np.ndarray:
        """What each sampled row adds to the area of a model."""
        at, n_columns = self._ranked.index(name), rows.X.shape[1] // len(self._ranked)
        scores = rows.X[:, at * n_columns : (at + 1) * n_columns]
        return added_by_rows(self._of[name], rows.labels.toarray(), scores)

    @property
    def n_sampled(self) -> int:
        """Rows of the sample that areas are compared by; 0 where all rows are."""
        weight = self._sums.weight
        if self._first.is_grouped or not self._ranked or not weight:
            return 0
        assert self._sample is not None
        rows = self._sample.drawn(weighed=False)
        if rows.weight.sum() >= weight * (1.0 - _ROUNDED):
            return 0
        return len(rows.key)

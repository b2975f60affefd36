"""Classifier: the base class of all classifiers, with predictions, calibration, explanations and files."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from operator import methodcaller
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if

from streamnb.core import arguments, guesses
from streamnb.core.arguments import PerRow, Rows
from streamnb.estimators import cells, explained, exporting, preparation, taxonomy, unknown
from streamnb.estimators.parameters import Check, check_each
from streamnb.estimators.preparation import Preparation, StepRequest
from streamnb.evaluation.evaluation import Evaluation
from streamnb.evaluation.judging import EvaluationOptions, judged, needs_in_full
from streamnb.evaluation.slices import MIN_ROWS
from streamnb.models.calibrating import METHODS, calibrated
from streamnb.models.linear import LinearModel
from streamnb.problem.family import Family
from streamnb.rows.preparing import LearnedStep
from streamnb.rows.source import Source


def recalibrate(estimator: Classifier, calibration: Callable[[LinearModel], LinearModel]) -> None:
    """Replace the model of a fitted estimator by a calibrated one."""
    estimator._set_model(calibration(estimator._fitted_model()), calibrated=True)
    estimator.recalibrated_ = True


class Classifier(ClassifierMixin, BaseEstimator):
    """A classifier that decides by one model; a subclass defines how the model is learned.

    Methods that only need the model are functions in other modules, listed below.

    Attributes
    ----------
    meta_ : dict or None
        The `meta` given to `save`.
    unknown_below_ : float or None
        The threshold that `choose_unknown_below` has chosen.
    recalibrated_ : bool or None
        True if the probabilities were calibrated after the fit.
    """

    meta_: dict[str, Any] | None = None
    unknown_below_: float | None = None
    recalibrated_: bool | None = None
    _checks: ClassVar[Mapping[str, Check]] = {}  # of single parameters
    _fixed: ClassVar[Mapping[str, Any]] = {}  # values of parameters that the constructor lacks but methods use
    _preparation = Preparation()
    _model: LinearModel

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        guesses.explain_keywords(cls)

    def __getattr__(self, name: str) -> Any:
        return guesses.expected_attribute(self, name)

    # ---- defined by a subclass ---------------------------------------------------------------------------------------

    def _check_params(self) -> None:
        """Raise for parameters that are wrong for any data."""
        check_each(self, self._checks)

    def _step_request(self) -> StepRequest:
        """The preparation step that the parameters request to be learned from the rows."""
        return StepRequest(type(self).__name__)

    def _fitted_model(self) -> LinearModel:
        """The fitted model; raises where there is none."""
        raise NotImplementedError

    def _explained(self) -> LinearModel:
        """The model for explanations by feature."""
        return self._fitted_model()

    def _gives_probabilities(self) -> bool:
        """Whether the parameters allow probabilities."""
        return True

    def _calibrates(self) -> bool:
        """Whether `calibrate` is available."""
        return False

    def _set_model(self, model: LinearModel, calibrated: bool = False) -> None:
        """Replace the model, by a calibrated one or by one that decides otherwise."""
        raise NotImplementedError

    # ---- rows --------------------------------------------------------------------------------------------------------

    _opened = preparation.opened_as_fitted
    encoding_ = preparation.encoding
    label_ = preparation.label
    layer_ = preparation.layer

    @property
    def _step(self) -> LearnedStep | None:
        return self._preparation.step

    @property
    def column_names_(self) -> np.ndarray:
        """Names of the columns of the weights, where bins or categories replace the features of X."""
        names = self._preparation.column_names(preparation.names_of(self))
        if names is None:
            raise AttributeError(f"{type(self).__name__} has no 'column_names_': no columns are made of those of X")
        return names

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters of the constructor; `deep` has no effect, as none of them is an estimator to fit."""
        return {name: vars(self)[name] for name in self._get_param_names()}

    def _option(self, name: str) -> Any:
        """A parameter, or the fixed value of one that the constructor lacks."""
        return vars(self)[name] if name in vars(self) else self._fixed[name]

    # ---- predictions -------------------------------------------------------------------------------------------------

    def predict(self, X: Rows, *, out: Any = None) -> Any:
        """Labels, (n_rows,), or a 0/1 indicator for a 2-D y.

        The result is of the kind of X: NumPy, or lazy Dask for Dask. Blocks are written to `out`, if given.
        """
        model, rows = self._ready(X)
        return model.predict(rows, out=out)

    @available_if(methodcaller("_gives_probabilities"))
    def predict_proba(self, X: Rows, *, out: Any = None) -> Any:
        """Class probabilities, (n_rows, K); for a 2-D y those of each label."""
        model, rows = self._ready(X)
        return model.predict_proba(rows, out=out)

    @available_if(methodcaller("_gives_probabilities"))
    def predict_log_proba(self, X: Rows, *, out: Any = None) -> Any:
        """Logs of the class probabilities, (n_rows, K)."""
        model, rows = self._ready(X)
        return model.predict_log_proba(rows, out=out)

    def score(self, X: Rows, y: PerRow = None, sample_weight: PerRow = None) -> float:
        """Accuracy; y may also be the name of an array beside X or of a column of X, as in `fit`."""
        model, rows = self._ready(X, y, sample_weight, labelled=True)
        return model.score(rows)

    def evaluate(
        self,
        X: Rows,
        y: PerRow = None,
        sample_weight: PerRow = None,
        *,
        interval: float | None = None,
        groups: PerRow = None,
        by: Any = None,
        min_rows: int = MIN_ROWS,
    ) -> Evaluation:
        """All metrics of the model on labelled rows, from one read of them.

        Parameters
        ----------
        X, y, sample_weight
            As in `score`: y may be the name of an array beside X or of a column of X. Rows with a label that the model
            does not know count as errors.
        interval : float, optional
            Confidence of intervals, such as 0.95, which `Evaluation.interval` gives for each metric.
        groups : (n_rows,) labels, or the name of an array beside X or of a column of X, optional
            Rows of one group, such as those of a patient, are not independent; intervals take that into account.
        by : str, (n_rows,), a list of str, or a dict, optional
            Slices of the rows by the values of one or several columns, which need not be features: the names of columns
            of X, of arrays beside X, or arrays; `snb.evaluate` says more. `Evaluation.slices` has their metrics.
        min_rows : int
            Slices with fewer rows, if there are several, are put together as "other" in the table.

        Returns
        -------
        Evaluation
            As from `snb.evaluate` with the results of `predict`, `decision_function` and `predict_proba`.
        """
        self._fitted_model()  # raises where there is none
        names = preparation.names_of(self)
        options = EvaluationOptions(interval, groups, by, min_rows)
        X, options = options.taken_from(X, y, sample_weight, self._preparation.encoding, names)
        model, rows = self._ready(X, y, sample_weight, labelled=True)
        return judged(model, rows, None, None, needs_in_full(self, model), options)

    def _ready(self, X: Any, *beside: Any, labelled: bool = False) -> tuple[LinearModel, Source]:
        """The model, and the rows with their labels and weights, checked against it."""
        model = self._fitted_model()
        return model, self._opened(X, *beside, labelled=labelled)

    @available_if(methodcaller("_calibrates"))
    def calibrate(self, X: Rows, y: PerRow = None, sample_weight: PerRow = None, *, method: str = "sigmoid") -> Self:
        """Calibrate the probabilities on rows that the model has not learned from; the model is not refitted.

        Naive Bayes counts shared evidence once per feature and is therefore overconfident. Scores become
        ``t s_k + b_k`` with the least log loss on these rows: for the softmax of ``joint`` and ``reference`` with one
        factor t (1 / temperature) for all classes and biases of sum 0 (Guo et al. 2017); for two classes, ``ovr`` and
        the labels of a 2-D y by Platt's method (1999), with t and b for each row of `coef_`. As this is linear, it
        becomes part of `coef_` and `intercept_`. Isotonic regression (Zadrozny and Elkan 2002) gives increasing curves
        of the log-odds of each class, or of the score of each row of `coef_`, which does not change; it needs some
        thousand rows. Matrix scaling (Guo et al. 2017) gives each class a weighted sum of the scores of all classes,
        ``s A + b``, so that it can also correct decisions. It is for three classes or more with a score each (`joint`,
        `ovr`), whose probabilities are a softmax then. All of these are saved with the model, and undone by its next
        change, such as `refit()`.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`, but not in Dask, and other rows than in `fit`, on which the model is overconfident. A few rows
            per class are enough; they are read once, and their scores are kept in memory.
        method : {"sigmoid", "isotonic", "matrix"}
            Factors and biases, curves, or a matrix.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            The rows have one class only, or one that the model does not know; or the model has no probabilities, or a
            class without rows. The model stays as it was.
        MemoryError
            The scores, or the weights, do not fit into memory.

        Notes
        -----
        `predict(X, predictive=True)` and the like do not use these weights, except for Bernoulli features.

        Examples
        --------
        >>> import numpy as np
        >>> import streamnb as snb
        >>> X, y = np.array([[3.0, 0.0], [0.0, 3.0], [2.0, 2.0], [1.0, 0.0]]), np.array([0, 1, 1, 0])
        >>> model = snb.LinearNB().fit(X, y).calibrate([[5.0, 0.0], [4.0, 1.0], [0.0, 5.0]], [0, 1, 1])
        >>> model.predict([[0.0, 1.0]])
        array([1])
        """
        arguments.one_of("method", method, METHODS)
        model, rows = self._ready(X, y, sample_weight, labelled=True)
        self._set_model(calibrated(model, rows, method), calibrated=True)
        self.recalibrated_ = True
        self.__dict__.pop("unknown_below_", None)  # the threshold was chosen for other probabilities
        return self

    @available_if(methodcaller("_calibrates"))
    def set_threshold(self, threshold: Any, class_: Any = None) -> Self:
        """Decide for a class wherever it scores `threshold` or more, and otherwise for the best of the others.

        Scores and probabilities stay as they are. The threshold is saved with the model, and undone by None and by the
        next change of the model, such as `refit()` or `calibrate`.

        Parameters
        ----------
        threshold : Threshold, float or None
            As `evaluate` finds it, ``model.evaluate(X, y).threshold(precision=0.9)``; or a number in the units of
            `decision_function` for two classes. For more it is of the log-odds of `predict_proba`, and of
            `decision_function` where there are no probabilities.
        class_ : label, optional
            Class 1 of two unless given; a `Threshold` has its own.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            The threshold is no finite number; there are more than two classes and no `class_`, or it is not one of
            them; rows have several labels; or the model decides by `loss` already.

        Examples
        --------
        >>> import streamnb as snb
        >>> X, y = [[3], [2], [2], [1], [1], [0]], ["ill", "ill", "well", "ill", "well", "well"]
        >>> model = snb.LinearNB("poisson").fit(X, y)
        >>> found = model.evaluate(X, y).threshold("ill", recall=1.0)
        >>> model.predict([[1]]).tolist(), model.set_threshold(found).predict([[1]]).tolist()
        (['well'], ['ill'])
        """
        odds = hasattr(self, "predict_proba")
        self._set_model(self._fitted_model().with_threshold(threshold, class_, odds=odds))
        return self

    # ---- explanations and exports ------------------------------------------------------------------------------------

    top_features = explained.top_features
    contrast = explained.contrast
    explain = explained.explain
    markers = cells.markers
    annotate = cells.annotate
    choose_unknown_below = unknown.choose_unknown_below
    predict_ranks = taxonomy.predict_ranks
    save = exporting.save
    export = exporting.export
    to_sklearn = exporting.to_sklearn
    _portable = exporting.portable_model

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def decision_function(self: Any, X: Rows, *, out: Any = None) -> Any:
    """Scores: (n_rows,) for two classes, positive for `classes_[1]`; else (n_rows, K)."""
    model, rows = self._ready(X)
    return model.decision_function(rows, out=out)


def model_and_rows(estimator: Classifier, X: Any, *beside: Any, labelled: bool = True) -> tuple[LinearModel, Source]:
    """The model of a fitted classifier, and rows opened for it; `beside` are their labels and weights."""
    return estimator._ready(X, *beside, labelled=labelled)


def fitted_model(estimator: Classifier) -> LinearModel:
    """The model of a fitted classifier."""
    return estimator._fitted_model()


def explained_model(model: LinearModel | Classifier) -> LinearModel:
    """The model for explanations by feature; TypeError where a classifier has none."""
    return model if isinstance(model, LinearModel) else model._explained()


def family_of_columns(estimator: Classifier, family: Family) -> Family:
    """A family for the columns of a fitted classifier's weights."""
    return estimator._preparation.family(family, preparation.names_of(estimator))


def check_parameters(estimator: Classifier) -> None:
    """Raise for parameters that are wrong for any data."""
    estimator._check_params()

"""Scores, decisions and probabilities of rows by one linear model, or by its exact predictive distribution."""

from typing import Any, Self

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from streamnb.core import arguments
from streamnb.core.types import PerRow, Rows
from streamnb.estimators.cells import AnnotatesCells
from streamnb.estimators.classifier import ScanClassifier
from streamnb.estimators.exporting import Exports
from streamnb.models.calibrating import METHODS, calibrated
from streamnb.models.linear import LinearModel
from streamnb.problem.families import as_family
from streamnb.rows.source import Source


def _takes_any_value_or_is_fitted(estimator: "LinearPredictions") -> bool:
    # scikit-learn's checks fit whatever has these methods on negative data, even where positive_only says not to
    if hasattr(estimator, "stats_"):
        return True
    try:
        return not as_family(estimator.family).nonnegative
    except (TypeError, ValueError):  # wrong parameters are reported by fit
        return True


def _has_probabilities(estimator: "LinearPredictions") -> bool:
    return estimator.scheme != "ovo" or len(getattr(estimator, "classes_", ())) == 2


class LinearPredictions(AnnotatesCells, Exports, ScanClassifier):
    """A classifier by one linear model of a family under a scheme, which stands once there are two classes."""

    family: Any
    scheme: Any

    def _predictive(self) -> LinearModel:
        """The exact predictive distribution."""
        raise NotImplementedError

    # ---- the model ---------------------------------------------------------------------------------------------------

    @property
    def coef_(self) -> Any:
        return self._fitted("coef_").coef_

    @property
    def intercept_(self) -> np.ndarray:
        return self._fitted("intercept_").intercept_

    def _fitted(self, attribute: str) -> LinearModel:
        if not self._complete():
            raise AttributeError(f"{type(self).__name__} has no {attribute!r} before it has seen two classes")
        return self._model

    def _complete(self) -> bool:
        """True where there are classes enough for a model."""
        return hasattr(self, "stats_") and (self.stats_.multilabel or len(self.classes_) > 1)

    @available_if(_takes_any_value_or_is_fitted)
    def sparsify(self) -> Self:
        """Store `coef_` as a sparse array, in place, as scikit-learn's classifiers do; predictions stay the same.

        Returns
        -------
        self
            `LinearModel.sparsify`, of a model of a path, leaves the model as it is and returns a new model.
        """
        check_is_fitted(self, "stats_")
        self._learned["_model"] = self._now("_model").sparsify()
        return self

    @available_if(_has_probabilities)
    def calibrate(self, X: Rows, y: PerRow = None, sample_weight: PerRow = None, *, method: str = "sigmoid") -> Self:
        """Make the probabilities fit rows that the model has not learned from; nothing is learned anew.

        Naive Bayes counts what several features say together several times over, and is far too sure. Scores become
        ``t s_k + b_k``, of least log loss on these rows: with one factor t (1 / temperature) for all classes and
        biases of sum 0 for the softmax of ``joint`` and ``reference`` (Guo et al. 2017); for two classes, ``ovr`` and
        the labels of a 2-D y by Platt's method (1999), with t and b for each row of `coef_`. As this is linear, it
        becomes part of `coef_` and `intercept_`. By isotonic regression (Zadrozny and Elkan 2002) they become rising
        curves, of the log-odds of each class or of the score of each row of `coef_`, which stays as it was; that wants
        some thousand rows. Either is part of what is saved; whatever changes the model next, such as `refit()`, undoes
        it.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`, but not in Dask; and of other rows than there: of those of `fit`, the model is far too sure.
            A few rows a class are enough; they are read once, and their scores held.
        method : {"sigmoid", "isotonic"}
            Factors and biases, or curves.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            Rows of one class only, or of one the model does not know; or a model without probabilities, or with a class
            without rows. The model stays as it was.
        MemoryError
            The scores do not fit into memory, or the weights are too many to be held.

        Notes
        -----
        `predict(X, predictive=True)` and its like do not go by these weights, except for Bernoulli features.

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
        self._learned["_model"] = calibrated(model, rows, method)
        self._learned.pop("_predictive", None)
        return self

    # ---- predicting --------------------------------------------------------------------------------------------------

    def predict(self, X: Rows, *, out: Any = None, predictive: bool = False) -> Any:
        """Labels, (n_rows,). The answer is of the kind of X: NumPy, or lazy Dask for Dask; `out` takes blocks.

        Parameters
        ----------
        X : (n_rows, n_features)
            As in `fit`.
        out : array that takes slices of rows, optional
            Where to write the answer, block by block; not for Dask.
        predictive : bool
            Decide by the exact predictive distribution, parameters averaged over their posterior, in place of one
            estimate of them: negative binomial features for Poisson (with a Gamma prior, or s pseudo-rows), Student's
            t for Gaussian (`NormalInverseGamma`, each class with a variance of its own), Dirichlet-multinomial rows
            for multinomial, and for Bernoulli the linear model itself. For scheme="joint" or two classes, without
            penalty and idf; an `intercept_shift` is not part of it.

        Raises
        ------
        ValueError
            X is not what was fitted, or `predictive` does not go with the parameters.
        """
        model, rows = self._ready(X, predictive=predictive)
        return model.predict(rows, out=out)

    @available_if(_has_probabilities)
    def predict_proba(self, X: Rows, *, out: Any = None, predictive: bool = False) -> Any:
        """Class probabilities, (n_rows, K); arguments as for `predict`.

        ==================== =======================================================================
        two classes          the sigmoid of the score, whatever the scheme
        joint, predictive    softmax of the scores
        ovr                  sigmoids of the scores divided by their sum
        reference            softmax of the scores with 0 for the reference class
        labels (2-D y)       the sigmoid of each label's score: they need not add up to 1
        ovo                  none: the method does not exist
        ==================== =======================================================================

        They are those of the model, where features are independent given the class: of many features that are not,
        they lie too close to 0 and 1. `priors`, `class_weight` and `intercept_shift` change them, `loss` and
        `threshold` do not.
        """
        model, rows = self._ready(X, predictive=predictive)
        return model.predict_proba(rows, out=out)

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Rows, *, out: Any = None, predictive: bool = False) -> Any:
        """Logs of the class probabilities, (n_rows, K); arguments as for `predict`."""
        model, rows = self._ready(X, predictive=predictive)
        return model.predict_log_proba(rows, out=out)

    @available_if(_takes_any_value_or_is_fitted)
    def decision_function(self, X: Rows, *, out: Any = None, predictive: bool = False) -> Any:
        """Scores: (n_rows,) for two classes, positive for `classes_[1]`; else (n_rows, K).

        Arguments as for `predict`. Where the predictive model is not linear, its scores are ln P(y) + ln p(x | y) in
        full, for two classes their difference.
        """
        model, rows = self._ready(X, predictive=predictive)
        return model.decision_function(rows, out=out)

    def _ready(
        self, X: Any, *beside: Any, labelled: bool = False, predictive: bool = False
    ) -> tuple[LinearModel, Source]:
        check_is_fitted(self, "stats_")
        if not self._complete():
            raise NotFittedError(
                f"{type(self).__name__} has seen one class only ({self.classes_.tolist()}); "
                "call partial_fit with rows of a second one before predicting"
            )
        model, rows = super()._ready(X, *beside, labelled=labelled)
        return self._predictive() if arguments.one_of("predictive", predictive, [False, True]) else model, rows


def fitted_model(estimator: LinearPredictions) -> LinearModel:
    """The model with its weights, of an estimator that is fitted."""
    return estimator._fitted("coef_")

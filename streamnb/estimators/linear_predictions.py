"""What LinearNB predicts with, and the posterior of its parameters."""

from __future__ import annotations

from typing import Any, cast

from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from streamnb.core import arguments
from streamnb.core.arguments import Rows
from streamnb.core.frames import pandas_for
from streamnb.estimators import incremental
from streamnb.estimators.classifier import family_of_columns
from streamnb.estimators.parameters import learned
from streamnb.estimators.preparation import names_of_columns
from streamnb.models.linear import LinearModel
from streamnb.models.quadratic import CovarianceModel
from streamnb.problem.families import as_family
from streamnb.problem.family import Family
from streamnb.problem.smoothing import EVIDENCE, chosen
from streamnb.rows.source import Source
from streamnb.solving import posteriors


def _takes_any_value_or_is_fitted(estimator: Any) -> bool:
    # scikit-learn's checks fit estimators with these methods on negative data, even where positive_only is set
    if hasattr(estimator, "stats_"):
        return True
    try:
        return not as_family(estimator.family).nonnegative
    except (TypeError, ValueError):  # wrong parameters are reported by fit
        return True


def has_probabilities(self: Any) -> bool:
    """Whether scores belong to classes, not to pairs of classes."""
    return self._option("scheme") != "ovo" or len(getattr(self, "classes_", ())) == 2


def _model_for(self: Any, attribute: str) -> LinearModel:
    if not incremental.is_complete(self):
        raise AttributeError(f"{type(self).__name__} has no {attribute!r} before it has seen two classes")
    return self._model


coef_ = property(lambda self: _model_for(self, "coef_").coef_, doc="Weights, one row for each class or side.")
intercept_ = property(lambda self: _model_for(self, "intercept_").intercept_, doc="One for each row of `coef_`.")


@available_if(_takes_any_value_or_is_fitted)
def sparsify(self: Any) -> Any:
    """Convert `coef_` to a sparse array in place, as scikit-learn's classifiers do; predictions do not change.

    Returns
    -------
    self
        `LinearModel.sparsify`, of a model of a path, leaves the model as it is and returns a new model.
    """
    check_is_fitted(self, "stats_")
    self._learned["_model"] = self._now("_model").sparsify()
    return self


def predict(self: Any, X: Rows, *, out: Any = None, predictive: bool = False) -> Any:
    """Labels, (n_rows,), in the kind of X: NumPy, or lazy Dask for Dask.

    Parameters
    ----------
    X : (n_rows, n_features)
        As in `fit`.
    out : array that takes slices of rows, optional
        Where to write the result, block by block; not for Dask.
    predictive : bool
        Decide by the exact predictive distribution, averaged over the posterior of the parameters, instead of one
        estimate of them: negative binomial features for Poisson (with a Gamma prior, or s pseudo-rows), Student's
        t for Gaussian (`NormalInverseGamma`, with a variance for each class), Dirichlet-multinomial rows for
        multinomial, and for Bernoulli the linear model itself. It needs scheme="joint" or two classes, and neither
        penalty nor idf; an `intercept_shift` has no effect on it.

    Raises
    ------
    ValueError
        X does not have the fitted features, or `predictive` is not available with these parameters.
    """
    model, rows = self._ready(X, predictive=predictive)
    return model.predict(rows, out=out)


@available_if(has_probabilities)
def predict_proba(self: Any, X: Rows, *, out: Any = None, predictive: bool = False) -> Any:
    """Class probabilities, (n_rows, K); arguments as for `predict`.

    ==================== =======================================================================
    two classes          the sigmoid of the score, whatever the scheme
    joint, predictive    softmax of the scores
    ovr                  sigmoids of the scores divided by their sum
    reference            softmax of the scores with 0 for the reference class
    labels (2-D y)       the sigmoid of each label's score: they need not add up to 1
    ovo                  none: the method does not exist
    ==================== =======================================================================

    The model takes features to be independent given the class; with many dependent features, probabilities are too
    close to 0 and 1. `priors`, `class_weight` and `intercept_shift` change them, `loss` and `threshold` do not.
    """
    model, rows = self._ready(X, predictive=predictive)
    return model.predict_proba(rows, out=out)


@available_if(has_probabilities)
def predict_log_proba(self: Any, X: Rows, *, out: Any = None, predictive: bool = False) -> Any:
    """Log class probabilities, (n_rows, K); arguments as for `predict`."""
    model, rows = self._ready(X, predictive=predictive)
    return model.predict_log_proba(rows, out=out)


@available_if(_takes_any_value_or_is_fitted)
def decision_function(self: Any, X: Rows, *, out: Any = None, predictive: bool = False) -> Any:
    """Scores: (n_rows,) for two classes, positive for `classes_[1]`; else (n_rows, K).

    Arguments as for `predict`. Where the predictive model is not linear, scores are the complete
    ln P(y) + ln p(x | y), for two classes their difference.
    """
    model, rows = self._ready(X, predictive=predictive)
    return model.decision_function(rows, out=out)


def ready(
    self: Any, X: Any, *beside: Any, labelled: bool = False, predictive: bool = False
) -> tuple[LinearModel, Source]:
    """The requested model, and the opened rows with their labels and weights."""
    incremental.check_complete(self)
    model, rows = self._now("_model"), self._opened(X, *beside, labelled=labelled)
    return self._predictive() if arguments.one_of("predictive", predictive, [False, True]) else model, rows


def _has_covariance(estimator: Any) -> bool:
    try:
        return as_family(estimator.family).covariant
    except (TypeError, ValueError):
        return False


@available_if(_has_covariance)
def mahalanobis(self: Any, X: Rows, *, out: Any = None) -> Any:
    """Squared Mahalanobis distances of rows to the mean of each class, (n_rows, K).

    ``(x - mu_y)' Sigma_y^-1 (x - mu_y)`` over features that are not constant; squared, as in scikit-learn's
    `EmpiricalCovariance.mahalanobis`. For normal rows of class y they are chi-squared with as many degrees of freedom
    as there are features. The method exists where the family is `Gaussian` with covariance="pooled" or "full".
    Arguments as for `predict`.

    Examples
    --------
    >>> import streamnb as snb
    >>> X = [[0, 0], [2, 0], [1, 3], [4, 4], [6, 4], [5, 7]]
    >>> model = snb.LinearNB(snb.Gaussian(covariance="full")).fit(X, [0, 0, 0, 1, 1, 1])
    >>> model.mahalanobis([[1, 1], [1, 3]]).round(6)
    array([[ 0., 32.],
           [ 2., 26.]])
    """
    model, rows = self._ready(X)
    return cast(CovarianceModel, model).of_classes(rows, False, out)


@available_if(_has_covariance)
def log_density(self: Any, X: Rows, *, out: Any = None) -> Any:
    """Log density of rows in each class, (n_rows, K): ln p(x | y) of the normal distribution.

    ``-(n ln 2 pi + ln det Sigma_y + (x - mu_y)' Sigma_y^-1 (x - mu_y)) / 2``, with n features that are not constant.
    """
    model, rows = self._ready(X)
    return cast(CovarianceModel, model).of_classes(rows, True, out)


@learned
def smoothing_(self: Any) -> Any:
    """The prior that the model uses."""
    params, family = self._used_params, used_family(self)
    given = chosen(params["smoothing"], family, params["estimate"])
    if isinstance(given, str) and given == EVIDENCE:
        return posteriors.strength(self._weighted, family, params["estimate"])
    return given


def posterior(self: Any, interval: float = 0.95) -> Any:
    """Posterior mean, variance and interval of each parameter of naive Bayes.

    With pseudo-sums a and pseudo-counts b of the prior, S the sum of the feature over the rows of the class and N
    their weight: Beta(a + S, b + N - S) for a Bernoulli probability (Binomial: k N for N); Gamma(a + S, b + N) for a
    Poisson rate; Beta(alpha_j + S_j, sum of the others) for a multinomial probability; for Gaussian features Student's
    t of the mean and the inverse gamma of the variance that the classes share (Murphy 2007, section 3). Neither penalty
    nor scheme affects it.

    Parameters
    ----------
    interval : float
        Probability of the interval, with equal tails.

    Returns
    -------
    pandas.DataFrame
        One row for each feature and class, with columns class (None where all share the parameter), feature,
        parameter ("probability", "rate", "mean", "variance"), mean, variance, lower, upper.

    Raises
    ------
    ValueError
        There is no prior, or idf multiplies the scanned values; or `interval` is not a probability.
    ImportError
        pandas is not installed.

    Examples
    --------
    >>> import streamnb as snb
    >>> model = snb.LinearNB("bernoulli").fit([[1], [1], [0], [0]], ["a", "a", "a", "b"])
    >>> model.posterior()[["class", "mean", "variance"]].to_dict("list")
    {'class': ['a', 'b'], 'mean': [0.6, 0.3333333333333333], 'variance': [0.04, 0.05555555555555556]}
    """
    pd = pandas_for("posterior()")
    _check_scanned_as_it_is(self, "posterior()")
    params = self._used_params["estimate"]
    names = names_of_columns(self)
    known = self._weighted, used_family(self), self._now("smoothing_"), params
    return pd.DataFrame(posteriors.posterior_table(*known, interval=interval, names=names))


def log_evidence(self: Any) -> float:
    """Log evidence ln p(X | y): the log probability of the training rows, averaged over the prior.

    Bernoulli: ``sum over classes and features of ln B(a + S, b + N - S) - ln B(a, b)``; likewise for the other
    conjugate priors (multinomial: Dirichlet; Poisson: gamma; Gaussian: normal-inverse-gamma). Terms without parameters
    are left out: ln x! of counts, binomial coefficients. If ``priors=`` is a `DirichletPrior`, ln p(y) is added
    likewise; with given probabilities N_y ln P_y; with None nothing.

    Of two priors, or families of the same x, the one with higher evidence is better supported; the difference is the
    log Bayes factor. ``smoothing="evidence"`` uses the number with the highest evidence.

    Raises
    ------
    ValueError
        There is no prior, or labels overlap, or idf multiplies the scanned values.

    Examples
    --------
    Three rows of one class, two of them with the feature, under Beta(1, 1): ln B(3, 2) = ln 1/12.

    >>> import streamnb as snb
    >>> model = snb.LinearNB("bernoulli").fit([[1], [1], [0], [0]], ["a", "a", "a", "b"])
    >>> round(model.log_evidence(), 5)  # and one row without it: ln B(1, 2) = ln 1/2
    -3.17805
    """
    _check_scanned_as_it_is(self, "log_evidence()")
    params = self._used_params
    known = self._weighted, used_family(self), self._now("smoothing_"), params["estimate"]
    return posteriors.log_evidence(*known, params["priors"])


def used_family(self: Any) -> Family:
    """The family that the model uses."""
    return family_of_columns(self, as_family(self._used_params["family"]))


def _check_scanned_as_it_is(self: Any, what: str) -> None:
    check_is_fitted(self, "stats_")
    if self._used_params["idf"]:
        raise ValueError(f"{what} is of the values that were scanned, which idf=True multiplies; take idf=False")

"""Mahalanobis distances and log densities of rows, for classifiers with covariances."""

from typing import Any, cast

from sklearn.utils.metaestimators import available_if

from streamnb.core.types import Rows
from streamnb.models.covariance import CovarianceModel
from streamnb.problem.families import as_family


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

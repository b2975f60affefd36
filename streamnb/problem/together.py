"""Dirichlet and beta families, whose parameters are fitted together from means of logarithms.

``ln p(x | a) = ln Gamma(sum a) - sum ln Gamma(a_j) + sum (a_j - 1) ln x_j`` is linear in ln x_j, whose means are
``psi(a_j) - psi(sum a)``: one equation for each parameter, coupled by their sum (Minka, 2000, "Estimating a Dirichlet
distribution").
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from scipy.optimize.elementwise import find_root
from scipy.special import digamma, gammaln, polygamma

from streamnb.problem.families import FAMILIES, inverse_digamma
from streamnb.problem.family import ABOVE_ZERO, Family

NO_MAXIMUM = 1e-13  # rows are all the same if sum exp(mean of ln x_j) is nearer to 1 than this


class Together(Family):
    """A family whose parameters are fitted together; means and parameters of a group lie along the last axis.

    Attributes
    ----------
    second : Family or None
        The family of a second function of x that has weights of its own.
    no_maximum : str
        A message on why no parameters are most likely, and what to do; {} stands for the feature.
    """

    second: ClassVar[Family | None] = None
    no_maximum: ClassVar[str]
    moment = "log_sum"
    lowest = ABOVE_ZERO

    def parameters(self, means: np.ndarray, feature: Callable[[int], int]) -> np.ndarray:
        """The parameters for means of ln x, both (groups, size); `feature` of a group is for messages."""
        lost = np.flatnonzero(np.exp(means).sum(axis=1) > 1.0 - NO_MAXIMUM)
        if lost.size:
            raise ValueError(f"family={self.name!r}: {self.no_maximum.format(feature(int(lost[0])))}")
        return dirichlet_parameters(means)

    def log_normaliser(self, parameters: np.ndarray) -> np.ndarray:
        """c, (groups,): the log of the normalising constant of the density."""
        return gammaln(parameters).sum(axis=1) - gammaln(parameters.sum(axis=1))


class Dirichlet(Together):
    """Compositions: all columns of the model, or its columns in a `Mixed`, are positive and sum to one in each row.

    Linear in ln x; parameters of a class are fitted together from its smoothed means of ln x. For rows that do not sum
    to one take normalize="l1". Without penalty only.

    Examples
    --------
    >>> import streamnb as snb
    >>> X = [[0.7, 0.2, 0.1], [0.6, 0.3, 0.1], [0.1, 0.2, 0.7], [0.2, 0.3, 0.5]]
    >>> model = snb.LinearNB(snb.Dirichlet()).fit(X, [0, 0, 1, 1])
    >>> model.predict([[0.8, 0.1, 0.1], [0.1, 0.3, 0.6]]).tolist()
    [0, 1]
    """

    name = "dirichlet"
    no_maximum = (
        "a class has no most likely parameters; its columns of a row should sum to 1, and rows of a class should "
        "differ: pass smoothing > 0, or give it more rows"
    )

    def parts(self, n_features: int) -> list[tuple[Family, Any]]:
        if n_features == 1:
            raise ValueError(
                "family='dirichlet' is for compositions of two columns or more, X has 1; a single share takes "
                "family='beta'"
            )
        return super().parts(n_features)


class _Complement(Family):
    """The other half of `Beta`: 1 - x."""

    name = "beta"
    moment = "log1m_sum"


class Beta(Together):
    """Values inside (0, 1), each column with two parameters: the Dirichlet of (x, 1 - x).

    Linear in ln x and ln(1 - x): `coef_` holds the weights of ln x, `LinearModel.second` those of ln(1 - x). Smoothed
    by pseudo-rows at the means of both over all rows. Without penalty only.

    Examples
    --------
    >>> import streamnb as snb
    >>> model = snb.LinearNB(snb.Beta()).fit([[0.8], [0.9], [0.2], [0.4]], [0, 0, 1, 1])
    >>> model.predict([[0.7], [0.1]]).tolist()
    [0, 1]
    """

    name = "beta"
    highest = np.nextafter(1.0, 0.0)
    moments = ("log_sum", "log1m_sum")
    second = _Complement()
    no_maximum = (
        "feature {} has no most likely parameters in a class, for its values there are all the same: "
        "pass smoothing > 0, or leave the feature out where it is the same in all rows"
    )


FAMILIES.update({family.name: family for family in (Dirichlet, Beta)})


def dirichlet_parameters(means: np.ndarray) -> np.ndarray:
    """a > 0 with psi(a_j) - psi(sum a) = means[j], (groups, size) both, where sum exp(means) < 1.

    Given their sum A, a_j is the inverse digamma of psi(A) + means[j]: one root of sum_j a_j(A) = A a group. Newton's
    method for all a_j (its Hessian is a diagonal plus rank one) then adds the last digits.
    """

    def surplus(log_sum: np.ndarray, group: np.ndarray) -> np.ndarray:
        own = means[group.astype(np.intp)]
        with np.errstate(over="ignore"):
            sums = inverse_digamma(digamma(np.exp(log_sum))[..., None] + own).sum(axis=-1)
        return np.log(sums) - log_sum

    groups, size = means.shape
    if groups == 0:
        return np.empty(means.shape)
    gap = -np.expm1(np.log(np.exp(means).sum(axis=1)))
    low, high = np.log(1e-3 / (1.0 - means.min(axis=1))), np.log(10.0 * size / gap)
    log_sum = find_root(surplus, (low, high), args=(np.arange(groups, dtype=np.float64),)).x
    a = inverse_digamma(digamma(np.exp(log_sum))[:, None] + means)
    for _ in range(2):
        slope, shared = polygamma(1, a), polygamma(1, a.sum(axis=1, keepdims=True))
        force = digamma(a) - digamma(a.sum(axis=1, keepdims=True)) - means
        common = (force / slope).sum(axis=1, keepdims=True) / (1.0 / shared - (1.0 / slope).sum(axis=1, keepdims=True))
        step = (force + common) / slope
        a = np.where(np.abs(step) < 0.5 * a, a - step, a)
    return a

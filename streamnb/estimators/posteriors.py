"""Posteriors of a classifier's parameters, and the evidence of its prior."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from streamnb.core.frames import pandas_for
from streamnb.estimators.classifier import family_of_columns
from streamnb.estimators.learned import learned
from streamnb.estimators.preparation import names_of_columns
from streamnb.problem.families import as_family
from streamnb.problem.family import Family
from streamnb.problem.smoothing import EVIDENCE, chosen
from streamnb.solving import posteriors


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

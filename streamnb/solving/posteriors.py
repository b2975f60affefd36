"""Posteriors of naive Bayes parameters, and the evidence of the prior."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import betaincinv, betaln, gammaincinv, gammaln, stdtrit

from streamnb.core import arguments
from streamnb.problem.family import Family
from streamnb.problem.mixed import grouped_parts
from streamnb.problem.smoothing import EVIDENCE, DirichletPrior, Smoothing, class_probabilities, conjugate
from streamnb.stats.class_stats import ClassStats

STRENGTHS = np.logspace(-6.0, 6.0, 13)  # initial grid; the search goes on between the neighbours of the best


@dataclass(frozen=True, slots=True, eq=False)
class Known:
    """Posterior of one parameter, of each class (K, n_features) or of all classes together (1, n_features)."""

    parameter: str
    mean: np.ndarray
    variance: np.ndarray
    quantile: Callable[[float], np.ndarray]


@dataclass(frozen=True, slots=True, eq=False)
class Conjugate:
    """Sums (K, n_features) and counts (K, 1), with the pseudo-sums and pseudo-counts of their prior.

    Counts are rows, trials (Bernoulli, Binomial), or the total count of a class (multinomial).
    """

    family: Family
    stats: ClassStats
    smoothing: Smoothing
    sums: np.ndarray
    counts: np.ndarray
    a: np.ndarray
    more: np.ndarray

    @classmethod
    def of(cls, stats: ClassStats, family: Family, smoothing: Smoothing) -> "Conjugate":
        sums, weight = stats.table(family.moment).value(slice(None)), stats.weight[:, None]
        trials = float(getattr(family, "k", 1))
        smoothing = smoothing.learned(stats)
        pseudo = smoothing.pseudo(sums.sum(axis=0) / weight.sum(), slice(None), stats.n_features)
        counts = sums.sum(axis=1, keepdims=True) if family.coupled else trials * weight
        a, more = np.atleast_2d(pseudo.sum), trials * np.atleast_2d(pseudo.count)
        return cls(family, stats, smoothing, sums, counts, a, more)

    # ---- the posterior -----------------------------------------------------------------------------------------------

    def known(self) -> list[Known]:
        """Return the posterior of each parameter."""
        a, counts = self.a + self.sums, self.more + self.counts
        if self.family.name == "gaussian":
            return self._student(a / counts, counts)
        if self.family.name == "poisson":
            return [Known("rate", a / counts, a / counts**2, lambda p: np.where(a > 0, gammaincinv(a, p), 0) / counts)]
        b = counts - a
        mean, certain = a / counts, (a <= 0.0) | (b <= 0.0)
        variance = mean * (1.0 - mean) / (counts + 1.0)
        return [Known("probability", mean, variance, lambda p: np.where(certain, mean, betaincinv(a, b, p)))]

    def _student(self, means: np.ndarray, n: np.ndarray) -> list[Known]:
        """Return Student's t about each mean, and the inverse gamma of the shared variance."""
        a, b = self._shared()
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = np.where(a > 1.0, b / (a - 1.0), np.inf)
            variance = np.where(a > 2.0, mean**2 / (a - 2.0), np.inf)
        return [
            Known("mean", means, mean / n, lambda p: means + np.sqrt(b / (a * n)) * stdtrit(2.0 * a, p)),
            Known("variance", mean, variance, lambda p: b / gammaincinv(a, 1.0 - p)),
        ]

    def _shared(self) -> tuple[np.ndarray, np.ndarray]:
        """Return a' and b' of the variances, (1, n_features)."""
        prior = self.smoothing.given
        b = prior.b + prior.spread(self.stats, slice(None)).sum(axis=0, keepdims=True) / 2.0
        return np.broadcast_to(prior.a + self.stats.weight.sum() / 2.0, b.shape), b

    # ---- the evidence ------------------------------------------------------------------------------------------------

    def evidence(self) -> float:
        """Return ln p(x | y) of all rows, without ln x! and binomial coefficients, which have no parameter."""
        a, more, sums, counts = self.a, self.more, self.sums, self.counts
        if self.family.name == "gaussian":
            return self._gaussian()
        with np.errstate(divide="ignore", invalid="ignore"):  # a feature that is always or never present is certain
            if self.family.coupled:
                terms = gammaln(a + sums) - gammaln(a)
                return float(np.sum(terms) + np.sum(gammaln(more) - gammaln(more + counts)))
            if self.family.name == "poisson":
                terms = gammaln(a + sums) - gammaln(a) - a * np.log1p(counts / more) - sums * np.log(more + counts)
                return float(np.sum(terms, where=np.broadcast_to(a > 0.0, terms.shape)))
            terms = betaln(a + sums, more - a + counts - sums) - betaln(a, more - a)
            return float(np.sum(terms, where=np.broadcast_to((a > 0.0) & (a < more), terms.shape)))

    def _gaussian(self) -> float:
        prior, (a, b) = self.smoothing.given, self._shared()
        terms = prior.a * np.log(prior.b) - gammaln(prior.a) + gammaln(a) - a * np.log(b)
        terms = terms - 0.5 * self.counts.sum() * np.log(2.0 * np.pi)
        means = 0.5 * np.log(self.more / (self.more + self.counts)) * np.ones(self.sums.shape)
        return float(np.sum(terms) + np.sum(means))


def posterior_table(
    stats: ClassStats,
    family: Family,
    smoothing: Any,
    estimate: str,
    interval: float = 0.95,
    names: Any = None,
) -> dict[str, np.ndarray]:
    """Return the columns of the table of `LinearNB.posterior`, with a row for each class and feature."""
    level = arguments.finite_number("interval", interval, minimum=0.0)
    if not 0.0 < level < 1.0:
        raise ValueError(f"interval={interval!r} should be a probability between 0 and 1, such as 0.95")
    names = np.arange(stats.n_features) if names is None else np.asarray(names)
    found: dict[str, list[Any]] = {}
    members = grouped_parts(family, stats.n_features)
    for part, columns in _parts(stats, members, smoothing, estimate, "posterior()"):
        for known in part.known():
            shape, features = known.mean.shape, names[columns]
            classes = stats.classes if shape[0] == len(stats.classes) else np.array([None], object)
            values = known.mean, known.variance, *(known.quantile(0.5 + side * level / 2.0) for side in (-1.0, 1.0))
            table = (
                np.tile(classes, shape[1]),
                np.repeat(features, shape[0]),
                np.repeat(known.parameter, known.mean.size),
            )
            rows = (*table, *(np.broadcast_to(value, shape).T.ravel() for value in values))
            for name, column in zip(
                ("class", "feature", "parameter", "mean", "variance", "lower", "upper"), rows, strict=True
            ):
                found.setdefault(name, []).append(column)
    return {name: np.concatenate(columns) for name, columns in found.items()}


def log_evidence(stats: ClassStats, family: Family, smoothing: Any, estimate: str, priors: Any) -> float:
    """Return ln p(x | y) of all rows, plus ln p(y) if `priors` concern the classes; see `LinearNB.log_evidence`."""
    _check_one_label(stats, "log_evidence()")
    members = grouped_parts(family, stats.n_features)
    total = sum(part.evidence() for part, _ in _parts(stats, members, smoothing, estimate, "log_evidence()"))
    weight = stats.weight
    if isinstance(priors, DirichletPrior):
        class_probabilities(priors, stats, "posterior_mean")
        alpha = np.broadcast_to(priors.alpha, weight.shape)
        total += np.sum(gammaln(alpha + weight) - gammaln(alpha))
        total += gammaln(alpha.sum()) - gammaln(alpha.sum() + weight.sum())
    elif priors is not None:
        shares = class_probabilities(priors, stats, estimate)[weight > 0]
        with np.errstate(divide="ignore"):
            total += weight[weight > 0] @ np.log(shares)
    return float(total)


def strength(stats: ClassStats, family: Family, estimate: str) -> float:
    """Return s for `smoothing="evidence"`: the number that makes the rows most probable.

    It is shared by all features: type-II maximum likelihood, d/ds sum_y,j ln p(x_j | y, s) = 0 (Berger 1985, 3.5.4).
    """
    what = f"smoothing={EVIDENCE!r}"
    _check_one_label(stats, what)
    for member in family.members:
        Smoothing.of(member, EVIDENCE, estimate)
    members = [(m, columns) for m, columns in grouped_parts(family, stats.n_features) if m.name != "gaussian"]
    if not members:  # a number means no prior for these families
        raise ValueError(f"{what} means nothing for family='gaussian'; give NormalInverseGamma, or a number")

    def loss(log_s: float) -> float:
        parts = _parts(stats, members, float(np.exp(log_s)), estimate, what)
        return -sum(part.evidence() for part, _ in parts)

    logs = np.log(STRENGTHS)
    best = int(np.argmin([loss(log_s) for log_s in logs]))
    bounds = logs[max(best - 1, 0)], logs[min(best + 1, len(logs) - 1)]
    return float(np.exp(minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-9}).x))


def _parts(
    stats: ClassStats, members: list[tuple[Family, Any]], smoothing: Any, estimate: str, what: str
) -> Iterator[tuple[Conjugate, Any]]:
    """Yield the conjugate prior and data of each family, and the numbers of its features."""
    for member, columns in members:
        # the prior itself, not the pseudo-counts of its mode
        taken = estimate if estimate == "mle" else "posterior_mean"
        prior = Smoothing.of(member, smoothing, taken, stats.n_features, len(stats.classes)).of_columns(columns)
        number = not isinstance(smoothing, conjugate(member) or ())
        if conjugate(member) is None or prior.none or (number and member.name == "gaussian"):
            wrong = f"estimate={estimate!r}" if estimate == "mle" else f"smoothing={smoothing!r}"
            raise ValueError(
                f"{what} needs a conjugate prior of the features; family={member.name!r} has none under {wrong}: it "
                "should be 'bernoulli', Binomial, 'poisson' or 'multinomial' with a number above 0 or a prior, or "
                "'gaussian' with NormalInverseGamma"
            )
        if not stats.total_weight:
            raise ValueError(f"{what} needs rows; the statistics hold none")
        yield Conjugate.of(stats.select(columns, member.moments), member, prior), columns


def _check_one_label(stats: ClassStats, what: str) -> None:
    if stats.multilabel:
        raise ValueError(f"{what} is for one label a row; labels of a 2-D y share their rows")

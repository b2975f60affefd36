"""Exact predictive distributions p(x | y), averaged over the posterior of the parameters.

Poisson with a Gamma prior gives negative binomial features, Gaussian with a normal-inverse-gamma prior for each class
Student's t, multinomial with a Dirichlet prior a Dirichlet-multinomial row. Bernoulli with a Beta prior gives
Bernoulli with the posterior means: the linear model itself.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.kernels import predictive
from streamnb.models.linear import LinearModel
from streamnb.models.quadratic import JointModel
from streamnb.problem.family import Family
from streamnb.problem.penalties import Penalty
from streamnb.problem.smoothing import NormalInverseGamma, Pseudo, Smoothing, class_probabilities
from streamnb.rows.boundary import Domain
from streamnb.rows.row_blocks import Chunk
from streamnb.stats.class_stats import ClassStats

ModelParts = tuple[type, dict[str, Any]]  # the class of a model, and its arrays by name
HAVE = "'bernoulli', 'poisson', 'multinomial' and 'gaussian'"


def predictive_model(
    stats: ClassStats,
    model: LinearModel,
    family: Family,
    penalty: Penalty | None,
    smoothing: Any,
    estimate: str,
    priors: Any,
) -> LinearModel:
    """Return the model with exact predictive distributions in place of plug-in estimates.

    Parameters
    ----------
    stats, family, penalty, smoothing, estimate, priors
        The arguments from which the linear `model` was solved.

    Raises
    ------
    ValueError
        The model is regularised, its scheme is not joint, or the family has no prior.
    """
    if family.covariant:
        raise ValueError(f"predictive=True is for features without covariances, not for family={family!r}")
    prior = Smoothing.of(family, smoothing, estimate, stats.n_features, len(stats.classes)).learned(stats)
    if penalty is not None or model.scheme.name not in ("joint", "two classes") or model.scale is not None:
        wrong = f"penalty={penalty!r}" if penalty is not None else "idf=True"
        wrong = wrong if penalty is not None or model.scale is not None else f"scheme={model.scheme.name!r}"
        raise ValueError(f"predictive=True is for penalty=None, scheme='joint' and idf=False, not {wrong}")
    if estimate != "posterior_mean":
        raise ValueError(f"predictive=True averages over the posterior; estimate={estimate!r} takes one point of it")
    if family.name in ("bernoulli", "categorical") and not prior.none:
        return model
    makers = {"poisson": _negative_binomial, "multinomial": _dirichlet_multinomial, "gaussian": _student}
    if family.name not in makers:
        raise ValueError(f"predictive=True is for the families {HAVE}, not {family.name!r}")
    if prior.none or (family.name == "gaussian" and not isinstance(smoothing, NormalInverseGamma)):
        cure = "NormalInverseGamma(...)" if family.name == "gaussian" else "a number above 0, or a prior"
        raise ValueError(f"predictive=True needs a prior of the features; smoothing={smoothing!r} should be {cure}")
    shares = class_probabilities(priors, stats, estimate)
    with np.errstate(divide="ignore"):
        log_priors = np.where(stats.weight > 0, np.log(shares), -np.inf)
    mean = stats.sum.sum(axis=0) / stats.weight.sum()
    kind, tables = makers[family.name](stats, prior.pseudo(mean, slice(None), stats.n_features), smoothing, log_priors)
    return kind(classes_=stats.classes, scheme=model.scheme, options=model.options, rule=model.rule, **tables)


def _negative_binomial(stats: ClassStats, pseudo: Pseudo, prior: Any, log_priors: np.ndarray) -> ModelParts:
    """Poisson features: x is negative binomial with size A = S + a and probability B / (B + 1), B = N + b."""
    sizes = _feature_major(stats.sum + pseudo.sum)
    rates = _feature_major(stats.weight[:, None] + pseudo.count)
    zeros = -(sizes * np.log1p(1.0 / rates)).sum(axis=0)
    return CountModel, {"weights": sizes, "intercept_": zeros + log_priors, "slopes": -np.log1p(rates)}


def _dirichlet_multinomial(stats: ClassStats, pseudo: Pseudo, prior: Any, log_priors: np.ndarray) -> ModelParts:
    """Rows of n counts: ln n! / prod x_j! + ln G(A) / G(A + n) + sum_j ln G(A_j + x_j) / G(A_j), A = sum_j A_j."""
    sizes = _feature_major(stats.sum + pseudo.sum)
    totals, no_slopes = sizes.sum(axis=0), np.zeros((1, sizes.shape[1]))
    return CountModel, {"weights": sizes, "intercept_": log_priors, "slopes": no_slopes, "totals": totals}


def _student(stats: ClassStats, pseudo: Pseudo, prior: NormalInverseGamma, log_priors: np.ndarray) -> ModelParts:
    """Gaussian features with a variance in each class: t with 2a' degrees of freedom.

    About m' with squared scale b' (n' + 1) / (a' n'): n' = n0 + N, m' = (n0 mean + S) / n', a' = a + N / 2,
    b' = b + [sum_i (x_i - m)^2 + n0 N (m - mean)^2 / n'] / 2 (Murphy 2007, section 6).
    """
    weight = stats.weight[:, None]
    n = weight + prior.n0
    means = _feature_major((stats.sum + pseudo.sum) / n)
    shapes = _feature_major(prior.a + weight / 2.0)
    spread = prior.spread(stats, slice(None))
    widths = _feature_major((2.0 * prior.b + spread) * (n + 1.0) / n)  # degrees of freedom times squared scale
    heights = np.empty(shapes.shape)
    predictive.log_rising_table(shapes, 0.5, heights)
    intercept = (heights - 0.5 * np.log(np.pi * widths)).sum(axis=0) + log_priors
    tables = {"weights": means, "intercept_": intercept, "inverse": 1.0 / widths, "powers": shapes + 0.5}
    return StudentModel, tables


def _feature_major(table: Any) -> np.ndarray:
    """Return (K, n_columns) as (n_columns, K), or (1, K) if all features are equal."""
    return np.ascontiguousarray(np.atleast_2d(table).T)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class CountModel(JointModel):
    """Scores of counts, from what stored values add to a row of zeros; `weights` are the sizes A (n_features, K)."""

    slopes: np.ndarray  # (n_features or 1, K)
    totals: np.ndarray | None = None  # (K,) if the total of the row is given

    def log_joint(self, chunk: Chunk, survey: Any) -> np.ndarray:
        Domain("predictive=True for counts", 0.0).check(chunk, survey)
        out = np.zeros((chunk.shape[0], len(self.classes_)))
        rows = sp.csr_array(chunk.to_matrix())
        predictive.score_counts(rows.data, rows.indices, rows.indptr, self.weights, self.slopes, out)
        if self.totals is not None:
            predictive.score_totals(np.asarray(rows.sum(axis=1, dtype=np.float64))[:, None], self.totals, out)
        return out + self.intercept_


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class StudentModel(JointModel):
    """Scores ``intercept_ - sum_j powers_jk ln(1 + (x_j - weights_jk)^2 inverse_jk)``; tables (n_features, K)."""

    inverse: np.ndarray
    powers: np.ndarray  # (n_features or 1, K)

    @cached_property
    def _absent(self) -> np.ndarray:
        return self.powers * np.log1p(self.weights**2 * self.inverse)

    def log_joint(self, chunk: Chunk, survey: Any) -> np.ndarray:
        kernels = predictive.score_student_dense, predictive.score_student_csr
        return self.scored(chunk, *kernels, self.weights, self.inverse, self.powers)

"""Examples of families and penalties, put through their laws as those of examples_of_contracts are."""

from typing import Any

import numpy as np

import streamnb as snb
from streamnb.problem.penalties import Penalty, _Sum


def every(*examples: Any, **named: Any) -> dict[str, Any]:
    """Examples of a class by name."""
    return {**{str(number): example for number, example in enumerate(examples)}, **named}


FAMILIES: dict[type, dict[str, snb.Family]] = {
    snb.Gaussian: every(snb.Gaussian(), snb.Gaussian(0.25)),
    snb.Poisson: every(snb.Poisson()),
    snb.Bernoulli: every(snb.Bernoulli()),
    snb.Multinomial: every(snb.Multinomial()),
    snb.Categorical: every(snb.Categorical([5]), snb.Categorical([2, 3])),
    snb.Binomial: every(snb.Binomial(1), snb.Binomial(3)),
    snb.Geometric: every(snb.Geometric()),
    snb.NegativeBinomial: every(snb.NegativeBinomial(2), snb.NegativeBinomial(0.5)),
    snb.Gamma: every(snb.Gamma(), snb.Gamma("ml")),
    snb.InverseGaussian: every(snb.InverseGaussian(), snb.InverseGaussian(dispersion="ml")),
    snb.Laplace: every(snb.Laplace(), snb.Laplace(0.25)),
    snb.ChiSquared: every(snb.ChiSquared()),
    snb.Dirichlet: every(snb.Dirichlet()),
    snb.Beta: every(snb.Beta()),
    snb.Mixed: every(
        snb.Mixed({"poisson": [0, 3], snb.Binomial(2): slice(1, 3), "gaussian": ...}),
        snb.Mixed([("multinomial", [0, 1]), ("multinomial", ...)]),
    ),
}


def leaning(w: float) -> float:
    """The slope of -w^2 / 2 to the left, of twice that to the right."""
    return -w if w < 0.0 else -2.0 * w


def shrinking(weights: np.ndarray) -> np.ndarray:
    """The gradient of -sum w^2 / 2."""
    return -weights


PENALTIES: dict[type, dict[str, Penalty]] = {
    snb.L1: every(snb.L1(0.5), snb.L1([2.0, 0.5], scale="score"), snb.L1(n_taus=3)),
    snb.L2: every(snb.L2(0.5), snb.L2([0.0, 1.0])),
    snb.TopK: every(snb.TopK(2), snb.TopK([3, 1], by="likelihood")),
    snb.Decorrelation: every(snb.Decorrelation(0.25), snb.Decorrelation([0.125, 0.5], scale="curvature")),
    snb.Custom: every(snb.Custom(shrinking, 0.5), snb.Custom(shrinking, [0.25, 1.0])),
    snb.Separable: every(snb.Separable(leaning, 0.5), snb.Separable(leaning, [0.25, 1.0])),
    _Sum: every(snb.L1(0.5) + snb.L2([0.25, 1.0]), snb.TopK(2) + snb.Decorrelation(0.25) + snb.L1([0.5, 2.0])),
}

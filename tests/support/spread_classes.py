"""Classes of which one weighs up to 1e16 times another, and both sides of their weights without rounding."""

import numpy as np

import streamnb as snb
from streamnb.problem.schemes import as_scheme
from streamnb.solving.weight_problem import Problem
from tests.support import exact_sides

FAMILIES = {
    "gaussian": snb.Gaussian(),
    "poisson": snb.Poisson(),
    "bernoulli": snb.Bernoulli(),
    "binomial": snb.Binomial(4),
    "geometric": snb.Geometric(),
    "negative_binomial": snb.NegativeBinomial(3.0),
    "gamma": snb.Gamma(),
    "inverse_gaussian": snb.InverseGaussian(),
    "laplace": snb.Laplace(),
    "multinomial": snb.Multinomial(),
}
STATISTICS = {"bernoulli": lambda v: float(v > 0.0), "laplace": abs}
X_OF_CLASS = np.array([[1, 2, 1, 0], [0, 0, 2, 2], [1, 3, 0, 1], [0, 1, 0, 0], [2, 0, 3, 3], [0, 1, 0, 1.0]])


def spread(family, n_classes, ratio, heaviest_first):
    """Rows, labels and weights; from class to class weights grow, or fall, by powers of a number up to the ratio."""
    rng = np.random.default_rng(n_classes)
    x = np.vstack([X_OF_CLASS[:, rng.permutation(4)] * (1 + k % 2) for k in range(n_classes)])
    x = np.minimum(x, 4.0) if family == "binomial" else x
    y = np.repeat(np.arange(n_classes), len(X_OF_CLASS))
    scale = ratio ** (np.arange(n_classes) / (n_classes - 1))
    weight = (scale[::-1] if heaviest_first else scale)[y] * rng.uniform(0.5, 1.5, len(y))
    return x, y, weight


def exactly(family, scheme, x, y, weight, smoothing=1.0):
    """The sides of each row of weights."""
    members = [np.flatnonzero(y == k) for k in range(y.max() + 1)]
    sums, counts = exact_sides.class_sums(x, members, weight, STATISTICS.get(family, float))
    return exact_sides.sides(family, scheme, sums, counts, smoothing)


def solved(stats, family, scheme, penalty=None, smoothing=1.0):
    """The path, and the dispersions."""
    reference = 0 if scheme == "reference" else None
    path = snb.solve(stats, FAMILIES[family], penalty, scheme=scheme, smoothing=smoothing, reference=reference)
    of_scheme = as_scheme("joint", stats.classes, None, stats.multilabel)
    return path, Problem(stats, FAMILIES[family], of_scheme, smoothing).parts[0].phi()


def scanned(x, y, weight):
    return snb.scan(x, y, sample_weight=weight, moments=["sum", "sum_sq", "above", "deviation"])

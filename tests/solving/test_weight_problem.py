"""A problem ready to solve: parts of one family each, priors of the classes, and which features are kept."""

import numpy as np
import pytest

import streamnb as snb
from streamnb.problem.families import as_family
from streamnb.problem.schemes import as_scheme
from streamnb.solving.weight_problem import Problem

rng = np.random.default_rng(0)
Y = np.array(["a", "b", "c"])[rng.integers(0, 3, 50)]
X = rng.poisson(0.5 + (np.unique(Y, return_inverse=True)[1][:, None] == np.arange(8) % 3)).astype(float)
STATS = snb.scan(X, Y)


def problem_of(family="poisson", stats=STATS, scheme="joint", **options):
    return Problem(stats, as_family(family), as_scheme(scheme, stats.classes, None, stats.multilabel), **options)


def test_priors_become_intercepts():
    shares = np.unique(Y, return_counts=True)[1] / 50.0
    np.testing.assert_allclose(problem_of().intercepts, np.log(shares))
    np.testing.assert_allclose(problem_of(priors=[0.5, 0.25, 0.25]).intercepts, np.log([0.5, 0.25, 0.25]))
    np.testing.assert_allclose(problem_of(scheme="ovr").intercepts, np.log(shares / (1.0 - shares)))
    unseen = snb.scan(X[Y != "c"], Y[Y != "c"], classes=["a", "b", "c"])
    np.testing.assert_array_equal(problem_of(stats=unseen, priors="uniform").intercepts, [np.log(0.5)] * 2 + [-np.inf])
    with pytest.raises(ValueError, match=r"leave no probability to the classes that have rows, \['a', 'b'\]"):
        problem_of(stats=unseen, priors=[0.0, 0.0, 1.0])

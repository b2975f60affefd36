"""Gaussian naive Bayes with variances of each class; test_drop_ins.py has it beside scikit-learn's."""

import numpy as np
import pytest

import streamnb as snb

rng = np.random.default_rng(0)
Y = np.array(["a", "b", "c"])[rng.integers(0, 3, 70)]
CODES = np.unique(Y, return_inverse=True)[1]
X = np.round(rng.normal(CODES[:, None], 1.0 + CODES[:, None], (70, 5)), 1) * (rng.random((70, 5)) < 0.7)


@pytest.mark.parametrize("shift", [0.0, 1e8])
def test_variances_far_from_zero_keep_their_digits(shift):
    values = np.array([[1.0], [2.0], [4.0], [8.0]]) + shift
    model = snb.GaussianNB(var_smoothing=0.0).fit(values, [0, 0, 1, 1])
    assert model.var_.tolist() == [[0.25], [4.0]] and model.theta_.tolist() == [[1.5 + shift], [6.0 + shift]]


def test_priors_are_given_or_shares():
    uniform = snb.GaussianNB(priors="uniform").fit(X, Y)
    assert uniform.class_prior_.tolist() == [1 / 3] * 3
    given = snb.GaussianNB(priors=[0.5, 0.25, 0.25]).fit(X, Y)
    assert given.class_prior_.tolist() == [0.5, 0.25, 0.25]
    for priors, message in (([0.5, 0.5], "must match number of classes: 3"), ([0.9, 0.9, 0.9], "priors sum to 2.7")):
        with pytest.raises(ValueError, match=message):
            snb.GaussianNB(priors=priors).fit(X, Y)
    with pytest.raises(ValueError, match=r"var_smoothing=-1\.0 should be finite and at least 0"):
        snb.GaussianNB(var_smoothing=-1.0).fit(X, Y)

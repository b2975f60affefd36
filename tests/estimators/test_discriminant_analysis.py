"""Discriminant analysis as scikit-learn has it: parameters, attributes, results; from rows of any kind."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import discriminant_analysis as theirs

import streamnb as snb

rng = np.random.default_rng(0)
Y = np.array(["ash", "birch", "cedar"])[rng.integers(0, 3, 120)]
CODES = np.unique(Y, return_inverse=True)[1]
X = rng.normal(size=(120, 5)) @ rng.normal(size=(5, 5)) + rng.normal(size=(3, 5))[CODES]
PREDICTIONS = "predict_proba", "decision_function"
LINEAR = [
    {"solver": solver, "shrinkage": shrinkage, "priors": priors, "store_covariance": True}
    for solver in ("svd", "lsqr", "eigen")
    for shrinkage in ((None,) if solver == "svd" else (None, 0.3))
    for priors in (None, [0.2, 0.3, 0.5])
]
QUADRATIC = [
    {"solver": solver, **more, "priors": priors, "store_covariance": True}
    for solver, more in (("svd", {}), ("svd", {"reg_param": 0.2}), ("eigen", {}), ("eigen", {"shrinkage": 0.3}))
    for priors in (None, [0.2, 0.3, 0.5])
]


def close(a, b):
    np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("options", LINEAR, ids=str)
def test_linear_results_are_scikit_learns(options):
    for y in (Y, Y == "ash") if options["priors"] is None else (Y,):
        ours = snb.LinearDiscriminantAnalysis(**options).fit(X, y)
        other = theirs.LinearDiscriminantAnalysis(**options).fit(X, y)
        for name in ("coef_", "intercept_", "means_", "priors_", "covariance_", "xbar_", "explained_variance_ratio_"):
            assert hasattr(ours, name) == hasattr(other, name), name
            if hasattr(other, name):
                close(getattr(ours, name), getattr(other, name))
        for name in PREDICTIONS:
            close(getattr(ours, name)(X), getattr(other, name)(X))
        if options["solver"] != "lsqr":
            close(abs(ours.transform(sp.csr_array(X))), abs(other.transform(X)))
            assert ours.get_feature_names_out().tolist() == other.get_feature_names_out().tolist()


@pytest.mark.parametrize("options", QUADRATIC, ids=str)
def test_quadratic_results_are_scikit_learns(options):
    for y in (Y, Y == "ash") if options["priors"] is None else (Y,):
        ours = snb.QuadraticDiscriminantAnalysis(**options).fit(X, y)
        other = theirs.QuadraticDiscriminantAnalysis(**options).fit(X, y)
        for name in ("means_", "priors_", "scalings_"):
            close(getattr(ours, name), getattr(other, name))
        if "reg_param" not in options:  # scikit-learn's rotations of it are those of rows, not of columns
            close(ours.covariance_, other.covariance_)
        close(np.abs(ours.rotations_), np.abs(other.rotations_))
        for name in PREDICTIONS:
            close(getattr(ours, name)(sp.csr_array(X)), getattr(other, name)(X))


def test_components_are_as_many_as_asked_for_and_constant_columns_change_nothing():
    one = snb.LinearDiscriminantAnalysis(n_components=1).fit(X, Y)
    assert one.transform(X).shape == (120, 1) and one.explained_variance_ratio_.shape == (1,)
    assert one.refit(n_components=2).transform(X).shape == (120, 2)
    still = np.insert(X, 2, 0.1, axis=1)
    close(
        snb.LinearDiscriminantAnalysis().fit(still, Y).predict_proba(still),
        snb.LinearDiscriminantAnalysis().fit(X, Y).predict_proba(X),
    )


def test_without_singular_values_there_is_no_transform():
    with pytest.raises(NotImplementedError, match="transform not implemented for 'lsqr'"):
        snb.LinearDiscriminantAnalysis("lsqr").fit(X, Y).transform(X)

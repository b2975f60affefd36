"""Covariances from sums of products, by NumPy, and the directions that diagonalise them."""

import numpy as np
import pytest

import streamnb as snb
from streamnb.solving.normal_models import Covariances

rng = np.random.default_rng(0)
Y = rng.integers(0, 3, 90)
X = (rng.normal(size=(90, 4)) @ rng.normal(size=(4, 4)) + rng.normal(size=(3, 4))[Y]) * [1.0, 1e-4, 1e5, 1.0]
X = np.insert(X, 2, 7.0, axis=1)
OWN = np.stack([np.cov(X[k == Y].T, bias=True) for k in range(3)])


def test_factors_in_tridiagonal_directions_stand_for_eigenvalues():
    known, points = Covariances(snb.scan(X, Y, moments=["sum", "gram"])), tuple((0.3, g) for g in (0.0, 1e-3, 0.5))
    (basis,) = known.bases(points[1:], factored=True)
    steep = list(
        known.bases(points, factored=True)
    )  # scales differ: without shrinkage digits are those of correlations
    assert basis.lower is not None and [one.lower is None for one in steep] == [False, True]
    level = X[:, [0, 4]] / X[:, [0, 4]].std(axis=0)
    (together,) = Covariances(snb.scan(level, Y, moments=["sum", "gram"])).bases(points, factored=True)
    assert together.points == [0, 1, 2] and together.lower is not None
    z = rng.normal(size=(6, 4)) * OWN[0][np.ix_(known.kept, known.kept)].diagonal() ** 0.5
    for p in (1, 2):
        (alone,) = known.bases(points[p : p + 1])
        for k in range(3):
            y = z @ basis.axes[k]
            for j in range(1, 4):
                y[:, j] += basis.lower[k, j, p - 1] * y[:, j - 1]
            expected = (z @ alone.axes[k]) ** 2 @ alone.inverse[k, :, 0]
            np.testing.assert_allclose(y**2 @ basis.inverse[k, :, p - 1], expected, rtol=1e-9)
        np.testing.assert_allclose(basis.log_dets[:, p - 1], alone.log_dets[:, 0], rtol=1e-12)


def test_what_rounding_leaves_of_a_class_that_does_not_vary_is_no_covariance():
    x, y = 1e3 + np.random.default_rng(0).normal(size=(60, 6)), np.arange(60) % 2
    x[y == 0] = x[0]  # products less those of means leave eigenvalues below 0
    known, points = Covariances(snb.scan(x, y, moments=["sum", "gram"])), ((0.0, 1e-6), (0.0, 1e-2))
    assert np.linalg.eigvalsh(known.own[0])[0] < 0.0
    for asked in (points, points[:1]):
        (basis,) = known.bases(asked, factored=True)
        assert basis.lower is None and (basis.inverse > 0.0).all() and np.isfinite(basis.log_dets).all()


def test_covariances_without_inverse_are_named():
    known = Covariances(snb.scan(np.c_[X, X[:, 0]], Y, moments=["sum", "gram"]))
    assert all(
        np.isnan(basis.inverse[:, :, 0]).all() and not np.isnan(basis.inverse[:, :, 1:]).any()
        for basis in known.bases(((0.0, 0.0), (0.0, 0.1)))
        if 0 in basis.points and len(basis.points) > 1
    )
    with pytest.raises(ValueError, match=r"of class 0 has no inverse: it has \d+ rows for 5 features"):
        known.refuse_singular((0.0, 0.0))
    with pytest.raises(ValueError, match="pooled over the classes has no inverse"):
        known.refuse_singular((1.0, 0.0))
    with pytest.raises(ValueError, match="have no covariance of each"):
        _ = Covariances(snb.scan(X, Y, moments=["sum", "gram"], pooled=True)).own

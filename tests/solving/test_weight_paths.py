"""All models of a grid, asked for one by one, by columns, by rows, and from a file: the same weights."""

import numpy as np
import pytest

import streamnb as snb
from streamnb.solving import weight_paths
from streamnb.solving.weight_paths import weight_path

rng = np.random.default_rng(0)
Y = rng.integers(0, 3, 60)
X = rng.poisson(rng.gamma(1.0, 1.0, (3, 10))[Y]).astype(float)
STATS = snb.scan(X, Y)
MIXED = snb.Mixed({"bernoulli": [1, 4], "poisson": [0, 2, 5, 6, 8], "gaussian": [3, 7, 9]})
PENALTIES = {
    "none": None,
    "l1": snb.L1([0.5, 2.0, 8.0]),
    "l1 + l2": snb.L2([0.1, 3.0]) + snb.L1([0.5, 2.0], scale="score"),
    "top k": snb.TopK([2, 5]),
    "decorrelation": snb.Decorrelation([0.1, 0.2], scale="curvature"),
}


@pytest.fixture(params=["poisson", "multinomial", MIXED], ids=str)
def family(request):
    return request.param


def path_of(family, penalty, **options):
    return weight_path(STATS, family, PENALTIES[penalty], **options)


def test_a_grid_is_a_product_the_slowest_first():
    path = weight_path(STATS, "poisson", snb.TopK([1, 3]) + snb.L2([2.0, 1.0]) + snb.L1([0.5]))
    assert path.grid == [{"l1": 0.5, "l2": l2, "top_k": k} for l2 in (1.0, 2.0) for k in (1.0, 3.0)]
    assert len(path) == 4 and weight_path(STATS, "poisson", None).grid == [{}]
    assert repr(path).startswith("<WeightPath: 4 models of Poisson() under ") and repr(path).endswith("joint>")


@pytest.mark.parametrize("penalty", ["none", "l1", "l1 + l2", "top k"])
def test_weights_of_some_features_are_those_of_the_model(family, penalty):
    path, columns = path_of(family, penalty), np.array([7, 1, 2])
    for i in range(len(path)):
        coef = path[i].coef_
        np.testing.assert_array_equal(path.weights(i), coef)
        np.testing.assert_array_equal(path.weights(i, columns), coef[:, columns])
        np.testing.assert_array_equal(path.weights(i - len(path), slice(2, 6), row=1), coef[1, 2:6])
        assert path.n_features[i] == coef.any(axis=0).sum()
        np.testing.assert_array_equal(path.n_features_per_class[i], np.count_nonzero(coef, axis=1))
    assert not path.saturated.any()


@pytest.mark.parametrize("penalty", ["none", "l1", "l1 + l2", "top k"])
def test_all_points_at_once_are_each_alone(family, penalty, monkeypatch):
    monkeypatch.setattr(weight_paths, "GRID_BLOCK", 12)
    path = path_of(family, penalty)
    G, R = len(path), path.n_rows
    coefs = np.stack([path[i].coef_ for i in range(G)])
    found, met = np.full((G, R, 10), np.nan), 0
    for columns, weights in path.by_columns():
        found[:, :, columns] = weights.toarray().T.reshape(G, R, -1)
        assert (weights.data != 0.0).all()
        met += 1
    assert met > 1
    np.testing.assert_allclose(found, coefs, rtol=1e-12)
    some = np.array([9, 0, 4])
    weights, _ = path.grid_weights(some)
    np.testing.assert_allclose(weights.toarray().T.reshape(G, R, -1), coefs[:, :, some], rtol=1e-12)
    _, shifts = path.grid_weights(slice(None))
    np.testing.assert_allclose(path.intercepts + shifts, [path[i].intercept_ for i in range(G)], rtol=1e-12)


def test_a_row_of_weights_that_others_pull_at():
    path = weight_path(STATS, "poisson", PENALTIES["decorrelation"])
    np.testing.assert_array_equal(path.weights(1, np.array([3, 8]), row=2), path[1].coef_[2, [3, 8]])


def test_threads_change_no_bit(family, monkeypatch):
    monkeypatch.setattr("streamnb.solving.parts.BLOCK", 6)
    for penalty in PENALTIES if family == "poisson" else ("none", "l1", "l1 + l2", "top k"):
        one, two = (path_of(family, penalty, n_threads=n)[-1] for n in (1, 2))
        np.testing.assert_array_equal(one.coef_, two.coef_)
        np.testing.assert_array_equal(one.intercept_, two.intercept_)


def test_breakpoints_are_where_weights_end(family):
    path = path_of(family, "none")
    breaks = path.breakpoints("score")
    np.testing.assert_array_equal(breaks, np.max([path.breakpoints("score", row) for row in range(3)], axis=0))
    if family != "multinomial":
        tau = np.sort(breaks)[6]
        assert weight_path(STATS, family, snb.L1(tau, "score")).n_features.tolist() == [3]


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (lambda: weight_path(STATS, "poisson", None)[1], IndexError, "the path has 1 points; 1 is not one of them"),
        (lambda: weight_path(STATS, "poisson", None)[-2], IndexError, "-2 is not one of them"),
        (lambda: weight_path(STATS, "poisson", None)[:1], TypeError, "taken one at a time, by a number"),
        (lambda: weight_path(STATS, "poisson", None).breakpoints("z"), ValueError, "scale='z' is unknown"),
        (
            lambda: weight_path(STATS, "poisson", snb.TopK(11)),
            ValueError,
            r"TopK\(k=11\) keeps more features than the 10",
        ),
        (lambda: weight_path(X, "poisson", None), TypeError, "ClassStats"),
        (lambda: weight_path(STATS, "poisson", None, n_threads=0), ValueError, "n_threads=0"),
        (lambda: weight_path(snb.scan(X, np.zeros(60)), "poisson", None), ValueError, "needs at least 2 classes"),
        (lambda: weight_path(STATS * 0.0, "poisson", None), ValueError, "stats hold no row with any weight"),
        (
            lambda: weight_path(STATS, "poisson", snb.L1(np.arange(1500.0)) + snb.L2(np.arange(1500.0))),
            ValueError,
            "a grid of 2,250,000 points, more than 1,048,576",
        ),
    ],
)
def test_what_is_no_path_or_no_point(wrong, error, message):
    with pytest.raises(error, match=message):
        wrong()

"""Features come in where the models of the path have them first, with the weights that these have."""

import numpy as np
import pytest

import streamnb as snb

rng = np.random.default_rng(5)
X, Y = rng.poisson(1.0, (60, 12)), rng.integers(0, 3, 60)
STATS = snb.scan(X, Y)


MIXED = snb.Mixed({"poisson": slice(0, 5), "bernoulli": ...})


@pytest.mark.parametrize("family", ["poisson", MIXED])
@pytest.mark.parametrize("by", ["weight", "score"])
def test_points_and_weights_are_those_of_the_path(family, by):
    path = snb.solve(
        snb.LinearNB(family).fit(np.minimum(X, 1), Y).stats_, family, snb.TopK([2, 5, 9], by=by), scheme="ovr"
    )
    found = path.entering()
    for point, model in enumerate(path):
        np.testing.assert_array_equal(model.coef_, found.weights * (found.points <= point))
    assert path.n_features_per_class.tolist() == [[2] * 3, [5] * 3, [9] * 3]
    assert path.n_features.tolist() == [np.count_nonzero((model.coef_ != 0).any(axis=0)) for model in path]


def test_what_does_not_come_in_one_by_one():
    """Other penalties beside it, numbers of each class, weights that depend on those that are kept."""
    for family, penalty in (
        ("poisson", snb.TopK([2, 5]) + snb.L2(1.0)),
        ("poisson", snb.TopK({0: 2, 1: 3, 2: 1})),
        ("poisson", None),
        ("multinomial", snb.TopK([2, 5])),
    ):
        assert snb.solve(STATS, family, penalty, scheme="ovr").entering() is None

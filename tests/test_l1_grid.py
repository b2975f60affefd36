"""All points of an L1 grid at once are the points one by one."""

import numpy as np
import pytest

import streamnb as snb
from tests.cross_validated import problem

GRIDS = {"plain": snb.L1([0.0, 0.3, 2.0, 500.0]), "score": snb.L1([0.0, 0.5, 1.5, 400.0], scale="score")}
FAMILIES = ["poisson", "gaussian", "bernoulli", "multinomial", snb.Mixed({"poisson": [0, 2], "bernoulli": ...})]


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("family", FAMILIES, ids=str)
@pytest.mark.parametrize(("n_classes", "scheme"), [(2, "joint"), (3, "joint"), (3, "ovr"), (3, "ovo")])
def test_weights_and_counts_of_all_points_are_those_of_each(family, grid, n_classes, scheme):
    x, y, weight = problem(7, n_classes)
    path = snb.solve(snb.scan(x, y, sample_weight=weight), family, GRIDS[grid], scheme=scheme)
    weights, shifts = path.grid_weights(slice(None))
    assert weights.has_sorted_indices and weights.data.all()
    by_point = weights.toarray().reshape(x.shape[1], len(path), path.n_rows)
    for i, model in enumerate(path):
        assert (model.coef_ == by_point[:, i].T).all()
        np.testing.assert_allclose(path.intercepts + shifts[i], model.intercept_, rtol=1e-12, atol=1e-12)
        assert (path.n_features_per_class[i] == np.count_nonzero(model.coef_, axis=1)).all()
        assert path.n_features[i] == np.count_nonzero(model.coef_.any(axis=0))
    assert path.n_features[0] > path.n_features[-1] == 0


@pytest.mark.parametrize("penalty", [GRIDS["score"], snb.L2([0.5, 2.0]), snb.TopK([1, 3])], ids=str)
@pytest.mark.parametrize("family", ["poisson", FAMILIES[-1]], ids=str)
def test_blocks_of_columns_hold_the_weights_of_all_points(family, penalty):
    x, y, _ = problem(8, 3)
    path = snb.solve(snb.scan(x, y), family, penalty)
    weights = np.zeros((x.shape[1], len(path), path.n_rows))
    for columns, block in path.by_columns():
        weights[columns] = block.toarray().reshape(-1, len(path), path.n_rows)
    assert (weights.transpose(1, 2, 0) == np.stack([model.coef_ for model in path])).all()

"""All points of an L1 grid at once are the points one by one."""

import numpy as np
import pytest

import streamnb as snb
from streamnb.solving import l1_grid, weight_paths
from tests.support.cross_validated import problem

GRIDS = {"plain": snb.L1([0.0, 0.3, 2.0, 500.0]), "score": snb.L1([0.0, 0.5, 1.5, 400.0], scale="score")}
FAMILIES = ["poisson", "gaussian", "bernoulli", "multinomial", snb.Mixed({"poisson": [0, 2], "bernoulli": ...})]


def assert_all_points_are_each_alone(path):
    weights, shifts = path.grid_weights(slice(None))
    assert weights.has_sorted_indices and weights.data.all()
    by_point = weights.toarray().reshape(-1, len(path), path.n_rows)
    for i, model in enumerate(path):
        assert (model.coef_ == by_point[:, i].T).all()
        np.testing.assert_allclose(path.intercepts + shifts[i], model.intercept_, rtol=1e-12, atol=1e-12)
        assert (path.n_features_per_class[i] == np.count_nonzero(model.coef_, axis=1)).all()
        assert path.n_features[i] == np.count_nonzero(model.coef_.any(axis=0))


@pytest.mark.parametrize("grid", GRIDS)
@pytest.mark.parametrize("family", FAMILIES, ids=str)
@pytest.mark.parametrize(("n_classes", "scheme"), [(2, "joint"), (3, "joint"), (3, "ovr"), (3, "ovo")])
def test_weights_and_counts_of_all_points_are_those_of_each(family, grid, n_classes, scheme):
    x, y, weight = problem(7, n_classes)
    path = snb.solve(snb.scan(x, y, sample_weight=weight), family, GRIDS[grid], scheme=scheme)
    assert_all_points_are_each_alone(path)
    assert path.n_features[0] > path.n_features[-1] == 0


@pytest.mark.parametrize("family", ["gaussian", "multinomial", FAMILIES[-1]], ids=str)
def test_weights_of_features_count_in_all_points_as_in_each(family):
    x, y, weight = problem(7, 3)
    stats, counted = snb.scan(x, y, sample_weight=weight), np.array([0.0, 2.0, 0.5, *np.ones(x.shape[1] - 3)])
    breaks = snb.solve(stats, family, GRIDS["plain"], scheme="ovr").breakpoints()
    taus = snb.L1([0.0, *np.nextafter(np.unique(breaks[breaks > 0.0]), 0.0)])  # rounding may leave nothing of a weight
    path, alike = (snb.solve(stats, family, taus, scheme="ovr", feature_weight=given) for given in (counted, None))
    assert_all_points_are_each_alone(path)
    for one, other in zip(path, alike, strict=True):
        np.testing.assert_array_equal(one.coef_, other.coef_ * counted)


@pytest.mark.parametrize(("grid", "scheme"), [("plain", "joint"), ("score", "ovr")])
@pytest.mark.parametrize("family", [*FAMILIES, "gamma"], ids=str)
def test_weights_are_the_same_in_pieces_and_blocks_of_any_size_and_by_any_number_of_threads(
    family, grid, scheme, monkeypatch
):
    x, y, weight = problem(7, 3)
    stats = snb.scan(x + (family == "gamma"), y, sample_weight=weight, moments=None)
    whole = {}
    for n_threads, piece, block in ((1, 1 << 15, 1 << 21), (1, 1, 1), (3, 5, 40)):
        monkeypatch.setattr(l1_grid, "PIECE", piece)
        monkeypatch.setattr(weight_paths, "GRID_BLOCK", block)
        path = snb.solve(stats, family, GRIDS[grid], scheme=scheme, n_threads=n_threads)
        weights, shifts = path.grid_weights(slice(None))
        found = np.zeros(weights.shape)
        for columns, some in path.by_columns():
            assert some.has_canonical_format
            found[columns] = some.toarray()
        whole[n_threads, piece] = found
        assert (found == weights.toarray()).all()
        for i, model in enumerate(path):
            np.testing.assert_allclose(path.intercepts + shifts[i], model.intercept_, rtol=1e-12, atol=1e-12)
    first, *others = whole.values()
    assert all((first == other).all() for other in others)

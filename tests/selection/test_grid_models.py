"""All models of a path score rows together as each does alone."""

import numpy as np
import pytest
import scipy.sparse as sp

import streamnb as snb
from streamnb.rows.boundary import as_chunk
from streamnb.selection import grid_models
from streamnb.selection.grid_models import GridModels

rng = np.random.default_rng(0)
Y = rng.integers(0, 3, 50)
X = rng.poisson(rng.gamma(1.0, 1.0, (3, 9))[Y]).astype(float)
STATS = snb.scan(X, Y)
PENALTY = snb.L1([0.0, 0.5, 2.0, 50.0])
ROWS = np.array([3, 0, 11, 49])
LOTS = 1 << 24


def path_of(family="poisson", stats=STATS, **options):
    return snb.solve(stats, family, PENALTY, **options)


def chunk_of(path, x):
    chunk, survey = as_chunk(x)
    return path.shell().prepared(chunk, survey)


@pytest.mark.parametrize("most_bytes", [LOTS, 0], ids=["kept ready", "by columns"])
@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(
    ("family", "options"),
    [("poisson", {}), ("poisson", {"idf": True, "scheme": "ovr"}), ("bernoulli", {"scheme": "ovo"}), ("gaussian", {})],
)
def test_margins_are_those_of_each_model(family, options, storage, most_bytes, monkeypatch):
    path = path_of(family, **options)
    if not most_bytes:
        monkeypatch.setattr(grid_models, "MARGINS", 40)  # a few columns at a time
    models = GridModels(path, most_bytes, decide=False)
    assert models.shape == (4, path.n_rows) and models.by_columns == (not most_bytes)
    assert (models.nbytes > 0) == bool(most_bytes) and models.decider is None
    found = models.margins(chunk_of(path, storage(X)), ROWS, models.room(len(ROWS) + 1))
    assert found.shape[:2] == (4, path.n_rows) and found.shape[2] >= len(path)
    chunk, survey = as_chunk(storage(X))
    for g in range(len(path)):
        alone = path[g].margins(path[g].prepared(chunk, survey), survey)
        np.testing.assert_allclose(found[:, :, g], alone[ROWS], rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("most_bytes", [LOTS, 0], ids=["kept ready", "by columns"])
def test_scores_of_a_row_do_not_depend_on_the_rows_beside_it(most_bytes, monkeypatch):
    """To the last bit: which of many rows are tied must not depend on how they come."""
    monkeypatch.setattr(grid_models, "MARGINS", 100)  # a few columns at a time
    path = path_of()
    models, chunk = GridModels(path, most_bytes, decide=False), chunk_of(path, sp.csr_array(X))
    together = models.margins(chunk, np.arange(len(X)), models.room(len(X)))
    for row in range(len(X)):
        np.testing.assert_array_equal(models.margins(chunk, np.array([row]), models.room(1))[0], together[row])


@pytest.mark.parametrize("scheme", ["joint", "ovr", "reference"])
def test_where_only_decisions_count_they_are_those_of_each_model(scheme):
    path = path_of(scheme=scheme, reference=1 if scheme == "reference" else None)
    models = GridModels(path, LOTS, decide=True)
    assert models.decider is not None and models.nbytes > 0 and not models.by_columns
    decided = models.decider.decide(chunk_of(path, X), ROWS, screened=True)
    for g in range(len(path)):
        np.testing.assert_array_equal(path.shell().classes_[decided[:, g]], path[g].predict(X[ROWS]))


def test_votes_and_weights_without_room_are_not_decided_in_single_precision():
    assert GridModels(path_of(scheme="ovo"), LOTS, decide=True).decider is None
    models = GridModels(path_of(), 0, decide=True)
    assert models.decider is None and models.by_columns and models.nbytes == 0


def test_absent_features_count_in_the_intercepts():
    path = snb.solve(snb.scan(X, Y, binarize=-0.5), "bernoulli", PENALTY)  # zeros are present there
    models = GridModels(path, LOTS, decide=False)
    found = models.margins(chunk_of(path, sp.csr_array(X)), np.arange(50), models.room(50))
    for g in range(len(path)):
        np.testing.assert_allclose(found[:, :, g], path[g].decision_function(X), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("n_points", [3, 40])
@pytest.mark.parametrize(("family", "idf"), [("poisson", True), (snb.Laplace(2.0), False)], ids=str)
def test_the_model_of_a_point_is_out_of_the_tables_what_it_is_on_the_path(family, idf, n_points):
    rng = np.random.default_rng(3)
    x, y = rng.poisson(1.0, (60, 9)).astype(float), np.arange(60) % 3
    stats = snb.scan(x, y, moments=["sum", "nonzero", "deviation"], centre=2.0)
    path = snb.solve(stats, family, snb.L1(n_taus=n_points), idf=idf)
    models = GridModels(path, 1 << 20, False)
    for point in (0, len(path) // 2, len(path) - 1):
        model = models.of_point(point)
        np.testing.assert_allclose(model.decision_function(x), path[point].decision_function(x), rtol=1e-12, atol=1e-12)
    assert GridModels(path, 1, False).of_point(0) is None

"""Weights of the cells that rows touch: those of a model that holds all of them."""

import numpy as np
import pytest
import scipy.sparse as sp

import streamnb as snb
from streamnb.models import on_demand
from streamnb.problem.families import as_family
from streamnb.problem.penalties import Pull
from streamnb.problem.schemes import as_scheme
from streamnb.rows.boundary import as_chunk
from streamnb.solving.weight_paths import CellWeights, cell_model, weight_path
from streamnb.solving.weight_problem import Problem
from streamnb.stats.sparse_tables import SparseTable

K, N = 8, 30
rng = np.random.default_rng(0)
Y = np.concatenate([np.arange(K), np.arange(K), [0, 1, 2]])
X = rng.poisson(0.15, (len(Y), N)).astype(float)
X[:, 4] = 1.0  # every class has it: no cell is empty
DENSE = snb.scan(X, Y, classes=range(K + 1))  # the last class has no rows
SPARSE = DENSE.with_tables(SparseTable.of)


def problem_of(family="poisson", stats=SPARSE, scheme="joint", **options):
    return Problem(stats, as_family(family), as_scheme(scheme, stats.classes), memory_limit=1, **options)


@pytest.mark.parametrize("pull", [Pull(), Pull(l1=0.3), Pull(l1=0.5, scored=True, l2=0.4)])
@pytest.mark.parametrize("scheme", ["joint", "ovr"])
@pytest.mark.parametrize("family", ["poisson", "bernoulli"])
def test_empty_cells_and_more_are_all_weights(family, scheme, pull):
    (part,) = problem_of(family, scheme=scheme).parts
    (held,) = problem_of(family, DENSE, scheme).parts
    weights, shifts = held.of_rows(slice(None))[1].solved(pull)
    for columns in (np.arange(N), np.array([4, 11]), np.array([], int)):
        cells = CellWeights.of(part, pull, columns)
        assert cells.empty.shape == (len(part.kinds[0]), len(columns)) and cells.more.shape == (len(columns), K + 1)
        np.testing.assert_allclose(cells.empty[cells.kind] + cells.more.T, weights[:, columns], atol=1e-12)
        np.testing.assert_allclose(cells.shifts, shifts[:, columns].sum(axis=1), atol=1e-12)
        assert cells.more.nnz == np.count_nonzero(DENSE.sum[:, columns])  # no other cell is looked at


@pytest.mark.parametrize("options", [{}, {"idf": True}, {"scheme": "ovr"}], ids=str)
@pytest.mark.parametrize("family", ["poisson", "multinomial"])
def test_margins_are_those_of_the_model_that_holds_its_weights(family, options, monkeypatch):
    held = weight_path(DENSE, family, None, **options)[0]
    problem = problem_of(family, **options)
    chunk, survey = as_chunk(sp.csr_array(X))
    for numbers in (1 << 22, 7):  # and a few columns at a time
        monkeypatch.setattr(on_demand, "NUMBERS", numbers)
        model = cell_model(problem, Pull(), weight_path(SPARSE, family, None, **options).shell())
        np.testing.assert_allclose(model.intercept_, held.intercept_, rtol=1e-10)
        np.testing.assert_allclose(model.margins(chunk, survey), held.margins(chunk, survey), rtol=1e-9, atol=1e-12)
    assert model.n_kinds == len(problem.parts[0].kinds[0]) and "computed when needed" in repr(model)


@pytest.mark.parametrize(
    ("problem", "pull"),
    [
        (problem_of(snb.Mixed({"poisson": [0], "bernoulli": ...})), Pull()),
        (problem_of(scheme="ovo"), Pull()),
        (problem_of("multinomial"), Pull(l1=1.0)),
        (problem_of(), Pull(top_k=3)),
        (problem_of(), Pull(decorrelation=0.1)),
        (problem_of(smoothing=snb.GammaPrior(2.0, 1.0), estimate="map"), Pull()),
    ],
)
def test_weights_that_do_not_follow_from_the_cells_are_refused(problem, pull):
    shell = weight_path(DENSE, "poisson", None).shell()
    message = rf"weights of {problem.n_rows} classes and 30 features would take .*scheme='joint' or 'ovr'"
    with pytest.raises(MemoryError, match=message):
        cell_model(problem, pull, shell)


def test_a_large_problem_has_such_a_model_at_each_point():
    path = weight_path(SPARSE, "poisson", snb.L1([0.2, 1.0]), memory_limit=1)
    held = weight_path(DENSE, "poisson", snb.L1([0.2, 1.0]))
    np.testing.assert_allclose(path[1].decision_function(X), held[1].decision_function(X), rtol=1e-9)
    with pytest.raises(MemoryError, match="coef_ would take"):
        _ = path[1].coef_

"""A problem ready to solve: parts of one family each, priors of the classes, and which features are kept."""

import numpy as np
import pytest

import streamnb as snb
from streamnb.problem.families import as_family
from streamnb.problem.penalties import Pull
from streamnb.problem.schemes import as_scheme
from streamnb.solving.weight_problem import Problem
from streamnb.stats.sparse_tables import SparseTable

rng = np.random.default_rng(0)
Y = np.array(["a", "b", "c"])[rng.integers(0, 3, 50)]
X = rng.poisson(0.5 + (np.unique(Y, return_inverse=True)[1][:, None] == np.arange(8) % 3)).astype(float)
STATS = snb.scan(X, Y)
MIXED = snb.Mixed({"bernoulli": [1, 4], "poisson": [0, 2, 5, 6], "gaussian": [3, 7]})


def problem_of(family="poisson", stats=STATS, scheme="joint", **options):
    return Problem(stats, as_family(family), as_scheme(scheme, stats.classes, None, stats.multilabel), **options)


def test_parts_have_all_features_once():
    problem = problem_of(MIXED)
    assert [part.family.name for part in problem.parts] == ["bernoulli", "poisson", "gaussian"]
    assert sorted(np.concatenate([np.arange(8)[block.columns] for block in problem.blocks])) == [*range(8)]
    assert {name: columns.tolist() for name, columns in problem.moments.items()} == {
        "above": [1, 4],
        "sum": [0, 2, 3, 5, 6, 7],
    }
    assert problem_of().moments == {"sum": None} and problem.second is None


@pytest.mark.parametrize("family", ["poisson", MIXED], ids=str)
@pytest.mark.parametrize("columns", [slice(None), slice(2, 6), np.array([7, 1, 3, 0])], ids=str)
def test_pieces_say_where_their_features_stand(family, columns):
    problem = problem_of(family)
    whole, out = np.empty((3, 8)), np.full((3, len(np.arange(8)[columns])), np.nan)
    for block in problem.blocks:
        whole[:, block.columns] = block.equations().solved(Pull())[0]
    for block, at in problem.pieces(columns):
        out[:, at] = block.equations().solved(Pull())[0]
    np.testing.assert_array_equal(out, whole[:, columns])


def test_priors_become_intercepts():
    shares = np.unique(Y, return_counts=True)[1] / 50.0
    np.testing.assert_allclose(problem_of().intercepts, np.log(shares))
    np.testing.assert_allclose(problem_of(priors=[0.5, 0.25, 0.25]).intercepts, np.log([0.5, 0.25, 0.25]))
    np.testing.assert_allclose(problem_of(scheme="ovr").intercepts, np.log(shares / (1.0 - shares)))
    unseen = snb.scan(X[Y != "c"], Y[Y != "c"], classes=["a", "b", "c"])
    np.testing.assert_array_equal(problem_of(stats=unseen, priors="uniform").intercepts, [np.log(0.5)] * 2 + [-np.inf])
    with pytest.raises(ValueError, match=r"leave no probability to the classes that have rows, \['a', 'b'\]"):
        problem_of(stats=unseen, priors=[0.0, 0.0, 1.0])


def test_idf_is_gathered_from_the_parts():
    assert problem_of().scale is None
    df = np.count_nonzero(X, axis=0)
    np.testing.assert_allclose(problem_of(idf=True).scale, np.log(51.0 / (1.0 + df)) + 1.0)


def test_breakpoints_are_the_largest_of_the_rows():
    problem = problem_of(MIXED)
    rows = [problem.breakpoints(True, row) for row in range(3)]
    np.testing.assert_array_equal(problem.breakpoints(True), np.max(rows, axis=0))
    sums = np.stack([X[label == Y].sum(axis=0) for label in STATS.classes]) + X.mean(axis=0)
    counts = np.unique(Y, return_counts=True)[1][:, None] + 1.0
    t_star = sums - counts * sums.sum(axis=0) / counts.sum()
    np.testing.assert_allclose(problem_of().breakpoints(False), np.abs(t_star).max(axis=0))


@pytest.mark.parametrize("by", ["weight", "score", "likelihood"])
def test_the_k_best_features_are_kept_and_the_first_of_equals(by):
    copies = np.hstack([X[:, :3], X[:, :3], X[:, 3:5]])  # features 0 to 2 twice
    problem = problem_of(stats=snb.scan(copies, Y))
    (block,) = problem.blocks
    equations = block.equations()
    merit = equations.merit(by)
    assert problem.kept(Pull(l1=1.0)) is None
    for k in (1, 3, 8):
        kept = problem.kept(Pull(top_k=k, by=by))
        best = [sorted(np.argsort(-row, kind="stable")[:k]) for row in merit]
        assert [np.flatnonzero(row).tolist() for row in kept.mark(equations, block.part, block.columns).kept] == best
    one = kept.mark(problem.parts[0].of_rows(slice(1, 2))[1], problem.parts[0], slice(None), slice(1, 2))
    assert one.kept.shape == (1, 8)


def test_weights_of_sparse_tables_are_held_where_they_fit():
    sparse = STATS.with_tables(SparseTable.of)
    needed = 8 * 3 * 8
    assert (
        problem_of(stats=sparse, memory_limit=needed - 1).on_demand
        and not problem_of(stats=sparse, memory_limit=needed).on_demand
    )
    assert not problem_of(memory_limit=1).on_demand  # dense tables take as much

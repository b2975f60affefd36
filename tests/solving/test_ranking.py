"""What TopK ranks, by brute force: features, or the columns of a category together."""

import numpy as np
import pytest

import streamnb as snb
from streamnb.problem.schemes import as_scheme
from streamnb.solving.ranking import numbers_kept
from streamnb.solving.weight_problem import Problem

rng = np.random.default_rng(2)
Y = rng.integers(0, 3, 120)
X = np.concatenate([rng.poisson(2.0, (120, 2)), np.eye(4)[(Y + rng.integers(0, 2, 120)) % 4], np.eye(2)[Y % 2]], axis=1)
FAMILY = snb.Mixed([("poisson", [0, 1]), (snb.Categorical([4, 2]), ...)])


def problem_of():
    stats = snb.scan(X, Y)
    return Problem(stats, FAMILY, as_scheme("ovr", stats.classes, None, False))


@pytest.mark.parametrize("by", ["weight", "score", "likelihood"])
def test_the_best_are_kept_and_columns_of_a_category_together(by):
    problem = problem_of()
    ranking = problem.ranking
    assert ranking.n_ranked == 4
    merit = np.concatenate([part.of_rows(slice(0, 3))[1].merit(by) for part in problem.parts], axis=1)
    come_to = np.sum if by == "likelihood" else np.max
    groups = [slice(0, 1), slice(1, 2), slice(2, 6), slice(6, 8)]
    of_groups = np.stack([come_to(merit[:, group], axis=1) for group in groups], axis=1)
    for k in range(5):
        kept = ranking.kept(by, [k] * 3)
        for part in problem.parts:
            marked = kept.mark(part.of_rows(slice(0, 3))[1], part, part.columns, slice(0, 3)).kept
            wanted = np.argsort(np.argsort(-of_groups, axis=1, kind="stable"), axis=1) < k
            wide = np.repeat(wanted, [1, 1, 4, 2], axis=1)
            np.testing.assert_array_equal(marked, wide[:, part.columns])


def test_numbers_of_each_row():
    assert numbers_kept(2, 4, lambda: ["a", "b"], 2) == [2, 2]
    assert numbers_kept({"b": 0, "a": 4}, 4, lambda: ["a", "b"], 2) == [4, 0]
    for k, said in ((5, "more features than the 4"), ({"a": 1}, "names no number"), ({"z": 1}, "for 'z'")):
        with pytest.raises(ValueError, match=said):
            numbers_kept(k, 4, lambda: ["a", "b"], 2)

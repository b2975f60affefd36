"""Points of a grid: the penalty and the pull at one, and what a file may have for one."""

import numpy as np
import pytest

import streamnb as snb
from streamnb.problem.points import at_point, loaded_point, pull_at
from streamnb.problem.pull import Pull


def test_the_penalty_and_the_pull_at_a_point():
    grid = snb.L1([0.5, 1.0], scale="score") + snb.TopK([1, 2])
    point = {"l1": 1.0, "top_k": 2}
    assert at_point(grid, point) == snb.L1(1.0, scale="score") + snb.TopK(2)
    assert pull_at(grid, point) == Pull(l1=1.0, scored=True, top_k=2, by="weight")
    assert pull_at(None, {}) == Pull()


def test_points_of_files():
    assert loaded_point({"l1": 0.5, "top_k": 3.0}) == {"l1": 0.5, "top_k": 3}  # older files
    assert type(loaded_point({"top_k": 3.0})["top_k"]) is int
    named = {"top_k": {"a": 2}, "shrinkage": "ledoit_wolf"}
    assert loaded_point(named) == named
    with pytest.raises(ValueError, match="a point of a grid has l1='x'; it should be a number"):
        loaded_point({"l1": "x"})
    with pytest.raises(ValueError, match="a point of a grid has map='x'; it should be one of"):
        loaded_point({"map": "x"})
    with pytest.raises(ValueError, match="has l2=array"):
        loaded_point({"l2": np.zeros(2)})

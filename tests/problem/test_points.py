"""Points of a grid: of penalties, of the shrinkage of covariances, and in files."""

import numpy as np
import pytest

import streamnb as snb
from streamnb.problem.points import as_maps, as_shrinkage, loaded_point, points_of


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


def test_points_are_read_in_every_form():
    assert as_shrinkage(0.5, "pooled") == ((1.0, 0.5),) and as_shrinkage(0, "full") == ((0.0, 0.0),)
    assert as_shrinkage([(0, 0.1), (1, 0), (0, 0.1)], "full") == ((0.0, 0.1), (1.0, 0.0))
    assert points_of(None, "full") == ((0.0, 0.0),) and points_of(None, "pooled") == ((1.0, 0.0),)
    assert {a for a, _ in points_of("auto", "pooled")} == {1.0} and len(points_of("auto", "full")) == 48
    family = snb.Gaussian(covariance="full", shrinkage=[(0.0, 0.5), (1.0, 0.0)])
    assert family.at({"a": 0.0, "g": 0.5}) == snb.Gaussian(covariance="full", shrinkage=(0.0, 0.5))
    assert family.moments == ("sum", "gram") and snb.Gaussian().moments == ("sum", "sum_sq")
    assert (
        repr(snb.Gaussian()) == "Gaussian(var_smoothing=1e-09, covariance='diagonal')"
        and eval(repr(family), vars(snb)) == family
    )


def test_maps_are_read_in_every_form():
    assert as_maps(None, "full") is None and as_maps("auto", "full") == "auto"
    assert as_maps([None, "log1p", "none"], "pooled") == ("none", "log1p") and as_maps("log1p", "full") == ("log1p",)
    family = snb.Gaussian(covariance="full", maps="auto")
    assert family.map_names == ("none", "log1p", "quantile_normal") and snb.Gaussian().map_names == ()
    assert family.at({"a": 0.0, "g": 0.5, "map": "log1p"}).map_names == ("log1p",) == family.with_map("log1p").maps
    assert "maps" not in repr(snb.Gaussian(covariance="full")) and eval(repr(family), vars(snb)) == family
    with pytest.raises(TypeError, match="maps=3 should be None, 'auto'"):
        as_maps(3, "full")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"covariance": "round"}, "covariance='round' is unknown"),
        ({"covariance": "full", "shrinkage": (0.5, 1.5)}, r"\(0.5, 1.5\); it should be \(a, g\), both from 0 to 1"),
        ({"covariance": "full", "shrinkage": -0.1}, "from 0 to 1"),
        ({"covariance": "full", "shrinkage": [(0.1, float("nan"))]}, "from 0 to 1"),
        ({"covariance": "full", "shrinkage": [(0.1, 0.2, 0.3)]}, "from 0 to 1"),
        ({"covariance": "full", "shrinkage": []}, "is empty"),
        ({"covariance": "full", "shrinkage": "some"}, "'auto'"),
        ({"covariance": "pooled", "shrinkage": (0.5, 0.1)}, r"has a = 1; give \(1, g\)"),
        ({"shrinkage": "auto"}, "needs covariance='pooled' or 'full'"),
        ({"shrinkage": 0.1}, "needs covariance='pooled' or 'full'"),
        ({"maps": "auto"}, "maps='auto' needs covariance='pooled' or 'full'; for 'diagonal' use transform"),
        ({"covariance": "full", "maps": "sqrt"}, "maps='sqrt' is unknown"),
        ({"covariance": "full", "maps": []}, "is empty"),
    ],
)
def test_what_is_none_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        snb.Gaussian(**options)

"""Pulls of several penalties add, and what they say of weights is the sum of what each says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamnb.problem.penalties import Pull


def bowl(w):
    """r' of a penalty that is steeper for negative weights: -1 and 2 next to zero."""
    return np.where(w > 0.0, -1.0, 2.0) - w


def cube(w):
    return -(w**3)


TAUS = st.sampled_from([0.0, 0.25, 1.0, 3.0])  # whose sums are exact
SLOPES = st.lists(st.tuples(TAUS, st.sampled_from([bowl, cube])), max_size=2).map(tuple)
KEPT = st.sampled_from([(None, "weight"), (1, "weight"), (1, "score"), (4, "likelihood")])
PULLS = st.builds(
    lambda kept, **parts: Pull(top_k=kept[0], by=kept[1], **parts),
    KEPT,
    l1=TAUS,
    scored=st.booleans(),
    l2=TAUS,
    slopes=SLOPES,
    decorrelation=TAUS,
    curved=st.booleans(),
)
W = np.array([-2.0, -0.5, 0.5, 4.0])
SD = np.array([0.5, 1.0, 2.0])


@given(PULLS, PULLS, PULLS)
def test_adding_is_associative(a, b, c):
    assert (a + b) + c == a + (b + c)


@given(PULLS)
def test_nothing_added_is_nothing_changed(pull):
    assert Pull() + pull == pull == pull + Pull()
    assert Pull().none and not Pull().smooth


@given(PULLS, PULLS)
def test_what_is_said_of_weights_adds(a, b):
    both = a + b
    np.testing.assert_array_equal(both.of_weights(W), a.of_weights(W) + b.of_weights(W))
    np.testing.assert_array_equal(both.at_zero(W), a.at_zero(W) + b.at_zero(W))
    if a.scored == b.scored:
        np.testing.assert_array_equal(both.thresholds(SD), a.thresholds(SD) + b.thresholds(SD))
    assert both.smooth == (a.smooth or b.smooth) and both.none == (a.none and b.none)


def test_thresholds_are_those_of_the_scale():
    np.testing.assert_array_equal(Pull(l1=3.0).thresholds(SD), [3.0, 3.0, 3.0])
    np.testing.assert_array_equal(Pull(l1=3.0, scored=True).thresholds(SD), [1.5, 3.0, 6.0])


def test_the_pull_of_a_weight_is_opposite_to_its_slope():
    np.testing.assert_array_equal(Pull(l2=2.0).of_weights(W), 2.0 * W)
    np.testing.assert_array_equal(Pull(slopes=((3.0, cube),)).of_weights(W), 3.0 * W**3)
    assert (Pull(l2=1.0, slopes=((0.5, bowl),)).of_weights(W) * W > 0.0).all()


def test_next_to_zero_each_side_has_its_own_slope():
    np.testing.assert_array_equal(Pull(slopes=((3.0, bowl),)).at_zero(np.array([-1.0, 1.0])), [6.0, 3.0])
    assert Pull(l1=5.0, l2=2.0).at_zero(W) == 0.0  # their parts are counted elsewhere


@pytest.mark.parametrize(
    "pull", [Pull(l1=1.0), Pull(l2=1.0), Pull(slopes=((1.0, cube),)), Pull(top_k=0), Pull(decorrelation=1.0)]
)
def test_each_part_alone_is_something(pull):
    assert not pull.none


def test_the_later_top_k_says_what_is_best():
    first, second = Pull(top_k=3, by="score"), Pull(top_k=2, by="likelihood")
    assert ((first + second).top_k, (first + second).by) == (2, "likelihood")
    assert ((first + Pull(l1=1.0)).top_k, (first + Pull(l1=1.0)).by) == (3, "score")

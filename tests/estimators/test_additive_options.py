"""Checks of the parameters of additive classifiers; their errors are those of tests/estimators/test_additive.py."""

import pytest

from streamnb.estimators.additive import check_feature, check_interactions, check_monotone, choices


def test_choices_fall_and_stand_once():
    assert choices("l2", [1.0, 3, 1], (9.0,)) == [3.0, 1.0]
    assert choices("l2", None, (1.0, 9.0)) == [9.0, 1.0]
    assert choices("l2", 2, (9.0,)) == [2.0]


def test_a_feature_by_name_or_number():
    assert check_feature("interactions", 1, ["a", "b"]) == "b"
    assert check_feature("interactions", "a", ["a", "b"]) == "a"
    with pytest.raises(ValueError, match=r"interactions has 2, .* they are"):
        check_feature("interactions", 2, ["a", "b"])


def test_what_is_right_is_left_alone():
    for given in ("auto", 0, 7, [], [("a", "b")], [["a", "b"]]):
        check_interactions("interactions", given)
    for given in (None, {}, {"a": 1, "b": -1}):
        check_monotone("monotone", given)

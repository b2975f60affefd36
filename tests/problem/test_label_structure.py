"""What follows from what: closures, circles by name, decisions and probabilities that agree with it."""

import numpy as np
import pytest

from streamnb.problem.label_structure import Nested, check_hierarchy, nested

ABOVE = {"dog": "pet", "pet": ["animal", "friend"], "cat": "pet"}


def test_what_is_above_follows_on_all_ways():
    labels, follows = nested(check_hierarchy(ABOVE), np.array(["cat", "oak"]))
    assert labels.tolist() == ["animal", "cat", "dog", "friend", "oak", "pet"]
    found = {(a, b) for a, b in zip(*np.nonzero(follows), strict=True) if a != b}
    assert found == {(0, 1), (0, 2), (0, 5), (3, 1), (3, 2), (3, 5), (5, 1), (5, 2)} and follows.diagonal().all()


def test_decisions_and_probabilities_agree_with_it():
    scheme = Nested(np.array([[True, True], [False, True]]))  # the first follows from the second
    margins = np.array([[-1.0, 2.0], [1.0, -2.0], [-1.0, -2.0]])
    assert scheme.decide(margins).tolist() == [[1, 1], [1, 0], [0, 0]]
    own = 1.0 / (1.0 + np.exp(-margins))
    np.testing.assert_allclose(np.exp(scheme.log_proba(margins)), np.column_stack([own.max(axis=1), own[:, 1]]))


@pytest.mark.parametrize(
    ("hierarchy", "words"),
    [
        ({1: 2, 2: 3, 3: 1}, "a circle, 1 -> 2 -> 3 -> 1: each would follow from itself"),
        ({"a": "a"}, "a circle, 'a' -> 'a'"),
        ({"x": "a", "a": ["top", "b"], "b": "a"}, "a circle, 'a' -> 'b' -> 'a'"),
    ],
)
def test_circles_are_refused_by_name(hierarchy, words):
    with pytest.raises(ValueError, match=words):
        check_hierarchy(hierarchy)


def test_many_ways_up_and_long_ones():
    ways = {(f"{level} {i}"): [f"{level + 1} {j}" for j in range(4)] for level in range(30) for i in range(4)}
    assert len(check_hierarchy(ways)) == 120 and len(check_hierarchy({n: n + 1 for n in range(5000)})) == 5000


def test_labels_of_another_kind_are_refused():
    with pytest.raises(ValueError, match="one kind, and have numbers and strings; y has, for one, 0"):
        nested(check_hierarchy(ABOVE), np.array([0, 1]))
    for wrong in ({}, None, [("dog", "pet")]):
        with pytest.raises(TypeError, match="should map labels to their parents, such as"):
            check_hierarchy(wrong)

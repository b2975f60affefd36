"""Labels that follow from others, and words of output codes."""

import numpy as np
import pytest

from streamnb.problem.schemes import Nested, check_code, check_hierarchy, distance, nested, random_code

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


@pytest.mark.parametrize(("n_classes", "size"), [(2, 1.0), (3, 1.5), (10, 3.0), (40, 0.5)])
def test_random_words_tell_all_classes_apart(n_classes, size):
    words = random_code(n_classes, size, 0)
    assert words.shape == (n_classes, int(n_classes * size))
    assert words.any(axis=0).all() and not words.all(axis=0).any()
    assert len(np.unique(words, axis=0)) == n_classes
    assert (words == random_code(n_classes, size, 0)).all()
    both = [(a != b).sum() for i, a in enumerate(words) for b in words[:i]]
    assert distance(words) == min(both) > 0


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ([[0, 1], [1, 2]], "a row of bits, 0 or 1, for each class"),
        ([[0, 1]], "has 1 words; it should have one for each of the 2 classes"),
        ([[0, 1], [1, 1]], "bit 1 of code is the same in all words"),
    ],
)
def test_wrong_codes_are_refused(code, words):
    with pytest.raises(ValueError, match=words):
        check_code(code, 2)


def test_words_that_cannot_differ_are_refused():
    with pytest.raises(ValueError, match="same word"):
        check_code([[0, 1], [0, 1], [1, 0]], 3)
    with pytest.raises(ValueError, match=r"makes 2 bits for 10 classes, .* it should be at least 0\.4"):
        random_code(10, 0.2, 0)

"""Words of bits: far apart, and refused where they tell nothing."""

import numpy as np
import pytest

from streamnb.problem.label_structure import check_code, distance, random_code


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

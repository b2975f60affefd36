"""Letters and words, as the kernel counts them, from call to call."""

from itertools import product

import numpy as np
import pytest

from streamnb.kernels import ngrams
from tests.support import naive


def letter(*beats):
    return "ABCDEF"[ngrams.letter(*beats)]


def test_a_letter_says_what_rose_and_what_fell():
    for (r, t), (next_r, next_t) in product(product(range(1, 6), repeat=2), repeat=2):
        assert letter(r, t, next_r, next_t) == naive.letters([r, next_r], [t, next_t])


def test_a_rounded_product_does_not_make_a_seventh_letter():
    falls = [(x, np.nextafter(x, 0.0)) for x in np.linspace(1.7, 2.0, 100)]
    tied = [(r, next_r) for r, next_r in falls if next_r * 1.2 == r * 1.2]
    assert tied  # R falls, T stays, and rounded ratios are the same
    assert {letter(r, 1.2, next_r, 1.2) for r, next_r in tied} == {"D"}


def counted(R, T, begins, order, stride, length, at):
    """Rows of counts from two calls, the second of which begins with the last beat of the first."""
    state, counts, words = np.array([0, 0, order, 0]), np.zeros(6**order, np.int32), np.zeros(6**order, np.int32)
    rows = []
    for part in (slice(0, at), slice(max(at - 1, 0), None)):
        columns, values, sizes = np.zeros(99, np.int32), np.zeros(99, np.int32), np.zeros(99, np.int64)
        arguments = R[part], T[part], begins[part], order, stride, length, state, counts, words
        n_rows = ngrams.count_words(*arguments, columns, values, sizes)
        ends = np.cumsum(sizes[:n_rows])
        rows += [
            dict(zip(columns[end - size : end].tolist(), values[end - size : end].tolist()))
            for end, size in zip(ends, sizes)
        ]
    open_row = words[: state[3]]
    return rows, dict(zip(open_row.tolist(), counts[open_row].tolist()))


@pytest.mark.parametrize("at", range(1, 7))
def test_a_call_goes_on_where_the_last_one_ended(at):
    R, T = np.array([10, 12, 11, 13, 13, 10]), np.array([80, 90, 70, 70, 80, 85])  # ABAED
    one = np.zeros(6, bool)
    assert counted(R, T, one, 3, 1, 0, at) == ([], {6: 1, 40: 1, 27: 1})
    assert counted(R, T, one, 2, 1, 2, at) == ([{1: 1}, {4: 1}], {})  # AB, AE
    assert counted(R, T, one, 2, 3, 0, at) == ([], {1: 1, 27: 1})  # AB, ED
    two = np.arange(6) == 3  # AB and ED
    assert counted(R, T, two, 1, 1, 0, at) == ([{0: 1, 1: 1}], {4: 1, 3: 1})
    assert counted(R, T, two, 1, 1, 2, at) == ([{0: 1, 1: 1}, {4: 1, 3: 1}], {})
    assert counted(R, T, np.arange(6) == 4, 1, 1, 2, at) == ([{0: 1, 1: 1}], {3: 1})  # ABA, of which A is left out


def test_counts_are_left_empty():
    R, T = np.arange(1, 30), np.ones(29, np.int64)
    counts = np.zeros(36, np.int32)
    room = np.zeros((2, 99), np.int32)
    state = np.array([0, 0, 2, 0])
    words, sizes = np.zeros(36, np.int32), np.zeros(99, np.int64)
    assert ngrams.count_words(R, T, np.zeros(29, bool), 2, 1, 7, state, counts, words, *room, sizes) == 4
    assert not counts.any() and state.tolist() == [0, 0, 2, 0]
    assert sizes[:4].tolist() == [1] * 4 and room[:, :4].tolist() == [[0] * 4, [6] * 4]  # AA six times, four times

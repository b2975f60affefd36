"""Presence as bits against presence as numbers."""

import numpy as np
import pytest

from streamnb.kernels import dense_sums

rng = np.random.default_rng(0)


@pytest.mark.parametrize("word", [0, 1, 2**63, 2**64 - 1, 0xDEADBEEF12345678])
def test_bits_of_a_word_are_counted(word):
    assert dense_sums._counted(np.uint64(word)) == word.bit_count()
    with np.errstate(over="ignore"):
        assert dense_sums._summed(np.uint64(word)) == word.bit_count()


@pytest.mark.parametrize("n_rows", [1, 64, 70])
def test_rows_that_have_two_columns_are_counted(n_rows):
    x = rng.normal(size=(n_rows + 9, 3))
    rows = rng.permutation(n_rows + 9)[:n_rows]
    words = np.full((-(-n_rows // dense_sums.WORD), 3), 2**64 - 1, np.uint64)  # whatever was there is gone
    dense_sums.pack(x, rows, 0.25, words)
    present = x[rows] > 0.25
    found = [[int(words[r // 64, j]) >> r % 64 & 1 for j in range(3)] for r in range(n_rows)]
    np.testing.assert_array_equal(found, present)
    counts = np.ones(6)
    dense_sums.count_pairs(np.ascontiguousarray(words.T), counts)
    both = present.astype(float).T @ present
    np.testing.assert_array_equal(counts, 1.0 + both[np.triu_indices(3)])

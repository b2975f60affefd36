"""Presence as bits, 64 rows of a column in one word, so that co-occurrences are counted word by word."""

import numpy as np

from streamnb.kernels.compiler import brick, flags, kernel

_PAIRS, _FOURS, _EIGHTS = (np.uint64(mask) for mask in (0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F))
_BYTES = np.uint64(0x0101010101010101)
_ONE, _TWO, _FOUR, _LAST = (np.uint64(shift) for shift in (1, 2, 4, 56))
WORD = 64  # rows


def _summed(word):
    # population count: sums of two, four and eight bits, then of all bytes; a single instruction where available
    word = word - ((word >> _ONE) & _PAIRS)
    word = (word & _FOURS) + ((word >> _TWO) & _FOURS)
    word = (word + (word >> _FOUR)) & _EIGHTS
    return (word * _BYTES) >> _LAST


def _counted(word):
    return int(word).bit_count()  # for interpreted kernels, where products would overflow


n_ones = _counted if flags.DISABLE_JIT else brick(_summed)


@kernel
def pack(values, rows, threshold, words):
    # bit r of words[w, j] = [x[rows[64 w + r], j] > threshold]
    for w in range(words.shape[0]):
        word, first = words[w], w * WORD
        word[:] = 0
        for r in range(first, min(first + WORD, len(rows))):
            x, shift = values[rows[r]], np.uint64(r - first)
            for j in range(len(word)):
                word[j] |= np.uint64(x[j] > threshold) << shift


@kernel
def count_pairs(bits, out):
    # out[(i, j)] += number of rows with both columns i <= j; bits are (n_features, n_words), cells as in products
    at = 0
    for i in range(bits.shape[0]):
        for j in range(i, bits.shape[0]):
            total = np.uint64(0)
            for w in range(bits.shape[1]):
                total += np.uint64(n_ones(bits[i, w] & bits[j, w]))
            out[at] += total
            at += 1

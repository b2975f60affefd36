"""Bytes of text, and digits eight at a time, as Python sees them."""

import numpy as np
import pytest

from streamnb.kernels.compiler import kernel
from streamnb.kernels.digits import (
    COPIED,
    STRIDE,
    copy_letters,
    digits,
    find,
    four_bytes,
    letter,
    lowest_bit,
    place,
    rotated,
    word_bits,
)


@kernel
def looked_at(text, p, stop, byte):
    where = place(text)
    return letter(where, p), digits(where, p), find(where, p, stop, byte)


@pytest.mark.parametrize("text", [b"", b"7", b"0042", b"1234567", b"12345678", b"987654321", b"12:4", b"5/", b"5\xff9"])
def test_bytes_and_digits(text):
    padded = np.frombuffer(b"\n" + text + b"\n" * 16, np.uint8).copy()
    n = next(i for i, byte in enumerate(text + b"\n") if not 48 <= byte <= 57)
    byte, counted, newline = looked_at(padded, 1, len(padded), ord("\n"))
    assert byte == padded[1] and newline == 1 + len(text)
    assert tuple(counted) == (min(n, 8), int(text[: min(n, 8)] or b"0"))
    assert looked_at(padded, 1, len(padded), ord("x"))[2] == len(padded)


@kernel
def read_words(text, p, line, at, lower):
    copy_letters(place(text), p, place(line), at, lower)
    return word_bits(place(text), p)


@kernel
def lowest(word):
    return lowest_bit(word)


@kernel
def fourth(line, at):
    return four_bytes(line, at)


@kernel
def turned(number, n):
    return rotated(number, n)


@pytest.mark.parametrize("lower", [0, 32])
def test_letters_of_words_are_told_and_copied(lower):
    text, line = np.arange(256, dtype=np.uint8), np.zeros(3 * COPIED, np.uint8)
    for p in range(0, 256 - STRIDE + 1, 7):
        letters = text[p : p + STRIDE].tobytes()
        words, others = read_words(text, p, line, COPIED, lower)
        assert [words >> j & 1 for j in range(STRIDE)] == [(c < 128 and chr(c).isalnum()) or c == 95 for c in letters]
        assert [others >> j & 1 for j in range(STRIDE)] == [c > 127 for c in letters]
        copied = letters[:COPIED].lower() if lower else letters[:COPIED]
        assert line.tobytes() == bytes(COPIED) + copied + bytes(COPIED)


def test_the_lowest_bit_rotated_bits_and_four_bytes():
    assert [lowest(word << j) for j in (0, 1, 31, 40) for word in (1, 6)] == [0, 1, 1, 2, 31, 32, 40, 41]
    assert [turned(number, 13) for number in (1, 1 << 19, (1 << 40) + 3)] == [1 << 13, 1, 3 << 13]
    line = np.array([7, 1, 2, 3, 255], np.uint8)
    assert fourth(line, 0) == 0x03020107 and fourth(line, 1) == 0xFF030201

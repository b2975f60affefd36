"""Bytes of text, and digits eight at a time, as Python sees them."""

import numpy as np
import pytest

from streamnb.kernels.compiler import kernel
from streamnb.kernels.digits import digits, find, letter, place


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

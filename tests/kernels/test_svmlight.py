"""Numbers of svmlight text are those that Python reads, and what is none is left to it; wrong lines are named."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamnb.kernels import svmlight

PLAIN = ["0", "-0", "+7", "1.", "-2.5", "0.1", "1e5", "1E-05", "12345678", "123456789.5", "0.3333333333333333"]
HARD = ["9007199254740993", "1.7976931348623157e308", "5e-324", "12345678901234567890123", "1e400", ".5", "nan", "-inf"]
numbers = st.one_of(
    st.floats(allow_nan=False).map(repr),
    st.floats(-1e6, 1e6).map(lambda x: f"{x:.{abs(hash(x)) % 18}g}"),
    st.from_regex(r"[+-]?[0-9]{1,19}(\.[0-9]{0,12})?([eE][+-]?[0-9]{1,2})?", fullmatch=True),
)


def lines(content, several=False, base=1, n_features=9):
    text = np.frombuffer(content + b"\n" * 16, np.uint8).copy()
    size = len(content)
    arrays = np.empty(size + 1), np.empty(size + 2, np.int64), np.empty(size + 2, np.int64)
    arrays += np.empty(size + 1, np.int32), np.empty(size + 1), np.empty((2 * size, 2), np.int64)
    with np.errstate(over="ignore"):  # what does not fit is said not to
        return svmlight.read_lines(text, size, several, base, n_features, *arrays), *arrays


@settings(max_examples=100)
@given(st.lists(numbers, min_size=1, max_size=20))
def test_numbers_are_rounded_as_python_rounds_them(given):
    given = [*given, *PLAIN, *HARD]
    content = b"".join(f"1 1:{number}\n".encode() for number in given)
    (n_rows, n_odd, wrong, _), _, _, indptr, _, values, odd = lines(content)
    assert n_rows == len(given) == indptr[n_rows] and wrong == svmlight.RIGHT
    left = odd[:n_odd, 0].tolist()
    assert set(left) & set(range(len(given))) == set(left) and not set(left) & {given.index(x) for x in PLAIN}
    for i, (number, value) in enumerate(zip(given, values)):
        assert i in left or value == float(number), number
    for i, begin in odd[:n_odd].tolist():
        assert content[begin:].startswith(f"{given[i]}\n".encode())


WRONG = {
    "1 2:1 2:1\n": (svmlight.FALLS, "2:1"),
    "1 3:1 2:1\n": (svmlight.FALLS, "2:1"),
    "1 0:1\n": (svmlight.FALLS, "0:1"),
    "1 10:1\n": (svmlight.TOO_HIGH, "10:1"),
    "1 99999999999999999999:1\n": (svmlight.TOO_HIGH, "9999"),
    "1 two:1\n": (svmlight.NO_FEATURE, "two:1"),
    "1 2\n": (svmlight.NO_FEATURE, "2"),
}


@pytest.mark.parametrize("line", WRONG)
def test_wrong_lines_are_named(line):
    content = b"1 1:1\n# 7\n" + line.encode()
    (n_rows, _, wrong, at), *_ = lines(content)
    how, begins = WRONG[line]
    assert (n_rows, wrong) == (1, how) and content[at:].startswith(begins.encode())


def test_a_look_tells_rows_and_indices():
    content = b"1 qid:4 3:1 17:2\n\n-1\n2 1:1 123456789:0.5\r\n"
    text = np.frombuffer(content + b"\n" * 16, np.uint8).copy()
    assert tuple(svmlight.survey_lines(text, len(content))) == (3, 1, 123456789)
    assert svmlight.survey_lines(text, len(content) - 5)[0] == 3
    assert svmlight.survey_lines(np.frombuffer(b"1 1:1 # 3:4\n" + b"\n" * 16, np.uint8), 12)[0] == -1

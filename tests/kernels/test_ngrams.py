"""Words, characters and hashes of bytes, against Python's own and scikit-learn's."""

import numpy as np
import pytest
from sklearn.utils import murmurhash3_32

from streamnb.encoding.ngrams import NGrams, hashes_of, rules
from streamnb.encoding.records import tokens
from streamnb.kernels import ngrams
from streamnb.rows.texts import of_parts, of_strings

LINES = "Ab cd, ef\n\n x y zz_9\tAB cd", "", "a", "  ", "the the the cat", "tab\t\tand \r\n line"


def test_hashes_are_those_of_scikit_learn():
    tokens = ["", "a", "ab", "abc", "abcd", "abcde", "\u00e9t\u00e9", "a longer one of 25 bytes!!"]
    for seed in (0, 1):
        expected = [murmurhash3_32(token, seed, positive=True) for token in tokens]
        assert hashes_of(tokens, seed).tolist() == expected


@pytest.mark.parametrize("grams", [NGrams((1, 2), None, 64), NGrams((2, 3), (1, 3), 64), NGrams(None, (2, 4), 2)])
def test_counts_are_those_of_the_tokens_that_python_finds(grams):
    found = grams(of_strings(LINES)).toarray()
    for line, row in zip(LINES, found):
        expected = np.zeros(grams.n_features)
        for seed, token in tokens(grams, line.encode()):
            expected[abs(murmurhash3_32(token, seed)) % grams.n_features] += 1
        assert row.tolist() == expected.tolist()


LONG = (
    "".join(map(chr, range(128))),
    "Seventeen_letters " * 5 + "x" * 70,
    "to be or not to be " * 40,
    "." * 31 + "a1" + "?" * 30 + "A2",
    "\u00c4hnlich  \u00e4hnlich and plain",
)


@pytest.mark.parametrize(
    "grams", [NGrams((1, 3), None, 1 << 20), NGrams((1, 2), (3, 3), 1 << 30, lowercase=False), NGrams((2, 2), None, 2)]
)
def test_words_are_the_same_wherever_a_text_lies(grams):
    # those with others behind them are read many letters at a time
    found = grams(of_strings([*LINES, *LONG, "-" * 40]))
    for row, line in enumerate([*LINES, *LONG]):
        columns = [abs(murmurhash3_32(token, seed)) % grams.n_features for seed, token in tokens(grams, line.encode())]
        expected, counts = np.unique(np.array(columns, int), return_counts=True)
        mine = slice(*found.indptr[row : row + 2])
        assert found.indices[mine].tolist() == expected.tolist() and found.data[mine].tolist() == counts.tolist()


def test_signs_that_cancel_leave_what_is_stored():
    grams = NGrams((1, 1), None, 2, alternate_sign=True)
    found = grams(of_strings(["ab cd ef gh ij kl mn op", "-" * 40]))
    hashes = [murmurhash3_32(token, 0) for token in ("ab", "cd", "ef", "gh", "ij", "kl", "mn", "op")]
    expected = [sum(np.sign(h) for h in hashes if abs(h) % 2 == column) for column in range(2)]
    assert found.toarray()[0].tolist() == expected and found.indices.tolist() == [0, 1]


def test_tokens_of_a_vocabulary_alone_are_counted():
    grams = NGrams((1, 2), None, vocabulary=("ab cd", "cd", "zz_9", "none such"))
    found = grams(of_strings(LINES))
    assert found.toarray()[0].tolist() == [2, 2, 1, 0] and not found[1:].nnz


def test_new_keys_are_those_of_objects_that_are_lines():
    def found(text, at=0, depth=0, known=()):
        begin, stop, code = ngrams.first_new_key(np.frombuffer(text, np.uint8), at, depth, np.array(known, np.int64))
        return text[begin:stop] if begin >= 0 else None, int(code)

    text = b'{"a": {"z": [1, "y"], "x": 2}, "b\\"c" : "e"}\n["l"]\n "d": {}\n{"a": "u'
    a, bc = found(text)[1], found(text, 6, 1)[1]
    assert found(text)[0] == b"a" and found(text, 6, 1) == (b'b\\"c', bc)
    assert found(text, known=sorted([a, bc])) == (None, 0) and found(text, known=[bc]) == (b"a", a)
    assert found(b'{"a\\') == (b"a\\", found(b'{"a\\"')[1]) and found(b"") == (None, 0)


@pytest.mark.parametrize(
    "bad", [b"\xff", b"\xc3", b"\xe2\x82", b"\xc0\x80", b"\xed\xa0\x80", b"\x80", b"\xf5\x80\x80\x80"]
)
def test_what_is_no_utf_8_is_found(bad):
    texts = of_parts([b"plain", b"a " + bad, "\u20ac \U0001f600".encode(), bad + b" b"])
    hard = np.empty(4, bool)
    ngrams.find_hard(texts.buffer, texts.starts, texts.stops, rules(True, True), hard)
    assert hard.tolist() == [False, True, False, True]

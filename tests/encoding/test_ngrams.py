"""The same tokens, columns and signs as scikit-learn's HashingVectorizer, on any Unicode."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction.text import HashingVectorizer

from streamnb.core.messages import DataError
from streamnb.encoding.ngrams import PLANES, NGrams
from streamnb.rows.texts import of_parts, of_strings
from tests.support.refusals import refused

N = 2**10
AWKWARD = st.text(
    st.sampled_from("aB9_ \t\n\x1c\xa0\u2003.\u0130\u03a3\u03c3\u1e9e\u212a\u023a\u0301\U00010400\U0001f600\u4e2d")
)
texts = st.lists(st.text() | AWKWARD, min_size=1, max_size=4)


def hashed(rows, **options):
    return HashingVectorizer(n_features=N, norm=None, **options).transform(rows).toarray()


@settings(max_examples=18, deadline=None)
@given(texts, st.booleans(), st.booleans())
def test_hypothesis_finds_no_text_that_is_hashed_otherwise(rows, lowercase, signed):
    options = {"lowercase": lowercase, "alternate_sign": signed}
    made = NGrams((1, 2), None, N, lowercase, signed)(of_strings(rows))
    np.testing.assert_array_equal(made.toarray(), hashed(rows, ngram_range=(1, 2), **options))
    made = NGrams(None, (1, 4), N, lowercase, signed)(of_strings(rows))
    np.testing.assert_array_equal(made.toarray(), hashed(rows, analyzer="char", ngram_range=(1, 4), **options))


def test_every_character_is_read_as_python_reads_it():
    codes = [c for c in (*range(0x30000), *range(0xE0000, 0xE0200)) if not 0xD800 <= c < 0xE000]
    rows = ["".join(f"a{chr(c)}b {chr(c)}{chr(c)} " for c in codes[i : i + 4096]) for i in range(0, len(codes), 4096)]
    np.testing.assert_array_equal(NGrams((1, 1), None, N, True, True)(of_strings(rows)).toarray(), hashed(rows))
    beyond = "".join(map(chr, range(PLANES, 0x110000)))
    assert beyond.lower() == beyond and not any(map(str.isalnum, beyond)) and not any(map(str.isspace, beyond))


def test_characters_beside_words_are_hashed_with_another_seed():
    both, words = NGrams((1, 1), (3, 3), N), NGrams((1, 1), None, N)
    texts = of_strings(["the other one"])
    chars = both(texts) - words(texts)
    assert chars.min() >= 0 and chars.sum() == 11
    assert not np.array_equal(chars.toarray(), NGrams(None, (3, 3), N)(texts).toarray())


def test_bytes_that_are_no_utf_8_name_their_row():
    texts = of_parts([b"fine", b"caf\xe9 bad"])
    with refused(DataError, "row 8 ", "no UTF-8", "0xe9", "errors='replace'"):
        NGrams()(texts, 7)
    replaced = NGrams((1, 1), None, N, errors="replace")(texts)
    np.testing.assert_array_equal(replaced.toarray(), hashed(["fine", "caf\ufffd bad"], alternate_sign=False))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_features": 1000}, "n_features=1000.*power of two.*512 or 1,024"),
        ({"words": None}, "words=None and chars=None"),
        ({"words": (2, 1)}, r"words=\(2, 1\).*shorter length first"),
        ({"chars": "ab"}, "chars='ab'.*shortest, longest"),
        ({"errors": "drop"}, "errors='drop'"),
    ],
)
def test_what_is_refused(options, words):
    with pytest.raises(ValueError, match=words):
        NGrams(**options)

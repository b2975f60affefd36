"""The same tokens, columns and signs as scikit-learn's HashingVectorizer, on any Unicode."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer

import streamnb as snb
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


@settings(max_examples=10, deadline=None)
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


@settings(max_examples=10, deadline=None)
@given(st.lists(st.binary(max_size=30) | AWKWARD.map(str.encode), min_size=1, max_size=4), st.booleans())
def test_hypothesis_finds_no_bytes_that_are_hashed_otherwise(rows, lowercase):
    def tokens(text, sizes):
        text = text.lower() if lowercase else text
        return [text[k : k + n] for n in sizes for k in range(len(text) - n + 1)]

    made = NGrams(None, n_features=N, lowercase=lowercase, bytes=(1, 9))(of_parts(rows))
    twin = FeatureHasher(N, input_type="string", alternate_sign=False).transform(
        tokens(row, range(1, 10)) for row in rows
    )
    np.testing.assert_array_equal(made.toarray(), twin.toarray())
    every = NGrams((1, 2), (1, 3), N, lowercase, errors="ignore", bytes=(2, 4))(of_parts(rows))
    each = [NGrams((1, 2), (1, 3), N, lowercase, errors="ignore")(of_parts(rows)).sum()]
    assert every.sum() == sum(each) + sum(len(tokens(row, range(2, 5))) for row in rows)


def test_bytes_of_ascii_are_its_characters_and_are_named_as_they_are():
    rows, options = ["the cat sat", "a dog barked"], {"words": None, "n_features": N, "keep_tokens": 1000}
    chars, found = snb.text(rows, chars=(2, 3), **options), snb.text(rows, bytes=(2, 3), **options)
    assert chars.feature_names.tolist() == found.feature_names.tolist()
    assert (next(chars.blocks()).X[0] == next(found.blocks()).X[0]).all()
    odd = snb.text([b"caf\xe9", b"tea"], y=[0, 1], bytes=(4, 4), **options)
    assert 'text: "caf\\xe9"' in odd.feature_names.tolist()
    model = snb.LinearNB("multinomial").fit(odd)
    assert model.predict([b"CAF\xe9", "tea, tea"]).tolist() == [0, 1]
    with refused(ValueError, r"bytes=\(1, 2\)", "vocabulary"):
        snb.text(rows, bytes=(1, 2), vocabulary=["the"])
    with refused(ValueError, r"bytes=\(1, 2\)", "vocabulary"):
        snb.text(rows, bytes=(1, 2), vocabulary=10)


def test_bytes_that_are_no_utf_8_name_their_row():
    texts = of_parts([b"fine", b"caf\xe9 bad"])
    with refused(snb.DataError, "row 8 ", "not UTF-8", "0xe9", "errors='replace'"):
        NGrams()(texts, 7)
    replaced = NGrams((1, 1), None, N, errors="replace")(texts)
    np.testing.assert_array_equal(replaced.toarray(), hashed(["fine", "caf\ufffd bad"], alternate_sign=False))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"n_features": 1000}, "n_features=1000.*power of two.*512 or 1,024"),
        ({"words": None}, "words=None, chars=None and bytes=None leave"),
        ({"bytes": (0, 2)}, r"bytes=\(0, 2\).*shortest, longest"),
        ({"words": (2, 1)}, r"words=\(2, 1\).*shorter length first"),
        ({"chars": "ab"}, "chars='ab'.*shortest, longest"),
        ({"errors": "drop"}, "errors='drop'"),
    ],
)
def test_what_is_refused(options, words):
    with pytest.raises(ValueError, match=words):
        NGrams(**options)


ROWS = ["the cat and the dog", "The CAT, caf\u00e9 \u03a3\u0391\u03a3", "dog dog \u0130x", "and a b"]


def test_a_vocabulary_is_that_of_count_vectorizer():
    counter = CountVectorizer(ngram_range=(1, 2)).fit(ROWS)
    rows = snb.text(ROWS, words=(1, 2), vocabulary=1000)
    assert list(rows.vocabulary) == counter.get_feature_names_out().tolist()
    (block,) = rows.blocks()
    assert block.X[0].sum() == counter.transform(ROWS).sum()
    chars = CountVectorizer(analyzer="char", ngram_range=(2, 3)).fit(ROWS)
    assert list(snb.text(ROWS, words=None, chars=(2, 3), vocabulary=1000).vocabulary) == sorted(chars.vocabulary_)


def test_the_most_frequent_tokens_are_kept_and_serve_other_texts(tmp_path):
    rows = snb.text(ROWS, vocabulary=4, y=[0, 1, 0, 1])
    assert rows.vocabulary == ("and", "cat", "dog", "the") and rows.feature_names[1] == 'text: "cat"'
    model = snb.LinearNB("multinomial").fit(rows)
    model.save(tmp_path / "model.snb")
    model = snb.load(tmp_path / "model.snb")
    assert model.feature_names_in_.tolist() == rows.feature_names.tolist()
    assert model.predict(snb.text(["the cat", "dog dog"], vocabulary=rows.vocabulary)).tolist()[1] == 0
    with pytest.raises(ValueError, match=r"vocabulary=rows\.vocabulary"):
        model.predict(snb.text(ROWS, vocabulary=("one", "two", "three", "four")))


def test_hashed_columns_are_named_by_the_tokens_behind_them():
    rows = snb.text(ROWS, words=(1, 1), chars=(3, 3), keep_tokens=50, n_features=2**10)
    assert {'text: "cat"', 'text: "caf\u00e9"', 'text: "he "'} <= {name.split(" or ")[0] for name in rows.feature_names}
    few = snb.text(ROWS, keep_tokens=1, n_features=2**10).feature_names
    assert [name for name in few if not name.startswith("x")] == ['text: "the"']
    assert snb.text(ROWS).feature_names is None


@pytest.mark.parametrize(
    ("vocabulary", "words"),
    [("the", "number of tokens"), (["a", "a"], "different"), (0, "vocabulary=0"), ([], "different"), (True, "True")],
)
def test_vocabularies_that_are_refused(vocabulary, words):
    with pytest.raises((TypeError, ValueError), match=words):
        snb.text(ROWS, vocabulary=vocabulary)


def test_memory_is_refused_before_it_is_spent():
    with pytest.raises(MemoryError, match=r"different tokens.*memory_limit"):
        snb.text(ROWS, vocabulary=3, memory_limit=300)
    with pytest.raises(ValueError, match="no word"):
        snb.text(["a", "b"], vocabulary=3)

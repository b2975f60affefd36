"""Vocabularies against CountVectorizer, and names of hashed columns."""

import pytest
from sklearn.feature_extraction.text import CountVectorizer

import streamnb as snb
from streamnb.encoding.vocabulary import TokenCounts

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
    assert TokenCounts(["ab"], [2]).nbytes > 0

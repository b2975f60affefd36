"""HashedText and Hashed beside scikit-learn's HashingVectorizer and FeatureHasher."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.pipeline import make_pipeline

import streamnb as snb

ROWS = ["Green tea, \u00c9cole", "", "red wine and red \u03a3\u0391\u03a3"]


def test_texts_have_the_columns_of_hashing_vectorizer():
    hashed = snb.HashedText((1, 2), n_features=2**10, alternate_sign=True)
    peer = HashingVectorizer(ngram_range=(1, 2), n_features=2**10, norm=None)
    found = clone(hashed).fit(ROWS).transform(pd.Series(ROWS))
    assert found.dtype == np.float64 and found.has_canonical_format
    np.testing.assert_array_equal(found.toarray(), peer.transform(ROWS).toarray())
    assert snb.HashedText().transform([]).shape == (0, 2**18)
    model = make_pipeline(snb.HashedText(), snb.MultinomialNB()).fit(ROWS, ["tea", "none", "wine"])
    assert model.predict(["a green tea"]).tolist() == ["tea"]


def test_names_are_learned_where_they_are_asked_for():
    names = snb.HashedText(n_features=2**10, keep_tokens=9).fit(ROWS).get_feature_names_out()
    assert len(names) == 2**10 and {'text: "red"', 'text: "\u00e9cole"'} <= set(names)
    assert snb.HashedText(n_features=4).fit(ROWS).get_feature_names_out().tolist() == ["x0", "x1", "x2", "x3"]


def test_categories_have_the_columns_of_feature_hasher():
    X = [["AA", "JFK"], ["\u00c4A", "LGA"], ["AA", "x1=AA"]]
    peer = FeatureHasher(2**4).transform([{f"x{j}": v for j, v in enumerate(row)} for row in X])
    found = snb.Hashed(2**4, alternate_sign=True).fit_transform(X)
    np.testing.assert_array_equal(found.toarray(), peer.toarray())
    frame = pd.DataFrame({"carrier": ["AA", None, "AA"], "n": [1, 2, 1]})
    hashed = snb.Hashed(2**10).fit(frame)
    rows = hashed.transform(frame).toarray()
    assert rows.sum(axis=1).tolist() == [2, 2, 2] and (rows[0] == rows[2]).all() and (rows[0] != rows[1]).any()
    with pytest.raises(ValueError, match="feature names"):
        hashed.transform(frame.rename(columns={"n": "m"}))
    assert len(hashed.get_feature_names_out()) == 2**10


@pytest.mark.parametrize(
    ("transformer", "X", "words"),
    [
        (snb.HashedText(n_features=1000), ROWS, "power of two"),
        (snb.HashedText(), ["a", None], "row 1 has no text"),
        (snb.HashedText(), "abc", "single string"),
        (snb.HashedText(keep_tokens=0), ROWS, "keep_tokens=0"),
        (snb.Hashed(n_features=3), [["a"]], "power of two"),
        (snb.Hashed(), ["a"], "table of shape"),
    ],
)
def test_what_is_refused(transformer, X, words):
    with pytest.raises((TypeError, ValueError), match=words):
        transformer.fit_transform(X)

"""HashedText and Hashed beside scikit-learn's; KMerVectorizer in the pipelines of q2-feature-classifier."""

import io
import json

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import Normalizer

import streamnb as snb
from tests.support.reference_kmers import counted
from tests.support.refusals import refuses

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
    refuses(ValueError, "feature names", lambda: hashed.transform(frame.rename(columns={"n": "m"})))
    assert len(hashed.get_feature_names_out()) == 2**10


RNG = np.random.default_rng(0)
GENERA = ["".join(RNG.choice(list("ACGT"), 200)) for _ in range(4)]
LABELS = tuple(f"k__A; g__{i % 4}" for i in range(24))
LETTERS = ["".join(RNG.choice(list("ACGT")) if RNG.random() < 0.05 else c for c in GENERA[i % 4]) for i in range(24)]
SEQUENCES = tuple(letters.encode() for letters in LETTERS)  # a tuple of bytes, as QIIME 2 gives them
TEXTS = HashingVectorizer(analyzer="char_wb", ngram_range=(7, 7), n_features=8192, alternate_sign=False)
KMERS = snb.KMerVectorizer(7)


def pipeline(*steps, prior=None):
    """Steps as q2-feature-classifier names them, the last of them ours."""
    model = snb.MultinomialNB(alpha=0.001, fit_prior=False, class_prior=prior)
    return Pipeline([*zip(("feat_ext", "norm"), steps), ("classify", model)])


@pytest.mark.parametrize("both_strands", [False, True])
def test_counts_are_those_of_python(both_strands):
    kmers = snb.KMerVectorizer(3, both_strands)
    X, names = kmers.fit_transform(SEQUENCES), kmers.get_feature_names_out()
    assert X.dtype == np.float64 and X.has_canonical_format and X.shape == (24, len(names))
    for row, letters in zip(X.toarray(), LETTERS):
        assert {str(names[j]): row[j] for j in np.flatnonzero(row)} == counted(letters, 3, both_strands)
    assert (kmers.transform(pd.Series(LETTERS)) != X).nnz == 0 and kmers.transform([]).shape == (0, len(names))
    assert snb.KMerVectorizer(9).get_feature_names_out()[-1] == f"x{4**9 - 1}"


@pytest.mark.parametrize("steps", [(TEXTS,), (KMERS,), (KMERS, Normalizer())])
def test_pipelines_have_the_probabilities_of_scikit_learn_fitted_in_chunks(steps):
    fitted = clone(pipeline(*steps)).fit(SEQUENCES, LABELS)
    X, theirs = fitted[:-1].transform(SEQUENCES), MultinomialNB(alpha=0.001, fit_prior=False)
    ours = clone(fitted[-1])
    for start in range(0, 24, 10):  # the fit of LowMemoryMultinomialNB
        some = slice(start, start + 10)
        for model in (theirs, ours):
            model.partial_fit(X[some], LABELS[some], classes=np.unique(LABELS))
    found = fitted.predict_proba(SEQUENCES)
    np.testing.assert_allclose(found, theirs.predict_proba(X), rtol=1e-9)
    assert np.array_equal(ours.predict_proba(X), found)
    # what predictions with a confidence need: sorted names that split at ";", and a column for each of them
    assert fitted.classes_.tolist() == sorted(set(LABELS)) and found.shape == (24, 4)
    assert [taxon.split(";") for taxon in fitted.classes_[found.argmax(axis=1)]] == [one.split(";") for one in LABELS]
    assert fitted.predict(SEQUENCES).tolist() == list(LABELS)


def test_pipelines_are_stored_by_joblib_and_take_weights_of_taxa_as_a_tuple():
    prior = (0.1, 0.2, 0.3, 0.4)
    fitted = pipeline(KMERS).set_params(feat_ext__k=5, classify__class_prior=prior).fit(SEQUENCES, LABELS)
    file = io.BytesIO()
    joblib.dump(fitted, file)
    file.seek(0)
    loaded = joblib.load(file)
    np.testing.assert_allclose(np.exp(loaded[-1].class_log_prior_), prior)
    assert np.array_equal(loaded.predict_proba(SEQUENCES), fitted.predict_proba(SEQUENCES))
    for step in fitted.named_steps.values():
        assert json.loads(json.dumps(step.get_params()))  # parameters are options of QIIME 2's commands


@pytest.mark.parametrize(
    ("transformer", "X", "message"),
    [
        (snb.HashedText(n_features=1000), ROWS, "power of two"),
        (snb.HashedText(), ["a", None], "row 1 has no text"),
        (snb.HashedText(), "abc", "single string"),
        (snb.HashedText(keep_tokens=0), ROWS, "keep_tokens=0"),
        (snb.Hashed(n_features=3), [["a"]], "power of two"),
        (snb.Hashed(), ["a"], "table of shape"),
        (snb.Hashed(), sp.csr_array(np.eye(2)), "X is sparse; Hashed takes a data frame"),
        (snb.KMerVectorizer(13), SEQUENCES, "k=13"),
        (snb.KMerVectorizer(3, "yes"), SEQUENCES, "both_strands='yes'"),
        (snb.KMerVectorizer(n_threads=0), SEQUENCES, "n_threads"),
        (snb.KMerVectorizer(), "ACGT", "single string"),
        (snb.KMerVectorizer(), ["ACGT", None], "row 1 has no text"),
        (snb.KMerVectorizer(), ["ACGT", ""], "sequence 1 is empty"),
        (snb.KMerVectorizer(), ["ACGT", "AC-GT"], "sequence 1 has '-'"),
        (snb.KMerVectorizer(), ["ACGé"], "sequence 0 has 'é'"),
        (snb.KMerVectorizer(), iter(["ACGT"]), "X is of type list_iterator; give a list of texts"),
    ],
)
def test_wrong_parameters_and_rows_are_refused(transformer, X, message):
    refuses((TypeError, ValueError), message, lambda: transformer.fit_transform(X))

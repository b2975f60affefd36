"""Facts of models."""

import numpy as np
import pytest
import scipy.sparse as sp

import streamnb as snb
from streamnb.reporting.describing import MOST_FEATURES, described
from streamnb.reporting.drawing import with_bins_in_words
from streamnb.reporting.facts import LONGEST, Share, number, shown
from tests.reporting.conftest import rows, several


def test_what_a_model_of_a_table_is(two):
    facts = described(two[0])
    assert facts.title == "Predicting late"
    assert facts.question == "From 3 columns of a row, this model predicts late: “no” or “yes”."
    about = dict(facts.about)
    assert (about["rows learned from"], about["classes"], about["columns"]) == (400, 2, 3)
    assert facts.missing.rows == (("weight", pytest.approx(58 / 400)),)
    assert dict(facts.classes) == pytest.approx(dict(rows()["late"].value_counts(normalize=True)))
    assert facts.choice.rows[0][1] == pytest.approx(two[0].cv_results_["mean_test_score"].max())
    assert ("folds", "2") in facts.parameters


def test_a_model_of_texts_speaks_of_texts():
    facts = described(snb.LinearNB().fit(snb.text(["good day", "bad day"]), ["glad", "sad"]))
    assert facts.question == "From the text of a row, this model predicts its class: “glad” or “sad”."
    assert ("columns that its words are counted in", 2**18) in facts.about


def test_features_are_the_strongest(two):
    features, top = described(two[0]).features, two[0].top_features(MOST_FEATURES)
    top = top[top["class"] == "yes"]
    names = [with_bins_in_words(name) for name in top["feature"]]
    assert [row[1:] for row in features.rows] == list(zip(names, top["weight"]))
    assert any(" up to " in name for name in names)


def test_terms_and_their_missing_values():
    model = snb.AdditiveClassifier(0, l2=1.0, folds=2).fit(rows(), "late")
    facts = described(model)
    assert [row[0] for row in facts.features.rows] == model.terms_["name"].tolist()
    assert facts.missing.rows == (("weight", pytest.approx(58 / 400)),) and not facts.weights


def test_many_classes_and_columns_are_listed_in_part():
    rng = np.random.default_rng(0)
    X, y = sp.random_array((120, 100_000), density=0.002, rng=rng, format="csr"), np.arange(120) % 49
    facts = described(snb.LinearNB(penalty=None).fit(X, y))
    assert len(facts.features.rows) <= 12 * 8 and "12 classes" in facts.features.note


def test_other_kinds_are_described():
    facts = described(snb.StackedNB(["gaussian", "bernoulli"]).fit(*several()))
    assert facts.kind.startswith("StackedNB: ") and "one of" not in facts.question
    assert "“0”, “1”, “2” or “3”" in facts.question


def test_models_of_labels_predict_any_number_of_them():
    X, y = several()
    fitted = snb.LinearNB("gaussian").fit(X, np.eye(4, dtype=int)[y])
    for model in (fitted, snb.solve(fitted.stats_, "gaussian")[0]):
        assert described(model).question.endswith("which of 4 labels it has: any number of them.")


def test_regressions_have_coefficients():
    X, _ = several()
    model = snb.Ridge(1.0).fit(X[:, :4], X[:, 4])
    facts = described(model)
    assert facts.question == "From 4 columns of a row, this model predicts a number."
    assert facts.features.columns == ("feature", "weight per standard deviation")
    np.testing.assert_allclose(abs(facts.features.rows[0][1]), max(abs(model.coef_) * X[:, :4].std(axis=0)), rtol=1e-12)


def test_the_same_rows_have_one_fingerprint(two):
    again = snb.LinearNBCV(folds=2).fit(rows(), "late")
    prints = [dict(described(model).made)["fingerprint of the training rows"] for model in (two[0], again)]
    assert prints[0] == prints[1]


@pytest.mark.parametrize(
    "name, text",
    [
        ("late", "late"),
        (3, "3"),
        (True, "True"),
        ("two\nlines\t", "two lines"),
        ("a\x00b\ud800", "a b"),
        ("", "(empty)"),
    ],
)
def test_names_are_text_of_one_line(name, text):
    assert shown(name) == text


def test_long_names_are_cut():
    assert shown("x" * 10_000) == "x" * (LONGEST - 1) + "…"


@pytest.mark.parametrize(
    "value, text",
    [
        (3, "3"),
        (12345, "12,345"),
        (0.12345, "0.1235"),
        (-2.5, "−2.5"),
        (1.5e-7, "1.5e−07"),
        (np.nan, "–"),
        ("x", "x"),
        (Share(0.5), "50.0 %"),
    ],
)
def test_numbers_as_text(value, text):
    assert number(value) == text

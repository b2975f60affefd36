"""What models say of themselves: contributions add up to scores, whatever the family, scheme and preparing."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import streamnb as snb
from tests.support.refusals import refused

RNG = np.random.default_rng(0)
Y = np.array(["a", "b", "c"])[np.arange(60) % 3]
X = RNG.poisson(1.5, (60, 5)).astype(float) + 3.0 * (np.arange(5) == np.arange(60)[:, None] % 3)
MODELS = [
    snb.LinearNB(),
    snb.LinearNB("bernoulli", scheme="ovr", binarize=-1.0),
    snb.LinearNB("laplace", snb.L1(0.5)),
    snb.LinearNB(scheme="reference", reference="b"),
    snb.LinearNB(idf=True, transform="log1p", normalize="l2"),
    snb.LinearNB("bernoulli", transform=snb.Bins(4)),
    snb.LinearNB(snb.Gaussian(covariance="pooled")),
    snb.SoftmaxRegression(idf=True, normalize="l2"),
    snb.LinearDiscriminantAnalysis(),
    snb.MultinomialNB(),
    snb.ComplementNB(),
]


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_contributions_add_up_to_scores(model):
    model.fit(X, Y)
    every = getattr(model, "decision_function", getattr(model, "predict_joint_log_proba", None))
    for row in ([X[[0]]], [sp.csr_array(X[[1]])]):
        scores = dict(zip(model.classes_, every(*row)[0], strict=True))
        found = model.explain(*row)
        assert found["contribution"].sum() == pytest.approx(found.attrs["score"])
        assert found.attrs["class"] == model.predict(*row)[0]
        assert found["feature"][0] == "(intercept)" and (found["contribution"][1:].abs().diff()[1:] <= 0).all()
        by = found["transformed" if "transformed" in found else "value"]
        np.testing.assert_allclose(by * found["weight"], found["contribution"])
        assert "probability" not in found and (found["class"] == found.attrs["class"]).all()
        for label in model.classes_:
            assert model.explain(*row, label).attrs["score"] == pytest.approx(scores[label], abs=1e-12)
        assert model.explain(*row, "a", "c").attrs["score"] == pytest.approx(scores["a"] - scores["c"], abs=1e-9)


def test_top_features_and_contrast_have_names_and_both_signs():
    frame = pd.DataFrame(X, columns=list("vwxyz"))
    model = snb.LinearNB("poisson").fit(frame, Y)
    top = model.top_features(2)
    assert top["class"].tolist() == ["a", "a", "b", "b", "c", "c"] and {"v", "w", "x"} <= set(top["feature"])
    against = (model.coef_[0] - model.coef_[1:].mean(axis=0))["vwxyz".index(top["feature"][0])]
    assert top["weight"][0] == pytest.approx(against)
    apart = model.contrast("a", "b", 1)
    assert apart[["class", "feature"]].values.tolist() == [["a", "v"], ["b", "w"]]
    assert apart["weight"].tolist() == pytest.approx([max(d := model.coef_[0] - model.coef_[1]), min(d)])
    few = snb.LinearNB("poisson", snb.TopK(2)).fit(frame, Y)
    assert few.sparsify().top_features(5).equals(snb.LinearNB("poisson", snb.TopK(2)).fit(frame, Y).top_features(5))
    assert set(few.top_features(5)["feature"]) <= set("vwxyz") and (few.top_features(5)["weight"] != 0).all()


def test_a_model_without_weights_of_its_columns_names_one_that_has():
    model = snb.CategoricalNB().fit(X, Y)
    for asked in (lambda: model.explain(X[:1]), model.top_features):
        with refused(TypeError, "has no weights of a column for each category; LinearNB"):
            asked()


@pytest.mark.parametrize("options", [{"standardize": True}, {"standardize": True, "transform": "log1p"}, {}], ids=str)
def test_values_are_in_the_units_of_the_rows_and_probabilities_are_those_of_the_model(options):
    X, y = RNG.lognormal(10.0, 1.0, (200, 2)).round(), np.where(np.arange(200) % 2, "yes", "no")
    X[:, 0] *= 1.0 + (y == "yes")
    model = snb.SoftmaxRegression(**options).fit(X, y)
    for label, proba in zip(model.classes_, model.predict_proba(X[[7]])[0], strict=True):
        found = model.explain(X[[7]], label)
        assert dict(zip(found["feature"][1:], found["value"][1:], strict=True)) == {0: X[7, 0], 1: X[7, 1]}
        assert found["probability"].iloc[-1] == pytest.approx(proba) and (found["class"] == label).all()
        by = found["transformed" if "transform" in options else "value"]
        np.testing.assert_allclose(by * found["weight"], found["contribution"])
    three = snb.LinearNB("poisson").fit(X, np.arange(200) % 3)
    found, proba = three.explain(X[[7]], 0, 2), three.predict_proba(X[[7]])[0]
    assert found["probability"].iloc[-1] == pytest.approx(proba[0] / (proba[0] + proba[2]))

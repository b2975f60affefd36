"""What models say of themselves: contributions add up to scores, whatever the family, scheme and preparing."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import streamnb as snb
from tests.support.refusals import refused, refuses

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
        refuses(TypeError, "has no weights of a column for each category; LinearNB", asked)


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


def test_two_classes_and_pairs_and_labels():
    two = snb.LinearNB("poisson").fit(X, Y == "a")
    assert two.explain(X[[0]], True).attrs["score"] == pytest.approx(two.decision_function(X[[0]])[0])
    assert two.explain(X[[0]], False).attrs["score"] == pytest.approx(-two.decision_function(X[[0]])[0])
    assert two.explain(X[[0]], True, False)["weight"].equals(two.explain(X[[0]], True)["weight"])
    pairs = snb.LinearNB(scheme="ovo").fit(X, Y)
    alone = snb.LinearNB().fit(X[Y != "b"], Y[Y != "b"])
    margin = alone.decision_function(X[[0]])[0]
    assert pairs.explain(X[[0]], "c", "a").attrs["score"] == pytest.approx(margin)
    assert pairs.explain(X[[0]], "a", "c").attrs["score"] == pytest.approx(-margin)
    assert pairs.explain(X[[0]]).attrs["class"] == pairs.predict(X[[0]])[0]
    labels = snb.LinearNB("bernoulli").fit(X, np.column_stack([Y == "a", Y != "b"]).astype(int))
    assert labels.explain(X[[0]], 1).attrs["score"] == pytest.approx(labels.decision_function(X[[0]])[0, 1])


def test_the_reference_is_explained_against_the_next_class():
    model = snb.LinearNB(scheme="reference", reference="b").fit(X, Y)
    row = X[[1]]
    found = model.explain(row)
    assert found.attrs["class"] == "b" and found.attrs["against"] in ("a", "c")
    assert found.attrs["score"] == pytest.approx(-max(model.decision_function(row)[0][[0, 2]]))


def test_what_cannot_be_explained_is_refused():
    model = snb.LinearNB().fit(X, Y)
    refuses(ValueError, "X has 60 rows; explain is of one", lambda: model.explain(X))
    refuses(ValueError, "class_='q' is not a class", lambda: model.explain(X[[0]], "q"))
    refuses(ValueError, "against='q' is not a class", lambda: model.contrast("a", "q"))
    refuses(ValueError, "n_features=0", lambda: model.top_features(0))
    refuses(ValueError, "scheme='ovo' has weights of pairs", snb.LinearNB(scheme="ovo").fit(X, Y).top_features)
    refuses(ValueError, "isotonic", lambda: snb.LinearNB().fit(X, Y).calibrate(X, Y, method="isotonic").explain(X[[0]]))
    with refused(ValueError, "isotonic"):
        own = snb.LinearNB(snb.Gaussian(covariance="own")).fit(X, Y)
        own.calibrate(X, Y, method="isotonic").explain(X[[0]])


@pytest.mark.parametrize("model", [snb.LinearNB("gaussian", transform="quantile_normal"), snb.SoftmaxRegression(1.0)])
def test_values_before_a_learned_map_are_those_of_the_user(model):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.normal(40.0, 10.0, 400), "income": np.exp(rng.normal(10.0, 1.0, 400))})
    y = np.log(frame["income"]) + 0.02 * frame["age"] + 0.3 * rng.normal(size=400) > 11.0
    found = model.set_params(transform="quantile_normal").fit(frame, y).explain(frame.iloc[[7]]).set_index("feature")
    assert found["value"][["age", "income"]].tolist() == frame.iloc[7].tolist()
    np.testing.assert_allclose(found["transformed"] * found["weight"], found["contribution"])


@pytest.mark.parametrize(
    "model", [snb.SoftmaxRegression(), snb.MarginClassifierCV(folds=2), snb.LinearNB("gaussian"), snb.GaussianNB()]
)
def test_units_do_not_decide_which_number_is_strongest(model, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.normal(40.0, 10.0, 400), "income": rng.normal(30_000.0, 8_000.0, 400)})
    y = frame["income"] / 8_000.0 + 0.02 * frame["age"] + 0.3 * rng.normal(size=400) > 4.5
    model.fit(frame, y)
    model.save(tmp_path / "model.snb")
    for one in (model, snb.load(tmp_path / "model.snb")):
        table = one.top_features(1)
        assert table["feature"].tolist() == ["income", "income"]
        if "per_deviation" in table:
            np.testing.assert_allclose(table["per_deviation"], table["weight"] * frame["income"].std(ddof=0))
        assert one.contrast(True, False, 1)["feature"][0] == "income"
    other = clone(model).fit(frame.assign(income=frame["income"] * 1e3), y)
    assert other.top_features(1)["feature"].tolist() == ["income", "income"]

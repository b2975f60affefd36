"""What quadratic scores say of features: contributions add up to them, divergences are those of normal densities."""

import numpy as np
import pandas as pd
import pytest
import scipy.stats

import streamnb as snb
from tests.support.refusals import refuses

RNG = np.random.default_rng(0)
Y = np.array(["a", "b", "c"])[np.arange(60) % 3]
X = RNG.normal(size=(60, 4)) @ RNG.normal(size=(4, 4)) + 2.0 * (np.arange(4) == np.arange(60)[:, None] % 3)
FRAME = pd.DataFrame(X, columns=list("wxyz"))


@pytest.mark.parametrize("covariance", ["own", "full"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_contributions_add_up_to_scores(covariance, n_classes):
    y = Y if n_classes == 3 else np.where(Y == "a", "a", "b")
    model = snb.LinearNB(snb.Gaussian(covariance=covariance)).fit(FRAME, y)
    scores = model.decision_function(FRAME[:1])[0]
    of = {"a": -scores, "b": scores} if n_classes == 2 else dict(zip("abc", scores, strict=True))
    found = model.explain(FRAME[:1])
    assert found.attrs["class"] == model.predict(FRAME[:1])[0] and found["feature"][0] == "(intercept)"
    assert set(found["feature"][1:]) <= set("wxyz") and found.columns[2] == "mean"
    for label, score in of.items():
        found = model.explain(FRAME[:1], label)
        assert found["contribution"].sum() == pytest.approx(score) == pytest.approx(found.attrs["score"])
    apart = model.explain(FRAME[:1], "b", "a")["contribution"].sum()
    assert apart == pytest.approx(scores if n_classes == 2 else of["b"] - of["a"])


@pytest.mark.parametrize("model", [snb.GaussianNB(), snb.QuadraticDiscriminantAnalysis()], ids=str)
def test_drop_ins_explain_themselves(model):
    scores = model.fit(X, Y).predict_joint_log_proba(X[:1])[0]
    assert model.explain(X[:1], "b", "c")["contribution"].sum() == pytest.approx(scores[1] - scores[2])
    assert model.explain(X[:1]).attrs["class"] == model.predict(X[:1])[0] and len(model.top_features(2)) == 6


def test_telling_features_are_those_whose_densities_differ():
    model = snb.LinearNB(snb.Gaussian(covariance="full")).fit(FRAME, Y)
    top, apart = model.top_features(4), model.contrast("a", "b", 4)
    means = np.array([X[label == Y].mean(axis=0) for label in "abc"])
    deviations = np.array([X[label == Y].std(axis=0) for label in "abc"])
    grid = np.linspace(-40.0, 40.0, 200_001)

    def divergence(k, c, j):
        p, q = (scipy.stats.norm(means[i, j], deviations[i, j]) for i in (k, c))
        return np.trapezoid(p.pdf(grid) * (p.logpdf(grid) - q.logpdf(grid)), grid)

    for name, weight in top[top["class"] == "a"][["feature", "weight"]].values:
        j = "wxyz".index(name)
        assert weight == pytest.approx((divergence(0, 1, j) + divergence(0, 2, j)) / 2, rel=1e-6)
    first = apart.iloc[0]
    assert first["class"] == "a" and first["weight"] == pytest.approx(divergence(0, 1, "wxyz".index(first["feature"])))
    assert (apart[apart["class"] == "b"]["weight"] < 0).all()


def test_what_is_constant_tells_nothing_and_wrong_arguments_are_named():
    frame = FRAME.assign(x=1.0)
    model = snb.LinearNB(snb.Gaussian(covariance="full")).fit(frame, Y)
    assert "x" not in set(model.top_features(9)["feature"]) | set(model.explain(frame[:1])["feature"])
    refuses(ValueError, "class_='d' is not a class", lambda: model.contrast("d", "a"))
    refuses(ValueError, "X has 2 rows; explain is of one", lambda: model.explain(frame[:2]))

"""Weights of a class, or of one against another, where rows of weights are none of a class by itself."""

import numpy as np
import pytest

import streamnb as snb

RNG = np.random.default_rng(0)
Y = np.array(["a", "b", "c"])[np.arange(60) % 3]
X = RNG.poisson(1.5, (60, 5)).astype(float) + 3.0 * (np.arange(5) == np.arange(60)[:, None] % 3)
LABELS = np.column_stack([Y == "a", Y != "b"]).astype(int)


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
    labels = snb.LinearNB("bernoulli").fit(X, LABELS)
    assert labels.explain(X[[0]], 1).attrs["score"] == pytest.approx(labels.decision_function(X[[0]])[0, 1])


def test_the_reference_is_explained_against_the_next_class():
    model = snb.LinearNB(scheme="reference", reference="b").fit(X, Y)
    row = X[[1]]
    found = model.explain(row)
    assert found.attrs["class"] == "b" and found.attrs["against"] in ("a", "c")
    assert found.attrs["score"] == pytest.approx(-max(model.decision_function(row)[0][[0, 2]]))

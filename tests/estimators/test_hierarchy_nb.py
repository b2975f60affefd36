"""HierarchyNB: an ancestor follows from its descendant, whatever the rows."""

import numpy as np
import pytest

import streamnb as snb

rng = np.random.default_rng(1)
ABOVE = {"cat": "pet", "dog": "pet", "pet": "animal", "cow": "animal"}
Y = np.array(["cat", "dog", "cow", "oak", "pet"])[rng.integers(0, 5, 200)]
X = rng.poisson(0.7 + (np.arange(5) == np.unique(Y, return_inverse=True)[1][:, None]))


def test_an_ancestor_follows_from_its_descendant():
    model = snb.HierarchyNB(ABOVE, "poisson").fit(X, Y)
    assert model.labels_.tolist() == ["animal", "cat", "cow", "dog", "oak", "pet"]
    found, shares = model.predict(X), model.predict_proba(X)
    for label, above in ABOVE.items():
        below, up = (model.labels_.tolist().index(one) for one in (label, above))
        assert (found[:, up] >= found[:, below]).all() and (shares[:, up] >= shares[:, below]).all()
    assert (found == (shares > 0.5)).all()
    assert (model.decision_function(X)[found == 0] <= 0.0).all()
    assert model.explain(X[:1], "animal").attrs["score"] == pytest.approx(model.decision_function(X[:1])[0, 0])


def test_what_it_cannot_do_is_said(tmp_path):
    model = snb.HierarchyNB(ABOVE).fit(X, Y)
    with pytest.raises(ValueError, match="labels that follow from others are in no such file"):
        model.export(tmp_path / "m.json")
    with pytest.raises(ValueError, match="calibrate is of one label a row or of an indicator"):
        model.calibrate(X, Y)
    with pytest.raises(ValueError, match="a circle, 'cat' -> 'pet' -> 'cat'"):
        snb.HierarchyNB({"cat": "pet", "pet": "cat"}).fit(X, Y)
    with pytest.raises(ValueError, match="labels of one kind"):
        snb.HierarchyNB({1: 2}).fit(X, Y)


def test_labels_that_no_row_bears_are_named():
    with pytest.warns(snb.StreamnbWarning, match=r"without any weight: \['eel', 'fish'\]"):
        snb.HierarchyNB({**ABOVE, "eel": "fish"}).fit(X, Y)

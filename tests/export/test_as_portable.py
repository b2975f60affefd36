"""The form that all exports are made of: a column of weights for each class, whatever the scheme."""

import numpy as np
import pytest
import scipy.sparse as sp

import streamnb as snb
from streamnb.export.as_portable import portable
from tests.support.exported import MODELS, fitted
from tests.support.refusals import refused


@pytest.mark.parametrize("name", ["two", "reference", "label reference", "few", "idf"])
def test_scores_are_those_of_the_classes(name):
    model, rows = fitted(name)
    form = portable(model._model, None, None, True)
    assert form.weights.shape == (5, len(model.classes_)) and len(form.intercept_) == len(model.classes_)
    assert form.classes_.tolist() == model.classes_.tolist() and form.multilabel == (np.ndim(MODELS[name][1]) == 2)
    if name == "idf":
        return
    scores = np.asarray(sp.csr_array(rows) @ sp.csr_array(form.weights).toarray()) + form.intercept_
    given = model.decision_function(rows)
    np.testing.assert_allclose(scores[:, 1] - scores[:, 0] if given.ndim == 1 else scores, given, atol=1e-9)


@pytest.mark.parametrize("model", [snb.MultinomialNB, snb.ComplementNB, snb.BernoulliNB, snb.PoissonNB])
@pytest.mark.parametrize("way", ["m.onnx", "m.json", "m.snb", "scikit-learn"])
def test_infinite_weights_are_refused(model, way, tmp_path):
    X = np.array([[3.0, 0.0, 1.0], [1.0, 0.0, 2.0], [0.0, 2.0, 1.0], [1.0, 0.0, 0.0]])
    certain = model(alpha=0.0).fit(X, ["a", "a", "b", "c"])
    with refused(ValueError, "a feature that never occurs in a class has an infinite weight there"):
        if way == "scikit-learn":
            certain.to_sklearn()
        elif way == "m.snb":
            certain.save(tmp_path / way, stats=False)
        else:
            certain.export(tmp_path / way)
    assert not [*tmp_path.iterdir()]
    certain.save(tmp_path / "whole.snb")
    assert (snb.load(tmp_path / "whole.snb").predict(X) == certain.predict(X)).all()

"""The form that all exports are made of: a column of weights for each class, whatever the scheme."""

import numpy as np
import pytest

import streamnb as snb
from tests.support.refusals import refused


@pytest.mark.parametrize("model", [snb.MultinomialNB, snb.ComplementNB, snb.BernoulliNB, snb.PoissonNB])
@pytest.mark.parametrize("way", ["m.onnx", "m.json", "m.snb", "scikit-learn"])
def test_infinite_weights_are_refused(model, way, tmp_path):
    X = np.array([[3.0, 0.0, 1.0], [1.0, 0.0, 2.0], [0.0, 2.0, 1.0], [1.0, 0.0, 0.0]])
    certain = model(alpha=0.0).fit(X, ["a", "a", "b", "c"])
    with refused(ValueError, "a feature that never occurs in a class has an infinite weight"):
        if way == "scikit-learn":
            certain.to_sklearn()
        elif way == "m.snb":
            certain.save(tmp_path / way, stats=False)
        else:
            certain.export(tmp_path / way)
    assert not [*tmp_path.iterdir()]
    certain.save(tmp_path / "whole.snb")
    assert (snb.load(tmp_path / "whole.snb").predict(X) == certain.predict(X)).all()

"""What classifiers by one model share: labels, probabilities where there are some, accuracy, and rows to judge."""

import numpy as np
import pytest

import streamnb as snb
from streamnb.estimators.classifier import model_and_rows

X, Y = np.array([[3.0, 0.0], [0.0, 2.0], [1.0, 0.0], [0.0, 1.0]]), np.array(["a", "b", "a", "b"])


@pytest.mark.parametrize("kind", [snb.LinearNB, snb.MultinomialNB, snb.SoftmaxRegression, snb.LeastSquaresClassifier])
def test_every_classifier_says_its_model(kind):
    fitted = kind().fit(X, Y)
    model, rows = model_and_rows(fitted, X, Y, [1.0, 1.0, 2.0, 0.0])
    assert model.predict(rows).tolist() == fitted.predict(X).tolist() == Y.tolist()
    assert fitted.score(X, ["a", "b", "b", "b"], [1.0, 1.0, 2.0, 0.0]) == 0.5
    assert hasattr(fitted, "predict_proba") == (kind is not snb.LeastSquaresClassifier)
    if hasattr(fitted, "predict_proba"):
        np.testing.assert_allclose(np.exp(fitted.predict_log_proba(X)), fitted.predict_proba(X))

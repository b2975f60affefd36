"""What all classifiers do with their statistics: forget, refit, predict."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import streamnb as snb
from streamnb.estimators.classifier import model_and_rows
from streamnb.estimators.incremental import with_key

X, Y = np.array([[1.0, 0.0], [0.0, 2.0], [3.0, 1.0], [1.0, 1.0]]), np.array([0, 1, 0, 1])


def test_rows_and_their_model():
    model = snb.LinearNB().fit(X, Y)
    found, rows = model_and_rows(model, X, Y, None)
    assert found.predict(rows).tolist() == model.predict(X).tolist() and rows.n_rows == 4
    with pytest.raises(NotFittedError):
        model_and_rows(snb.LinearNB(), X, Y, None)


def test_a_ledger_grows_by_new_keys():
    assert with_key(("a",), np.int64(7)) == ("a", 7)
    with pytest.raises(ValueError, match="request 1 of 2"):
        with_key(("a", "b"), "a")

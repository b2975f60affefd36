"""Pipelines of scikit-learn's own estimators: the same labels and probabilities, of dense rows and of sparse ones."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import streamnb as snb
from tests.support.exported import LABELS, MODELS, X, fitted
from tests.support.refusals import refused

DENSE_ONLY = {"laplace", "logs"}
ELSEWHERE = {"mixed", "bins", "additive", "a label's reference"}


@pytest.mark.parametrize("name", [name for name in MODELS if name not in ELSEWHERE and "tree" not in name])
def test_the_pipeline_decides_as_the_model(name):
    model, rows = fitted(name)
    rows = rows.astype(np.float64)
    pipeline = model.to_sklearn()
    written = pickle.dumps(pipeline)
    assert b"streamnb" not in written
    for given in [rows] if name in DENSE_ONLY else [rows, sp.csr_array(rows)]:
        assert np.array_equal(pickle.loads(written).predict(given), model.predict(given))
    assert hasattr(pipeline, "predict_proba") == hasattr(model, "predict_proba")
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(pipeline.predict_proba(rows), model.predict_proba(rows), atol=1e-12)


def test_steps_without_a_transformer_are_refused():
    with refused(ValueError, "Mixed takes other functions of some columns"):
        fitted("mixed")[0].to_sklearn()
    with refused(ValueError, "products of columns have no transformer"):
        fitted("tree")[0].to_sklearn()
    with refused(ValueError, "export to .onnx or .json"):
        fitted("bins")[0].to_sklearn()


def test_a_label_that_others_are_set_against_has_no_probability_there():
    model, rows = fitted("a label's reference")
    pipeline = model.to_sklearn()
    others = np.delete(pipeline.decision_function(rows), 1, axis=1)
    np.testing.assert_allclose(others, model.decision_function(rows), atol=1e-12)
    assert np.array_equal(pipeline.predict(X), model.predict(X)) and not hasattr(pipeline, "predict_proba")


def test_names_of_columns_come_along():
    frame = pd.DataFrame(X, columns=list("vwxyz"))
    model = snb.LinearNB().fit(frame, LABELS)
    assert model.to_sklearn().feature_names_in_.tolist() == list("vwxyz")
    assert np.array_equal(model.to_sklearn().predict(frame), model.predict(frame))

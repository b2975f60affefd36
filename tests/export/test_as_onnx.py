"""ONNX graphs, run by another runtime: labels and probabilities of every kind of linear model."""

import numpy as np
import pytest

import streamnb as snb
from tests.support.exported import LABELS, MODELS, X, fitted
from tests.support.refusals import refused

onnxruntime = pytest.importorskip("onnxruntime")


@pytest.mark.parametrize("name", MODELS)
def test_the_graph_decides_as_the_model(name, tmp_path):
    model, rows = fitted(name)
    model.export(tmp_path / "m.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "m.onnx"))
    labels, shares = session.run(None, {"rows": rows})
    assert np.array_equal(labels, model.predict(rows).astype(labels.dtype))
    expected = model.predict_proba(rows) if hasattr(model, "predict_proba") else model.decision_function(rows)
    assert session.get_outputs()[1].name == ("probabilities" if hasattr(model, "predict_proba") else "scores")
    np.testing.assert_allclose(shares, expected, atol=1e-12)


def test_missing_values_have_their_bin(tmp_path):
    rows = np.where(np.arange(X.size).reshape(X.shape) % 7 == 0, np.nan, X)
    model = snb.LinearNB("bernoulli", transform=snb.Bins(4)).fit(rows, LABELS)
    model.export(tmp_path / "m.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "m.onnx"))
    assert np.array_equal(session.run(None, {"rows": rows})[0], model.predict(rows))


def test_what_is_too_large_is_refused_before_it_is_made(tmp_path, monkeypatch):
    monkeypatch.setattr("streamnb.export.as_onnx.LARGEST", 100)
    model, _ = fitted("multinomial")
    with refused(ValueError, "an .onnx file holds 2 GiB; export to .json"):
        model.export(tmp_path / "m.onnx")
    assert not list(tmp_path.iterdir())

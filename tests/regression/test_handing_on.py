"""Regressions that leave the package predict as they did in it."""

import json

import numpy as np
import pandas as pd
import pytest

import streamnb as snb

rng = np.random.default_rng(7)
X = rng.normal(size=(60, 4)).astype(np.float32)
Y = X @ np.array([[1.0, 0.0], [-2.0, 1.0], [0.0, 0.0], [0.5, 3.0]]) + rng.normal(size=(60, 2)) + 9.0
MODELS = {
    "ridge": lambda: snb.Ridge(0.3).fit(X, Y[:, 0]),
    "two targets": lambda: snb.ElasticNet(0.1).fit(X, Y),
    "without intercept": lambda: snb.Lasso(0.1, fit_intercept=False).fit(X, Y[:, 0]),
    "chosen": lambda: snb.ElasticNetCV(1.0, n_alphas=5, folds=3).fit(X, Y),
    "forward": lambda: snb.ForwardRegression(folds=3).fit(X, Y[:, 0]),
    "table": lambda: snb.Ridge().fit(pd.DataFrame(X, columns=list("abcd")).assign(y=Y[:, 1]), "y"),
}


@pytest.mark.parametrize("name", MODELS)
def test_every_form_predicts_as_the_model(name, tmp_path):
    model = MODELS[name]()
    names = getattr(model, "feature_names_in_", None)
    rows = X if names is None else pd.DataFrame(X, columns=names)
    expected = model.predict(rows)
    model.export(tmp_path / "m.json")
    content = json.loads((tmp_path / "m.json").read_text())
    assert (content["format"], content["version"]) == ("streamnb regression", 1)
    found = X @ np.array(content["weights"]).T + content["intercepts"]
    np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=1e-12)
    theirs = model.to_sklearn()
    np.testing.assert_allclose(theirs.predict(rows.astype(float)), expected, rtol=1e-12)
    assert theirs.n_features_in_ == 4 and np.array_equal(theirs.coef_, model.coef_)
    assert list(getattr(theirs, "feature_names_in_", [])) == ([] if names is None else list(names))
    onnxruntime = pytest.importorskip("onnxruntime")
    model.export(tmp_path / "m.onnx")
    (found,) = onnxruntime.InferenceSession(str(tmp_path / "m.onnx")).run(["predictions"], {"rows": X})
    assert found.dtype == np.float64 and found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-12)

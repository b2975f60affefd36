"""Files of regressions: checked, of the fit whatever parameters were set after it, and read by other programs."""

import json

import numpy as np
import pandas as pd
import pytest

import streamnb as snb
from tests.estimators.test_regressor import X, Y

TWO = np.column_stack([Y, X[:, 1] + 9.0])
FRAME = pd.DataFrame(X, columns=list("abcde")).assign(y=Y)
MODELS = {
    "ridge": lambda: snb.Ridge(0.3).fit(X, Y),
    "two targets": lambda: snb.ElasticNet(0.1).fit(X, TWO),
    "without intercept": lambda: snb.Lasso(0.1, fit_intercept=False).fit(X, Y),
    "chosen": lambda: snb.ElasticNetCV(1.0, n_alphas=5, folds=3).fit(X, TWO),
    "forward": lambda: snb.ForwardRegression(folds=3).fit(X, Y),
    "table": lambda: snb.Ridge().fit(FRAME, "y"),
}
WIDE = snb.Ridge(0.5, solver="conjugate_gradients").fit(X, Y)


def test_parameters_that_were_set_after_the_fit_change_no_model(tmp_path):
    model = snb.Ridge(1.0).fit(X, Y)
    before = model.summary()
    model.set_params(alpha=1000.0, fit_intercept=False)
    assert model.summary().equals(before)
    model.save(tmp_path / "m.snb")
    loaded = snb.load(tmp_path / "m.snb")
    assert (loaded.alpha, loaded.alpha_) == (1.0, 1.0)
    assert loaded.coef_.tolist() == model.coef_.tolist()


@pytest.mark.parametrize(
    "wrong",
    [
        {"coef_": np.full(5, np.nan)},
        {"coef_": ["a"] * 5},
        {"intercept_": "b"},
        {"intercept_": np.zeros((2, 1))},
        {"alpha_": "x"},
        {"n_passes_": -1.5},
        {"converged_": "yes"},
    ],
)
def test_weights_without_sums_are_checked(wrong):
    state = WIDE._to_state()
    assert snb.Ridge._from_state(state).coef_.tolist() == WIDE.coef_.tolist()
    with pytest.raises((ValueError, TypeError)):
        snb.Ridge._from_state({**state, "fitted": {**state["fitted"], **wrong}})


@pytest.mark.parametrize("name", MODELS)
def test_every_form_predicts_as_the_model(name, tmp_path):
    model = MODELS[name]()
    names = getattr(model, "feature_names_in_", None)
    x = X.astype(np.float32)
    rows = x if names is None else pd.DataFrame(x, columns=names)
    expected = model.predict(rows)
    model.export(tmp_path / "m.json")
    content = json.loads((tmp_path / "m.json").read_text())
    assert (content["format"], content["version"]) == ("streamnb regression", 1)
    found = x @ np.array(content["weights"]).T + content["intercepts"]
    np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=1e-12)
    theirs = model.to_sklearn()
    np.testing.assert_allclose(theirs.predict(rows.astype(float)), expected, rtol=1e-12)
    assert theirs.n_features_in_ == 5 and np.array_equal(theirs.coef_, model.coef_)
    assert list(getattr(theirs, "feature_names_in_", [])) == ([] if names is None else list(names))
    onnxruntime = pytest.importorskip("onnxruntime")
    model.export(tmp_path / "m.onnx")
    (found,) = onnxruntime.InferenceSession(str(tmp_path / "m.onnx")).run(["predictions"], {"rows": x})
    assert found.dtype == np.float64 and found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-12)

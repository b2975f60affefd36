"""Exports that cannot be are refused, and leave no file."""

import numpy as np
import pytest

import streamnb as snb
from tests.support.exported import LABELS, SETS, X
from tests.support.refusals import refused, refuses

CASES = [
    (snb.LinearNB(scheme="ovo"), "scheme='ovo' decides by votes"),
    (snb.LinearNB(loss=1.0 - np.eye(3)), "loss= and thresholds are no part of such a file"),
    (snb.LinearNB(threshold=0.5, reject_label="?"), "loss= and thresholds"),
    (snb.LinearNB("gaussian", transform="quantile_normal"), "quantile_normal, maps="),
    (snb.LinearNB(snb.Gaussian(covariance="own")), "quadratic"),
    (snb.LinearNB(snb.Gaussian(covariance="full", shrinkage=(0.5, 0.5))), "coef_"),
]


@pytest.mark.parametrize(("model", "why"), CASES, ids=str)
@pytest.mark.parametrize("ending", ["json", "onnx"])
def test_what_no_file_holds_is_refused(model, why, ending, tmp_path):
    model.fit(X, LABELS)
    refuses((ValueError, AttributeError), why, lambda: model.export(tmp_path / f"m.{ending}"))
    refuses((ValueError, AttributeError), why, model.to_sklearn)
    assert not list(tmp_path.iterdir())


def test_other_refusals(tmp_path):
    model = snb.LinearNB().fit(X, LABELS)
    refuses(ValueError, "should end with one of .onnx, .json", lambda: model.export(tmp_path / "m.pkl"))
    refuses(TypeError, "should be the path of a file", lambda: model.export(3))
    refuses(OSError, "cannot be written", lambda: model.export(tmp_path / "none" / "m.json"))
    refuses(ValueError, "isotonic", lambda: model.calibrate(X, LABELS, method="isotonic").export(tmp_path / "m.json"))
    with refused(ValueError, "two weights each"):
        snb.LinearNB(snb.Beta()).fit(X / 20 + 0.01, SETS[:, 0]).export(tmp_path / "m.json")
    refuses(ValueError, "not fitted", lambda: snb.LinearNB().export(tmp_path / "m.json"))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["MultinomialNB", "BernoulliNB", "ComplementNB", "PoissonNB"])
def test_drop_ins_leave_the_package_as_linear_models(name, tmp_path):
    X, y = np.random.default_rng(0).poisson(2.0, (60, 5)).astype(np.float64), np.arange(60) % 3
    model = getattr(snb, name)().fit(X, y)
    model.save(tmp_path / "m.snb", stats=False)
    np.testing.assert_array_equal(snb.load(tmp_path / "m.snb").predict(X), model.predict(X))
    np.testing.assert_array_equal(model.to_sklearn().predict(X), model.predict(X))


@pytest.mark.parametrize("model", [snb.CategoricalNB(), snb.StackedNB(["poisson"])], ids=lambda m: type(m).__name__)
def test_models_that_are_no_one_linear_model_of_columns_say_so(model, tmp_path):
    X, y = np.random.default_rng(0).poisson(2.0, (60, 5)).astype(np.float64), np.arange(60) % 3
    model.fit(X, y)
    refuses(TypeError, type(model).__name__, lambda: model.save(tmp_path / "m.snb", stats=False))
    refuses(TypeError, type(model).__name__, model.top_features)

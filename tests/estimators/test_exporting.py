"""Exports that cannot be are refused, and leave no file."""

import numpy as np
import pytest

import streamnb as snb
from tests.support.exported import LABELS, SETS, X
from tests.support.refusals import refused

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
    with refused((ValueError, AttributeError), why):
        model.export(tmp_path / f"m.{ending}")
    with refused((ValueError, AttributeError), why):
        model.to_sklearn()
    assert not list(tmp_path.iterdir())


def test_other_refusals(tmp_path):
    model = snb.LinearNB().fit(X, LABELS)
    with refused(ValueError, "should end with one of .onnx, .json"):
        model.export(tmp_path / "m.pkl")
    with refused(TypeError, "should be the path of a file"):
        model.export(3)
    with refused(OSError, "cannot be written"):
        model.export(tmp_path / "none" / "m.json")
    with refused(ValueError, "isotonic"):
        model.calibrate(X, LABELS, method="isotonic").export(tmp_path / "m.json")
    with refused(ValueError, "two weights each"):
        snb.LinearNB(snb.Beta()).fit(X / 20 + 0.01, SETS[:, 0]).export(tmp_path / "m.json")
    with refused(ValueError, "not fitted"):
        snb.LinearNB().export(tmp_path / "m.json")
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
    with pytest.raises(TypeError, match=type(model).__name__):
        model.save(tmp_path / "m.snb", stats=False)
    with pytest.raises(TypeError, match=type(model).__name__):
        model.top_features()

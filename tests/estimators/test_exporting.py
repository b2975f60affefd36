"""Exports that cannot be are refused, and leave no file."""

import numpy as np
import pytest

import streamnb as snb
from tests.support.exported import LABELS, SETS, X
from tests.support.refusals import refused

CASES = [
    (snb.LinearNB(scheme="ovo"), "scheme='ovo' decides by votes"),
    (snb.LinearNB(loss=1.0 - np.eye(3)), "loss= and threshold= are no part of such a file"),
    (snb.LinearNB(threshold=0.5, reject_label="?"), "loss= and threshold="),
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

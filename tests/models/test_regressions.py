"""Weights of regressions in other programs' forms: what they hold, and which columns they refuse."""

import json

import numpy as np
import pandas as pd
import pytest

import streamnb as snb
from streamnb.models.writing import regression_bytes, regression_onnx
from tests.support.refusals import cases, refused

rng = np.random.default_rng(3)
FRAME = pd.DataFrame({"long": rng.normal(size=80), "wide": rng.normal(size=80).round(2), "y": rng.normal(size=80)})
WEIGHTS = np.array([[1.0, 2.0], [3.0, -4.0], [0.1, 0.0]])
OF_TWO = snb.PortableRegression(snb.PortableModel(np.arange(2), WEIGHTS, np.array([0.5, -1.0]), 3), 0.0, "identity")


def test_the_file_has_a_list_of_weights_for_each_target():
    found = json.loads(regression_bytes(OF_TWO))
    assert found == {
        "format": "streamnb regression",
        "version": 1,
        "feature_names": None,
        "weights": [[1.0, 3.0, 0.1], [2.0, -4.0, 0.0]],
        "intercepts": [0.5, -1.0],
    }


def test_weights_that_do_not_fit_are_refused(monkeypatch):
    pytest.importorskip("onnx")
    monkeypatch.setattr("streamnb.models.as_onnx.LARGEST", 47)
    with refused(ValueError, "the weights take 0.0 kB, and an .onnx file holds 2 GiB; export to .json, or save"):
        regression_onnx(OF_TWO)


def test_a_table_of_numbers_has_the_weights_of_its_columns(tmp_path):
    FRAME.to_csv(tmp_path / "rows.csv", index=False)
    model = snb.Ridge().fit(snb.table(tmp_path / "rows.csv", "y", bins=None))
    assert model.to_sklearn().feature_names_in_.tolist() == ["long", "wide"]
    np.testing.assert_allclose(model.to_sklearn().predict(FRAME[["long", "wide"]]), model.predict(FRAME), rtol=1e-12)


REFUSED = {
    "strings": (FRAME.assign(kind=list("ab") * 40), "column 'kind'", "complete numbers", "save"),
    "missing": (
        FRAME.assign(long=FRAME["long"].where(FRAME["long"] > 0.0)),
        "column 'long'",
        "complete numbers",
        "save",
    ),
    "dates": (FRAME.assign(day=pd.date_range("2020-01-01", periods=80)), "column 'day", "complete numbers"),
}


@cases(REFUSED)
def test_columns_that_are_no_complete_numbers_are_refused_by_name(case):
    frame, *words = case
    with refused(ValueError, *words):
        snb.Ridge().fit(frame, "y").to_sklearn()

"""Files of exports: the endings that there are, and nothing written where a model is refused."""

import pytest

import streamnb as snb
from tests.support.refusals import refused


@pytest.mark.parametrize("kind", [snb.LinearNB, snb.Ridge])
def test_paths_and_models_are_checked_before_anything_is_written(kind, tmp_path):
    with refused(ValueError, "not fitted"):
        kind().export(tmp_path / "m.json")
    model = kind().fit([[0.0, 1.0], [2.0, 0.0], [1.0, 1.0]], [0, 1, 1])
    with refused(ValueError, "m.pkl' should end with one of .onnx, .json, .py, .sql"):
        model.export(tmp_path / "m.pkl")
    with refused(ValueError, "m.pmml' should end with one of .onnx, .json"):  # before the model, which no format takes
        snb.GaussianNB().fit([[0.0], [1.0], [2.0], [4.0]], [0, 0, 1, 1]).export(tmp_path / "m.pmml")
    assert not list(tmp_path.iterdir())

"""Files of exports: the endings that there are, and nothing written where a model is refused."""

import pandas as pd
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


@pytest.mark.parametrize(
    "X", [[[0.0, 1.0], [2.0, 0.0], [1.0, 1.0]], {"size": [0.0, 2.0, 1.0], "colour": ["b", "r", "r"]}]
)
def test_models_without_statistics_write_the_same_files(X, tmp_path):
    model = snb.LinearNB().fit(pd.DataFrame(X) if isinstance(X, dict) else X, [0, 1, 1])
    model.save(tmp_path / "m.snb", stats=False)
    for ending, options in {"onnx": {}, "json": {}, "py": {}, "sql": {"dialect": "sqlite"}}.items():
        model.export(tmp_path / f"whole.{ending}", **options)
        snb.load(tmp_path / "m.snb").export(tmp_path / f"light.{ending}", **options)
        assert (tmp_path / f"whole.{ending}").read_bytes() == (tmp_path / f"light.{ending}").read_bytes()

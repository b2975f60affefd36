"""Files of exports: the endings that there are, and nothing written where a model is refused."""

import numpy as np
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


@pytest.mark.parametrize("model", [snb.MultinomialNB, snb.ComplementNB, snb.BernoulliNB, snb.PoissonNB])
@pytest.mark.parametrize("way", ["m.onnx", "m.json", "m.snb", "scikit-learn"])
def test_infinite_weights_are_refused(model, way, tmp_path):
    X = np.array([[3.0, 0.0, 1.0], [1.0, 0.0, 2.0], [0.0, 2.0, 1.0], [1.0, 0.0, 0.0]])
    certain = model(alpha=0.0).fit(X, ["a", "a", "b", "c"])
    with refused(ValueError, "a feature that never occurs in a class has an infinite weight"):
        if way == "scikit-learn":
            certain.to_sklearn()
        elif way == "m.snb":
            certain.save(tmp_path / way, stats=False)
        else:
            certain.export(tmp_path / way)
    assert not [*tmp_path.iterdir()]
    certain.save(tmp_path / "whole.snb")
    assert (snb.load(tmp_path / "whole.snb").predict(X) == certain.predict(X)).all()

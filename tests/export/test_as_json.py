"""JSON: a predictor of few lines, written from what docs/export.md says, decides as the model."""

import json

import numpy as np
import pytest

from tests.support.exported import MODELS, fitted

STEPS = {
    "binary": lambda x, value: (x != 0) * 1.0,
    "log1p": lambda x, value: np.log1p(x),
    "sqrt": lambda x, value: np.sqrt(x),
    "l1": lambda x, value: value * x / abs(x).sum(axis=1, keepdims=True),
    "l2": lambda x, value: value * x / np.sqrt((x * x).sum(axis=1, keepdims=True)),
    "scale": lambda x, value: x * value,
    "above": lambda x, value: (x > value) * 1.0,
    "log": lambda x, value: np.log(x),
    "distance": lambda x, value: abs(x - value),
}


def indicator(x, of, above=-np.inf, up_to=np.inf, missing=False, as_is=False):
    x = x[:, of]
    return x if as_is else np.isnan(x) if missing else (x > above) & (x <= up_to)


def predicted(model, X):
    x = X.astype(np.float64)
    for step in model["steps"]:
        if step["do"] == "indicators":
            x = np.column_stack([indicator(x, **column) for column in step["columns"]]) * 1.0
            continue
        if step["do"] == "sums":
            columns, sums = np.transpose(step["value"])
            x = np.column_stack([x, *(x[:, columns[sums == n]].sum(axis=1) for n in range(sums.max() + 1))])
            continue
        if step["do"] == "products":
            x = np.column_stack([x, *(x[:, a] * x[:, b] for a, b in step["value"])])
            continue
        columns = step.get("columns", slice(None))
        x[:, columns] = STEPS[step["do"]](x[:, columns], step.get("value"))
    scores = np.array([x[:, one["columns"]] @ one["weights"] + one["intercept"] for one in model["scores"]]).T
    labels = np.array([one["class"] for one in model["scores"]])
    return (scores > 0).astype(int) if model["multilabel"] else labels[np.argmax(scores, axis=1)]


@pytest.mark.parametrize("name", MODELS)
def test_the_file_decides_as_the_model(name, tmp_path):
    model, rows = fitted(name)
    model.export(tmp_path / "m.json")
    read = json.loads((tmp_path / "m.json").read_text())
    assert np.array_equal(predicted(read, rows), model.predict(rows))
    assert read["n_features"] == 5 and read["version"] == 1

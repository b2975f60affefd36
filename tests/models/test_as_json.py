"""JSON: a predictor of few lines, written from what docs/export.md says, decides as the model."""

import json

import numpy as np
import pandas as pd
import pytest

import streamnb as snb
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


def scores_of(content, record):
    """Scores of a record without dates, by the page on exports."""
    codes, scores = [], np.array(content["intercept"])
    for kind, columns, known, _ in content["features"]:
        x = record[columns[0]]
        if x is None:
            codes.append(len(known) + 1)
        else:
            codes.append(sum(edge < x for edge in known) if kind == "number" else [*known, x].index(x))
    for feature, table in content["tables"]:
        scores += table[codes[feature]]
    for first, second, rows, columns, table in content["pairs"]:
        scores += table[rows[codes[first]]][columns[codes[second]]]
    for column, median, functions, weights in content["numbers"]:
        assert not functions
        scores += np.multiply(weights, median if record[column] is None else record[column])
    return scores


@pytest.mark.filterwarnings("ignore::streamnb.StreamnbWarning")  # of values that were in no row of the fit
@pytest.mark.parametrize("kind", ["AdditiveClassifier", "SoftmaxRegression", "Ridge"])
def test_files_of_tables_hold_scores_of_their_values(kind, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(size=200), "hue": rng.choice(["red", "é"], 200), "n": rng.poisson(3, 200)})
    frame["size"] = frame["size"].where(rng.random(200) < 0.9)
    y = (frame["size"].fillna(1.0) + (frame["hue"] == "é") * frame["n"] > rng.normal(size=200) + 1.0).astype(int)
    model = getattr(snb, kind)().fit(frame, y)
    model.export(tmp_path / "m.json")
    content = json.loads((tmp_path / "m.json").read_text())
    given = frame.assign(hue=frame["hue"].replace("red", "blue"))
    records = given.astype(object).where(given.notna(), None).to_dict("records")
    found = np.array([scores_of(content, record) for record in records])
    expected = model.predict(given) if kind == "Ridge" else model.decision_function(given)
    np.testing.assert_allclose(found[:, -1] - (found[:, 0] if found.shape[1] == 2 else 0.0), expected, atol=1e-12)

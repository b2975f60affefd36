"""ONNX graphs, run by another runtime: labels and probabilities of every kind of linear model."""

import numpy as np
import pandas as pd
import pytest

import streamnb as snb
from streamnb.models.as_onnx import Graph, _part_of_date
from tests.support.exported import LABELS, MODELS, X, fitted
from tests.support.refusals import refused

onnxruntime = pytest.importorskip("onnxruntime")


@pytest.mark.parametrize("name", MODELS)
def test_the_graph_decides_as_the_model(name, tmp_path):
    model, rows = fitted(name)
    model.export(tmp_path / "m.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "m.onnx"))
    labels, shares = session.run(None, {"rows": rows})
    assert np.array_equal(labels, model.predict(rows).astype(labels.dtype))
    expected = model.predict_proba(rows) if hasattr(model, "predict_proba") else model.decision_function(rows)
    assert session.get_outputs()[1].name == ("probabilities" if hasattr(model, "predict_proba") else "scores")
    np.testing.assert_allclose(shares, expected, atol=1e-12)


def test_missing_values_have_their_bin(tmp_path):
    rows = np.where(np.arange(X.size).reshape(X.shape) % 7 == 0, np.nan, X)
    model = snb.LinearNB("bernoulli", transform=snb.Bins(4)).fit(rows, LABELS)
    model.export(tmp_path / "m.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "m.onnx"))
    assert np.array_equal(session.run(None, {"rows": rows})[0], model.predict(rows))


def test_what_is_too_large_is_refused_before_it_is_made(tmp_path, monkeypatch):
    monkeypatch.setattr("streamnb.models.as_onnx.LARGEST", 100)
    model, _ = fitted("multinomial")
    with refused(ValueError, "an .onnx file holds 2 GiB; export to .json"):
        model.export(tmp_path / "m.onnx")
    assert not list(tmp_path.iterdir())


def test_times_and_categories_of_numbers(tmp_path):
    rng, n = np.random.default_rng(0), 300
    frame = pd.DataFrame({"at": pd.date_range("1969-12-25", periods=n, freq="7h", tz="Europe/Berlin")})
    frame["took"], frame["rate"] = pd.to_timedelta(rng.integers(0, 9, n), "min"), rng.choice([0.1, 2.5, np.nan], n)
    y = np.where(frame["took"].dt.seconds + frame["at"].dt.hour > rng.integers(0, 500, n), "late", "in time")
    model = snb.LinearNB().fit(snb.table(frame, y, categorical=["rate"], pairs=[("rate", "took")]))
    model.export(tmp_path / "m.onnx")
    session = onnxruntime.InferenceSession(tmp_path / "m.onnx")
    local = frame["at"].dt.tz_localize(None).to_numpy("datetime64[s]").astype(np.int64)
    given = {"at": local, "took": frame["took"].dt.total_seconds().to_numpy(), "rate": frame["rate"].to_numpy(object)}
    labels, shares = session.run(None, {name: column[:, None] for name, column in given.items()})
    assert np.array_equal(labels, model.predict(frame)) and len({*labels}) == 2
    np.testing.assert_allclose(shares, model.predict_proba(frame), atol=1e-12)


def test_the_calendar_is_that_of_numpy(tmp_path):
    graph, days = Graph(), np.arange(-200_000, 200_000, 97)
    graph.add_input("seconds", graph.onnx.TensorProto.INT64, 1)
    parts = [(_part_of_date(graph, "seconds", part), part) for part in ("year", "month", "weekday", "hour")]
    content = graph.finished(*[(node, part, graph.onnx.TensorProto.INT64, [1]) for node, part in parts])
    found = onnxruntime.InferenceSession(content).run(None, {"seconds": (days * 86_400 + 3_599)[:, None] + 5 * 3600})
    dates = days.astype("datetime64[D]")
    years, months = (dates.astype(f"datetime64[{unit}]").astype(int) for unit in ("Y", "M"))
    expected = years + 1970, months % 12 + 1, (days + 3) % 7, np.full(len(days), 5)
    assert all(np.array_equal(one[:, 0], other) for one, other in zip(found, expected, strict=True))


REFUSED = {
    "hashed": (dict(hashed=["name"]), "column 'name' is hashed", "save"),
    "text": (dict(text=["name"]), "texts", "save"),
    "large": (
        dict(pairs=[("id", "name")], columns=["id", "name"]),
        "'id' has the category 9007199254740993, which is no float64",
        "strings",
    ),
    "labels": (dict(columns=["labels"]), "'labels' has a name that no input", "rename"),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_columns_that_a_graph_cannot_take_are_named(case, tmp_path):
    options, *words = case
    rows = {"name": ["a b", "b c"] * 30, "id": [2**53 + 1, 7] * 30, "labels": [0.5, 1.5, 2.5] * 20}
    model = snb.LinearNB().fit(snb.table(pd.DataFrame(rows), ["x", "z"] * 25 + ["z", "x"] * 5, **options))
    with refused(ValueError, *words):
        model.export(tmp_path / "m.onnx")
    assert not list(tmp_path.iterdir())

"""Models by themselves: light to load, the same answers by NumPy as by compiled loops, damaged files refused."""

import json
import pickle

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp

import streamnb as snb
from streamnb.encoding.plain_steps import RowStep
from tests.support.exported import LABELS, MODELS, X, fitted
from tests.support.processes import python
from tests.support.refusals import refused


@pytest.mark.parametrize("name", MODELS)
def test_few_rows_and_many_are_answered_as_by_the_whole_model(name, tmp_path):
    model, rows = fitted(name)
    model.save(tmp_path / "m.snb", stats=False, meta={"trained on": ["March", 3]})
    again = snb.load(tmp_path / "m.snb")
    assert isinstance(again, snb.PortableModel) and again.meta_ == {"trained on": ["March", 3]}
    many = np.tile(rows, (12, 1))
    for given in [rows, rows.tolist(), many] + [sp.csr_array(rows), sp.csr_array(many)] * (name != "logs"):
        expected = model.predict(many if np.shape(given)[0] > len(rows) else rows)
        assert np.array_equal(again.predict(given), expected)
    for few, whole in ((again.predict_proba, "predict_proba"), (again.decision_function, "decision_function")):
        if hasattr(model, whole):
            assert few(rows).shape == getattr(model, whole)(rows).shape
            np.testing.assert_allclose(few(rows), getattr(model, whole)(rows), rtol=1e-9, atol=1e-12)
            assert np.array_equal(few(many)[: len(rows)], few(rows))  # compiled and by NumPy


LOADING = """
import json, sys
import streamnb as snb
model, X = snb.load(sys.argv[1]), json.loads(sys.argv[2])
found = model.predict_proba(X * (1000 // len(X)))[: len(X)].tolist()
assert found == [list(model.predict_proba_one(row).values()) for row in X] and model.predict_one(X[0]) is not None
heavy = {"sklearn", "pandas", "zarr", "numba", "dask", "scipy", "pyarrow"}
print(json.dumps([found, len(sys.modules), sorted(heavy & set(sys.modules))]))
"""
RECORDS = [
    {"colour": c, "size": s, "day": d, "note": n}
    for c, s, d, n in zip(["red", "blue", None, "green"] * 10, [1.5, 2.0, 0.5, None, 4.0] * 8,
                          ["2024-01-05", "2023-12-31"] * 20, ["a tea", "été", "b cup tea", ""] * 10, strict=True)
]  # fmt: skip
RAW = {
    "table": (lambda rows, y: snb.SoftmaxRegression(1.0).fit(snb.table(rows, y, text=["note"], hashed=["colour"]))),
    "additive": (lambda rows, y: snb.AdditiveClassifier(2, l2=1.0, resolutions=(2, 4)).fit(rows, y)),
    "texts": (lambda rows, y: snb.LinearNB("multinomial", transform="log1p", normalize="l2", idf=True).fit(
        snb.text([row["note"] for row in rows], y=y))),
    "cells": (lambda rows, y: snb.LinearNB("poisson", transform=("l1:100", "log1p")).fit(X, LABELS)),
}  # fmt: skip


@pytest.mark.process
@pytest.mark.parametrize("name", RAW)
def test_loading_and_predicting_imports_next_to_nothing(name, tmp_path):
    y = np.resize(["x", "y", "x", "z", "y"], len(RECORDS))
    records = [{k: v for k, v in row.items() if k != "note"} for row in RECORDS] if name == "additive" else RECORDS
    given = {"texts": [row["note"] for row in RECORDS], "cells": X[:9].tolist()}.get(name, records)
    model = RAW[name](records, y)
    model.save(tmp_path / "m.snb", stats=False)
    ended = python("-c", LOADING, tmp_path / "m.snb", json.dumps(given))
    assert ended.returncode == 0, ended.stderr
    found, n_modules, heavy = json.loads(ended.stdout)
    assert heavy == [] and n_modules < 400
    np.testing.assert_allclose(found, model.predict_proba(given), rtol=1e-9)
    light = snb.load(tmp_path / "m.snb")
    assert light.predict_proba(given * (2000 // len(given)))[: len(given)].tolist() == found  # compiled, the same bits
    if name in ("table", "additive"):
        for form in (pd.DataFrame(records), pa.Table.from_pylist(records), pa.RecordBatch.from_pylist(records)):
            assert light.predict_proba(form).tolist() == found
    other = RAW[name](records, np.r_[["y"] * 9, y[9:]]) if name != "cells" else fitted("multinomial")[0]
    other.save(tmp_path / "m.snb", stats=False)  # a model that is served stays as it was until it is loaded again
    assert [*light.predict_proba_one(given[0]).values()] == found[0]
    assert snb.load(tmp_path / "m.snb").predict_proba(given).tolist() != found


def test_other_rows_are_those_of_any_model(tmp_path):
    model, rows = fitted("multinomial")
    model.save(tmp_path / "m.snb", stats=False)
    again, out = snb.load(tmp_path / "m.snb"), np.empty(len(rows), "U1")
    assert again.predict(iter([rows[:50], rows[50:]])).tolist() == model.predict(rows).tolist()
    assert again.predict(rows, out=out) is out and (out == model.predict(rows)).all()
    texts = ["blue sky", "red rose", "blue sea"]
    words = snb.LinearNB().fit(snb.text(texts, y=["b", "r", "b"], n_features=64))
    words.save(tmp_path / "t.snb", stats=False)
    assert snb.load(tmp_path / "t.snb").predict(["red sky rose", "blue"]).tolist() == ["r", "b"]


def test_weights_that_are_mostly_zero_take_little_room(tmp_path):
    weights = np.zeros((5000, 3))
    weights[7] = 1.0, 2.0, 3.0
    model = snb.PortableModel(np.array([1, 2, 3]), weights, np.zeros(3), 5000, probabilities="softmax")
    model.save(tmp_path / "m.snb")
    assert (tmp_path / "m.snb").stat().st_size < 5000
    again = snb.load(tmp_path / "m.snb")
    assert np.array_equal(again.weights, weights)
    again.save(tmp_path / "n.snb")
    assert (tmp_path / "m.snb").read_bytes()[-64:] == (tmp_path / "n.snb").read_bytes()[-64:]


def test_wide_weights_stay_sparse(monkeypatch, tmp_path):
    model, rows = fitted("few")
    model.save(tmp_path / "m.snb", stats=False)
    monkeypatch.setattr("streamnb.models.portable.DENSE", 8)
    again = snb.load(tmp_path / "m.snb")
    assert sp.issparse(again.weights) and "6 weights not zero" in repr(again)
    assert np.array_equal(again.predict(rows), model.predict(rows))
    assert np.array_equal(again.predict(np.tile(rows, (12, 1)))[:90], model.predict(rows))


def test_wrong_rows_are_refused(tmp_path):
    frame = pd.DataFrame(X, columns=list("vwxyz"))
    snb.LinearNB(transform="sqrt").fit(frame, LABELS).save(tmp_path / "m.snb", stats=False)
    model = snb.load(tmp_path / "m.snb")
    assert model.predict(frame).tolist() == model.predict(X).tolist()
    with refused(ValueError, "has no column 'v'"):
        model.predict(frame.rename(columns={"v": "q"}))
    with refused(ValueError, "X has 4 features"):
        model.predict(X[:, :4])
    for given, what in ((np.nan, "nan at row 1, column 2"), (-1.0, "-1 at row 1, column 2, which has no square root")):
        wrong = X.copy()
        wrong[1, 2] = given
        with refused(ValueError, what):
            model.predict(wrong)
    with refused((ValueError, TypeError), "X"):
        model.predict([["a"] * 5])
    with refused(AttributeError, "no probabilities"):
        snb.PortableModel(np.array([0, 1]), np.zeros((5, 2)), np.zeros(2), 5).predict_proba(X)


def test_files_that_are_wrong_are_refused():
    state = snb.PortableModel(np.array([0, 1]), np.ones((5, 2)), np.zeros(2), 5)._to_state()
    assert snb.PortableModel._from_state(dict(state)).n_features_in_ == 5
    steps = {
        "become 4 columns": {"n_features_in_": 4},
        "probabilities=": {"probabilities": "some"},
        "intercept_ is": {"classes_": np.array([0, 1, 2])},
        "intercept_": {"intercept_": np.zeros(3)},
        "columns outside": {"steps": (RowStep("above", 0.0, np.array([7])),)},
        "has no": {"other": 1},
    }
    for what, wrong in steps.items():
        with refused(ValueError, what):
            snb.PortableModel._from_state({**state, **wrong})
    for wrong in ({"do": "exp"}, {"do": "scale", "value": 2.0}, {"do": "indicators", "value": None}):
        with refused(ValueError, "there is no step"):
            RowStep._from_state({"value": None, "columns": None, **wrong})
    with refused(ValueError, "places that are none"):
        snb.PortableModel._from_state({**state, "weights": [np.ones(1), np.array([9]), np.array([0, 1, 1]), [5, 2]]})


def test_labels_against_one_of_them_keep_their_probabilities(tmp_path):
    Y = np.arange(3) == np.arange(len(X))[:, None] % 3
    model = snb.LinearNB("poisson", scheme="reference", reference=1).fit(X, Y.astype(int))
    model.save(tmp_path / "m.snb", stats=False)
    again, many = snb.load(tmp_path / "m.snb"), np.tile(X, (12, 1))
    for rows in (X, many):
        np.testing.assert_allclose(again.predict_proba(rows), model.predict_proba(rows), rtol=1e-9)
        np.testing.assert_allclose(again.decision_function(rows), model.decision_function(rows), rtol=1e-9)
        assert np.array_equal(again.predict(rows), model.predict(rows))
    model.export(tmp_path / "m.json")
    exported = json.loads((tmp_path / "m.json").read_text())
    assert (exported["probabilities"], exported["reference"]) == ("reference", 1)
    for wrong in ({"reference": 3}, {"reference": None}, {"probabilities": "sigmoid"}, {"multilabel": False}):
        with refused(ValueError, "reference=|probabilities="):
            snb.PortableModel._from_state({**again._to_state(), **wrong})


@pytest.mark.parametrize("rows", [pd.DataFrame({"city": ["Rome", "Oslo"] * 20}), ["red wine", "blue sea"] * 20])
def test_light_models_of_raw_rows_go_to_other_processes(rows, tmp_path):
    model = snb.SoftmaxRegression(l2=1.0).fit(rows, np.array(["a", "b", "b", "a"] * 10))
    model.save(tmp_path / "m.snb", stats=False)
    sent = pickle.loads(pickle.dumps(snb.load(tmp_path / "m.snb")))
    np.testing.assert_array_equal(sent.predict_proba(rows), model.predict_proba(rows))


NUMBERS = {
    "one target": lambda rows, y: snb.Ridge().fit(rows, y),
    "two targets": lambda rows, y: snb.Ridge().fit(rows, np.column_stack([y, y[::-1]])),
    "log link": lambda rows, y: snb.PoissonRegressorCV(folds=2).fit(rows, y),
    "curves": lambda rows, y: snb.AdditiveRegressor("gamma", folds=2, interactions=1, resolutions=(2, 4)).fit(rows, y),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_light_regressions_predict_what_the_whole_ones_do(name, tmp_path):
    records = [{k: v for k, v in row.items() if k != "note"} for row in RECORDS]
    model = NUMBERS[name](records, 1.0 + np.arange(40.0) % 7)
    model.save(tmp_path / "m.snb", stats=False, meta={"unit": "EUR"})
    light, expected = snb.load(tmp_path / "m.snb"), model.predict(records)
    assert light.meta_ == {"unit": "EUR"} and light.predict(records).tolist() == expected.tolist()
    assert light.predict(records * 30)[:40].tolist() == expected.tolist()  # compiled
    assert light.predict_one(records[3]) == expected[3].tolist()
    light.export(tmp_path / "m.py")
    model.export(tmp_path / "n.py")
    assert (tmp_path / "m.py").read_text() == (tmp_path / "n.py").read_text()
    if model.residuals_ is not None:
        assert light.predict(records, interval=0.5).tolist() == model.predict(records, interval=0.5).tolist()
    else:
        with refused(ValueError, "saved without any", "calibrate"):
            light.predict(records, interval=0.5)
    with refused(AttributeError, "no sums of the columns"):
        light.drift(records)
    with refused(TypeError, "predicts, and does no more"):
        snb.evaluate(light, records, expected)
    assert pickle.loads(pickle.dumps(light)).predict(records).tolist() == expected.tolist()
    light.save(tmp_path / "again.snb")
    assert snb.load(tmp_path / "again.snb").predict(records).tolist() == expected.tolist()

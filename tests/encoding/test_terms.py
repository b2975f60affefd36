"""Columns of the terms of additive models."""

import json

import numpy as np
import pandas as pd
import pytest
import zarr

import streamnb as snb
from streamnb.encoding.bins import FINEST, CodedFeatures, TermColumns
from tests.models.test_as_json import predicted

# ---- values without a score ------------------------------------------------------------------------------------------

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 3))
X[::9, 2] = np.nan
Y = X[:, 0] * X[:, 1] > 0
NEW = X[:1200:2].copy()
NEW[3, 0] = NEW[4:6, 1] = NEW[7:9, 2] = np.nan  # the last feature had missing values at fit
ABSENT = r"the fit had none: 1 of 'x0', 2 of 'x1', in 200 rows"


@pytest.fixture(scope="module")
def model():
    return snb.AdditiveClassifier([("x0", "x1")], l2=1.0, pair_factor=1.0, resolutions=(4, 16)).fit(X, Y)


def test_they_add_nothing_and_are_counted_once(model, tmp_path):
    store = zarr.create_array(tmp_path / "new.zarr", data=NEW, chunks=(30, 3))
    for rows in (NEW, store):
        with pytest.warns(snb.StreamnbWarning, match=ABSENT) as warned:
            added = model.contributions(rows)
        assert len(warned) == 1
    names = model.terms_["name"].tolist()
    assert added[3, names.index("x0")] == 0.0
    assert (added[[3, 4, 5], names.index(("x0", "x1"))] == 0.0).all()
    assert (added[7:9, names.index("x2")] == model.term("x2")["score"].iloc[-1]).all()
    for ask in (model.predict, model.predict_proba, lambda rows: model.score(rows, Y[::2])):
        with pytest.warns(snb.StreamnbWarning, match=ABSENT):
            ask(NEW)


def test_nothing_is_said_where_all_have_a_score(model):
    model.predict(X)  # warnings are errors in these tests


@pytest.mark.filterwarnings("ignore:.*without effect")
def test_exports_decide_alike(model, tmp_path):
    expected = model.predict_proba(NEW)
    model.save(tmp_path / "m.snb", stats=False)
    light = snb.load(tmp_path / "m.snb")
    for rows in (NEW, np.tile(NEW, (6, 1))):  # in NumPy, and compiled
        np.testing.assert_allclose(light.predict_proba(rows)[:200], expected, atol=1e-12)
    model.export(tmp_path / "m.json")
    assert (predicted(json.loads((tmp_path / "m.json").read_text()), NEW) == model.predict(NEW)).all()
    onnxruntime = pytest.importorskip("onnxruntime")
    model.export(tmp_path / "m.onnx")
    found = onnxruntime.InferenceSession(tmp_path / "m.onnx").run(None, {"rows": NEW.astype(np.float32)})[1]
    np.testing.assert_allclose(found, model.predict_proba(NEW.astype(np.float32)), atol=1e-9)


def test_new_levels_count_as_rare_ones_if_there_were_any():
    levels = np.array(["a", "b", "seldom"])[np.r_[np.arange(397) % 2, 2, 2, 2]]
    frame = pd.DataFrame({"level": levels, "x": X[:, 0]})
    found = snb.AdditiveClassifier(0, l2=1.0, resolutions=(4,)).fit(frame, Y)
    new = frame.iloc[-3:].assign(level=["never seen", "seldom", None])
    with pytest.warns(snb.StreamnbWarning, match=r"the fit had none: 1 of 'level', in 3 rows"):
        added = found.contributions(new)[:, found.terms_["name"].tolist().index("level")]
    assert added[0] == added[1] == found.term("level").set_index("level")["score"]["rare"]
    assert added[2] == 0.0


COLUMNS = TermColumns.of(
    None,
    CodedFeatures(np.array([0, 5, 9]), np.ones(9), np.array([True, False]), np.array([True, False])),
    [((0,), 2), ((0,), FINEST), ((1,), FINEST), ((0, 1), 2)],
)


@pytest.mark.parametrize(
    "change",
    [
        {"firsts": np.array([0, 5, 5])},
        {"features": np.array([[0, -1], [0, -1], [1, -1], [0, 2]])},
        {"features": np.array([[0, -1], [0, -1], [1, -1], [0, 0]])},
        {"steps": np.zeros(3, np.int32)},
    ],
)
def test_a_file_that_does_not_fit_is_refused(change):
    with pytest.raises(ValueError):
        TermColumns._from_state({**COLUMNS._to_state(), **change})
    assert TermColumns._from_state(COLUMNS._to_state()) == COLUMNS

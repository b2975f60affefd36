"""Columns of the terms of additive models."""

import json

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import zarr

import streamnb as snb
from streamnb.core.messages import DataError
from streamnb.core.persistence import load, save
from streamnb.encoding.bins import BinEdges
from streamnb.encoding.terms import FINEST, CodedFeatures, TermColumns, codes_of
from streamnb.rows.boundary import as_chunk
from tests.export.test_as_json import predicted

FIRSTS = np.array([0, 5, 9])
COUNTS = np.array([10.0, 10.0, 10.0, 10.0, 3.0, 1.0, 7.0, 5.0, 2.0])
CODED = CodedFeatures(FIRSTS, COUNTS, np.array([True, False]), np.array([True, False]))


def indicators(codes):
    """Indicators of codes, as an encoding makes them."""
    hot = np.zeros((len(codes), FIRSTS[-1]))
    for row, own in enumerate(codes):
        hot[row, [FIRSTS[j] + code for j, code in enumerate(own) if code >= 0]] = 1.0
    return sp.csr_array(hot)


class TestCodedFeatures:
    def test_bins_are_grouped_by_their_rows(self):
        assert CODED.steps(0, 2).tolist() == [0, 0, 1, 1, 2]  # missing values stay apart

    def test_levels_are_grouped_by_how_frequent_they_are(self):
        assert CODED.steps(1, 3).tolist() == [2, 0, 1, 2]

    def test_every_code_is_a_step_at_the_finest_resolution(self):
        assert CODED.steps(1, FINEST).tolist() == [0, 1, 2, 3]

    def test_steps_are_parts_of_coarser_ones(self):
        rng = np.random.default_rng(0)
        coded = CodedFeatures(np.array([0, 64]), rng.integers(1, 99, 64), np.ones(1, bool), np.zeros(1, bool))
        fine, coarse = coded.steps(0, 16), coded.steps(0, 4)
        assert all(len(np.unique(coarse[fine == step])) == 1 for step in range(16))

    def test_codes_without_rows_have_steps(self):
        coded = CodedFeatures(np.array([0, 3]), np.zeros(3), np.ones(1, bool), np.zeros(1, bool))
        assert len(coded.steps(0, 2)) == 3


class TestTermColumns:
    columns = TermColumns.of(None, CODED, [((0,), 2), ((0,), FINEST), ((1,), FINEST), ((0, 1), 2)])

    def test_columns_by_hand(self):
        codes = [[0, 1], [4, 3], [2, -1], [-1, -1]]
        made = self.columns.applied(as_chunk(indicators(codes))[0]).toarray()
        expected = np.zeros((4, 3 + 5 + 4 + 6))
        for row, places in enumerate([[0, 3, 9, 12 + 0], [2, 7, 11, 12 + 2 * 2 + 1], [1, 5], []]):
            expected[row, places] = 1.0
        np.testing.assert_array_equal(made, expected)

    def test_codes_come_back(self):
        codes = [[0, 1], [4, 3], [2, -1]]
        assert codes_of(indicators(codes), FIRSTS).tolist() == codes

    def test_numbers_become_codes_first(self):
        base = BinEdges([np.array([1.0, 2.0])], np.array([True]))
        coded = CodedFeatures(base.firsts, np.ones(4), np.ones(1, bool), np.ones(1, bool))
        columns = TermColumns.of(base, coded, [((0,), FINEST)])
        chunk = as_chunk(np.array([[0.0], [5.0], [np.nan]]), missing=True)[0]
        assert columns.applied(chunk).toarray().argmax(axis=1).tolist() == [0, 2, 3]
        assert columns.n_features == 1

    def test_names(self):
        names = [f"a={i}" for i in range(5)] + [f"b={i}" for i in range(4)]
        made = self.columns.names(names)
        assert made[:3] == ["a=0 .. a=1", "a=2 .. a=3", "a=4"]
        assert made[-1] == "a=4, b=0 .. b=3"
        assert len(made) == self.columns.n_columns

    def test_saved(self, tmp_path):
        save(tmp_path / "c.snb", self.columns)
        loaded = load(tmp_path / "c.snb")
        rows = as_chunk(indicators([[0, 1], [4, 3]]))[0]
        np.testing.assert_array_equal(loaded.applied(rows).toarray(), self.columns.applied(rows).toarray())
        assert loaded == self.columns

    @pytest.mark.parametrize(
        "change",
        [
            {"firsts": np.array([0, 5, 5])},
            {"features": np.array([[0, -1], [0, -1], [1, -1], [0, 2]])},
            {"features": np.array([[0, -1], [0, -1], [1, -1], [0, 0]])},
            {"steps": np.zeros(3, np.int32)},
        ],
    )
    def test_a_file_that_does_not_fit_is_refused(self, change, tmp_path):
        state = {**self.columns._to_state(), **change}
        with pytest.raises(ValueError):
            TermColumns._from_state(state)

    def test_rows_of_another_width_are_refused(self):
        with pytest.raises((ValueError, DataError), match="9 features"):
            self.columns.applied(as_chunk(np.zeros((1, 4)))[0])


# ---- values without a score ------------------------------------------------------------------------------------------

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 3))
X[::9, 2] = np.nan
Y = X[:, 0] * X[:, 1] > 0
NEW = X[:1200:2].copy()
NEW[3, 0] = NEW[4:6, 1] = NEW[7:9, 2] = np.nan  # the last feature had missing values at fit
ABSENT = r"none was at fit: 1 of 'x0', 2 of 'x1', in 200 rows"


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


@pytest.mark.filterwarnings("ignore:.*add nothing")
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
    with pytest.warns(snb.StreamnbWarning, match=r"none was at fit: 1 of 'level', in 3 rows"):
        added = found.contributions(new)[:, found.terms_["name"].tolist().index("level")]
    assert added[0] == added[1] == found.term("level").set_index("level")["score"]["rare"]
    assert added[2] == 0.0

"""The scores of terms, read and written, terms as tables, and what they add to rows."""

import numpy as np
import pandas as pd
import pytest
import zarr

import streamnb as snb
from streamnb.encoding.bins import BinEdges, CodedFeatures, TermColumns
from tests.support.refusals import refuses

dask_array = pytest.importorskip("dask.array")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 2))
Y = X[:, 0] * X[:, 1] > 0


@pytest.fixture
def model():
    return snb.AdditiveClassifier(1, l2=1.0, pair_factor=1.0, resolutions=(4,)).fit(X, Y)


def test_scores_by_name(model):
    scores = model.term_scores_
    assert list(scores) == ["x0", "x1", ("x0", "x1")]
    assert len(scores) == 3
    assert scores["x0"].shape == (4, 1)
    assert scores["x1", "x0"].shape == (32, 32, 1) or scores["x1", "x0"].shape == (4, 4, 1)
    np.testing.assert_array_equal(scores["x0"][:, 0], model.term("x0")["score"])


def test_scores_do_not_change_in_place(model):
    with pytest.raises(ValueError, match="read-only"):
        model.term_scores_["x0"][0] = 5.0


def test_wrong_scores_are_refused(model):
    scores = model.term_scores_
    with pytest.raises(ValueError, match=r"shape \(3,\).* of shape \(4, 1\)"):
        scores["x0"] = [1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match="finite"):
        scores["x0"] = np.full((4, 1), np.nan)
    refuses(KeyError, "no term of 'x7'", lambda: scores["x7"])
    assert "x7" not in scores and scores.get("x7") is None
    with pytest.raises(TypeError, match="set it to zeros"):
        del scores["x0"]


def test_a_term_by_its_name_from_terms_or_by_numbers(model):
    for name in model.terms_["name"]:
        assert model.term(name).shape[0] == model.term_scores_[name].shape[0] ** (1 + isinstance(name, tuple))
    assert model.term(0).equals(model.term("x0"))
    assert model.term(1, 0).equals(model.term("x0", "x1"))
    refuses(ValueError, "no term of 2", lambda: model.term(2))


def test_names_with_an_x_between_and_levels_called_others_are_told_apart():
    rng = np.random.default_rng(0)
    levels = np.array(["others", "rare", *[f"l{i}" for i in range(40)]])[np.minimum(np.arange(900) // 20, 41)]
    levels[40:80], levels[-3:] = "others", ["seldom", "never", "once"]
    rows = pd.DataFrame({"a x b": levels, "a": rng.normal(size=900), "b": rng.normal(size=900)})
    rows.loc[::50, "a x b"] = None
    y = (rows["a"] * rows["b"] > 0) ^ (rows["a x b"] == "others")
    model = snb.AdditiveClassifier([("a", "b"), ("a", "a x b")], l2=1.0, pair_factor=1.0, resolutions=(4,)).fit(rows, y)
    assert len(model.term("a x b")) == len(model.term(("a x b",)))
    assert len(model.term("a", "b")) != len(model.term("a x b"))
    levels = model.term("a x b").set_index("level")["count"]
    assert levels["others"] == (rows["a x b"] == "others").sum()
    assert levels["rare"] == (rows["a x b"] == "rare").sum()
    counts = rows["a x b"].value_counts()
    assert levels["(rare)"] == counts[counts < 5].sum()
    assert model.term("a x b")["level"].isna().sum() == 1
    cells = model.term("a", "a x b").groupby("a x b level", dropna=False)["count"].sum()
    assert cells["others"] == levels["others"]
    assert cells["(others)"] > 0
    assert cells.sum() == 900


def test_contributions_of_several_classes_and_missing_values(tmp_path):
    rows, y = X.copy(), np.digitize(X.sum(axis=1), [-0.5, 0.5])
    rows[::7, 1] = np.nan
    found = snb.AdditiveClassifier(1, l2=1.0, pair_factor=1.0, resolutions=(4,)).fit(rows, y)
    added = found.contributions(rows)
    assert added.shape == (200, 3, 3)
    scores = added.sum(axis=1) + found.intercept_
    np.testing.assert_allclose(scores, found.decision_function(rows), rtol=0, atol=1e-12)
    np.testing.assert_allclose(abs(added).mean(axis=(0, 2)), found.terms_["importance"])
    store = zarr.create_array(tmp_path / "added.zarr", shape=added.shape, chunks=(64, 3, 3), dtype="f8")
    found.contributions(rows, out=store)
    np.testing.assert_array_equal(store[:], added)
    lazy = found.contributions(dask_array.from_array(rows, chunks=(33, 2)))
    assert lazy.shape == added.shape
    np.testing.assert_array_equal(lazy.compute(), added)


@pytest.mark.filterwarnings("ignore:.*without effect")
def test_contributions_of_tables_with_new_levels(tmp_path):
    frame = pd.DataFrame({"x": X[:, 0], "level": np.where(X[:, 1] > 0, "high", "low")})
    found = snb.AdditiveClassifier([("x", "level")], l2=1.0, pair_factor=1.0, resolutions=(4,)).fit(frame, Y)
    new = frame.iloc[:9].assign(level=["new", "low", "high"] * 3)
    with pytest.warns(snb.StreamnbWarning, match="3 of 'level', in 9 rows"):
        added = found.contributions(new)
    scores = added.sum(axis=1) + found.intercept_
    np.testing.assert_allclose(scores, found.decision_function(new), rtol=0, atol=1e-12)
    names = found.terms_["name"].tolist()
    assert (added[::3, names.index("level")] == 0.0).all()
    assert (added[::3, names.index(("x", "level"))] == 0.0).all()
    new.to_parquet(tmp_path / "new.parquet")
    np.testing.assert_array_equal(found.contributions(tmp_path / "new.parquet"), added)


def test_contributions_follow_edits_and_calibration(model):
    model.calibrate(X, Y)
    model.term_scores_["x1"] = 0.0 * model.term_scores_["x1"]
    added = model.contributions(X)
    np.testing.assert_allclose(added.sum(axis=1) + model.intercept_, model.decision_function(X), rtol=0, atol=1e-12)
    model.calibrate(X, Y, method="isotonic")
    refuses(ValueError, "isotonic", lambda: model.contributions(X))
    with pytest.raises(ValueError, match=r"out has shape \(2, 3\)"):
        snb.AdditiveClassifier(1, l2=1.0, resolutions=(4,)).fit(X, Y).contributions(X, out=np.empty((2, 3)))


def test_a_term_speaks_for_the_positive_class():
    x, y = np.repeat([[1.0], [2.0]], 50, axis=0), ["a"] * 40 + ["b"] * 50 + ["a"] * 10
    model = snb.AdditiveClassifier().fit(x, y)
    assert (model.term("x0", positive="a")["score"] == -model.term("x0")["score"]).all()
    assert (model.term("x0", positive="b")["score"] == model.term("x0")["score"]).all()
    with pytest.raises(ValueError, match=r"positive='c' is not a class; it should be one of \['a', 'b'\]"):
        model.term("x0", positive="c")


def columns(n_codes=5, ordered=True, missing=True):
    base = BinEdges([np.array([1.0, 2.0, 3.0])], np.array([missing]))
    coded = CodedFeatures(np.array([0, n_codes]), np.ones(n_codes), np.array([ordered]), np.array([missing]))
    return TermColumns.of(base, coded, [((0,), 2)])


def test_levels_that_share_a_step_are_others():
    rng = np.random.default_rng(0)
    levels = np.array([f"l{i:02}" for i in range(40)])[np.minimum(rng.geometric(0.1, 900), 40) - 1]
    frame = pd.DataFrame({"level": levels, "x": rng.normal(size=900)})
    y = (frame["x"] > 0) == (frame["level"] < "l07")
    rows = snb.table(frame, y.to_numpy(), min_count=1)
    model = snb.AdditiveClassifier([("level", "x")], l2=1.0, pair_factor=1.0, resolutions=(4,)).fit(rows)
    names = model.term("level", "x")["level level"].unique().tolist()
    assert names.count("others") == 1
    assert len(names) == 32
    assert len(model.term("level")) == frame["level"].nunique()

"""Drift of new rows: beside counts of pandas, by the sums of each kind of model, in every container, and refusals."""

import json

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa

import streamnb as snb
from tests.support.refusals import cases, refused, refuses


def week(n=600, seed=0, new=False):
    """Rows of a table; in a `new` week there is another city, and a third of the ages is missing."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"age": rng.normal(40.0, 10.0, n), "city": rng.choice(["Rome", "Oslo"] + new * ["Kyiv"], n)})
    frame["day"] = pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(0, 60, n), "D")
    frame.loc[rng.random(n) < (0.3 if new else 0.05), "age"] = np.nan
    frame["late"] = np.where(frame["age"].fillna(40.0) + rng.normal(0.0, 5.0, n) > 40.0, "yes", "no")
    return frame


OLD, NEW, SAME = week(), week(400, 1, True), week(400, 2)
NUMBERS = OLD.assign(late=np.arange(len(OLD)) % 5 + 1.0)
MODELS = {
    "naive Bayes": (snb.LinearNB(), OLD),
    "trees": (snb.TreeNB(), OLD),
    "softmax": (snb.SoftmaxRegression(), OLD),
    "penalties": (snb.SoftmaxRegressionCV(folds=2), OLD),
    "margins": (snb.CrammerSingerSVM(), OLD),
    "additive": (snb.AdditiveClassifier(0, folds=2, resolutions=(8,)), OLD),
    "ridge": (snb.Ridge(), NUMBERS),
    "poisson": (snb.PoissonRegressor(), NUMBERS),
    "curves": (snb.AdditiveRegressor(interactions=0, folds=2, resolutions=(8,)), NUMBERS),
}


@cases(MODELS)
def test_the_sums_of_a_model_tell_what_its_rows_would(case, tmp_path):
    model, rows = case
    model = model.fit(rows, "late")
    model.save(tmp_path / "m.snb")
    model = snb.load(tmp_path / "m.snb")
    found, beside = model.drift(NEW), model.drift(NEW, before=OLD)
    pd.testing.assert_frame_equal(found.columns, beside.columns, rtol=1e-9)
    pd.testing.assert_frame_equal(found.values, beside.values, rtol=1e-9)
    assert set(found.moved) == {"age", "city"} <= set(beside.moved) and not model.drift(SAME, before=OLD).moved
    assert found.n_before == len(OLD) and found.n_rows == len(NEW)


def test_shares_and_new_values_are_those_of_pandas():
    found = snb.LinearNB().fit(OLD, "late").drift(NEW)
    table = found.columns.set_index("column")
    assert found.unseen.values.tolist() == [["city", "Kyiv", 0, (NEW["city"] == "Kyiv").sum()]]
    assert table.loc["city", "new_values"] == (NEW["city"] == "Kyiv").mean()
    assert table.loc["age", ["missing_before", "missing"]].tolist() == [
        OLD["age"].isna().mean(),
        NEW["age"].isna().mean(),
    ]
    cities = found.values[found.values["column"] == "city"].set_index("value")
    assert cities.loc["city=Rome", ["before", "after"]].tolist() == [(f["city"] == "Rome").mean() for f in (OLD, NEW)]
    assert found.scores["before"].tolist() == OLD["late"].value_counts(normalize=True)[["no", "yes"]].tolist()
    alone = snb.LinearNB().fit(OLD, "late").drift(NEW.assign(city="Kyiv"))
    assert alone.unseen["rows"].tolist() == [len(NEW)] and alone.columns["new_values"].max() == 1.0
    assert "2 of 4 columns moved" in repr(found) and "Kyiv" in repr(found)
    assert json.loads(json.dumps(found.summary(), default=float))["moved"] == ["city", "age"]


def test_missing_values_where_none_was_at_fit():
    model = snb.LinearNB().fit(OLD.assign(age=OLD["age"].fillna(40.0)), "late")
    table = model.drift(NEW).columns.set_index("column")
    assert table.loc["age", "missing"] == NEW["age"].isna().mean() and table.loc["age", "change"] == "(missing)"


def test_containers_do_not_matter(tmp_path):
    model, expected = snb.LinearNB().fit(OLD, "late"), None
    NEW.to_parquet(tmp_path / "week.parquet", row_group_size=70)
    given = NEW, tmp_path / "week.parquet", pa.Table.from_pandas(NEW), NEW.to_dict("records")
    frames = dd.from_pandas(NEW, npartitions=3), dd.from_pandas(NEW.drop(columns="late"), npartitions=2)
    for X in (*given, *frames, iter([NEW[:150], NEW[150:]])):
        found = model.drift(X)
        expected = expected or found
        pd.testing.assert_frame_equal(found.columns, expected.columns)
        pd.testing.assert_frame_equal(found.unseen, expected.unseen)


X = np.random.default_rng(0).normal(size=(400, 3))
Y, SHIFT = np.arange(400) % 2, np.array([0.0, 1.0, 0.0])
ARRAYS = {
    "normal": (snb.LinearNB("gaussian"), X, X + SHIFT),
    "wider": (snb.SoftmaxRegression(), X, X * [1.0, 3.0, 1.0]),
    "bins": (snb.LinearNB(transform=snb.Bins(4)), X, X + SHIFT),
    "presence": (snb.LinearNB("bernoulli"), X > 0.0, X > SHIFT),
    "terms": (snb.AdditiveClassifier(0, folds=2, resolutions=(4,)), X, X + SHIFT),
    "ridge": (snb.Ridge(), X, X - SHIFT),
}


@cases(ARRAYS)
def test_columns_of_arrays(case):
    model, old, new = case
    model = model.fit(old, Y + 0.5 if isinstance(model, snb.Ridge) else Y)
    assert model.drift(new).moved == ["x1"] and not model.drift(old, before=old).moved
    assert model.drift(dd.from_pandas(pd.DataFrame(new), npartitions=3)).moved == ["x1"]


def test_words_of_texts_and_hashed_categories():
    texts = ["red wine", "blue sea", "white wine", "calm sea"] * 50
    model = snb.LinearNB("multinomial").fit(texts, ["wine", "sea"] * 100)
    assert model.drift(texts).moved == [] and model.drift(["red sea"] * 200).moved == ["text"]
    planes = pd.DataFrame({"plane": [f"N{i % 97}" for i in range(600)], "hour": np.arange(600) % 7.0})
    hashed = snb.LinearNB().fit(snb.table(planes, np.arange(600) % 2, hashed=["plane"]))
    assert hashed.drift(planes).moved == [] and hashed.drift(planes.assign(plane="N1")).moved == ["plane (hashed)"]


def test_what_cannot_be_compared_is_said(tmp_path):
    model = snb.LinearNB().fit(OLD, "late")
    refuses(ValueError, "no column 'city'", lambda: model.drift(NEW.drop(columns="city")))
    refuses(ValueError, "no rows", lambda: model.drift(NEW[:0]))
    with refused(ValueError, "ignore='town'", "'age'"):
        model.drift(NEW, ignore=["town"])
    assert model.drift(NEW, ignore=["city"]).moved == ["age"] and model.drift(NEW, ignore="city").moved == ["age"]
    refuses(ValueError, "threshold=-1", lambda: model.drift(NEW, threshold=-1.0))
    refuses(ValueError, "model.drift\\(rows\\)", lambda: snb.scan(OLD, "late").drift(snb.scan(SAME, "late")))
    model.save(tmp_path / "light.snb", stats=False)
    with refused(AttributeError, "stats=False", "sums of the columns"):
        snb.load(tmp_path / "light.snb").drift(NEW)
    levels = snb.CategoricalNB().fit(X > 0.0, Y)
    with refused(ValueError, "CategoricalNB keeps no sums", "'x0', 'x1' and 'x2'|x0.*x2", "before="):
        levels.drift(X > 0.0)
    assert levels.drift(X > SHIFT, before=X > 0.0).moved[0] == "x1"

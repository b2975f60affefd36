"""Models of tables in SQL, ONNX and plain Python: the same probabilities as predict_proba, in real databases."""

import runpy
import sqlite3

import duckdb
import numpy as np
import onnxruntime
import pandas as pd
import polars as pl
import pytest

import streamnb as snb
from tests.support import exported
from tests.support.postgres import POSTGRES, answer_of_postgres
from tests.support.refusals import refused

N_ROWS = 400
NAME = 'select "x"'  # a reserved word and quotes


def table(seed=0):
    """Rows of all kinds of columns, with missing values; strings hold quotes."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            NAME: rng.choice(["it's", 'a "b"', "", "é; DROP TABLE x"], N_ROWS),
            "size": np.where(rng.random(N_ROWS) < 0.1, np.nan, rng.normal(size=N_ROWS).round(3)),
            "zip": rng.choice([7, 10115, 20095, 80331], N_ROWS),
            "open": rng.random(N_ROWS) < 0.5,
            "n": rng.poisson(3.0, N_ROWS),
            "day": pd.Timestamp("2019-12-28") + pd.to_timedelta(rng.integers(0, 24 * 900, N_ROWS), unit="h"),
        }
    )
    frame.loc[rng.random(N_ROWS) < 0.1, NAME] = None
    score = frame["size"].fillna(1.0) + frame["open"] - (frame["zip"] == 7) + rng.logistic(size=N_ROWS)
    frame["y"] = np.where(score > 0.8, "high", np.where(score < -0.5, "it's low", "none"))
    return frame


def new_rows():
    """Rows to score: unknown categories, nulls, and numbers beyond those of the fit."""
    rows = table(1).drop(columns="y")
    rows.loc[0, NAME] = "unknown"
    rows.loc[1, "zip"] = 99
    rows.loc[[2, 3], "size"] = [1e300, -1e300]
    return rows


def answer(dialect, query, rows, file):
    """The result of a query over the table "rows", in the order of its column "id"; of a Parquet file in DuckDB."""
    rows = rows.assign(id=np.arange(len(rows)))
    if dialect == "duckdb":
        with duckdb.connect() as connection:
            pl.from_pandas(rows, nan_to_null=False).write_parquet(file)  # the bounds in it leave NaN out
            found = connection.execute(f"SET TimeZone = 'UTC'; CREATE VIEW rows AS FROM '{file}'").execute(query).df()
    elif dialect == "sqlite":
        connection = sqlite3.connect(":memory:")
        rows.to_sql("rows", connection, index=False)
        found = pd.read_sql(query, connection)
        connection.close()
    else:
        found = answer_of_postgres(query, rows)
    return found.sort_values("id").drop(columns="id").reset_index(drop=True)


def fed(session, rows):
    """The columns of rows as inputs of a graph."""
    takes = {"tensor(string)": object, "tensor(double)": float, "tensor(int64)": "datetime64[s]"}
    inputs = {one.name: rows[[one.name]].to_numpy(takes[one.type]) for one in session.get_inputs()}
    return {name: values.astype(np.int64) if values.dtype.kind == "M" else values for name, values in inputs.items()}


def run_in_onnx(model, rows, tmp_path):
    """Labels and probabilities, as a query names them; or predictions."""
    model.export(tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"))
    labels, *shares = session.run(None, fed(session, rows))
    if not shares:
        return pd.DataFrame({"prediction": labels})
    columns = {f"probability of {name}": shares[0][:, k] for k, name in enumerate(model.classes_)}
    return pd.DataFrame({"label": labels, **columns})


def queried(model, dialect, rows, tmp_path):
    if dialect == "onnx":
        return run_in_onnx(model, rows, tmp_path)
    model.export(tmp_path / "model.sql", dialect=dialect, keep=["id"])
    return answer(dialect, (tmp_path / "model.sql").read_text(), rows, tmp_path / "rows.parquet")


MODELS = {
    "additive": lambda: snb.AdditiveClassifier(interactions=3),
    "softmax": lambda: snb.SoftmaxRegression(1.0, standardize=True),
    "naive Bayes": lambda: snb.LinearNB(),
    "one against the rest": lambda: snb.LinearNB(scheme="ovr"),
}
OF_EACH = [*zip(MODELS, ["onnx", "onnx", "duckdb", "sqlite"], strict=True)]
ASKED = [*OF_EACH, ("additive", "duckdb"), ("additive", "sqlite")]
IN_POSTGRES = [pytest.mark.process, pytest.mark.skipif(not POSTGRES, reason="no PostgreSQL")]


@pytest.mark.filterwarnings("ignore::streamnb.StreamnbWarning")  # of values that were in no row of the fit
@pytest.mark.parametrize(("name", "dialect"), [*ASKED, pytest.param("additive", "postgres", marks=IN_POSTGRES)])
def test_queries_answer_as_the_model(name, dialect, tmp_path):
    options = {} if name == "softmax" else {"bins": 8}
    pairs = [("zip", "open")] if name == "softmax" else []
    rows = snb.table(table(), "y", categorical=["zip"], pairs=pairs, **options)
    model, given = MODELS[name]().fit(rows), new_rows()
    found = queried(model, dialect, given, tmp_path)
    assert list(found) == ["label", *(f"probability of {label}" for label in model.classes_)]
    np.testing.assert_allclose(found.iloc[:, 1:].to_numpy(float), model.predict_proba(given), rtol=0, atol=1e-12)
    assert found["label"].tolist() == model.predict(given).tolist()


@pytest.mark.filterwarnings("ignore::streamnb.StreamnbWarning")
@pytest.mark.parametrize("name", MODELS)
def test_plain_python_answers_as_the_model(name, tmp_path):
    model, given = MODELS[name]().fit(snb.table(table(), "y", categorical=["zip"])), new_rows()
    model.export(tmp_path / "model.py")
    assert (tmp_path / "model.py").read_text().count("import ") == 1
    plain = runpy.run_path(str(tmp_path / "model.py"))
    records = given.astype(object).where(given.notna(), None).to_dict("records")
    found = [plain["predict_proba"](record) for record in records]
    assert list(found[0]) == model.classes_.tolist()
    np.testing.assert_allclose([list(one.values()) for one in found], model.predict_proba(given), rtol=0, atol=1e-12)
    assert [plain["predict"](record) for record in records] == model.predict(given).tolist()
    dates = [{**record, "day": record["day"].isoformat()} for record in records]
    assert [plain["predict_proba"](record) for record in dates] == found
    with pytest.raises(TypeError, match="'size' is 'big', and should be a number"):
        plain["predict"]({**records[0], "size": "big"})
    with refused(ValueError, "record has no 'open'; give None"):
        plain["predict"]({name: value for name, value in records[0].items() if name != "open"})
    with refused(ValueError, "'day' is 'May', and should be a date"):
        plain["predict"]({**records[0], "day": "May"})
    with refused(TypeError, "should be a dict of values by column"):
        plain["predict"]([1, 2])
    of_numpy = {**records[0], "day": np.datetime64(records[0]["day"]), "size": np.float64(0.5)}
    assert plain["predict_proba"](of_numpy) == plain["predict_proba"]({**records[0], "size": 0.5})
    for wrong, error, what in (
        ({"table": ""}, ValueError, "the name of a table"),
        ({"table": "schema."}, ValueError, "the name of a table"),
        ({"keep": "id"}, TypeError, r"such as \['id'\]"),
    ):
        with refused(error, what):
            model.export(tmp_path / "model.sql", dialect="duckdb", **wrong)


@pytest.mark.parametrize("name", exported.MODELS.keys() - {*exported.DIVIDED})
def test_models_of_arrays_have_columns_by_name(name, tmp_path):
    model, X = exported.fitted(name)
    rows = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    model.export(tmp_path / "model.py")
    plain, records = runpy.run_path(str(tmp_path / "model.py")), rows.to_dict("records")
    found, labels = queried(model, "duckdb", rows, tmp_path), model.predict(X)
    if hasattr(model, "predict_proba"):
        expected = model.predict_proba(X)
        shares = [list(plain["predict_proba"](record).values()) for record in records]
        np.testing.assert_allclose(shares, expected, rtol=0, atol=1e-12)
        in_columns = found.iloc[:, -expected.shape[1] :].to_numpy(float)
        np.testing.assert_allclose(in_columns, expected, rtol=0, atol=1e-12)
    if labels.ndim == 2:
        assert found.iloc[:, : labels.shape[1]].to_numpy().tolist() == labels.tolist()
        of_records = [plain["predict"](record) for record in records]
        assert [[k in one for k in model.classes_.tolist()] for one in of_records] == labels.tolist()
    else:
        assert found["label"].tolist() == [plain["predict"](record) for record in records] == labels.tolist()


@pytest.mark.parametrize("name", ["multinomial", "binary", "labels", "tree", "bins", "additive"])
def test_missing_numbers_of_arrays(name, tmp_path):
    model, X = exported.fitted(name)
    X = X.astype(float)
    X[:, 1] = np.nan
    rows = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])])
    missing = queried(model, "duckdb", rows, tmp_path)
    if name == "additive":  # takes them, with a warning
        with pytest.warns(snb.StreamnbWarning, match="missing where the fit had none"):
            expected = model.predict_proba(X)
        np.testing.assert_allclose(missing.iloc[:, -3:].to_numpy(float), expected, rtol=0, atol=1e-12)
        return
    assert missing.isna().all(axis=None)
    model.export(tmp_path / "model.py")
    with pytest.raises(ValueError, match="missing"):
        runpy.run_path(str(tmp_path / "model.py"))["predict"]({**rows.iloc[0].to_dict(), "x1": None})


def test_regressions_of_tables(tmp_path):
    frame = table().drop(columns="y").assign(y=np.random.default_rng(0).normal(size=N_ROWS))
    model, given = snb.Ridge(10.0).fit(snb.table(frame, "y", categorical=["zip"])), new_rows()
    expected = model.predict(given)
    for dialect in ("onnx", "duckdb", "sqlite"):
        np.testing.assert_allclose(queried(model, dialect, given, tmp_path)["prediction"], expected, atol=1e-12)
    model.export(tmp_path / "model.py")
    plain = runpy.run_path(str(tmp_path / "model.py"))
    records = given.astype(object).where(given.notna(), None).to_dict("records")
    np.testing.assert_allclose([plain["predict"](record) for record in records], expected, rtol=1e-12)


def test_queries_read_tables_of_schemas_and_keep_the_columns_of_the_model_by_default(tmp_path):
    model = snb.SoftmaxRegression().fit([[0.0, 1.0], [1.0, 0.0], [2.0, 0.0]], ["a", "b", "b"])
    model.export(tmp_path / "m.sql", dialect="duckdb", table="main.new rows")
    with duckdb.connect() as connection:
        connection.execute('CREATE TABLE main."new rows" AS SELECT 2.0 AS x0, 0 AS x1, 5 AS id')
        found = connection.execute((tmp_path / "m.sql").read_text()).df()
    assert list(found) == ["x0", "x1", "label", "probability of a", "probability of b"]
    assert found["label"].tolist() == ["b"]


def test_whole_numbers_and_booleans_are_one_category_whatever_their_type(tmp_path):
    frame = pd.DataFrame({"zip": [7, 8] * 50, "y": ["a", "b"] * 40 + ["b", "a"] * 10})
    model = snb.LinearNB().fit(snb.table(frame, "y", categorical=["zip"]))
    for values in ([7, 8], [7.0, 8.0], ["7", "8"]):
        found = queried(model, "duckdb", pd.DataFrame({"zip": values}), tmp_path)
        assert found["label"].tolist() == ["a", "b"]


def test_nan_of_a_category_is_missing_in_queries(tmp_path):
    frame = pd.DataFrame({"zip": [7.0, 8.0, np.nan] * 40, "y": ["a", "b", "b"] * 30 + ["b", "a", "a"] * 10})
    model, rows = snb.LinearNB().fit(snb.table(frame, "y", categorical=["zip"])), frame[["zip"]][:3]
    found = queried(model, "duckdb", rows, tmp_path).filter(like="probability")
    np.testing.assert_allclose(found, model.predict_proba(rows), atol=1e-12)


REFUSED = {
    "dialect": (dict(path="m.sql", dialect="oracl"), "dialect='oracl' should be one of", "postgres"),
    "no dialect": (dict(path="m.sql"), "needs dialect="),
    "dialect of another file": (dict(path="m.json", dialect="duckdb"), "no other file does"),
    "table of another file": (dict(path="m.py", table="t"), "table='t'", "belong to dialect="),
    "names": (dict(path="m.sql", dialect="duckdb", keep=["label"]), "keep=", "'label'"),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED)
def test_what_is_given_wrong(case, tmp_path):
    (options, *words), model = case, snb.LinearNB().fit([[0.0], [1.0], [2.0]], ["a", "b", "b"])
    with refused(ValueError, *words):
        model.export(tmp_path / options.pop("path"), **options)
    assert not list(tmp_path.iterdir())


def test_what_has_no_plain_form_is_named(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"word": rng.choice(["a b", "b c"], 60), "x": rng.random(60), "y": rng.integers(0, 2, 60)})
    models = {
        "'word'": snb.LinearNB().fit(snb.table(frame, "y", hashed=["word"])),
        "texts": snb.LinearNB().fit(snb.table(frame, "y", text=["word"])),
        "norm of the row": snb.LinearNB("multinomial", normalize="l2").fit(rng.random((60, 2)), frame["y"]),
    }
    for words, model in models.items():
        for name, options in (("m.sql", {"dialect": "sqlite"}), ("m.py", {})):
            with refused(ValueError, words, "save"):
                model.export(tmp_path / name, **options)
    zoned = frame.assign(at=pd.date_range("2020-01-01", periods=60, freq="9h", tz="Europe/Berlin")).drop(columns="word")
    model = snb.LinearNB().fit(snb.table(zoned, "y"))
    with refused(ValueError, "'at' has a time zone"):
        model.export(tmp_path / "m.py")
    with refused(ValueError, "'at' has a time zone"):
        model.export(tmp_path / "m.sql", dialect="sqlite")

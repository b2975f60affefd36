"""A table is a table: each container of the same rows gives the same model and the same answers, to the last bit."""

import json
import re
from pathlib import Path

import dask.dataframe as dd
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.feather as feather
import pytest

import streamnb as snb

N_ROWS = 240
OPTIONS = {"n_threads": 2, "progress": False}


def _frame():
    random = np.random.default_rng(0)
    frame = pd.DataFrame({"cost": random.normal(size=N_ROWS).round(3), "hour": random.integers(5, 24, N_ROWS)})
    frame["plane"] = np.array(["N1", "N2", "Ö3"])[random.integers(0, 3, N_ROWS)]
    late = 2 * frame["cost"] + (frame["plane"] == "N2") + random.normal(size=N_ROWS) / 3 > 0
    frame["late"] = np.where(late, "late", "good")
    return frame


FRAME = _frame()
TABLE = pa.Table.from_pandas(FRAME, preserve_index=False)
POLARS = pl.from_pandas(FRAME)
SHUFFLED = FRAME[["late", "plane", "hour", "cost"]]
STRINGS = "plane", "late"


def with_strings(kind):
    """The table with strings of another Arrow type."""
    for name in STRINGS:
        at = TABLE.schema.get_field_index(name)
        column = TABLE[name].dictionary_encode() if kind == "dictionary" else TABLE[name].cast(kind)
        yield at, name, column


def arrow(kind):
    table = TABLE
    for at, name, column in with_strings(kind):
        table = table.set_column(at, name, column)
    return table


def dictionary_of_views():
    table = arrow("dictionary")
    for name in STRINGS:
        column = table[name].combine_chunks()
        views = pa.DictionaryArray.from_arrays(column.indices, column.dictionary.cast(pa.string_view()))
        table = table.set_column(table.schema.get_field_index(name), name, views)
    return table


def pieces(table, n_rows=100):
    return [table[first : first + n_rows] for first in range(0, N_ROWS, n_rows)]


def files(folder):
    """The rows as files of each format, whole and in two parts."""
    folder = Path(folder)
    FRAME.to_csv(folder / "rows.csv", index=False)
    feather.write_feather(TABLE, folder / "rows.feather")
    POLARS.write_parquet(folder / "polars.parquet")
    lines = (json.dumps(row) for row in FRAME.to_dict("records"))
    (folder / "rows.jsonl").write_text("\n".join(lines), encoding="utf-8")
    for name, rows in {"rows": FRAME, "part1": FRAME[:99], "part2": FRAME[99:]}.items():
        rows.to_parquet(folder / f"{name}.parquet", index=False)
    return folder


CONTAINERS = {
    "pandas, another index": lambda folder: FRAME.set_index(np.arange(N_ROWS)[::-1]),
    "pandas, categories": lambda folder: FRAME.astype(dict.fromkeys(STRINGS, "category")),
    "pandas, string": lambda folder: FRAME.astype(dict.fromkeys(STRINGS, "string")),
    "pandas, pyarrow": lambda folder: FRAME.convert_dtypes(dtype_backend="pyarrow"),
    "Polars": lambda folder: POLARS,
    "Polars, lazy": lambda folder: POLARS.lazy(),
    "Polars, categories": lambda folder: POLARS.with_columns(pl.col(pl.String).cast(pl.Categorical)),
    "Arrow": lambda folder: TABLE,
    "Arrow, views": lambda folder: arrow("string_view"),
    "Arrow, large strings": lambda folder: arrow("large_string"),
    "Arrow, dictionaries": lambda folder: arrow("dictionary"),
    "Arrow, dictionaries of views": lambda folder: dictionary_of_views(),
    "Arrow, chunked": lambda folder: pa.concat_tables(pieces(arrow("dictionary"))),
    "record batch": lambda folder: TABLE.combine_chunks().to_batches()[0],
    "reader": lambda folder: TABLE.to_reader(100),
    "dataset": lambda folder: ds.dataset(folder / "rows.parquet"),
    "DuckDB": lambda folder: duckdb.sql("select * from TABLE_", connection=_connection()),
    "reader of DuckDB": lambda folder: duckdb.sql("select * from TABLE_", connection=_connection()).arrow(),
    "generator of batches": lambda folder: (batch for batch in TABLE.to_batches(100)),
    "generator of pandas": lambda folder: iter(pieces(FRAME)),
    "callable of Polars": lambda folder: lambda: iter(pieces(POLARS)),
    "Dask": lambda folder: dd.from_pandas(FRAME, npartitions=3),
    "Parquet": lambda folder: folder / "rows.parquet",
    "Parquet of Polars": lambda folder: folder / "polars.parquet",
    "Feather": lambda folder: folder / "rows.feather",
    "CSV": lambda folder: folder / "rows.csv",
    "JSON lines": lambda folder: folder / "rows.jsonl",
    "list of strings": lambda folder: [str(folder / "part1.parquet"), str(folder / "part2.parquet")],
    "list of paths": lambda folder: [folder / "part1.parquet", folder / "part2.parquet"],
    "pattern": lambda folder: str(folder / "part?.parquet"),
}


def _connection():
    connection = duckdb.connect()
    connection.register("TABLE_", TABLE)
    return connection


def weights(model):
    return model.feature_names_in_.tolist(), model.coef_.tolist(), np.ravel(model.intercept_).tolist()


def searched(X):
    found = snb.search(X, "late", families=["auto"], models=[snb.SoftmaxRegressionCV([1.0])], folds=2, show=False)
    return found.results_.drop(columns="seconds", errors="ignore").astype(str).to_numpy().tolist(), weights(found.best_)


def updated(X):
    model = snb.LinearNB("auto").fit(FRAME, "late")
    with pytest.warns(snb.StreamnbWarning, match="the bins of"):
        return weights(model.partial_fit(X, "late"))


FITS = {
    "LinearNB": lambda X: weights(snb.LinearNB("auto").fit(X, "late", **OPTIONS)),
    "SoftmaxRegression": lambda X: weights(snb.SoftmaxRegression().fit(X, "late", **OPTIONS)),
    "AdditiveClassifier": lambda X: weights(
        snb.AdditiveClassifier(interactions=0, l2=1.0, folds=2).fit(X, "late", **OPTIONS)
    ),
    "Ridge": lambda X: weights(snb.Ridge().fit(X, "hour")),
    "partial_fit": updated,
    "search": searched,
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return files(tmp_path_factory.mktemp("tables"))


@pytest.fixture(scope="module")
def fitted():
    return {name: fit(FRAME) for name, fit in FITS.items()}


@pytest.fixture(scope="module")
def model():
    return snb.SoftmaxRegression().fit(FRAME, "late", **OPTIONS)


@pytest.fixture(scope="module")
def judged(model):
    return answers(lambda: FRAME, model)


every_container = pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)


@every_container
def test_every_container_gives_the_same_model(container, folder, fitted):
    for name, fit in FITS.items():
        assert fit(container(folder)) == fitted[name], name


@pytest.mark.parametrize("container", [*CONTAINERS.values(), lambda folder: SHUFFLED], ids=[*CONTAINERS, "shuffled"])
def test_every_container_is_predicted_and_judged_alike(container, folder, model, judged):
    assert answers(lambda: container(folder), model) == judged


def answers(rows, model):
    compared = snb.compare_models({"a": model, "b": model}, rows(), "late").differences
    return [
        model.predict(rows()).tolist(),
        model.predict_proba(rows()).tolist(),
        model.score(rows(), "late"),
        model.evaluate(rows(), "late").log_loss(),
        compared.to_csv(),
    ]


@pytest.mark.parametrize("name", ["Polars, lazy", "reader", "DuckDB", "generator of batches", "list of strings"])
def test_reports_and_saved_models_take_rows_that_are_read_once(name, folder, model, tmp_path):
    model.save(tmp_path / "model.snb")
    loaded = snb.load(tmp_path / "model.snb")
    np.testing.assert_array_equal(loaded.predict(CONTAINERS[name](folder)), model.predict(FRAME))
    pages = []
    for X, against in ((FRAME, SHUFFLED), (CONTAINERS[name](folder), CONTAINERS[name](folder))):
        snb.report(model, X, "late", tmp_path / "page.html", against=against, force=True)
        pages.append(re.sub("[^>]* UTC", "", (tmp_path / "page.html").read_text(encoding="utf-8")))
    assert pages[0] == pages[1]


def test_chunks_of_one_table_have_the_same_columns():
    with pytest.raises(snb.DataError, match=r"X: chunk 1 has the columns .*'hour'.*, and the first one has"):
        snb.LinearNB("auto").fit(iter([FRAME, FRAME.drop(columns="cost")]), "late")
    with pytest.raises(snb.DataError, match=r"X: its chunks hold a column of several types"):
        snb.LinearNB("auto").fit(iter([FRAME, FRAME.assign(cost="high")]), "late")
    with pytest.raises(ValueError, match=r"y='late' names .* pass the array"):
        snb.LinearNB("auto").fit(iter([np.ones((2, 2))]), "late")

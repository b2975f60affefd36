"""A table is a table: each container of the same rows gives the same model and the same answers, to the last bit."""

import json
import re

import dask.dataframe as dd
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.feather as feather
import pytest
from sklearn.base import clone

import streamnb as snb

pytestmark = pytest.mark.filterwarnings(
    "ignore:X. its columns are numbers alone",
    "ignore:X. some of its numbers are no counts",
    "ignore:X has unknown row-chunk",
)
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
OF_NUMBERS = FRAME.drop(columns="plane")
STRINGS = "plane", "late"


class Rows:
    """The rows of a frame in the containers of several packages, and in files of a folder."""

    def __init__(self, frame, folder):
        self.frame, self.folder = frame, folder
        self.table, self.polars = pa.Table.from_pandas(frame, preserve_index=False), pl.from_pandas(frame)
        self.strings = [name for name in STRINGS if name in frame]
        frame.to_csv(folder / "rows.csv", index=False)
        feather.write_feather(self.table, folder / "rows.feather")
        self.polars.write_parquet(folder / "polars.parquet")
        lines = (json.dumps(row) for row in frame.to_dict("records"))
        (folder / "rows.jsonl").write_text("\n".join(lines), encoding="utf-8")
        for name, rows in {"rows": frame, "part1": frame[:99], "part2": frame[99:]}.items():
            rows.to_parquet(folder / f"{name}.parquet", index=False)

    def as_type(self, dtype):
        return self.frame.astype(dict.fromkeys(self.strings, dtype))

    def arrow(self, convert):
        """The Arrow table with converted strings."""
        table = self.table
        for name in self.strings:
            table = table.set_column(table.schema.get_field_index(name), name, convert(table[name]))
        return table

    def duckdb(self):
        connection = duckdb.connect()
        connection.register("rows", self.table)
        return connection.sql("select * from rows")


def coded(column):
    return column.combine_chunks().dictionary_encode()


def coded_views(column):
    codes = coded(column)
    return pa.DictionaryArray.from_arrays(codes.indices, codes.dictionary.cast(pa.string_view()))


def pieces(table, n_rows=100):
    return [table[first : first + n_rows] for first in range(0, N_ROWS, n_rows)]


CONTAINERS = {
    "pandas, another index": lambda rows: rows.frame.set_index(np.arange(N_ROWS)[::-1]),
    "pandas, categories": lambda rows: rows.as_type("category"),
    "pandas, string": lambda rows: rows.as_type("string"),
    "pandas, pyarrow": lambda rows: rows.frame.convert_dtypes(dtype_backend="pyarrow"),
    "Polars": lambda rows: rows.polars,
    "Polars, lazy": lambda rows: rows.polars.lazy(),
    "Polars, categories": lambda rows: rows.polars.with_columns(pl.col(pl.String).cast(pl.Categorical)),
    "Arrow": lambda rows: rows.table,
    "Arrow, views": lambda rows: rows.arrow(lambda column: column.cast("string_view")),
    "Arrow, large strings": lambda rows: rows.arrow(lambda column: column.cast("large_string")),
    "Arrow, dictionaries": lambda rows: rows.arrow(coded),
    "Arrow, dictionaries of views": lambda rows: rows.arrow(coded_views),
    "Arrow, chunked": lambda rows: pa.concat_tables(pieces(rows.arrow(coded))),
    "record batch": lambda rows: rows.table.combine_chunks().to_batches()[0],
    "reader": lambda rows: rows.table.to_reader(100),
    "dataset": lambda rows: ds.dataset(rows.folder / "rows.parquet"),
    "DuckDB": lambda rows: rows.duckdb(),
    "reader of DuckDB": lambda rows: rows.duckdb().arrow(),
    "generator of batches": lambda rows: (batch for batch in rows.table.to_batches(100)),
    "generator of pandas": lambda rows: iter(pieces(rows.frame)),
    "callable of Polars": lambda rows: lambda: iter(pieces(rows.polars)),
    "Dask": lambda rows: dd.from_pandas(rows.frame, npartitions=3),
    "Parquet": lambda rows: rows.folder / "rows.parquet",
    "Parquet of Polars": lambda rows: rows.folder / "polars.parquet",
    "Feather": lambda rows: rows.folder / "rows.feather",
    "CSV": lambda rows: rows.folder / "rows.csv",
    "JSON lines": lambda rows: rows.folder / "rows.jsonl",
    "list of strings": lambda rows: [str(rows.folder / "part1.parquet"), str(rows.folder / "part2.parquet")],
    "list of paths": lambda rows: [rows.folder / "part1.parquet", rows.folder / "part2.parquet"],
    "pattern": lambda rows: str(rows.folder / "part?.parquet"),
}


def weights(model):
    return model.feature_names_in_.tolist(), model.coef_.tolist(), np.ravel(model.intercept_).tolist()


def searched(X):
    asked = {"families": ["gaussian"], "models": [snb.SoftmaxRegressionCV([1.0], tol=1e-2)]}
    found = snb.search(X, "late", **asked, folds=2, show=False)
    return found.results_.drop(columns="seconds", errors="ignore").astype(str).to_numpy().tolist(), weights(found.best_)


MODELS = {
    "auto": snb.LinearNB("auto"),
    "of counts": snb.LinearNB(),
    "SoftmaxRegression": snb.SoftmaxRegression(tol=1e-2),
    "AdditiveClassifier": snb.AdditiveClassifier(interactions=0, l2=1.0, resolutions=(4,), folds=2, tol=1e-2),
}
FITS = {name: lambda X, model=model: weights(clone(model).fit(X, "late", **OPTIONS)) for name, model in MODELS.items()}
FITS |= {"Ridge": lambda X: weights(snb.Ridge().fit(X, "hour")), "search": searched}
# Containers are opened in one place; those that are read in ways of their own go through a third of the other fits.
EACH = "SoftmaxRegression", "weighted"
THOROUGH = "Polars, lazy", "reader", "DuckDB", "generator of batches", "Dask", "CSV"


def counted(X):
    counters = snb.CategoryCounters(pairs=[(0, 1)], folds=2).fit(X, "late")
    return counters.feature_names_in_.tolist(), counters.transform(FRAME).tolist()


def weighted(X):
    return weights(snb.LinearNB("gaussian").fit(X, "late", sample_weight="hour"))


FITS |= {"counters": counted, "weighted": weighted}


OTHERS = [name for name in FITS if name not in EACH]
OF_KIND = dict.fromkeys(CONTAINERS, EACH) | {kind: (*EACH, *OTHERS[k % 3 :: 3]) for k, kind in enumerate(THOROUGH)}
FRAMES = {"mixed": FRAME, "numbers": OF_NUMBERS}
of_each = pytest.mark.parametrize(
    ("rows", "kind"),
    [*(("mixed", kind) for kind in CONTAINERS), *(("numbers", kind) for kind in THOROUGH[::2])],
    indirect=["rows"],
    scope="module",  # else the rows, and what is fitted to them, were made for each test
)


@pytest.fixture(scope="module")
def rows(request, tmp_path_factory):
    return Rows(FRAMES[getattr(request, "param", "mixed")], tmp_path_factory.mktemp("tables"))


@pytest.fixture(scope="module")
def fitted(rows):
    return {name: fit(rows.frame) for name, fit in FITS.items()}


@pytest.fixture(scope="module")
def model(rows):
    return snb.SoftmaxRegression().fit(rows.frame, "late", **OPTIONS)


@pytest.fixture(scope="module")
def counters(rows):
    return snb.CategoryCounters(folds=2).fit(rows.frame, "late")


@pytest.fixture(scope="module")
def judged(model, counters, rows):
    return answers(lambda: rows.frame, model, counters)


@pytest.fixture(scope="module")
def updated(rows):
    return {family: weights(of_further_rows(family, rows.frame, rows)) for family in ("auto", "gaussian")}


def of_further_rows(family, X, rows):
    return snb.LinearNB(family).fit(rows.frame, "late").partial_fit(X, "late")


@of_each
def test_every_container_gives_the_same_model(kind, rows, fitted, updated):
    for name in OF_KIND[kind]:
        assert FITS[name](CONTAINERS[kind](rows)) == fitted[name], name
    for family, expected in updated.items():
        if family == "auto" or kind in THOROUGH:
            assert weights(of_further_rows(family, CONTAINERS[kind](rows), rows)) == expected


def another_order(rows):
    return rows.frame[rows.frame.columns[::-1]].assign(more="x")


@of_each
def test_every_container_is_predicted_and_judged_alike(kind, rows, model, counters, judged):
    assert answers(lambda: CONTAINERS[kind](rows), model, counters) == judged


def test_columns_in_another_order_are_predicted_and_judged_alike(rows, model, counters, judged):
    assert answers(lambda: another_order(rows), model, counters) == judged


def winner(model):
    """The best of a search of one model of several reads."""
    return snb.search(OF_NUMBERS, "late", families=[], models=[model], folds=2, show=False).best_


@pytest.fixture(scope="module")
def named():
    """Models of each kind that were fitted on the data frame of numbers."""
    models = [snb.LinearNB("gaussian"), snb.SoftmaxRegression(), snb.MarginClassifier(), snb.LeastSquaresClassifier()]
    models += [snb.TreeNB(), snb.LinearDiscriminantAnalysis(), snb.LinearNB("gaussian", transform=snb.Bins(4))]
    models += [snb.LinearNBCV("gaussian", folds=2), snb.AdditiveClassifier(interactions=0, l2=1.0, folds=2)]
    regression = snb.Ridge().fit(OF_NUMBERS.drop(columns="late"), "hour")
    return [*(model.fit(OF_NUMBERS, "late") for model in models), regression, *map(winner, WINNERS)]


WINNERS = snb.SoftmaxRegressionCV([1.0]), snb.MarginClassifierCV([1.0]), snb.LeastSquaresClassifierCV([1.0])


@pytest.fixture(scope="module")
def in_another_order(tmp_path_factory):
    return Rows(OF_NUMBERS[OF_NUMBERS.columns[::-1]].assign(more="x"), tmp_path_factory.mktemp("tables"))


@pytest.mark.parametrize(("number", "kind"), [*enumerate(CONTAINERS)])
def test_columns_are_matched_by_their_names(number, kind, named, in_another_order):
    for model in named[number % 3 :: 3]:
        found = np.asarray(model.predict(CONTAINERS[kind](in_another_order)))
        np.testing.assert_array_equal(found, model.predict(OF_NUMBERS), err_msg=repr(model))


def test_names_of_columns_are_said_of_the_winners_of_a_search(named, tmp_path):
    for model in named[-len(WINNERS) :]:
        assert {*model.top_features()["feature"]} == {"cost", "hour"}
        model.save(tmp_path / "model.snb")
        model.export(tmp_path / "model.json")
        assert snb.load(tmp_path / "model.snb").feature_names_in_.tolist() == ["cost", "hour"]
        assert json.loads((tmp_path / "model.json").read_text())["feature_names"] == ["cost", "hour"]
    snb.report(named[-1], OF_NUMBERS, "late", tmp_path / "page.html")
    assert "cost" in (tmp_path / "page.html").read_text(encoding="utf-8")


def answers(rows, model, counters):
    compared = snb.compare_models({"a": model, "b": model}, rows(), "late").differences
    return [
        np.asarray(model.predict(rows())).tolist(),
        np.asarray(model.predict_proba(rows())).tolist(),
        model.score(rows()),
        model.evaluate(rows(), "late").log_loss(),
        compared.to_csv(),
        np.asarray(counters.transform(rows())).tolist(),
    ]


@pytest.mark.parametrize("kind", THOROUGH)
def test_columns_that_are_no_features_name_slices_groups_and_weights(kind, rows):
    model = snb.SoftmaxRegression().fit(FRAME[["cost", "late"]], "late")
    beside = {"by": rows.strings[0], "groups": "hour", "sample_weight": "hour"}
    found, expected = (model.evaluate(X, "late", **beside) for X in (CONTAINERS[kind](rows), rows.frame))
    assert found.slices.to_csv() == expected.slices.to_csv() and len(found.slices) > 1


def page_of(model, X, against, folder):
    snb.report(model, X, "late", folder / "page.html", against=against)
    return re.sub("[^>]* UTC", "", (folder / "page.html").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def page(model, rows, tmp_path_factory):
    return page_of(model, rows.frame, another_order(rows), tmp_path_factory.mktemp("page"))


@pytest.mark.parametrize("name", ["Polars, lazy", "reader"])
def test_reports_and_saved_models_take_rows_that_are_read_once(name, rows, model, page, tmp_path):
    model.save(tmp_path / "model.snb")
    loaded = snb.load(tmp_path / "model.snb")
    np.testing.assert_array_equal(loaded.predict(CONTAINERS[name](rows)), model.predict(rows.frame))
    assert loaded.score(CONTAINERS[name](rows)) == model.score(rows.frame)
    assert page_of(model, CONTAINERS[name](rows), CONTAINERS[name](rows), tmp_path) == page


def test_numbers_stay_numbers_where_there_are_no_other_columns():
    def n_columns(model, X):
        return model.fit(X, "late").n_features_in_

    counts = pl.from_pandas(OF_NUMBERS.assign(cost=OF_NUMBERS["hour"] * 2.0))
    assert n_columns(snb.SoftmaxRegression(), counts) == n_columns(snb.LinearNB(), counts) == 2
    assert n_columns(snb.LinearNB("gaussian"), OF_NUMBERS) == 2
    assert n_columns(snb.LinearNB(), OF_NUMBERS) == n_columns(snb.LinearNB("auto"), OF_NUMBERS) > 20
    assert n_columns(snb.LinearNB(binarize=0.5, family="bernoulli"), OF_NUMBERS) == 2
    assert n_columns(snb.SoftmaxRegression(), FRAME) > 20
    gap = OF_NUMBERS.assign(cost=OF_NUMBERS["cost"].where(OF_NUMBERS["hour"] > 5))
    assert n_columns(snb.SoftmaxRegression(), gap) == n_columns(snb.SoftmaxRegression(), pl.from_pandas(gap)) > 20


@pytest.mark.filterwarnings("default")
def test_what_changes_for_tables_of_numbers_is_said():
    with pytest.warns(snb.StreamnbWarning, match="its columns are numbers alone, which stay as they are"):
        snb.SoftmaxRegression().fit(pl.from_pandas(OF_NUMBERS), "late")
    with pytest.warns(snb.StreamnbWarning, match="some of its numbers are no counts, so that all become bins"):
        snb.LinearNB().fit(OF_NUMBERS, "late")


def test_chunks_of_one_table_have_the_same_columns():
    with pytest.raises(snb.DataError, match=r"X: chunk 1 has the columns .*'hour'.*, and the first one has"):
        snb.LinearNB("auto").fit(iter([FRAME, FRAME.drop(columns="cost")]), "late")
    with pytest.raises(snb.DataError, match=r"X: its chunks hold a column of several types"):
        snb.LinearNB("auto").fit(iter([FRAME, FRAME.assign(cost="high")]), "late")
    with pytest.raises(ValueError, match=r"y='late' names .* pass the array"):
        snb.LinearNB("auto").fit(iter([np.ones((2, 2))]), "late")

"""A column without any value is missing in every row, whatever its type says: in rows to score, to add and at sites."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import streamnb as snb

N = 90
rng = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "number": rng.normal(size=N).round(2),
        "string": rng.choice(["a", "b", "c"], N),
        "boolean": rng.random(N) < 0.5,
        "date": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, N), "D"),
        "instant": pd.Timestamp("2020-01-01", tz="UTC") + pd.to_timedelta(rng.integers(0, 900, N), "D"),
        "code": rng.choice(["07", "7", "8"], N),
        "note": rng.choice(["red wine", "green tea"], N),
        "label": np.where(rng.random(N) < 0.5, "u", "v"),
        "y": rng.normal(size=N).round(2),
    }
)
COLUMNS = [*FRAME.columns[:7]]
OPTIONS = {"categorical": ["code"], "text": ["note"], "hash_features": 64}


def rows(**options):
    return snb.table(FRAME.drop(columns="y"), "label", **OPTIONS, **options)


MODELS = {
    "naive Bayes": lambda: snb.LinearNB("auto").fit(rows()),
    "numbers as they are": lambda: snb.LinearNB("auto").fit(rows(bins=None)),
    "pairs, hashed": lambda: snb.LinearNB("auto").fit(rows(pairs=[("string", "boolean")], hashed=["string"])),
    "regression": lambda: snb.Ridge().fit(snb.table(FRAME[COLUMNS], bins=None, **OPTIONS), FRAME["y"]),
    "additive": lambda: snb.AdditiveClassifier(0).fit(FRAME[[*COLUMNS, "label"]], "label"),
}


@pytest.fixture(scope="module")
def fitted():
    return {name: make() for name, make in MODELS.items()}


def some(column):
    """A few rows in which a column is missing, with Nones."""
    frame = FRAME[:5].copy()
    frame[column] = None
    return frame


def begun(column):
    """The same rows among others, in which the column has values."""
    return FRAME.assign(**{column: FRAME[column].where(np.arange(N) >= 5)})


def in_json(frame, path, left_out=()):
    frame.drop(columns=list(left_out)).to_json(path, orient="records", lines=True, date_format="iso")
    return path


def in_parquet(frame, path):
    frame.to_parquet(path)
    return path


def in_csv(frame, path):
    frame.to_csv(path, index=False)
    return path


@pytest.mark.parametrize(
    ("name", "column"),  # each column of one model, and two of each other
    [*(("naive Bayes", column) for column in COLUMNS), *zip([*MODELS][1:] * 2, COLUMNS + COLUMNS[:1], strict=True)],
)
@pytest.mark.filterwarnings("ignore:X has values without effect")
def test_predictions_are_those_of_rows_with_that_value_missing(name, column, fitted, tmp_path):
    model = fitted[name]
    answer = getattr(model, "predict_proba", model.predict)
    frame = some(column)
    expected = answer(begun(column))[:5]
    nan = frame.assign(**{column: np.nan})
    forms = {
        "NaN": nan,
        "None": frame,
        "Polars strings": pa.Table.from_pandas(frame).set_column(
            frame.columns.get_loc(column), column, pa.nulls(5, pa.string())
        ),
        "CSV": in_csv(frame, tmp_path / "a.csv"),
        "JSON": in_json(frame, tmp_path / "a.jsonl"),
        "JSON without the key": in_json(frame, tmp_path / "b.jsonl", [column]),
        "Parquet": in_parquet(frame, tmp_path / "a.parquet"),
        "Parquet, NaN": in_parquet(nan, tmp_path / "b.parquet"),
        "records": frame.to_dict("records"),
        "records of NaN": nan.to_dict("records"),
        "records without the key": frame.drop(columns=column).to_dict("records"),
    }
    for form, X in forms.items():
        np.testing.assert_array_equal(answer(X), expected, err_msg=form)
    np.testing.assert_array_equal(answer(nan.iloc[:1]), expected[:1])


@pytest.mark.parametrize("column", COLUMNS)
def test_a_column_may_begin_after_the_first_rows_of_a_file(column, tmp_path, monkeypatch):
    from streamnb.rows import line_files

    monkeypatch.setattr(line_files, "PIECE_BYTES", 400)
    model = snb.LinearNB("auto").fit(rows())
    both = begun(column)[:20]
    for path in (in_csv(both, tmp_path / "a.csv"), in_json(both, tmp_path / "a.jsonl")):
        np.testing.assert_array_equal(model.predict_proba(path), model.predict_proba(both))


@pytest.mark.parametrize("column", ["number", "date"])
def test_rows_are_judged_added_and_written(column, tmp_path):
    model, frame = snb.LinearNB("auto").fit(rows()), some(column)
    nan = frame.assign(**{column: np.nan})
    for X in (nan, in_csv(frame, tmp_path / "a.csv"), in_json(frame, tmp_path / "a.jsonl", [column])):
        assert model.evaluate(X, "label").log_loss() == model.evaluate(frame, "label").log_loss()
        grown = snb.LinearNB("auto").fit(rows()).partial_fit(X, "label")
        assert np.array_equal(grown.coef_, snb.LinearNB("auto").fit(rows()).partial_fit(frame, "label").coef_)
    expected = model.predict(begun(column))[:5].tolist()
    forms = {
        "csv": in_csv(frame, tmp_path / "a.csv"),
        "jsonl": in_json(frame, tmp_path / "b.jsonl", [column]),
        "parquet": in_parquet(nan, tmp_path / "a.parquet"),
    }
    for name, path in forms.items():
        snb.write_predictions(model, path, tmp_path / name, progress=False)
        assert pd.read_parquet(tmp_path / name / "part-00000.parquet")["label"].tolist() == expected


def test_values_of_another_kind_are_still_refused():
    model = snb.LinearNB("auto").fit(rows())
    for column, wrong, kind in (("number", "x", "number"), ("string", 1.5, "category"), ("date", True, "date")):
        with pytest.raises(snb.DataError, match=rf"column '{column}' is of type .*; it should be of kind '{kind}'"):
            model.predict(FRAME[:3].assign(**{column: wrong}))
    with pytest.raises(ValueError, match="no row of X has any of the columns that the model was fitted on, "):
        model.predict([{"strin": "a"}])


@pytest.mark.parametrize(
    ("column", "empty"),
    [("number", np.nan), ("string", None), ("boolean", np.nan), ("date", None), ("instant", np.nan)],
)
def test_a_site_may_have_no_value_of_a_column(column, empty):
    names = [*COLUMNS[:5], "label"]
    here, there = FRAME[names][:50], FRAME[names][50:].assign(**{column: empty})
    tables = [pa.Table.from_pandas(each, preserve_index=False) for each in (here, there.assign(**{column: None}))]
    together = snb.table(pa.concat_tables(tables, promote_options="permissive"), "label")
    for sites in ((here, there), (there, here)):
        schema = sum(snb.schema(site, "label") for site in sites)
        assert {*schema.encoding.column_names} == {*together.feature_names}
        assert sum(schema.scan(site, site=str(k)).stats.n_rows for k, site in enumerate(sites)) == N


def test_a_part_of_a_table_may_have_no_value_of_a_column(tmp_path):
    """One of several files of Parquet or JSON lines, in any order; what pandas wrote as NaN is of type double there."""
    names = ["number", "string", "label"]
    parts = [FRAME[names][:30], FRAME[names][30:60].assign(string=np.nan), FRAME[names][60:]]
    expected = snb.LinearNB("auto").fit(pd.concat(parts, ignore_index=True), "label").coef_
    for order in ([0, 1, 2], [1, 0, 2]):
        some_parts = [parts[k] for k in order]
        parquet = [in_parquet(part, tmp_path / f"{k}.parquet") for k, part in enumerate(some_parts)]
        lines = [
            in_json(part, tmp_path / f"{k}.jsonl", ["string"] if part["string"].isna().all() else [])
            for k, part in enumerate(some_parts)
        ]
        for files in (parquet, lines):
            assert np.array_equal(snb.LinearNB("auto").fit(files, "label").coef_, expected)
    in_parquet(parts[1].assign(string=1.5), tmp_path / "1.parquet")
    with pytest.raises(snb.DataError, match=r"1.parquet: column 'string' is of type double \(number\)"):
        snb.LinearNB("auto").fit([tmp_path / "2.parquet", tmp_path / "1.parquet"], "label")

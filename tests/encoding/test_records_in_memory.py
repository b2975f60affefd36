"""Dicts, a Series of one row and record batches are rows of a table, as lines of JSON with these values are."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import streamnb as snb

N = 60
rng = np.random.default_rng(1)
MIXED = pd.DataFrame(
    {
        "miles": rng.normal(500.0, 200.0, N).round(),
        "plane": rng.choice(["N1", "N2", "2024-01-01"], N),
        "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 300, N), "D"),
        "late": rng.choice(["yes", "no"], N),
    }
)
NUMBERS = pd.DataFrame(rng.poisson(2.0, (N, 3)), columns=["a", "b", "c"]).assign(y=rng.integers(0, 2, N))
MODELS = {
    "table": (snb.LinearNB("auto"), MIXED, "late"),
    "additive": (snb.AdditiveClassifier(0), MIXED, "late"),
    "regression of a table": (snb.Ridge(), MIXED.drop(columns="late"), "miles"),
    "numbers": (snb.LinearNB("poisson"), NUMBERS, "y"),
    "regression of numbers": (snb.Ridge(), NUMBERS, "y"),
}


@pytest.mark.parametrize("name", MODELS)
def test_they_are_rows_of_a_frame(name):
    model, frame, y = MODELS[name]
    model.fit(frame, y)
    answer = getattr(model, "predict_proba", model.predict)
    rows = frame.drop(columns=y)
    expected, records = answer(rows), rows.to_dict("records")
    of_web = json.loads(rows.to_json(orient="records", date_format="iso"))  # dates are strings
    forms = {
        "records": records,
        "in another order": [dict(reversed(record.items())) for record in records],
        "of a request": of_web,
        "with more": [{**record, "more": None} for record in records],
        "a batch": pa.RecordBatch.from_pandas(rows, preserve_index=False),
    }
    for form, X in forms.items():
        np.testing.assert_array_equal(answer(X), expected, err_msg=form)
    for row in (0, 7):
        for X in (
            records[row],
            of_web[row],
            tuple(of_web[row : row + 1]),
            rows.iloc[row],
            rows.astype(object).iloc[row],
        ):
            np.testing.assert_array_equal(answer(X), expected[row : row + 1])
    assert model.score(frame.to_dict("records"), y) == model.score(frame, y)


@pytest.mark.parametrize("name", ["table", "numbers", "regression of numbers"])
def test_models_are_fitted_and_judged_on_them(name):
    model, frame, y = MODELS[name]
    expected = model.fit(frame, y).coef_
    for X in (frame.to_dict("records"), pa.RecordBatch.from_pandas(frame, preserve_index=False)):
        assert np.array_equal(model.fit(X, y).coef_, expected)
        if name == "regression of numbers":
            continue
        options = {"by": y} if name == "table" else {}
        judged = [model.evaluate(rows, y, **options) for rows in (X, frame)]
        assert judged[0].log_loss() == judged[1].log_loss()
        assert name != "table" or judged[0].slices.equals(judged[1].slices)
        assert np.array_equal(model.partial_fit(X, y).coef_, model.fit(frame, y).partial_fit(frame, y).coef_)


def test_what_is_no_row_of_a_table_is_named():
    model = snb.LinearNB("poisson").fit(NUMBERS, "y")
    for X, error, message in (
        ([{"a": 1, "b": 2}], ValueError, "yet now missing:\n- c"),
        ([{"a": 1, "b": 2, "c": "x"}], (TypeError, ValueError), "'c'"),
        ([{"a": 1, "b": 2, "c": 3}, {"a": 1, "b": 2, "c": "x"}], TypeError, "'c' holds values of several kinds"),
        ([{"a": 1, "b": 2, "c": 1 << 70}], TypeError, "'c' holds values of several kinds"),
    ):
        with pytest.raises(error, match=message):
            model.predict(X)
    with pytest.raises(TypeError, match="column 'a' is nested"):
        snb.table([{"a": [1]}, {"a": [2]}])


def test_labels_may_be_named_columns_of_any_table():
    polars = pytest.importorskip("polars")
    expected = snb.LinearNB("poisson").fit(NUMBERS, "y").coef_
    for X in (pa.Table.from_pandas(NUMBERS), polars.from_pandas(NUMBERS)):
        assert np.array_equal(snb.LinearNB("poisson").fit(X, "y").coef_, expected)
        with pytest.raises(ValueError, match="y='z' is not a column of X"):
            snb.LinearNB("poisson").fit(X, "z")

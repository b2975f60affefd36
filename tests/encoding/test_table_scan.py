"""What one pass learns of the columns of a table."""

import warnings

import numpy as np
import pandas as pd
import pytest

import streamnb as snb

CODES = pd.DataFrame({"code": [7, 8, 9] * 20, "n": np.arange(60) % 5, "y": [0, 1, 1] * 20})
MODEL = snb.LinearNB("auto").fit(snb.table(CODES, "y", categorical=["code"]))


def said(model, X):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.predict(X)
    return [str(one.message) for one in caught if issubclass(one.category, snb.StreamnbWarning)]


def with_codes(codes):
    return CODES.assign(code=pd.Series(codes).astype("string"))


def test_codes_that_are_written_otherwise_are_others_and_told_once():
    found = said(MODEL, with_codes(["07", "08", "9"] * 20))
    assert len(found) == 1
    assert found[0].startswith("X: 40 of 60 values of 'code' were not seen at fit, such as '07', and have")
    assert found[0].endswith("the fitted values are ['7', '8', '9']")
    many = pd.concat([with_codes(["07"] * 60)] * 2000)
    assert said(MODEL, many) == [found[0].replace("40 of 60", "120,000 of 120,000")]


@pytest.mark.parametrize("codes", [["07", "7"] * 30, ["07", "7", None] * 20, [None] * 60, [7.0, 8.0, 9.0] * 20])
def test_half_of_the_values_and_those_that_are_missing_are_none_of_them(codes):
    assert not said(MODEL, with_codes(codes) if isinstance(codes[0], str | None) else CODES.assign(code=codes))


def test_values_that_are_rare_or_hashed_have_a_column():
    fitted, strange = CODES.assign(code=[5, *CODES["code"][1:]]), CODES.assign(code=-CODES["code"])
    for options in ({"categorical": ["code"], "min_count": 2}, {"hashed": ["code"], "hash_features": 16}):
        assert not said(snb.LinearNB("auto").fit(snb.table(fitted, "y", **options)), strange)
    rows = snb.table(CODES, "y", categorical=["code"], pairs=[("code", "n")])
    assert len(said(snb.LinearNB("auto").fit(rows), strange)) == 1  # nothing of the pairs


def test_new_values_of_columns_that_often_have_new_ones_are_usual():
    rows = CODES.assign(code=[f"r{i}" if i % 4 else "usual" for i in range(60)])
    model = snb.LinearNB("auto").fit(snb.table(rows, "y", categorical=["code"]))
    others = rows.assign(code=[f"s{i}" if i % 4 else "usual" for i in range(60)])
    assert not said(model, others)
    assert said(model, others.assign(code="strange"))[0].startswith("X: 60 of 60 values of 'code' were not seen at fit")


def test_years_to_come_are_unknown():
    frame = CODES.assign(day=pd.date_range("2022-06-01", periods=60, freq="10D"))
    model = snb.LinearNB("auto").fit(frame, "y")
    assert not said(model, frame)
    found = said(model, frame.assign(day=frame["day"] + pd.Timedelta("3650D")))
    assert len(found) == 1 and "of 'day: year' were not seen at fit" in found[0]

"""Exports of models of tables: rows of numbers, which become columns as those of the table do."""

import numpy as np
import pandas as pd
import pytest

import streamnb as snb
from tests.support.refusals import refused

onnxruntime = pytest.importorskip("onnxruntime")
RNG = np.random.default_rng(0)
N = 200
FRAME = pd.DataFrame({"gap": RNG.normal(size=N), "code": RNG.integers(0, 4, N), "n": RNG.integers(0, 90, N)})
FRAME["y"] = np.where(FRAME["code"] + FRAME["n"] / 30 > 3, "late", "in time")
FRAME["s"], FRAME["day"] = (
    np.where(FRAME["n"] > 40, "x", "z"),
    pd.Timestamp("2024-01-01") + pd.to_timedelta(FRAME["n"], "D"),
)
FRAME.loc[::7, "gap"] = np.nan
NUMBERS = ["n", "gap", "code"]


def test_bins_and_numbers_of_categories_are_part_of_the_graph(tmp_path):
    model = snb.LinearNB("auto").fit(snb.table(FRAME, "y", columns=NUMBERS, categorical=["code"], bins={"n": 5}))
    model.export(tmp_path / "m.onnx")
    frame = FRAME[NUMBERS].astype("f4").sample(frac=1.0, random_state=0)
    frame.loc[frame.index[:3], "code"] = 9  # never seen
    given = frame.astype({"code": int, "n": int})
    session = onnxruntime.InferenceSession(str(tmp_path / "m.onnx"))
    labels, shares = session.run(None, {"rows": frame[list(model.encoding_.columns)].to_numpy()})
    assert np.array_equal(labels, model.predict(given)) and len(set(labels)) == 2
    np.testing.assert_allclose(shares, model.predict_proba(given), atol=1e-12)


@pytest.mark.parametrize("code", [FRAME["code"] / 10, FRAME["code"] + 20_260_101], ids=["tenths", "large"])
def test_categories_that_no_row_of_float32_could_have_are_refused(code, tmp_path):
    model = snb.LinearNB("auto").fit(snb.table(FRAME.assign(code=code), "y", columns=["code"], categorical=["code"]))
    with refused(ValueError, "column 'code' has the category .*no float32"):
        model.export(tmp_path / "m.onnx")
    model.export(tmp_path / "m.json")


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"columns": ["n", "s"]}, "column 's' is not of numbers"),
        ({"columns": ["n", "day"]}, "column 'day: month' is not of numbers"),
        ({"columns": ["n"], "hashed": ["n"]}, "column 'n' is not of numbers"),
        ({"columns": ["n"], "bins": None}, "column 'n' is not of numbers"),
        ({"columns": ["n", "s"], "text": ["s"]}, "made of texts"),
    ],
    ids=str,
)
def test_other_columns_are_named_before_anything_is_written(options, named, tmp_path):
    model = snb.LinearNB("auto").fit(snb.table(FRAME, "y", **options))
    for asked in (
        lambda: model.export(tmp_path / "m.onnx"),
        lambda: model.export(tmp_path / "m.json"),
        model.to_sklearn,
    ):
        with refused(ValueError, named):
            asked()
    assert not list(tmp_path.iterdir())

import json
import re

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import zarr
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import streamnb as snb
from streamnb.cli.main import commands

RNG = np.random.default_rng(0)
N = 500
LEFT = RNG.integers(0, 2, N)
ROWS = pd.DataFrame(
    {
        "number": np.arange(N) + 1_000,
        "age": RNG.integers(18, 90, N),
        "income": np.where(RNG.random(N) < 0.1, np.nan, RNG.lognormal(10.0, 1.0, N)),
        "plan": RNG.choice(["a", "b", None], N),
        "since": pd.Timestamp("2020-01-01") + pd.to_timedelta(RNG.integers(0, 900, N), unit="D"),
        "total": [f"{value:.1f}" if value > 2.0 else " " for value in RNG.lognormal(3.0, 1.0, N)],
        "zip": [f"{value:05d}" for value in RNG.integers(0, 99_999, N)],
        "reason": np.where(LEFT == 1, "closed", None),
        "paid": RNG.random(N) < 0.3,
        "note": [f"a text of some words {i % 7}" for i in range(N)],
        "years": 0,
        "left": np.where(LEFT == 1, "yes", "no"),
    }
)
ROWS["years"] = ROWS["age"]


def test_columns_are_as_pandas_has_them():
    found = snb.describe(ROWS, "left")
    table = found.to_frame().set_index("name")
    assert (table["missing"] == ROWS.drop(columns="left").isna().sum()).all()
    assert (table["distinct"] == ROWS.drop(columns="left").nunique()).all()
    for name in ("number", "age", "income"):
        expected = ROWS[name].quantile([0.0, 0.25, 0.5, 0.75, 1.0], interpolation="inverted_cdf")
        assert table.loc[name, ["lowest", "q25", "median", "q75", "highest"]].tolist() == expected.tolist()
    assert table.loc["since", "lowest"] == str(ROWS["since"].min().date())
    assert dict(table.loc["plan", "frequent"]) == ROWS["plan"].value_counts().to_dict()
    assert found.classes == ROWS["left"].value_counts().to_dict()
    assert json.loads(json.dumps(found.to_dict()))["n_rows"] == N


def test_what_is_odd_is_told():
    noted = {column.name: " ".join(column.notes) for column in snb.describe(ROWS, "left").columns}
    assert "identifiers" in noted["number"] and "alone determines 100.0 % of the labels" in noted["reason"]
    assert "written as text, others are such as ' '" in noted["total"] and noted["years"] == "the same values as age"
    assert "text=['note']" in noted["note"] and "drop=['number']" in noted["number"]
    (note,) = snb.describe(ROWS[["since"]].astype(str)).columns[0].notes
    assert "parse_dates=['since']" in note
    assert not any(noted[name] for name in ("age", "income", "plan", "since", "zip", "paid"))
    of_numbers = snb.describe(ROWS, ROWS["age"] ** 1.5)
    assert of_numbers.classes is None and of_numbers.target.name == "age"
    told = [column.name for column in of_numbers.columns if "order" in " ".join(column.notes)]
    assert told == ["age", "years"]
    few = snb.describe(ROWS.assign(left=[None, "maybe", *ROWS["left"][2:]], one=1), "left")
    assert "left: missing in 1 rows, which a fit refuses" in few.notes
    assert any("1 classes have fewer than 10 rows, such as maybe" in note for note in few.notes)
    assert few.columns[-1].notes == ("one value in every row",)


@settings(max_examples=5)
@given(st.integers(1, N), st.integers(0, 3))
def test_any_blocks_say_the_same(rows, kind):
    X, y = ROWS[["number", "age", "income"]].to_numpy(), ROWS["left"].to_numpy(str)
    parts = [(X[i : i + rows], y[i : i + rows]) for i in range(0, N, rows)] if rows > 20 else [(X, y)]
    given_rows = {
        0: lambda: (iter(parts),),
        1: lambda: (da.from_array(X, chunks=(max(rows, 20), -1)), y),
        2: lambda: (zarr.array(X, chunks=(max(rows, 20), 2)), y),
        3: lambda: (ROWS[["number", "age", "income"]].set_axis([0, 1, 2], axis=1), y),
    }[kind]()
    assert str(snb.describe(*given_rows, n_threads=2)) == str(snb.describe(X, y))


def test_files_and_frames_say_the_same(tmp_path):
    expected = str(snb.describe(ROWS, "left"))
    ROWS.to_parquet(tmp_path / "rows.parquet", row_group_size=70)
    assert str(snb.describe(tmp_path / "rows.parquet", "left")) == expected
    assert str(snb.describe(dd.from_pandas(ROWS, npartitions=3), "left")) == expected


def test_texts_and_wide_matrices():
    texts = snb.describe(["one", "two", "one"], ["x", "y", "x"])
    assert texts.columns[0].frequent == (("one", 2), ("two", 1)) and texts.classes == {"x": 2, "y": 1}
    X = sp.random_array((50, 3_000), density=0.01, rng=RNG, format="csr")
    wide = snb.describe(X, np.arange(50) % 2)
    assert wide.n_columns == 3_000 and not wide.columns
    assert f"{(X.sum(axis=0) == 0).sum():,} columns are 0 in every row" in wide.notes
    labels = snb.describe(np.ones((4, 1)), np.array([[1, 1], [0, 1], [0, 0], [0, 1]]))
    assert labels.classes == {"1": 3, "0": 1}


def test_mistakes_are_named():
    with pytest.raises(ValueError, match=r"y='gone' is not a column of X: .*'income'"):
        snb.describe(ROWS, "gone")
    times = pd.DataFrame({"at": pd.to_datetime(["2020-01-01 10:30", "2021-05-05 11:00"]), "none": [None, None]})
    at, none = snb.describe(times).columns
    assert (at.lowest, none.type) == ("2020-01-01 10:30", "empty")
    nested = snb.describe(pd.DataFrame({"a": [1, 2], "b": [[1], [2]]}))
    assert nested.columns[1].notes == ("nested: make columns of its parts",)


def test_the_command(tmp_path):
    path, page = str(tmp_path / "rows.parquet"), str(tmp_path / "look.html")
    ROWS.to_parquet(path)
    run = CliRunner().invoke
    expected = re.sub(r"snb\.table\(\.\., (\w+)=\[(.*?)\]\)", r"--\1 \2", str(snb.describe(path, "left")))
    assert run(commands, ["describe", path, "--y", "left"]).output == f"{expected}\n" and "--drop 'n" in expected
    assert json.loads(run(commands, ["describe", path, "--json"]).output)["target"] is None
    assert run(commands, ["describe", path, "--y", "left", "-o", page]).exit_code == 0
    assert re.search("<table>.*--drop &#x27;number&#x27;", (tmp_path / "look.html").read_text(), re.DOTALL)

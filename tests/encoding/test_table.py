"""`table`: what is asked of columns, and what is wrong with them."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.naive_bayes import CategoricalNB
from sklearn.preprocessing import OrdinalEncoder

import streamnb as snb
from tests.support.refusals import refused

N = 60
rng = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "s": rng.choice(["a", "b", "c"], N),
        "i": rng.integers(0, 5, N),
        "two": rng.integers(0, 2, N),
        "b": rng.random(N) > 0.5,
        "late": rng.integers(0, 2, N),
        "w": rng.random(N),
    }
)


def names(**options):
    return snb.table(FRAME, "late", weight="w", **options).feature_names.tolist()


def test_categories_are_those_of_naive_bayes():
    """Equal to scikit-learn's CategoricalNB, a bin a value."""
    model = snb.LinearNB("auto", smoothing=1.0).fit(snb.table(FRAME, "late", weight="w"))
    codes = OrdinalEncoder().fit_transform(FRAME[["s", "i", "two", "b"]])
    theirs = CategoricalNB().fit(codes, FRAME["late"], sample_weight=FRAME["w"])
    np.testing.assert_allclose(model.predict_proba(FRAME), theirs.predict_proba(codes), rtol=1e-12)


def test_what_columns_become():
    assert names(columns=["two"]) == ["two in (-inf, 0.5]", "two in (0.5, inf)"]
    assert names(columns=["two", "b"], categorical=["two"]) == ["two=0", "two=1", "b=0", "b=1"]
    assert names(columns=["i", "two"], bins={"i": None})[0] == "i" and len(names(columns=["i"], bins=3)) == 3
    assert len(names(columns=["s", "b"], pairs=[("s", "b")])) == 3 + 2 + 6
    assert names(columns=["s"], hash_features=2) == ["hash 0", "hash 1"]
    few = min(FRAME["s"].value_counts())
    rare = snb.table(FRAME, "late", columns=["s"], min_count=few + 1)
    assert rare.feature_names[-1] == "s is rare"
    missing = FRAME.assign(s=FRAME["s"].where(FRAME["s"] != "a"))
    assert snb.table(missing, "late", columns=["s"]).feature_names.tolist() == ["s=b", "s=c", "s is missing"]
    assert snb.table(missing, "late", columns=["s"], missing="ignore").feature_names.tolist() == ["s=b", "s=c"]
    dated = FRAME.assign(day=pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(N), "h"))
    assert snb.table(dated, "late", columns=["day"]).feature_names[-1] == "day: hour=23"
    assert "day" not in snb.table(dated, "late", dates=False).encoding.columns


def test_names_may_come_from_an_iterator():
    given = {"columns": ["s", "i", "two"], "categorical": ["i"], "hashed": ["two"], "pairs": [("s", "i")]}
    assert names(**{name: iter(each) for name, each in given.items()}, hash_features=64) == names(
        **given, hash_features=64
    )


def test_columns_that_are_named_are_hashed_however_few_values_they_have():
    made = names(columns=["s", "i"], hashed=["s", "i"], hash_features=64)
    assert len(made) == 64 and made[0] == "hash 0"
    assert len(names(columns=["s", "i"], hashed=["i"], hash_features=64)) == 3 + 64


def test_columns_that_say_nothing_are_left_out():
    frame = FRAME.assign(same=1, gone=None, row=[f"r{i}" for i in range(N)])
    with pytest.warns(snb.StreamnbWarning) as said:
        rows = snb.table(frame, "late")
    assert [str(one.message).split(" have ")[0] for one in said] == ["columns ['same', 'gone']", "columns ['row']"]
    assert not {"same", "gone"} & set(rows.encoding.columns) and "row" in rows.encoding.columns
    with pytest.raises(ValueError, match="Every column of X is constant"):
        snb.table(frame, "late", columns=["same"])
    with pytest.raises(ValueError, match="or has no value that min_count=5 rows share"):
        snb.table(frame, "late", columns=["row"], min_count=5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"y": "soon"}, r"y='soon' is not a column of X: \['"),
        ({"y": "Late"}, r"y='Late' is not a column of X: did you mean 'late'\?"),
        ({"columns": ["s", "late"]}, "columns='late' is given as y, too; leave"),
        ({"columns": ["x"]}, "columns='x' is not a column"),
        ({"columns": []}, "columns is empty"),
        ({"drop": ["x"]}, "drop='x' is not a column of X"),
        ({"drop": "s"}, r"drop='s' should be a list of names of columns; give \['s'\]"),
        ({"drop": ["s"], "columns": ["i"]}, "columns and drop are both given"),
        ({"columns": "s"}, "columns='s' should be a list of names"),
        ({"categorical": "i"}, "categorical='i' should be a list of names"),
        ({"text": "s"}, r"text='s' should be a list of names of columns; give \['s'\]"),
        ({"text": ["i"]}, "text='i' is a column of type int64; it should hold strings"),
        ({"pairs": [("s",)]}, "should be a list of pairs"),
        ({"pairs": [("s", "x")]}, "pairs='x' is not a column"),
        ({"bins": 1}, "bins=1 should be 2 or more"),
        ({"bins": {"s": 0}}, "bins"),
        ({"missing": "drop"}, "missing='drop'"),
        ({"dates": 1.5}, "dates=1.5"),
        ({"hash_features": 3}, "hash_features=3"),
        ({"min_count": 0}, "min_count"),
    ],
    ids=str,
)
def test_arguments_that_are_wrong_are_named(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        snb.table(FRAME, **{"y": "late", **options})


@pytest.mark.parametrize("argument", ["text", "categorical", "hashed", "columns", "drop"])
def test_names_that_no_json_line_has_are_refused(tmp_path, argument):
    """Such a column would be one of missing values alone, of 262,144 columns for text."""
    FRAME[:8].to_json(tmp_path / "a.jsonl", orient="records", lines=True)
    with pytest.raises(ValueError, match=f"{argument}='soon' is not a column of X"):
        snb.table(tmp_path / "a.jsonl", "late", **{argument: ["s", "soon"]})


def test_nested_columns_are_refused():
    frame = FRAME.assign(l=[[1, 2]] * N)
    with pytest.raises(TypeError, match="column 'l' is nested or an interval, of type list"):
        snb.table(frame, "late")
    assert snb.table(frame, "late", columns=["s"]).n_features == 3


def test_tables_without_rows_are_refused():
    with pytest.raises(ValueError, match="0 sample"):
        snb.table(FRAME[:0], "late")


def test_rows_of_a_group_stay_in_one_fold_without_being_asked_again():
    rows = snb.table(FRAME, "late", groups="i")
    assert not any(name.startswith("i ") for name in rows.feature_names)
    own, asked = (
        snb.scan(rows, folds=3),
        snb.scan(snb.table(FRAME.drop(columns="i"), "late"), folds=3, groups=FRAME["i"]),
    )
    for fold in range(3):
        assert np.array_equal(own.fold(fold).sum, asked.fold(fold).sum)
    model = snb.LinearNBCV("auto", penalty="none", folds=3).fit(rows)
    same = snb.LinearNBCV("auto", penalty="none", folds=3).fit(
        snb.table(FRAME.drop(columns="i"), "late"), groups=FRAME["i"]
    )
    assert model.best_score_ == same.best_score_ and model.predict(FRAME).shape == (N,)
    with pytest.raises(ValueError, match="groups"):
        snb.table(FRAME, "late", groups="none")
    with pytest.raises(TypeError, match="groups is of type ndarray"):
        snb.table(FRAME, "late", groups=np.arange(N))


def test_the_index_of_a_frame_is_no_feature(tmp_path):
    FRAME[FRAME["i"] > 1].to_parquet(tmp_path / "some.parquet")  # which keeps the numbers of the rows
    model = snb.LinearNB("auto").fit(tmp_path / "some.parquet", "late")
    assert not any("index" in name for name in model.feature_names_in_)
    assert model.predict(FRAME).tolist() == model.predict(FRAME.reset_index(drop=True)).tolist()


# ---- Which columns of a table are hashed, and the n-grams of its texts -----------------------------------------------


def test_the_columns_of_most_values_share_a_hash_space():
    rng = np.random.default_rng(6)
    sizes = {"a": 90, "b": 9, "c": 60}
    frame = pd.DataFrame({name: rng.integers(0, size, 400).astype(str) for name, size in sizes.items()})
    frame["n"], frame["y"] = rng.normal(size=400), rng.integers(0, 2, 400)
    frame.loc[:9, "a"] = None
    rows = snb.table(frame, "y", hash_features=32, bins={"n": None})
    assert rows.feature_names.tolist() == [*(f"b={k}" for k in range(9)), "n", *(f"hash {k}" for k in range(32))]
    assert rows.encoding.kinds == [("categorical", 9), ("gaussian", 1), ("multinomial", 32)]
    (block,) = rows.blocks()
    hashed = sp.csr_array(block.X[:3], shape=(400, 42)).toarray()[:, 10:]
    assert set(np.unique(hashed)) == {0.0, 1.0} and set(hashed.sum(axis=1)) == {1.0, 2.0}  # two of a row may meet
    assert snb.LinearNB("auto").fit(rows).coef_.shape == (1, 42)
    more = snb.table(frame, "y", hash_features=128, bins={"n": None}).feature_names.tolist()
    assert {"b=3", "c=7", "hash 127"} <= {*more} and "a is missing" not in more
    assert "hash 0" not in snb.table(frame, "y", hash_features=256).feature_names.tolist()


def test_texts_of_a_table_have_the_n_grams_that_are_named(tmp_path):
    texts = ["red wine", "black tea", "white wine", "green tea"]
    frame = pd.DataFrame({"body": texts, "y": [1, 0, 1, 0]})
    for options in ({"words": (1, 2)}, {"words": None, "chars": (1, 3)}, {"words": (1, 1), "bytes": 2}):
        rows = snb.table(frame, "y", text={"body": options}, hash_features=2**10)
        (block,), (twin,) = rows.blocks(), snb.text(texts, n_features=2**10, **options).blocks()
        for mine, theirs in zip(block.X[:3], twin.X[:3], strict=True):
            np.testing.assert_array_equal(mine, theirs)
    snb.LinearNB("multinomial").fit(rows).save(tmp_path / "m.snb")
    assert snb.load(tmp_path / "m.snb").predict(frame).tolist() == [1, 0, 1, 0]
    for wrong in ({"body": {"word": (1, 2)}}, {"body": (1, 2)}):
        with refused(ValueError, "'body' should map to options", "words, chars, bytes"):
            snb.table(frame, "y", text=wrong)

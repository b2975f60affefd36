"""Slices of judged rows, however they come: equal to evaluations of the rows of each slice."""

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import zarr

import streamnb as snb
from streamnb.evaluation.slices import SliceColumn, Slicing, given_columns

RNG = np.random.default_rng(0)
N = 2400
TRUTH = RNG.integers(0, 2, N)
X = np.column_stack([RNG.normal(size=N) + TRUTH, RNG.normal(size=N)])
WARD = np.array(["A", "B", "C", None], object)[RNG.integers(0, 4, N)]
NAMED = np.where(np.equal(WARD, None), "none", WARD).astype(str)
AGE = RNG.normal(50.0, 10.0, N)
PATIENT = RNG.integers(0, 60, N)
MODEL = snb.LinearNB("gaussian").fit(X, TRUTH)
FRAME = pd.DataFrame({"x": X[:, 0], "z": X[:, 1], "ward": WARD, "age": AGE, "patient": PATIENT, "late": TRUTH})


def same(one, other):
    pd.testing.assert_frame_equal(one.slices, other.slices)


def expected(by="ward", column=NAMED, **options):
    return snb.evaluate(MODEL, X, TRUTH, by={by: column}, **options)


@pytest.mark.parametrize("options", [{}, {"interval": 0.8, "groups": PATIENT}])
def test_a_slice_is_the_evaluation_of_its_rows(options):
    judged = expected(**options)
    for ward in "ABC":
        some = ward == NAMED
        own = {**options, "groups": PATIENT[some]} if "groups" in options else {"interval": 0.95}
        alone, one = snb.evaluate(MODEL, X[some], TRUTH[some], **own), judged.slice("ward", ward)
        assert one.n_rows == some.sum() and one.summary() == pytest.approx(alone.summary())


def frames(tmp_path):
    FRAME.to_parquet(tmp_path / "rows.parquet")
    return {
        "pandas": FRAME,
        "dask": dd.from_pandas(FRAME.assign(ward=NAMED.astype(object)), npartitions=3),
        "parquet": tmp_path / "rows.parquet",
    }


@pytest.mark.filterwarnings("error:Dask currently has limited support")
@pytest.mark.parametrize("kind", ["pandas", "dask", "parquet"])
def test_columns_of_tables_that_are_no_features(kind, tmp_path):
    rows = frames(tmp_path)[kind]
    of_table = kind == "parquet"
    features = FRAME[["x", "z"]]
    model = snb.LinearNB("gaussian").fit(features, TRUTH)
    if of_table:
        model = snb.LinearNB("auto").fit(snb.table(rows, "late", columns=["x", "z"], bins=None))
    judged = model.evaluate(rows if of_table else rows[["x", "z", "ward", "age", "late"]], "late", by=["ward", "age"])
    missing, column = (None, WARD) if kind != "dask" else ("none", NAMED)
    assert judged.slice("ward", missing).n_rows == (NAMED == "none").sum()
    outputs = {"scores": model.decision_function(features), "proba": model.predict_proba(features)}
    same(judged, snb.evaluate(TRUTH, model.predict(features), **outputs, by={"ward": column, "age": AGE}))


def test_arrays_beside_rows_of_any_kind(tmp_path):
    store = zarr.open_group(tmp_path / "rows.zarr", mode="w")
    number = np.unique(NAMED, return_inverse=True)[1]
    for name, values in (("X", X), ("y", TRUTH), ("ward", number)):
        array = store.create_array(name, shape=values.shape, dtype=values.dtype, chunks=(500, *values.shape[1:]))
        array[:] = values
    same(MODEL.evaluate(store["X"], store["y"], by={"ward": store["ward"]}), expected(column=number))
    whole = expected()
    lazy = [da.from_array(values, chunks=700) for values in (X, TRUTH, NAMED)]
    unknown = [array[da.from_array(np.ones(N, bool), chunks=700)] for array in lazy]
    stream = ((X[i : i + 300], TRUTH[i : i + 300]) for i in range(0, N, 300))
    for rows, y, by in (
        (lazy[0].rechunk((700, -1)), lazy[1], lazy[2]),
        (lazy[0].rechunk((700, -1)), TRUTH, NAMED),
        (unknown[0].rechunk({1: -1}), unknown[1], unknown[2]),
        (stream, None, NAMED),
    ):
        same(MODEL.evaluate(rows, y, by={"ward": by}), whole)


def test_predictions_in_dask_and_zarr():
    outputs = MODEL.predict(X), MODEL.decision_function(X), MODEL.predict_proba(X)
    lazy = [da.from_array(values, chunks=(700, *values.shape[1:])) for values in (TRUTH, *outputs, NAMED)]
    kept = zarr.array((number := np.unique(NAMED, return_inverse=True)[1]), chunks=(500,))
    names = dict(zip(["scores", "proba"], outputs[1:], strict=True))
    same(snb.evaluate(TRUTH, outputs[0], **names, by={"ward": kept}), expected(column=number))
    for truth, predicted, scores, proba, by in (lazy, (*lazy[:4], NAMED)):
        same(snb.evaluate(truth, predicted, scores=scores, proba=proba, by={"ward": by}), expected())


def test_groups_and_slices_are_read_together():
    whole = expected(interval=0.95, groups=PATIENT)
    lazy = [da.from_array(values, chunks=(700, *values.shape[1:])) for values in (X, TRUTH, NAMED, PATIENT)]
    same(MODEL.evaluate(*lazy[:2], by={"ward": lazy[2]}, groups=lazy[3], interval=0.95), whole)
    frame = FRAME.assign(ward=NAMED)[["x", "z", "ward", "patient"]]
    model = snb.LinearNB("gaussian").fit(FRAME[["x", "z"]], TRUTH)
    same(model.evaluate(frame, TRUTH, by="ward", groups="patient", interval=0.95), whole)


def test_merged_and_saved(tmp_path):
    parts = [snb.evaluate(MODEL, X[i::3], TRUTH[i::3], by={"ward": NAMED[i::3]}) for i in range(3)]
    lacks = NAMED != "B"
    parts[0].save(tmp_path / "e.snb")
    same(snb.load(tmp_path / "e.snb") + parts[2] + parts[1], expected())
    half = snb.evaluate(MODEL, X[lacks], TRUTH[lacks], by={"ward": NAMED[lacks]})
    rest = snb.evaluate(MODEL, X[~lacks], TRUTH[~lacks], by={"ward": NAMED[~lacks]})
    same(half + rest, expected())
    for other in (snb.evaluate(MODEL, X, TRUTH), expected("age", AGE)):
        with pytest.raises(ValueError, match="slices"):
            expected() + other
    with pytest.raises(ValueError, match="bins"):
        expected("age", AGE) + expected("age", AGE + 1.0)


@pytest.mark.parametrize(
    ("by", "message"),
    [
        (NAMED[:-1], "by='by'"),
        ("wing", "wing"),
        ({"ward": None}, "has no values"),
        ({}, "by is empty"),
        ({1: NAMED}, "keys should be names"),
        (np.arange(N).astype(str), "by='by' has 2,400 values, and there may be 500 slices"),
        ({"a": RNG.integers(0, 300, N).astype(str), "b": RNG.integers(0, 300, N).astype(str)}, "slices in 2 columns"),
        (np.zeros((N, 2)), "one value a row"),
        (np.datetime64("2020-01-01") + np.arange(N), "datetime64"),
    ],
)
def test_wrong_columns(by, message):
    with pytest.raises((ValueError, TypeError), match=message):
        MODEL.evaluate(X, TRUTH, by=by)


def test_no_rows_have_no_slices():
    assert not len(snb.evaluate(TRUTH[:0], TRUTH[:0], classes=np.unique(TRUTH), by=NAMED[:0]).slices)


def test_other_wrong_arguments():
    with pytest.raises(ValueError, match=r"'wing' is not a column of X"):
        MODEL.evaluate(FRAME[["x", "z"]], TRUTH, by="wing")
    with pytest.raises(ValueError, match="by='ward' is a name, and there is no X"):
        snb.evaluate(TRUTH, TRUTH, by="ward")
    with pytest.raises(ValueError, match="min_rows=0"):
        expected(min_rows=0)


# ---- columns and their values ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "values"),
    [
        (["b", "a", "b"], ("a", "b")),
        (np.array(["b", None, "a"], object), ("a", "b", None)),
        (pd.Series(["b", None, "a"], dtype="category"), ("a", "b", None)),
        (pd.Series([2, None, 1], dtype="Int64"), (1, 2, None)),
        (pd.array(["b", None], dtype="string"), ("b", None)),
        (np.ma.array([3, 4, 3], mask=[False, False, True]), (3, 4, None)),
        ([1.5, np.nan, -2.0], (-2.0, 1.5, None)),
        ([True, False], (False, True)),
        ([np.nan, np.nan], (None,)),
        ([], ()),
    ],
)
def test_values_are_slices(column, values):
    column = column if hasattr(column, "isna") or isinstance(column, np.ma.MaskedArray) else np.asarray(column)
    found = SliceColumn.of("x", column)
    assert found.values == values and found.edges is None
    plain = column.tolist() if hasattr(column, "tolist") else list(column)
    assert [found.values[number] for number in found.numbers(column)] == [None if pd.isna(x) else x for x in plain]


def test_many_numbers_are_cut_by_deciles():
    age = np.append(AGE, [np.nan, np.inf, -np.inf])
    found = SliceColumn.of("age", age)
    assert len(found.values) == 11 and found.values[-1] is None and found.values[-2].endswith(", inf)")
    numbers = found.numbers(age)
    filled = np.bincount(numbers)[:-1]
    assert filled.max() - filled.min() <= 2 and numbers[N:].tolist() == [10, 9, 0]
    for number, value in zip(numbers, AGE, strict=False):
        low, high = ([-np.inf, *found.edges][number], [*found.edges, np.inf][number])
        assert low < value <= high


def test_bins_of_values_that_are_mostly_alike():
    counts = np.append(np.zeros(990), np.arange(20.0))
    assert SliceColumn.of("n", counts).values == ("up to 0", "from 1")
    assert SliceColumn.of("n", -counts).values == ("up to -1", "from 0")
    assert SliceColumn.of("n", counts + 0.5).values == ("(-inf, 0.5]", "(0.5, inf)")
    ages = SliceColumn.of("age", np.repeat([*range(1, 12), 20], 5)).values
    assert ages == ("up to 2", "3", "4", "5", "6", "7 to 8", "9", "10", "11", "from 12")


def test_columns_merge():
    one, two = SliceColumn("x", ("a", "c", None)), SliceColumn("x", ("b", "c"))
    assert (one + two).values == ("a", "b", "c", None) == (two + one).values
    bins = SliceColumn.of("age", AGE)
    assert (bins + SliceColumn.of("age", np.append(AGE, np.nan))).values == (*bins.values, None)
    for other in (SliceColumn("y", ("a",)), bins):
        with pytest.raises(ValueError, match="merge if they are by the same columns"):
            one + other
    with pytest.raises(ValueError, match="same columns"):
        Slicing((one,)) + Slicing((one, two))


def test_given_columns():
    assert given_columns("ward", True) == {"ward": "ward"}
    assert given_columns(["ward", "age"], True) == {"ward": "ward", "age": "age"}
    assert list(given_columns(pd.Series(["a"], name="ward"), False)) == ["ward"]
    assert given_columns(["ward", "age"], False) == {"by": ["ward", "age"]}
    assert list(given_columns(pd.DataFrame({"ward": ["a"], "age": [3]}), False)) == ["ward", "age"]
    assert list(given_columns(da.zeros(3), False)) == ["by"]  # its name is a hash


def test_groups_with_slices_have_intervals_of_95_percent(tmp_path):
    """A slice with rows of one group has none; that of all rows has them if `interval` asks."""
    y, ward = np.arange(400) % 2, np.repeat(["A", "B"], 200)
    groups, predicted = np.where(np.arange(400) < 200, np.arange(400) // 8, 99), (np.arange(400) % 5 > 1).astype(int)
    given = {"by": {"ward": ward}, "groups": groups, "proba": np.where(predicted, 0.8, 0.3)}
    judged = snb.evaluate(y, predicted, **given)
    assert "interval" not in str(judged) and judged.level is None
    assert judged.slices.equals(snb.evaluate(y, predicted, interval=0.95, **given).slices)
    for table in (judged.slices, (judged + judged).slices):
        known, alone = (table[table["slice"] == name] for name in "AB")
        assert np.isfinite(known[["low", "high"]]).all(axis=None) and np.isnan(alone[["low", "high"]]).all(axis=None)
    one = judged.slice("ward", "B")
    assert "no intervals: all rows are of one group" in str(one) and np.isnan(one.report()["recall low"]).all()
    with pytest.raises(ValueError, match="groups has one group"):
        one.interval("accuracy")
    judged.save(tmp_path / "judged.snb")
    assert (snb.load(tmp_path / "judged.snb") + judged).slices.equals((judged + judged).slices)
    X = pd.DataFrame({"x": predicted + 0.1 * y, "ward": ward, "site": groups})
    model = snb.LinearNB("gaussian").fit(X[["x"]], y)
    assert model.evaluate(X, y, by="ward", groups="site").slice("ward", "A").level == 0.95


def test_a_single_small_slice_keeps_its_name():
    table = expected(column=np.array(["big"] * (N - 5) + ["tiny"] * 5), min_rows=50).slices
    assert {*table["slice"]} == {"big", "tiny"}
    column = np.array(["big"] * (N - 5) + ["tiny"] * 3 + ["one"] * 2)
    several = expected(column=column, min_rows=50).slices
    assert {*several["slice"]} == {"big", "other"}
    assert {*expected(column=column, min_rows=N).slices["slice"]} == {*column}  # where none has enough


# ---- the table of slices ---------------------------------------------------------------------------------------------


def test_table_of_slices():
    judged = expected(interval=0.9)
    table = judged.slices
    assert table.columns.tolist() == ["column", "slice", "n_rows", "metric", "value", "low", "high", "whole", "gap"]
    assert (np.diff(table["gap"]) >= 0.0).all() and set(table["slice"]) == {"A", "B", "C", "none"}
    for row in table.itertuples():
        one = judged.slice("ward", row.slice)
        assert row.value == getattr(one, row.metric)() and row.whole == getattr(judged, row.metric)()
        assert (row.low, row.high) == one.interval(row.metric)
        worse = row.value > row.whole if row.metric in ("log_loss", "brier") else row.value < row.whole
        assert row.gap == pytest.approx(
            (-1) ** worse * abs(row.value - row.whole) / (row.high - row.low) * 2 * 1.644853
        )


def test_small_slices_are_put_together():
    column = np.where(np.arange(N) < 30, "rare", np.where(np.arange(N) < 70, "few", "usual"))
    judged = expected("kind", column, min_rows=50)
    table = judged.slices.query("metric == 'accuracy'").set_index("slice")
    assert table["n_rows"].to_dict() == {"other": 70, "usual": N - 70}
    assert table.loc["other", "value"] == snb.evaluate(MODEL, X[:70], TRUTH[:70]).accuracy()
    assert judged.slice("kind", "few").n_rows == 40


def test_a_slice_of_one_class_has_nan_and_no_warning(recwarn):
    judged = snb.evaluate(MODEL, X, TRUTH, by={"late": TRUTH == 1})
    table = judged.slices.set_index(["slice", "metric"])
    assert table.loc[(True, "roc_auc"), ["value", "low", "high", "gap"]].isna().all()
    assert table.loc[(True, "accuracy"), "value"] == judged.recall() and not recwarn.list


def test_many_classes_and_labels():
    truth = RNG.integers(0, 30, N)
    proba = RNG.dirichlet(np.ones(30), N)
    proba[np.arange(N), truth] += 0.3
    proba /= proba.sum(axis=1, keepdims=True)
    judged = snb.evaluate(truth, proba.argmax(axis=1), proba=proba, by={"ward": NAMED})
    one, some = judged.slice("ward", "A"), NAMED == "A"
    alone = snb.evaluate(truth[some], proba[some].argmax(axis=1), proba=proba[some], classes=np.arange(30))
    assert one.f_score("macro") == alone.f_score("macro") and one.roc_auc() == pytest.approx(alone.roc_auc(), abs=1e-12)
    labels = RNG.integers(0, 2, (N, 3))
    sets = snb.evaluate(labels, labels[::-1], by={"ward": NAMED})
    assert {"hamming_loss", "f_score_macro"} <= set(sets.slices["metric"])


def test_names_that_are_none_of_slices():
    with pytest.raises(ValueError, match="made without slices; give by="):
        _ = snb.evaluate(TRUTH, TRUTH).slices
    judged = expected()
    with pytest.raises(ValueError, match=r"column='wing' is none of those sliced by: 'ward'"):
        judged.slice("wing", "A")
    with pytest.raises(ValueError, match=r"value='Z' is no slice of 'ward'; it should be one of"):
        judged.slice("ward", "Z")

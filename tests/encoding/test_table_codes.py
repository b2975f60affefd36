"""Columns of a table grow with rows that are added to a fit, and shrink as rows are removed."""

import pickle
import re
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

import streamnb as snb

VALUES = {
    "carrier": st.sampled_from(["AA", "DL", "UA", "10", "9", None]),
    "origin": st.sampled_from(["JFK", "LGA"]),
    "night": st.sampled_from([True, False]),
    "day": st.sampled_from(pd.to_datetime(["2013-01-31", "2013-02-01", "2014-02-03"]).tolist()),
}
ROWS = st.lists(st.tuples(*VALUES.values(), st.sampled_from(["yes", "no"])), min_size=1, max_size=8)
OPTIONS = st.fixed_dictionaries({
    "missing": st.sampled_from(["level", "ignore"]),
    "pairs": st.sampled_from([[], [("carrier", "origin")]]),
    "hashed": st.sampled_from([[], ["origin"]]),
    "hash_features": st.just(64),
})  # fmt: skip
BOTH = [("AA", "JFK", True, pd.Timestamp("2013-01-31"), "yes"), ("DL", "LGA", True, pd.Timestamp("2013-01-31"), "no")]
QUIET = pytest.mark.filterwarnings("ignore::streamnb.core.messages.StreamnbWarning")


def frame_of(rows):
    frame = pd.DataFrame(rows, columns=[*VALUES, "late"])
    return frame.astype({"carrier": "string", "night": bool, "late": str})


def fitted(rows, **options):
    with warnings.catch_warnings(action="ignore"):
        return snb.LinearNB("auto").fit(snb.table(rows, "late", **options))


def assert_same_model(one, other):
    assert one.feature_names_in_.tolist() == other.feature_names_in_.tolist()
    assert one.classes_.tolist() == other.classes_.tolist() and one.stats_.n_rows == other.stats_.n_rows
    for name in one.stats_.tables:
        np.testing.assert_array_equal(one.stats_.table(name).dense().hi, other.stats_.table(name).dense().hi)
    assert one.encoding_.columns == other.encoding_.columns
    np.testing.assert_array_equal(one.coef_, other.coef_)
    np.testing.assert_array_equal(one.intercept_, other.intercept_)


@settings(max_examples=6)
@given(ROWS, st.lists(ROWS, min_size=1, max_size=3), OPTIONS)
def test_a_model_to_which_rows_are_added_is_that_of_a_fit_of_all_rows(first, others, options):
    parts = [frame_of([*BOTH, *first]), *map(frame_of, others)]
    model = fitted(parts[0], **options)
    with warnings.catch_warnings(action="ignore"):
        for part in parts[1:]:
            model.partial_fit(part, "late")
    assert_same_model(model, fitted(pd.concat(parts), **options))
    with warnings.catch_warnings(action="ignore"):
        for part in parts[1:]:
            model.forget(part, "late")
    assert_same_model(model, fitted(parts[0], **options))


def assert_same_sums(one, other):
    assert one.encoding.column_names.tolist() == other.encoding.column_names.tolist()
    for name in one.tables:
        np.testing.assert_array_equal(one.table(name).dense().hi, other.table(name).dense().hi)


@QUIET
@settings(max_examples=6)
@given(st.lists(ROWS, min_size=2, max_size=3), OPTIONS)
def test_statistics_of_tables_add_and_subtract_by_the_names_of_columns(parts, options):
    parts = [frame_of([*BOTH, *rows]) for rows in parts]
    every = [snb.scan(snb.table(part, "late", **options)) for part in parts]
    total = sum(every)
    assert_same_sums(total, snb.scan(snb.table(pd.concat(parts), "late", **options)))
    for stats in every[1:]:
        total -= stats
    assert_same_sums(total, every[0])


def week(number, carriers, n_rows=600, late=(("ZZ", 0.95),)):
    rng, shares = np.random.default_rng(number), dict(late)
    frame = pd.DataFrame({"carrier": rng.choice(carriers, n_rows), "origin": rng.choice(["JFK", "LGA", "EWR"], n_rows)})
    is_late = rng.random(n_rows) < frame["carrier"].map(lambda carrier: shares.get(carrier, 0.2))
    return frame.assign(week=f"week {number}", late=np.where(is_late, "yes", "no"))


FIRST, SECOND = week(1, ["AA", "UA"]), week(2, ["AA", "UA", "ZZ"])
ALL = pd.concat([FIRST, SECOND], ignore_index=True)


def added(model, rows, **options):
    """What is said as rows are added."""
    with warnings.catch_warnings(record=True, action="always") as caught:
        model.partial_fit(rows, "late", **options)
    return [str(one.message) for one in caught if issubclass(one.category, snb.StreamnbWarning)]


@QUIET
@pytest.mark.parametrize(
    ("ending", "save"), [("", True), (".csv", False), (".parquet", True), ("reader", False), ("batches", False)]
)
def test_a_new_carrier_is_learned_and_a_forgotten_week_leaves_nothing(tmp_path, ending, save):
    def stored(rows):
        if not ending:
            return rows
        if not ending.startswith("."):
            reader = pa.table(rows).to_reader(max_chunksize=100)
            return reader if ending == "reader" else iter(list(reader))
        path = tmp_path / f"{rows['week'].iloc[-1]}{ending}"
        {".csv": rows.to_csv, ".parquet": rows.to_parquet}[ending](path, index=False)
        return path

    model = snb.LinearNB("auto").fit(stored(FIRST), "late")
    if save:
        model.save(tmp_path / "model.snb")
        model = snb.load(tmp_path / "model.snb")
    model.partial_fit(stored(SECOND), "late")
    assert_same_model(model, snb.LinearNB("auto").fit(ALL, "late"))
    new = SECOND[SECOND["carrier"] == "ZZ"]
    assert abs(model.predict_proba(new)[:, 1].mean() - 0.95) < 0.03
    model.forget(stored(FIRST), "late")
    assert_same_model(model, snb.LinearNB("auto").fit(SECOND, "late"))


@QUIET
@pytest.mark.parametrize(
    "estimator",
    [
        snb.MultinomialNB(),
        snb.BernoulliNB(),
        snb.GaussianNB(),
        snb.TreeNB(),
        snb.LinearDiscriminantAnalysis(shrinkage="auto", solver="lsqr"),
        snb.LinearNB("multinomial", normalize="l2"),
        snb.FeatureSelector(k=2),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_every_estimator_that_adds_rows_adds_their_columns(estimator):
    first, second = (rows.drop(columns="week") for rows in (FIRST, SECOND))
    model = clone(estimator).fit(first, "late").partial_fit(second, "late", decay=0.5)
    every = pd.concat([first, second], ignore_index=True)
    weights = np.repeat([0.5, 1.0], [len(first), len(second)])
    again = clone(estimator).fit(every, "late", weights)
    assert model.feature_names_in_.tolist() == again.feature_names_in_.tolist()
    for name in again.stats_.tables:
        np.testing.assert_array_equal(model.stats_.table(name).dense().hi, again.stats_.table(name).dense().hi)


@QUIET
def test_regressions_add_and_remove_columns():
    first, second = (rows.assign(delay=np.arange(len(rows)) % 7.0).drop(columns="late") for rows in (FIRST, SECOND))
    for model in (snb.Ridge(), snb.ElasticNet(0.01)):
        model.fit(first, "delay").partial_fit(second, "delay")
        again = clone(model).fit(pd.concat([first, second], ignore_index=True), "delay")
        assert model.feature_names_in_.tolist() == again.feature_names_in_.tolist()
        np.testing.assert_allclose(model.coef_, again.coef_, atol=1e-12)
        model.forget(first, "delay")
        assert model.feature_names_in_.tolist() == clone(model).fit(second, "delay").feature_names_in_.tolist()


@pytest.mark.parametrize(
    "estimator",
    [
        snb.LinearNB("categorical"),
        snb.LinearNB(transform=snb.Bins(3)),
        snb.LinearNB(snb.Mixed({"multinomial": slice(0, 2), "bernoulli": ...})),
        snb.LinearNB(feature_weight=[1.0] * 5),
        snb.CategoricalNB(),
        snb.FeatureSelector(values="value", n_bins=4),
    ],
)
@QUIET
def test_models_whose_columns_are_fixed_refuse_new_ones_and_stay_as_they_were(estimator):
    first, second = (rows.drop(columns="week") for rows in (FIRST, SECOND))
    model = clone(estimator).fit(first, "late")
    with pytest.raises(ValueError, match=r"X adds the columns \['carrier=ZZ'\].*fit all rows at once"):
        model.partial_fit(second, "late")
    assert len(model.feature_names_in_) == 5 and model.stats_.n_rows == len(first)
    model.partial_fit(second[second["carrier"] != "ZZ"], "late")


NUMBERS = pd.DataFrame(
    {"carrier": ["AA", "UA"] * 100, "miles": np.arange(200) % 50, "late": ["no", "yes", "yes", "no"] * 50}
)


@pytest.mark.parametrize(
    ("options", "more", "said"),
    [
        ({"bins": None}, {}, []),
        ({"bins": None}, {"carrier": ["AA", "ZZ"] * 100}, []),
        ({}, {}, []),
        ({}, {"miles": 1000}, [r"most numbers of \['miles'\] lie beyond the borders of all bins"]),
        ({}, {"miles": 1000, "n_rows": 4}, []),
        ({"bins": None, "min_count": 3}, {}, []),
        ({"bins": None, "min_count": 3}, {"carrier": ["AA", "ZZ"] * 100}, [r"which values of \['carrier'\] are rare"]),
        (
            {"hash_features": 4, "columns": ["carrier"]},
            {"carrier": [f"c{row % 3}" for row in range(200)]},
            [r"new values of \['carrier'\] have no effect, as categories have 4 columns", "200 of 200 values"],
        ),
    ],
)
def test_what_a_fit_of_all_rows_would_learn_otherwise_is_said(options, more, said):
    model = snb.LinearNB("auto").fit(snb.table(NUMBERS, "late", **options))
    n_rows = more.get("n_rows", len(NUMBERS))
    found = added(model, NUMBERS.assign(**more)[:n_rows])
    assert len(found) == len(said), found
    for text, pattern in zip(found, said, strict=True):
        assert re.search(pattern, text), text


@pytest.mark.parametrize(
    ("before", "after", "names"),
    [
        (None, "x", ["code=x", "code is missing"]),
        ("x", None, ["code=x", "code is missing"]),
        ("x", "y", ["code=x", "code=y"]),
        ("x", "x", []),
        (None, 7, "had one value"),
        (7, 8, "had one value"),
        (7, 7, []),
        (np.nan, 3.0, "had one value"),
    ],
)
def test_columns_of_one_value_join_once_they_have_another(before, after, names):
    first, second = (NUMBERS.drop(columns="miles").assign(code=value) for value in (before, after))
    with pytest.warns(snb.StreamnbWarning, match="at most one value"):
        model = snb.LinearNB("auto").fit(first, "late")
    found = added(model, second)
    assert model.feature_names_in_[2:].tolist() == ([] if isinstance(names, str) else names)
    assert [names in text for text in found] == [True] * isinstance(names, str)


@QUIET
def test_models_of_older_versions_go_on():
    model = snb.LinearNB("auto").fit(FIRST, "late")
    model._preparation = replace(model._preparation, encoding=replace(model.encoding_, growth=None))
    model = pickle.loads(pickle.dumps(model)).partial_fit(SECOND, "late")
    columns = ["carrier", "origin"]
    assert_same_model(model, snb.LinearNB("auto").fit(snb.table(ALL, "late", columns=columns)))


# ---- What one pass learns of the columns of a table ------------------------------------------------------------------

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
    assert found[0].startswith("X: 40 of 60 values of 'code' were not seen in fit, such as '07', and have")
    assert found[0].endswith("the fitted values are ['7', '8', '9']")
    curves = snb.AdditiveClassifier(0, min_count=1).fit(snb.table(CODES, "y", categorical=["code"]))
    assert said(curves, with_codes(["07", "08", "9"] * 20)) == found  # and not of values without effect besides
    with pytest.warns(snb.StreamnbWarning) as caught:
        curves.predict_one({"code": "07", "n": 1})
    assert [str(one.message)[:31] for one in caught] == ["X: 1 of 1 values of 'code' were"]
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
    assert said(model, others.assign(code="strange"))[0].startswith("X: 60 of 60 values of 'code' were not seen in fit")


def test_years_to_come_are_unknown():
    frame = CODES.assign(day=pd.date_range("2022-06-01", periods=60, freq="10D"))
    model = snb.LinearNB("auto").fit(frame, "y")
    assert not said(model, frame)
    found = said(model, frame.assign(day=frame["day"] + pd.Timedelta("3650D")))
    assert len(found) == 1 and "of 'day: year' were not seen in fit" in found[0]

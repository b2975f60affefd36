"""Schemas of sites add to that of all their rows, and say what lies outside of them."""

from dataclasses import replace

import numpy as np
import pytest

import streamnb as snb
from tests.support.sites import SITES, parts_of, table

ROWS = table(60)
PARTS = parts_of(ROWS, (10, 30))
PARTS["south"] = PARTS["south"][["late", "hour", "distance", "carrier"]]  # columns may stand in another order
TEXTS = {"a": ["red wine", "white wine"], "b": ["green tea", "black tea, red tea"]}
DRINKS = {"a": ["wine", "wine"], "b": ["tea", "tea"]}


@pytest.mark.parametrize(
    "options", [{"bins": 4}, {"bins": None, "min_count": 14}, {"hashed": ["carrier"], "hash_features": 16}], ids=str
)
def test_columns_are_learned_as_of_all_rows(options, tmp_path):
    for name, rows in PARTS.items():
        snb.schema(rows, "late", **options).save(tmp_path / f"{name}.snb")
    found = sum(snb.load(tmp_path / f"{name}.snb") for name in PARTS)
    pooled = snb.table(ROWS, "late", **options)
    assert found.encoding.column_names.tolist() == pooled.feature_names.tolist()
    assert found.classes.tolist() == ["no", "yes"]
    sums = sum(found.scan(rows, site=name) for name, rows in PARTS.items())
    np.testing.assert_array_equal(sums.stats.sum, snb.scan(pooled).sum)
    assert found.without_counts().fingerprint == found.fingerprint


@pytest.mark.filterwarnings("ignore:X. its columns are numbers alone")
def test_numbers_alone_stay_numbers_unless_bins_are_asked_for(tmp_path):
    numbers = parts_of(ROWS.drop(columns="carrier"), (10, 30))
    expected = snb.scan(table(60).drop(columns="carrier"), "late").sum
    for name, rows in numbers.items():
        rows.to_parquet(tmp_path / f"{name}.parquet")
    for sites in (numbers, {name: tmp_path / f"{name}.parquet" for name in numbers}):
        found = sum(snb.schema(rows, "late") for rows in sites.values())
        assert found.encoding is None and found.n_columns == 2
        turned = {name: rows.iloc[:, ::-1] for name, rows in numbers.items()}
        np.testing.assert_array_equal(sum(found.scan(rows) for rows in turned.values()).stats.sum, expected)
        assert sum(snb.schema(rows, "late", bins=4) for rows in sites.values()).n_columns == 8
    gap = numbers["south"].assign(hour=np.nan)
    with pytest.raises(ValueError, match="where only some have missing values, give all bins=16"):
        snb.schema(numbers["north"], "late") + snb.schema(gap, "late")


def test_a_site_has_a_name_and_rows():
    schema = snb.schema(ROWS, "late", bins=3)
    for site in (3, ""):
        with pytest.raises(TypeError, match=f"site={site!r} should be the name of the site"):
            schema.scan(ROWS, site=site)
    with pytest.raises(ValueError, match=r"this site has no row for the classes \['no', 'yes'\]"):
        schema.scan(ROWS.assign(late="maybe"), site="here")
    with pytest.raises(TypeError, match="fit takes one estimator or more"):
        schema.fit()


def test_a_vocabulary_is_learned_as_of_all_texts():
    found = sum(snb.schema(TEXTS[name], DRINKS[name], vocabulary=np.int64(3)) for name in TEXTS)
    pooled = snb.text(TEXTS["a"] + TEXTS["b"], y=DRINKS["a"] + DRINKS["b"], vocabulary=3)
    assert found.encoding.ngrams.vocabulary == pooled.vocabulary
    assert found.classes.tolist() == ["tea", "wine"]
    sums = sum(found.scan(TEXTS[name], DRINKS[name], site=name) for name in TEXTS)
    np.testing.assert_array_equal(sums.stats.sum, snb.scan(pooled).sum)


def test_hashed_texts_and_numbers_have_columns_without_learning():
    hashed = snb.schema(TEXTS["a"], DRINKS["a"], n_features=16, classes=["tea", "wine"])
    assert hashed.n_columns == 16 and hashed.classes.tolist() == ["tea", "wine"]
    numbers = snb.schema(np.eye(3), [1, 2, 2])
    assert numbers.n_columns == 3 and numbers.encoding is None
    with pytest.raises(ValueError, match="make other columns: n_features=32 and not 16"):
        hashed + snb.schema(TEXTS["a"], DRINKS["a"], n_features=32, classes=["tea", "wine"])
    with pytest.raises(ValueError, match="X has 2 columns, and the schema 3"):
        numbers.scan(np.eye(2), [1, 2])
    with pytest.raises(ValueError, match="y holds strings, and the classes are"):
        numbers.scan(np.eye(3), ["a", "b", "c"])


def test_rows_of_other_labels_count_nowhere_and_are_counted():
    schema = snb.schema(ROWS, "late", bins=3)
    odd = ROWS.assign(late=ROWS["late"].where(np.arange(60) % 7 > 0, "maybe"))
    with pytest.warns(snb.StreamnbWarning, match=r"9 rows have labels outside of the schema, \['maybe'\]"):
        found = schema.scan(odd, site="here")
    rows = snb.table(ROWS, "late", bins=3)
    weight = (np.arange(60) % 7 > 0) * 1.0
    np.testing.assert_array_equal(found.stats.sum, snb.scan(rows, sample_weight=weight).sum)
    assert found.sites["here"].outside == 9 and found.stats.n_rows == 51
    with pytest.warns(snb.StreamnbWarning, match="2 rows have labels"):
        sparse = snb.schema(np.eye(3), [1, 2, 2]).scan(np.eye(4)[:, :3], [1, 2, 5, 6], site="there")
    assert sparse.stats.rows.tolist() == [1, 1]


def test_categories_outside_of_the_schema_are_counted():
    new = ROWS.assign(carrier=ROWS["carrier"].where(np.arange(60) % 10 > 0, "z"))
    with pytest.warns(snb.StreamnbWarning, match="numbers by column: 'carrier' 6"):
        found = snb.schema(ROWS, "late", bins=3).scan(new, site="here")
    assert found.sites["here"].levels == {"carrier": 6}
    rare = snb.schema(ROWS, "late", bins=3, min_count=16)
    column = rare.encoding.column_names.tolist().index("carrier is rare")
    assert rare.scan(new).stats.sum[:, column].sum() >= 6.0


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"sites": "abc"}, TypeError, "sites='abc' should be a list of names"),
        ({"sites": 3}, TypeError, "sites=3 should be a list of names"),
        ({"sites": ["a", ""]}, TypeError, "should be a list of names"),
        ({"folds": np.arange(60) % 3}, TypeError, "should be a whole number"),
        ({"sites": ["a"]}, ValueError, "two names or more"),
        ({"sites": ["a", "a"]}, ValueError, "each once"),
        ({"sites": ["a", "b"], "folds": 2}, ValueError, "give one"),
        ({"moments": "cubes"}, ValueError, "moments"),
        ({"classes": []}, ValueError, "classes is empty"),
        ({"banana": 3}, TypeError, "banana"),
    ],
)
def test_wrong_arguments_are_named(options, error, message):
    with pytest.raises(error, match=message):
        snb.schema(ROWS, "late", **options)
    if "banana" in options:
        with pytest.raises(TypeError, match="banana= is of tables and texts, and X holds numbers"):
            snb.schema(np.eye(2), [0, 1], **options)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (snb.schema(ROWS, "late", bins=3), "differ in their options: 'bins' is 4 in one, 3 in the other"),
        (
            snb.schema(ROWS.assign(hour="7"), "late", bins=4),
            "kinds: 'hour' is 'number' in one, 'category' in the other",
        ),
        (snb.schema(ROWS.drop(columns="hour"), "late", bins=4), "'hour' is 'number' in one, 'absent' in the other"),
        (snb.schema(ROWS.assign(late=1), "late", bins=4), "labels that are numbers, the other strings"),
        (snb.schema(ROWS, "late", bins=4, folds=3), "differ in their folds"),
        (snb.schema(ROWS, "late", bins=4, sites=SITES), "differ in their sites"),
        (snb.schema(TEXTS["a"], DRINKS["a"], vocabulary=2), "of a table, the other of texts"),
        (snb.schema(ROWS, "late", bins=4).without_counts(), "without its counts adds to no other"),
    ],
)
def test_schemas_that_do_not_fit_are_refused(other, message):
    with pytest.raises(ValueError, match=message):
        snb.schema(ROWS, "late", bins=4) + other


def test_numbers_to_predict_need_another_task():
    for rows, y in ((ROWS.assign(delay=0.5), "delay"), (np.eye(2), [0.5, 1.0])):
        with pytest.raises(ValueError, match=r"; snb\.schema takes the task, too"):
            snb.schema(rows, y)


def test_files_of_other_versions_are_refused():
    old = replace(snb.schema(ROWS, "late"), sums=0)
    with pytest.raises(ValueError, match="sums in another way"):
        old.scan(ROWS)


def test_labels_may_stand_beside_the_rows():
    schema = snb.schema(np.eye(3), [1, 2, 2], sample_weight=[1.0, 2.0, 3.0])
    assert schema.scan(np.eye(3), [1, 2, 2], sample_weight=[1.0, 2.0, 3.0]).stats.weight.tolist() == [1.0, 5.0]
    with pytest.raises(ValueError, match="indicator of labels"):
        snb.schema(np.eye(3), np.eye(3, dtype=int))


def test_rows_that_are_elsewhere_cannot_be_read():
    rows = snb.schema(np.eye(3), [1, 2, 2]).rows_elsewhere()
    with pytest.raises(ValueError, match="at the sites"):
        next(rows.blocks())

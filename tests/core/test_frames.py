"""Data frames: what pandas has and others lack, and errors where it is not installed."""

import sys
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import streamnb as snb
from streamnb.core.frames import plain_column, table
from tests.support.refusals import refuses

MODEL = snb.LinearNB("bernoulli").fit(np.eye(4), [0, 0, 1, 1])
TREE = snb.TreeNB().fit(np.arange(12.0).reshape(6, 2), [0, 0, 0, 1, 1, 1])
STATS = snb.scan(np.eye(4), [0, 0, 1, 1])


@pytest.mark.parametrize(
    "frame", [MODEL.top_features, MODEL.posterior, lambda: TREE.edges_, lambda: STATS.drift(STATS)]
)
def test_what_returns_a_frame_names_what_is_missing(frame, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    refuses(ImportError, "needs pandas: pip install pandas", frame)


DAYS = pd.Series(pd.date_range("2024-01-01", periods=40, freq="7D"))
AGES = pd.Series(np.arange(40.0)).mask(lambda age: age == 7)
OF_PANDAS = {
    "bins": (pd.cut(AGES, [0, 10, 20, 99]), pd.cut(AGES, [0, 10, 20, 99]).astype(object).map(str, na_action="ignore")),
    "intervals": (pd.Series(pd.arrays.IntervalArray.from_tuples([(0, 1), (1, 2)] * 20)), ["(0, 1]", "(1, 2]"] * 20),
    "months": (DAYS.dt.to_period("M"), DAYS.dt.to_period("M").dt.to_timestamp()),
    "sparse": (pd.Series(pd.arrays.SparseArray(AGES.fillna(0.0), fill_value=0.0)), AGES.fillna(0.0)),
    "sparse bools": (pd.get_dummies(AGES > 20, sparse=True)[True], AGES > 20),
}


@pytest.mark.parametrize("name", OF_PANDAS)
def test_columns_that_only_pandas_has_are_like_plain_ones(name):
    special, plain = OF_PANDAS[name]
    label = np.where(np.arange(40) % 3 > 0, "a", "b")
    frames = [pd.DataFrame({"x": column, "s": list("uvuw") * 10}) for column in (special, plain)]
    models = [snb.LinearNB("auto").fit(frame, label) for frame in frames]
    for frame in (frames[0], frames[0][5:6], frames[1]):
        found, expected = (model.predict_proba(frame) for model in models)
        np.testing.assert_array_equal(found, expected)
    strings = frames[1]["s"]  # pandas 3 gives another object each time
    assert plain_column(strings) is strings


def test_bins_of_pandas_are_labels_and_slices():
    bins = pd.cut(np.arange(60), 3, labels=None)
    judged = snb.evaluate(bins, bins, by=pd.Series(bins), min_rows=1)
    assert judged.accuracy() == 1.0 and judged.classes.tolist() == sorted(map(str, bins.categories))
    assert set(judged.slices["slice"]) == set(map(str, bins.categories))


TEXT = st.text(st.characters(exclude_categories=["C", "Z"], include_characters=" <>&\"'"), min_size=1)


@given(TEXT, st.lists(st.tuples(TEXT, TEXT), max_size=4))
def test_any_text(caption, rows):
    page = ElementTree.fromstring(table(caption, iter(rows)))
    assert page.tag == "table" and page.findtext("caption") == caption
    assert [tuple(cell.text for cell in line) for line in page.findall("tbody/tr")] == rows

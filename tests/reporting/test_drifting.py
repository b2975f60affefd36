"""What differs between two sets of rows."""

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

import streamnb as snb
from streamnb.reporting.report import drift_tables
from tests.reporting.conftest import rows, several


def test_columns_values_classes_and_predictions_that_differ():
    model, table = snb.LinearNB().fit(rows(), "late"), rows(seed=1)
    late = table[table["late"] == "yes"].assign(city=["Kyiv", "Rome"] * (int((table["late"] == "yes").sum()) // 2))
    found = [model.evaluate(one, "late") for one in (table, late)]
    columns, unseen, classes, scores = drift_tables(model, *(t.drop(columns="late") for t in (table, late)), found)
    assert columns.rows[0][0] == "city" and columns.rows[0][2] == "yes" and len(columns.rows) == 3
    assert unseen.rows == (("city", "Kyiv", 0, len(late) // 2),)
    assert classes.rows[0][2:3] in ((0.0,), (1.0,)) and len(scores.rows) == 2


def test_many_columns_are_all_listed():
    X, y = several()
    model = snb.LinearNB("gaussian").fit(X, y)
    columns, *_ = drift_tables(model, X, X[:300] + 3.0 * (np.arange(5) == 1), [])
    assert [row[0] for row in columns.rows if row[2]] == ["x1"] and len(columns.rows) == 5


@pytest.mark.usefixtures("without_pictures")
def test_reports_show_a_second_set(page_of):
    model, table = snb.LinearNB().fit(rows(), "late"), rows(seed=1)
    page = page_of(model, table, "late", against=rows(seed=2))
    assert "What changed" in page and "second set" in page
    page = page_of(model, table, "late", against=table.drop(columns="late"))
    assert "What changed" in page and 'class="number">second set</th>\n    </tr>' not in page
    X, y = several()
    assert "second set" in page_of(snb.LinearNB("gaussian").fit(X, y), X, y, against=(X, y))
    with pytest.raises(ValueError, match="no X"):
        page_of(model, against=table)
    assert "What changed" in page_of(snb.Ridge(1.0).fit(X, X[:, 0]), X, X[:, 0], against=X)
    with pytest.raises(TypeError, match="fitted model of streamnb"):
        page_of(GaussianNB().fit(X, y), X, y, against=(X, y))

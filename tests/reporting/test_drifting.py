"""What differs between two sets of rows."""

import numpy as np
import pytest

import streamnb as snb
from streamnb.reporting.drifting import drift
from tests.reporting.conftest import rows, several


def test_differences_are_those_of_the_columns():
    X, y = several()
    other = X[:300] + 3.0 * (np.arange(5) == 1)
    model = snb.LinearNB("gaussian").fit(X, y)
    (first, *_), both = drift(model, X, other, []).rows, np.vstack([X, other])[:, 1]
    assert first[:3] == ("column 1", pytest.approx(X[:, 1].mean()), pytest.approx(other[:, 1].mean()))
    assert first[3] == pytest.approx((other[:, 1].mean() - X[:, 1].mean()) / both.std())
    assert first[4] == pytest.approx(first[3] / np.sqrt(1 / 400 + 1 / 300))


def test_columns_of_tables_have_names_and_classes_their_shares():
    model, table = snb.LinearNB().fit(rows(), "late"), rows(seed=1)
    late = table[table["late"] == "yes"]
    found = [model.evaluate(one, "late") for one in (table, late)]
    names = [row[0] for row in drift(model, table.drop(columns="late"), late.drop(columns="late"), found).rows]
    assert "share of “yes”" in names and "city=Rome" in names


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
    with pytest.raises(TypeError, match="classifier of streamnb"):
        page_of(snb.Ridge(1.0).fit(X, X[:, 0]), X, X[:, 0], against=X)

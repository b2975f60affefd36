"""The command that writes a page: it is what the library writes."""

import re

import pandas as pd
import pytest

import streamnb as snb
from tests.reporting.conftest import rows, without_pictures
from tests.support.command_line import ran

__all__ = ["without_pictures"]
pytestmark = pytest.mark.usefixtures("without_pictures")


@pytest.fixture
def files(tmp_path):
    """A model, a search, and a table."""
    rows().to_parquet(tmp_path / "test.parquet")
    snb.LinearNB().fit(rows(), "late").save(tmp_path / "m.snb")
    return tmp_path


def plain(page):
    """A page without what differs from one to the next."""
    return re.sub(r"<th scope=\"row\">written</th>.*", "", page)


def test_the_page_is_that_of_the_library(files, capsys):
    model, table, out = files / "m.snb", files / "test.parquet", files / "r.html"
    asked = "report", model, table, "--y", "late", "--by", "city", "--against", table, "-o", out
    ended, said, words = ran(capsys, *asked)
    assert ended == 0 and not said and "bytes" in words
    snb.report(snb.load(model), table, "late", files / "other.html", by="city", against=table)
    page, other = (plain(one.read_text()) for one in (out, files / "other.html"))
    assert page == other.replace("model.snb", str(model))
    assert ran(capsys, *asked)[0] == 2 and "--force" in ran(capsys, *asked)[2]
    assert ran(capsys, *asked, "--force")[0] == 0


def test_a_model_alone_and_a_search(files, capsys):
    assert ran(capsys, "report", files / "m.snb", "-o", files / "alone.html")[0] == 0
    assert "shows the model alone" in (files / "alone.html").read_text()
    families = {"families": ["multinomial"], "penalties": [None]}
    snb.search(rows(), "late", **families, folds=2, show=False).save(files / "s.snb")
    assert ran(capsys, "report", files / "s.snb", "-o", files / "search.html")[0] == 0
    assert "Candidates, the best first" in (files / "search.html").read_text()


def test_rows_without_labels_and_folders_that_are_not_there(files, capsys):
    unlabelled = pd.read_parquet(files / "test.parquet").drop(columns="late")
    unlabelled.to_parquet(files / "new.parquet")
    assert ran(capsys, "report", files / "m.snb", files / "new.parquet", "-o", files / "r.html")[0] == 0
    assert "shows the model alone" in (files / "r.html").read_text()
    ended, _, words = ran(capsys, "report", files / "m.snb", "-o", files / "no" / "r.html")
    assert ended == 2 and "no folder" in words

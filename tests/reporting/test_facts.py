"""Names of data as text of a page."""

import pytest

from streamnb.reporting.facts import LONGEST, Metric, shown


@pytest.mark.parametrize(
    "name, text",
    [
        ("late", "late"),
        (3, "3"),
        (True, "True"),
        ("two\nlines\t", "two lines"),
        ("a\x00b\ud800", "a b"),
        ("", "(empty)"),
    ],
)
def test_names_are_text_of_one_line(name, text):
    assert shown(name) == text


def test_long_names_are_cut():
    assert shown("x" * 10_000) == "x" * (LONGEST - 1) + "…"


def test_shares_are_told_from_other_metrics():
    assert Metric("accuracy", "", "", 0.5).is_share and not Metric("log_loss", "", "", 0.5).is_share

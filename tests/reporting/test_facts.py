"""Names of data as text of a page."""

import numpy as np
import pytest

from streamnb.reporting.facts import LONGEST, Share, number, shown


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


@pytest.mark.parametrize(
    "value, text",
    [
        (3, "3"),
        (12345, "12,345"),
        (0.12345, "0.1235"),
        (-2.5, "−2.5"),
        (1.5e-7, "1.5e−07"),
        (np.nan, "–"),
        ("x", "x"),
        (Share(0.5), "50.0 %"),
    ],
)
def test_numbers_as_text(value, text):
    assert number(value) == text

"""Pictures as parts of a page."""

import re

import pytest

from streamnb.reporting.drawing import COLOURS
from streamnb.reporting.svg import drawn, for_page


def lines(ax):
    ax.plot([0, 1], [0, 1], "--", color=COLOURS[1], label="<b> & #0072b2")
    ax.plot([0, 1], [1, 0], ":", color="0.5", label="grey")
    ax.set_title("what is\nto be seen", loc="left")
    ax.set_xlabel("id=\"x\" style='fill: #d55e00'", fontsize="x-small")
    ax.legend()


def test_titles_and_legends_are_taken_off():
    found = drawn(lines, "one")
    assert found.finding == "what is to be seen"
    assert [(one.text, one.colour, one.dashes) for one in found.legend] == [
        ("<b> & #0072b2", "var(--c2)", "6 3"),
        ("grey", "var(--muted)", "2 3"),
    ]
    assert "to be seen" not in found.svg and "grey" not in found.svg


def test_colours_and_names_are_those_of_the_page_and_text_is_left_alone():
    svg = drawn(lines, "one").svg
    assert "var(--c2)" in svg and "currentColor" in svg and "font-family" not in svg and "<style" not in svg
    assert "style='fill: #d55e00'" in svg.replace("&#39;", "'").replace("&quot;", '"')
    tags = "".join(re.findall("<[^>]*>", svg))
    assert not re.findall("#[0-9a-f]{6}", tags)
    names = re.findall(r' id="([^"]+)"', tags)
    assert names and all(name.startswith("one-") for name in names)
    assert set(re.findall(r'(?:url\(|href=")#([^")]+)', tags)) == set(names)


def test_a_display_with_a_figure_of_its_own_is_drawn():
    from matplotlib import pyplot

    class Own:
        def __init__(self):
            self.figure_, ax = pyplot.subplots()
            ax.set_title("own", loc="left")

    assert drawn(lambda ax: Own(), "one").finding == "own"
    assert not pyplot.get_fignums()


@pytest.mark.parametrize(
    "colour, page", [("#ffffff", "var(--faint)"), ("#000000", "currentColor"), ("#123456", "#123456")]
)
def test_colours(colour, page):
    assert page in for_page(f'<svg width="1pt" height="1pt" viewBox="0 0 1 1" style="fill: {colour}"></svg>', "x")

"""What all pictures share: axes, colours, names of features and of rows of weights."""

import re
import sys

import numpy as np
import pytest
from matplotlib import pyplot as plt

import streamnb as snb
from streamnb.problem.schemes import as_scheme
from streamnb.reporting import drawing
from streamnb.reporting.drawing import COLOURS
from streamnb.reporting.svg import drawn, for_page
from tests.support.refusals import refuses

CLASSES = np.array(["a", "b", "c"])


def test_without_matplotlib_the_cure_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"^pictures need matplotlib: pip install streamnb\[plot\]$"):
        snb.ConfusionMatrixDisplay.from_evaluation(snb.evaluate([0, 1], [0, 1]))


@pytest.mark.parametrize(
    ("values", "scale", "ticks"),
    [
        ([1.0, 10.0, 100.0], "log", [1, 2, 5, 10, 20, 50, 100]),
        ([0.0, 1.0, 1000.0], "symlog", [0, 1, 10, 100, 1000]),
        ([0.0, 0.0], "linear", None),
        ([2.0, 3.0], "log", [2, 2.2, 2.4, 2.6, 2.8, 3]),
        ([3.0], "log", [3]),
        ([0.0, 0.3, 0.3], "symlog", [0, 0.3]),
    ],
)
def test_axes_become_logarithmic_with_a_place_for_zero(values, scale, ticks):
    ax = plt.subplots()[1]
    drawing.log_axis(ax, np.array(values))
    assert ax.get_xscale() == scale
    if ticks is not None:
        low, high = ax.get_xlim()
        assert ax.get_xticks().tolist() == pytest.approx(ticks) and low < min(values) and high > max(values)


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (0.001, "0.001"), (1234.0, "1,234"), (1e6, "$10^{6}$"), (2.5e-7, r"$2.5\times10^{-7}$")],
)
def test_numbers_on_an_axis(value, text):
    ax = plt.subplots()[1]
    drawing.log_axis(ax, np.array([1e-9, 1e9]))
    assert ax.xaxis.get_major_formatter()(value) == text


def test_rows_of_weights_are_found_by_their_names():
    ovo, ovr = (as_scheme(name, CLASSES) for name in ("ovo", "ovr"))
    assert drawing.row_of(ovr, CLASSES, "c") == (2, "c")
    assert drawing.row_of(ovo, CLASSES, ["a", "c"]) == (1, ("a", "c"))
    assert drawing.row_of(as_scheme("joint", CLASSES[:2]), CLASSES[:2], None) == (0, "b")
    assert (drawing.title_of("c"), drawing.title_of(("a", "c"))) == ("class c", "c against a")
    assert drawing.title_of("class_0") == "class_0"
    for scheme, label in ((ovr, None), (ovr, "d"), (ovo, ("c", "a"))):
        refuses(ValueError, r"has no row of weights; it should be one of .*'a'", drawing.row_of, scheme, CLASSES, label)


def test_axes_say_what_tau_is():
    penalty = snb.L1(1.0, scale="score") + snb.Decorrelation(0.1, scale="curvature")
    assert drawing.tau_name("l1", penalty) == "tau of L1 (threshold on the z-score)"
    assert drawing.tau_name("l1", snb.L1(1.0)) == "tau of L1 (threshold on class sums)"
    assert drawing.tau_name("decorrelation", penalty) == "tau of Decorrelation (share of the curvature)"
    assert drawing.tau_name("n_features", None) == "features with any weight"
    assert drawing.point_text({"top_k": {"a": 3}, "l2": 0.5}) == "top_k = {'a': 3}, l2 = 0.5"


def test_what_are_no_axes_or_properties_of_lines_is_refused():
    with pytest.raises(TypeError, match=r"ax is of type ndarray; .* of an array of axes give one, such as axes\[0\]"):
        drawing.axes(plt.subplots(1, 2)[1])
    refuses(TypeError, r"ax is of type int; it should be axes of matplotlib$", lambda: drawing.axes(3))
    drawing.check_line_properties({"lw": 2, "color": "k", "label": "a"})
    path = snb.solve(snb.scan(np.eye(2), [0, 1]), "poisson", snb.L1([0.0, 1.0]))
    with pytest.raises(TypeError, match="against= is no argument of this display, nor a property of its lines"):
        snb.RegularizationPathDisplay.from_path(path, against="l2")


def test_axes_make_room_for_names_and_have_whole_numbers_of_what_is_counted():
    figure, (ax, other) = plt.subplots(1, 2)
    ax.set_ylabel("accuracy,\nmean ± standard deviation\nover splits")
    lines = [ax.plot([1, 2], [k, k], label=f"{name}, l2 = {k}")[0] for k, name in enumerate(["poisson", "gaussian"])]
    drawing.label_ends(ax, lines)
    assert max(text.get_window_extent().x1 for text in ax.texts) < other.get_tightbbox().x0
    assert ax.get_tightbbox().x0 > 0.0
    drawing.log_axis(ax, np.array([2.0, 3.0, 4.0]), whole=True)
    assert ax.get_xticks().tolist() == [2.0, 3.0, 4.0] and figure.get_layout_engine() is None


def test_a_legend_is_beside_the_axes_once():
    ax = drawing.axes(None)
    (line,) = ax.plot([0, 1], label="one")
    for title in ("first", "second"):
        drawing.legend_beside(ax, [line], title)
    assert [legend.get_title().get_text() for legend in ax.figure.legends] == ["second"]


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

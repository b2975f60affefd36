"""Draws displays as SVG for pages of HTML: text stays text, and colours are variables of the page."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from streamnb.reporting.drawing import COLOURS

WIDTH = 328  # pixels: the text column of a telephone, so that letters never shrink
SMALLEST = 12.0  # pixels of a letter
MUTED, FAINT = 0.25, 0.62  # greys from here on are muted, and faint, on the page
STYLE: dict[str, Any] = {
    "svg.fonttype": "none",  # text, which a page can search, read aloud and copy
    "svg.hashsalt": "streamnb",  # the same picture has the same names
    "font.size": SMALLEST,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "figure.max_open_warning": 0,
}
_PALETTE = {colour.lower(): f"var(--c{number})" for number, colour in enumerate(COLOURS, 1)}
_FONT = re.compile(r"\s*font-family: [^;\"]*;?")
_COLOUR = re.compile(r"#[0-9a-f]{6}\b")
_NAMES = re.compile(r'( id="|url\(#|href="#)([^")]+)')


@dataclass(frozen=True)
class Entry:
    """An entry of a legend: its text, its colour as CSS, or "" for a note, and the dashes of its line."""

    text: str
    colour: str
    dashes: str
    is_dot: bool = False


@dataclass(frozen=True)
class Drawing:
    """A picture as SVG, what is to be seen in it, and its legend, which is text of the page."""

    svg: str
    finding: str
    legend: tuple[Entry, ...]


def drawn(draw: Callable[[Any], Any], name: str, height: int = 250, width: int = WIDTH) -> Drawing:
    """Draw on new axes of `width` by `height` pixels.

    Parameters
    ----------
    draw : callable
        Called with axes. A display that it returns may have a figure of its own, which is taken then.
    name : str
        Begins the names within the picture, which are unique on the page.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("pictures need matplotlib: pip install streamnb[plot]") from error

    with _page_style():
        figure = Figure((width / 72.0, height / 72.0), layout="compressed")
        shown = getattr(draw(figure.add_subplot()), "figure_", figure)
        legend, finding = _legend(shown), _finding(shown)
        _enlarge(shown)
        svg = _svg(shown)
        if shown is not figure:
            from matplotlib import pyplot

            pyplot.close(shown)
    return Drawing(for_page(svg, name), finding, legend)


@contextmanager
def _page_style() -> Iterator[None]:
    """The style of pictures on a page; letters that the font of matplotlib lacks are drawn by the browser."""
    import matplotlib

    usual: dict[str, Any] = {name: value for name, value in matplotlib.rcParamsDefault.items() if "backend" not in name}
    style: Any = {**usual, **STYLE}
    with matplotlib.rc_context(style), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _finding(figure: Any) -> str:
    """Take the titles at the left, which say what is to be seen, off the picture."""
    titles = [ax.get_title("left") for ax in figure.axes]
    if figure.get_suptitle():
        titles.append(figure.get_suptitle())
        figure.suptitle("")
    for ax in figure.axes:
        ax.set_title("", loc="left")
    return " ".join("; ".join(filter(None, titles)).replace(r"\$", "$").split())


def _legend(figure: Any) -> tuple[Entry, ...]:
    """Take the legends off the picture."""
    legends = [*figure.legends, *(ax.get_legend() for ax in figure.axes if ax.get_legend() is not None)]
    entries = []
    for legend in legends:
        notes = legend.get_title().get_text().split("\n")[1:]  # behind what the names are
        for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True):
            entries.append(Entry(text.get_text().replace(r"\$", "$"), *_line_of(handle), _is_dot(handle)))
        entries += [Entry(note, "", "") for note in notes]
        legend.remove()
    return tuple(entries)


def _line_of(handle: Any) -> tuple[str, str]:
    """The colour of a line or an area, and its dashes."""
    from matplotlib.colors import to_hex

    line = hasattr(handle, "get_linestyle") and hasattr(handle, "get_color")
    colour = to_hex(handle.get_color() if line else handle.get_facecolor())
    dashes = {"--": "6 3", ":": "2 3", "-.": "6 3 2 3"}.get(handle.get_linestyle() if line else "-", "")
    return _on_page(colour), dashes


def _is_dot(handle: Any) -> bool:
    """Whether markers are drawn without a line."""
    style = handle.get_linestyle() if hasattr(handle, "get_marker") else ""
    return hasattr(handle, "get_offsets") or style in ("None", "none", " ")


def _enlarge(figure: Any) -> None:
    """Make letters that are too small as large as the smallest that are not."""
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        text.set_fontsize(max(text.get_fontsize(), SMALLEST))


def _svg(figure: Any) -> str:
    """The figure as SVG without a background; the canvas draws it once, where `savefig` would draw it twice."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    for patch in (figure.patch, *(ax.patch for ax in figure.axes)):
        patch.set_facecolor("none")
    out = io.StringIO()
    FigureCanvasSVG(figure).print_svg(out, metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    return out.getvalue()


def for_page(svg: str, name: str) -> str:
    """SVG of matplotlib as a part of a page: names begin with `name`, and colours and letters are those of the page."""
    svg = svg[svg.index("<svg") :]
    size = r'width="[^"]*" height="[^"]*" (viewBox="0 0 (\S+) (\S+)")'
    svg = re.sub(size, r'width="\2" height="\3" \1', svg, count=1)
    svg = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", svg, count=1, flags=re.DOTALL)
    used = {found[1] for found in re.findall(r'(url\(#|href="#)([^")]+)', svg)}

    def tag(found: re.Match[str]) -> str:
        """A tag; what stands between tags is text, which stays as it is."""
        text = re.sub(r' id="([^"]*)"', lambda own: own[0] if own[1] in used else "", found[0])
        text = _NAMES.sub(rf"\1{name}-\2", _FONT.sub("", text))
        return _COLOUR.sub(lambda colour: _on_page(colour[0]), text)

    return re.sub(r"\s*\n\s*", " ", re.sub(r"<[^>]*>", tag, svg)).replace("> <", "><")


def _on_page(colour: str) -> str:
    """The colour of the page for one of matplotlib, such as #0072b2."""
    red, green, blue = (int(colour[at : at + 2], 16) for at in (1, 3, 5))
    if colour in _PALETTE:
        return _PALETTE[colour]
    if not red == green == blue:
        return colour
    light = red / 255.0
    return "currentColor" if light < MUTED else "var(--muted)" if light < FAINT else "var(--faint)"

"""What notebooks show of a value: a small table."""

from collections.abc import Iterable
from html import escape


def table(caption: str, rows: Iterable[tuple[str, str]]) -> str:
    """Names and values as an HTML table of two columns, the values aligned on the right."""
    lines = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th><td style="text-align:right">{escape(value)}</td></tr>'
        for name, value in rows
    )
    caption = f'<caption style="text-align:left;caption-side:top">{escape(caption)}</caption>'
    return f"<table>{caption}<tbody>{lines}</tbody></table>"

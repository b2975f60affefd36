"""What notebooks show of a value: a small table."""

import sys
from collections.abc import Iterable
from html import escape


def in_notebook() -> bool:
    """True in the kernel of a notebook, which shows the value of a cell as HTML."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return hasattr(shell, "kernel")


def table(caption: str, rows: Iterable[tuple[str, str]]) -> str:
    """Names and values as an HTML table of two columns, the values aligned on the right."""
    lines = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th><td style="text-align:right">{escape(value)}</td></tr>'
        for name, value in rows
    )
    caption = f'<caption style="text-align:left;caption-side:top">{escape(caption)}</caption>'
    return f"<table>{caption}<tbody>{lines}</tbody></table>"

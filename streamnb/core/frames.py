"""Imports pandas where a function returns a data frame; nothing else needs it."""

from typing import Any


def pandas_for(what: str) -> Any:
    """Import pandas, or raise an error that says what needs it and how to install it."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError(f"{what} needs pandas: pip install pandas") from error
    return pandas

"""pandas, for what returns a data frame: nothing else needs it."""

from typing import Any


def pandas_for(what: str) -> Any:
    """The package, or an error that says what needs it, and how to get it."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError(f"{what} needs pandas: pip install pandas") from error
    return pandas

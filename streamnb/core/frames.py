"""Data frames: pandas where a function returns one, and columns of pandas in types that NumPy and Arrow have."""

from typing import Any


def pandas_for(what: str) -> Any:
    """Import pandas, or raise an error that says what needs it and how to install it."""
    try:
        import pandas
    except ImportError as error:
        raise ImportError(f"{what} needs pandas: pip install pandas") from error
    return pandas


def plain_column(column: Any) -> Any:
    """A column of pandas without types of its own: intervals are strings, and periods the time at which they begin."""
    kind = str(getattr(column.dtype, "categories", column).dtype).lower()
    if kind.startswith("sparse"):
        return column.sparse.to_dense()
    if kind.startswith("period") and hasattr(column, "dt"):
        return column.dt.to_timestamp()
    if not kind.startswith(("interval", "period")):
        return column
    categories = column.astype("category")
    return getattr(categories, "cat", categories).rename_categories(str)

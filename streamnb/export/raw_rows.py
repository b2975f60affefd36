"""Converts models of tables to models of numeric rows, where the columns allow it."""

from dataclasses import fields, replace
from typing import Any

import numpy as np

from streamnb.encoding.table_codes import BinCodes, Code, LevelCodes
from streamnb.encoding.table_encoding import TableEncoding
from streamnb.export.as_portable import indicators_of_bins
from streamnb.models.portable import PortableModel
from streamnb.models.steps import Indicators, RowStep
from streamnb.rows.table_columns import ColumnPart

CURE = "save(path, stats=False), or streamnb export m.snb light.snb, keeps what makes the columns"


def of_numbers(model: PortableModel) -> PortableModel:
    """Convert to a model of numeric rows: a number for each column of the table, in the order of `feature_names_in_`.

    Raises
    ------
    ValueError
        Rows are texts, or a column holds neither binned numbers nor numeric categories; the message names it.
    """
    if model.encoding is None:
        return model
    names = columns_of_table(model.encoding, CURE)
    parts = [_indicators(part, code, names) for part, code in model.encoding.coded]
    joined = {one.name: np.concatenate([getattr(part, one.name) for part in parts]) for one in fields(Indicators)}
    return replace(
        model,
        n_features_in_=len(names),
        feature_names_in_=np.array(names, object),
        steps=(RowStep("indicators", Indicators(**joined)), *model.steps),
        encoding=None,
    )


def columns_of_table(encoding: Any, cure: str) -> list[str]:
    """The names of the columns that the rows of an export have; raises for texts."""
    if not isinstance(encoding, TableEncoding) or encoding.texts:
        raise ValueError(f"the columns are made of texts, and rows of exports are numbers; {cure}")
    return list(encoding.columns)


def _indicators(part: ColumnPart, code: Code, names: list[str]) -> Indicators:
    """The columns of the model that are made from one numeric column."""
    place = np.int64(names.index(part.columns[0]))
    if isinstance(code, BinCodes):
        of_bins = indicators_of_bins(code.edges)
        return replace(of_bins, feature=of_bins.feature + place)
    values = _numbers(part, code)
    if values is None:
        raise ValueError(
            f"column {part.label!r} is not of numbers in bins, nor of numbers of categories that are known, and a row "
            f"of an export is one of numbers; {CURE}"
        )
    assert isinstance(code, LevelCodes)
    gap, n = [np.inf] * code.missing, code.n_columns
    high = np.array([*values, *gap])
    missing = np.arange(n) >= n - code.missing
    return Indicators(np.full(n, place), np.nextafter(high, -np.inf), high, missing, np.zeros(n, bool))


def _numbers(part: ColumnPart, code: Any) -> list[float] | None:
    """The values of a column of categories if all are numbers and each has an indicator, else None."""
    if not isinstance(code, LevelCodes) or code.rare or part.date_part is not None or len(part.columns) > 1:
        return None
    try:
        return [float(value) for value in code.values]
    except ValueError:
        return None

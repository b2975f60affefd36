"""Values of categories that no row had from which these were learned: a word where most values of a column are such."""

from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from streamnb.core.messages import listed, warn
from streamnb.encoding.table_codes import NONE, Code, LevelCodes
from streamnb.rows.table_columns import Coded, ColumnPart, strings_of


class _Found(NamedTuple):
    """What some rows have of a column: how many of them are of a value, and of an unknown one, such as `example`."""

    n_rows: int
    values: int
    unknown: int
    example: str


class UnknownValues:
    """Counts unknown values as rows are read, by several threads; once all are, it says where they are the most."""

    def __init__(self) -> None:
        self._found: dict[ColumnPart, list[_Found]] = {}
        self._codes: dict[ColumnPart, LevelCodes] = {}
        self._told, self._lock = False, Lock()

    def __reduce__(self) -> Any:
        return UnknownValues, ()  # elsewhere others are counted

    def add(self, part: ColumnPart, code: Code, coded: Coded, places: np.ndarray) -> None:
        """Take the values of a part of some rows, and (n_values + 1,) where they are among those that are known."""
        if self._told or not isinstance(code, LevelCodes) or code.rare or len(part.columns) > 1:
            return  # of rare ones new ones are some
        counts = coded.counts()
        unknown = np.flatnonzero((places[:-1] == NONE) & (counts[:-1] > 0))
        example = str(strings_of(part, coded.values)[unknown[0]]) if len(unknown) else ""
        found = _Found(int(counts.sum()), int(counts[:-1].sum()), int(counts[unknown].sum()), example)
        self._codes[part] = code
        self._found.setdefault(part, []).append(found)

    def tell(self, n_rows: int) -> None:
        """Warn, once, if so many rows were read by now."""
        by_part = list(self._found.items())
        with self._lock:
            if self._told or any(sum(one.n_rows for one in found) < n_rows for _, found in by_part):
                return
            self._told = True
        for part, found in by_part:
            values, unknown = sum(one.values for one in found), sum(one.unknown for one in found)
            if unknown > values / 2:
                example = min(one.example for one in found if one.unknown)
                fitted = listed(np.array(self._codes[part].values, object))
                warn(
                    f"X: {unknown:,} of {values:,} values of {part.label!r} are none of those that were fitted, such "
                    f"as {example!r}, and say nothing; fitted were {fitted}"
                )

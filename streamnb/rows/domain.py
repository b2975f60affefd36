"""Which values of x somebody takes."""

from dataclasses import dataclass
from typing import Any, NoReturn, Protocol

import numpy as np

from streamnb.core import row_checks
from streamnb.rows.chunk import Chunk
from streamnb.rows.survey import Survey


class TakesValues(Protocol):
    """Somebody who does not take every value of x."""

    def check(self, chunk: Chunk, survey: Survey) -> None:
        """Report the first value that is outside."""


@dataclass(frozen=True)
class Domain:
    """The values of x that somebody takes; an open end is its neighbour among the floats."""

    who: str = ""
    lowest: float = -np.inf
    highest: float = np.inf
    columns: Any = None  # of these alone, a slice or numbers; None for all
    what: str = "X"  # whose values they are

    def check(self, chunk: Chunk, survey: Survey) -> None:
        """Report the first value that is outside, of those stored, then of those absent."""
        if survey.low >= self.lowest and survey.top <= self.highest:
            return
        # as float64: the smallest numbers are 0 in float32
        lowest, highest = np.float64(self.lowest), np.float64(self.highest)
        outside = np.flatnonzero((chunk.stored < lowest) | (chunk.stored > highest))
        mine = self._mine(chunk.shape[1])
        outside = outside[mine[chunk.columns_at(outside)]]
        if outside.size:
            row, column = chunk.locate(int(outside[0]))
            self._refuse(float(chunk.stored[outside[0]]), row, column)
        absent = None if self.lowest <= 0.0 <= self.highest else chunk.first_absent(mine)
        if absent is not None:
            self._refuse(0.0, *absent)

    def _mine(self, n_features: int) -> np.ndarray:
        mine = np.zeros(n_features, bool)
        mine[slice(None) if self.columns is None else self.columns] = True
        return mine

    def _refuse(self, value: float, row: int, column: int) -> NoReturn:
        if value > self.highest:
            row_checks.raise_too_large(value, row, column, self.who, self.highest, self.what)
        if value < min(self.lowest, 0.0):
            row_checks.raise_negative(value, row, column, self.who)
        row_checks.raise_too_small(value, row, column, self.who, self.lowest, self.what)

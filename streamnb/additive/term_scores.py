"""The terms of an additive classifier: as tables, as scores that may be edited, and by what they add to rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

import numpy as np

from streamnb.additive.tables import names_of_terms, term_of
from streamnb.additive.terms import cells_of
from streamnb.core import arguments


class TermScores(MutableMapping[Any, np.ndarray]):
    """The scores of terms by name, or by a pair of names; an array that is written back changes the model.

    Parameters
    ----------
    parts : callable
        Returns the columns, the weights and the tables of the terms.
    write : callable
        Replaces the scores of a term, given its number.
    """

    def __init__(self, parts: Callable[[], Any], write: Callable[[int, np.ndarray], None]):
        self._parts, self._write = parts, write

    def __getitem__(self, name: Any) -> np.ndarray:
        columns, weights, _ = self._parts()
        grid = self._grid(name)
        table = cells_of(columns, weights, grid)
        table = table[:, 0] if columns.features[grid, 1] < 0 else table
        table.flags.writeable = False  # an array changed in place would not change the model
        return table

    def __setitem__(self, name: Any, scores: Any) -> None:
        before, given = self[name], np.asarray(arguments.as_array("scores", scores), np.float64)
        if given.shape != before.shape or not np.isfinite(given).all():
            what = f"values of shape {given.shape}" if given.shape != before.shape else "values that are not finite"
            raise ValueError(f"term_scores_[{name!r}] is set to {what}; they should be finite, of shape {before.shape}")
        self._write(self._grid(name), given)

    def __delitem__(self, name: Any) -> None:
        raise TypeError("a term cannot be deleted; set it to zeros: term_scores_[name] = 0 * term_scores_[name]")

    def __iter__(self) -> Iterator[Any]:
        columns, _, tables = self._parts()
        return iter(names_of_terms(columns, tables.features))

    def __len__(self) -> int:
        return len(self._parts()[0].features)

    def _grid(self, name: Any) -> int:
        columns, _, tables = self._parts()
        try:
            return term_of(columns, tables.features, name)
        except ValueError as error:
            raise KeyError(str(error)) from None  # so that `in` and `get` work

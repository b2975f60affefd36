"""What is asked of an evaluation beside its rows: intervals, and columns of groups and of slices."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from streamnb.core import messages
from streamnb.evaluation.slice_columns import MIN_ROWS, Slicing, given_columns
from streamnb.evaluation.tallied import check_grouped, check_level
from streamnb.rows.source import Source


@dataclass(frozen=True)
class Beside:
    """The arguments of `evaluate` beside rows, labels and weights.

    Attributes
    ----------
    interval : float or None
    groups, by : column, its name, several in a dict, or None
    min_rows : int
    """

    interval: float | None = None
    groups: Any = None
    by: Any = None
    min_rows: int = MIN_ROWS

    def checked(self) -> Self:
        """The same with its numbers checked."""
        level = check_level(self.interval)
        check_grouped(self.groups, level)
        return replace(self, interval=level)

    def taken_from(self, X: Any, y: Any, encoding: Any = None, names: Any = None) -> tuple[Any, Self]:
        """X and the arguments, with columns of a data frame X (pandas or Dask) in place of their names.

        The columns stay in X if they are y, or features by the encoding or the names that a model was fitted with.
        """
        features: Collection[Any] = getattr(encoding, "columns", () if names is None else names)
        if not (hasattr(X, "iloc") and hasattr(X, "columns")):
            return X, self
        taken: list[str] = []

        def column(named: Any) -> Any:
            if not isinstance(named, str):
                return named
            if named not in X.columns:
                known = messages.listed(np.asarray(X.columns, object))
                raise ValueError(f"{named!r} is none of the columns of X: {known}")
            taken.append(named)
            return X[named]

        by = self.by
        if by is not None:
            by = {name: column(values) for name, values in given_columns(by, names_beside=True).items()}
        found = replace(self, groups=column(self.groups), by=by)
        stay = {*features, y} if isinstance(y, str) else {*features}
        return X.drop(columns=[name for name in dict.fromkeys(taken) if name not in stay]), found

    def opened(self, rows: Source) -> tuple[Source, Slicing | None]:
        """The rows with groups and numbers of slices beside them, and what the numbers mean."""
        if self.by is None:
            return rows if self.groups is None else rows.with_split("groups", self.groups), None
        slicing, numbers = Slicing.of(given_columns(self.by, names_beside=True), rows, self.min_rows)
        groups = {} if self.groups is None else {"groups": self.groups}
        return rows.with_split("by", {**numbers, **groups}), slicing

    def read_from(self, rows: Source) -> Self:
        """The same with columns of the rows in place of their names."""
        by, groups = self.by, self.groups
        if by is not None:
            by = {name: rows.whole_column(values, "by") for name, values in given_columns(by, True).items()}
        return replace(self, by=by, groups=None if groups is None else rows.whole_column(groups, "groups"))

    def given(self) -> dict[str, Any]:
        """The arguments that are not left at their defaults."""
        return {name: value for name, value in vars(self).items() if value is not getattr(Beside, name)}


NOTHING = Beside()

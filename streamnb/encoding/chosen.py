"""Some features of many, the others left out, before bins or values of categories are made of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.core import persistence, row_checks
from streamnb.encoding.bins import BinEdges
from streamnb.encoding.levels import CategoryColumns
from streamnb.rows.chunk import Chunk
from streamnb.rows.column_maps import LearnedStep


@persistence.register
@dataclass(frozen=True, eq=False, repr=False)
class ChosenColumns(LearnedStep):
    """The columns that are kept, and what becomes of them.

    Attributes
    ----------
    taken : int
        Columns that it takes.
    columns : (n,) numbers of those that are kept, sorted
    step : BinEdges, CategoryColumns or None
        Of the kept columns.
    """

    taken: int
    columns: np.ndarray
    step: BinEdges | CategoryColumns | None

    @classmethod
    def of(cls, step: BinEdges | CategoryColumns | None, n_features: int, columns: np.ndarray) -> "ChosenColumns":
        """Those columns of what a step was learned for."""
        if isinstance(step, BinEdges):
            step = BinEdges([step.edges[j] for j in columns], step.missing[columns])
        elif isinstance(step, CategoryColumns):  # of which all are categories
            step = CategoryColumns(len(columns), np.arange(len(columns)), [step.values[j] for j in columns])
        return cls(n_features, columns, step)

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> "ChosenColumns":
        persistence.known(cls, state, "taken", "columns", "step")
        columns, step = persistence.array("columns", state["columns"], ["i8"], (None,)), state["step"]
        inside = persistence.is_a(int, state["taken"]) and np.isin(columns, np.arange(state["taken"])).all()
        if not inside or not len(columns) or (np.diff(columns) <= 0).any():
            raise ValueError("columns that are kept should be some of all, in order")
        if not isinstance(step, BinEdges | CategoryColumns | None) or (step and step.n_features != len(columns)):
            raise ValueError("the step of the columns that are kept should be of as many")
        return cls(state["taken"], columns, step)

    @property
    def n_features(self) -> int:
        return self.taken

    @property
    def n_columns(self) -> int:
        return len(self.columns) if self.step is None else self.step.n_columns

    def applied(self, chunk: Chunk, survey: Any = None) -> sp.csr_array:
        """The kept columns of a block of rows, or what is made of them."""
        row_checks.check_n_features(chunk.shape[1], self.taken, "TreeNB")
        some = chunk.of_columns(self.columns)
        return sp.csr_array(some.to_matrix()) if self.step is None else self.step.applied(some)

    def names(self, features: Sequence[str]) -> list[str]:
        """Of the columns that it makes."""
        some = [features[j] for j in self.columns]
        return list(some) if self.step is None else self.step.names(some)

"""Models of sparse class sums with weights for many classes, which are computed for the columns in use."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.core import memory
from streamnb.kernels.scores import score_cells
from streamnb.models import on_demand
from streamnb.models.linear import LinearModel
from streamnb.models.on_demand import UnheldModel
from streamnb.problem.penalties import Pull
from streamnb.rows.boundary import as_chunk
from streamnb.rows.row_blocks import Chunk
from streamnb.solving.parts import Part
from streamnb.solving.weight_problem import Problem


@dataclass(frozen=True, slots=True, eq=False)
class CellWeights:
    """Weights (R, n_columns) for some features that most classes never contain.

    A weight is ``empty[kind[r], j]``, the same for all classes of a kind, plus ``more[j, r]`` for cells that are not
    empty. `shifts` are what these features add to the intercepts.
    """

    empty: np.ndarray  # (n_kinds, n_columns)
    kind: np.ndarray  # (R,)
    more: sp.csr_array  # (n_columns, R)
    shifts: np.ndarray  # (R,)

    @classmethod
    def of(cls, part: Part, pull: Pull, columns: np.ndarray) -> CellWeights:
        """Return the weights of some features of a part, given by their numbers in the part."""
        first, kind = part.kinds
        classes, local, sums = part.cells(columns)
        shape = len(first), len(columns)
        met = np.bincount(kind[classes] * shape[1] + local, minlength=shape[0] * shape[1]).reshape(shape)
        # skip features without empty cells in a kind: the equation of an empty cell may have no solution there
        kinds, places = np.nonzero(met < np.bincount(kind)[:, None])
        empty, shifts = np.zeros((2, *shape))
        nothing = part.equations_of_cells(columns[places], first[kinds], np.zeros(len(places)))
        empty[kinds, places], shifts[kinds, places] = (of_cells[0] for of_cells in nothing.solved(pull))
        own, own_shifts = part.equations_of_cells(columns[local], classes, sums).solved(pull)
        at = kind[classes], local
        more = sp.csr_array((own[0] - empty[at], (local, classes)), shape=(len(columns), len(kind)))
        added = np.bincount(classes, own_shifts[0] - shifts[at], len(kind))
        return cls(empty, kind, more, shifts.sum(axis=1)[kind] + added)


@dataclass(frozen=True, eq=False, repr=False)
class CellModel(UnheldModel):
    """A model of sparse class sums that treats empty cells together.

    Attributes
    ----------
    weights_of : function of columns
        Returns their `CellWeights`.
    n_kinds : int
    """

    weights_of: Callable[[np.ndarray], CellWeights] | None = None
    n_kinds: int = 1

    def _raw_margins(self, chunk: Chunk, survey: Any) -> np.ndarray:
        """Return the scores of the rows of weights for a checked block, (n_rows, R)."""
        chunk = self.prepared(chunk, survey)
        X: Any = sp.csr_array(chunk.to_matrix())
        chunk, _ = as_chunk(X, chunk.first_row)
        kinds, out = np.zeros((X.shape[0], self.n_kinds)), np.zeros((X.shape[0], len(self.intercept_)))
        kind = np.zeros(len(self.intercept_), np.intp)
        for columns in self._column_batches(np.unique(X.indices)):
            weights, local = self.weights_of(columns), chunk.of_columns(columns)  # type: ignore[misc]
            scale = np.ones(len(columns)) if self.scale is None else self.scale[columns]
            local.add_scores(np.ascontiguousarray((weights.empty * scale).T), kinds)
            X, more, kind = local.to_matrix(), sp.diags_array(scale).tocsr() @ weights.more, weights.kind
            arrays = X.data, X.indices, X.indptr, np.arange(X.shape[0])
            score_cells(*arrays, more.data, more.indices, more.indptr, 0, out)
        out += kinds[:, kind]
        out += self.intercept_
        return out

    def _column_batches(self, columns: np.ndarray) -> Iterator[np.ndarray]:
        return _column_batches(columns, self.n_kinds)


def cell_model(problem: Problem, pull: Pull, shell: LinearModel) -> CellModel:
    """Return the model of sparse class sums under a pull; `shell` has the transforms of rows."""
    known = [part.known_by_kind(pull) for part in problem.parts]
    known.append(problem.feature_weight is None)
    if not all(known) or len(known) > 2 or pull.general or pull.decorrelation > 0.0 or pull.top_k is not None:
        raise MemoryError(
            f"the weights of {problem.n_rows:,} classes and {problem.n_features:,} features would take "
            f"{memory.size(8 * problem.n_rows * problem.n_features)}; computing them on demand "
            "takes one family under scheme='joint' or 'ovr' with L1, L2, Separable or no penalty (multinomial: none), "
            "no estimate='map' and no feature_weight; choose among these, take fewer features, or a larger memory_limit"
        )
    (part,) = problem.parts
    weights_of, n_kinds, intercept = partial(CellWeights.of, part, pull), len(part.kinds[0]), problem.intercepts.copy()
    if not part.family.coupled:  # features of coupled families add nothing to the intercepts
        for columns in _column_batches(np.arange(problem.n_features), n_kinds):
            intercept += weights_of(columns).shifts
    fields = {name: getattr(shell, name) for name in shell.__dataclass_fields__}
    return CellModel(**{**fields, "intercept_": intercept, "weights_of": weights_of, "n_kinds": n_kinds})


def _column_batches(columns: np.ndarray, n_kinds: int) -> Iterator[np.ndarray]:
    """Yield batches of columns whose weights are at most NUMBERS."""
    step = max(on_demand.NUMBERS // n_kinds, 1)
    for first in range(0, len(columns), step):
        yield columns[first : first + step]

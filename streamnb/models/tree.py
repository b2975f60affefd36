"""Tree-augmented naive Bayes: scores linear in columns and in products of child and parent."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.core import row_checks
from streamnb.models.linear import LinearModel
from streamnb.rows.boundary import as_chunk
from streamnb.rows.row_blocks import Chunk


@dataclass(frozen=True, eq=False)
class TreeColumns:
    """Indicator columns, followed by the products of the columns of each feature with those of its parent.

    Attributes
    ----------
    firsts : (n_features + 1,)
        The first column of each feature, and the number of all columns.
    parents : (n_features,)
        The parent of each feature, -1 if it has none.
    grouped : bool
        True if exactly one column of a feature is 1 in each row; else each feature is one column, its presence.
    """

    firsts: np.ndarray
    parents: np.ndarray
    grouped: bool

    @property
    def n_taken(self) -> int:
        """Number of indicator columns."""
        return int(self.firsts[-1])

    @cached_property
    def children(self) -> np.ndarray:
        """The features that have a parent, ascending."""
        return np.flatnonzero(self.parents >= 0)

    @property
    def roots(self) -> np.ndarray:
        """The features without a parent."""
        return np.flatnonzero(self.parents < 0)

    @cached_property
    def pairs(self) -> np.ndarray:
        """The columns of child and parent of each product, (n_products, 2)."""
        columns = np.arange(self.n_taken)
        of_features = [columns[first:stop] for first, stop in zip(self.firsts[:-1], self.firsts[1:], strict=True)]
        grids = [np.meshgrid(of_features[j], of_features[self.parents[j]], indexing="ij") for j in self.children]
        return np.concatenate([np.stack(grid, axis=-1).reshape(-1, 2) for grid in grids] or [np.empty((0, 2), np.intp)])

    @property
    def n_columns(self) -> int:
        """Number of columns, including products."""
        return self.n_taken + len(self.pairs)

    def applied(self, present: Any) -> Any:
        """Return indicators with the products appended, dense if each feature has one column, else CSR."""
        if not sp.issparse(present):
            child, parent = self.pairs.T
            return np.hstack([present, present[:, child] & present[:, parent]])
        products, width = self._products(present), self.n_columns - self.n_taken
        return sp.hstack([present, sp.csr_array(products, shape=(present.shape[0], width))], format="csr")

    def _products(self, present: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the products as CSR arrays: 1 where child and parent both have an indicator."""
        widths = np.diff(self.firsts)
        levels = np.full((present.shape[0], len(widths)), -1, np.int32)  # the column of each feature in each row
        rows = np.repeat(np.arange(len(levels)), np.diff(present.indptr))
        feature = np.repeat(np.arange(len(widths)), widths)[present.indices]
        levels[rows, feature] = present.indices - self.firsts[feature]
        parents = self.parents[self.children]
        child, parent = levels[:, self.children], levels[:, parents]
        first = np.cumsum(np.append(0, widths[self.children] * widths[parents]))[:-1]
        there = (child >= 0) & (parent >= 0)
        ends = np.append(0, np.cumsum(np.count_nonzero(there, axis=1)))
        places = (first + child * widths[parents] + parent)[there]
        return np.ones(len(places), present.dtype), places, ends

    def names(self, columns: Any) -> np.ndarray:
        """Return names of all columns, (n_columns,): those of the indicators, then "a & b"."""
        named = np.asarray(columns, object)
        return np.concatenate([named, [f"{named[a]} & {named[b]}" for a, b in self.pairs]]).astype(object)


@dataclass(frozen=True, eq=False)
class PairColumns:
    """Columns, followed by products of any two, (n_products, 2)."""

    n_taken: int
    pairs: np.ndarray

    @property
    def n_columns(self) -> int:
        """Number of columns, including products."""
        return self.n_taken + len(self.pairs)

    def applied(self, present: Any) -> Any:
        """Return rows with the products appended."""
        one, other = (present[:, columns] for columns in self.pairs.T)
        if not sp.issparse(present):
            return np.hstack([present, one * other])
        return sp.csr_array(sp.hstack([present, one.multiply(other)], format="csr"))


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class TreeModel(LinearModel):
    """A linear model of such columns, which it derives from rows; `binarize` is None if these are indicators."""

    columns: TreeColumns | PairColumns
    binarize: float | None = None

    @property
    def _n_taken(self) -> int:
        return self.columns.n_taken

    def prepared(self, chunk: Chunk, survey: Any) -> Chunk:
        """Return a checked block as the weights take it."""
        row_checks.check_n_features(chunk.shape[1], self._n_taken, type(self).__name__)
        matrix: Any = chunk.to_matrix()
        if self.binarize is not None:
            if sp.issparse(matrix) and self.binarize < 0.0:  # absent values count as present
                matrix = matrix.toarray()
            matrix = (matrix > self.binarize).astype(np.uint8)
        return as_chunk(self.columns.applied(matrix), chunk.first_row)[0]

    @property
    def _n_scores(self) -> int:
        return max(super()._n_scores, self.columns.n_columns // 8)

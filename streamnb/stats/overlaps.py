"""Counts rows that have both of two labels, which is needed to compare one label of an indicator with another."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.core import persistence
from streamnb.core.csr import sound_csr


@persistence.register
@dataclass(frozen=True, eq=False)
class Overlaps:
    """Number of rows with both label u and label v, ``counts[u, v]`` (L, L); the diagonal is 0.

    Each row of any weight counts once. Counts add and subtract as statistics do.
    """

    counts: sp.csr_array

    @property
    def nbytes(self) -> int:
        return self.counts.data.nbytes + self.counts.indices.nbytes + self.counts.indptr.nbytes

    def combined(self, other: "Overlaps", sign: int) -> "Overlaps":
        """Return self + sign * other."""
        return Overlaps(self.counts + sign * other.counts)

    def widened(self, n_labels: int) -> "Overlaps":
        """Return the counts of an indicator with more columns at the right, in which no label is set."""
        counts = self.counts.copy()
        counts.resize((n_labels, n_labels))
        return Overlaps(counts)

    def with_label(self, label: int) -> np.ndarray:
        """Return how many rows of a label also have each other label, (L,)."""
        return self.counts[[label]].toarray()[0]

    def _to_state(self) -> dict[str, Any]:
        """Return the pairs of labels as CSR, each pair once."""
        pairs = sp.csr_array(sp.triu(self.counts, 1))
        parts = {"counts": pairs.data, "labels": pairs.indices, "ends": pairs.indptr}
        return {name: part.astype(np.int64) for name, part in parts.items()}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> "Overlaps":
        form = {"counts": "i8[n_pairs]", "labels": "i8[n_pairs]", "ends": "i8[_]"}
        counts, labels, ends = persistence.parts(cls, state, **form)
        pairs = sound_csr(sp.csr_array((counts, labels, ends), shape=(max(len(ends) - 1, 0),) * 2), "overlaps")
        return cls(sp.csr_array(pairs + pairs.T))


class CountedOverlaps:
    """Accumulates overlaps block by block, for each split of the rows."""

    def __init__(self) -> None:
        self._counts: Any = None  # (n_splits * L, L), one split after the other

    def add(self, y: sp.csr_array, weight: np.ndarray | None, splits: np.ndarray | None, n_splits: int) -> None:
        """Count the rows of an indicator (n_rows, L); `splits` is (repeats, n_rows) or None."""
        n_labels = y.shape[1]
        if self._counts is None:
            self._counts = sp.csr_array((n_splits * n_labels, n_labels), dtype=np.int64)
        several = np.diff(y.indptr) > 1
        rows = np.flatnonzero(several if weight is None else several & (weight > 0.0))
        if not rows.size:
            return
        labels = y[rows].astype(np.int64)
        owner = np.repeat(np.arange(len(rows)), np.diff(labels.indptr))
        for of_rows in np.zeros((1, y.shape[0]), np.int64) if splits is None else splits:
            groups = of_rows[rows][owner] * n_labels + labels.indices
            by_group = sp.csr_array((labels.data, (groups, owner)), shape=(n_splits * n_labels, len(rows)))
            self._counts = self._counts + by_group @ labels

    def of_split(self, split: int, n_labels: int) -> Overlaps:
        """Return the overlaps of the rows of one split."""
        if self._counts is None:  # no rows came
            return Overlaps(sp.csr_array((n_labels, n_labels), dtype=np.int64))
        own = self._counts[split * n_labels : (split + 1) * n_labels].tocoo()
        apart = own.row != own.col
        pairs = own.data[apart], (own.row[apart], own.col[apart])
        return Overlaps(sp.csr_array(pairs, shape=own.shape, dtype=np.int64))

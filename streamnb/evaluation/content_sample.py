"""A sample of judged rows by what they hold, the same however the rows are cut, ordered or merged."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from streamnb.core import persistence
from streamnb.kernels.row_values import GOLDEN, scatter_bits

RowParts = Mapping[str, Any]  # of rows: arrays (n,) or (n, K), or CSR (n, K)
NO_LIMIT = np.uint64(2**64 - 1)


class ContentSample:
    """The rows whose contents have the `size` lowest hashes, each with the weight of all rows that are alike.

    Every distinct row is drawn with the same probability, and all are kept while they are at most `size`.

    Attributes
    ----------
    parts : dict of arrays or CSR, (m, ..)
        The distinct rows, in the order of their hashes once `prune` was called.
    weight : (m,)
    """

    def __init__(self, size: int):
        self.size, self.parts = size, dict[str, Any]()
        self.weight, self._key, self._limit = np.zeros(0), np.zeros(0, np.uint64), NO_LIMIT

    def add(self, parts: RowParts, weight: np.ndarray) -> None:
        """Add rows with their weights (n,); there may be none, as of a block without known labels."""
        if not len(weight):
            return
        key = _keys(parts)
        some = key <= self._enough(key)
        self._append({name: part[some] for name, part in parts.items()}, weight[some], key[some])

    def _enough(self, key: np.ndarray) -> np.uint64:
        """A limit of hashes of which those of the sample are below: that so far, or a lower one of many new rows."""
        share = 2.0 * self.size / max(len(key), 1)
        if share >= 0.5 or self._limit < NO_LIMIT:
            return self._limit
        likely = np.uint64(share * 2.0**64)
        return likely if len(np.unique(key[key <= likely])) >= self.size else self._limit

    def _append(self, parts: RowParts, weight: np.ndarray, key: np.ndarray) -> None:
        before = self.parts or {name: part[:0] for name, part in parts.items()}
        self.parts = {name: _stacked([before[name], part]) for name, part in parts.items()}
        self.weight, self._key = np.append(self.weight, weight), np.append(self._key, key)
        if len(self._key) > 2 * self.size:
            self.prune()

    def prune(self) -> Self:
        """Join rows that are alike, and keep those with the lowest hashes."""
        key, first, alike = np.unique(self._key, return_index=True, return_inverse=True)
        first, weight = first[: self.size], np.bincount(alike, self.weight, len(key)).astype(np.float64)[: self.size]
        if len(key) >= self.size:
            self._limit = key[self.size - 1]
        self.parts = {name: part[first] for name, part in self.parts.items()}
        self.weight, self._key = weight, key[: self.size]
        return self

    def __add__(self, other: "ContentSample") -> "ContentSample":
        total = ContentSample(self.size)
        total._limit = min(self._limit, other._limit)
        for one in (self, other):
            if one.parts:
                some = one._key <= total._limit
                parts = {name: part[some] for name, part in one.parts.items()}
                total._append(parts, one.weight[some], one._key[some])
        return total.prune()

    def _to_state(self) -> dict[str, Any]:
        self.prune()
        parts = {
            name: [part.indices, part.indptr, part.shape[1]] if sp.issparse(part) else part
            for name, part in self.parts.items()
        }
        limit = np.array([self._limit]).view(np.int64)
        return {"limit": limit, "key": self._key.view(np.int64), "weight": self.weight, "parts": parts}

    def restore(self, state: dict[str, Any]) -> None:
        """Fill an empty sample from the state of `_to_state`."""
        self.weight = persistence.array("weight", state["weight"], ["f8"], (None,))
        shape = (len(self.weight),)
        self._key = persistence.array("key", state["key"], ["i8"], shape).view(np.uint64)
        self.parts = {
            name: _indicator(len(self.weight), *part) if isinstance(part, list) else part
            for name, part in state["parts"].items()
        }
        if any(part.shape[0] != shape[0] for part in self.parts.values()):
            raise ValueError("the parts of a sample of rows should have as many rows as there are weights")
        self._limit = persistence.array("limit", state["limit"], ["i8"], (1,)).view(np.uint64)[0]


def _keys(parts: RowParts) -> np.ndarray:
    """A hash of the content of each row, of its bits alone."""
    total, seed = np.uint64(0), 0
    for name in sorted(parts):
        part = parts[name]
        values = part if sp.issparse(part) else part.reshape(len(part), -1)
        factors = np.empty(values.shape[1], np.uint64)
        scatter_bits(np.arange(seed, seed + len(factors), dtype=np.uint64) * GOLDEN, factors)
        seed += len(factors)
        if not sp.issparse(part) and part.dtype == np.float64:
            bits = (values + 0.0).view(np.uint64)  # -0.0 is 0.0
            bits = bits ^ (bits >> np.uint64(32))  # few of the low bits of a short number are set
        else:
            bits = values.astype(np.uint64)
        total = total + (bits @ (factors | np.uint64(1)))
    scattered = np.empty_like(total)
    scatter_bits(np.ascontiguousarray(total), scattered)
    return scattered


def _indicator(n_rows: int, indices: np.ndarray, indptr: np.ndarray, n_labels: int) -> sp.csr_array:
    labels = sp.csr_array((np.ones(len(indices), np.uint8), indices, indptr), (n_rows, n_labels))
    labels.check_format()
    return labels


def _stacked(parts: list[Any]) -> Any:
    return sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.concatenate(parts)

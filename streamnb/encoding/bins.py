"""Learns bins of numeric features in one pass; each bin becomes a column."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.core import arguments, persistence, row_checks
from streamnb.core.messages import warn
from streamnb.encoding.plain_steps import Indicators, RowStep
from streamnb.rows.preparing import LearnedStep
from streamnb.rows.row_blocks import Chunk
from streamnb.stats.value_counts import ValueCells, ValueCounts

STRATEGIES = ("quantile", "uniform")


def at_places(places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """CSR indices and ends of rows with a value in each of these columns, (n_rows, n_values); -1 stands for none."""
    n_rows, width = places.shape
    if places.min(initial=0) >= 0:
        return places.reshape(-1), np.arange(n_rows + 1, dtype=places.dtype) * places.dtype.type(width)
    there = places >= 0
    return places[there], np.concatenate([[0], np.cumsum(there.sum(axis=1))]).astype(places.dtype)


def warn_of_beyond(names: list[str]) -> None:
    """Warn of numbers that bins cannot tell from each other any more."""
    if names:
        warn(
            f"X: most numbers of {names} lie beyond the borders of all bins, which were learned from the first rows, "
            "so that the model cannot tell them from each other; fit all rows to learn others"
        )


def indicators(places: np.ndarray, n_columns: int) -> sp.csr_array:
    """Rows with a 1 in each of these columns, as in `at_places`."""
    indices, indptr = at_places(places)
    return sp.csr_array((np.ones(len(indices)), indices, indptr), shape=(len(places), n_columns))


@persistence.register
@dataclass(frozen=True, eq=False, repr=False)
class BinEdges(LearnedStep):
    """The inner edges of the bins of each feature; bin i is the interval (edge i - 1, edge i].

    A bin for missing values, if a feature has one, is its last.
    """

    edges: list[np.ndarray]
    missing: np.ndarray  # (n_features,) bool

    @classmethod
    def learned(cls, counts: ValueCounts, n_bins: int, strategy: str, missing: Any) -> "BinEdges":
        """Edges from value counts; `missing` is True, False, or "auto" for a bin where values are missing."""
        of_feature = _quantiles if strategy == "quantile" else _equal_widths
        features = zip(counts.features, counts.low, counts.high, strict=True)
        edges = [of_feature(cells, low, high, n_bins) for cells, low, high in features]
        return cls(edges, counts.missing > 0 if missing == "auto" else np.full(len(edges), bool(missing)))

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> "BinEdges":
        form = {"edges": "f8[n_edges]", "n_edges": "i8[n_features]", "missing": "?[n_features]"}
        joined, n_edges, missing = persistence.parts(cls, state, **form)
        edges = persistence.pieces("n_edges", joined, n_edges)
        if not edges or not all((np.diff(one) > 0).all() for one in edges):
            raise ValueError("the edges of bins should rise")
        return cls(edges, missing)

    def _to_state(self) -> dict[str, Any]:
        n_edges = np.array(list(map(len, self.edges)), np.int64)
        return {"edges": np.concatenate(self.edges), "n_edges": n_edges, "missing": self.missing}

    @cached_property
    def firsts(self) -> np.ndarray:
        """The first column of each feature, and the total number of columns, (n_features + 1,)."""
        widths = [len(edges) + 1 + int(gap) for edges, gap in zip(self.edges, self.missing, strict=True)]
        return np.concatenate([[0], np.cumsum(widths)])

    @property
    def n_features(self) -> int:
        return len(self.edges)

    def mostly_beyond(self, before: np.ndarray, weights: np.ndarray) -> list[int]:
        """Features of which further rows lie mostly beyond all borders, by the weights of the columns, then and now."""
        beyond = []
        for feature, first in enumerate(self.firsts[:-1].tolist()):
            n_inner = len(self.edges[feature]) - 1
            bins = slice(first, first + n_inner + 2)
            usual, share = (1.0 - of[bins][1:-1].sum() / max(float(of[bins].sum()), 1e-300) for of in (before, weights))
            if n_inner > 0 and share > (1.0 + usual) / 2.0 and weights[bins].any():  # some are not missing
                beyond.append(feature)
        return beyond

    @property
    def n_columns(self) -> int:
        return int(self.firsts[-1])

    def bins(self, chunk: Chunk) -> np.ndarray:
        """The bin of each value, (n_rows, n_features) int32; -1 if it is missing and no bin is for that."""
        X: Any = chunk.to_matrix()
        values = X.toarray() if sp.issparse(X) else X
        row_checks.check_n_features(values.shape[1], len(self.edges), "Bins")
        bins = np.empty(values.shape[::-1], np.int32)
        for j, edges in enumerate(self.edges):
            x = np.ascontiguousarray(values[:, j], np.float64)
            bins[j] = np.searchsorted(edges, x)
            bins[j, np.isnan(x)] = len(edges) + 1 if self.missing[j] else -1
        return bins.T

    def applied(self, chunk: Chunk, survey: Any = None) -> sp.csr_array:
        """Indicators of the bins of a block of rows, (n_rows, n_columns), with a 1 for each feature."""
        bins = self.bins(chunk)
        if bins.min(initial=0) < 0:
            row, column = np.argwhere(bins < 0)[0].tolist()
            raise ValueError(
                f"X has NaN at row {chunk.first_row + row}, column {column}, whose bins were learned without one for "
                "missing values; Bins(missing=True) has it in every column (Input X contains NaN.)"
            )
        firsts = self.firsts[:-1].astype(np.int32 if self.n_columns < 2**31 else np.int64)
        return indicators(bins + firsts, self.n_columns)

    def names(self, features: Sequence[str]) -> list[str]:
        """Names of the columns, such as "x3 in (509, 733]"."""
        names = []
        for name, edges, gap in zip(features, self.edges, self.missing, strict=True):
            shown = ([f"{edge:.{digits}g}" for edge in edges] for digits in range(4, 18))
            distinct = next(numbers for numbers in shown if len(set(numbers)) == len(numbers))  # as short as possible
            ends = ["-inf", *distinct, "inf"]
            ranges = [f"({low}, {high}]" for low, high in pairwise(ends)]
            ranges[-1] = ranges[-1][:-1] + ")"
            names += [f"{name} in {bounds}" for bounds in ranges] + ([f"{name} is missing"] if gap else [])
        return names

    def plain(self) -> list[RowStep]:
        """A column for each bin, and one for missing values as the last of its feature."""
        low, high, missing = [], [], []
        for edges, gap in zip(self.edges, self.missing.tolist(), strict=True):
            low += [-np.inf, *edges, *[np.inf] * gap]
            high += [*edges, np.inf, *[np.inf] * gap]
            missing += [False] * (len(edges) + 1) + [True] * gap
        feature = np.repeat(np.arange(self.n_features), np.diff(self.firsts))
        as_is = np.zeros(len(feature), bool)
        made = Indicators(feature, np.array(low), np.array(high), np.array(missing), as_is)
        return [RowStep("indicators", made)]


def _quantiles(cells: ValueCells, low: float, high: float, n_bins: int) -> np.ndarray:
    if len(cells.keys) <= n_bins:  # one bin for each value
        return cells.between()
    at = np.unique(cells.reaching(np.arange(1, n_bins) / n_bins))
    return cells.between()[at[at < len(cells.keys) - 1]]


def _equal_widths(cells: ValueCells, low: float, high: float, n_bins: int) -> np.ndarray:
    if len(cells.keys) <= n_bins:
        return cells.between()
    return np.unique(np.linspace(low, high, n_bins + 1)[1:-1])


def check_edges(edges: Any, n_features: int) -> BinEdges | None:
    """Check edges given by users: the same numbers for every feature, or a list for each."""
    if edges is None:
        return None
    if not isinstance(edges, Sequence | np.ndarray) or isinstance(edges, str):
        raise TypeError(f"edges={edges!r} should be a list of numbers that rise, or a list of these for each feature")
    each = [edges] * n_features if all(np.ndim(one) == 0 for one in edges) else list(edges)
    if len(each) != n_features:
        raise ValueError(f"edges has {len(each)} lists for {n_features} features; give one for each, or one for all")
    found = [np.array(arguments.as_array("edges", one), np.float64) for one in each]
    for j, one in enumerate(found):
        if one.ndim != 1 or not np.isfinite(one).all() or (np.diff(one) <= 0).any():
            raise ValueError(f"edges={each[j]!r} of feature {j} should be finite numbers that rise")
    return BinEdges(found, np.zeros(n_features, bool))

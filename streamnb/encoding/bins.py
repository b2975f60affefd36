"""Bins of numeric features, learned in one pass, and the terms that additive models make of bins, as indicators."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.core import arguments, messages, persistence, row_checks
from streamnb.core.messages import warn
from streamnb.encoding.plain_steps import ColumnSums, Indicators, RowStep
from streamnb.rows.preparing import LearnedStep
from streamnb.rows.row_blocks import Block, Chunk, CSRChunk
from streamnb.rows.source import Source, WrappedSource
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
            "so the model cannot distinguish them; fit all rows at once to learn new ones"
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
        features = zip(counts.features, counts.low, counts.high, strict=True)
        edges = [_inner_edges(cells, low, high, n_bins, strategy) for cells, low, high in features]
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


def _inner_edges(cells: ValueCells, low: float, high: float, n_bins: int, strategy: str) -> np.ndarray:
    """The edges between bins of about as many rows, or of equal width."""
    if len(cells.keys) <= n_bins:  # one bin for each value
        return cells.between()
    if strategy == "uniform":
        return np.unique(np.linspace(low, high, n_bins + 1)[1:-1])
    at = np.unique(cells.reaching(np.arange(1, n_bins) / n_bins))
    return cells.between()[at[at < len(cells.keys) - 1]]


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


FINEST = 0  # the resolution at which every code is a step of its own


# ---- terms -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class CodedFeatures:
    """The codes of each feature and how many rows have them, from which coarser steps follow.

    Attributes
    ----------
    firsts : (n_features + 1,) ints
        The first column of each feature's codes, then the number of columns.
    counts : (n_columns,)
        The rows with each code.
    ordered : (n_features,) bool
        Whether codes are bins of numbers; else they are levels.
    missing : (n_features,) bool
        Whether the last code stands for missing values.
    """

    firsts: np.ndarray
    counts: np.ndarray
    ordered: np.ndarray
    missing: np.ndarray

    @property
    def n_features(self) -> int:
        return len(self.ordered)

    @cached_property
    def _known_steps(self) -> dict[tuple[int, int], np.ndarray]:
        return {}

    def steps(self, feature: int, resolution: int) -> np.ndarray:
        """The step of each code at a resolution, (n_codes,) int32; missing values have one of their own, the last.

        Bins are grouped into steps of about as many rows, levels by how frequent they are: all but the first few are
        together. Steps of a resolution are parts of those of half of it.
        """
        key = feature, resolution
        if key not in self._known_steps:
            self._known_steps[key] = self._new_steps(feature, resolution)
        return self._known_steps[key]

    def _new_steps(self, feature: int, resolution: int) -> np.ndarray:
        counts = self.counts[self.firsts[feature] : self.firsts[feature + 1]]
        n_codes = len(counts)
        if resolution == FINEST:
            return np.arange(n_codes, dtype=np.int32)
        gap = bool(self.missing[feature])
        known = counts[: n_codes - gap]
        if self.ordered[feature]:
            total = float(known.sum()) or 1.0
            middle = (np.cumsum(known) - 0.5 * known) / total
            found = np.minimum((middle * resolution).astype(np.int64), resolution - 1)
        else:
            rank = np.empty(len(known), np.int64)
            rank[np.lexsort([np.arange(len(known)), -known])] = np.arange(len(known))
            found = np.minimum(rank, resolution - 1)
        found = np.unique(found, return_inverse=True)[1]
        return np.append(found, [found.max(initial=-1) + 1] * gap).astype(np.int32)


@persistence.register
@dataclass(frozen=True, eq=False, repr=False)
class TermColumns(LearnedStep):
    """Indicators of the steps of features, and of the cells of pairs of them.

    Attributes
    ----------
    base : BinEdges or None
        Turns numbers into codes; None where rows come as indicators of codes.
    firsts : (n_features + 1,) ints
        The first column of each feature's codes, then the number of columns.
    features : (n_grids, 2) ints
        The features of each grid of indicators: a feature and -1, or a pair.
    sides : list of (n_codes,) int32
        The step of each code, of both features of a grid.
    """

    base: BinEdges | None
    firsts: np.ndarray
    features: np.ndarray
    sides: list[tuple[np.ndarray, np.ndarray]]

    @classmethod
    def of(
        cls, base: BinEdges | None, coded: CodedFeatures, terms: Sequence[tuple[tuple[int, ...], int]]
    ) -> "TermColumns":
        """The grid of each term at its resolution; a term is a feature or a pair of them."""
        features, sides, none = [], [], np.zeros(0, np.int32)
        for term, resolution in terms:
            features.append([*term, -1][:2])
            of_term = [coded.steps(feature, resolution) for feature in term]
            sides.append((of_term[0], of_term[1] if len(term) > 1 else none))
        return cls(base, coded.firsts, np.array(features, np.int64).reshape(-1, 2), sides)

    def _to_state(self) -> dict[str, Any]:
        both = [side for sides in self.sides for side in sides]
        joined = np.concatenate(both) if both else np.zeros(0, np.int32)
        return {"base": self.base, "firsts": self.firsts, "features": self.features, "steps": joined}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> "TermColumns":
        form = {"base": BinEdges | None, "firsts": "i8[_]", "features": "i8[n_grids, 2]", "steps": "i4[_]"}
        base, firsts, features, steps = persistence.parts(cls, state, **form)
        if len(firsts) < 2 or firsts[0] != 0 or (np.diff(firsts) <= 0).any():
            raise ValueError("the first columns of features should rise from 0")
        n_features = len(firsts) - 1
        low = np.array([0, -1])
        if (features < low).any() or (features >= n_features).any() or (features[:, 0] == features[:, 1]).any():
            raise ValueError(f"terms should be of the {n_features} features, or of two of them")
        lengths = np.where(features >= 0, np.diff(firsts)[features], 0).reshape(-1)
        if lengths.sum() != len(steps) or steps.min(initial=0) < 0:
            raise ValueError("each code of the features of a term should have a step")
        parts = np.split(steps, np.cumsum(lengths)[:-1])
        if base is not None and not np.array_equal(base.firsts, firsts):
            raise ValueError("bins should have as many columns as the features have codes")
        return cls(base, firsts, features, list(zip(parts[::2], parts[1::2], strict=True)))

    @cached_property
    def widths(self) -> np.ndarray:
        """The number of columns of each grid, (n_grids,)."""
        sizes = [(int(a.max()) + 1, int(b.max()) + 1 if len(b) else 1) for a, b in self.sides]
        return np.array(sizes, np.int64).reshape(-1, 2).prod(axis=1)

    @cached_property
    def starts(self) -> np.ndarray:
        """The first column of each grid, and the total number of columns, (n_grids + 1,)."""
        return np.concatenate([[0], np.cumsum(self.widths)])

    @property
    def n_features(self) -> int:
        return int(self.firsts[-1]) if self.base is None else self.base.n_features

    @property
    def n_columns(self) -> int:
        return int(self.starts[-1])

    def codes(self, chunk: Chunk) -> np.ndarray:
        """The code of each feature, (n_rows, n_features) int32; -1 where a row has none."""
        if self.base is not None:
            return self.base.bins(chunk)
        row_checks.check_n_features(chunk.shape[1], int(self.firsts[-1]), "the additive model")
        return codes_of(chunk if isinstance(chunk, CSRChunk) else sp.csr_array(chunk.values), self.firsts)

    def applied(self, chunk: Chunk, survey: Any = None) -> sp.csr_array:
        """Indicators of a block of rows, (n_rows, n_columns): at most one of each grid."""
        codes = self.codes(chunk)
        return self.of_codes(codes) if len(codes) > 1 else self._of_row(codes.ravel().tolist())

    def _of_row(self, codes: list[int]) -> sp.csr_array:
        """The same of one row, where calls of NumPy take longest."""
        places = [
            -1 if codes[i] < 0 or (j >= 0 and codes[j] < 0) else first[codes[i]] + (second[codes[j]] if j >= 0 else 0)
            for i, j, first, second in self._places_in_lists
        ]
        return indicators(np.array([places], np.int32), self.n_columns)

    @cached_property
    def _places_in_lists(self) -> list[tuple[int, int, list[int], list[int]]]:
        """The features of each grid, and its places."""
        pairs = zip(self.features.tolist(), self._places, strict=True)
        return [(i, j, first.tolist(), second.tolist()) for (i, j), (first, second) in pairs]

    def of_codes(self, codes: np.ndarray) -> sp.csr_array:
        """The same of rows given as the codes of their features, (n_rows, n_features)."""
        return indicators(np.ascontiguousarray(self.places_of(codes, -1).T), self.n_columns)

    def places_of(self, codes: np.ndarray, absent: int) -> np.ndarray:
        """The column of each grid that a row has, (n_grids, n_rows) int32; `absent` where it has none."""
        codes = np.ascontiguousarray(codes.T)
        lacking = codes < 0 if codes.min(initial=0) < 0 else None
        places = np.empty((len(self.sides), codes.shape[1]), np.int32)
        for grid, ((i, j), (first, second)) in enumerate(zip(self.features.tolist(), self._places, strict=True)):
            np.take(first, codes[i], out=places[grid], mode="clip")
            if j >= 0:
                places[grid] += second[codes[j]]
            if lacking is not None:
                places[grid][lacking[i] if j < 0 else lacking[i] | lacking[j]] = absent
        return places

    @cached_property
    def _places(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """What the codes of both features of each grid add to the number of its column, (n_codes,) int32."""
        found = []
        for (a, b), start in zip(self.sides, self.starts.tolist(), strict=False):
            n_second = int(b.max()) + 1 if len(b) else 1
            found.append((a * np.int32(n_second) + np.int32(start), b))
        return found

    def names(self, features: Sequence[str]) -> list[str]:
        """Names of the columns, such as "age in (30, 42]"; `features` are those of numbers, or of codes."""
        features, found = (features if self.base is None else self.base.names(features)), []
        for (i, j), (a, b) in zip(self.features.tolist(), self.sides, strict=True):
            first = _named(a, features[self.firsts[i] : self.firsts[i + 1]])
            second = _named(b, features[self.firsts[j] : self.firsts[j + 1]]) if j >= 0 else [""]
            found += [f"{one}, {two}" if two else one for one in first for two in second]
        return found

    # ---- in plain steps ----------------------------------------------------------------------------------------------

    @cached_property
    def _plain_base(self) -> BinEdges | None:
        """Bins with one for missing values in every feature, so that none is refused."""
        return None if self.base is None else replace(self.base, missing=np.ones(self.base.n_features, bool))

    @cached_property
    def _plain_codes(self) -> np.ndarray:
        """The places of codes among these bins."""
        if self.base is None or self._plain_base is None:
            return np.arange(self.firsts[-1])
        return np.delete(np.arange(self._plain_base.n_columns), self._plain_base.firsts[1:][~self.base.missing] - 1)

    def plain(self) -> list[RowStep]:
        """Codes, the coarser steps of the features in pairs, and the cells of pairs."""
        steps = [] if self._plain_base is None else self._plain_base.plain()
        n_codes = int(self.firsts[-1]) if self._plain_base is None else self._plain_base.n_columns
        firsts: dict[int, int] = {}  # the first sum of each feature
        parts, products, n_sums = [np.zeros((0, 2), np.int64)], [np.zeros((0, 2), np.int64)], 0
        for features, sides in zip(self.features.tolist(), self.sides, strict=True):
            if features[1] < 0:
                continue
            places = []
            for feature, step_of in zip(features, sides, strict=True):
                width = int(step_of.max()) + 1
                if feature not in firsts:
                    firsts[feature] = n_sums
                    codes = self._plain_codes[self.firsts[feature] : self.firsts[feature + 1]]
                    parts.append(np.stack([codes, n_sums + step_of.astype(np.int64)], axis=1))
                    n_sums += width
                places.append(n_codes + firsts[feature] + np.arange(width))
            products.append(np.stack(np.meshgrid(*places, indexing="ij"), axis=-1).reshape(-1, 2))
        if n_sums:
            steps.append(RowStep("sums", ColumnSums(n_codes, np.concatenate(parts))))
            steps.append(RowStep("products", np.concatenate(products)))
        return steps

    def plain_weights(self, weights: np.ndarray) -> np.ndarray:
        """Weights of codes and products; 0 for missing values that no row had, and for the sums of products."""
        n_codes = len(self._plain_codes)
        width = self.n_features
        for step in self.plain():
            width = step.width(width)
        out = np.zeros((width, weights.shape[1]))
        out[self._plain_codes] = weights[:n_codes]
        out[width - (len(weights) - n_codes) :] = weights[n_codes:]
        return out


def codes_of(X: Any, firsts: np.ndarray) -> np.ndarray:
    """The code of each feature from indicators of codes, CSR, (n_rows, n_features) int32; -1 where a row has none."""
    n_rows, n_features = X.shape[0], len(firsts) - 1
    codes = np.full((n_rows, n_features), -1, np.int32)
    feature = np.repeat(np.arange(n_features), np.diff(firsts))[X.indices]
    row = np.repeat(np.arange(n_rows), np.diff(X.indptr))
    codes[row, feature] = X.indices - firsts[feature]
    return codes


def _named(steps: np.ndarray, names: Sequence[str]) -> list[str]:
    """The names of steps: of a single code, or of the first and the last of several."""
    order = np.argsort(steps, kind="stable")
    ends = np.searchsorted(steps[order], np.arange(int(steps.max()) + 2))
    of_step = [[names[code] for code in order[a:b]] for a, b in pairwise(ends)]
    return [own[0] if len(own) == 1 else f"{own[0]} .. {own[-1]}" for own in of_step]


class AbsentCountingSource(WrappedSource):
    """Indicators of terms; after all rows have been read, one warning has the number of absent values of each feature.

    Parameters
    ----------
    rows : Source
        Blocks as `columns` makes them.
    columns : TermColumns
    names : names of the features
    """

    def __init__(self, rows: Source, columns: TermColumns, names: Sequence[str]):
        super().__init__(rows)
        self._columns, self._names = columns, names

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        absent, n_rows = np.zeros(len(self._names), np.int64), 0
        for block in self._rows.blocks(start, stop):
            yield block
            absent, n_rows = absent + self._absent(block.X, block.n_rows), n_rows + block.n_rows
        told = getattr(self.unknown, "told", ())
        counts = zip(absent.tolist(), self._names, strict=True)
        each = [f"{n:,} of {name!r}" for n, name in counts if n and name not in told]
        if each and start == 0 and stop in (None, self.n_rows):  # workers read parts, and would warn of each
            messages.warn(
                f"X has values without effect on scores, as they are new, or missing where the fit had none: "
                f"{', '.join(each)}, in {n_rows:,} rows"
            )

    def _absent(self, X: Any, n_rows: int) -> np.ndarray:
        """The number of rows without an indicator of each feature."""
        _, indices, _, _ = X
        found = np.zeros(len(self._names), np.int64)
        columns = self._columns
        if len(indices) < n_rows * len(columns.features):
            terms = np.searchsorted(columns.starts, indices, side="right") - 1
            there = np.bincount(terms, minlength=len(columns.features))
            mains = np.flatnonzero(columns.features[:, 1] < 0)
            found[columns.features[mains, 0]] = n_rows - there[mains]
        return found

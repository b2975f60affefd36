"""Turns codes of features, such as bins and levels, into indicators of the terms of an additive model."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.core import messages, persistence, row_checks
from streamnb.encoding.bins import BinEdges, indicators
from streamnb.encoding.plain_steps import ColumnSums, RowStep
from streamnb.rows.preparing import LearnedStep
from streamnb.rows.row_blocks import Block, Chunk, CSRChunk
from streamnb.rows.source import Source, WrappedSource

FINEST = 0  # the resolution at which every code is a step of its own


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
        if absent.any() and start == 0 and stop in (None, self.n_rows):  # workers read parts, and would warn of each
            each = [f"{n:,} of {name!r}" for n, name in zip(absent.tolist(), self._names, strict=True) if n]
            messages.warn(
                f"X has values that add nothing to the scores, as they are new, or missing where none was at fit: "
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

"""Bounds what each row, and each person, adds to sums, whatever the other rows are."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.core import arguments, persistence
from streamnb.rows.boundary import OF_ONES, Survey, surveyed
from streamnb.rows.row_blocks import Chunk, CSRChunk, frozen
from streamnb.rows.splits import keys_of, scattered

SHORTER = 1.0 - 2.0**-40  # more than rounding adds to a norm


@persistence.register
@dataclass(frozen=True, kw_only=True, repr=False)
class Clip(persistence.Parameters):
    """How much a row may add to sums that will be made private; see `scan` and `ClassStats.privatize`.

    How a row is clipped depends only on the row itself. If it depended on the row's number, removing one person would
    change the rows of others.

    Parameters
    ----------
    presence : bool
        Count each value as 1, unless it is 0.
    max_features : int, optional
        If a row has more nonzero values than this, only this many count: a systematic sample in the order of the
        columns, with equal chances for all of them, whose start is a hash of the row's columns and `seed` (Madow 1949).
    l2 : float, optional
        The largest Euclidean norm of a row; longer rows are scaled down to it. Give this or `presence`.
    step : float, optional
        With `l2`: values are cut to multiples of it, towards 0, so that sums are whole multiples and noise can be
        discrete. A power of two, such as 2**-10.
    seed : int

    Examples
    --------
    >>> import streamnb as snb
    >>> clip = snb.Clip(presence=True, max_features=2)
    >>> stats = snb.scan([[3, 1, 1, 0], [0, 0, 2, 0]], ["a", "b"], clip=clip, classes=["a", "b"], n_features=4)
    >>> stats.sum.sum(axis=1).tolist()
    [2.0, 1.0]
    """

    presence: bool = False
    max_features: int | None = None
    l2: float | None = None
    step: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        arguments.one_of("presence", self.presence, [False, True])
        if self.presence == (self.l2 is not None):
            both = "both bound a row; leave one out" if self.presence else "should bound rows by one of them"
            raise ValueError(f"Clip(presence={self.presence}, l2={self.l2!r}) {both}")
        if self.max_features is not None:
            arguments.positive_integer("max_features", self.max_features)
        arguments.whole_number("seed", self.seed)
        if self.l2 is None:
            if self.step is not None:
                raise ValueError(f"step={self.step!r} needs l2=; values that count as 0 or 1 need none")
            return
        if self.step is None:
            raise ValueError(
                f"Clip(l2={self.l2!r}) has no step; real values are rounded to a grid, such as step=2**-10"
            )
        l2, step = (arguments.finite_number(name, getattr(self, name)) for name in ("l2", "step"))
        if not 0.0 < step <= l2 or np.frexp(step)[0] != 0.5:
            raise ValueError(f"step={step!r} should be a power of two of at most l2={l2!r}, such as 2**-10")
        object.__setattr__(self, "l2", l2)
        object.__setattr__(self, "step", step)

    def __repr__(self) -> str:
        given = [
            f"{part.name}={value!r}" for part in fields(self) if (value := getattr(self, part.name)) != part.default
        ]
        return f"Clip({', '.join(given)})"

    def most_values(self, n_features: int) -> int:
        """The most values, other than 0, that are left of a row."""
        most = n_features if self.max_features is None else min(self.max_features, n_features)
        return most if self.l2 is None or self.step is None else min(most, int((self.l2 / self.step) ** 2))

    def applied(self, chunk: Chunk) -> tuple[Chunk, Survey]:
        """What counts of the rows of a checked block."""
        if isinstance(chunk, CSRChunk) or self.max_features is not None:
            return self._of_sparse(_without_zeros(chunk))
        if self.l2 is None:
            return surveyed(chunk.with_values((chunk.stored != 0).astype(np.uint8)))
        values = chunk.values.astype(np.float64)
        squares = np.add.accumulate(values * values, axis=1)[:, -1]  # in order, for the same bits
        factors = self._factors(np.sqrt(squares))
        return surveyed(chunk.with_values(self._on_grid(values, factors[:, None], slice(None)).reshape(-1)))

    def _of_sparse(self, chunk: CSRChunk) -> tuple[Chunk, Survey]:
        if self.presence:
            chunk = replace(chunk, ones=True)  # whose values are not looked at
        if self.max_features is not None:
            chunk = _sampled(chunk, self.max_features, self.seed)
        if self.l2 is None:
            return replace(chunk, data=frozen(np.ones(len(chunk.indices), np.uint8))), OF_ONES
        values, lengths = chunk.data.astype(np.float64), np.diff(chunk.indptr)
        rows = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
        factors = self._factors(np.sqrt(np.bincount(rows, values * values, len(lengths))))
        return surveyed(chunk.with_values(self._on_grid(values, factors, rows)))

    def _factors(self, norms: np.ndarray) -> np.ndarray:
        """What rows of these norms are multiplied by."""
        assert self.l2 is not None
        return np.minimum(self.l2 * SHORTER / np.maximum(norms, self.l2 * SHORTER), 1.0)

    def _on_grid(self, values: np.ndarray, factors: np.ndarray, rows: Any) -> np.ndarray:
        """Values, which are changed, times the factors of their rows, as multiples of the step."""
        assert self.step is not None
        if (factors < 1.0).any():
            values *= factors[rows]
        values *= 1.0 / self.step
        np.trunc(values, out=values)
        values *= self.step
        return values


def _without_zeros(chunk: Chunk) -> CSRChunk:
    """The rows as CSR without stored zeros."""
    if isinstance(chunk, CSRChunk) and (chunk.ones or chunk.data.all()):
        return chunk
    rows = sp.csr_array(chunk.to_matrix(), copy=isinstance(chunk, CSRChunk))
    rows.eliminate_zeros()
    indptr = frozen(rows.indptr.astype(np.int64))
    return CSRChunk(frozen(rows.data), frozen(rows.indices), indptr, chunk.shape[1], chunk.first_row)


def _sampled(chunk: CSRChunk, most: int, seed: int) -> CSRChunk:
    """At most `most` values of each row."""
    starts, lengths = chunk.indptr[:-1] - chunk.indptr[0], np.diff(chunk.indptr)
    long = np.flatnonzero(lengths > most)
    if not long.size:
        return chunk
    places = np.concatenate([[0], np.cumsum(np.minimum(lengths, most))])
    ends = np.stack([starts[long], starts[long] + lengths[long]], axis=1).reshape(-1)
    ends = ends[:-1] if ends[-1] == len(chunk.indices) else ends  # reduceat takes the last row to its end
    sums = np.add.reduceat(chunk.indices, ends, dtype=np.int64)[::2]
    shares = (scattered(sums.view(np.uint64), seed) >> np.uint64(32)).astype(np.float64) * 2.0**-32
    # the i-th of `most` values, spread evenly over the row from a random start
    drawn = ((np.arange(most) + shares[:, None]) * (lengths[long] / most)[:, None]).astype(np.int64)
    drawn += starts[long][:, None]
    if len(long) == len(lengths):
        taken = drawn.reshape(-1)
    else:
        taken = np.arange(places[-1]) + np.repeat(starts - places[:-1], np.diff(places))
        taken[places[long][:, None] + np.arange(most)] = drawn
    data = frozen(np.ones(len(taken), np.uint8)) if chunk.ones else frozen(chunk.data[taken])
    indices = frozen(chunk.indices[taken])
    return CSRChunk(data, indices, frozen(places), chunk.n_features, chunk.first_row, chunk.ones)


def _ranges(lengths: np.ndarray) -> np.ndarray:
    """0, 1, .., length - 1 for each length, one after another."""
    return np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)


def content_keys(chunk: Chunk) -> np.ndarray:
    """A hash of the values of each row, (n_rows,) int64, the same for dense and sparse rows."""
    rows = _without_zeros(chunk)
    values = rows.data.astype(np.float64).view(np.uint64)
    cells = scattered(scattered(rows.indices.astype(np.uint64), 0) ^ values, 1)
    up_to = np.concatenate([np.zeros(1, np.uint64), np.cumsum(cells)])  # modulo 2^64
    ends = rows.indptr - rows.indptr[0]
    return (up_to[ends[1:]] - up_to[ends[:-1]]).view(np.int64)


def rows_to_count(groups: Any, most: int, seed: int = 0) -> np.ndarray:
    """Which rows count, at most `most` of each group, (n_rows,) bool; it depends on the rows of the group alone."""
    labels, codes = np.unique(groups, return_inverse=True)
    order = np.argsort(codes, kind="stable")
    ranks = np.empty(len(codes), np.int64)
    ranks[order] = _ranges(np.bincount(codes))  # the number of a row among those of its group
    draws = scattered(keys_of(labels)[codes] + scattered(ranks.view(np.uint64), seed), seed)
    order = np.lexsort((draws, codes))
    kept = np.zeros(len(codes), bool)
    kept[order[_ranges(np.bincount(codes)) < most]] = True
    return kept


@persistence.register
@dataclass(frozen=True)
class Clipping(persistence.Parameters):
    """How the rows behind sums were bounded: row by row, and by person where `groups` named the person of each row.

    Attributes
    ----------
    clip : Clip
    rows_per_group : int
        The most rows of a person; 1 where each row is a person of its own.
    by_group : bool
    """

    clip: Clip
    rows_per_group: int = 1
    by_group: bool = False

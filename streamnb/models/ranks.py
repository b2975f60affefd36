"""Confidence of each rank of a taxonomy, by draws of a part of the features of a row (Wang et al. 2007)."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from streamnb.core.memory import aligned
from streamnb.kernels import draws
from streamnb.models.linear import LinearModel, top_classes
from streamnb.rows.boundary import Survey
from streamnb.rows.row_blocks import Chunk, SparseRows

SHARE = 8  # one of so many units of a row is drawn
TOGETHER, DRAWN = 64, 1 << 24  # rows, and their drawn units, at most, that pass through a tile of weights
FEATURES = 64  # laid out at once, so that they stay in the cache


class Taxonomy:
    """Classes whose labels are names of ranks, the highest first, split at semicolons."""

    def __init__(self, classes: np.ndarray):
        paths = [str(label).split(";") for label in classes.tolist()]
        self.n_ranks = max(map(len, paths))
        ranks = range(1, self.n_ranks + 1)
        self.names = np.array([[";".join(path[:rank]).strip() for rank in ranks] for path in paths], object)
        # (n_ranks, K): classes have the same number at a rank if they have the same names down to it
        numbers: dict[Any, int] = {}
        downto = ([tuple(map(str.strip, path[:rank])) for path in paths] for rank in ranks)
        self.groups = np.array([[numbers.setdefault(names, len(numbers)) for names in of_rank] for of_rank in downto])


@dataclass(frozen=True, eq=False)
class RankedDraws:
    """Decides rows by a model, and by draws of their units how sure each rank is."""

    model: LinearModel
    taxonomy: Taxonomy
    n_draws: int
    seed: int

    @cached_property
    def _weights(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Weights in tiles and intercepts, and the largest of each tile in the same form.

        They are in single precision, and relative to means over classes.
        """
        weights, intercept = np.asarray(self.model.weights), self.model.intercept_
        if len(intercept) < len(self.model.classes_):  # one score for the second of two classes
            weights = np.concatenate([np.zeros_like(weights), weights], axis=1)
            intercept = np.append(0.0, intercept)
        firsts = np.arange(0, len(intercept), draws.WIDTH)
        tiles, bounds = _room(len(intercept), len(weights)), _room(len(firsts), len(weights))
        start = (intercept - intercept.max()).astype(np.float32)
        for first in range(0, len(weights), FEATURES):
            block = weights[first : first + FEATURES]
            block = (block - block.mean(axis=1, keepdims=True)).astype(np.float32)
            _lay_out(block, tiles[:, first : first + FEATURES])
            _lay_out(np.maximum.reduceat(block, firsts, axis=1), bounds[:, first : first + FEATURES])
        return tiles, start, bounds, np.maximum.reduceat(start, firsts)

    def __call__(self, chunk: Chunk, survey: Survey | None) -> np.ndarray:
        """The class of each row of a checked block and the confidence of each rank, (n_rows, 1 + n_ranks)."""
        if survey is None or not survey.whole or survey.negatives:
            raise ValueError("predict_ranks draws from counts, and X has a value that is negative or no whole number")
        answers = np.empty((chunk.shape[0], 1 + self.taxonomy.n_ranks))
        answers[:, 0] = top_classes(self.model, chunk, survey)
        counts = chunk.together(np.arange(chunk.shape[0]))
        ends = counts.indptr - counts.indptr[0]
        totals = np.diff(np.append(0, np.cumsum(counts.data[: ends[-1]], dtype=np.int64))[ends])
        sizes = np.where(totals > 0, np.maximum(totals // SHARE, 1), 0)
        for rows in self._batches(sizes):
            drawn = [self._drawn(counts, row, chunk.first_row + row, totals[row], sizes[row]) for row in rows.tolist()]
            agreeing = self._agreeing(drawn, answers[rows, 0].astype(np.intp))
            downto = np.cumsum(agreeing[:, :, ::-1], axis=2)[:, :, ::-1]  # names of at least so many ranks agree
            shares = downto[:, :, 1:] / downto[:, :, :1]  # equally good classes have equal parts of a draw
            answers[rows, 1:] = shares.mean(axis=1) * (totals[rows] > 0)[:, None]
        return answers

    def _batches(self, sizes: np.ndarray) -> Iterator[np.ndarray]:
        """Yield numbers of rows that are processed together, at least one; `sizes` are their units in a draw."""
        first, drawn = 0, np.cumsum(sizes * self.n_draws)
        while first < len(sizes):
            few = int(np.searchsorted(drawn[first : first + TOGETHER] - drawn[first], DRAWN, side="right"))
            yield np.arange(first, first + few)
            first += few

    def _drawn(self, counts: SparseRows, row: int, number: int, total: int, size: int) -> tuple[np.ndarray, np.ndarray]:
        """The columns of `size` units in each draw from a row of `total` units, and the draw that each is in."""
        begin, end = counts.indptr[row : row + 2] - counts.indptr[0]
        units, places = np.empty(total, np.int32), np.empty(end - begin, np.int64)
        columns, of_draws = np.empty((2, size * self.n_draws), np.int32)
        seed = np.array([self.seed]).astype(np.uint64)[0]
        with np.errstate(over="ignore"):
            draws.draw(
                counts.data, counts.indices, begin, end, number, seed, size, self.n_draws, units, places, columns,
                of_draws,
            )  # fmt: skip
        return columns, of_draws

    def _agreeing(self, drawn: list[tuple[np.ndarray, np.ndarray]], decided: np.ndarray) -> np.ndarray:
        """The best classes of each draw, (n_rows, n_draws, 1 + n_ranks), by the ranks at which they are as decided.

        The tile of the decided class is tried first, then those that may hold one that is as good.
        """
        tiles, start, bounds, highest = self._weights
        groups, first_tiles = self.taxonomy.groups, decided // draws.WIDTH
        best = np.full((len(drawn), self.n_draws), -np.inf, np.float32)
        agreeing = np.zeros((*best.shape, 1 + self.taxonomy.n_ranks), np.int64)
        sums = aligned(self.n_draws, draws.WIDTH, np.float32)
        hopeful = np.zeros((len(drawn), len(tiles)), np.bool_)

        def add_tile(i: int, number: int) -> None:
            draws.best_of_draws(tiles[number], number, start, *drawn[i], sums, groups, decided[i], best[i], agreeing[i])

        for i, number in enumerate(first_tiles.tolist()):
            add_tile(i, number)
        for number, tile in enumerate(bounds):
            for i, of_row in enumerate(drawn):
                draws.find_hopeful(tile, number, highest, *of_row, sums, best[i], hopeful[i])
        hopeful[np.arange(len(drawn)), first_tiles] = False
        for number in range(len(tiles)):
            for i in np.flatnonzero(hopeful[:, number]).tolist():
                add_tile(i, number)
        return agreeing


def _room(n_columns: int, n_features: int) -> np.ndarray:
    n_tiles = -(-n_columns // draws.WIDTH)
    return aligned(n_tiles * n_features, draws.WIDTH, np.float32).reshape(n_tiles, n_features, draws.WIDTH)


def _lay_out(values: np.ndarray, tiles: np.ndarray) -> None:
    """Write the columns of some features, (n, n_columns), into tiles of them, (n_tiles, n, WIDTH), and zeros behind."""
    padded = np.zeros((len(values), len(tiles) * draws.WIDTH), np.float32)
    padded[:, : values.shape[1]] = values
    tiles[:] = padded.reshape(len(values), len(tiles), draws.WIDTH).swapaxes(0, 1)

"""Scores rows by all models of a grid together."""

from collections.abc import Sequence
from copy import copy
from typing import Any, cast

import numpy as np
import scipy.sparse as sp

from streamnb.core import persistence
from streamnb.core.memory import aligned
from streamnb.models.deciding import Decider
from streamnb.models.grid_weights import DOUBLE, GridWeights
from streamnb.models.quadratic import QuadraticModel
from streamnb.problem.family import column_blocks
from streamnb.rows.chunk import Chunk
from streamnb.selection import models_apart
from streamnb.selection.covariance_models import CovarianceModels
from streamnb.selection.models_apart import NestedApart, TablesApart
from streamnb.solving.covariance_path import CovariancePath
from streamnb.solving.weight_paths import WeightPath

MARGINS = 1 << 22  # scored at once where each batch may widen histograms
WITH_ZEROS = 3  # weights laid out with zeros may take so many times the bytes


# ---- scores of all models of a path ----------------------------------------------------------------------------------


class GridModels:
    """All models of a path, which score rows together.

    Parameters
    ----------
    path : WeightPath
        G models of R rows of weights.
    most_bytes : int
        Weights are kept in memory if they take no more.
    decide : bool
        Whether only decisions are needed.
    apart : bool
        Whether each row of weights scores its own rows.
    """

    def __init__(self, path: WeightPath, most_bytes: int, decide: bool, apart: bool = False):
        self.shell = path.shell()
        n_points, n_rows, n_features = len(path), path.n_rows, self.shell.n_features
        self.shape = n_points, n_rows
        intercepts = np.tile(path.intercepts, (n_points, 1))
        found: list[sp.csr_array] = []
        n_bytes = 0
        nested = models_apart.nested_of(path) if apart else None
        every = column_blocks(n_features, max(MARGINS // (n_points * n_rows), 1))
        for columns in every if nested is None else ():
            weights, shifts = path.grid_weights(columns)
            intercepts += shifts
            raw = self._raw(weights, columns)
            if self.shell.absent[columns].any():
                intercepts += (self.shell.absent[columns] @ raw).reshape(self.shape)
            n_bytes += raw.data.nbytes + raw.indices.nbytes
            found = [*found, raw] if n_bytes <= most_bytes else []
        self._intercepts = np.zeros((n_rows, DOUBLE.padded(n_points)))
        self._intercepts[:, :n_points] = intercepts.T
        of_classes = self.shell.scheme.judged_by(len(self.shell.classes_)) if decide and found else None
        most_bytes *= WITH_ZEROS
        self.decider = None if of_classes is None else Decider.of(most_bytes, found, intercepts.T, of_classes)
        self.apart = models_apart.of_blocks(found, intercepts, most_bytes) if apart and found else nested
        self._weights = None
        if found and self.decider is None and self.apart is None:
            self._weights = GridWeights.within(most_bytes, found, n_rows)
        self._path = path if self.by_columns else None  # with its statistics

    @classmethod
    def joined(cls, several: "Sequence[GridModels]") -> "GridModels":
        """The models of several grids, each with weights in tables by row of weights, as one."""
        joined = copy(several[0])
        joined.shape = sum(models.shape[0] for models in several), several[0].shape[1]
        joined._intercepts = np.hstack([models._intercepts for models in several])
        joined.apart = TablesApart.joined([cast(TablesApart, models.apart) for models in several])
        return joined

    @property
    def nbytes(self) -> int:
        """Bytes of the weights kept in memory."""
        ready = self.apart or (self._weights if self.decider is None else self.decider.weights)
        return 0 if ready is None else ready.nbytes

    @property
    def by_columns(self) -> bool:
        """Whether weights are computed for the columns of each block."""
        return self._weights is None and self.decider is None and self.apart is None

    def digest(self) -> str:
        """A digest that identifies these models, from settings and intercepts, which depend on every weight."""
        weights = self.apart.entering if isinstance(self.apart, NestedApart) else []
        return persistence.digest([self.shell, self._intercepts, *map(list, weights)])

    def _raw(self, weights: sp.csr_array, columns: Any) -> sp.csr_array:
        """Weights of rows that are not scaled by idf, (n_columns, G * R)."""
        if self.shell.scale is None:
            return weights
        scale = np.repeat(self.shell.scale[columns], np.diff(weights.indptr))
        return sp.csr_array((weights.data * scale, weights.indices, weights.indptr), shape=weights.shape)

    def buffer(self, n_rows: int) -> np.ndarray:
        """A reusable buffer for the margins of so many rows, as allocation takes longer than they do."""
        return aligned(n_rows, self._intercepts.size)

    def margins(self, chunk: Chunk, rows: np.ndarray, buffer: np.ndarray) -> np.ndarray:
        """Margins of some rows of a prepared block, (len(rows), R, width), of which the first G columns are points."""
        flat = buffer[: len(rows)]
        flat[:] = self._intercepts.reshape(-1)
        if self._weights is not None:
            self._weights.add_scores(chunk, rows, flat)
        else:
            self._add_by_columns(chunk, rows, flat)
        return flat.reshape(len(rows), *self._intercepts.shape)

    def _add_by_columns(self, chunk: Chunk, rows: np.ndarray, out: np.ndarray) -> None:
        chunk, every = chunk.picked(rows), np.arange(len(rows))
        columns = chunk.used_columns()
        step = max(MARGINS // out.shape[1], 1)
        for first in range(0, len(columns), step):
            some = columns[first : first + step]
            weights, _ = self._path.grid_weights(some)  # type: ignore[union-attr]
            ready = GridWeights.in_units(
                [self._raw(weights, some)], self.shape[1]
            )  # equal rows have equal scores in any block
            ready.add_scores(chunk.of_columns(some), every, out)


class QuadraticGrid(GridModels):
    """The single model of Gaussian features with variances of each class, in the place of a grid."""

    def __init__(self, model: QuadraticModel):
        self.shell: Any = model
        self.decider = self.apart = None
        self.shape = 1, model.scheme.n_rows(len(model.classes_))

    @property
    def nbytes(self) -> int:
        return self.shell.weights.nbytes + self.shell.halves.nbytes

    @property
    def by_columns(self) -> bool:
        return False

    def digest(self) -> str:
        return persistence.digest([self.shell.weights, self.shell.halves, self.shell.intercept_])

    def buffer(self, n_rows: int) -> np.ndarray:
        return np.zeros((n_rows, self.shape[1], DOUBLE.padded(1)))

    def margins(self, chunk: Chunk, rows: np.ndarray, buffer: np.ndarray) -> np.ndarray:
        buffer[: len(rows), :, 0] = self.shell.margins_of(chunk.picked(rows))
        return buffer[: len(rows)]


def of_path(path: Any, most_bytes: int, needs: frozenset[str]) -> "GridModels | CovarianceModels":
    """The models of a path, linear or quadratic, prepared for the needs of an evaluation."""
    if isinstance(path, CovariancePath):
        return CovarianceModels(path, bool(needs) and needs <= {"hits", "confusion"})
    shell = path.shell()
    if isinstance(shell, QuadraticModel):
        return QuadraticGrid(shell)
    return GridModels(path, most_bytes, bool(needs) and needs <= {"hits", "confusion"}, "reference" in needs)


# ---- models of several paths that score rows together ----------------------------------------------------------------


Grids = tuple[GridModels | CovarianceModels, ...]  # the models of each split


def groups_of(grids: Sequence[Grids]) -> list[list[int]]:
    """Groups of candidate numbers whose models score rows together: those in tables that prepare rows equally."""
    groups: dict[Any, list[int]] = {}
    for number, models in enumerate(grids):
        in_tables = all(isinstance(one.apart, TablesApart) for one in models)
        groups.setdefault(rows_of(models[0].shell) if in_tables else number, []).append(number)
    return list(groups.values())


def of_group(grids: Sequence[Grids]) -> Grids:
    """The models of a group as one candidate: joined where they are in tables, otherwise of its only candidate.

    One split may have tables where another has nested models, if a class has no rows in it.
    """
    of_splits = zip(*grids, strict=True)
    return tuple(GridModels.joined(some) if isinstance(some[0].apart, TablesApart) else some[0] for some in of_splits)


def of_each(judged: Sequence[Any], groups: Sequence[Sequence[int]], grids: Sequence[Grids]) -> list[Any]:
    """The evaluations of each candidate, split off those of the groups."""
    found: dict[int, Any] = {}
    for of_group, group in zip(judged, groups, strict=False):
        ends = np.cumsum([grids[number][0].shape[0] for number in group])
        for number, end in zip(group, ends.tolist(), strict=True):
            first = end - grids[number][0].shape[0]
            found[number] = of_group if len(group) == 1 else [one.of_points(first, end) for one in of_group]
    return [found[number] for number in range(len(grids))]


def rows_of(shell: Any) -> Any:
    """A key that is equal for models that prepare rows in the same way."""
    if any(columns is not None for columns in shell.moments.values()):
        return id(shell)
    return shell.options, shell.n_features, *shell.moments

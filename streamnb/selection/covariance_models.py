"""All models of a grid of shrinkages, which score rows together."""

from collections.abc import Iterator

import numpy as np

from streamnb.core import memory, persistence
from streamnb.core.blas import one_thread
from streamnb.models.grid_weights import DOUBLE, SINGLE
from streamnb.rows.chunk import Chunk, CSRChunk
from streamnb.selection.covariance_scores import Scores, ScreenedRows, inward, top
from streamnb.solving.covariance_path import CovariancePath

TILE, SCREENED = 256, 4096  # rows that are scored, or decided, together
CURE = "take fewer shrinkages, folds or features, or covariance='pooled'"


class CovarianceModels:
    """All models of a `CovariancePath`, as `GridModels` are those of a `WeightPath`.

    Models with the same a share the directions in which rows are taken, and those of all g cost a product more.

    Parameters
    ----------
    path : CovariancePath
    decisions : bool
        Whether only decisions will be asked for: single precision then does for most rows.

    Attributes
    ----------
    singular : (G,) bool
        Points where a covariance has no inverse: their margins mean nothing.
    """

    apart = None
    by_columns = False

    def __init__(self, path: CovariancePath, decisions: bool = False):
        self.shell, known = path.shell(), path.covariances
        self.shape = len(path), path.n_rows
        self._kept, self._centre = known.kept, known.centre[known.kept]
        n_classes, n = len(known.means), len(known.kept)
        needed = (12 if decisions else 8) * len({a for a, _ in path.points}) * n_classes * n**2
        if needed > (limit := memory.allowed(None)):
            memory.refuse(f"directions of {len(path)} shrinkages of {n_classes} classes", needed, limit, CURE)
        self.decider = self if decisions else None
        self._parts: list[Scores] = []
        self.singular = np.zeros(len(path), bool)
        with one_thread():
            self._inward, outward = inward(known.common[np.ix_(known.kept, known.kept)])
            about = known.means[:, known.kept] - self._centre, path.log_priors
            for basis in known.bases(path.points, factored=True):
                self._parts.append(Scores.of(basis, *about, outward if decisions else None))
                self.singular[basis.points] = np.isnan(basis.inverse).any(axis=(0, 1))

    @property
    def nbytes(self) -> int:
        """Of what is kept ready."""
        return sum(array.nbytes for part in self._parts for array in part.form.arrays)

    def digest(self) -> str:
        """Tells these models from others."""
        return persistence.digest([self.shell, *(array for part in self._parts for array in part.form.arrays)])

    def room(self, n_rows: int) -> np.ndarray:
        """Where margins of so many rows find room, again and again."""
        return np.zeros((n_rows, self.shape[1], DOUBLE.room(self.shape[0])))

    def margins(self, chunk: Chunk, rows: np.ndarray, room: np.ndarray) -> np.ndarray:
        """Margins of some rows of a prepared block, (len(rows), R, width): the first G of these are those of points."""
        out = room[: len(rows)]
        for some, x in self._centred(chunk, rows, TILE):
            for part in self._parts:
                joint = part.scores(x)
                out[some, :, part.points] = joint if self.shape[1] > 1 else joint[:, 1:] - joint[:, :1]
        return out

    def decide(self, chunk: Chunk, rows: np.ndarray, screened: bool) -> np.ndarray:
        """The first class of the highest score of some rows at each point, (len(rows), G) and room behind."""
        n_points, n_classes = self.shape[0], len(self.shell.classes_)
        decided = np.empty((len(rows), SINGLE.room(n_points)), np.min_scalar_type(n_classes - 1))
        for some, x in self._centred(chunk, rows, SCREENED):
            with one_thread():
                y = ScreenedRows.of(x @ self._inward)
            for part in self._parts:
                if part.screen is None:
                    for first in range(0, len(x), TILE):  # whose scores stay in the cache
                        those = slice(some.start + first, min(some.start + first + TILE, some.stop))
                        decided[those, part.points] = top(part.scores(x[first : first + TILE]))
                    continue
                found, certain = part.screen.decided(y)
                again = np.flatnonzero(~certain)
                if len(again):
                    found[again] = top(part.scores(x[again]))
                decided[some, part.points] = found
        return decided

    def _centred(self, chunk: Chunk, rows: np.ndarray, n: int) -> Iterator[tuple[slice, np.ndarray]]:
        """Those rows some at a time, less the mean of all and with a 1 behind, and which these are."""
        matrix = chunk.to_matrix()
        for first in range(0, len(rows), n):
            some = slice(first, min(first + n, len(rows)))
            values = matrix[rows[some]]
            x = np.ones((some.stop - first, len(self._kept) + 1))
            full = values.toarray() if isinstance(chunk, CSRChunk) else values
            np.subtract(full[:, self._kept], self._centre, out=x[:, :-1])
            yield some, x

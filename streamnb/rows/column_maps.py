"""Maps of columns, learned before the scan: log1p of those that take it, or the quantile-normal map."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import ndtri

from streamnb.core import persistence, row_checks
from streamnb.rows.boundary import Domain
from streamnb.rows.chunk import Chunk, DenseChunk, frozen

NONE, LOG1P, QUANTILE_NORMAL = MAPS = ("none", "log1p", "quantile_normal")
ABOVE = float(np.nextafter(-1.0, 0.0))  # the least value with a logarithm of one more
LEAST = 1e-7  # probability of the values at either end


class LearnedStep(persistence.Parameters):
    """What rows go through once it was learned of some; a value, alike and shown by all that it holds."""

    sparse = True  # what it makes of rows
    at_once: int | None = None  # rows that it is given at most

    @property
    def n_features(self) -> int:
        """Columns that it takes."""
        raise NotImplementedError

    @property
    def n_columns(self) -> int:
        """Columns that it makes."""
        raise NotImplementedError

    def applied(self, chunk: Chunk, survey: Any = None) -> Any:
        """What it makes of a block of rows, (n_rows, n_columns), CSR or dense."""
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return self is other or (type(self) is type(other) and repr(self) == repr(other))

    def __hash__(self) -> int:
        return hash(repr(self))

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.n_features:,} features, {persistence.digest(self)}>"


class ColumnMap(LearnedStep):
    """A map of each column, which leaves as many."""

    sparse = False
    name: str

    @property
    def n_columns(self) -> int:
        return self.n_features

    def mapped(self, chunk: Chunk, survey: Any) -> Chunk:
        """A checked block with its columns mapped."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"<{self.name}: {self.n_features:,} features, {persistence.digest(self)}>"


@persistence.register
@dataclass(frozen=True, eq=False, repr=False)
class LogColumns(ColumnMap):
    """ln(1 + x) in the columns whose values were all above -1; the others stay as they are."""

    taken: np.ndarray  # (n_features,) bool
    name = LOG1P

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> "LogColumns":
        return cls(persistence.array("taken", state["taken"], ["?"], (None,)))

    @property
    def n_features(self) -> int:
        return len(self.taken)

    def mapped(self, chunk: Chunk, survey: Any) -> Chunk:
        row_checks.check_n_features(chunk.shape[1], self.n_features, "maps='log1p'")
        columns = np.flatnonzero(self.taken)
        if not len(columns):
            return chunk
        Domain("maps='log1p'", ABOVE, np.inf, columns).check(chunk, survey)
        return chunk.mapped(np.log1p, columns)


@persistence.register
@dataclass(frozen=True, eq=False, repr=False)
class QuantileNormal(ColumnMap):
    """x becomes Phi^-1(F(x)), F the distribution that was seen; between quantiles in a straight line.

    Of values that occur often, the least among them, F is the middle of their step. ``quantiles[:, i]`` are those of
    probability ``i / (n_quantiles - 1)``, exact up to 4,096 distinct values.
    """

    quantiles: np.ndarray  # (n_features, n_quantiles)
    name = QUANTILE_NORMAL

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> "QuantileNormal":
        quantiles = persistence.array("quantiles", state["quantiles"], ["f8"], (None, None))
        if not quantiles.size or not np.isfinite(quantiles).all() or (np.diff(quantiles, axis=1) < 0.0).any():
            raise ValueError("quantiles should be finite numbers that do not fall")
        return cls(quantiles)

    @property
    def n_features(self) -> int:
        return len(self.quantiles)

    def mapped(self, chunk: Chunk, survey: Any) -> Chunk:
        return DenseChunk(frozen(self.applied(chunk)), chunk.first_row)

    def applied(self, chunk: Chunk, survey: Any = None) -> np.ndarray:
        """The mapped rows of a block, (n_rows, n_features)."""
        X: Any = chunk.to_matrix()
        values = X.toarray() if sp.issparse(X) else X
        row_checks.check_n_features(values.shape[1], self.n_features, "the quantile-normal map")
        levels, out = np.linspace(0.0, 1.0, self.quantiles.shape[1]), np.empty(values.shape)
        for j, knots in enumerate(self.quantiles):
            x = values[:, j].astype(np.float64)
            gaps = np.isnan(x)
            if gaps.any():
                row = chunk.first_row + int(np.argmax(gaps))
                raise ValueError(f"X has NaN at row {row}, column {j} (Input X contains NaN.)")
            above, below = np.interp(x, knots, levels), -np.interp(-x, -knots[::-1], -levels[::-1])
            out[:, j] = ndtri(np.clip(0.5 * (above + below), LEAST, 1.0 - LEAST))
        return out


def map_name(columns: ColumnMap | None) -> str:
    """What a map is called, or that there is none."""
    return NONE if columns is None else columns.name

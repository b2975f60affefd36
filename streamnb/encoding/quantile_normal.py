"""The quantile-normal map: each feature becomes normal, whatever its distribution was; learned in one pass."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import ndtri

from streamnb.core import persistence, row_checks
from streamnb.rows.chunk import Chunk
from streamnb.rows.preparing import LearnedStep
from streamnb.stats.value_counts import ValueCounts

N_QUANTILES = 1000
LEAST = 1e-7  # probability of the values at either end


@persistence.register
@dataclass(frozen=True, eq=False, repr=False)
class QuantileNormal(LearnedStep):
    """x becomes Phi^-1(F(x)), F the distribution that was seen; between quantiles in a straight line.

    Of values that occur often, the least among them, F is the middle of their step. ``quantiles[:, i]`` are those of
    probability ``i / (n_quantiles - 1)``, exact up to 4,096 distinct values.
    """

    quantiles: np.ndarray  # (n_features, n_quantiles)

    @classmethod
    def learned(cls, counts: ValueCounts) -> "QuantileNormal":
        """From how often values occur; none may be missing."""
        if counts.missing.any():
            column = int(np.argmax(counts.missing > 0))
            raise ValueError(
                f"X has {counts.missing[column]} NaN in column {column}; transform='quantile_normal' has no place for "
                "missing values, snb.Bins has (Input X contains NaN.)"
            )
        quantiles = np.empty((len(counts.features), N_QUANTILES))
        for row, cells, low, high in zip(quantiles, counts.features, counts.low, counts.high, strict=True):
            up_to = np.cumsum(cells.counts)
            ranks = np.ceil(np.linspace(0.0, up_to[-1], N_QUANTILES))
            row[:] = np.clip(cells.tops(), low, high)[np.searchsorted(up_to, np.maximum(ranks, 1))]
        return cls(quantiles)

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> "QuantileNormal":
        quantiles = persistence.array("quantiles", state["quantiles"], ["f8"], (None, None))
        if not quantiles.size or not np.isfinite(quantiles).all() or (np.diff(quantiles, axis=1) < 0.0).any():
            raise ValueError("quantiles should be finite numbers that do not fall")
        return cls(quantiles)

    @property
    def n_features(self) -> int:
        return len(self.quantiles)

    n_columns = n_features

    def applied(self, chunk: Chunk, survey: Any = None) -> np.ndarray:
        """The mapped rows of a block, (n_rows, n_features)."""
        X: Any = chunk.to_matrix()
        values = X.toarray() if sp.issparse(X) else X
        row_checks.check_n_features(values.shape[1], self.n_features, "transform='quantile_normal'")
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

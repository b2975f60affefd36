"""Scores relative to a row of zeros: what stored values add."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from streamnb.models.linear import LinearModel
from streamnb.problem.schemes import Joint
from streamnb.rows.chunk import Chunk


def sums_of_logs(log_probabilities: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the sum of the finite entries of each row and the number of those that are -inf, each (K,)."""
    impossible = np.isneginf(log_probabilities)
    return np.where(impossible, 0.0, log_probabilities).sum(axis=1), impossible.sum(axis=1)


@dataclass(frozen=True, eq=False)
class OddsModel(LinearModel):
    """Scores from the effect of stored values on a row of zeros: ln p(present) - ln p(absent).

    As -inf cannot be subtracted, K more columns of weights count impossible events if there are any.
    """

    @classmethod
    def of(
        cls,
        classes: np.ndarray,
        present: np.ndarray,
        absent: np.ndarray,
        zeros: tuple[np.ndarray, np.ndarray],
        log_priors: np.ndarray,
        **options: Any,
    ) -> Self:
        """Make the model of log probabilities (K, columns); `zeros` has their sums for a row of zeros."""
        weights, intercept = _finite(present) - _finite(absent), zeros[0] + log_priors
        impossible = [np.isneginf(table) for table in (present, absent)]
        if impossible[0].any() or impossible[1].any():
            counts = impossible[0].astype(np.float64) - impossible[1]
            weights, intercept = np.vstack([weights, counts]), np.concatenate([intercept, zeros[1]])
        return cls(classes, np.ascontiguousarray(weights.T), intercept, Joint(), **options)

    @property
    def counts_impossible(self) -> bool:
        """Whether there are columns of weights that count impossible events."""
        return self.weights.shape[1] > len(self.classes_)

    def _raw_margins(self, chunk: Chunk, survey: Any) -> np.ndarray:
        """Return ln P(y) + ln P(x | y), (n_rows, K)."""
        scores, impossible = np.split(super()._raw_margins(chunk, survey), [len(self.classes_)], axis=1)
        return np.where(impossible > 0.5, -np.inf, scores) if impossible.shape[1] else scores


def _finite(log_probabilities: np.ndarray) -> np.ndarray:
    return np.where(np.isneginf(log_probabilities), 0.0, log_probabilities)

"""The order in which features enter a TopK grid; their weights then stay the same."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from streamnb.problem.penalties import Penalty, Pull, TopK
from streamnb.solving.decorrelation import decorrelated
from streamnb.solving.weight_problem import Problem


@dataclass(frozen=True, eq=False)
class Entering:
    """The first grid point at which a feature is kept, or G, and its weight; (R, n_features) each."""

    points: np.ndarray
    weights: np.ndarray
    n_points: int

    @classmethod
    def of(cls, problem: Problem, penalty: Penalty | None) -> Self | None:
        """Return None for other penalties, and if weights depend on which features are kept."""
        if not isinstance(penalty, TopK) or isinstance(penalty.k, dict) or problem.on_demand:
            return None
        points = problem.ranking.entering(penalty.by, penalty.k)
        if points is None or any(part.family.coupled for part in problem.parts):
            return None
        weights = np.empty(points.shape)
        for block in problem.blocks:
            weights[:, block.columns] = decorrelated(block.equations(), Pull())[0]
        if problem.feature_weight is not None:
            weights *= problem.feature_weight
        return cls(np.where(weights != 0.0, points, len(penalty.k)), weights, len(penalty.k))

    def counts(self) -> tuple[np.ndarray, np.ndarray]:
        """Count the features of each row of weights at every point, (G, R), and those of any row, (G,)."""
        each = [np.searchsorted(np.sort(of_row), np.arange(self.n_points), "right") for of_row in self.points]
        union = np.searchsorted(np.sort(self.points.min(axis=0)), np.arange(self.n_points), "right")
        return np.stack(each, axis=1), union

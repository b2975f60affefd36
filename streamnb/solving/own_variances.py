"""Gaussian features with variances of each class: the single model of quadratic scores."""

from typing import Any

import numpy as np

from streamnb.models.quadratic import QuadraticModel
from streamnb.problem.families import Gaussian
from streamnb.problem.family import Family
from streamnb.problem.schemes import Scheme
from streamnb.problem.smoothing import log_class_priors
from streamnb.stats.class_stats import ClassStats


def is_own(family: Family) -> bool:
    """Return whether each class has its own variances; raise an error if other families are mixed in."""
    own = [isinstance(member, Gaussian) and member.covariance == "own" for member in family.members]
    if any(own) and family.members != (family,):
        raise ValueError(f"family={family!r} mixes linear scores and quadratic ones: covariance='own' stands alone")
    return any(own)


class QuadraticPath:
    """The one model of Gaussian features with variances of each class, with the interface of `WeightPath`.

    Attributes
    ----------
    grid : list with one empty point
    n_features, n_features_per_class, saturated, residuals
        As for a `WeightPath` of one point; no feature is left out.
    """

    penalty = None

    def __init__(self, stats: ClassStats, family: Any, scheme: Scheme, options: dict[str, Any]):
        self._stats, self._family, self._scheme = stats, family, scheme
        self._log_priors = log_class_priors(options.get("priors"), stats, options.get("estimate", "posterior_mean"))
        self.grid: list[dict[str, Any]] = [{}]
        self.n_rows = scheme.n_rows(len(stats.classes))
        self.n_features = np.array([stats.n_features])
        self.n_features_per_class = np.full((1, self.n_rows), stats.n_features)
        self.saturated, self.residuals = np.zeros(1, np.int64), np.zeros(1)

    def __len__(self) -> int:
        return 1

    def __repr__(self) -> str:
        return f"<QuadraticPath: 1 model of {self._family!r}>"

    def __getitem__(self, i: int) -> QuadraticModel:
        if not -1 <= i < 1:
            raise IndexError(f"the path has 1 point; {i} is not one of them")
        stats = self._stats
        weight = stats.weight
        share = weight / weight.sum()
        counts = np.where(weight > 0, weight, 1.0)[:, None]
        means, within = stats.sum / counts, stats.scatter() / counts
        largest = float((share @ (within + (means - share @ means) ** 2)).max())
        variance = within + self._family.var_smoothing * largest
        common = {"classes_": stats.classes, "scheme": self._scheme, "options": stats.options}
        common["privacy_"] = stats.privacy
        return QuadraticModel.of(means, variance, self._log_priors, largest, **common)

    def shell(self) -> QuadraticModel:
        """Return the model."""
        return self[0]

    @property
    def intercepts(self) -> np.ndarray:
        """Intercepts of the model, (K,)."""
        return self[0].intercept_

    def breakpoints(self, *_: Any) -> np.ndarray:
        """Raise an error: no tau leaves a feature out."""
        raise ValueError("weights, and rankings or plots of them, need linear scores; take family='gaussian'")

    weights = by_columns = breakpoints

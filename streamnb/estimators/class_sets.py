"""Models of sets of classes, each against the rest, from the class sums of one scan.

These functions of a `LinearNB` become methods of a class, which defines the sets and how they decide.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from streamnb.estimators.linear_nb import LinearNB
from streamnb.models.linear import LinearModel
from streamnb.models.on_demand import UnheldModel
from streamnb.problem.families import as_family
from streamnb.solving.solving import solve
from streamnb.stats.unions import unions

FIXED = {"scheme": "joint", "reference": None, "overlap": "refuse"}  # parameters that these models lack
FIXED |= dict.fromkeys(("priors", "feature_weight", "loss", "threshold", "reject_label"))


def check_family(self: Any) -> None:
    """Raise for families with covariances."""
    if any(member.covariant for member in as_family(self.family).members):
        raise ValueError(
            f"family={self.family!r} has covariances, which sums of classes do not have; {type(self).__name__} "
            "takes families of features one by one"
        )


def model_of_sets(self: Any, members: np.ndarray, names: np.ndarray | None = None) -> LinearModel:
    """Weights of each set, (n_features, n_sets), `members` (n_sets, K) bool, and its intercept."""
    stats = unions(self._weighted, members)
    stats = stats if names is None else replace(stats, classes=names)
    options = {name: getattr(self, name) for name in ("idf", "estimate")}
    options |= {"memory_limit": self._memory_limit, "n_threads": self._n_threads}
    options["smoothing"] = self._now("smoothing_")
    model = solve(stats, self._chosen_family(), self._penalty(), **options)[0]
    if isinstance(model, UnheldModel):
        raise MemoryError(
            f"the weights of {len(members):,} sets of classes and {self.stats_.n_features:,} features do not fit "
            "into memory_limit; give a larger one, fewer sets, or fewer features"
        )
    return model


def predictive(self: Any) -> LinearModel:
    """Not defined; raises."""
    name = type(self).__name__
    raise ValueError(f"predictive=True needs one distribution per class; leave it out for {name}")


def sklearn_tags(self: Any) -> Any:
    """Tags of classifiers of one label per row."""
    tags = LinearNB.__sklearn_tags__(self)
    tags.classifier_tags.multi_label = False
    return tags

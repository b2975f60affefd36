"""A linear model of hierarchical labels, scored against the lowest label of each row."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.models.linear import LinearModel
from streamnb.problem.label_structure import Nested


@dataclass(frozen=True, eq=False, repr=False)
class NestedModel(LinearModel):
    """Binary relevance under `Nested`; a row is right if its label and all ancestors are predicted, and no other."""

    def _hits(self, found: np.ndarray, y: Any) -> np.ndarray:
        if sp.issparse(y):
            return super()._hits(found, y)
        assert isinstance(self.scheme, Nested)
        at = np.minimum(np.searchsorted(self.classes_, y), len(self.classes_) - 1)
        expected = self.scheme.follows[:, at].T
        return (found == expected).all(axis=1) & (self.classes_[at] == y)

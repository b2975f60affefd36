"""A task as a user would write it."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.passes.contract import PassTask


class Highest(PassTask):
    """The largest value of each feature, as a user would write it."""

    def partial(self) -> Any:
        return HighestValues()

    def add(self, partial: Any, block: Any) -> None:
        X = block.X.toarray() if sp.issparse(block.X) else block.X
        partial.value = np.maximum(partial.value, np.asarray(X, float).max(axis=0, initial=-np.inf))


class HighestValues:
    nbytes = 40

    def __init__(self, value: Any = -np.inf):
        self.value = value

    def __add__(self, other: Any) -> Any:
        return HighestValues(np.maximum(self.value, other.value))

    def arrays(self) -> Any:
        return {"value": self.value}

    def finish(self) -> Any:
        return self

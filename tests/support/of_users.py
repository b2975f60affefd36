"""A task and a statistic as a user would write them."""

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import scipy.sparse as sp

import streamnb as snb


class Highest(snb.PassTask):
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


@dataclass(eq=False)
class Extremes(snb.Statistic):
    """How many rows there are, and the least and the largest value of each feature."""

    n_rows: Annotated[int, np.add] = 0
    least: Annotated[Any, np.minimum] = np.inf
    most: Annotated[Any, np.maximum] = -np.inf

    def add(self, rows: Any) -> None:
        X = rows.X.toarray() if sp.issparse(rows.X) else np.asarray(rows.X, float)
        self.n_rows += len(X)
        self.least = np.minimum(self.least, X.min(axis=0, initial=np.inf))
        self.most = np.maximum(self.most, X.max(axis=0, initial=-np.inf))

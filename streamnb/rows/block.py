"""Some rows as they were read."""

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Rows as they were read, not checked yet.

    `X` is a matrix, a (data, indices, indptr, n_features) tuple, or a dict of columns.

    `data` is None where every value counts as 1. `y` are labels, or a CSR indicator of labels; `split` the groups or
    fold numbers given beside the rows.
    """

    X: Any
    y: Any
    weight: np.ndarray | None
    split: np.ndarray | None
    first_row: int
    nbytes: int

    @property
    def n_rows(self) -> int:
        if isinstance(self.X, dict):
            return next(iter(self.X.values())).shape[0]
        return len(self.X[2]) - 1 if isinstance(self.X, tuple) else self.X.shape[0]

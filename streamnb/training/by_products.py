"""Least squares that follow from sums of products: nothing is read for the weights, only to judge them."""

import numpy as np

from streamnb.solving.least_squares import LeastSquaresPath
from streamnb.training.descent import Penalties
from streamnb.training.fitting import Reads, Trained, Trainer
from streamnb.training.objectives import RowSums
from streamnb.training.reading import ReadTask


class ByProducts(Trainer):
    """Where conjugate gradients would end, in the form in which these are trained and judged beside others.

    Parameters
    ----------
    path : LeastSquaresPath
        Of the same rows and scale: its one eigendecomposition is for all penalties.
    """

    def __init__(self, task: ReadTask, sums: RowSums, penalties: Penalties, path: LeastSquaresPath):
        super().__init__(task, sums, path.scale, penalties)
        self._weights = np.vstack(path.weights(penalties.l2))

    def reads(self, tol: float, max_passes: int, towards: np.ndarray | None = None) -> Reads:
        """None but that which judges."""
        yield None, self._weights * self._of_all(self._factors)
        history = {name: np.array(column) for name, column in self._history.items()}
        return Trained(self._weights, True, 0.0, history)

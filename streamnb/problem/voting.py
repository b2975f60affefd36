"""Votes of pairwise models."""

import numpy as np
import scipy.sparse as sp


class Ballot:
    """Votes of rows for K classes, and sums of bounded margins that break ties."""

    def __init__(self, n_rows: int, n_classes: int, earlier: np.ndarray, later: np.ndarray):
        self._earlier, self._later = earlier, later
        self._votes = np.zeros((n_rows, n_classes))
        self._confidence = np.zeros_like(self._votes)

    def cast(self, margins: np.ndarray, pairs: slice) -> None:
        """Add the votes of some pairs, from their margins (n_rows, n_pairs)."""
        later, earlier = (self._sums(classes[pairs]) for classes in (self._later, self._earlier))
        won = margins > 0
        self._votes += (later @ won.T + earlier @ ~won.T).T
        bounded = np.sign(margins) - np.sign(margins) / (1.0 + np.abs(margins))
        self._confidence += ((later - earlier) @ bounded.T).T

    def _sums(self, classes: np.ndarray) -> sp.csr_array:
        """A matrix (K, n_pairs) that sums the pairs of each class."""
        n_pairs = len(classes)
        return sp.csr_array((np.ones(n_pairs), (classes, np.arange(n_pairs))), shape=(self._votes.shape[1], n_pairs))

    def scores(self) -> np.ndarray:
        """Votes, plus less than a third of a vote from the margins."""
        return self._votes + self._confidence / (3.0 * (np.abs(self._confidence) + 1.0))

"""Forward selection: features enter one by one, each time the one that lowers the squared error most."""

from __future__ import annotations

import numpy as np

from streamnb.core.blas import one_thread
from streamnb.regression.systems import System

INDEPENDENT = 1e-10  # share of a column's variance that must be left beside the features in use


def forward_path(system: System, most: int) -> tuple[np.ndarray, np.ndarray]:
    """The order in which features enter, and the weights after each step.

    A step takes the feature with the largest ``sum over targets of c_j^2 / G_jj``, where G and c are those of what the
    features in use leave of it and of the targets: the exact fall of the squared error (orthogonal least squares, Chen,
    Billings and Luo 1989). Features that depend on those in use are passed over.

    Parameters
    ----------
    system : System
    most : int
        The largest number of features.

    Returns
    -------
    order : (n_steps,) numbers among the kept features
    weights : (n_kept, n_targets, n_steps + 1), from no feature on
    """
    products, n = system.products, len(system.kept)
    spread = np.diagonal(products).copy()
    left, crossed = spread.copy(), system.with_targets.copy()
    factors, order = np.zeros((min(most, n), n)), list[int]()
    weights = [np.zeros((n, system.sums.n_targets))]
    while len(order) < len(factors):
        free = left > INDEPENDENT * spread
        free[order] = False
        if not free.any():
            break
        falls = np.divide((crossed**2).sum(axis=1), left, out=np.full(n, -1.0), where=free)
        entering, step = int(falls.argmax()), len(order)
        root = np.sqrt(left[entering])
        with one_thread():
            factors[step] = (products[entering] - factors[:step, entering] @ factors[:step]) / root
        left -= factors[step] ** 2
        crossed -= np.outer(factors[step], crossed[entering] / root)
        order.append(entering)
        weights.append(np.zeros_like(weights[0]))
        with one_thread():
            some = products[np.ix_(order, order)]
            weights[-1][order] = np.linalg.solve(some, system.with_targets[order])
    return np.array(order, int), np.stack(weights, axis=-1)


def padded_path(system: System, most: int) -> np.ndarray:
    """The weights of `forward_path`, (n_kept, n_targets, most + 1); where no further feature enters, the last ones."""
    weights = forward_path(system, most)[1]
    return np.pad(weights, ((0, 0), (0, 0), (0, most + 1 - weights.shape[2])), mode="edge")

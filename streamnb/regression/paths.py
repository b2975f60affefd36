"""Weights of least squares at every strength of a penalty, or with one feature after the other, without a read.

A lasso or an elastic net only sees the rows through sums of products, so rows that have the same sums have the same
weights: those of a root of G, one row a feature. Coordinate descent on G is scikit-learn's (covariance updates of
Friedman, Hastie and Tibshirani 2010), and each point is then solved exactly on the features that it chose.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import lapack
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import enet_path

from streamnb.core import messages
from streamnb.core.threads import one_thread
from streamnb.regression.systems import System
from streamnb.selection.split_intervals import standard_error

TOLERANCE, MOST_ITERATIONS = 1e-10, 10_000  # of coordinate descent
MOST_CHANGES = 10  # of the features in use for each of them, at an alpha of further grids
OPTIMAL = 1e-8  # how far the conditions of the optimum may be missed, relative to the largest product with a target
INDEPENDENT = 1e-10  # share of a column's variance that must be left beside the features in use
LEAST_L1 = 1e-3  # share of the L1 penalty for which the grid of small shares begins; glmnet's choice
RATIO, RIDGE_RATIO = 1e-3, 1e-7  # the smallest alpha of a grid, relative to the largest
COARSER = 4  # steps of further grids, whose weights take long


class Path(NamedTuple):
    """Weights of kept, scaled columns (n_kept, n_targets, n_alphas), and iterations (n_targets, n_alphas).

    `missed` (n_alphas,) is how far the conditions of the optimum are missed.
    """

    weights: np.ndarray
    n_iter: np.ndarray
    missed: np.ndarray

    def warn(self, alphas: np.ndarray) -> None:
        """Warn where coordinate descent has not converged at one of these alphas, the last ones of the path."""
        missed = self.missed[-len(alphas) :]
        if missed.max() > OPTIMAL:
            messages.warn(
                f"alpha={alphas[int(missed.argmax())]:g} has not converged: its weights miss the conditions of the "
                f"optimum by {missed.max():.1e}; columns of X nearly depend on each other, and a larger alpha has "
                "better weights"
            )


def next_alphas(system: System, l1_ratio: float, n_alphas: int, before: np.ndarray) -> np.ndarray:
    """The alphas of the first grid, or of the next one, in coarser steps from the last before to a thousandth of it."""
    if not len(before):
        return alpha_grid(system, l1_ratio, n_alphas)
    return before[-1] * np.geomspace(1.0, RATIO, max(n_alphas // COARSER, 1) + 1)[1:]


def alpha_grid(system: System, l1_ratio: float, n_alphas: int) -> np.ndarray:
    """Alphas in equal steps of the logarithm.

    They begin with the smallest for which all weights are 0; of a ridge regression, with a thousand times the mean
    variance of the columns, whatever the units of the target.
    """
    if l1_ratio > 0.0:
        largest, ratio = np.abs(system.with_targets).max(initial=0.0) / system.weight / max(l1_ratio, LEAST_L1), RATIO
    else:
        largest, ratio = np.trace(system.products) / system.weight / max(len(system.kept), 1) / LEAST_L1, RIDGE_RATIO
    largest = largest if largest > 0.0 else 1.0
    return np.geomspace(largest, largest * ratio, n_alphas)


def elastic_net(system: System, alphas: np.ndarray, l1_ratio: float, n_further: int = 0) -> Path:
    r"""Weights that minimise ``(q - 2 c'b + b'Gb) / 2 N + alpha (l1_ratio \|b\|_1 + (1 - l1_ratio) / 2 \|b\|^2)``.

    Parameters
    ----------
    system : System
    alphas : (n_alphas,), descending
    l1_ratio : float
    n_further : int
        The last so many alphas are those of further grids, where coordinate descent hardly moves. Nearly all features
        are in use there and few change their signs, so that weights are solved for instead.
    """
    n, n_targets = len(system.kept), system.sums.n_targets
    if l1_ratio == 0.0 or not n:
        weights = [_ridge(system, alpha * system.weight) for alpha in alphas]
        return Path(np.stack(weights, axis=-1), np.zeros((n_targets, len(alphas)), int), np.zeros(len(alphas)))
    rows, targets = _rows_with(system)
    paths = [_descended(system, k, rows, targets[:, k], alphas, l1_ratio, n_further) for k in range(n_targets)]
    weights, n_iter, missed = zip(*paths, strict=True)
    return Path(np.stack(weights, axis=1), np.stack(n_iter), np.max(missed, axis=0))


def _ridge(system: System, strength: float) -> np.ndarray:
    """Weights of a ridge regression, (n_kept, n_targets)."""
    matrix, unit = system.equilibrated(strength)
    right = system.with_targets * unit[:, None]
    if not len(unit):
        return right
    with one_thread():
        _, weights, failed = lapack.dposv(matrix, right)
        weights = np.linalg.lstsq(matrix, right)[0] if failed else weights
    return weights * unit[:, None]


def _rows_with(system: System) -> tuple[np.ndarray, np.ndarray]:
    """Rows, one a feature, and targets (n_kept, n_targets) of these, whose products are G and c."""
    with one_thread():
        root, failed = lapack.dpotrf(system.products, lower=0)
        if not failed:
            return np.asfortranarray(root), lapack.dtrtrs(root, system.with_targets, trans=1)[0]
        values, axes = np.linalg.eigh(system.products)  # columns depend on others
        roots = np.sqrt(np.maximum(values, 0.0))[:, None]
        turned = axes.T @ system.with_targets
        targets = np.divide(turned, roots, where=roots > 0.0, out=np.zeros_like(turned))
        return np.asfortranarray(roots * axes.T), targets


def _descended(
    system: System,
    target: int,
    rows: np.ndarray,
    targets: np.ndarray,
    alphas: np.ndarray,
    l1_ratio: float,
    n_further: int,
) -> tuple[np.ndarray, ...]:
    """The path of one target: weights (n_kept, n_alphas), iterations, and missed conditions, (n_alphas,) each."""
    products, right = system.products, np.ascontiguousarray(system.with_targets[:, target])
    targets, for_all_rows = np.ascontiguousarray(targets), alphas * system.weight / len(rows)
    known = {"precompute": products, "Xy": right, "l1_ratio": l1_ratio, "tol": TOLERANCE}
    steps = {"return_n_iter": True, "check_input": False}
    strengths = np.outer([l1_ratio, 1.0 - l1_ratio], alphas * system.weight)
    n_first = max(len(alphas) - n_further, 1)
    with one_thread():
        first = {"alphas": for_all_rows[:n_first], "max_iter": MOST_ITERATIONS}
        _, path, _, n_iter = enet_path(rows, targets, **known, **steps, **first)
        each = zip(path.T, *strengths[:, :n_first], strict=True)
        found = [_polished(products, right, rough, l1, l2) for rough, l1, l2 in each]
        for l1, l2 in zip(*strengths[:, n_first:], strict=True):
            found.append(_by_signs(products, right, found[-1], l1, l2))
        weights = np.stack(found, axis=1)
        missed = missed_conditions(products, right, weights, *strengths)
    return weights, np.append(n_iter, np.zeros(len(alphas) - n_first, int)), missed


def _polished(products: np.ndarray, right: np.ndarray, weights: np.ndarray, l1: float, l2: float) -> np.ndarray:
    """The exact weights of the features in use, if these are the right ones."""
    used = np.flatnonzero(weights)
    if not len(used):
        return weights
    signs = np.sign(weights[used])
    matrix = products[np.ix_(used, used)]
    matrix[np.diag_indices(len(used))] += l2
    _, exact, failed = lapack.dposv(matrix, right[used] - l1 * signs)
    if failed or (np.sign(exact) != signs).any():
        return weights
    out = np.zeros_like(weights)
    out[used] = exact
    before, after = (missed_conditions(products, right, one[:, None], l1, l2)[0] for one in (weights, out))
    return out if after <= before else weights


def _by_signs(products: np.ndarray, right: np.ndarray, weights: np.ndarray, l1: float, l2: float) -> np.ndarray:
    """Exact weights from those at a larger alpha: solve for the features in use, and change which are one by one.

    Weights go towards the exact ones of their signs until the first becomes 0, which leaves; where none does, the
    feature enters whose condition is missed most.
    """
    weights, signs = weights.copy(), np.sign(weights)
    least = OPTIMAL * np.abs(right).max(initial=0.0)
    for _ in range(MOST_CHANGES * len(weights)):
        used = np.flatnonzero(signs)
        matrix = products[np.ix_(used, used)]
        matrix[np.diag_indices(len(used))] += l2
        exact, failed = weights[used], 0
        if len(used):  # LAPACK takes no systems without unknowns
            _, exact, failed = lapack.dposv(matrix, right[used] - l1 * signs[used])
        if failed:
            break
        before, leaves = weights[used], exact * signs[used] < 0.0
        if leaves.any():
            shares = before[leaves] / (before[leaves] - exact[leaves])
            weights[used] = before + shares.min() * (exact - before)
            left = used[leaves][shares == shares.min()]
            weights[left], signs[left] = 0.0, 0.0
            continue
        weights[used] = exact
        slopes = right - products @ weights
        beyond = np.where(signs == 0.0, np.abs(slopes), 0.0)
        entering = int(beyond.argmax())
        if beyond[entering] <= l1 + least:
            break
        signs[entering] = np.sign(slopes[entering])
    return weights


def missed_conditions(products: np.ndarray, right: np.ndarray, weights: np.ndarray, l1: float, l2: float) -> np.ndarray:
    """How far weights (n, n_points) miss the conditions of Karush, Kuhn and Tucker, relative to the largest product."""
    slopes = right[:, None] - products @ weights - l2 * weights
    missed = np.where(weights != 0.0, np.abs(slopes - l1 * np.sign(weights)), np.maximum(np.abs(slopes) - l1, 0.0))
    return missed.max(axis=0, initial=0.0) / max(np.abs(right).max(initial=0.0), np.finfo(float).tiny)


@contextmanager
def quiet() -> Iterator[None]:
    """Leave out scikit-learn's warnings about steps: what counts are the conditions of the optimum."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


# ---- one feature after the other -------------------------------------------------------------------------------------


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
            in_use = products[np.ix_(order, order)]
            weights[-1][order] = np.linalg.solve(in_use, system.with_targets[order])
    return np.array(order, int), np.stack(weights, axis=-1)


def padded_path(system: System, most: int) -> np.ndarray:
    """The weights of `forward_path`, (n_kept, n_targets, most + 1); where no further feature enters, the last ones."""
    weights = forward_path(system, most)[1]
    return np.pad(weights, ((0, 0), (0, 0), (0, most + 1 - weights.shape[2])), mode="edge")


# ---- the choice ------------------------------------------------------------------------------------------------------


def chosen(errors: np.ndarray, rule: str) -> int:
    """The number of the alpha, of errors (n_alphas, n_folds) at descending alphas.

    "best" has the least mean error; "one_se" is the largest alpha within one standard error of it.
    """
    means = errors.mean(axis=1)
    best = int(means.argmin())
    if rule == "best":
        return best
    return int(np.flatnonzero(means <= means[best] + standard_error(errors[best]))[0])


def check_l1_ratios(given: Any) -> list[float]:
    """The shares of the L1 penalty as a list."""
    ratios = [given] if np.ndim(given) == 0 else list(given)
    for ratio in ratios:
        if isinstance(ratio, bool) or not isinstance(ratio, (int, float, np.number)) or not 0.0 <= float(ratio) <= 1.0:
            raise ValueError(f"l1_ratio={given!r} should be from 0 (ridge) to 1 (lasso), or a list of such numbers")
    if not ratios:
        raise ValueError("l1_ratio is empty; give a number from 0 (ridge) to 1 (lasso), or a list of them")
    return [float(ratio) for ratio in ratios]

"""Least squares along a penalty, or with one feature after the other, and regressions that choose among these.

A lasso or an elastic net only sees the rows through sums of products, so rows that have the same sums have the same
weights: those of a root of G, one row a feature. Coordinate descent on G is scikit-learn's (covariance updates of
Friedman, Hastie and Tibshirani 2010), and each point is then solved exactly on the features that it chose.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from scipy.linalg import lapack
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import enet_path

from streamnb.core import arguments, messages, persistence
from streamnb.core.threads import one_thread
from streamnb.estimators.parameters import keeps_parameters
from streamnb.estimators.regressor import LinearRegressor
from streamnb.estimators.target_sums import System, held_out_errors
from streamnb.selection.score_table import split_interval, standard_error, warn_of_ends

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
                f"optimum by {missed.max():.1e}; columns of X are nearly collinear, and a larger alpha helps"
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


def chosen_number(errors: np.ndarray, rule: str) -> int:
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


MOST_GRIDS = 4  # the first, and three more down to where weights still have digits
LEAD = 8  # of so many strengths that were judged, one is solved for again on the way to further ones
CLEARLY, NEGLIGIBLE = 0.99, 1e-5  # of the least error before, and of the variance of the target


@persistence.register
class ElasticNetCV(LinearRegressor):
    """Ridge, lasso or elastic net whose strength is chosen by cross-validation, all from one read of the rows.

    Weights at every strength, and the errors of the models without a fold on its rows, follow from the sums of products
    of each fold: no rows are read again. The objective is that of `ElasticNet`; ``l1_ratio=0`` is ridge, 1 the lasso.

    Parameters
    ----------
    l1_ratio : float or list of float
        From 0 to 1; of a list, the value with the smallest error.
    alphas : list of float, optional
        Strengths to try; by default `n_alphas` of them, from the smallest for which all weights are 0 down to a
        thousandth of it. For ridge, from a thousand times the mean variance of the columns down to a ten-thousandth of
        it. If the smallest is best, the grid is extended for as long as smaller ones are clearly better.
    n_alphas : int
    folds : int or (n_rows,) ints
        Number of folds, or the fold of each row; `groups` of `fit` stay together.
    rule : {"best", "one_se"}
        The strength with the least mean error, or the largest within one standard error of it.
    seed : int
        Seed of the folds.
    fit_intercept, standardize, exact
        As for `Ridge`.
    intervals : bool
        Read the rows once more, for the residuals of each fold by the model without it, so that
        ``predict(X, interval=0.9)`` has intervals.

    Attributes
    ----------
    coef_, intercept_, condition_number_, stats_, n_features_in_, feature_names_in_, encoding_, report_
        As of `Ridge`.
    alpha_, l1_ratio_ : float
        The chosen values.
    alphas_ : (n_alphas,), descending; (n_l1_ratios, n_alphas) for a list
        There are more of them if the grid was extended.
    mse_path_ : (n_alphas, n_folds), or (n_l1_ratios, n_alphas, n_folds)
        Mean squared errors on the held-out rows; of several targets, the mean of errors divided by the variances.
    coefs_path_ : (n_features, n_alphas) or (n_targets, n_features, n_alphas)
        Weights from all rows at each of the strengths, for the chosen `l1_ratio_`.
    cv_results_ : dict
        "alpha", "l1_ratio", "mean_test_score" (the mean squared error with a minus), "std_test_score" and
        "standard_error" for each point; "low_test_score" and "high_test_score" are a 95 % interval of the mean, as in
        `LinearNBCV`.
    n_iter_ : int
        Iterations of coordinate descent on all rows.

    Warns
    -----
    StreamnbWarning
        The best strength is the smallest or the largest of `alphas`, so that others may be better; or coordinate
        descent has not converged.

    Examples
    --------
    >>> import numpy as np, streamnb as snb
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> model = snb.ElasticNetCV(l1_ratio=1.0).fit(X, X[:, 0] - X[:, 1])
    >>> model.coef_.round(1), model.mse_path_.shape
    (array([ 1., -1.,  0.,  0.,  0.]), (100, 5))
    """

    @keeps_parameters
    def __init__(
        self,
        l1_ratio: Any = 0.5,
        *,
        alphas: Any = None,
        n_alphas: int = 100,
        folds: Any = 5,
        rule: str = "best",
        seed: int = 0,
        fit_intercept: bool = True,
        standardize: bool = False,
        exact: bool | str = "auto",
        intervals: bool = False,
    ):
        pass

    def _check_params(self) -> None:
        super()._check_params()
        check_l1_ratios(self.l1_ratio)
        check_choice(self.folds, self.rule, self.seed)
        if self.alphas is not None:
            descending(self.alphas)

    def _folds(self) -> Any:
        return self.folds

    def _solve(self, system: System) -> np.ndarray:
        self.stats_.check_folds(type(self).__name__)
        ratios = check_l1_ratios(self.l1_ratio)
        grids, errors = self._judged(system, ratios, [np.zeros(0)] * len(ratios), [])
        n_grids, falls = 1, self.alphas is None
        while falls and n_grids < MOST_GRIDS and _ends_best(errors) and _least(errors) > NEGLIGIBLE * _unit(system):
            further = self._judged(system, ratios, grids, errors)
            falls = _least(further[1]) < CLEARLY * _least(errors)
            if falls:
                (grids, errors), n_grids = further, n_grids + 1
        at = [chosen_number(one, self.rule) for one in errors]
        best = int(np.argmin([one[k].mean() for one, k in zip(errors, at, strict=True)]))
        self.l1_ratio_, self.alpha_ = ratios[best], float(grids[best][at[best]])
        several = np.ndim(self.l1_ratio) > 0
        self.alphas_, self.mse_path_ = (np.stack(part) if several else part[0] for part in (grids, errors))
        alphas, of_grids = np.concatenate(grids), np.repeat(ratios, [len(grid) for grid in grids])
        self.cv_results_ = ScoredPoints.of({"alpha": alphas, "l1_ratio": of_grids}, np.concatenate(errors))
        with quiet():
            n_further = 0 if self.alphas is not None else len(grids[best]) - self.n_alphas
            path = elastic_net(system, grids[best], self.l1_ratio_, n_further)
        path.warn(grids[best])
        if self.alphas is not None or (falls and n_grids == MOST_GRIDS):
            points = [{"alpha": alpha} for alpha in grids[best]]
            largest = np.inf if path.weights[:, :, 0].any() else grids[best][0]  # of others all weights are 0, too
            end, limits = int(errors[best].mean(axis=1).argmin()), {"alpha": (0.0, largest)}
            warn_of_ends(points, -errors[best], end, {"alpha": "alphas"}, limits, cautious=False)
        coefficients = system.coefficients(path.weights)
        self.coefs_path_ = coefficients[:, 0] if system.sums.n_targets == 1 else coefficients.transpose(1, 0, 2)
        self.n_iter_ = int(path.n_iter[:, at[best]].max(initial=0))
        return path.weights[:, :, at[best]]

    def _penalties(self) -> tuple[float, float]:
        return self.alpha_ * (1.0 - self.l1_ratio_), self.alpha_ * self.l1_ratio_

    def _as_chosen(self, system: System) -> np.ndarray:
        of_ratio = check_l1_ratios(self.l1_ratio).index(self.l1_ratio_)
        alphas = np.atleast_2d(self.alphas_)[of_ratio]
        with quiet():
            return elastic_net(system, alphas[alphas >= self.alpha_], self.l1_ratio_).weights[:, :, -1]

    def _judged(
        self, system: System, ratios: list[float], before: list[np.ndarray], errors: list[np.ndarray]
    ) -> tuple[list[np.ndarray], list[np.ndarray]]:
        """The strengths for each `l1_ratio`, going on from those `before`, and their errors by fold."""
        grids, judged = [], []
        for number, (ratio, known) in enumerate(zip(ratios, before, strict=True)):
            given = None if self.alphas is None else descending(self.alphas)
            more = next_alphas(system, ratio, self.n_alphas, known) if given is None else given
            lead = np.arange(len(known) - 1, -1, -LEAD)[::-1]  # of strengths through which weights come there
            n_further = int(np.count_nonzero(lead >= self.n_alphas)) + len(more) if len(known) else 0
            along = np.append(known[lead], more)
            weights_of = partial(_path_weights, alphas=along, l1_ratio=ratio, n_further=n_further)
            with quiet():
                of_targets = held_out_errors(
                    self.stats_, weights_of, system.intercept, system.standardize, self._n_threads
                )
            of_more = relative(of_targets, system)[len(along) - len(more) :]
            grids.append(np.append(known, more))
            judged.append(np.concatenate([errors[number], of_more]) if errors else of_more)
        return grids, judged


def _least(errors: list[np.ndarray]) -> float:
    """The least mean error at any strength."""
    return min(float(one.mean(axis=1).min()) for one in errors)


def _ends_best(errors: list[np.ndarray]) -> bool:
    """Whether the least mean error is at the smallest strength."""
    return any(one.mean(axis=1)[-1] == _least(errors) for one in errors)


def _unit(system: System) -> float:
    """What errors are measured in: the variance of the target; of several, errors are relative."""
    return 1.0 if system.sums.n_targets > 1 else float(system.target_variances[0])


def _path_weights(system: System, alphas: np.ndarray, l1_ratio: float, n_further: int) -> np.ndarray:
    return elastic_net(system, alphas, l1_ratio, n_further).weights


def check_choice(folds: Any, rule: Any, seed: Any) -> None:
    """Raise for folds, a rule or a seed that are wrong for any rows."""
    arguments.one_of("rule", rule, ["best", "one_se"])
    arguments.whole_number("seed", seed)
    if folds is None:
        raise ValueError("folds=None leaves nothing to choose by; give a number of folds, or the fold of each row")


def descending(alphas: Any) -> np.ndarray:
    """Given strengths, largest first."""
    strengths = np.atleast_1d(arguments.as_array("alphas", alphas))
    numeric = strengths.ndim == 1 and strengths.size > 0 and strengths.dtype.kind in "iuf"
    if not numeric or not (np.isfinite(strengths) & (strengths > 0.0)).all():
        raise ValueError(f"alphas={alphas!r} should be numbers above 0")
    return np.unique(strengths.astype(np.float64))[::-1].copy()


def relative(errors: np.ndarray, system: System) -> np.ndarray:
    """Errors (n_targets, n_points, n_folds) as one table: of several targets, the mean of those per variance."""
    if len(errors) == 1:
        return errors[0]
    variances = system.target_variances
    return (errors / np.where(variances > 0.0, variances, 1.0)[:, None, None]).mean(axis=0)


class ScoredPoints(dict[str, np.ndarray]):
    """The points that were judged on folds, with scores as of all CV forms; knows the names of version 0.3."""

    @classmethod
    def of(cls, points: dict[str, np.ndarray], errors: np.ndarray) -> Self:
        """The scores of points by their errors on each fold, (n_points, n_folds)."""
        n_folds = errors.shape[1]
        low, high = split_interval(-errors, n_folds)
        spread = errors.std(axis=1, ddof=1) if n_folds > 1 else np.zeros(len(errors))
        scores = {"mean_test_score": -errors.mean(axis=1), "std_test_score": errors.std(axis=1)}
        scores["standard_error"] = spread / np.sqrt(n_folds)
        return cls(**points, **scores, low_test_score=low, high_test_score=high)

    def __missing__(self, name: str) -> np.ndarray:
        former = {
            "mean_test_error": lambda: -self["mean_test_score"],
            "std_test_error": lambda: np.hypot(self["std_test_score"], self["standard_error"]),
            "low_test_error": lambda: -self["high_test_score"],
            "high_test_error": lambda: -self["low_test_score"],
        }
        if name not in former:
            raise KeyError(name)
        instead = f"{name.removesuffix('error')}score"
        warnings.warn(f"cv_results_ has {instead!r} now, of which more is better, not {name!r}", FutureWarning, 2)
        return former[name]()

    def get(self, name: str, default: Any = None) -> Any:
        """As of other mappings, also by the names of version 0.3."""
        try:
            return self[name]
        except KeyError:
            return default


@persistence.register
class ForwardRegression(LinearRegressor):
    """Least squares on a few features, chosen one by one: each step adds the one that reduces the squared error most.

    All models from no feature to `n_nonzero_coefs` of them, and their errors on each fold, follow from one read of the
    rows. Weights of features in use are those of plain least squares; the others are 0 (an L0 penalty, greedily).

    Parameters
    ----------
    n_nonzero_coefs : int, optional
        The number of features; by default it is chosen by cross-validation, up to `max_features`.
    max_features : int
        The largest number that cross-validation tries.
    folds, rule, seed
        As for `ElasticNetCV`; "one_se" takes the fewest features within one standard error of the best.
    fit_intercept, exact
        As for `Ridge`.
    intervals : bool
        As for `ElasticNetCV`, where the number is chosen by cross-validation.

    Attributes
    ----------
    coef_, intercept_, condition_number_, stats_, n_features_in_, feature_names_in_, encoding_, report_
        As of `Ridge`.
    n_nonzero_coefs_ : int
    order_ : (n_nonzero_coefs,) int
        The numbers of the features, in the order in which they entered.
    mse_path_ : (n_steps + 1, n_folds)
        Mean squared errors on held-out rows with 0, 1, .. features, where they were chosen by cross-validation.

    Examples
    --------
    >>> import numpy as np, streamnb as snb
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> model = snb.ForwardRegression(2).fit(X, 3.0 * X[:, 2] - X[:, 4])
    >>> model.order_.tolist(), model.coef_.round(6).tolist()
    ([2, 4], [0.0, 0.0, 3.0, 0.0, -1.0])
    """

    @keeps_parameters
    def __init__(
        self,
        n_nonzero_coefs: int | None = None,
        *,
        max_features: int = 100,
        folds: Any = 5,
        rule: str = "best",
        seed: int = 0,
        fit_intercept: bool = True,
        exact: bool | str = "auto",
        intervals: bool = False,
    ):
        pass

    def _check_params(self) -> None:
        super()._check_params()
        check_choice(self.folds, self.rule, self.seed)
        if self.n_nonzero_coefs is not None and self.intervals:
            raise ValueError("intervals=True needs a number chosen on folds; with n_nonzero_coefs use calibrate")

    def _folds(self) -> Any:
        return self.folds if self.n_nonzero_coefs is None else None

    def _solve(self, system: System) -> np.ndarray:
        n_features = system.n_features
        if self.n_nonzero_coefs is not None:
            if self.n_nonzero_coefs > n_features:
                raise ValueError(f"n_nonzero_coefs={self.n_nonzero_coefs} should be at most the {n_features} features")
            most = self.n_nonzero_coefs
        else:
            self.stats_.check_folds(type(self).__name__)
            most = min(self.max_features, n_features)
            weights_of = partial(padded_path, most=most)
            errors = held_out_errors(self.stats_, weights_of, system.intercept, False, self._n_threads)
            self.mse_path_ = relative(errors, system)
            most = chosen_number(self.mse_path_, self.rule)  # the first are the simplest, as of alphas
        order, weights = forward_path(system, most)
        self.n_nonzero_coefs_, self.order_ = len(order), system.kept[order]
        return weights[:, :, -1]

    def _as_chosen(self, system: System) -> np.ndarray:
        return forward_path(system, self.n_nonzero_coefs_)[1][:, :, -1]

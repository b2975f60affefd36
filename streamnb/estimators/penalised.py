"""Ridge, Lasso and ElasticNet, each from one read of the rows, or from a few reads of wide rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import add
from typing import Annotated, Any, Self

import numpy as np
from scipy import stats
from scipy.optimize import minimize_scalar

from streamnb.core import arguments, memory, messages, persistence, row_checks
from streamnb.core.frames import pandas_for
from streamnb.core.threads import one_thread
from streamnb.estimators.chosen import alpha_grid, check_l1_ratios, elastic_net, quiet
from streamnb.estimators.regressor import LinearRegressor
from streamnb.estimators.target_sums import System, checked_targets, targets_of
from streamnb.passes.contract import Reading, ReadRequest, Report, RunOptions
from streamnb.passes.passes import StatisticTask
from streamnb.passes.statistic import Statistic
from streamnb.rows.preparing import RowOptions, prepared_block
from streamnb.rows.row_blocks import Block
from streamnb.rows.source import Source
from streamnb.solving.data import TrainingData, TrainingRows
from streamnb.solving.descent import Penalties
from streamnb.solving.learner import train_alone
from streamnb.solving.least_squares import ConjugateGradients
from streamnb.solving.method import Trained
from streamnb.solving.objectives import MOMENTS, LeastSquares, RowSums, scale_by_deviation
from streamnb.solving.reading import ReadSums, ReadTask
from streamnb.stats.accumulating import Accumulator

MOST_ROUNDING = 1e-6  # of degrees of freedom
GRID = np.linspace(-30.0, 30.0, 121)  # logs of strengths, relative to the mean eigenvalue, that are tried first


def evidence(system: System, strength: float) -> float:
    """Log probability of the targets, weights integrated out and the noise of each target at its most probable."""
    n = system.weight - (1.0 if system.intercept else 0.0)
    if n <= 0.0:
        raise ValueError(f"{system.weight:g} rows are too few for an evidence")
    if strength <= 0.0:
        return -np.inf
    inverse, log_determinant = system.inverse(strength)
    with one_thread():
        weights = inverse @ system.with_targets
    coefficients = system.coefficients(weights)
    # as a sum of squares, which cancels less than q - c'b
    left = system.squared_errors(coefficients, system.intercepts(coefficients)) + strength * (weights**2).sum(axis=0)
    noise = np.maximum(left, np.finfo(float).tiny) / n
    shrunk = log_determinant - len(weights) * np.log(strength)
    return float(-0.5 * (n * np.log(2.0 * np.pi * noise) + n + shrunk).sum())


def most_evident(system: System) -> float:
    """The strength with the largest evidence."""
    if not len(system.kept):
        return 1.0
    middle = np.log(np.diagonal(system.products).mean())

    def against(log: float) -> float:
        return -evidence(system, float(np.exp(middle + log)))

    costs = [against(log) for log in GRID]
    best = int(np.argmin(costs))
    if best in (0, len(GRID) - 1):
        side = "smallest, 0 in effect" if best == 0 else "largest: X hardly predicts y"
        messages.warn(f"alpha='evidence' takes the {side}; the evidence has no maximum in between")
    low, high = GRID[max(best - 1, 0)], GRID[min(best + 1, len(GRID) - 1)]
    return float(np.exp(middle + minimize_scalar(against, bounds=(low, high), method="bounded").x))


def summary_of(
    system: System, strength: float, fitted: tuple[np.ndarray, np.ndarray], names: list[str], confidence: float
) -> Any:
    """A data frame of weights with standard errors, t statistics, p-values and intervals.

    `fitted` are the weights (n_features, n_targets) and the intercepts (n_targets,).
    """
    pd, n_rows, n_targets = pandas_for("summary"), system.weight, system.sums.n_targets
    inverse, _ = system.inverse(strength)
    with one_thread():
        shrunk = inverse @ system.products
        covariance = shrunk @ inverse
    freedom = n_rows - float(np.trace(shrunk)) - (1.0 if system.intercept else 0.0)
    if freedom < MOST_ROUNDING:
        raise ValueError(f"{n_rows:g} rows are too few for the standard errors of {len(inverse)} weights")
    coefficients, intercepts = fitted
    noise = system.squared_errors(coefficients, intercepts) / freedom
    variances = np.full(system.n_features, np.nan)
    variances[system.kept] = np.diagonal(covariance) / system.scale**2
    means = system.means[system.kept] / system.scale
    of_intercept = 1.0 / n_rows + means @ covariance @ means if system.intercept else np.nan
    frames = []
    for k in range(n_targets):
        weights = np.append(intercepts[k], coefficients[:, k])
        errors = np.sqrt(noise[k] * np.append(of_intercept, variances))
        with np.errstate(invalid="ignore", divide="ignore"):
            t = weights / errors
        half = stats.t.ppf(0.5 + 0.5 * confidence, freedom) * errors
        columns = {"feature": ["(intercept)", *names], "weight": weights, "standard_error": errors, "t": t}
        columns |= {"p": 2.0 * stats.t.sf(np.abs(t), freedom), "lower": weights - half, "upper": weights + half}
        frames.append(pd.DataFrame(columns if n_targets == 1 else {"target": k, **columns}))
    return pd.concat(frames, ignore_index=True)


N_ARRAYS = 10  # as large as the weights
ONE_CLASS = np.zeros(1, np.int64)


@dataclass(eq=False)
class WideSums(Statistic):
    """Sums over rows of features, and of features times targets.

    Attributes
    ----------
    features : ClassStats
        Of one class, with the moments of training.
    products : ClassStats
        Sums of x abs(y) for each target by the sign of y: class 2 k of target k has those above 0, class 2 k + 1 those
        below. So each is a sum with weights, which is exact.
    n_targets : int
    """

    features: Annotated[Any, add]  # an Accumulator as long as rows are added
    products: Annotated[Any, add]
    n_targets: Annotated[int, max] = 0
    title = "scan"

    @classmethod
    def asked(cls, memory_limit: int | None = None) -> Self:
        """The sums of no rows, to which rows are added."""
        features = Accumulator(MOMENTS, RowOptions(), ONE_CLASS, memory_limit=memory_limit, together=MOMENTS[1:])
        return cls(features, Accumulator(("sum",), RowOptions(), None, memory_limit=memory_limit))

    def add_block(self, block: Block) -> None:
        (chunk, survey), y = prepared_block(block, RowOptions()), targets_of(block)
        self.n_targets = checked_targets(y.shape[1], self.n_targets)
        self.features.add(chunk, survey, np.zeros(len(y), np.int64), block.weight)
        weight = 1.0 if block.weight is None else block.weight
        for k, target in enumerate(y.T):
            self.products.add(chunk, survey, 2 * k + (target < 0.0), np.abs(target) * weight)

    def ended(self, report: Report) -> WideSums:
        row_checks.check_min_size(report.rows, 1)
        row_checks.check_total_weight(self.features.total_weight)
        return self

    @property
    def nbytes(self) -> int:
        """Bytes of the tables: 0 until there are any, so that no thread joins before it is known how large they are."""
        return self.features.nbytes + self.products.nbytes

    def about(self) -> dict[str, str]:
        return {"the task": "WideScan"}  # as older checkpoints call it

    @property
    def signs(self) -> np.ndarray:
        """1 and -1 for each target and class, (n_targets, n_classes)."""
        classes = self.products.classes
        signs = np.where(classes % 2 == 0, 1.0, -1.0)
        return np.where(classes // 2 == np.arange(self.n_targets)[:, None], signs, 0.0)


@dataclass(frozen=True, eq=False)
class TargetRead(ReadTask):
    """A read along directions, which targets do not matter to."""

    def add(self, partial: ReadSums, block: Block) -> None:
        super().add(partial, replace(block, y=np.zeros(block.n_rows, np.int64)))


def _check_memory(n: int, n_targets: int, options: RunOptions) -> None:
    cure = "give a larger memory_limit, or fewer targets or columns"
    what = f"weights of {n:,} features for {n_targets:,} targets"
    memory.check(what, 8.0 * N_ARRAYS * (n + 1) * n_targets, options.memory_limit, cure)


def fit_wide(
    rows: Source, alpha: float, standardize: bool, tol: float, max_passes: int, options: RunOptions
) -> Reading[tuple[np.ndarray, np.ndarray, Trained, Report]]:
    """Fit a ridge regression of wide rows, whose products of columns would not fit into memory, in a few reads.

    One scan sums the features, and the features times the targets; the weights then follow by the block conjugate
    gradients of classes (`solving/conjugate`), each read of which moves all targets to the best point in the span of
    all directions. Where these take many reads, one more sums the products of the most frequent columns, which are then
    solved for together. Rows are kept where `options` say so.

    Returns coefficients (n_features, n_targets), intercepts (n_targets,), how training went, and the report of all
    reads.
    """
    rows = options.kept(rows)
    if rows.n_features is not None:
        _check_memory(rows.n_features, 1, options)
    scan = StatisticTask(WideSums.asked(options.memory_limit))
    sums, report = yield ReadRequest(scan, rows, options.of_pass("scan"))
    stats, n, n_targets = sums.features, sums.features.n_features, sums.n_targets
    _check_memory(n, n_targets, options)
    means, row_sums = sums.signs @ sums.products.weight / stats.total_weight, RowSums.of(stats)
    # as of classes with half of the weight each: the gradient at the start, 2 (whole / 2 - own), is that of the targets
    with_targets = (sums.signs @ sums.products.sum).T
    own = 0.5 * (with_targets - np.outer(row_sums.whole, means) + row_sums.whole[:, None])
    row_sums = replace(row_sums, cells=own, own_weight=np.full(n_targets, 0.5 * row_sums.weight))
    scale = scale_by_deviation(row_sums) if standardize else None
    task = TargetRead.at_zero(LeastSquares(), stats.options, ONE_CLASS, (n, n_targets))
    training = TrainingRows.of(stats, rows, options, None, True)
    data = TrainingData(task, row_sums, scale)
    data = data if training.features is None else data.of_features(training.features)
    trainer = ConjugateGradients(data, Penalties(alpha, 0.0), tol, max_passes)
    trained, of_reads = yield from train_alone(trainer, training, options, True)
    weights = data.of_model(trained.weights, n)[:-1]
    coefficients = weights if scale is None else weights * scale[:, None]
    intercepts = means - row_sums.whole / row_sums.weight @ coefficients
    if not trained.converged:
        messages.warn(
            f"conjugate gradients have not converged after max_passes={max_passes} reads: the gradient is "
            f"{trained.left:.1e} of that at the start (tol={tol:g}); more reads, or a larger alpha, come closer"
        )
    return coefficients, intercepts, trained, report + of_reads


EVIDENCE, GRADIENTS = "evidence", "conjugate_gradients"
MOST_COLUMNS = 4096  # whose products are summed unless asked otherwise
STEPS = 20  # strengths through which coordinate descent comes to the one that was asked for


@persistence.register
class Ridge(LinearRegressor):
    r"""Least squares with an L2 penalty, fitted in one read of any number of rows; ``alpha=0`` is plain least squares.

    Minimises ``sum_i w_i (y_i - b x_i - b_0)^2 + alpha \|b\|^2``, the objective of scikit-learn's Ridge. Rows are read
    once, for the sums of products of features and targets (`stats_`). From these, `refit` computes the weights for any
    other `alpha`. `partial_fit` adds rows and `forget` removes them.

    Parameters
    ----------
    alpha : float or "evidence"
        Strength of the penalty; "evidence": the one under which the targets are most probable (MacKay 1992).
    fit_intercept : bool
    standardize : bool
        Penalise the weights of features divided by their standard deviations; `coef_` is for X as it is given.
    exact : "auto" or bool
        Sum products without any rounding, for nearly collinear columns; it takes three to eight times as long. "auto"
        does so where that takes less than a second. Otherwise sums are rounded to float64 once per 2,048 rows.
    solver : {"auto", "products", "conjugate_gradients"}
        "products" reads once, and keeps 8 n (n + 1) bytes of sums for n columns. "conjugate_gradients" is for wide
        sparse rows: it reads them a few times and keeps no sums, so another `alpha` or more rows need another fit.
        "auto" takes it for more than 4,096 columns. After 16 reads it also sums products of the 512 most frequent
        columns and solves for these jointly, which takes 2 MB and about as long as a few dozen reads.
    tol : float
        Conjugate gradients stop when the gradient is this small, relative to the start.
    max_passes : int
        The largest number of reads by conjugate gradients.

    Attributes
    ----------
    coef_ : (n_features,) or (n_targets, n_features)
    intercept_ : float or (n_targets,)
    alpha_ : float
        The strength that was used.
    condition_number_ : float
        Of the centred columns, each scaled to length 1: about ``log10(condition_number_ ** 2)`` of 16 digits are lost,
        of 32 with ``exact=True``.
    stats_ : TargetSums
    n_passes_ : int
        Reads by conjugate gradients after the scan; 0 with products. `converged_` says whether they reached `tol`.
    n_features_in_, feature_names_in_, encoding_, report_
        As of `LinearNB`.

    Examples
    --------
    >>> import streamnb as snb
    >>> model = snb.Ridge(alpha=0.0).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> model.predict([[3.0]]).round(6), round(float(model.coef_[0]), 6)
    (array([7.]), 2.0)
    """

    def __init__(
        self,
        alpha: Any = 1.0,
        *,
        fit_intercept: bool = True,
        standardize: bool = False,
        exact: bool | str = "auto",
        solver: str = "auto",
        tol: float = 1e-6,
        max_passes: int = 100,
    ):
        self.alpha, self.fit_intercept, self.standardize, self.exact = alpha, fit_intercept, standardize, exact
        self.solver, self.tol, self.max_passes = solver, tol, max_passes

    def _check_params(self) -> None:
        super()._check_params()
        arguments.one_of("solver", self.solver, ["auto", "products", GRADIENTS])
        if not isinstance(self.alpha, str):
            arguments.finite_number("alpha", self.alpha, minimum=0.0)
        elif self.alpha != EVIDENCE:
            raise ValueError(f"alpha={self.alpha!r} should be a number of at least 0, or {EVIDENCE!r}")

    def _is_wide(self, rows: Source) -> bool:
        wide = self.solver == "auto" and rows.n_features is not None and rows.n_features > MOST_COLUMNS
        if not wide and self.solver != GRADIENTS:
            return False
        needs_products = {"alpha": EVIDENCE, "exact": True, "fit_intercept": False}
        for name, value in needs_products.items():
            if getattr(self, name) == value:
                raise ValueError(
                    f"{name}={value!r} needs sums of products, and these columns are fitted by conjugate gradients: "
                    "give another value, or solver='products'"
                )
        return True

    def _fit_wide(self, rows: Source, options: RunOptions) -> Reading[None]:
        self.alpha_ = float(self.alpha)
        coefficients, intercepts, trained, self.report_ = yield from fit_wide(
            rows, self.alpha_, self.standardize, self.tol, self.max_passes, options
        )
        self._set_weights(coefficients, intercepts)
        self.n_features_in_ = len(coefficients)
        self.n_passes_, self.converged_ = len(trained.history["seconds"]), trained.converged

    def _solve(self, system: System) -> np.ndarray:
        self.n_passes_, self.converged_ = 0, True
        self.alpha_ = most_evident(system) if isinstance(self.alpha, str) else float(self.alpha)
        return system.ridge(self.alpha_, self._name_of)

    def _penalties(self) -> tuple[float, float]:
        return self.alpha_ / self.stats_.total_weight, 0.0

    def log_evidence(self) -> float:
        """Log probability of the targets under `alpha_`, their weights and noise integrated out or fitted.

        Weights are normal with variance ``s^2 / alpha_``, the noise normal with variance s^2, which is the most
        probable one (MacKay 1992); targets are independent. -inf without a penalty.
        """
        return evidence(self._system(), self.alpha_)

    def summary(self, confidence: float = 0.95) -> Any:
        """Weights with standard errors, t statistics, p-values and intervals.

        For given features and independent normal errors of one variance s^2, estimated with ``N - df`` degrees of
        freedom: the covariance is ``s^2 (G + alpha I)^-1 G (G + alpha I)^-1`` (Hoerl and Kennard 1970), and df the
        trace of ``G (G + alpha I)^-1``, plus 1 for the intercept. With a penalty, intervals are of the shrunken
        weights, whose bias they do not cover. Weights of rows count as frequencies.

        Parameters
        ----------
        confidence : float

        Returns
        -------
        pandas.DataFrame
            With the columns "feature", "weight", "standard_error", "t", "p", "lower" and "upper", and "target" where
            there are several; "(intercept)" first.
        """
        names = [self._name_of(j) for j in range(self.n_features_in_)]
        return summary_of(self._system(), self.alpha_, self._weights, names, arguments.share("confidence", confidence))


@persistence.register
class ElasticNet(LinearRegressor):
    r"""Least squares with an L1 and an L2 penalty, which set weights to 0 and shrink the others; fitted in one read.

    Minimises, with N the total weight,

        sum_i w_i (y_i - b x_i - b_0)^2 / 2 N + alpha (l1_ratio \|b\|_1 + (1 - l1_ratio) / 2 \|b\|^2),

    the objective of scikit-learn's ElasticNet, for each target by itself. Rows are read once, as by `Ridge`.

    Parameters
    ----------
    alpha : float
        Strength of the penalties.
    l1_ratio : float
        From 0, ridge, to 1, lasso.
    fit_intercept, standardize, exact
        As for `Ridge`.

    Attributes
    ----------
    coef_, intercept_, condition_number_, stats_, n_features_in_, feature_names_in_, encoding_, report_
        As of `Ridge`.
    n_iter_ : int or (n_targets,)
        Iterations of coordinate descent.

    Examples
    --------
    >>> import streamnb as snb
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0]], [0.0, 2.0, 4.0, 6.0]
    >>> snb.ElasticNet(alpha=0.1, l1_ratio=0.9).fit(X, y).coef_.round(2)
    array([1.91, 0.  ])
    """

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        l1_ratio: float = 0.5,
        fit_intercept: bool = True,
        standardize: bool = False,
        exact: bool | str = "auto",
    ):
        self.alpha, self.l1_ratio = alpha, l1_ratio
        self.fit_intercept, self.standardize, self.exact = fit_intercept, standardize, exact

    def _check_params(self) -> None:
        super()._check_params()
        arguments.finite_number("alpha", self.alpha, minimum=0.0)
        if np.ndim(self.l1_ratio):
            raise ValueError(f"l1_ratio={self.l1_ratio!r} should be one number; ElasticNetCV chooses among several")
        check_l1_ratios(self.l1_ratio)

    def _penalties(self) -> tuple[float, float]:
        return self.alpha * (1.0 - self.l1_ratio), self.alpha * self.l1_ratio

    def _solve(self, system: System) -> np.ndarray:
        n_iter, l1_ratio = np.zeros(system.sums.n_targets, int), float(self.l1_ratio)
        if self.alpha == 0.0 or l1_ratio == 0.0:
            weights = system.ridge(self.alpha * system.weight, self._name_of)
        else:
            grid = alpha_grid(system, l1_ratio, STEPS)
            with quiet():  # from few features to many
                path = elastic_net(system, np.append(grid[grid > self.alpha], self.alpha), l1_ratio)
            path.warn(np.array([self.alpha]))
            weights, n_iter = path.weights[:, :, -1], path.n_iter.sum(axis=1)
        self.n_iter_ = int(n_iter[0]) if len(n_iter) == 1 else n_iter
        return weights


@persistence.register
class Lasso(ElasticNet):
    r"""Least squares with an L1 penalty, which sets weights to 0; fitted in one read.

    `ElasticNet` with ``l1_ratio=1``; the objective is that of scikit-learn's Lasso.

    Parameters
    ----------
    alpha : float
        Strength of the penalty.
    fit_intercept, standardize, exact
        As for `Ridge`.

    Attributes
    ----------
    coef_, intercept_, n_iter_, condition_number_, stats_, n_features_in_, feature_names_in_, encoding_, report_
        As of `ElasticNet`.

    Examples
    --------
    >>> import streamnb as snb
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [3.0, 0.0]], [0.0, 2.0, 4.0, 6.0]
    >>> snb.Lasso(alpha=0.1).fit(X, y).coef_.round(2)
    array([1.92, 0.  ])
    """

    def __init__(
        self, alpha: float = 1.0, *, fit_intercept: bool = True, standardize: bool = False, exact: bool | str = "auto"
    ):
        self.alpha, self.fit_intercept, self.standardize, self.exact = alpha, fit_intercept, standardize, exact

    @property
    def l1_ratio(self) -> float:  # type: ignore[override]
        """1: all of the penalty is L1."""
        return 1.0

"""Ridge, Lasso and ElasticNet, each from one read of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from streamnb.core import arguments, persistence
from streamnb.passes.contract import Reading, RunOptions
from streamnb.regression import paths
from streamnb.regression.inference import evidence, most_evident, summary_of
from streamnb.regression.regressor import LinearRegressor
from streamnb.regression.systems import System
from streamnb.regression.wide import fit_wide
from streamnb.rows.source import Source

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
        "auto" takes it for more than 4,096 columns. After 16 reads it also sums products of the 512 columns that most
        rows have, and solves for these together, which takes 2 MB and about as long as a few dozen reads.
    tol : float
        Conjugate gradients end when the gradient is this small, relative to the start.
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
        arguments.number_above_0("tol", self.tol)
        arguments.positive_integer("max_passes", self.max_passes)
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
        paths.check_l1_ratios(self.l1_ratio)

    def _penalties(self) -> tuple[float, float]:
        return self.alpha * (1.0 - self.l1_ratio), self.alpha * self.l1_ratio

    def _solve(self, system: System) -> np.ndarray:
        n_iter, l1_ratio = np.zeros(system.sums.n_targets, int), float(self.l1_ratio)
        if self.alpha == 0.0 or l1_ratio == 0.0:
            weights = system.ridge(self.alpha * system.weight, self._name_of)
        else:
            grid = paths.alpha_grid(system, l1_ratio, STEPS)
            with paths.quiet():  # from few features to many
                path = paths.elastic_net(system, np.append(grid[grid > self.alpha], self.alpha), l1_ratio)
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

"""Ridge, Lasso, ElasticNet and their choice by cross-validation, each from one read of the rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from streamnb.core import arguments, persistence
from streamnb.regression import paths
from streamnb.regression.inference import evidence, most_evident, summary_of
from streamnb.regression.regressor import LinearRegressor
from streamnb.regression.systems import System

EVIDENCE = "evidence"
STEPS = 20  # strengths through which coordinate descent comes to the one that was asked for


@persistence.register
class Ridge(LinearRegressor):
    r"""Least squares with an L2 penalty, fitted in one read of rows of any number; ``alpha=0`` is plain least squares.

    Minimises ``sum_i w_i (y_i - b x_i - b_0)^2 + alpha \|b\|^2``, the objective of scikit-learn's Ridge. Rows are read
    once, for the sums of products of features and targets (`stats_`); weights for any other `alpha` follow from these
    with `refit`, rows are added with `partial_fit`, and taken away with `forget`.

    Parameters
    ----------
    alpha : float or "evidence"
        Strength of the penalty; "evidence" takes the one under which the targets are most probable (MacKay 1992).
    fit_intercept : bool
    standardize : bool
        Let `alpha` penalise weights of features divided by their standard deviations; `coef_` is of X as it was given.
    exact : bool
        Sum products without any rounding, for columns that nearly depend on each other; it takes three to eight times
        as long. Otherwise they are rounded once per 2,048 rows, in float64.

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
    n_features_in_, feature_names_in_, encoding_, report_
        As of `LinearNB`.

    Examples
    --------
    >>> import streamnb as snb
    >>> model = snb.Ridge(alpha=0.0).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> model.predict([[3.0]]).round(6), round(float(model.coef_[0]), 6)
    (array([7.]), 2.0)
    """

    def __init__(self, alpha: Any = 1.0, *, fit_intercept: bool = True, standardize: bool = False, exact: bool = False):
        self.alpha, self.fit_intercept, self.standardize, self.exact = alpha, fit_intercept, standardize, exact

    def _check_params(self) -> None:
        super()._check_params()
        if not isinstance(self.alpha, str):
            arguments.finite_number("alpha", self.alpha, minimum=0.0)
        elif self.alpha != EVIDENCE:
            raise ValueError(f"alpha={self.alpha!r} should be a number of at least 0, or {EVIDENCE!r}")

    def _solve(self, system: System) -> np.ndarray:
        self.alpha_ = most_evident(system) if isinstance(self.alpha, str) else float(self.alpha)
        return system.ridge(self.alpha_, self._name_of)

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
        return summary_of(self._system(), self.alpha_, names, arguments.share("confidence", confidence))

    def _system(self) -> System:
        return System(self.stats_, self.fit_intercept, self.standardize)


@persistence.register
class ElasticNet(LinearRegressor):
    r"""Least squares with penalties that leave weights at 0 and shrink the others, fitted in one read.

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
    array([1.92, 0.  ])
    """

    def __init__(
        self,
        alpha: float = 1.0,
        *,
        l1_ratio: float = 0.5,
        fit_intercept: bool = True,
        standardize: bool = False,
        exact: bool = False,
    ):
        self.alpha, self.l1_ratio = alpha, l1_ratio
        self.fit_intercept, self.standardize, self.exact = fit_intercept, standardize, exact

    def _check_params(self) -> None:
        super()._check_params()
        arguments.finite_number("alpha", self.alpha, minimum=0.0)
        if np.ndim(self.l1_ratio):
            raise ValueError(f"l1_ratio={self.l1_ratio!r} should be one number; ElasticNetCV chooses among several")
        paths.check_l1_ratios(self.l1_ratio)

    def _solve(self, system: System) -> np.ndarray:
        weights, self.n_iter_ = _at_alpha(self, system, float(self.l1_ratio))
        return weights


@persistence.register
class Lasso(LinearRegressor):
    r"""Least squares with an L1 penalty, which leaves weights at 0, fitted in one read.

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
        self, alpha: float = 1.0, *, fit_intercept: bool = True, standardize: bool = False, exact: bool = False
    ):
        self.alpha, self.fit_intercept, self.standardize, self.exact = alpha, fit_intercept, standardize, exact

    def _check_params(self) -> None:
        super()._check_params()
        arguments.finite_number("alpha", self.alpha, minimum=0.0)

    def _solve(self, system: System) -> np.ndarray:
        weights, self.n_iter_ = _at_alpha(self, system, 1.0)
        return weights


def _at_alpha(self: Any, system: System, l1_ratio: float) -> tuple[np.ndarray, Any]:
    """The weights of an elastic net at `alpha`, and the iterations that they took."""
    n_iter = np.zeros(system.sums.n_targets, int)
    if self.alpha == 0.0 or l1_ratio == 0.0:
        weights = system.ridge(self.alpha * system.weight, self._name_of)
    else:
        grid = paths.alpha_grid(system, l1_ratio, STEPS)
        with paths.quiet():  # from few features to many
            path = paths.elastic_net(system, np.append(grid[grid > self.alpha], self.alpha), l1_ratio)
        weights, n_iter = path.weights[:, :, -1], path.n_iter.sum(axis=1)
    return weights, int(n_iter[0]) if len(n_iter) == 1 else n_iter


@persistence.register
class ElasticNetCV(LinearRegressor):
    """Ridge, lasso or elastic net whose strength is chosen by cross-validation, all from one read of the rows.

    Weights at every strength, and the errors on each fold of the models without it, follow from the sums of products
    of each fold: nothing is read again. The objective is that of `ElasticNet`; ``l1_ratio=0`` is ridge, 1 the lasso.

    Parameters
    ----------
    l1_ratio : float or list of float
        From 0 to 1; of several, the one with the smallest error is taken.
    alphas : list of float, optional
        Strengths to try; by default `n_alphas` of them, from the smallest for which all weights are 0 down to a
        thousandth of it (ridge: from a thousand times as much to a ten-thousandth).
    n_alphas : int
    folds : int or (n_rows,) ints
        Number of folds, or the fold of each row; `groups` of `fit` stay together.
    rule : {"best", "one_se"}
        The strength with the least mean error, or the largest within one standard error of it.
    seed : int
        Of the folds.
    fit_intercept, standardize, exact
        As for `Ridge`.

    Attributes
    ----------
    coef_, intercept_, condition_number_, stats_, n_features_in_, feature_names_in_, encoding_, report_
        As of `Ridge`.
    alpha_, l1_ratio_ : float
        The ones that were chosen.
    alphas_ : (n_alphas,), descending; (n_l1_ratios, n_alphas) for a list
    mse_path_ : (n_alphas, n_folds), or (n_l1_ratios, n_alphas, n_folds)
        Mean squared errors on the held-out rows; of several targets, the mean of errors divided by the variances.
    coefs_path_ : (n_features, n_alphas) or (n_targets, n_features, n_alphas)
        Weights from all rows at each of the strengths, for the chosen `l1_ratio_`.
    cv_results_ : dict
        "alpha", "l1_ratio", "mean_test_error", "std_test_error" and "standard_error" for each point.
    n_iter_ : int
        Iterations of coordinate descent on all rows.

    Examples
    --------
    >>> import numpy as np, streamnb as snb
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> model = snb.ElasticNetCV(l1_ratio=1.0).fit(X, X[:, 0] - X[:, 1])
    >>> model.coef_.round(1), model.mse_path_.shape
    (array([ 1., -1.,  0.,  0.,  0.]), (100, 5))
    """

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
        exact: bool = False,
    ):
        self.l1_ratio, self.alphas, self.n_alphas = l1_ratio, alphas, n_alphas
        self.folds, self.rule, self.seed = folds, rule, seed
        self.fit_intercept, self.standardize, self.exact = fit_intercept, standardize, exact

    def _check_params(self) -> None:
        super()._check_params()
        paths.check_l1_ratios(self.l1_ratio)
        arguments.positive_integer("n_alphas", self.n_alphas)
        arguments.one_of("rule", self.rule, ["best", "one_se"])
        if self.alphas is not None:
            _descending(self.alphas)

    def _folds(self) -> Any:
        return self.folds

    def _solve(self, system: System) -> np.ndarray:
        if self.stats_.folding is None:
            raise ValueError("X are sums without folds; ElasticNetCV needs those of rows that were split: fit the rows")
        ratios, grids, errors = paths.check_l1_ratios(self.l1_ratio), [], []
        variances = system.of_targets / system.weight if system.sums.n_targets > 1 else np.ones(1)
        for ratio in ratios:
            grids.append(
                paths.alpha_grid(system, ratio, self.n_alphas) if self.alphas is None else _descending(self.alphas)
            )
            own = self.stats_, grids[-1], ratio, self.fit_intercept, self.standardize, self._n_threads
            each = paths.held_out_errors(*own)
            errors.append((each / np.where(variances > 0.0, variances, 1.0)[:, None, None]).mean(axis=0))
        at = [paths.chosen(one, self.rule) for one in errors]
        best = int(np.argmin([one[k].mean() for one, k in zip(errors, at, strict=True)]))
        self.l1_ratio_, self.alpha_ = ratios[best], float(grids[best][at[best]])
        several = np.ndim(self.l1_ratio) > 0
        self.alphas_, self.mse_path_ = (np.stack(part) if several else part[0] for part in (grids, errors))
        self.cv_results_ = _results(ratios, grids, errors)
        with paths.quiet():
            path = paths.elastic_net(system, grids[best], self.l1_ratio_)
        coefficients = system.coefficients(path.weights)
        self.coefs_path_ = coefficients[:, 0] if system.sums.n_targets == 1 else coefficients.transpose(1, 0, 2)
        self.n_iter_ = int(path.n_iter[:, at[best]].max(initial=0))
        return path.weights[:, :, at[best]]


def _descending(alphas: Any) -> np.ndarray:
    """Given strengths, largest first."""
    found = np.atleast_1d(arguments.as_array("alphas", alphas)).astype(np.float64)
    if found.ndim != 1 or not found.size or not (np.isfinite(found) & (found > 0.0)).all():
        raise ValueError(f"alphas={alphas!r} should be numbers above 0")
    return np.sort(np.unique(found))[::-1].copy()


def _results(ratios: list[float], grids: list[np.ndarray], errors: list[np.ndarray]) -> dict[str, np.ndarray]:
    n_folds = errors[0].shape[1]
    spread = [one.std(axis=1, ddof=1) if n_folds > 1 else np.zeros(len(one)) for one in errors]
    return {
        "alpha": np.concatenate(grids),
        "l1_ratio": np.repeat(ratios, [len(grid) for grid in grids]),
        "mean_test_error": np.concatenate([one.mean(axis=1) for one in errors]),
        "std_test_error": np.concatenate(spread),
        "standard_error": np.concatenate(spread) / np.sqrt(n_folds),
    }

"""Generalised linear regressions, each from a scan and a few reads: Poisson, Gamma and Tweedie, and their CV forms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import column_or_1d

from streamnb.core import arguments, messages, persistence
from streamnb.core.arguments import Bytes, PerRow, Rows
from streamnb.core.guesses import with_hints
from streamnb.estimators import preparation
from streamnb.estimators.chosen import ScoredPoints, check_choice, chosen_number, descending
from streamnb.estimators.errors import RegressionEvaluation
from streamnb.estimators.judged import HeldOutResiduals
from streamnb.estimators.newton import ExposedSums, Model, Newton
from streamnb.estimators.parameters import keeps_parameters
from streamnb.estimators.regressor import LinearRegressor
from streamnb.evaluation.judging import EvaluationOptions
from streamnb.evaluation.slices import MIN_ROWS
from streamnb.passes.checkpoint import checkpoint_folder
from streamnb.passes.contract import Reading, ReadRequest, Report, RunOptions
from streamnb.passes.fit import Fit, reads_of, together
from streamnb.passes.passes import Pass, StatisticTask
from streamnb.passes.run import run_reads
from streamnb.passes.statistic import Statistic
from streamnb.problem.losses import LINKS, Loss, TweedieLoss
from streamnb.rows.boundary import columns_in
from streamnb.rows.labels import TARGETS
from streamnb.rows.opening import with_column
from streamnb.rows.source import Source
from streamnb.rows.table_opening import is_table, open_tables
from streamnb.scanning.class_scan import folding_of
from streamnb.selection.score_table import warn_of_ends
from streamnb.stats.stability import ColumnProfile

ENOUGH = 2e-3  # of the norm of the gradient at the start, for models that are only compared
HIGHEST, LOWEST = 10.0, 1e-6  # alphas that are tried, in units of the curvature at the mean of the target
MORE, MOST_MORE = 4, 3  # alphas below these, where the lowest is clearly the best, and how often
CLEARLY = 0.999  # of the least deviance so far


class GeneralizedRegressor(LinearRegressor):
    """A generalised linear model, trained by Newton's method: a scan, then about five reads of the rows.

    A subclass says which loss.
    """

    _power: float
    _keeps_sums = False

    @keeps_parameters
    def __init__(
        self,
        alpha: float = 1.0,
        *,
        fit_intercept: bool = True,
        standardize: bool = False,
        tol: float = 1e-6,
        max_passes: int = 50,
    ):
        pass

    @property
    def _loss(self) -> Loss:
        return TweedieLoss(self._power, "log")

    def _check_params(self) -> None:
        super()._check_params()
        if "alpha" in vars(self):
            arguments.finite_number("alpha", self.alpha, minimum=0.0)
        loss = self._loss
        if loss.link == "identity" and loss.power and not self.fit_intercept:
            raise ValueError("fit_intercept=False needs link='log' or power=0: else all rows begin at a mean of 0")

    # ---- fitting -----------------------------------------------------------------------------------------------------

    @with_hints
    def fit(
        self,
        X: Rows,
        y: PerRow = None,
        sample_weight: PerRow = None,
        *,
        offset: PerRow = None,
        groups: PerRow = None,
        progress: bool | None = None,
        n_threads: int | None = None,
        memory_limit: Bytes = None,
        client: Any = None,
        checkpoint: Any = None,
        layer: str | None = None,
        keep: str = "auto",
    ) -> Self:
        """Fit in a scan and a few reads of the rows.

        Parameters
        ----------
        X : (n_rows, n_features)
            Rows of any kind that `scan` takes, dense or sparse, that can be read again. Numbers of a table are not
            binned, and each of its categories has a column of 0 and 1.
        y : (n_rows,)
            Numbers to predict, or the name of an array or column beside X. Streams contain their own.
        sample_weight : (n_rows,), optional
            A row of weight 2 counts as two rows. Exposures e are weights of rates: ``fit(X, y / e, e)``.
        offset : (n_rows,), optional
            Added to the linear predictor of each row: with the log link the logarithm of its exposure, where y holds
            counts or amounts. Or the name of an array beside X, or of a column, which is then not a feature. For
            Poisson, offsets and weights give the same model, but ``alpha`` counts per weight: ``fit(X, y,
            offset=log(e))`` with `alpha` is ``fit(X, y / e, e)`` with ``alpha * n_rows / e.sum()``.
        groups : (n_rows,), optional
            Rows of a group stay in one fold; for CV forms.
        progress, n_threads, memory_limit, client, layer, keep
            As for `SoftmaxRegression.fit`.
        checkpoint : path, optional
            A folder for the results of the scan and of each read. An interrupted fit resumes from it with identical
            results. It stays until you remove it.

        Raises
        ------
        ValueError, TypeError
            An argument or a value is wrong: the message names it.
        DataError
            Data cannot be read.
        MemoryError
            Sums of products of columns, for up to 8 penalties, would exceed `memory_limit`.

        Warns
        -----
        StreamnbWarning
            The gradient was not small enough after the last read; or there is no penalty and columns are linearly
            dependent, so that some are left out.
        """
        with preparation.fitting(self, progress, n_threads, memory_limit, client, keep, checkpoint) as options:
            self._forget_fit()
            run_reads(self._fit((X, y, sample_weight), options, layer, groups, offset))
        return self

    def _fit(
        self, given: Any, options: RunOptions, layer: str | None = None, groups: Any = None, offset: Any = None
    ) -> Reading[None]:
        training = yield from self._begun(given, options, layer, groups, offset)
        yield from self._judge(training)
        yield from self._finished(training)

    def _begun(self, given: Any, options: RunOptions, layer: Any, groups: Any, offset: Any) -> Reading[Training]:
        """Open the rows and scan them."""
        self._check_params()
        folds = self._folds()
        if folds is None and groups is not None:
            name = f"{type(self).__name__}CV"
            raise ValueError(f"groups= needs folds, and {type(self).__name__} has none: use {name}")
        X, y, weight = given
        rows = self._opened_to_fit((X, of_one_column(y), weight), layer, groups, folds, offset)
        rows = rows if offset is None else rows.with_columns(offset=offset)
        folding, rows = folding_of(rows, folds, groups, 1, getattr(self, "seed", 0))
        rows = options.kept(rows)
        rows.narrow = True
        rows.check_read_again(type(self).__name__)
        options = replace(options, checkpoint=checkpoint_folder(options.checkpoint))
        asked = ExposedSums.asked(self._loss, offset is not None, folding, options.memory_limit)
        sums, report = yield ReadRequest(StatisticTask(asked), rows, options.of_pass("scan"))
        self._remember_exposures(offset)
        self._used, self._sums = self.get_params(deep=False), ColumnProfile.of(sums.features)
        newton = Newton(
            sums,
            self.fit_intercept,
            self.standardize,
            float(self.tol),
            options.memory_limit,
            samples=rows.sites is None,
        )
        return Training(newton, rows, options, self.max_passes, report)

    def _judge(self, training: Training) -> Reading[None]:
        """Choose the penalty, where it is not given."""
        yield from ()

    def _finished(self, training: Training) -> Reading[None]:
        """Train the model of all rows."""
        newton, near = training.newton, training.near
        model = newton.model(float(near[0].alpha if near else self.alpha), None, near)
        sums, others = newton.sums, list[Fit[Any]]()
        if near:
            residuals = HeldOutResiduals.asked(self._loss, sums.offset, sums.folding, training.held_out)
            others.append(_total(residuals))
        found = yield from training.read([model], "fit-read" if near else "read", *others)
        self.report_ = training.report
        self.n_features_in_ = len(model.weights) - 1
        self._set_weights(model.weights[:-1, None], model.weights[-1:])
        if found:
            self.residuals_ = found[0].found()
        self.alpha_, self.n_passes_, self.converged_ = model.alpha, newton.n_reads, model.converged
        self._warn(newton, model)

    def _warn(self, newton: Newton, model: Model) -> None:
        if len(newton.dependent) and model.alpha == 0.0:
            names = messages.listed([self._name_of(int(j)) for j in newton.dependent])
            messages.warn(
                f"alpha=0 leaves the weights undetermined, as columns depend on others: those of {names} are 0, or "
                "where they began; predictions do not depend on that"
            )
        if not model.converged:
            messages.warn(
                f"max_passes={self.max_passes} reads were spent, or the objective falls no more in float64: the "
                f"gradient is {model.left:.1e} of that of the start, and tol={self.tol:g}; give more reads, a larger "
                "alpha, or other units of columns"
            )

    # ---- predictions -------------------------------------------------------------------------------------------------

    @with_hints
    def predict(self, X: Rows, *, offset: PerRow = None, interval: float | None = None, out: Any = None) -> Any:
        """Predict numbers, (n_rows,): rates or, with an offset, the counts and amounts for these exposures.

        Parameters
        ----------
        X : (n_rows, n_features)
            Rows of any kind that `fit` takes.
        offset : (n_rows,) or name of a column, optional
            Added to the linear predictor, as in `fit`: with the log link, predictions are multiplied by the exposure.
            The result is then in memory.
        interval : float, optional
            Such as 0.9: the result is (n_rows, 3), as for `Ridge.predict`. Intervals of a count with an exposure are
            those of its mean.
        out : array, optional
            Where the result is written.

        Raises
        ------
        ValueError
            The offset has another length than X or is not finite, or there are no residuals for an interval.
        TypeError
            The offset does not hold numbers.

        Warns
        -----
        StreamnbWarning
            X has the column that was the offset of the fit, and `offset` does not name it.

        Examples
        --------
        >>> import numpy as np, streamnb as snb
        >>> model = snb.PoissonRegressor(alpha=0.0).fit([[0.0], [1.0]], [1.0, 6.0], offset=np.log([1.0, 2.0]))
        >>> model.predict([[1.0]]).round(6), model.predict([[1.0]], offset=np.log([10.0])).round(6)
        (array([3.]), array([30.]))
        """
        if offset is None:
            self._warn_of_rates(X)
            return super().predict(X, interval=interval, out=out)
        with_ends = None if interval is None else self._intervals(interval)
        X, offset = with_column(X, offset, "offset")
        own = self._opened(X).whole_column(offset, "offset")
        predicted = np.asarray(super().predict(X))
        if own.shape != predicted.shape:
            raise ValueError(
                f"offset has the shape {own.shape}; X has {len(predicted):,} rows, each with a number of it"
            )
        if own.dtype.kind not in "iuf":
            raise TypeError(f"offset holds {own[:1].tolist()}; it should be numbers, the logarithms of exposures")
        self._loss.check_offset(own)
        predicted = predicted * np.exp(own) if self._loss.link == "log" else predicted + own
        found = predicted if with_ends is None else with_ends(predicted)
        if out is not None:
            out[...] = found
        return found if out is None else out

    def evaluate(
        self,
        X: Rows,
        y: Any = None,
        sample_weight: PerRow = None,
        *,
        offset: PerRow = None,
        interval: float | None = None,
        groups: PerRow = None,
        by: Any = None,
        min_rows: int = MIN_ROWS,
    ) -> RegressionEvaluation:
        """Errors of the predictions, from one read of the rows.

        Parameters
        ----------
        X, y, sample_weight, offset
            As in `fit`; with an offset, y is compared with the prediction for its exposure.
        interval, groups, by, min_rows
            Confidence of intervals of metrics, and columns of groups and of slices, as in `snb.evaluate`.
        """
        return self._evaluated((X, y, sample_weight), offset, EvaluationOptions(interval, groups, by, min_rows))

    def calibrate(self, X: Rows, y: PerRow = None, sample_weight: PerRow = None, *, offset: PerRow = None) -> Self:
        """Learn intervals from the residuals of rows that the model has not learned from, as `Ridge.calibrate` does.

        Residuals are divided by the deviation of the family at the prediction, so that larger predictions have wider
        intervals. CV forms have intervals from their folds already. Arguments are those of `fit`.
        """
        return self._calibrated(self._with_offset(X, y, sample_weight, offset), offset is not None)

    def score(self, X: Rows, y: Any = None, sample_weight: PerRow = None, *, offset: PerRow = None) -> float:
        """D^2, the share of the deviance of y that is explained; R^2 for squared errors."""
        rows = self._with_offset(X, y, sample_weight, offset)
        self._warn_of_exposures(offset, sample_weight)
        return self._scored(rows, offset is not None)

    def _warn_of_rates(self, X: Any) -> None:
        """Warn if X has the column of the offset of the fit, which has no effect unless it is named again."""
        name, columns = self.has_offset_, columns_in(X)
        if isinstance(name, str) and columns is None and is_table(X):
            columns = open_tables(X, {}, 1).schema.names
        if name in (columns or ()):
            messages.warn(
                f"X has the column {name!r}, the offset of the fit, and these predictions are for an exposure of 1; "
                f"give offset={name!r}, or leave the column out"
            )

    def _with_offset(self, X: Any, y: Any, weight: Any, offset: Any) -> Source:
        """Rows with targets, weights and offsets, whose column is taken from a data frame."""
        X, offset = with_column(X, offset, "offset")
        rows = self._opened(X, y, weight, labelled=TARGETS)
        return rows if offset is None else rows.with_columns(offset=offset)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = False
        tags.target_tags.positive_only = self._loss.power > 0.0
        return tags


@dataclass(eq=False)
class Training:
    """A fit after its scan.

    Attributes
    ----------
    newton : Newton
    rows : Source
    options : RunOptions, whose checkpoint is a folder
    max_passes : int
    report : Report of the reads so far
    near : list of Model, without each fold, at the penalty that was chosen by them
    """

    newton: Newton
    rows: Source
    options: RunOptions
    max_passes: int
    report: Report
    near: list[Model] = field(default_factory=list)

    @property
    def held_out(self) -> np.ndarray:
        """The weights without each fold, (n_features + 1, n_folds), intercepts last."""
        return np.column_stack([each.weights for each in self.near])

    def read(self, models: Sequence[Model], name: str, *others: Fit[Any]) -> Reading[list[Any]]:
        """Train models by reads that they share with other fits, whose results are returned."""
        fits = [self.newton.train(models, self.max_passes), *others]
        (_, *found), report = yield from reads_of(together(fits), self.rows, self.options, name=name)
        self.report += report
        return found


def of_one_column(y: Any) -> Any:
    """A column of targets as a vector, with scikit-learn's warning."""
    return column_or_1d(y, warn=True) if isinstance(y, np.ndarray) and y.ndim == 2 and y.shape[1] == 1 else y


def _total(statistic: Statistic) -> Fit[Any]:
    """The total of a statistic, as a fit that shares a read."""
    (total,) = yield [Pass(statistic)]
    return total


class GeneralizedRegressorCV(GeneralizedRegressor):
    """A generalised linear model whose penalty is chosen by cross-validation, of models that share each read."""

    _kept_wide = (*LinearRegressor._kept_wide, "alphas_", "deviance_path_")

    @keeps_parameters
    def __init__(
        self,
        *,
        alphas: Any = None,
        n_alphas: int = 10,
        folds: Any = 5,
        rule: str = "best",
        seed: int = 0,
        fit_intercept: bool = True,
        standardize: bool = True,
        tol: float = 1e-6,
        max_passes: int = 50,
    ):
        pass

    def _check_params(self) -> None:
        super()._check_params()
        check_choice(self.folds, self.rule, self.seed)
        if self.alphas is not None:
            descending(self.alphas)

    def _folds(self) -> Any:
        return self.folds

    def _judge(self, training: Training) -> Reading[None]:
        """Judge all penalties by models without each fold."""
        newton = training.newton
        alphas = descending(self.alphas) if self.alphas is not None else _grid(newton.unit, self.n_alphas)
        tol, newton.tol = newton.tol, max(newton.tol, ENOUGH)
        assert newton.sums.folding is not None
        folds = range(newton.sums.folding.n_folds)
        models, deviances = list[Model](), np.zeros((0, len(folds)))
        left, more = MOST_MORE if self.alphas is None else 0, alphas
        while len(more):
            near = [models[-len(folds) + fold :][:1] for fold in folds]  # of the smallest penalty so far
            new = [newton.model(float(alpha), fold, near[fold]) for alpha in more for fold in folds]
            yield from training.read(new, f"folds-{len(deviances)}-read")
            models += new
            judged = [2.0 * model.held_out / newton.weight_of(model.fold) for model in new]
            deviances = np.vstack([deviances, np.reshape(judged, (len(more), -1))])
            *means, last = deviances.mean(axis=1).tolist()
            falls = left > 0 and len(alphas) > 1 and last < CLEARLY * min(means)
            more = alphas[-1] * (alphas[-1] / alphas[-2]) ** np.arange(1.0, MORE + 1) if falls else alphas[:0]
            left, alphas = left - 1, np.append(alphas, more)
        self.alphas_, self.deviance_path_, newton.tol = alphas, deviances, tol
        best = self._choose()
        training.near = [each for each in models if each.alpha == alphas[best]]
        if self.alphas is not None:
            points, limits = [{"alpha": alpha} for alpha in alphas], {"alpha": (0.0, np.inf)}
            end = int(deviances.mean(axis=1).argmin())
            warn_of_ends(points, -deviances, end, {"alpha": "alphas"}, limits, cautious=False)

    def _choose(self) -> int:
        """Choose a penalty by the deviances, and describe all of them."""
        path = self.deviance_path_
        self.cv_results_ = ScoredPoints.of({"alpha": self.alphas_}, path)
        return chosen_number(path, self.rule)

    def _restore_wide(self, fitted: dict[str, Any]) -> None:
        super()._restore_wide(fitted)
        self.alphas_ = persistence.array("alphas_", fitted["alphas_"], ["f8"], (None,))
        shape = len(self.alphas_), None
        self.deviance_path_ = persistence.array("deviance_path_", fitted["deviance_path_"], ["f8"], shape)
        self._choose()


def begun(
    model: GeneralizedRegressorCV, rows: Source, groups: Any, options: RunOptions, offset: Any
) -> Reading[Training]:
    """A fit that has chosen its penalty."""
    training = yield from model._begun((rows, None, None), options, None, groups, offset)
    yield from model._judge(training)
    return training


def finished(model: GeneralizedRegressorCV, training: Training) -> Reading[None]:
    """Fit the model of all rows at the penalty that was chosen."""
    yield from model._finished(training)


def _grid(unit: float, n_alphas: int) -> np.ndarray:
    return unit * np.geomspace(HIGHEST, LOWEST, n_alphas) if n_alphas > 1 else np.array([unit * 1e-3])


@persistence.register
class PoissonRegressor(GeneralizedRegressor):
    r"""Poisson regression of counts and rates: the mean is ``exp(b x + b_0)``, the variance the mean.

    Minimises, with W the total weight, the objective of scikit-learn's PoissonRegressor:

        sum_i w_i (mu_i - y_i ln mu_i) / W + alpha / 2 \|b\|^2,    ln mu_i = b x_i + b_0 + offset_i.

    Rows are scanned once, and then read about five times: Newton's method (McCullagh and Nelder, Generalized Linear
    Models, 1989) begins at the mean of the scan.

    Parameters
    ----------
    alpha : float
        Strength of the penalty.
    fit_intercept : bool
    standardize : bool
        Penalise the weights of features divided by their standard deviations; columns of 0 and 1, such as those of
        categories, stay as they are. `coef_` is for X as it is given.
    tol : float
        Stop when the gradient is this small, in units of the curvature and relative to the start.
    max_passes : int
        The largest number of reads after the scan.

    Attributes
    ----------
    coef_ : (n_features,)
    intercept_ : float
    n_passes_ : int
        Reads after the scan; `converged_` says whether they reached `tol`.
    n_features_in_, feature_names_in_, encoding_, report_
        As of `LinearNB`.

    Examples
    --------
    Claims in a tenth, a half and two years:

    >>> import numpy as np, streamnb as snb
    >>> X, claims, years = [[0.0], [0.0], [1.0], [1.0]], [1.0, 2.0, 3.0, 0.0], np.array([1.0, 2.0, 0.5, 0.1])
    >>> model = snb.PoissonRegressor(alpha=0.0).fit(X, claims, offset=np.log(years))
    >>> model.predict([[0.0], [1.0]]).round(6)  # claims a year
    array([1., 5.])
    """

    _power = 1.0


@persistence.register
class GammaRegressor(GeneralizedRegressor):
    r"""Gamma regression of amounts above 0: the mean is ``exp(b x + b_0)``, the variance grows with its square.

    Minimises ``sum_i w_i (y_i / mu_i + ln mu_i) / W + alpha / 2 \|b\|^2``, the objective of scikit-learn's
    GammaRegressor, as `PoissonRegressor` does.

    Parameters
    ----------
    alpha, fit_intercept, standardize, tol, max_passes
        As for `PoissonRegressor`.

    Attributes
    ----------
    coef_, intercept_, n_passes_, converged_, n_features_in_, feature_names_in_, encoding_, report_
        As of `PoissonRegressor`.

    Examples
    --------
    >>> import streamnb as snb
    >>> model = snb.GammaRegressor(alpha=0.0).fit([[0.0], [0.0], [1.0]], [100.0, 300.0, 800.0])
    >>> model.predict([[0.0], [1.0]]).round(6)
    array([200., 800.])
    """

    _power = 2.0


@persistence.register
class TweedieRegressor(GeneralizedRegressor):
    r"""Regression with variance ``mu^power``, for example of total amounts, many of which are 0.

    Minimises ``sum_i w_i d(y_i, mu_i) / 2 W + alpha / 2 \|b\|^2`` with the unit deviances d of Tweedie's families
    (Jorgensen 1987), the objective of scikit-learn's TweedieRegressor, as `PoissonRegressor` does.

    Parameters
    ----------
    power : float
        0: squared errors; 1: Poisson; between 1 and 2: compound Poisson-Gamma, for amounts of 0 and above; 2: Gamma;
        3: inverse Gaussian.
    alpha : float
        Strength of the penalty.
    link : {"auto", "log", "identity"}
        "auto" is the identity for power 0 and the logarithm for the others. With the identity and a power above 0,
        predictions for new rows may be below 0.
    fit_intercept, standardize, tol, max_passes
        As for `PoissonRegressor`.

    Attributes
    ----------
    coef_, intercept_, n_passes_, converged_, n_features_in_, feature_names_in_, encoding_, report_
        As of `PoissonRegressor`.

    Examples
    --------
    >>> import streamnb as snb
    >>> model = snb.TweedieRegressor(power=1.5, alpha=0.0).fit([[0.0], [0.0], [1.0]], [0.0, 30.0, 45.0])
    >>> model.predict([[0.0], [1.0]]).round(6)
    array([15., 45.])
    """

    def __init__(
        self,
        power: float = 0.0,
        alpha: float = 1.0,
        *,
        link: str = "auto",
        fit_intercept: bool = True,
        standardize: bool = False,
        tol: float = 1e-6,
        max_passes: int = 50,
    ):
        self.power, self.link = power, link
        super().__init__(alpha, fit_intercept=fit_intercept, standardize=standardize, tol=tol, max_passes=max_passes)

    @property
    def _loss(self) -> TweedieLoss:
        return _tweedie(self.power, self.link)


def _tweedie(power: float, link: str) -> TweedieLoss:
    """The loss of a power, with the link that "auto" stands for."""
    arguments.one_of("link", link, ["auto", *LINKS])
    return TweedieLoss(power, ("log" if power else "identity") if link == "auto" else link)


@persistence.register
class PoissonRegressorCV(GeneralizedRegressorCV):
    """`PoissonRegressor` whose penalty is chosen by cross-validation, for the least deviance on held-out rows.

    The models of all penalties and folds share each read of the rows: ten penalties and five folds take about six reads
    after the scan, and the model of all rows two or three more.

    Parameters
    ----------
    alphas : list of float, optional
        Strengths to try; by default `n_alphas` of them over seven powers of ten, from ten times the curvature at the
        mean of the target. The grid is extended as long as the smallest one is clearly best.
    n_alphas : int
    folds : int or (n_rows,) ints
        Number of folds, or the fold of each row; `groups` of `fit` stay together.
    rule : {"best", "one_se"}
        The strength with the least mean deviance, or the largest within one standard error of it.
    seed : int
        Seed of the folds.
    standardize : bool
        As for `PoissonRegressor`; True by default, so that units of columns do not matter.
    fit_intercept, tol, max_passes
        As for `PoissonRegressor`.

    Attributes
    ----------
    coef_, intercept_, n_passes_, converged_, n_features_in_, feature_names_in_, encoding_, report_
        As of `PoissonRegressor`.
    alpha_ : float
        The strength that was chosen.
    alphas_ : (n_alphas,), descending
    deviance_path_ : (n_alphas, n_folds)
        Mean unit deviances on the rows of each fold.
    cv_results_ : dict
        "alpha", "mean_test_score" (the mean deviance with a minus), "std_test_score" and "standard_error" of each
        strength; "low_test_score" and "high_test_score" are a 95 % interval of the mean, as in `LinearNBCV`.

    Examples
    --------
    >>> import numpy as np, streamnb as snb
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(1000, 3))
    >>> model = snb.PoissonRegressorCV().fit(X, rng.poisson(np.exp(X[:, 0] - 1.0)))
    >>> model.deviance_path_.shape, bool(model.score(X, rng.poisson(np.exp(X[:, 0] - 1.0))) > 0.3)
    ((10, 5), True)
    """

    _power = 1.0


@persistence.register
class GammaRegressorCV(GeneralizedRegressorCV):
    """`GammaRegressor` with the penalty chosen by cross-validation, as `PoissonRegressorCV` does.

    Parameters
    ----------
    alphas, n_alphas, folds, rule, seed, fit_intercept, standardize, tol, max_passes
        As for `PoissonRegressorCV`.

    Attributes
    ----------
    alpha_, alphas_, deviance_path_, cv_results_, coef_, intercept_, n_passes_, converged_, n_features_in_
        As of `PoissonRegressorCV`, and so are `feature_names_in_`, `encoding_` and `report_`.

    Examples
    --------
    >>> import numpy as np, streamnb as snb
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> snb.GammaRegressorCV().fit(X, np.exp(X[:, 0])).coef_[0].round(2)
    np.float64(1.0)
    """

    _power = 2.0


@persistence.register
class TweedieRegressorCV(GeneralizedRegressorCV):
    """`TweedieRegressor` with the penalty chosen by cross-validation, as `PoissonRegressorCV` does.

    Parameters
    ----------
    power, link
        As for `TweedieRegressor`.
    alphas, n_alphas, folds, rule, seed, fit_intercept, standardize, tol, max_passes
        As for `PoissonRegressorCV`.

    Attributes
    ----------
    alpha_, alphas_, deviance_path_, cv_results_, coef_, intercept_, n_passes_, converged_, n_features_in_
        As of `PoissonRegressorCV`, and so are `feature_names_in_`, `encoding_` and `report_`.

    Examples
    --------
    >>> import numpy as np, streamnb as snb
    >>> X = np.random.default_rng(0).normal(size=(200, 3))
    >>> snb.TweedieRegressorCV(power=1.5).fit(X, np.exp(X[:, 0])).coef_[0].round(2)
    np.float64(1.0)
    """

    @keeps_parameters
    def __init__(
        self,
        power: float = 0.0,
        *,
        link: str = "auto",
        alphas: Any = None,
        n_alphas: int = 10,
        folds: Any = 5,
        rule: str = "best",
        seed: int = 0,
        fit_intercept: bool = True,
        standardize: bool = True,
        tol: float = 1e-6,
        max_passes: int = 50,
    ):
        pass

    @property
    def _loss(self) -> TweedieLoss:
        return _tweedie(self.power, self.link)

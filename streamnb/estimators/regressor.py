"""LinearRegressor: the base class of regressions that follow from sums over the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from operator import attrgetter
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from streamnb.core import arguments, guesses, messages, persistence, row_checks
from streamnb.core.arguments import Bytes, PerRow, Rows
from streamnb.core.frames import pandas_for
from streamnb.core.row_checks import hint_at_classes
from streamnb.encoding.opening import opened
from streamnb.estimators import one_record, preparation
from streamnb.estimators.classifier import checked_meta
from streamnb.estimators.drifting import Drift, drift
from streamnb.estimators.errors import RegressionEvaluation
from streamnb.estimators.feature_tables import dense_values, row_of
from streamnb.estimators.incremental import check_forgotten_weight, checked_decay
from streamnb.estimators.judged import HeldOutResiduals, JudgedNumbers, Residuals, check_one_target
from streamnb.estimators.parameters import Check, boolean, check_each, one_of, optional
from streamnb.estimators.preparation import Preparation, StepRequest
from streamnb.estimators.target_sums import System, TargetScan, TargetSums, check_none_beside
from streamnb.evaluation.intervals import ONE_GROUP
from streamnb.evaluation.judging import EvaluationOptions
from streamnb.evaluation.slices import MIN_ROWS
from streamnb.evaluation.tallied import check_level
from streamnb.models.linear import linear_scores
from streamnb.models.portable import LIGHT, PortableModel, PortableRegression
from streamnb.models.writing import scoring_of, sklearn_regression, write
from streamnb.passes.answering import answer
from streamnb.passes.checkpoint import checkpoint_folder
from streamnb.passes.contract import Reading, ReadRequest, Report, RunOptions
from streamnb.passes.passes import StatisticTask
from streamnb.passes.run import run, run_reads
from streamnb.problem.losses import SQUARES, Loss
from streamnb.rows.labels import TARGETS
from streamnb.rows.opening import with_column
from streamnb.rows.source import Source
from streamnb.rows.splits import Folding, check_n_folds
from streamnb.scanning.class_scan import folding_of
from streamnb.stats.stability import ColumnProfile, checked_profile

_WIDE: tuple[str, ...] = (
    "n_features_in_",
    "coef_",
    "intercept_",
    "alpha_",
    "n_passes_",
    "converged_",
)  # of models without sums
_FITTED = "stats_", "report_", "decay_", "residuals_", *preparation.OF_ROWS
FEW_PRODUCTS = 10**8  # that are summed exactly in less than a second
UNITS, BEARING = 100.0, 0.01  # ratio of deviations of columns, and share of a weight, that deserve a warning
SLOW = 8192  # columns whose products take minutes
CHECKS: dict[str, Check] = {
    **dict.fromkeys(("fit_intercept", "standardize", "intervals"), boolean),
    **dict.fromkeys(("max_passes", "n_alphas", "max_features"), arguments.positive_integer),
    "exact": one_of("auto", True, False),
    "n_nonzero_coefs": optional(arguments.positive_integer),
    "tol": arguments.number_above_0,
}


class LinearRegressor(RegressorMixin, BaseEstimator):
    """Least squares whose weights are solved from sums of products, to which rows can be added, and removed.

    Attributes
    ----------
    meta_ : dict or None
        The `meta` given to `save`.
    residuals_ : Residuals or None
        Residuals on held-out rows, from which ``predict(X, interval=0.9)`` derives its intervals.
    has_offset_ : bool, str or None
        True for models of counts or totals that were fitted with ``offset=``, or the name of its column.
    """

    meta_: dict[str, Any] | None = None
    _keeps_sums = True  # of products, to which rows can be added
    residuals_: Residuals | None = None
    has_offset_: bool | str | None = None
    _preparation = Preparation()
    _sums: ColumnProfile | None = None  # of the rows of the fit, where there is no `stats_`
    _kept_wide: tuple[str, ...] = _WIDE  # what files keep of models without sums
    fit_intercept: bool
    seed: int  # of folds, where there are any
    exact: bool | str

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        guesses.explain_keywords(cls)

    def __getattr__(self, name: str) -> Any:
        return guesses.expected_attribute(self, name)

    # ---- defined by a subclass ---------------------------------------------------------------------------------------

    @property
    def _loss(self) -> Loss:
        """What weights minimise."""
        return SQUARES

    def _check_params(self) -> None:
        """Raise for parameters that are invalid for any data."""
        check_each(self, CHECKS)

    def _solve(self, system: System) -> np.ndarray:
        """The weights of the kept columns, (n_kept, n_targets); may set further attributes."""
        raise NotImplementedError

    def _as_chosen(self, system: System) -> np.ndarray:
        """The weights that `_solve` chose, but of another system, (n_kept, n_targets)."""
        raise NotImplementedError

    def _folds(self) -> Any:
        """Folds whose sums the fit keeps; None if it needs none."""

    def _penalties(self) -> tuple[float, float]:
        """The strengths of the penalties of squared and of absolute weights, per weight of the rows."""
        return 0.0, 0.0

    def _is_wide(self, rows: Source) -> bool:
        """Whether rows are fitted by several reads, as their products of columns are too many."""
        return False

    def _fit_wide(self, rows: Source, options: RunOptions) -> Reading[None]:
        """Fit such rows."""
        raise NotImplementedError

    # ---- fitting -----------------------------------------------------------------------------------------------------

    @guesses.with_hints
    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: PerRow = None,
        *,
        groups: PerRow = None,
        progress: bool | None = None,
        n_threads: int | None = None,
        memory_limit: Bytes = None,
        client: Any = None,
        checkpoint: Any = None,
        layer: str | None = None,
        keep: str = "auto",
    ) -> Self:
        """Fit in one read of the rows.

        Parameters
        ----------
        X : (n_rows, n_features) or TargetSums
            Rows of any kind that `scan` takes, dense or sparse, with up to a few thousand columns. Numbers of a table
            are not binned. Or the `stats_` of another fit: then no rows are read.
        y : (n_rows,) or (n_rows, n_targets)
            Numbers to predict, or the name of an array or column beside X. Streams contain their own.
        sample_weight : (n_rows,), optional
            A row of weight 2 counts as two rows.
        groups : (n_rows,), optional
            Rows of a group stay in one fold; for estimators with `folds`.
        progress, n_threads, memory_limit, client, checkpoint, layer
            As in `scan`.
        keep : {"auto", "memory", "disk", "no"}
            Where to keep the rows that conjugate gradients read again, as in `SoftmaxRegression.fit`.

        Raises
        ------
        ValueError, TypeError
            An argument or a value is wrong: the message names it.
        DataError
            Data cannot be read.
        MemoryError
            The sums, 8 bytes for each pair of columns and as many again for each fold, would exceed `memory_limit`.
        """
        with preparation.fitting(self, progress, n_threads, memory_limit, client, keep, checkpoint) as options:
            self._n_threads = options.threads
            self._forget_fit()
            if isinstance(X, TargetSums):
                check_none_beside(X, y=y, sample_weight=sample_weight, groups=groups)
                self._check_params()
                self._preparation = Preparation()
                self._keep(X, Report())
                self._finish()
            else:
                run_reads(self._fit((X, y, sample_weight), options, layer, groups))
        return self

    def _forget_fit(self) -> None:
        """Delete what an earlier fit learned."""
        for name in [name for name in vars(self) if name.endswith("_") and name != "meta_"]:
            delattr(self, name)

    def _opened_to_fit(self, given: Any, layer: str | None, *beside: Any) -> Source:
        """Open rows whose columns `beside` are no features, and remember how."""
        look = partial(preparation.remember_names, self)
        rows = opened(*given, labelled=TARGETS, look=look, layer=layer, beside=beside)
        self._preparation = Preparation(rows.encoding, layer, rows.label)
        return rows

    def _fit(self, given: Any, options: RunOptions, layer: str | None = None, groups: Any = None) -> Reading[None]:
        """Sum rows, or train weights where there are too many columns for that."""
        self._check_params()
        hint_at_classes(given[1])
        rows = self._opened_to_fit(given, layer, groups, self._folds())
        if self._is_wide(rows):
            check_none_beside(rows, groups=groups)
            self._used = self.get_params(deep=False)
            yield from self._fit_wide(rows, replace(options, checkpoint=checkpoint_folder(options.checkpoint)))
        else:
            rows, folding = self._folded(rows, groups)
            if vars(self).get("intervals"):
                rows = options.kept(rows)
                rows.check_read_again(f"{type(self).__name__}(intervals=True)")
            self._keep(*(yield from self._scan(rows, folding, options)))
            self._finish()
            self._warn_of_units()
            if vars(self).get("intervals"):
                check_one_target(np.size(self.intercept_))
                weights = weights_without_folds(self)
                task = StatisticTask(HeldOutResiduals.asked(self._loss, False, folding, weights))
                held_out, report = yield ReadRequest(task, rows, replace(options, checkpoint=None))
                self.residuals_ = held_out.found()
                self.report_ += report

    @available_if(attrgetter("_keeps_sums"))
    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: PerRow = None,
        *,
        decay: float = 1.0,
        progress: bool | None = None,
        n_threads: int | None = None,
        memory_limit: Bytes = None,
        client: Any = None,
    ) -> Self:
        """Add rows to those fitted before, as if all of them had been fitted at once.

        New values of the categories of a table become columns, as in `LinearNB.partial_fit`.

        Parameters
        ----------
        X, y, sample_weight, progress, n_threads, memory_limit, client
            As in `fit`.
        decay : float, 0 < decay <= 1
            Multiplies the weight of all rows fitted before; `decay_` is the product so far.
        """
        decay = checked_decay(decay)
        if not hasattr(self, "coef_"):
            return self.fit(
                X, y, sample_weight, progress=progress, n_threads=n_threads, memory_limit=memory_limit, client=client
            )
        self._check_sums()
        options = RunOptions(progress, n_threads, memory_limit, client)
        with preparation.all_or_nothing(self):
            self._check_params()
            more, report = self._sums_of(preparation.grown(self, X, options), y, sample_weight, options)
            preparation.warn_of_beyond(self, more)
            before = self.stats_ if decay == 1.0 else self.stats_ * decay
            self._keep(before + more, report, self.decay_ * decay)
            self._finish()
        return self

    @available_if(attrgetter("_keeps_sums"))
    def forget(self, X: Any, y: Any = None, sample_weight: PerRow = None) -> Self:
        """Remove fitted rows, as if they had never been seen; arguments as in `fit`.

        The remaining sums are those of the other rows: exactly if sums are exact (``exact=True``, and small data), else
        up to the rounding of the sums before. Models with folds refuse this, because the fold of a row is unknown.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`. After `partial_fit` with a `decay`, `sample_weight` should be the present weight of the rows.

        Raises
        ------
        ValueError
            The remaining sums are impossible, for example because the rows were never added. The model stays as it was.

        Warns
        -----
        StreamnbWarning
            The removed rows outweigh the others so much that rounding errors matter.
        """
        self._check_sums()
        if self.stats_.folding is not None:
            raise ValueError("rows do not tell which fold they were in; fit the other rows again")
        if not isinstance(X, TargetSums):
            check_forgotten_weight(self, sample_weight)
        with preparation.all_or_nothing(self):
            less, report = self._sums_of(X, y, sample_weight, RunOptions())
            before = self.stats_
            self._keep(before - less, report, self.decay_)
            self.stats_.warn_of_rounding(before)
            preparation.shrink(self)
            self._finish()
        return self

    @available_if(attrgetter("_keeps_sums"))
    def refit(self, **params: Any) -> Self:
        """Change parameters of the constructor without reading data; the others keep their values.

        Raises
        ------
        ValueError
            A parameter is invalid, or is one of reading rows (`exact`, `folds`, `intervals`, `seed`, `solver`), which
            needs `fit`.
        """
        self._check_sums()
        for name in ("exact", "folds", "seed", "solver"):
            if name in params and not np.array_equal(params[name], self._used.get(name)):
                raise ValueError(f"{name}={params[name]!r} needs the rows again: use fit")
        if params.get("intervals") and self._used.get("intervals") is False:
            raise ValueError("intervals=True needs the rows again: use fit, or calibrate with further rows")
        with preparation.all_or_nothing(self):
            self.set_params(**params)
            self._check_params()
            self._finish()
        return self

    def _sums_of(self, X: Any, y: Any, sample_weight: Any, options: RunOptions) -> tuple[TargetSums, Report]:
        """The sums of further rows, or those given in their place."""
        if isinstance(X, TargetSums):
            return X, Report()
        rows = self._opened(X, y, sample_weight, labelled=TARGETS)
        folding = self.stats_.folding
        if folding is not None and folding.by != "rows":
            given = "groups=" if folding.by == "groups" else "the fold of each row"
            raise ValueError(f"the fit was given {given}, and further rows have no such folds; fit all rows at once")
        stats, report = run_reads(self._scan(rows, folding, options))
        row_checks.check_n_features(stats.n_features, self.n_features_in_, type(self).__name__)
        return stats, report

    def _folded(self, rows: Source, groups: Any) -> tuple[Source, Folding | None]:
        """The rows with what their folds follow from, and the folds."""
        folds = self._folds()
        if folds is None:
            if groups is not None:
                raise ValueError(f"groups= needs folds, and {type(self).__name__} has none: use ElasticNetCV")
            return rows, None
        folding, rows = folding_of(rows, folds, groups, 1, self.seed)
        if rows.n_rows is not None:
            check_n_folds(folding, rows.n_rows)
        return rows, folding

    def _without(self, fold: int) -> np.ndarray:
        """Weights and intercept of the model without a fold, (n_features + 1,)."""
        system = System(self.stats_.without_fold(fold), self.fit_intercept, vars(self).get("standardize", False))
        coefficients = system.coefficients(self._as_chosen(system))
        return np.append(coefficients[:, 0], system.intercepts(coefficients)[0])

    def _scan(self, rows: Source, folding: Folding | None, options: RunOptions) -> Reading[tuple[TargetSums, Report]]:
        if rows.n_features is not None and rows.n_features > SLOW:
            messages.warn(
                f"X has {rows.n_features:,} columns, and the time to solve for weights grows with the cube of that: "
                "snb.Ridge(solver='conjugate_gradients'), or fewer columns, take much less"
            )
        exact = self.exact is True
        if self.exact == "auto" and rows.n_rows is not None and rows.n_features is not None:
            exact = rows.n_rows * (rows.n_features + 1) ** 2 <= FEW_PRODUCTS
        elif self.exact == "auto":
            exact = rows.lazy  # blocks of unknown sizes, which cannot be cut into tiles
        scan = StatisticTask(TargetScan.asked(folding, exact, options.memory_limit))
        found, report = yield ReadRequest(scan, rows, options)
        stats = found.sums
        if rows.n_features is not None:
            row_checks.check_n_features(stats.n_features, rows.n_features, "its shape")
        return stats, report

    def _keep(self, stats: TargetSums, report: Report, decay: float = 1.0) -> None:
        self.stats_, self.report_, self.decay_ = stats, report, decay
        preparation.adopt_columns(self)
        self.n_features_in_ = stats.n_features

    def _finish(self) -> None:
        """Compute the weights from the sums."""
        row_checks.check_total_weight(self.stats_.total_weight)
        self._used = self.get_params(deep=False)
        system = self._system()
        if len(system.vanishing):
            names = messages.listed([self._name_of(j) for j in system.vanishing])
            messages.warn(f"values of {names} are so small that their squares are 0 in float64; give other units")
        coefficients = system.coefficients(self._solve(system))
        self._set_weights(coefficients, system.intercepts(coefficients))

    def _warn_of_units(self) -> None:
        """Warn where the penalty bears on a column of small deviation, and much less on one of a large deviation."""
        if not hasattr(self, "feature_names_in_") or self._used.get("standardize", False):
            return
        system, (squared, absolute) = self._system(), self._penalties()
        measured = system.kept[~system.are_indicators[system.kept]]
        deviations = system.deviations[measured]
        if len(measured) < 2 or not deviations.max() > UNITS * deviations.min():
            return
        variance, spread = deviations.min() ** 2, np.sqrt(system.target_variances.max())
        if not spread > 0.0:  # where all weights are 0
            return
        share = max(squared / (squared + variance), absolute / (deviations.min() * spread))
        if share > BEARING:
            small, large = (measured[int(end(deviations))] for end in (np.argmin, np.argmax))
            messages.warn(
                f"columns of X have very different scales: {self._name_of(small)!r} has the standard deviation "
                f"{deviations.min():.3g}, {self._name_of(large)!r} {deviations.max():.3g}, so the penalty affects one "
                "far more than the other; standardize=True penalises all columns alike"
            )

    def _system(self) -> System:
        self._check_sums()
        return System(self.stats_, self._used["fit_intercept"], self._used.get("standardize", False))

    @property
    def condition_number_(self) -> float:
        """Of the centred columns, each scaled to length 1: ``log10(condition_number_ ** 2)`` digits are lost."""
        if not hasattr(self, "stats_"):
            raise AttributeError(f"{type(self).__name__} has no 'condition_number_' without sums of products")
        return self._system().condition_number

    def _set_weights(self, coefficients: np.ndarray, intercepts: np.ndarray) -> None:
        one = len(intercepts) == 1
        self.__dict__.pop("residuals_", None)  # of other weights
        self.coef_ = coefficients[:, 0] if one else coefficients.T
        self.intercept_ = float(intercepts[0]) if one else intercepts

    def _check_sums(self) -> None:
        """Raise where the model has no sums to go on from."""
        check_is_fitted(self)
        if not hasattr(self, "stats_"):
            raise ValueError(
                f"{type(self).__name__} was fitted by conjugate gradients, which keep no sums; fit again, or with "
                "solver='products'"
            )

    def _name_of(self, column: int) -> str:
        names = preparation.names_of(self)
        return f"x{column}" if names is None else str(names[column])

    # ---- rows --------------------------------------------------------------------------------------------------------

    encoding_ = preparation.encoding
    layer_, label_ = preparation.layer, preparation.label

    def _opened(self, X: Any, *others: Any, labelled: Any = False) -> Source:
        check_is_fitted(self)
        rows = preparation.opened_as_fitted(self, X, *others, labelled=labelled)
        row_checks.check_n_features(rows.n_features, self.n_features_in_, type(self).__name__)
        return rows

    # ---- predictions -------------------------------------------------------------------------------------------------

    @property
    def _weights(self) -> tuple[np.ndarray, np.ndarray]:
        """Weights (n_features, n_targets) and intercepts (n_targets,)."""
        return np.ascontiguousarray(np.atleast_2d(self.coef_).T), np.atleast_1d(self.intercept_)

    @guesses.with_hints
    def predict(self, X: Rows, *, interval: float | None = None, out: Any = None) -> Any:
        """Predict numbers, (n_rows,) or (n_rows, n_targets): a NumPy array, or a lazy Dask array if X is one.

        Blocks are written to `out`, if given. With `interval`, such as 0.9, the result is (n_rows, 3): the prediction
        and the ends of an interval that holds the number for 90 % of rows like those held out, with equal tails. They
        come from residuals of held-out rows: see `calibrate`. Lower ends of Poisson, Gamma and Tweedie models are never
        below 0; those of squared errors may be, even where no y was, as may predictions.
        """
        rows = self._opened(X)
        weights, intercepts = self._weights
        width = None if len(intercepts) == 1 else len(intercepts)
        function = partial(_predicted, weights, intercepts, self._loss)
        if interval is not None:
            function, width = partial(_with_ends, function, self._intervals(interval)), 3
        return answer(function, rows, width, np.dtype(np.float64), out=out)

    def predict_one(self, record: Any) -> Any:
        """Predict the number of one record, or a list with that of each target; as `predict_one` of classifiers.

        Examples
        --------
        >>> import streamnb as snb
        >>> rows = [{"rooms": 1, "price": 2.0}, {"rooms": 2, "price": 4.0}, {"rooms": 3, "price": 6.0}]
        >>> model = snb.Ridge(alpha=0.0).fit(rows, "price")
        >>> round(model.predict_one({"rooms": 5}), 6)
        10.0
        """
        return one_record.answered(self, self._preparation, None, "predict", record).tolist()

    def calibrate(self, X: Rows, y: PerRow = None, sample_weight: PerRow = None) -> Self:
        """Learn intervals from residuals of rows that the model was not fitted to, without refitting it.

        `predict(X, interval=0.9)` then covers the number of a new row from the same distribution with a probability of
        0.9, whatever the model and the errors are like (split conformal prediction: Vovk, Gammerman and Shafer 2005;
        Lei et al. 2018). A change of the weights, such as by `refit()`, undoes it. CV forms of generalised models, and
        `ElasticNetCV` and `ForwardRegression` with ``intervals=True``, have intervals from their folds already: each
        row is predicted by the model without its fold.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`, but other rows, some hundred or more; they are read once. An interval of 90 % needs 19.

        Raises
        ------
        ValueError
            The model has several targets, or y is impossible for it.

        Examples
        --------
        >>> import numpy as np, streamnb as snb
        >>> rng = np.random.default_rng(0)
        >>> X = rng.normal(size=(2000, 1))
        >>> y = X[:, 0] + rng.normal(size=2000)
        >>> model = snb.Ridge().fit(X[:1000], y[:1000]).calibrate(X[1000:], y[1000:])
        >>> model.predict([[1.0]], interval=0.9).round(1)
        array([[ 0.9, -0.7,  2.7]])
        """
        return self._calibrated(self._opened(X, y, sample_weight, labelled=TARGETS))

    def _calibrated(self, rows: Source, offset: bool = False) -> Self:
        weights, intercepts = self._weights
        check_one_target(np.size(self.intercept_))
        asked = HeldOutResiduals.asked(self._loss, offset, None, np.vstack([weights, intercepts]))
        self.residuals_ = run(StatisticTask(asked), rows, RunOptions())[0].found()
        return self

    def _intervals(self, interval: float) -> Callable[[np.ndarray], np.ndarray]:
        """What adds the ends of intervals to predictions."""
        check_level(interval)
        check_one_target(np.size(self.intercept_))
        if self.residuals_ is not None:
            return self.residuals_.intervals(interval)
        name = type(self).__name__
        more = f", or fit {name}(intervals=True)" if "intervals" in self.get_params(deep=False) else ""
        raise ValueError(
            f"interval={interval!r} needs residuals of held-out rows, and this {name} has none: call "
            f"model.calibrate(X, y) with rows that it was not fitted to{more}"
        )

    @guesses.with_hints
    def evaluate(
        self,
        X: Rows,
        y: Any = None,
        sample_weight: PerRow = None,
        *,
        interval: float | None = None,
        groups: PerRow = None,
        by: Any = None,
        min_rows: int = MIN_ROWS,
    ) -> RegressionEvaluation:
        """Errors of the predictions, from one read of the rows.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        interval, groups, by, min_rows
            Confidence of intervals of metrics, and columns of groups and of slices, as in `snb.evaluate`.
        """
        return self._evaluated((X, y, sample_weight), None, EvaluationOptions(interval, groups, by, min_rows))

    def _evaluated(self, given: Any, offset: Any, options: EvaluationOptions) -> RegressionEvaluation:
        """Errors of predictions, deciles of them, and what else is asked for."""
        options, several = options.checked(), np.size(self.intercept_) > 1
        if several and options.given():
            raise ValueError("interval, groups and by are of models of one target: fit one for each")
        X, y, weight = given
        X, offset = with_column(X, offset, "offset")
        X, options = options.taken_from(X, y, weight, self.encoding_, getattr(self, "feature_names_in_", None))
        rows = self._opened(X, y, weight, labelled=TARGETS)
        self._warn_of_exposures(offset, weight)
        rows, slicing = options.opened(rows if offset is None else rows.with_columns(offset=offset))
        asked = JudgedNumbers.asked(
            np.vstack(self._weights),
            self._loss,
            offset is not None,
            residuals=self.residuals_,
            level=options.interval,
            grouped=options.groups is not None,
            slicing=slicing,
            whole=not several,
        )
        judged: JudgedNumbers = run(StatisticTask(asked), rows, RunOptions())[0]
        if options.groups is not None and judged.tallies[0].n_buckets == 1:
            raise ValueError(ONE_GROUP)
        return RegressionEvaluation.of(judged)

    def _remember_exposures(self, offset: Any) -> None:
        self.__dict__.pop("has_offset_", None)
        if offset is not None:
            self.has_offset_ = offset if isinstance(offset, str) else True

    def _warn_of_exposures(self, offset: Any, weight: Any) -> None:
        if self.has_offset_ and offset is None and weight is None:
            messages.warn(
                f"this {type(self).__name__} was fitted with offset=, and y is compared with its predictions for an "
                "exposure of 1; give offset=, or y / exposure with sample_weight=exposure"
            )

    def score(self, X: Rows, y: Any = None, sample_weight: PerRow = None) -> float:
        """R^2, the share of the variance of y that is explained; the mean over several targets."""
        return self._scored(self._opened(X, y, sample_weight, labelled=TARGETS))

    def _scored(self, rows: Source, offset: bool = False) -> float:
        """The mean share of the deviance that is explained."""
        asked = JudgedNumbers.asked(np.vstack(self._weights), self._loss, offset)
        return float(np.mean(RegressionEvaluation.of(run(StatisticTask(asked), rows, RunOptions())[0]).d2))

    def explain(self, X: Rows) -> Any:
        """Explain the prediction of one row by the contribution of each feature.

        Parameters
        ----------
        X : (1, n_features)
            One row, in any form that `predict` takes.

        Returns
        -------
        pandas.DataFrame
            With the columns "feature", "value", "weight" and "contribution" (and "target" where there are several);
            "(intercept)" first, then the largest contributions. They add up to the prediction.
        """
        pd, rows = pandas_for("explain"), self._opened(X)
        weights, intercepts = self._weights
        values = row_of(dense_values, rows, len(weights))
        names = np.array(["(intercept)", *(self._name_of(j) for j in range(len(weights)))], object)
        frames = []
        for k in range(weights.shape[1]):
            at = np.append(0, 1 + np.argsort(-np.abs(values * weights[:, k]), kind="stable"))
            columns = {"value": np.append(1.0, values)[at], "weight": np.append(intercepts[k], weights[:, k])[at]}
            frame = pd.DataFrame(
                {"feature": names[at], **columns, "contribution": columns["value"] * columns["weight"]}
            )
            frames.append(frame if weights.shape[1] == 1 else frame.assign(target=k))
        return pd.concat(frames, ignore_index=True)

    def drift(
        self, X: Rows, before: Rows | None = None, *, threshold: float = 0.2, ignore: Sequence[str] = ()
    ) -> Drift:
        """Report how new rows differ from the training rows; as `drift` of classifiers.

        Examples
        --------
        >>> import numpy as np, streamnb as snb
        >>> X = np.random.default_rng(0).normal(size=(500, 2))
        >>> snb.Ridge().fit(X, X[:, 0]).drift(X + [0.0, 1.0]).moved
        ['x1']
        """
        check_is_fitted(self)
        return drift(
            self,
            self._preparation,
            None if self.has_offset_ else self._profile(),
            self._opened,
            (X, before),
            threshold,
            ignore,
        )

    def _profile(self) -> ColumnProfile | None:
        return ColumnProfile.of(self.stats_.joined, self.n_features_in_) if hasattr(self, "stats_") else self._sums

    # ---- files -------------------------------------------------------------------------------------------------------

    def save(self, path: Any, *, stats: bool = True, meta: Any = None) -> None:
        """Write to one file, no pickle; read it with `snb.load`.

        With ``stats=False`` the file has the model alone, as a `PortableRegression`, which loads as fast as a
        `PortableModel`. `meta`, a dict, is kept as `meta_`.
        """
        check_is_fitted(self)
        if meta is not None:
            self.meta_ = checked_meta(meta)
        light = self._portable()
        if arguments.one_of("stats", stats, [True, False]):
            persistence.save(path, self, light if light.linear.weights.nbytes <= LIGHT else None)
        else:
            light.save(path)

    def _to_state(self) -> dict[str, Any]:
        fitted: dict[str, Any] = {"report_": asdict(self.report_)}
        if hasattr(self, "stats_"):
            fitted |= {"stats_": replace(self.stats_, encoding=None), "decay_": self.decay_}
        else:
            fitted |= {name: getattr(self, name) for name in self._kept_wide}
            fitted |= {} if self._sums is None else {"sums": self._sums}
        if self.residuals_ is not None:
            fitted["residuals_"] = self.residuals_
        return {"params": self._used, "fitted": fitted | preparation.state_of_rows(self)}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        params, fitted = persistence.parts(cls, state, params=dict[str, Any], fitted=dict[str, Any])
        self, fitted = cls(**params), persistence.known(cls, fitted, *_FITTED, "sums", *cls._kept_wide)
        self._check_params()
        self._n_threads = 1
        report = persistence.restored(Report, fitted["report_"])
        if "stats_" not in fitted:
            self._restore_wide(fitted)
            self._sums = checked_profile(fitted.get("sums"), self.n_features_in_)
            self.report_, self._used = report, self.get_params(deep=False)
            self._restore_residuals(fitted)
            preparation.restore_rows(self, fitted, StepRequest(cls.__name__), None, self.n_features_in_)
            return self
        stats, decay = fitted["stats_"], arguments.finite_number("decay_", fitted["decay_"], minimum=0.0)
        if not isinstance(stats, TargetSums) or decay > 1.0:
            raise ValueError(f"stats_ are of type {type(stats).__name__}, decay_ is {decay}")
        preparation.restore_rows(self, fitted, StepRequest(cls.__name__), None, stats.n_features)
        self._keep(stats, report, decay)
        self._finish()
        self._restore_residuals(fitted)
        return self

    def _restore_residuals(self, fitted: dict[str, Any]) -> None:
        if "residuals_" in fitted:
            self.residuals_ = persistence.part(fitted, "residuals_", Residuals)

    def _restore_wide(self, fitted: dict[str, Any]) -> None:
        """Restore a model without sums from a file."""
        weights, intercepts = np.atleast_2d(fitted["coef_"]), np.atleast_1d(fitted["intercept_"])
        if np.ndim(fitted["coef_"]) != np.ndim(fitted["intercept_"]) + 1:
            raise ValueError("coef_ should have one dimension more than intercept_")
        persistence.array(
            "coef_",
            weights,
            ["f8"],
            (len(intercepts), arguments.whole_number("n_features_in_", fitted["n_features_in_"])),
        )
        persistence.array("intercept_", intercepts, ["f8"], (None,))
        if not np.isfinite(weights).all() or not np.isfinite(intercepts).all():
            raise ValueError("coef_ and intercept_ should be finite")
        self.n_features_in_ = weights.shape[1]
        self._set_weights(weights.T, intercepts)
        self.alpha_ = arguments.finite_number("alpha_", fitted["alpha_"], minimum=0.0)
        self.n_passes_ = arguments.whole_number("n_passes_", fitted["n_passes_"])
        self.converged_ = arguments.one_of("converged_", fitted["converged_"], [True, False])

    def export(
        self, path: Any, *, dialect: str | None = None, table: str = "rows", keep: Sequence[str] | None = None
    ) -> None:
        """Write the weights, without sums, to a file that other programs can predict with.

        Parameters
        ----------
        path : path or URL
            "m.onnx": an ONNX graph (``pip install streamnb[onnx]``) with the input "rows", float32 (n_rows,
            n_features), or an input for each column of a table, (n_rows, 1), and the output "predictions", float64.
            "m.json": a list of weights for each target, intercepts and names of features; for a table, the scores of
            its values. "m.py": plain Python, whose ``predict(record)`` takes a dict. "m.sql": one query that scores the
            rows of a table, with the column "prediction".
        dialect, table, keep
            Of an .sql file, as for `LinearNB.export`.

        Raises
        ------
        ValueError
            The name has an unknown ending, or a column of the table is hashed or a text. Nothing is written then.
        ImportError
            onnx or sqlglot is not installed.

        Examples
        --------
        >>> import json, pathlib, tempfile, streamnb as snb
        >>> model = snb.Ridge(alpha=0.0).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.export(f"{folder}/m.json")
        ...     sorted(json.loads(pathlib.Path(folder, "m.json").read_text()))
        ['feature_names', 'format', 'intercepts', 'version', 'weights']
        """
        write(path, self._portable, scoring_of(dialect, table, keep))

    def to_sklearn(self) -> Any:
        """Convert to a fitted model of scikit-learn, which does not need this package.

        A LinearRegression, or for generalised models a PoissonRegressor, GammaRegressor or TweedieRegressor.

        Raises
        ------
        ValueError
            As for `export`.

        Examples
        --------
        >>> import streamnb as snb
        >>> model = snb.Ridge(alpha=0.0).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
        >>> model.to_sklearn().predict([[3.0]]).round(6)
        array([7.])
        """
        return sklearn_regression(self._portable())

    def _portable(self) -> PortableRegression:
        """The model without sums."""
        loss = self._loss
        return PortableRegression(self._exported(), loss.power, loss.link, self.residuals_, self.meta_)

    def _exported(self) -> PortableModel:
        """The model with a target in place of each class."""
        check_is_fitted(self)
        weights, intercepts = self._weights
        targets, names = np.arange(len(intercepts)), preparation.names_of(self)
        return PortableModel(targets, weights, intercepts, len(weights), names, encoding=self.encoding_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        return tags


def weights_without_folds(model: LinearRegressor) -> np.ndarray:
    """Weights of the models without each fold, at what the fit chose, (n_features + 1, n_folds), intercepts last."""
    return np.column_stack([model._without(fold) for fold in range(len(model.stats_.folds))])


def loss_of(model: LinearRegressor) -> Loss:
    """The loss of a regression."""
    return model._loss


def _predicted(weights: np.ndarray, intercepts: np.ndarray, loss: Loss, chunk: Any, survey: Any) -> np.ndarray:
    """The predictions of a checked block."""
    predicted = loss.mean(linear_scores(chunk, weights, intercepts))
    return predicted[:, 0] if weights.shape[1] == 1 else predicted


def _with_ends(predict: Callable, around: Callable, chunk: Any, survey: Any) -> np.ndarray:
    """The predictions of a checked block with the ends of their intervals."""
    return around(predict(chunk, survey))


def deviations_of_columns(model: LinearRegressor) -> np.ndarray | None:
    """Standard deviations of the columns over the rows of the fit, (n_features,), where they are known."""
    if hasattr(model, "stats_"):
        return model._system().deviations
    return None if model._sums is None or model._sums.variance is None else np.sqrt(model._sums.variance)

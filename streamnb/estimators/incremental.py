"""IncrementalClassifier: the base class of classifiers whose model follows from statistics that merge and subtract."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from streamnb.core import arguments, row_checks
from streamnb.core.arguments import PerRow, Rows
from streamnb.estimators import scan_fits
from streamnb.estimators.classifier import Classifier
from streamnb.estimators.parameters import learned
from streamnb.estimators.preparation import all_or_nothing, names_of_columns, opened_to_fit, shrink
from streamnb.models.linear import LinearModel
from streamnb.passes.contract import Report, RunOptions
from streamnb.scanning.class_scan import ClassScan


class IncrementalClassifier(Classifier):
    """A classifier whose model follows from sums over the rows, which can be added in parts and taken away again.

    Attributes
    ----------
    class_weight_ : None, "balanced" or {label: weight}
        The class weight of the last `refit`.
    decay_ : float
        The product of all decays since the first call of `partial_fit`.
    forgotten_ : tuple of str or int
        Keys of the `forget` requests since the last fit.
    """

    _learned: dict[str, Any]  # a cache that predictions may fill without setting attributes
    _memory_limit: int | None = None  # of the last fit
    _n_threads: int | None = None  # of the last fit
    _statistics = "ClassStats"  # the class of the statistics
    _saved: tuple[str, ...] = ("params", "fitted", "step")  # parts of the state in a file
    _keeps_batches = True  # False where statistics have no sums of parts of the rows
    _takes_indicator = False  # True where a row may have any number of labels
    _indicator_advice = "take snb.LinearNB, which has a model for each label"  # for the error message
    class_weight_: Any = None
    forgotten_: tuple[str | int, ...] = ()

    # ---- defined by a subclass ---------------------------------------------------------------------------------------

    def _task(self, classes: np.ndarray | None) -> ClassScan:
        """The scan that accumulates the statistics."""
        raise NotImplementedError

    @learned
    def _model(self) -> LinearModel:
        """The model that follows from the statistics."""
        raise NotImplementedError

    def _check_against(self, stats: Any) -> None:
        """Raise where parameters do not fit the data."""

    def _check_whole(self, stats: Any) -> None:
        """Raise where data are not enough for `fit`, though they may be for `partial_fit`."""

    def _warn(self) -> None:
        """Issue the warnings of `fit` about parameters, before the model is computed."""

    def _finish(self) -> None:
        """Compute everything that depends on parameters."""
        self._now("_model")

    # ---- fitting -----------------------------------------------------------------------------------------------------

    fit = scan_fits.fit
    partial_fit = scan_fits.partial_fit
    _scan = scan_fits.scan
    _keep = scan_fits.keep
    _now = scan_fits.now

    @learned
    def _weighted(self) -> Any:
        """The statistics, reweighted by `class_weight_`."""
        if self.class_weight_ is None:
            return self.stats_
        stats = self.stats_
        return stats.reweighted(arguments.class_factors(self.class_weight_, stats.classes, stats.weight))

    def _fitted_model(self) -> LinearModel:
        check_is_fitted(self, "stats_")
        return self._now("_model")

    def forget(self, X: Rows, y: PerRow = None, *, sample_weight: PerRow = None, key: str | int | None = None) -> Self:
        """Remove fitted rows from the model, exactly as if they had never been seen.

        Columns of a table that no row is left for are removed, too; its bins and rare values stay as they were learned.

        Sums do not identify rows. An error is raised if the result is impossible: negative rows or weight of a class, a
        sum of squares below 0 or too small for the sum, more nonzero values than weight, sums without weight, and the
        like. Rows that were never fitted, or are removed twice, may go unnoticed if enough other rows remain. Give a
        `key` so that no request is applied twice.

        Parameters
        ----------
        X, y
            As in `fit`.
        sample_weight : (n_rows,) or float, optional
            The current weight of the rows. It is required once `partial_fit` was given a `decay`: 1.0 for rows of the
            last call, the product of the later decays for others. This is exact if decays are powers of 1/2; otherwise,
            subtract the statistics of the rows, multiplied by the same decays.
        key : str or int, optional
            A name for this request, such as "request 17". Keys are kept in `forgotten_`, in pickles and in saved files,
            until the next `fit`. A key that was used before is an error, whatever the rows, and nothing is changed.
            Requests without a key are not recorded.

        Raises
        ------
        ValueError
            The key was used before, or the result is impossible; the message names the class and the feature. The model
            stays as it was.
        """
        check_is_fitted(self, "stats_")
        forgotten = self.forgotten_ if key is None else scan_fits.with_key(self.forgotten_, key)
        scan_fits.check_forgotten_weight(self, sample_weight)
        with all_or_nothing(self):
            rows = self._opened(X, y, sample_weight)
            self._check_params()
            stats, report = self._scan(rows, scan_fits.known_classes(self, None), False, RunOptions())
            self._keep(self.stats_ - stats, report, self.decay_)
            shrink(self)
            self.forgotten_ = forgotten
        return self

    def refit(self, **options: Any) -> Self:
        """Change parameters of the constructor or the weights of the classes, without reading data.

        Parameters
        ----------
        **options
            Parameters of the constructor; those not named stay as they are. And:
        class_weight : None, "balanced" or {label: weight}
            Multiplies the weight of each row by that of its class, as if fitted with this ``sample_weight``.
            "balanced": the total weight divided by K N_y; labels not named have 1. It holds until the next `fit`, or a
            `refit` with another one, and is kept as `class_weight_`; `stats_` stays as scanned.

        Raises
        ------
        ValueError, TypeError
            An argument is wrong or needs another scan: the message names it, and the model stays as it was.
        """
        check_is_fitted(self, "stats_")
        with all_or_nothing(self):
            if "class_weight" in options:
                class_weight = options.pop("class_weight")
                if class_weight is not None and getattr(self.stats_, "multilabel", False):
                    raise ValueError(
                        f"class_weight={class_weight!r} is for one label a row; give the rows sample_weight in fit"
                    )
                self.class_weight_ = arguments.check_class_weight(class_weight, self.classes_)
            self.set_params(**options)
            self._check_params()
            self._check_against(self.stats_)
            self._learned = {}
            if self.class_weight_ is not None:
                row_checks.check_total_weight(self._weighted.weight.sum())
                self._check_whole(self._weighted)
            self._finish()
        return self

    def drift(self, new: Any, n_features: int = 20) -> Any:
        """The features whose means changed most between the rows of this model and other rows; reads no data.

        Parameters
        ----------
        new : fitted classifier or ClassStats
            With the same columns, scanned in the same way.
        n_features : int
            The largest number of rows of the table.

        Returns
        -------
        pandas.DataFrame
            As from `ClassStats.drift`, with the names of the features.
        """
        check_is_fitted(self, "stats_")
        ours, theirs = names_of_columns(self), names_of_columns(new)
        if ours is not None and theirs is not None and not np.array_equal(ours, theirs):
            raise ValueError("new has features of other names; drift is of the same columns")
        return self.stats_.drift(getattr(new, "stats_", new), n_features, feature_names=ours)

    # ---- files and tags ----------------------------------------------------------------------------------------------

    _to_state = scan_fits.to_state
    _from_state = classmethod(scan_fits.from_state)

    def _check_loaded(self, state: dict[str, Any]) -> None:
        """Raise where parameters loaded from a file cannot have been used in the fit."""
        self._check_params()
        self._check_against(self.stats_)
        self._task(None)


def fitted_from(estimator: Any, stats: Any, report: Report, given: tuple[Any, Any, Any]) -> Any:
    """The estimator, fitted from existing statistics; `given` are X, y and weights, which are not read."""
    estimator._check_params()
    opened_to_fit(estimator, given)  # to remember the names of columns
    estimator._check_against(stats)
    estimator._check_whole(stats)
    estimator._keep(stats, report)
    estimator._finish()
    return estimator


@learned
def class_count_(self: Any) -> np.ndarray:
    """Weight of each class, (K,)."""
    return self._weighted.weight


@learned
def coef_(self: Any) -> np.ndarray:
    """Weights: one row for two classes, else one for each."""
    return self._model.coef_


@learned
def intercept_(self: Any) -> np.ndarray:
    """Intercepts, one for each row of `coef_`."""
    return self._model.intercept_


def predict_joint_log_proba(self: Any, X: Rows, *, out: Any = None) -> Any:
    """Joint log probabilities ln P(y) + ln P(x | y), (n_rows, K), without terms that depend on the row alone."""
    model, rows = self._ready(X)
    return model.answer(rows, unchanged, len(self.classes_), np.dtype(np.float64), out)


def is_complete(estimator: Any) -> bool:
    """Whether there are enough classes for a model."""
    return hasattr(estimator, "stats_") and (estimator.stats_.multilabel or len(estimator.classes_) > 1)


def check_complete(estimator: Any) -> None:
    """Raise where predictions wait for rows of a second class, or for the fit."""
    check_is_fitted(estimator, "stats_")
    if not is_complete(estimator):
        raise NotFittedError(
            f"{type(estimator).__name__} has seen one class only ({estimator.classes_.tolist()}); "
            "call partial_fit with rows of a second one before predicting"
        )


def check_two_classes(estimator: Any, stats: Any) -> None:
    """Raise where `fit` was given rows of one class only."""
    seen = stats.classes[stats.weight > 0]
    if len(seen) < 2 and not stats.multilabel:
        beside = "" if len(seen) == len(stats.classes) else ", apart from classes of weight 0"
        raise ValueError(
            f"y holds one class only ({seen.tolist()}){beside}; {type(estimator).__name__} needs at least 2 classes "
            "(partial_fit accepts one class and waits for a second)"
        )


def unchanged(margins: np.ndarray) -> np.ndarray:
    """Return margins as they are."""
    return margins

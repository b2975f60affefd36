"""IncrementalClassifier: what classifiers have whose model follows from statistics, which add up and subtract."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from streamnb.core import arguments, row_checks
from streamnb.core.types import PerRow, Rows
from streamnb.estimators import scan_fits
from streamnb.estimators.classifier import Classifier
from streamnb.estimators.learned import learned
from streamnb.estimators.preparation import names_of_columns
from streamnb.models.linear import LinearModel
from streamnb.passes.options import RunOptions
from streamnb.passes.report import Report
from streamnb.scanning.class_scan import ClassScan


class IncrementalClassifier(Classifier):
    """A classifier whose model follows from sums over the rows, which may come in parts and be taken away.

    Attributes
    ----------
    class_weight_ : None, "balanced" or {label: weight}
        What the last `refit` said.
    decay_ : float
        What rows were weighed down by in all since the first call of `partial_fit`.
    forgotten_ : tuple of str or int
        Keys of what `forget` was asked for since the last fit.
    """

    _learned: dict[str, Any]  # predicting fills it, and sets no attribute
    _memory_limit: int | None = None  # of the last fit
    _n_threads: int | None = None  # that too
    _statistics = "ClassStats"  # the class of what a scan leaves
    _takes_indicator = False  # True where a row may bear any number of labels
    _of_indicators = "take snb.LinearNB, which has a model for each label"  # what to do with one, where it is refused
    class_weight_: Any = None
    forgotten_: tuple[str | int, ...] = ()

    # ---- what a subclass says ----------------------------------------------------------------------------------------

    def _task(self, classes: np.ndarray | None) -> ClassScan:
        """What to accumulate."""
        raise NotImplementedError

    def _solved(self) -> LinearModel:
        """The model."""
        raise NotImplementedError

    def _check_against(self, stats: Any) -> None:
        """Refuse parameters that do not go with the data."""

    def _check_whole(self, stats: Any) -> None:
        """Refuse data that `fit` cannot do with, though `partial_fit` might."""

    def _warn(self) -> None:
        """Say of the parameters what `fit` says of them, where the model is not made yet."""

    def _settle(self) -> None:
        """Compute what depends on parameters."""
        self._now("_model")

    # ---- fitting -----------------------------------------------------------------------------------------------------

    fit = scan_fits.fit
    partial_fit = scan_fits.partial_fit
    _known_classes = scan_fits.known_classes
    _scan = scan_fits.scan
    _check_labels = scan_fits.check_labels
    _keep = scan_fits.keep
    _now = scan_fits.now

    @learned
    def _model(self) -> LinearModel:
        return self._solved()

    @learned
    def _weighted(self) -> Any:
        """The statistics with the weights of the classes."""
        if self.class_weight_ is None:
            return self.stats_
        stats = self.stats_
        return stats.reweighted(arguments.class_factors(self.class_weight_, stats.classes, stats.weight))

    def _fitted_model(self) -> LinearModel:
        check_is_fitted(self, "stats_")
        return self._now("_model")

    def _fit_from(self, stats: Any, report: Report, given: tuple[Any, Any, Any]) -> None:
        self._check_params()
        self._opened_to_fit(given)  # for the names of columns
        self._check_against(stats)
        self._check_whole(stats)
        self._keep(stats, report)
        self._settle()

    def forget(self, X: Rows, y: PerRow = None, *, sample_weight: PerRow = None, key: str | int | None = None) -> Self:
        """Take rows away that were fitted before, exactly as if they had never been seen.

        Sums do not know rows. Refused is what no rows could leave: fewer rows or less weight of a class than none, a
        sum of squares below 0 or too small for the sum, more values that are not 0 than weight, sums without weight,
        and the like. Rows that were never there, or go twice, may pass where enough others are left to hide them. That
        one request does not pass twice is what `key` is for.

        Parameters
        ----------
        X, y
            As in `fit`.
        sample_weight : (n_rows,) or float, optional
            What the rows count now. Once `partial_fit` was given a `decay` it must be said: 1.0 for rows of the last
            call, the product of the later decays for others. That is exact where decays are powers of 1/2; for any
            other, subtract the statistics of the rows, multiplied by the same decays.
        key : str or int, optional
            A name for this request, such as "request 17". Keys are kept in `forgotten_`, in pickles and in saved files,
            until the next `fit`: one that is there already is refused, whatever the rows, and nothing is changed. Rows
            without a key are not recorded.

        Raises
        ------
        ValueError
            The key was used before, or no rows could leave what would be left: the message names the class, and the
            feature. The model stays as it was.
        """
        check_is_fitted(self, "stats_")
        forgotten = self.forgotten_ if key is None else with_key(self.forgotten_, key)
        if sample_weight is None and self.decay_ != 1.0:
            raise ValueError(
                "sample_weight is not given, and partial_fit has weighed rows down by decay= since the first call; say "
                "what these rows count now, such as sample_weight=1.0 for those of the last call"
            )
        with self._all_or_nothing():
            rows = self._opened(X, y, sample_weight)
            stats, report = self._scan(rows, self._known_classes(None), False, RunOptions())
            self._keep(self.stats_ - stats, report, self.decay_)
            self.forgotten_ = forgotten
        return self

    def refit(self, **options: Any) -> Self:
        """Change parameters of the constructor, or the weights of the classes, without another look at the data.

        Parameters
        ----------
        **options
            Parameters of the constructor; those not named stay as they are. And:
        class_weight : None, "balanced" or {label: weight}
            The model of the rows with their weights times that of their class, as if fitted with that
            ``sample_weight``. "balanced": the total weight divided by K N_y; a label not named has 1. Holds until the
            next `fit`, or `refit` that says otherwise, and is kept as `class_weight_`; `stats_` stay as scanned.

        Raises
        ------
        ValueError, TypeError
            An argument is wrong or needs another scan: the message names it, and the model stays as it was.
        """
        check_is_fitted(self, "stats_")
        with self._all_or_nothing():
            if "class_weight" in options:
                self.class_weight_ = self._class_weight(options.pop("class_weight"))
            self.set_params(**options)
            self._check_params()
            self._check_against(self.stats_)
            self._learned = {}
            if self.class_weight_ is not None:
                row_checks.check_total_weight(self._weighted.weight.sum())
                self._check_whole(self._weighted)
            self._settle()
        return self

    def _class_weight(self, given: Any) -> Any:
        if given is not None and getattr(self.stats_, "multilabel", False):
            raise ValueError(f"class_weight={given!r} is for one label a row; give the rows sample_weight in fit")
        return arguments.check_class_weight(given, self.classes_)

    def drift(self, new: Any, n_features: int = 20) -> Any:
        """The features whose means have moved most from the rows of this model to those of another; reads no data.

        Parameters
        ----------
        new : fitted classifier or ClassStats
            Of the same columns, scanned alike.
        n_features : int
            How many rows the table has at most.

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

    # ---- the rest of the contract ------------------------------------------------------------------------------------

    def _to_state(self) -> dict[str, Any]:
        state = scan_fits._to_state(self)
        if self.forgotten_:
            state["fitted"]["forgotten_"] = self.forgotten_
        return state

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        self = scan_fits._from_state(cls, state)
        for key in state["fitted"].get("forgotten_", ()):
            self.forgotten_ = with_key(self.forgotten_, key)
        return self

    def _check_loaded(self, state: dict[str, Any]) -> None:
        """Refuse parameters that were none of such a fit."""
        self._check_params()
        self._check_against(self.stats_)
        self._task(None)


def fitted_from(estimator: Any, stats: Any, report: Report, given: tuple[Any, Any, Any]) -> Any:
    """The estimator, fitted to rows that were summed before; `given` are X, y and weights, which are not read."""
    estimator._fit_from(stats, report, given)
    return estimator


@learned
def class_count_(self: Any) -> np.ndarray:
    """Weight of each class, (K,)."""
    return self._weighted.weight


def predict_joint_log_proba(self: Any, X: Rows, *, out: Any = None) -> Any:
    """Joint logs ln P(y) + ln P(x | y), (n_rows, K), without terms that depend on the row alone."""
    model, rows = self._ready(X)
    return model.answer(rows, unchanged, len(self.classes_), np.dtype(np.float64), out)


def unchanged(margins: np.ndarray) -> np.ndarray:
    """Margins as they are."""
    return margins


def with_key(used: tuple[str | int, ...], key: Any) -> tuple[str | int, ...]:
    """The ledger with one more key; refuse what is none, or is there."""
    if isinstance(key, bool) or not isinstance(key, (str, int, np.integer)) or key == "":
        raise TypeError(f"key={key!r} should be the name of a request to forget rows, a str or an int")
    if key in used:
        raise ValueError(
            f"key={key!r} was forgotten before, as request {used.index(key) + 1} of {len(used)}; nothing is taken away "
            "twice: give rows that are to go as well a key of their own"
        )
    return (*used, key if isinstance(key, str) else int(key))

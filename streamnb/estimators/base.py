"""What all estimators have in common: one scan, statistics, and scikit-learn's contract on top."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from streamnb import _checks, persistence
from streamnb.data import sources
from streamnb.memory import check_memory_limit
from streamnb.model import LinearModel
from streamnb.report import Report
from streamnb.scanning import ScanPlan, run_scan
from streamnb.stats.class_stats import check_moments


class learned:
    """A fitted attribute: computed from the statistics when it is first asked for, kept until they change."""

    def __init__(self, compute: Callable[[Any], Any]):
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            return self
        if not hasattr(instance, "stats_"):
            raise AttributeError(f"{type(instance).__name__} has no {self._name!r} before fit")
        if self._name not in instance._learned:
            instance._learned[self._name] = self._compute(instance)
        return instance._learned[self._name]

    def __set__(self, instance: Any, value: Any) -> None:
        raise AttributeError(f"{self._name!r} follows from the statistics; change the parameters with refit(...)")


class ScanEstimator(BaseEstimator):
    """The scikit-learn contract around statistics: a subclass says what to scan, and what follows from it.

    Everything learned follows from `stats_`, so that rows may come in any parts and any order.
    """

    _learned: dict[str, Any]  # predicting fills it, and sets no attribute
    _memory_limit: int | None = None  # of the last fit
    _n_threads: int | None = None  # that too
    _takes_indicator = False  # True where a row may bear any number of labels

    # ---- what a subclass says ----------------------------------------------------------------------------------------

    def _plan(self, classes: np.ndarray | None) -> ScanPlan:
        """What to accumulate."""
        raise NotImplementedError

    def _check_params(self) -> None:
        """Refuse parameters that are wrong whatever the data."""

    def _check_whole(self, stats: Any) -> None:
        """Refuse data that `fit` cannot do with, though `partial_fit` might."""

    def _check_against(self, stats: Any) -> None:
        """Refuse parameters that do not go with the data."""

    # ---- fitting -----------------------------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        classes: Any = None,
        moments: Iterable[str] | None = (),
        progress: bool | None = None,
        n_threads: int | None = None,
        memory_limit: Any = None,
        client: Any = None,
        checkpoint: Any = None,
    ) -> Self:
        """Fit in one scan.

        Parameters
        ----------
        X : (n_rows, n_features)
            NumPy, SciPy sparse, Dask array, Zarr array or CSR group, a path to one, or a stream of chunks.
        y : (n_rows,) or, for `LinearNB`, (n_rows, n_labels)
            Labels: an array, or the name of one in the group of X. Streams bring their own. A 2-D y, dense or CSR, is
            an indicator of labels: each is set against the rest.
        sample_weight : (n_rows,), optional
            Counts as frequency.
        classes : array-like, optional
            All labels that may occur, now and in `partial_fit`; without it the set is open.
        moments : names, optional
            As in `scan`; None: "sum", "sum_sq", "nonzero" and "above". Kept in `stats_` beside what the parameters
            need, so that `refit` with others, such as another family, reads no data.
        progress : bool, optional
            Show a progress bar.
        n_threads : int, optional
            Threads that sum, and that solve for weights; as many as there are cores by default.
        memory_limit : int or str, optional
            Bytes that the tables of class sums may take, such as "4GB"; half of the free memory by default. See `scan`.
            Weights of sparse tables that would take more are computed for the columns at hand.
        client : dask.distributed.Client or cluster, optional
            A cluster that reads and sums, as in `scan`; the active one by default.
        checkpoint : path, optional
            A file that keeps what is summed, so that a fit that was broken off goes on from there; see `scan`.

        Raises
        ------
        ValueError, TypeError
            An argument or a value is wrong: the message names it.
        DataError
            Data cannot be read.
        MemoryError
            The tables would take more than `memory_limit`.
        """
        listed = _checks.check_classes(classes)
        with self._all_or_nothing():
            self._remember_names(X)
            run: dict[str, Any] = {"progress": progress, "n_threads": n_threads}
            run |= {"client": client, "checkpoint": checkpoint}
            limit = self._memory_limit = check_memory_limit(memory_limit)
            self._n_threads = n_threads
            stats, report = self._scan(X, y, sample_weight, listed, True, limit, check_moments(moments), **run)
            self._check_whole(stats)
            self.__dict__.pop("class_weight_", None)
            self._keep(stats, report)
            self._settle()  # now, so that later changes of parameters wait for refit
        return self

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        """A fit or refit that fails changes nothing."""
        before = dict(vars(self))
        try:
            yield
        except BaseException:  # an interrupt, too
            self.__dict__ = before
            raise

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        classes: Any = None,
        sample_weight: Any = None,
        *,
        decay: float = 1.0,
        progress: bool | None = None,
        n_threads: int | None = None,
        memory_limit: Any = None,
        client: Any = None,
    ) -> Self:
        """Add rows to those fitted before: the same result, to the last bit, as fitting all rows at once.

        With `classes` a label that is not listed is refused, in this call and all that follow. Without it, unlike
        in scikit-learn, new labels may appear at any time; those of a 2-D y as further columns at the right.

        Parameters
        ----------
        X, y, classes, sample_weight, progress, n_threads
            As in `fit`.
        decay : float, 0 < decay <= 1
            What all rows fitted before count from now on, times what they counted: once a call, however many rows it
            brings. Numbers of rows, such as `stats_.n_rows`, stay as they are, and a class whose weight has fallen
            below 2^-500 is as one that has none. `decay_` is the product so far, what rows of the first call count.
        """
        decay = _checks.finite_number("decay", decay)
        if not 0.0 < decay <= 1.0:
            raise ValueError(f"decay={decay!r} should be above 0 and at most 1; 1 forgets nothing")
        first = not hasattr(self, "stats_")
        listed = self._known(_checks.check_classes(classes))
        with self._all_or_nothing():
            if first:
                self._remember_names(X)
            run: dict[str, Any] = {"progress": progress, "n_threads": n_threads, "client": client}
            stats, report = self._scan(X, y, sample_weight, listed, first, check_memory_limit(memory_limit), **run)
            if not first:
                before = self.stats_ if decay == 1.0 else self.stats_ * decay
                stats = stats + (before.widened(len(stats.classes)) if self._takes_indicator else before)
            self._keep(stats, report, 1.0 if first else self.decay_ * decay)
        return self

    def _known(self, listed: np.ndarray | None) -> np.ndarray | None:
        """The closed set of labels for the next rows, None where it is open."""
        if not hasattr(self, "stats_") or not self.stats_.closed:
            return listed
        arranged = np.asarray if getattr(self.stats_, "multilabel", False) else np.sort  # columns have an order
        if listed is not None and not np.array_equal(arranged(listed), arranged(self.classes_)):
            raise ValueError(
                f"classes={_checks.listed(listed)} is not the same as on last call to partial_fit, was: "
                f"{_checks.listed(self.classes_)}; leave it out, or fit anew"
            )
        return self.classes_

    def _scan(
        self,
        X: Any,
        y: Any,
        weight: Any,
        classes: Any,
        first: bool,
        memory_limit: int | None = None,
        moments: tuple[str, ...] = (),
        **run: Any,
    ) -> tuple[Any, Report]:
        self._check_params()
        if not first:
            self._check_features(X, reset=False)
        plan = replace(self._plan(classes), memory_limit=memory_limit)
        plan = plan.with_moments(moments if first else self.stats_.moments)  # rows to come bring what is there
        stats, report = run_scan(plan, X, y, weight, **run)
        if not first:
            _checks.check_n_features(stats.n_features, self.n_features_in_, type(self).__name__)
        if getattr(stats, "multilabel", False) and not self._takes_indicator:
            raise ValueError(f"y is a 2-D indicator of labels; {type(self).__name__} takes one label a row")
        if not first and self._takes_indicator and stats.multilabel and len(stats.classes) < len(self.classes_):
            raise ValueError(
                f"y has {len(stats.classes)} columns and {len(self.classes_)} before; give one for each label"
            )
        self._check_against(stats)
        return stats, report

    def _keep(self, stats: Any, report: Report, decay: float = 1.0) -> None:
        self.stats_, self.report_, self.decay_ = stats, report, decay
        self.n_features_in_ = stats.n_features
        self.classes_ = stats.classes
        self._learned = {}

    def _settle(self) -> None:
        """Compute what depends on parameters."""

    def _remember_names(self, X: Any) -> None:
        self._check_params()
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self._check_features(X, reset=True)

    def _check_features(self, X: Any, *, reset: bool) -> None:
        """Let scikit-learn remember or compare the column names, where X has a shape to look at."""
        if sources.is_dask(X) and hasattr(X, "columns"):
            X = X._meta  # the data frame without its rows
        if hasattr(X, "shape") and len(X.shape) == 2 and not sources.is_dask(X):
            validate_data(self, X, reset=reset, skip_check_array=True)

    # ---- saving ------------------------------------------------------------------------------------------------------

    def save(self, path: Any) -> None:
        """Write parameters and statistics to one file, no pickle; read it with `snb.load`."""
        check_is_fitted(self, "stats_")
        persistence.save(path, self)

    def to_state(self) -> dict[str, Any]:
        fitted = {"stats_": self.stats_, "report_": asdict(self.report_), "decay_": self.decay_}
        if getattr(self, "class_weight_", None) is not None:
            fitted["class_weight_"] = self.class_weight_
        if hasattr(self, "feature_names_in_"):
            fitted["feature_names_in_"] = self.feature_names_in_
        return {"params": self.get_params(deep=False), "fitted": fitted}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        self, fitted = cls(**state["params"]), state["fitted"]
        self._keep(fitted["stats_"], Report(**fitted["report_"]), fitted.get("decay_", 1.0))
        if "class_weight_" in fitted:
            self.class_weight_ = fitted["class_weight_"]
        if "feature_names_in_" in fitted:
            self.feature_names_in_ = fitted["feature_names_in_"].astype(object)
        return self


class ScanClassifier(ClassifierMixin, ScanEstimator):
    """A classifier by a model that follows from the statistics."""

    class_weight_: Any = None  # what the last refit said

    def _solved(self) -> LinearModel:
        """The model."""
        raise NotImplementedError

    @learned
    def _model(self) -> LinearModel:
        return self._solved()

    @learned
    def _weighted(self) -> Any:
        """The statistics with the weights of the classes."""
        if self.class_weight_ is None:
            return self.stats_
        stats = self.stats_
        return stats.reweighted(_checks.class_factors(self.class_weight_, stats.classes, stats.weight))

    def _settle(self) -> None:
        _ = self._model

    def forget(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> Self:
        """Take rows away that were fitted before, exactly as if they had never been seen.

        Parameters
        ----------
        X, y
            As in `fit`.
        sample_weight : (n_rows,) or float, optional
            What the rows count now. Once `partial_fit` was given a `decay` it must be said: 1.0 for rows of the last
            call, the product of the later decays for others. That is exact where decays are powers of 1/2; for any
            other, subtract the statistics of the rows, multiplied by the same decays.

        Raises
        ------
        ValueError
            There are fewer such rows, or they have another weight.
        """
        check_is_fitted(self, "stats_")
        if sample_weight is None and self.decay_ != 1.0:
            raise ValueError(
                "sample_weight is not given, and partial_fit has weighed rows down by decay= since the first call; say "
                "what these rows count now, such as sample_weight=1.0 for those of the last call"
            )
        stats, report = self._scan(X, y, sample_weight, self._known(None), False)
        self._keep(self.stats_ - stats, report, self.decay_)
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
                _checks.check_total_weight(self._weighted.weight.sum())
                self._check_whole(self._weighted)
            self._settle()
        return self

    def _class_weight(self, given: Any) -> Any:
        if given is not None and getattr(self.stats_, "multilabel", False):
            raise ValueError(f"class_weight={given!r} is for one label a row; give the rows sample_weight in fit")
        return _checks.check_class_weight(given, self.classes_)

    # ---- predicting --------------------------------------------------------------------------------------------------

    def predict(self, X: Any, *, out: Any = None) -> Any:
        """Labels, (n_rows,). The answer is of the kind of X: NumPy, or lazy Dask for Dask; `out` takes blocks."""
        return self._ready(X).predict(X, out=out)

    def predict_proba(self, X: Any, *, out: Any = None) -> Any:
        """Class probabilities, (n_rows, K)."""
        return self._ready(X).predict_proba(X, out=out)

    def predict_log_proba(self, X: Any, *, out: Any = None) -> Any:
        """Logs of the class probabilities, (n_rows, K)."""
        return self._ready(X).predict_log_proba(X, out=out)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Accuracy; y may also be the name of an array beside X, as in `fit`."""
        return self._ready(X).score(X, y, sample_weight)

    def _ready(self, X: Any) -> LinearModel:
        check_is_fitted(self, "stats_")
        self._check_features(X, reset=False)
        return self._model

    # ---- the rest of the contract ------------------------------------------------------------------------------------

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class NaiveBayes(ScanClassifier):
    """A classifier whose model's margins are ln P(y) + ln P(x | y)."""

    @learned
    def class_count_(self) -> np.ndarray:
        """Weight of each class, (K,)."""
        return self._weighted.weight

    def predict_joint_log_proba(self, X: Any, *, out: Any = None) -> Any:
        """Joint logs ln P(y) + ln P(x | y), (n_rows, K), without terms that depend on the row alone."""
        model = self._ready(X)
        return model.answer(X, _unchanged, len(self.classes_), np.dtype(np.float64), out)


def _unchanged(margins: np.ndarray) -> np.ndarray:
    return margins


def logs(values: np.ndarray) -> np.ndarray:
    """Natural logarithms; -inf for 0."""
    with np.errstate(divide="ignore"):
        return np.log(values)

"""Gaussian naive Bayes with variances of each class, whose scores are quadratic."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from streamnb.core import arguments, persistence
from streamnb.estimators import incremental
from streamnb.estimators.incremental import IncrementalClassifier
from streamnb.estimators.parameters import learned, logs, number_from_0
from streamnb.models.linear import LinearModel
from streamnb.models.quadratic import QuadraticModel
from streamnb.passes.contract import Reading
from streamnb.problem.schemes import Joint
from streamnb.rows.preparing import RowOptions
from streamnb.rows.source import Source
from streamnb.scanning.class_scan import ClassScan


@persistence.register
class GaussianNB(IncrementalClassifier):
    """Gaussian naive Bayes: ``ln P(x, y) = ln P(y) - sum_j [ln(2 pi v_yj) + (x_j - m_yj)^2 / v_yj] / 2``.

    Like scikit-learn's class of this name, with means and variances from exact sums, free of cancellation, for dense
    and sparse rows. Weights count as frequencies everywhere, including `epsilon_`, where scikit-learn ignores them;
    `epsilon_` is computed from all rows, where scikit-learn's `partial_fit` uses the last ones.

    Parameters
    ----------
    priors : None, "uniform" or (K,)
        Class probabilities in the order of `classes_`; None: shares of the training weight.
    var_smoothing : float
        This share of the largest variance of a feature is added to all variances.

    Attributes
    ----------
    classes_ : (K,) labels, sorted
    class_count_, class_prior_ : (K,)
        Weight and probability of each class.
    theta_, var_ : (K, n_features)
        Means m, and variances v including `epsilon_`. A variance that stays 0 is scored as 1e-15 of the largest. These
        and `class_prior_` are float32 where the first rows were a float32 array in memory, as in scikit-learn;
        predictions use the same numbers in float64.
    epsilon_ : float
        The number added to each variance.
    stats_ : ClassStats
        The statistics, which are all that is kept of the data.
    n_features_in_ : int
    feature_names_in_ : (n_features,) str
        Only where X is a data frame with string column names.
    report_ : Report
        Rows, bytes, blocks and seconds of the last scan.

    Examples
    --------
    >>> import streamnb as snb
    >>> model = snb.GaussianNB().fit([[2.0], [3.0], [7.0], [9.0]], ["cat", "cat", "dog", "dog"])
    >>> model.predict([[1.0], [8.0]]).tolist(), model.theta_.tolist()
    (['cat', 'dog'], [[2.5], [8.0]])
    """

    _saved = (*IncrementalClassifier._saved, "dtype")
    _checks: ClassVar = {"var_smoothing": number_from_0}
    class_count_ = incremental.class_count_
    predict_joint_log_proba = incremental.predict_joint_log_proba
    _dtype: np.dtype = np.dtype(np.float64)  # of public attributes

    def __init__(self, *, priors: Any = None, var_smoothing: float = 1e-9):
        self.priors = priors
        self.var_smoothing = var_smoothing

    def _check_params(self) -> None:
        super()._check_params()
        if self.priors is not None and not isinstance(self.priors, str):
            n_classes = len(np.atleast_1d(np.asarray(self.priors, dtype=np.float64)))
            arguments.check_priors(self.priors, np.arange(n_classes), np.ones(n_classes))

    def _check_against(self, stats: Any) -> None:
        if stats.closed:  # an open set of classes may still grow to match the priors
            arguments.check_priors(self.priors, stats.classes, stats.weight)

    def _task(self, classes: np.ndarray | None) -> ClassScan:
        return ClassScan(("sum", "sum_sq"), RowOptions(), classes)

    def _scan(self, rows: Source, classes: Any, first: bool, *more: Any) -> Reading[Any]:
        scanned = yield from super()._scan(rows, classes, first, *more)
        if first:
            self._dtype = np.dtype(np.float32 if rows.dtype == np.float32 else np.float64)
        return scanned

    def _finish(self) -> None:
        self._now("_prior"), self._now("_variance")

    @learned
    def class_prior_(self) -> np.ndarray:
        """Class probabilities, (K,)."""
        return self._shown(self._prior)

    @learned
    def theta_(self) -> np.ndarray:
        """Mean of each feature in each class, (K, n_features)."""
        return self._shown(self._mean)

    @learned
    def var_(self) -> np.ndarray:
        """Variance of each feature in each class, (K, n_features)."""
        return self._shown(self._variance)

    def _shown(self, values: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore"):
            return values.astype(self._dtype, copy=False)

    @learned
    def _prior(self) -> np.ndarray:
        return arguments.check_priors(self.priors, self.classes_, self.class_count_ / self.class_count_.sum())

    @learned
    def _mean(self) -> np.ndarray:
        return self._weighted.sum / np.where(self.class_count_ > 0, self.class_count_, 1.0)[:, None]

    @learned
    def _within(self) -> np.ndarray:
        return self._weighted.scatter() / np.where(self.class_count_ > 0, self.class_count_, 1.0)[:, None]

    @learned
    def _largest_variance(self) -> float:
        """The largest variance of a feature over all rows, whatever their class."""
        share = self.class_count_ / self.class_count_.sum()
        return float((share @ (self._within + (self._mean - share @ self._mean) ** 2)).max())

    @learned
    def epsilon_(self) -> float:
        """The number added to each variance."""
        return self.var_smoothing * self._largest_variance

    @learned
    def _variance(self) -> np.ndarray:
        return self._within + self.epsilon_

    @learned
    def _model(self) -> LinearModel:
        return QuadraticModel.of(
            self._mean,
            self._variance,
            logs(self._prior),
            self._largest_variance,
            classes_=self.classes_,
            scheme=Joint(),
        )

    def _to_state(self) -> dict[str, Any]:
        return {**super()._to_state(), "dtype": self._dtype.name}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        self = super()._from_state(state)
        self._dtype = np.dtype(arguments.one_of("dtype", state.get("dtype", "float64"), ["float32", "float64"]))
        return self

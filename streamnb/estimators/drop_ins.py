"""Naive Bayes of counts, presence, rates and normal numbers, with scikit-learn's parameters, attributes and results."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np

from streamnb.core import arguments, messages, persistence
from streamnb.estimators.incremental import IncrementalClassifier
from streamnb.estimators.parameters import Check, learned, logs, number_from_0, optional
from streamnb.models.linear import LinearModel, OddsModel, sums_of_logs
from streamnb.models.quadratic import QuadraticModel
from streamnb.passes.contract import Reading
from streamnb.problem.schemes import Joint
from streamnb.rows.boundary import Domain
from streamnb.rows.preparing import RowOptions
from streamnb.rows.source import Source
from streamnb.scanning.class_scan import ClassScan

LEAST_ALPHA = 1e-10  # lower bound of alpha unless force_alpha, as in scikit-learn


def _check_bool(name: str, value: Any) -> None:
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name}={value!r} should be True or False")


class DiscreteNB(IncrementalClassifier):
    """Smoothed counts, with the parameters and attributes of `MultinomialNB` that all of these models share."""

    _checks: ClassVar[Mapping[str, Check]] = {"force_alpha": _check_bool, "fit_prior": _check_bool}
    _has_decision_function, _gives_joint = False, True

    def __init__(self, *, alpha: Any = 1.0, force_alpha: bool = True, fit_prior: bool = True, class_prior: Any = None):
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior

    def _task(self, classes: np.ndarray | None) -> ClassScan:
        return ClassScan(("sum",), RowOptions(), classes, Domain(f"{type(self).__name__} (input X)", 0.0))

    def _check_params(self) -> None:
        super()._check_params()
        if np.ndim(self.alpha) == 0:
            arguments.finite_number("alpha", self.alpha, minimum=0.0)
        else:
            alpha = np.asarray(self.alpha, dtype=np.float64)
            if alpha.ndim != 1:
                raise ValueError(f"alpha has shape {alpha.shape}; it should be a number, or one for each feature")
            wrong = np.flatnonzero(~(np.isfinite(alpha) & (alpha >= 0)))
            if wrong.size:
                raise ValueError(
                    f"All values in alpha must be greater than 0. alpha[{wrong[0]}]={alpha[wrong[0]]}; give a finite "
                    "number of at least 0 for each feature"
                )
        if self.class_prior is not None:
            prior = np.asarray(self.class_prior, dtype=np.float64)
            if prior.ndim != 1 or not np.isfinite(prior).all() or (prior < 0).any() or not prior.any():
                raise ValueError(f"class_prior={self.class_prior!r}; priors must be non-negative, finite, not all 0")

    def _check_against(self, stats: Any) -> None:
        if np.ndim(self.alpha) and len(self.alpha) != stats.n_features:
            raise ValueError(
                "When alpha is an array, it should contains `n_features`. "
                f"Got {len(self.alpha)} elements instead of {stats.n_features}."
            )
        if stats.closed:  # an open set of classes may still grow to match the prior
            self._check_prior(len(stats.classes))

    def _finish(self) -> None:
        super()._finish()
        self._now("class_log_prior_")

    def _warn(self) -> None:
        self._now("_alpha")

    def _check_prior(self, n_classes: int) -> None:
        if self.class_prior is not None and len(self.class_prior) != n_classes:
            raise ValueError(
                f"class_prior has {len(self.class_prior)} entries; "
                f"Number of priors must match number of classes: {n_classes}"
            )

    @learned
    def _alpha(self) -> Any:
        alpha = float(self.alpha) if np.ndim(self.alpha) == 0 else np.asarray(self.alpha, dtype=np.float64)
        if self.force_alpha or np.min(alpha) >= LEAST_ALPHA:
            return alpha
        warnings.warn(
            f"alpha too small will result in numeric errors, setting alpha = {LEAST_ALPHA:.1e}. "
            "Use `force_alpha=True` to keep alpha unchanged.",
            messages.StreamnbWarning,
            stacklevel=2,
        )
        return np.maximum(alpha, LEAST_ALPHA)

    @learned
    def class_log_prior_(self) -> np.ndarray:
        """Log class probabilities, (K,)."""
        n_classes = len(self.classes_)
        self._check_prior(n_classes)
        if self.class_prior is not None:
            return logs(np.asarray(self.class_prior, dtype=np.float64))
        if self.fit_prior:
            return logs(self.class_count_) - np.log(self.class_count_.sum())
        return np.full(n_classes, -np.log(n_classes))

    def _linear(self, weights: np.ndarray, intercept: np.ndarray) -> LinearModel:
        """The model with these weights, (K, n_features)."""
        return LinearModel(self.classes_, np.ascontiguousarray(weights.T), intercept, Joint())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.classifier_tags.poor_score = True
        return tags


@persistence.register
class MultinomialNB(DiscreteNB):
    """Multinomial naive Bayes: ``ln P(x, y) = ln P(y) + sum_j x_j ln p_yj``, like scikit-learn's class of this name.

    With ``p_yj = (S_yj + alpha_j) / sum_i (S_yi + alpha_i)`` from the weighted class sums S.

    Parameters
    ----------
    alpha : float or (n_features,)
        Pseudo-counts. With 0, an event that never occurred is impossible: its log probability is -inf, a row that is
        impossible under every class has probabilities of NaN, and the model is not exported.
    force_alpha : bool
        If False, an alpha below 1e-10 is raised to 1e-10, with a warning.
    fit_prior : bool
        Class probabilities are shares of the training weight; if False, all are equal.
    class_prior : (K,), optional
        Class probabilities in the order of `classes_`, used as given.

    Attributes
    ----------
    classes_ : (K,) labels, sorted
    class_count_, class_log_prior_ : (K,)
        Weight of each class, and log class probabilities.
    feature_count_, feature_log_prob_ : (K, n_features)
        S and ln p.
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
    >>> model = snb.MultinomialNB().fit([[2, 0], [3, 1], [0, 4]], ["cat", "cat", "dog"])
    >>> model.predict([[3, 0], [0, 3]]).tolist()
    ['cat', 'dog']
    """

    @learned
    def feature_count_(self) -> np.ndarray:
        """Weighted sum of each feature in each class, (K, n_features)."""
        return self._weighted.sum

    @learned
    def feature_log_prob_(self) -> np.ndarray:
        """Log probability of each feature by class, (K, n_features)."""
        return _log_shares(self.feature_count_ + self._alpha)

    @learned
    def _model(self) -> LinearModel:
        return self._linear(self.feature_log_prob_, self.class_log_prior_)


@persistence.register
class ComplementNB(DiscreteNB):
    """Complement naive Bayes (Rennie et al. 2003): ``score_y = sum_j x_j w_yj``, like scikit-learn's.

    With ``w_yj = -ln q_yj``, ``q_yj = (S_.j - S_yj + alpha_j) / sum_i (S_.i - S_yi + alpha_i)``; class
    probabilities are used only where there is a single class.

    Parameters
    ----------
    alpha, force_alpha, fit_prior, class_prior
        As in `MultinomialNB`.
    norm : bool
        Divide the weights of each class by their sum.

    Attributes
    ----------
    classes_, class_count_, class_log_prior_, feature_count_, stats_, report_, n_features_in_, feature_names_in_
        As in `MultinomialNB`.
    feature_all_ : (n_features,)
        Sums over all classes.
    feature_log_prob_ : (K, n_features)
        w.

    Examples
    --------
    >>> import streamnb as snb
    >>> model = snb.ComplementNB().fit([[2, 0], [3, 1], [0, 4]], ["cat", "cat", "dog"])
    >>> model.predict([[3, 0], [0, 3]]).tolist()
    ['cat', 'dog']
    """

    _checks: ClassVar = {**DiscreteNB._checks, "norm": _check_bool}
    feature_count_ = MultinomialNB.feature_count_

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: Any = None,
        norm: bool = False,
    ):
        super().__init__(alpha=alpha, force_alpha=force_alpha, fit_prior=fit_prior, class_prior=class_prior)
        self.norm = norm

    @learned
    def feature_all_(self) -> np.ndarray:
        """Weighted sum of each feature, (n_features,)."""
        return self.feature_count_.sum(axis=0)

    @learned
    def feature_log_prob_(self) -> np.ndarray:
        """Weights of each class, (K, n_features)."""
        log_shares = _log_shares(np.maximum(_of_others(self.feature_count_), 0.0) + self._alpha)
        if not self.norm:
            return -log_shares
        infinite = np.isneginf(log_shares)  # outweighs all finite ones
        log_shares = np.where(infinite.any(axis=1, keepdims=True), infinite, log_shares)
        total = log_shares.sum(axis=1, keepdims=True)
        return log_shares / np.where(total == 0, 1.0, total)

    @learned
    def _model(self) -> LinearModel:
        alone = len(self.classes_) == 1
        absent = (self.stats_.rows > 0) & (self.class_count_ == 0.0)  # but classes to come are as in scikit-learn
        even = np.where(absent, -np.inf, 0.0)
        return self._linear(self.feature_log_prob_, self.class_log_prior_ if alone else even)


@persistence.register
class BernoulliNB(DiscreteNB):
    """Bernoulli naive Bayes of presence, x > binarize, like scikit-learn's class of this name.

    ``ln P(x, y) = ln P(y) + sum_j [x_j ln p_yj + (1 - x_j) ln(1 - p_yj)]``, ``p_yj = (S_yj + alpha_j) / (N_y +
    2 alpha_j)``, where S is the weight of the rows of a class in which the feature is present.

    Parameters
    ----------
    alpha, force_alpha, fit_prior, class_prior
        As in `MultinomialNB`.
    binarize : float or None
        A feature is present where x > binarize, which may be negative; None: X already holds values from 0 to 1.

    Attributes
    ----------
    classes_, class_count_, class_log_prior_, stats_, report_, n_features_in_, feature_names_in_
        As in `MultinomialNB`.
    feature_count_, feature_log_prob_ : (K, n_features)
        S and ln p.

    Examples
    --------
    >>> import streamnb as snb
    >>> model = snb.BernoulliNB().fit([[2, 0], [3, 1], [0, 4]], ["cat", "cat", "dog"])
    >>> model.predict([[3, 0], [0, 3]]).tolist()
    ['cat', 'dog']
    """

    _checks: ClassVar = {**DiscreteNB._checks, "binarize": optional(arguments.finite_number)}

    def __init__(
        self,
        *,
        alpha: Any = 1.0,
        force_alpha: bool = True,
        binarize: float | None = 0.0,
        fit_prior: bool = True,
        class_prior: Any = None,
    ):
        super().__init__(alpha=alpha, force_alpha=force_alpha, fit_prior=fit_prior, class_prior=class_prior)
        self.binarize = binarize

    def _check_against(self, stats: Any) -> None:
        super()._check_against(stats)
        if self.binarize is None and "sum" in stats.tables:
            return
        scanned = stats.options.binarize if "above" in stats.tables else None
        if scanned != self.binarize:
            raise ValueError(f"binarize={self.binarize!r} is applied in the scan, which had {scanned!r}; use fit")

    def _task(self, classes: np.ndarray | None) -> ClassScan:
        if self.binarize is None:
            return ClassScan(("sum",), RowOptions(), classes, Domain("BernoulliNB(binarize=None)", 0.0, 1.0))
        return ClassScan(("above",), RowOptions(binarize=self.binarize), classes)

    @learned
    def feature_count_(self) -> np.ndarray:
        """Weight of the rows in which each feature is present, (K, n_features)."""
        return self._weighted.sum if self.binarize is None else self._weighted.above

    @learned
    def feature_log_prob_(self) -> np.ndarray:
        """Log probability of presence, (K, n_features)."""
        return self._log_share(self.feature_count_)

    def _log_share(self, counts: np.ndarray) -> np.ndarray:
        smoothed = counts + self._alpha, self.class_count_[:, None] + 2.0 * self._alpha
        return logs(smoothed[0]) - np.log(np.where(smoothed[1] > 0, smoothed[1], 1.0))

    @learned
    def _model(self) -> LinearModel:
        absence = self._log_share(np.maximum(self.class_count_[:, None] - self.feature_count_, 0.0))
        zeros = sums_of_logs(absence)
        options = {} if self.binarize is None else {"options": self.stats_.options, "moments": {"above": None}}
        return OddsModel.of(self.classes_, self.feature_log_prob_, absence, zeros, self.class_log_prior_, **options)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = self.binarize is None
        return tags


@persistence.register
class PoissonNB(DiscreteNB):
    """Poisson naive Bayes: ``ln P(x, y) = ln P(y) + sum_j (x_j ln m_yj - m_yj)``, without the term ln x_j!.

    With ``m_yj = (S_yj + alpha_j m_j) / (N_y + alpha_j)``: alpha pseudo-rows at the mean m of all rows. Decisions are
    those of ``LinearNB("poisson", smoothing=alpha)`` without a penalty. scikit-learn has no such model.

    Parameters
    ----------
    alpha : float or (n_features,)
        Number of pseudo-rows. With 0, a feature that never occurred in a class is impossible in it.
    force_alpha, fit_prior, class_prior
        As in `MultinomialNB`.

    Attributes
    ----------
    classes_, class_count_, class_log_prior_, feature_count_, stats_, report_, n_features_in_, feature_names_in_
        As in `MultinomialNB`.
    rate_ : (K, n_features)
        m_yj. A feature that never occurred has rate 0 in all classes, and adds nothing to any score.

    Examples
    --------
    >>> import streamnb as snb
    >>> model = snb.PoissonNB().fit([[2, 0], [3, 1], [0, 4]], ["cat", "cat", "dog"])
    >>> model.predict([[3, 0], [0, 3]]).tolist()
    ['cat', 'dog']
    """

    feature_count_ = MultinomialNB.feature_count_

    @learned
    def rate_(self) -> np.ndarray:
        """Smoothed mean of each feature in each class, (K, n_features)."""
        sums, weight = self.feature_count_, self.class_count_
        pseudo_rows = weight[:, None] + self._alpha
        return (sums + self._alpha * (sums.sum(axis=0) / weight.sum())) / np.where(pseudo_rows > 0, pseudo_rows, 1.0)

    @learned
    def _model(self) -> LinearModel:
        rate = self.rate_
        weights = np.where(self.feature_count_.any(axis=0), logs(rate), 0.0)
        return self._linear(weights, self.class_log_prior_ - rate.sum(axis=1))


def _log_shares(counts: np.ndarray) -> np.ndarray:
    """Log shares of each row; -inf for all of an empty row."""
    total = counts.sum(axis=1, keepdims=True)
    return logs(counts) - np.log(np.where(total > 0, total, 1.0))


def _of_others(counts: np.ndarray) -> np.ndarray:
    """Sums over all classes except each one, (K, n_features); added up, as subtraction would lose light classes."""
    nothing = np.zeros((1, counts.shape[1]))
    before, after = np.cumsum(counts, axis=0), np.cumsum(counts[::-1], axis=0)[::-1]
    return np.vstack([nothing, before[:-1]]) + np.vstack([after[1:], nothing])


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
    _has_decision_function, _gives_joint = False, True
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

"""LinearNB: one scan, one set of options, one linear model."""

from dataclasses import asdict
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from streamnb import _checks, persistence
from streamnb.data import sources
from streamnb.data.chunk import Domain
from streamnb.families import Family, as_family
from streamnb.model import LinearModel
from streamnb.penalties import Penalty, as_penalty
from streamnb.scanning import Report, ScanPlan, run_scan
from streamnb.schemes import SCHEMES
from streamnb.solving import solve
from streamnb.stats.class_stats import ClassStats, RowOptions


def _takes_any_value_or_is_fitted(estimator: "LinearNB") -> bool:
    # scikit-learn's checks fit whatever has these methods on negative data, even where positive_only says not to
    return hasattr(estimator, "stats_") or not as_family(estimator.family).nonnegative


def _has_probabilities(estimator: "LinearNB") -> bool:
    return estimator.scheme != "ovo" or len(getattr(estimator, "classes_", ())) == 2


class _Parameter:
    """A constructor parameter that is no attribute: scikit-learn takes whatever has `transform` for a transformer."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        raise AttributeError(f"{self._name!r} is a parameter, not a method; read it from get_params()")

    def __set__(self, instance: Any, value: Any) -> None:
        vars(instance)[self._name] = value


@persistence.register
class LinearNB(ClassifierMixin, BaseEstimator):
    """Regularised naive linear Bayes classifier, fitted in one scan of data of any size.

    Parameters
    ----------
    family : {"multinomial", "poisson", "bernoulli", "gaussian"} or Family
        Distribution of each feature given the class.
    penalty : None, L1(tau), L2(tau), TopK(k), Separable(derivative, tau) or a sum of them
        With one tau each; (6.2), Shishkova 2016.
    scheme : {"joint", "ovr", "ovo", "reference"}
        All classes against their pooled model, each against the rest, every pair, or each against one named class.
        Two classes make one problem. `predict_proba` does not exist for ovo.
    reference : label
        The named class of scheme="reference".
    smoothing : float
        Bernoulli: Beta(s, s); multinomial: alpha = s; Gaussian: none; else s pseudo-rows at the mean of all rows.
    binarize : float
        For Bernoulli a feature is present where x > binarize.
    transform : {None, "binary", "log1p", "sqrt"}
        Applied to each value.
    normalize : {None, "l1", "l2"}
        Then each row is divided by its length.
    idf : bool
        Then feature j is multiplied by ln((1 + N) / (1 + df_j)) + 1, from the training rows.
    priors : None, "uniform" or (K,)
        Class probabilities; None: shares of the training weight.

    Attributes
    ----------
    classes_ : (K,) labels, sorted
    coef_ : (1, n_features) for two classes; else (K, n_features), (K - 1, ..) for reference, (K(K - 1)/2, ..) for ovo
    intercept_ : one for each row of coef_
    stats_ : ClassStats
        All that was kept of the data.
    n_features_in_ : int
    feature_names_in_ : (n_features,) str
        Only where X is a data frame with string column names.
    report_ : Report
        Rows, bytes, blocks and seconds of the last scan.
    """

    transform = _Parameter()

    def __init__(
        self,
        family: Any = "multinomial",
        penalty: Penalty | None = None,
        *,
        scheme: str = "joint",
        reference: Any = None,
        smoothing: float = 1.0,
        binarize: float = 0.0,
        transform: str | None = None,
        normalize: str | None = None,
        idf: bool = False,
        priors: Any = None,
    ):
        self.family = family
        self.penalty = penalty
        self.scheme = scheme
        self.reference = reference
        self.smoothing = smoothing
        self.binarize = binarize
        self.transform = transform
        self.normalize = normalize
        self.idf = idf
        self.priors = priors

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters of the constructor; `deep` has no effect, for none of them is an estimator."""
        return {name: vars(self)[name] for name in self._get_param_names()}

    # ---- fitting -----------------------------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sample_weight: Any = None,
        classes: Any = None,
        progress: bool | None = None,
        n_threads: int | None = None,
    ) -> "LinearNB":
        """Fit in one scan; arguments as in `scan`.

        Raises
        ------
        ValueError, TypeError
            Also where y has one class only.
        DataError
            Data cannot be read.
        """
        stats, report = self._scan(X, y, sample_weight, classes, True, progress, n_threads)
        self._check_two_classes(stats)
        self._remember_names(X)
        self._keep(stats, report)
        self._solution["model"] = self._solved()  # now, so that what cannot be solved is said here
        return self

    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        classes: Any = None,
        sample_weight: Any = None,
        *,
        progress: bool | None = None,
        n_threads: int | None = None,
    ) -> "LinearNB":
        """Add rows to what was fitted before; the same result as fitting all rows at once.

        `classes` lists all labels that will ever occur; without it new ones may appear at any time. One class
        is accepted, and predicting waits for a second.
        """
        first = not hasattr(self, "stats_")
        stats, report = self._scan(X, y, sample_weight, classes, first, progress, n_threads)
        if first:
            self._remember_names(X)
        self._keep(stats if first else self.stats_ + stats, report)
        return self

    def forget(self, X: Any, y: Any = None, *, sample_weight: Any = None) -> "LinearNB":
        """Take rows away that were fitted before, exactly as if they had never been seen."""
        check_is_fitted(self, "stats_")
        stats, report = self._scan(X, y, sample_weight, None, False, None, None)
        self._keep(self.stats_ - stats, report)
        return self

    def refit(self, **options: Any) -> "LinearNB":
        """Solve again with other parameters of the constructor; no data is read.

        Parameters
        ----------
        **options
            As in the constructor. What is applied inside the scan (transform, normalize, binarize) can not change.
        """
        check_is_fitted(self, "stats_")
        before = self.get_params(deep=False)
        try:
            self.set_params(**options)
            scanned, wanted = asdict(self.stats_.options), asdict(self._row_options())
            changed = [name for name in scanned if scanned[name] != wanted[name]]
            if changed:
                name = changed[0]
                raise ValueError(
                    f"{name}={wanted[name]!r} is applied in the scan, which had {scanned[name]!r}; use fit"
                )
            model = self._solved()
        except Exception:
            self.set_params(**before)
            raise
        self._solution["model"] = model
        return self

    def _scan(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        classes: Any,
        first: bool,
        progress: bool | None,
        n_threads: int | None,
    ) -> tuple[ClassStats, Report]:
        family = self._check_params()
        if not first:
            self._check_features(X, reset=False)
        moments = {*family.moments, *(["nonzero"] if self.idf else [])}
        domain = Domain(f"{type(self).__name__}(family={family.name!r})", family.lowest, family.highest)
        plan = ScanPlan(tuple(sorted(moments)), self._row_options(), _checks.check_classes(classes), domain)
        stats, report = run_scan(plan, X, y, sample_weight, progress=progress, n_threads=n_threads)
        if not first:
            _checks.check_n_features(stats.n_features, self.n_features_in_, type(self).__name__)
        return stats, report

    def _remember_names(self, X: Any) -> None:
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self._check_features(X, reset=True)

    def _keep(self, stats: ClassStats, report: Report) -> None:
        self.stats_, self.report_ = stats, report
        self.n_features_in_ = stats.n_features
        self.classes_ = stats.classes
        self._solution: dict[str, LinearModel] = {}  # filled when first needed; predicting sets no attribute

    def _check_params(self) -> Family:
        family = as_family(self.family)
        as_penalty(self.penalty)
        _checks.one_of("scheme", self.scheme, SCHEMES)
        _checks.finite_number("smoothing", self.smoothing, minimum=0.0)
        for part in self.penalty.parts if self.penalty is not None else ():
            if part.tau is None or len(part.tau) > 1:
                what = "no tau" if part.tau is None else f"a grid of {len(part.tau)} taus"
                raise ValueError(
                    f"penalty={part!r} has {what}, but LinearNB fits one model; "
                    "give one tau, choose it with LinearNBCV, or take all models from snb.solve"
                )
        return family

    def _row_options(self) -> RowOptions:
        return RowOptions(vars(self)["transform"], self.normalize, self.binarize)

    def _check_two_classes(self, stats: ClassStats) -> None:
        seen = stats.classes[stats.weight > 0]
        if len(seen) < 2:
            raise ValueError(
                f"y holds one class only ({seen.tolist()}); {type(self).__name__} needs at least 2 classes "
                "(partial_fit accepts one class and waits for a second)"
            )

    def _check_features(self, X: Any, *, reset: bool) -> None:
        """Let scikit-learn remember or compare the column names, where X has a shape to look at."""
        if hasattr(X, "shape") and len(X.shape) == 2 and not sources.is_dask(X):
            validate_data(self, X, reset=reset, skip_check_array=True)

    # ---- the model ---------------------------------------------------------------------------------------------------

    def _solved(self) -> LinearModel:
        options = {name: getattr(self, name) for name in ("scheme", "reference", "smoothing", "priors", "idf")}
        self._check_params()
        return solve(self.stats_, self.family, self.penalty, **options)[0]

    @property
    def _model(self) -> LinearModel:
        if not self._solution:
            self._solution["model"] = self._solved()
        return self._solution["model"]

    @property
    def coef_(self) -> Any:
        return self._fitted("coef_").coef_

    @property
    def intercept_(self) -> np.ndarray:
        return self._fitted("intercept_").intercept_

    def _fitted(self, attribute: str) -> LinearModel:
        if len(getattr(self, "classes_", ())) < 2:
            raise AttributeError(f"{type(self).__name__} has no {attribute!r} before it has seen two classes")
        return self._model

    @available_if(_takes_any_value_or_is_fitted)
    def sparsify(self) -> "LinearNB":
        """Store coef_ as a sparse array; predictions stay the same."""
        check_is_fitted(self, "stats_")
        self._solution["model"] = self._model.sparsify()
        return self

    # ---- predicting --------------------------------------------------------------------------------------------------

    def predict(self, X: Any, *, out: Any = None) -> Any:
        """Labels, (n_rows,). The answer is of the kind of X: NumPy, or lazy Dask for Dask; `out` takes blocks."""
        return self._ready(X).predict(X, out=out)

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any, *, out: Any = None) -> Any:
        """Class probabilities, (n_rows, K)."""
        return self._ready(X).predict_proba(X, out=out)

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any, *, out: Any = None) -> Any:
        """Logs of the class probabilities, (n_rows, K)."""
        return self._ready(X).predict_log_proba(X, out=out)

    @available_if(_takes_any_value_or_is_fitted)
    def decision_function(self, X: Any, *, out: Any = None) -> Any:
        """Scores: (n_rows,) for two classes, positive for `classes_[1]`; else (n_rows, K)."""
        return self._ready(X).decision_function(X, out=out)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Accuracy; y may also be the name of an array beside X, as in `fit`."""
        return self._ready(X).score(X, y, sample_weight)

    def _ready(self, X: Any) -> LinearModel:
        check_is_fitted(self, "stats_")
        if len(self.classes_) < 2:
            raise NotFittedError(
                f"{type(self).__name__} has seen one class only ({self.classes_.tolist()}); "
                "call partial_fit with rows of a second one before predicting"
            )
        self._check_features(X, reset=False)
        return self._model

    # ---- the rest of the contract ------------------------------------------------------------------------------------

    def save(self, path: Any) -> None:
        """Write parameters and statistics to one file, no pickle; read it with `snb.load`."""
        check_is_fitted(self, "stats_")
        persistence.save(path, self)

    def to_state(self) -> dict[str, Any]:
        fitted = {"stats_": self.stats_, "report_": asdict(self.report_)}
        if hasattr(self, "feature_names_in_"):
            fitted["feature_names_in_"] = self.feature_names_in_
        model = self._model if len(self.classes_) > 1 else None
        return {"params": self.get_params(deep=False), "fitted": fitted, "model": model}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> "LinearNB":
        self = cls(**state["params"])
        fitted = state["fitted"]
        self._keep(fitted["stats_"], Report(**fitted["report_"]))
        if state["model"] is not None:
            self._solution["model"] = state["model"]
        if "feature_names_in_" in fitted:
            self.feature_names_in_ = fitted["feature_names_in_"].astype(object)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        try:
            family = as_family(self.family)
        except (TypeError, ValueError):
            return tags
        tags.input_tags.positive_only = family.nonnegative
        tags.classifier_tags.poor_score = family.name != "gaussian"
        return tags

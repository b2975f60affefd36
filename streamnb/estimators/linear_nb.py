"""LinearNB: naive linear Bayes from one scan."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self, cast

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from streamnb.core import arguments, persistence
from streamnb.core.arguments import Rows
from streamnb.core.frames import pandas_for
from streamnb.encoding.learning import StepsOfFolds, check_applied, check_maps, learned_maps, of_values
from streamnb.estimators import incremental
from streamnb.estimators.classifier import family_of_columns
from streamnb.estimators.incremental import IncrementalClassifier
from streamnb.estimators.parameters import (
    Parameter,
    boolean,
    check_each,
    check_one_tau,
    keeps_parameters,
    learned,
    one_of,
)
from streamnb.estimators.preparation import (
    StepRequest,
    all_or_nothing,
    check_coded,
    check_step,
    names_of_columns,
    opened_to_fit,
)
from streamnb.models.decision_rule import DecisionRule
from streamnb.models.linear import LinearModel
from streamnb.models.on_demand import UnheldModel
from streamnb.models.predictive import predictive_model
from streamnb.models.quadratic import CovarianceModel
from streamnb.passes.contract import Reading, RunOptions
from streamnb.passes.run import run_reads
from streamnb.problem.families import as_family
from streamnb.problem.family import Family
from streamnb.problem.mixed import Auto, FamilyDomain
from streamnb.problem.penalties import Penalty, as_penalty
from streamnb.problem.schemes import SCHEMES, as_scheme
from streamnb.problem.sides import OVERLAPS, check_added, check_reference, loaded_parameters
from streamnb.problem.smoothing import EVIDENCE, Smoothing, chosen, class_probabilities
from streamnb.rows.preparing import NONE, LearnedStep, RowOptions
from streamnb.rows.source import Source
from streamnb.rows.splits import Folding
from streamnb.scanning.class_scan import ClassScan
from streamnb.solving import posteriors
from streamnb.solving.weight_paths import solve
from streamnb.solving.weight_problem import check_feature_weight
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.second_moments import Products
from streamnb.stats.tables import deviations

FAMILIES_OF_COUNTS = "multinomial", "poisson", "bernoulli"  # measurements are better off in bins


def _takes_any_value_or_is_fitted(estimator: Any) -> bool:
    # scikit-learn's checks fit estimators with these methods on negative data, even where positive_only is set
    if hasattr(estimator, "stats_"):
        return True
    try:
        return not as_family(estimator.family).nonnegative
    except (TypeError, ValueError):  # wrong parameters are reported by fit
        return True


def _has_covariance(estimator: Any) -> bool:
    try:
        return as_family(estimator.family).covariant
    except (TypeError, ValueError):
        return False


@persistence.register
class LinearNB(IncrementalClassifier):
    """Regularised naive linear Bayes classifier, fitted in one scan of data of any size.

    Parameters
    ----------
    family : {"multinomial", "poisson", "bernoulli", "gaussian", "categorical", "auto"}, Family or Mixed
        Distribution of each feature given the class. `Mixed` gives groups of columns their own families; "auto" chooses
        these from the types of a table's columns, and opens data frames with `table`, as paths always are. The values
        of columns of `Categorical()` are learned in a separate pass, like bins.
    penalty : None, L1(tau), L2(tau), TopK(k), Decorrelation(tau), Separable(derivative, tau), Custom or a sum of them
        With one tau each; (6.2), Shishkova 2016.
    scheme : {"joint", "ovr", "ovo", "reference"}
        All classes against their pooled model, each against the rest, every pair, or each against one named class.
        Two classes make one problem. `predict_proba` does not exist for ovo. Each label of a 2-D y is compared with the
        rows without it, or (reference) with a named label on the rows of these two only; `predict` then returns the
        labels with a positive score, and the column of the reference is 0.
    reference : label, or snb.UNLABELLED
        The named class or label of scheme="reference"; of a 2-D y also the rows without any label.
    overlap : {"refuse", "keep"}
        Whether rows of a 2-D y with both a label and the reference are an error, or count on both sides.
    smoothing : "auto", float, "evidence", "empirical_bayes", or a prior
        The prior of the features in each class, such as BetaPrior, DirichletPrior, GammaPrior, NormalInverseGamma. A
        number s: Bernoulli Beta(s, s); multinomial alpha = s; Gaussian none; else s pseudo-rows at the mean of all
        rows. "evidence": the s that makes the training rows most probable, `smoothing_`. "empirical_bayes": pseudo-rows
        of each value in proportion to the class sizes, their number chosen for each multinomial or categorical column
        by type-II maximum likelihood; s = 1 for other families. "auto" means this for ``family="auto"``, and otherwise
        1. Priors may have a row per class.
    binarize : float
        For Bernoulli, a feature is present where x > binarize.
    transform : {None, "binary", "log1p", "sqrt", "quantile_normal"}, tuple of steps, or Bins
        Applied to each value; a tuple has steps of `scan`, such as ("l1:10000", "log1p"). "quantile_normal" and `Bins`
        are learned from the rows of `fit` in a separate pass before the scan (X must be readable twice), and saved with
        the model, which takes raw columns: "quantile_normal" makes each feature normal, Phi^-1(F(x)); `Bins` makes an
        indicator of each bin, named in `column_names_`.
    normalize : {None, "l1", "l2"}
        After the transform, each row is divided by its length.
    idf : bool
        Feature j is then multiplied by ln((1 + N) / (1 + df_j)) + 1, computed from the training rows.
    estimate : {"posterior_mean", "map", "mle"}
        The mean of the posterior, its mode (for families with a conjugate prior), or maximum likelihood without any
        prior; see `solve`.
    priors : None, "uniform", (K,) or DirichletPrior
        Class probabilities; None: shares of the training weight; with a Dirichlet prior, estimated by `estimate`.
    feature_weight : (n_features,), optional
        Weighted naive Bayes: the factor a_j >= 0 of each feature's weight and of its contribution to the intercepts.
    loss : (K, K), optional
        L[y, s], the cost of predicting s where y is true, in the order of `classes_`: `predict` returns
        argmin_s sum_y L[y, s] P(y | x) among the classes that have rows; ties go to the first. Scores and
        probabilities do not change.
    threshold : float, optional
        `predict` rejects rows whose largest probability is below it, 0 < threshold < 1; with `loss`, rows whose
        smallest expected loss is above it.
    reject_label : label
        What `predict` returns for rejected rows; it must not be a class. `score` counts them as wrong.

    Attributes
    ----------
    classes_ : (K,) labels, sorted; of a 2-D y its columns, 0, 1, .. unless `classes` named them
    coef_ : (1, n_features) for two classes; else (K, n_features), (K - 1, ..) for reference, (K(K - 1)/2, ..) for ovo
        For a 2-D y (K, n_features) or, where one label is the reference, (K - 1, n_features).
    intercept_ : one for each row of `coef_`
    stats_ : ClassStats
        The statistics, which are all that is kept of the data.
    n_features_in_ : int
    feature_names_in_ : (n_features,) str
        Only where X is a data frame with string column names, or rows whose columns have names.
    encoding_ : TextEncoding, SvmlightEncoding or None
        How columns are made from texts or numbered in a file; predictions apply it to paths and strings.
    smoothing_ : float, "empirical_bayes" or a prior
        The prior that the model uses: `smoothing`, what "auto" stands for, or the number that "evidence" found.
    report_ : Report
        Rows, bytes, blocks and seconds of the last scan.

    Examples
    --------
    >>> import streamnb as snb
    >>> X, y = [[2, 0], [3, 1], [0, 4], [1, 5]], ["cat", "cat", "dog", "dog"]
    >>> model = snb.LinearNB("poisson", snb.L1(0.5)).fit(X, y)
    >>> model.predict([[3, 0], [0, 3]]).tolist(), model.coef_.round(2).tolist()
    (['cat', 'dog'], [[-0.69, 1.01]])
    >>> model.refit(family="multinomial", penalty=None).predict([[3, 0]]).tolist()
    ['cat']
    """

    _saved = (*IncrementalClassifier._saved, "model", "settled")
    _checks: ClassVar = {"scheme": one_of(*SCHEMES), "idf": boolean, "overlap": one_of(*OVERLAPS)}
    transform = Parameter()
    _takes_indicator = True
    _columns: LearnedStep | None = None  # the transform of columns before they are summed

    @keeps_parameters
    def __init__(
        self,
        family: Any = "multinomial",
        penalty: Penalty | None = None,
        *,
        scheme: str = "joint",
        reference: Any = None,
        overlap: str = "refuse",
        smoothing: Any = "auto",
        binarize: float = 0.0,
        transform: Any = None,
        normalize: str | None = None,
        idf: bool = False,
        estimate: str = "posterior_mean",
        priors: Any = None,
        feature_weight: Any = None,
        loss: Any = None,
        threshold: float | None = None,
        reject_label: Any = None,
    ):
        pass

    # ---- what is scanned ---------------------------------------------------------------------------------------------

    def _task(self, classes: np.ndarray | None) -> ClassScan:
        family = self._family()
        moments = {*family.moments, *(["nonzero"] if self.idf else [])}
        options = self._row_options()
        domain = FamilyDomain(type(self).__name__, family, options.seen)
        return ClassScan(tuple(sorted(moments)), options, classes, domain, how=Products(pooled=family.pooled))

    def _family(self) -> Family:
        """The family for the columns of the weights."""
        return family_of_columns(self, as_family(self.family))

    def _step_request(self) -> StepRequest:
        family = as_family(self.family)
        coded, by_kinds = family if family.coded else None, isinstance(family, Auto)
        of_counts = family.name in FAMILIES_OF_COUNTS and self.binarize == 0.0
        return StepRequest(type(self).__name__, vars(self)["transform"], coded, by_kinds, of_counts)

    def _row_options(self) -> RowOptions:
        centre = as_family(self.family).centre
        options = RowOptions(of_values(vars(self)["transform"]), self.normalize, self.binarize, centre)
        return options if self._columns is None else replace(options, learned=self._columns)

    def _scan(self, rows: Any, classes: Any, first: bool, options: RunOptions, *more: Any) -> Reading[Any]:
        if first:
            self._columns = None
        if first and as_family(self.family).map_names:
            rows = options.kept(rows)
            (steps,) = (yield from self._maps(rows, options, None)).values()
            self._columns = steps.whole
        return (yield from super()._scan(rows, classes, first, options, *more))

    def _maps(self, rows: Source, options: RunOptions, folding: Folding | None) -> Reading[dict[str, StepsOfFolds]]:
        """The column maps that the family tries, learned from the rows."""
        return learned_maps(as_family(self.family).map_names or [NONE], rows, options, type(self).__name__, folding)

    def _check_params(self) -> None:
        self._check_options(self.penalty)
        self._row_options()
        points, names = as_family(self.family).points, as_family(self.family).map_names
        if len(names) > 1:
            raise ValueError(
                f"family={self.family!r} has {len(names)} maps to try, but LinearNB fits one model; give one of "
                f"{', '.join(map(repr, names))}, or choose it with LinearNBCV"
            )
        if len(points) > 1:
            raise ValueError(
                f"family={self.family!r} has {len(points)} shrinkages to try, but LinearNB fits one model; give one "
                "(a, g), or choose it with LinearNBCV"
            )
        if self.penalty is not None:
            cure = "give one tau, choose it with LinearNBCV, or use all models from snb.solve"
            check_one_tau(self.penalty, "LinearNB", cure)

    def _check_options(self, penalty: Any) -> None:
        check_coded(as_family(self.family), vars(self)["transform"], self.normalize, self.idf)
        as_penalty(penalty)
        check_each(self, self._checks)
        check_reference(self._option("scheme"), self._option("reference"))
        check_maps(as_family(self.family).map_names, vars(self)["transform"], self.normalize)
        for member in as_family(self.family).members:
            Smoothing.of(member, self.smoothing, self.estimate)
        check_feature_weight(self._option("feature_weight"), as_family(self.family))
        self._decision_rule()

    def _check_against(self, stats: ClassStats) -> None:
        check_step(self)
        check_applied(as_family(self.family).map_names, stats.options.learned)
        scanned, wanted = vars(stats.options), vars(self._row_options())
        for name in scanned:
            if name != "learned" and scanned[name] != wanted[name]:
                raise ValueError(
                    f"{name}={wanted[name]!r} is applied in the scan, which had {scanned[name]!r}; use fit"
                )
        check_added(stats, self._option("reference"), self._option("overlap"))

    # ---- the model ---------------------------------------------------------------------------------------------------

    _check_whole = incremental.check_two_classes

    def _set_model(self, model: LinearModel, calibrated: bool = False) -> None:
        self._learned["_model"] = model
        self._learned.pop("_predictive", None)

    def _explained(self) -> LinearModel:
        model = self._fitted_model()
        linear = set(model.moments) == {"sum"} and model.second is None
        if not linear or "sum_sq" not in self.stats_.moments or not self._preparation.has_units:
            return model
        return replace(model, deviations=deviations(self.stats_))

    def _solve(self, stats: ClassStats) -> LinearModel:
        """The model of these statistics under the parameters, without the decision rule."""
        options = {**self._options(), "memory_limit": self._memory_limit, "n_threads": self._n_threads}
        options["smoothing"] = self._now("smoothing_")
        return solve(stats, self._chosen_family(), self._penalty(), **options)[0]

    @learned
    def _model(self) -> LinearModel:
        model, rule = self._solve(self._weighted), self._decision_rule()
        if rule is None:
            return model
        return replace(model, rule=rule.checked(model.classes_, model.scheme, self._weighted.weight > 0))

    def _decision_rule(self) -> DecisionRule | None:
        return DecisionRule.of(self._option("loss"), self._option("threshold"), self._option("reject_label"))

    def _options(self) -> dict[str, Any]:
        """The arguments of `solve` other than family and penalty."""
        names = ("scheme", "reference", "overlap", "smoothing", "priors", "idf", "estimate", "feature_weight")
        return {name: self._option(name) for name in names}

    def _chosen_family(self) -> Family:
        """The family of the one model."""
        return self._family()

    def _penalty(self) -> Penalty | None:
        """The penalty of the one model."""
        return self.penalty

    def refit(self, **options: Any) -> Self:
        """Change parameters, the weights of the classes or the intercept, without reading data.

        Parameters
        ----------
        **options
            Parameters of the constructor; those not named stay as they are. And:
        class_weight : None, "balanced" or {label: weight}
            Multiplies the weight of each row by that of its class, as if fitted with this ``sample_weight``.
            "balanced": the total weight divided by K N_y; labels not named have 1. It holds until the next `fit`, or a
            `refit` with another one, and is kept as `class_weight_`; `stats_` stays as scanned.
        intercept_shift : float, or one number for each row of `coef_`
            Added to `intercept_`, such as the result of `balancing_shift`. It is valid for this model only, and dropped
            by the next change of the model.

        Raises
        ------
        ValueError, TypeError
            An argument is wrong or needs another scan: the message names it, and the model stays as it was.
        """
        shift = options.pop("intercept_shift", None)
        with all_or_nothing(self):
            super().refit(**options)
            if shift is not None:
                self._learned["_model"] = self._now("_model").shifted(shift)
        return self

    def _predictive(self) -> LinearModel:
        """The exact predictive distribution; not a learned attribute, as listing attributes would compute it."""
        if "_predictive" not in self._learned:
            options = {name: self._used_params[name] for name in ("penalty", "estimate", "priors")}
            options["smoothing"] = self._now("smoothing_")
            if self._used_params["feature_weight"] is not None:
                raise ValueError("predictive=True counts all features alike; it should be False with a feature_weight")
            known = self._weighted, self._now("_model"), self._used_family()
            self._learned["_predictive"] = predictive_model(*known, **options)
        return self._learned["_predictive"]

    @learned
    def _used_params(self) -> dict[str, Any]:
        """The parameters that the model uses; later changes wait for refit."""
        return {**self.get_params(), "penalty": self._penalty()}

    def _finish(self) -> None:
        self._now("_model"), self._now("_used_params")

    # ---- predictions -------------------------------------------------------------------------------------------------

    @property
    def coef_(self) -> Any:
        """Weights, one row for each class or side."""
        return self._complete_model("coef_").coef_

    @property
    def intercept_(self) -> Any:
        """One for each row of `coef_`."""
        return self._complete_model("intercept_").intercept_

    def _complete_model(self, attribute: str) -> LinearModel:
        if not incremental.is_complete(self):
            raise AttributeError(f"{type(self).__name__} has no {attribute!r} before it has seen two classes")
        return self._model

    def _calibrates(self) -> bool:
        """Whether scores belong to classes, not to pairs of classes."""
        return self._option("scheme") != "ovo" or len(getattr(self, "classes_", ())) == 2

    def _ready(
        self, X: Any, *beside: Any, labelled: bool = False, predictive: bool = False
    ) -> tuple[LinearModel, Source]:
        """The requested model, and the opened rows with their labels and weights."""
        incremental.check_complete(self)
        model, rows = self._now("_model"), self._opened(X, *beside, labelled=labelled)
        return self._predictive() if arguments.one_of("predictive", predictive, [False, True]) else model, rows

    def predict(self, X: Rows, *, out: Any = None, predictive: bool = False) -> Any:
        """Predict labels, (n_rows,): a NumPy array, or a lazy Dask array if X is one.

        Parameters
        ----------
        X : (n_rows, n_features)
            As in `fit`.
        out : array that takes slices of rows, optional
            Where to write the result, block by block; not for Dask.
        predictive : bool
            Decide by the exact predictive distribution, averaged over the posterior of the parameters, instead of one
            estimate of them: negative binomial features for Poisson (with a Gamma prior, or s pseudo-rows), Student's
            t for Gaussian (`NormalInverseGamma`, with a variance for each class), Dirichlet-multinomial rows for
            multinomial, and for Bernoulli the linear model itself. It needs scheme="joint" or two classes, and neither
            penalty nor idf; an `intercept_shift` has no effect on it.

        Raises
        ------
        ValueError
            X does not have the fitted features, or `predictive` is not available with these parameters.
        """
        model, rows = self._ready(X, predictive=predictive)
        return model.predict(rows, out=out)

    @available_if(_calibrates)
    def predict_proba(self, X: Rows, *, out: Any = None, predictive: bool = False) -> Any:
        """Predict class probabilities, (n_rows, K); arguments as for `predict`.

        ==================== =======================================================================
        two classes          the sigmoid of the score, whatever the scheme
        joint, predictive    softmax of the scores
        ovr                  sigmoids of the scores divided by their sum
        reference            softmax of the scores with 0 for the reference class
        labels (2-D y)       the sigmoid of each label's score: they need not add up to 1
        ovo                  none: the method does not exist
        ==================== =======================================================================

        The model assumes that features are independent given the class; if many are not, probabilities are too close to
        0 and 1. `priors`, `class_weight` and `intercept_shift` change them, `loss` and `threshold` do not.
        """
        model, rows = self._ready(X, predictive=predictive)
        return model.predict_proba(rows, out=out)

    @available_if(_calibrates)
    def predict_log_proba(self, X: Rows, *, out: Any = None, predictive: bool = False) -> Any:
        """Log class probabilities, (n_rows, K); arguments as for `predict`."""
        model, rows = self._ready(X, predictive=predictive)
        return model.predict_log_proba(rows, out=out)

    @available_if(_takes_any_value_or_is_fitted)
    def decision_function(self, X: Rows, *, out: Any = None, predictive: bool = False) -> Any:
        """Scores: (n_rows,) for two classes, positive for `classes_[1]`; else (n_rows, K).

        Arguments as for `predict`. Where the predictive model is not linear, scores are the complete
        ln P(y) + ln p(x | y), for two classes their difference.
        """
        model, rows = self._ready(X, predictive=predictive)
        return model.decision_function(rows, out=out)

    @available_if(_takes_any_value_or_is_fitted)
    def sparsify(self) -> Any:
        """Convert `coef_` to a sparse array in place, as scikit-learn's classifiers do; predictions do not change.

        Returns
        -------
        self
            `LinearModel.sparsify`, for a model from a path, returns a new model instead.
        """
        check_is_fitted(self, "stats_")
        self._learned["_model"] = self._now("_model").sparsify()
        return self

    @available_if(_has_covariance)
    def mahalanobis(self, X: Rows, *, out: Any = None) -> Any:
        """Squared Mahalanobis distances of rows to the mean of each class, (n_rows, K).

        ``(x - mu_y)' Sigma_y^-1 (x - mu_y)`` over features that are not constant; squared, as in scikit-learn's
        `EmpiricalCovariance.mahalanobis`. For normal rows of class y they are chi-squared with as many degrees of
        freedom as there are features. The method exists where the family is `Gaussian` with covariance="pooled" or
        "full". Arguments as for `predict`.

        Examples
        --------
        >>> import streamnb as snb
        >>> X = [[0, 0], [2, 0], [1, 3], [4, 4], [6, 4], [5, 7]]
        >>> model = snb.LinearNB(snb.Gaussian(covariance="full")).fit(X, [0, 0, 0, 1, 1, 1])
        >>> model.mahalanobis([[1, 1], [1, 3]]).round(6)
        array([[ 0., 32.],
               [ 2., 26.]])
        """
        model, rows = self._ready(X)
        return cast(CovarianceModel, model).of_classes(rows, False, out)

    @available_if(_has_covariance)
    def log_density(self, X: Rows, *, out: Any = None) -> Any:
        """Log density of rows in each class, (n_rows, K): ln p(x | y) of the normal distribution.

        ``-(n ln 2 pi + ln det Sigma_y + (x - mu_y)' Sigma_y^-1 (x - mu_y)) / 2``, with n features that are not
        constant.
        """
        model, rows = self._ready(X)
        return cast(CovarianceModel, model).of_classes(rows, True, out)

    # ---- the posterior of parameters ---------------------------------------------------------------------------------

    def _used_family(self) -> Family:
        """The family that the model uses."""
        return family_of_columns(self, as_family(self._used_params["family"]))

    @learned
    def smoothing_(self) -> Any:
        """The prior that the model uses."""
        params, family = self._used_params, self._used_family()
        given = chosen(params["smoothing"], family, params["estimate"])
        if isinstance(given, str) and given == EVIDENCE:
            return posteriors.strength(self._weighted, family, params["estimate"])
        return given

    def posterior(self, interval: float = 0.95) -> Any:
        """Posterior mean, variance and interval of each parameter of naive Bayes.

        With pseudo-sums a and pseudo-counts b of the prior, S the sum of the feature over the rows of the class and N
        their weight: Beta(a + S, b + N - S) for a Bernoulli probability (Binomial: k N for N); Gamma(a + S, b + N) for
        a Poisson rate; Beta(alpha_j + S_j, sum of the others) for a multinomial probability; for Gaussian features
        Student's t of the mean and the inverse gamma of the variance that the classes share (Murphy 2007, section 3).
        Neither penalty nor scheme affects it.

        Parameters
        ----------
        interval : float
            Probability of the interval, with equal tails.

        Returns
        -------
        pandas.DataFrame
            One row for each feature and class, with columns class (None where all share the parameter), feature,
            parameter ("probability", "rate", "mean", "variance"), mean, variance, lower, upper.

        Raises
        ------
        ValueError
            There is no prior, or idf multiplies the scanned values; or `interval` is not a probability.
        ImportError
            pandas is not installed.

        Examples
        --------
        >>> import streamnb as snb
        >>> model = snb.LinearNB("bernoulli").fit([[1], [1], [0], [0]], ["a", "a", "a", "b"])
        >>> model.posterior()[["class", "mean", "variance"]].to_dict("list")
        {'class': ['a', 'b'], 'mean': [0.6, 0.3333333333333333], 'variance': [0.04, 0.05555555555555556]}
        """
        pd = pandas_for("posterior()")
        self._check_scanned_as_it_is("posterior()")
        params = self._used_params["estimate"]
        names = names_of_columns(self)
        known = self._weighted, self._used_family(), self._now("smoothing_"), params
        return pd.DataFrame(posteriors.posterior_table(*known, interval=interval, names=names))

    def log_evidence(self) -> float:
        """Log evidence ln p(X | y): the log probability of the training rows, averaged over the prior.

        Bernoulli: ``sum over classes and features of ln B(a + S, b + N - S) - ln B(a, b)``; likewise for the other
        conjugate priors (multinomial: Dirichlet; Poisson: gamma; Gaussian: normal-inverse-gamma). Terms without
        parameters are left out: ln x! of counts, binomial coefficients. If ``priors=`` is a `DirichletPrior`, ln p(y)
        is added likewise; with given probabilities N_y ln P_y; with None nothing.

        Of two priors, or families of the same x, the one with higher evidence is better supported; the difference is
        the log Bayes factor. ``smoothing="evidence"`` uses the number with the highest evidence.

        Raises
        ------
        ValueError
            There is no prior, or labels overlap, or idf multiplies the scanned values.

        Examples
        --------
        Three rows of one class, two of them with the feature, under Beta(1, 1): ln B(3, 2) = ln 1/12.

        >>> import streamnb as snb
        >>> model = snb.LinearNB("bernoulli").fit([[1], [1], [0], [0]], ["a", "a", "a", "b"])
        >>> round(model.log_evidence(), 5)  # and one row without it: ln B(1, 2) = ln 1/2
        -3.17805
        """
        self._check_scanned_as_it_is("log_evidence()")
        params = self._used_params
        known = self._weighted, self._used_family(), self._now("smoothing_"), params["estimate"]
        return posteriors.log_evidence(*known, params["priors"])

    def _check_scanned_as_it_is(self, what: str) -> None:
        check_is_fitted(self, "stats_")
        if self._used_params["idf"]:
            raise ValueError(f"{what} is of the values that were scanned, which idf=True multiplies; use idf=False")

    # ---- the rest of the contract ------------------------------------------------------------------------------------

    def _keep(self, stats: Any, *more: Any) -> None:
        self._columns = stats.options.learned
        super()._keep(stats, *more)

    def _to_state(self) -> dict[str, Any]:
        model = self._now("_model") if incremental.is_complete(self) else None
        solved = model is not None and not isinstance(model, UnheldModel)  # an UnheldModel follows from the statistics
        other = {name: value for name, value in self._used_params.items() if value is not vars(self)[name]}
        return super()._to_state() | {"model": model if solved else None, "settled": None if model is None else other}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        state = {**state, "params": loaded_parameters(state["params"])}
        self, model = super()._from_state(state), state["model"]
        if model is not None:
            if not isinstance(model, LinearModel) or model.n_features != self.stats_.n_features:
                raise ValueError(f"the model should be of {self.stats_.n_features} features")
            if not np.array_equal(model.classes_, self.classes_):
                raise ValueError("the model and the statistics should have the same classes")
            self._learned["_model"] = model
        if state.get("settled") is not None:  # not saved before 0.2
            self._learned["_used_params"] = {**self.get_params(), **state["settled"]}
        return self

    def _check_loaded(self, state: dict[str, Any]) -> None:
        """Raise where the model cannot have used the loaded parameters; those set later wait for refit."""
        loaded, stats = type(self)(**{**state["params"], **(state.get("settled") or {})}), self.stats_
        loaded._check_params()
        loaded._row_options()
        family = family_of_columns(self, as_family(loaded.family))
        for member, _ in family.parts(stats.n_features):
            Smoothing.of(member, loaded.smoothing, loaded.estimate, stats.n_features, len(stats.classes))
        if state.get("settled") is not None:
            loaded._check_against(stats)
            scheme = as_scheme(loaded._option("scheme"), stats.classes, loaded._option("reference"), stats.multilabel)
            class_probabilities(loaded._option("priors"), stats, loaded.estimate)
            if (rule := loaded._decision_rule()) is not None:
                rule.checked(stats.classes, scheme, stats.weight > 0)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = self._takes_indicator
        try:
            family = as_family(self.family)
        except (TypeError, ValueError):
            return tags
        tags.input_tags.positive_only = family.nonnegative
        tags.classifier_tags.poor_score = family.name != "gaussian"
        return tags


def scan_for(estimator: LinearNB, rows: Source) -> ClassScan:
    """The scan of an estimator over opened rows, whose column names it remembers."""
    run_reads(opened_to_fit(estimator, (rows,)))
    return estimator._task(None)


def solved_from(estimator: LinearNB) -> tuple[dict[str, Any], Any]:
    """The parameters that the model used, and the reweighted statistics."""
    return estimator._used_params, estimator._weighted

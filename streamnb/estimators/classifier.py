"""Classifier: the base class of all classifiers, with predictions, calibration, explanations and files."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from operator import attrgetter, methodcaller
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.pipeline import Pipeline
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from streamnb.core import arguments, guesses, persistence
from streamnb.core.arguments import Bytes, PerRow, Rows
from streamnb.core.messages import warn
from streamnb.estimators import annotating, one_record, preparation
from streamnb.estimators.drifting import Drift, drift
from streamnb.estimators.feature_tables import contrasting_features, contributions, strongest_features
from streamnb.estimators.parameters import Check, check_each
from streamnb.estimators.preparation import Preparation, StepRequest
from streamnb.evaluation.evaluation import Evaluation
from streamnb.evaluation.judging import EvaluationOptions, judged, needs_in_full
from streamnb.evaluation.slices import MIN_ROWS
from streamnb.models.as_portable import portable
from streamnb.models.as_sklearn import as_sklearn
from streamnb.models.calibrating import METHODS, calibrated
from streamnb.models.decision_rule import ClassThreshold
from streamnb.models.linear import LinearModel
from streamnb.models.portable import LIGHT, PortableModel
from streamnb.models.writing import scoring_of, write
from streamnb.passes.contract import RunOptions
from streamnb.problem.family import Family
from streamnb.rows.preparing import LearnedStep
from streamnb.rows.source import Source
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.stability import ColumnProfile


def recalibrate(estimator: Classifier, calibration: Callable[[LinearModel], LinearModel]) -> None:
    """Replace the model of a fitted estimator by a calibrated one."""
    estimator._set_model(calibration(estimator._fitted_model()), calibrated=True)
    estimator.recalibrated_ = True


class Classifier(ClassifierMixin, BaseEstimator):
    """A classifier that decides by one model; a subclass defines how the model is learned.

    Methods that only need the model are functions in other modules, listed below.

    Attributes
    ----------
    meta_ : dict or None
        The `meta` given to `save`.
    unknown_below_ : float or None
        The threshold that `choose_unknown_below` has chosen.
    recalibrated_ : bool or None
        True if the probabilities were calibrated after the fit.
    """

    meta_: dict[str, Any] | None = None
    unknown_below_: float | None = None
    recalibrated_: bool | None = None
    _checks: ClassVar[Mapping[str, Check]] = {}  # of single parameters
    _fixed: ClassVar[Mapping[str, Any]] = {}  # values of parameters that the constructor lacks but methods use
    _has_decision_function = True
    _preparation = Preparation()
    _model: LinearModel

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        guesses.explain_keywords(cls)

    def __getattr__(self, name: str) -> Any:
        return guesses.expected_attribute(self, name)

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        plain = super().__repr__(N_CHAR_MAX)
        known = vars(getattr(self, "final_", self))
        model = known.get("_model", known.get("_learned", {}).get("_model"))  # which may not be solved yet
        rule = getattr(model, "rule", None)
        if not isinstance(rule, ClassThreshold):
            return plain
        return f"{plain}, which predicts {self.classes_[rule.number].item()!r} from a score of {rule.value:.6g} on"

    # ---- defined by a subclass ---------------------------------------------------------------------------------------

    def _check_params(self) -> None:
        """Raise for parameters that are wrong for any data."""
        check_each(self, self._checks)

    def _step_request(self) -> StepRequest:
        """The preparation step that the parameters request to be learned from the rows."""
        return StepRequest(type(self).__name__)

    def _fitted_model(self) -> LinearModel:
        """The fitted model; raises where there is none."""
        raise NotImplementedError

    def _explained(self) -> LinearModel:
        """The model for explanations by feature."""
        return self._fitted_model()

    def _gives_probabilities(self) -> bool:
        """Whether the parameters allow probabilities."""
        return True

    def _calibrates(self) -> bool:
        """Whether `calibrate` is available."""
        return False

    def _set_model(self, model: LinearModel, calibrated: bool = False) -> None:
        """Replace the model, by a calibrated one or by one that decides otherwise."""
        raise NotImplementedError

    # ---- rows --------------------------------------------------------------------------------------------------------

    encoding_ = preparation.encoding
    label_ = preparation.label
    layer_ = preparation.layer

    def _opened(self, X: Any, *beside: Any, labelled: bool = True) -> Source:
        return preparation.opened_as_fitted(self, X, *beside, labelled=labelled)

    @property
    def _step(self) -> LearnedStep | None:
        return self._preparation.step

    @property
    def column_names_(self) -> np.ndarray:
        """Names of the columns of the weights, where bins or categories replace the features of X."""
        names = self._preparation.column_names(preparation.names_of(self))
        if names is None:
            raise AttributeError(f"{type(self).__name__} has no 'column_names_': no columns are made of those of X")
        return names

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters of the constructor; `deep` has no effect, as none of them is an estimator to fit."""
        return {name: vars(self)[name] for name in self._get_param_names()}

    def _option(self, name: str) -> Any:
        """A parameter, or the fixed value of one that the constructor lacks."""
        return vars(self)[name] if name in vars(self) else self._fixed[name]

    # ---- predictions -------------------------------------------------------------------------------------------------

    def predict(self, X: Rows, *, out: Any = None) -> Any:
        """Predict labels, (n_rows,), or a 0/1 indicator for a 2-D y.

        Returns a NumPy array, or a lazy Dask array if X is one. Blocks are written to `out`, if given.
        """
        model, rows = self._ready(X)
        return model.predict(rows, out=out)

    @available_if(methodcaller("_gives_probabilities"))
    def predict_proba(self, X: Rows, *, out: Any = None) -> Any:
        """Predict class probabilities, (n_rows, K); for a 2-D y those of each label."""
        model, rows = self._ready(X)
        return model.predict_proba(rows, out=out)

    @available_if(methodcaller("_gives_probabilities"))
    def predict_log_proba(self, X: Rows, *, out: Any = None) -> Any:
        """Logs of the class probabilities, (n_rows, K)."""
        model, rows = self._ready(X)
        return model.predict_log_proba(rows, out=out)

    @available_if(attrgetter("_has_decision_function"))
    def decision_function(self, X: Rows, *, out: Any = None) -> Any:
        """Scores: (n_rows,) for two classes, positive for `classes_[1]`; else (n_rows, K)."""
        model, rows = self._ready(X)
        return model.decision_function(rows, out=out)

    def predict_one(self, record: Any) -> Any:
        """Predict the label of one record, as `predict` would; for a 2-D y a dict of label to bool.

        Parameters
        ----------
        record : dict, (n_features,) or str
            A dict by column name, whose other keys are ignored; a row of an array, if the model was fitted on one; or a
            text. Values are as in a table: None and NaN are missing. The first call prepares what it can; threads may
            share the model.

        Raises
        ------
        ValueError, TypeError
            The record lacks a key, has a value of another type, or is of another kind; the message says which.

        Warns
        -----
        StreamnbWarning
            A category was not seen in `fit`, and has no effect.

        Examples
        --------
        >>> import streamnb as snb
        >>> model = snb.LinearNB().fit([[3.0, 0.0], [0.0, 3.0]], ["cat", "dog"])
        >>> model.predict_one([0.0, 1.0])
        'dog'
        """
        return one_record.label(self, self._preparation, self._fitted_model, record)

    def predict_proba_one(self, record: Any) -> dict[Any, float]:
        """Predict the probability of each class, by its label, as in river; arguments as for `predict_one`.

        Examples
        --------
        >>> import streamnb as snb
        >>> rows = [{"colour": "red"}, {"colour": "blue"}, {"colour": "red"}, {"colour": "blue"}]
        >>> model = snb.LinearNB().fit(snb.table(rows, ["wine", "sea", "wine", "wine"], min_count=1))
        >>> {label: round(share, 3) for label, share in model.predict_proba_one({"colour": "blue"}).items()}
        {'sea': 0.357, 'wine': 0.643}
        """
        return one_record.shares(self, self._preparation, self._fitted_model, record)

    def score(self, X: Rows, y: PerRow = None, sample_weight: PerRow = None) -> float:
        """Accuracy; y may also be the name of an array beside X or of a column of X, as in `fit`."""
        model, rows = self._ready(X, y, sample_weight, labelled=True)
        return model.score(rows)

    def evaluate(
        self,
        X: Rows,
        y: PerRow = None,
        sample_weight: PerRow = None,
        *,
        interval: float | None = None,
        groups: PerRow = None,
        by: Any = None,
        min_rows: int = MIN_ROWS,
        positive: Any = None,
    ) -> Evaluation:
        """Compute all metrics of the model on labelled rows, in one read.

        Parameters
        ----------
        X, y, sample_weight
            As in `score`: y may be the name of an array beside X or of a column of X. Rows with a label that the model
            does not know count as errors.
        interval : float, optional
            Confidence of intervals, such as 0.95, which `Evaluation.interval` gives for each metric.
        groups : (n_rows,) labels, or the name of an array beside X or of a column of X, optional
            Rows of one group, such as those of a patient, are not independent; intervals take that into account.
        by : str, (n_rows,), a list of str, or a dict, optional
            Slices of the rows by the values of one or several columns, which need not be features: the names of columns
            of X, of arrays beside X, or arrays; `snb.evaluate` says more. `Evaluation.slices` has their metrics.
        min_rows : int
            Slices with fewer rows, if there are several beside larger ones, are "other" in the table.
        positive : label, optional
            Of two classes, the one that precision, recall, curves and thresholds refer to; the second by default.

        Returns
        -------
        Evaluation
            As from `snb.evaluate` with the results of `predict`, `decision_function` and `predict_proba`.
        """
        self._fitted_model()  # raises where there is none
        names = preparation.names_of(self)
        options = EvaluationOptions(interval, groups, by, min_rows, positive)
        X, options = options.taken_from(X, y, sample_weight, self._preparation.encoding, names)
        model, rows = self._ready(X, y, sample_weight, labelled=True)
        return judged(model, rows, None, None, needs_in_full(self, model), options)

    def _ready(self, X: Any, *beside: Any, labelled: bool = False) -> tuple[LinearModel, Source]:
        """The model, and the rows with their labels and weights, checked against it."""
        return self._fitted_model(), self._opened(X, *beside, labelled=labelled)

    @available_if(methodcaller("_calibrates"))
    def calibrate(self, X: Rows, y: PerRow = None, sample_weight: PerRow = None, *, method: str = "sigmoid") -> Self:
        """Calibrate the probabilities on rows that the model was not fitted to, without refitting it.

        Naive Bayes counts shared evidence once for each feature, so it is overconfident. Scores become
        ``t s_k + b_k`` with the least log loss on these rows: for the softmax of ``joint`` and ``reference`` with one
        factor t (1 / temperature) for all classes and biases of sum 0 (Guo et al. 2017); for two classes, ``ovr`` and
        the labels of a 2-D y by Platt's method (1999), with t and b for each row of `coef_`. As this is linear, it
        becomes part of `coef_` and `intercept_`. Isotonic regression (Zadrozny and Elkan 2002) gives increasing curves
        of the log-odds of each class, or of the score of each row of `coef_`, which does not change; it needs some
        thousand rows. Matrix scaling (Guo et al. 2017) gives each class a weighted sum of the scores of all classes,
        ``s A + b``, so that it can also correct decisions. It needs three or more classes with a score each (`joint`,
        `ovr`), whose probabilities then become a softmax. All of these are saved with the model, and undone by its next
        change, such as `refit()`.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`, but not in Dask, and not the rows of `fit`, on which the model is overconfident. A few rows per
            class are enough; they are read once, and their scores are kept in memory.
        method : {"sigmoid", "isotonic", "matrix"}
            Factors and biases, curves, or a matrix.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            The rows have only one class, or one that the model does not know; or the model has no probabilities, or a
            class without rows. The model stays unchanged.
        MemoryError
            The scores, or the weights, do not fit into memory.

        Notes
        -----
        `predict(X, predictive=True)` and the like do not use these weights, except for Bernoulli features.

        Examples
        --------
        >>> import numpy as np
        >>> import streamnb as snb
        >>> X, y = np.array([[3.0, 0.0], [0.0, 3.0], [2.0, 2.0], [1.0, 0.0]]), np.array([0, 1, 1, 0])
        >>> model = snb.LinearNB().fit(X, y).calibrate([[5.0, 0.0], [4.0, 1.0], [0.0, 5.0]], [0, 1, 1])
        >>> model.predict([[0.0, 1.0]])
        array([1])
        """
        arguments.one_of("method", method, METHODS)
        model, rows = self._ready(X, y, sample_weight, labelled=True)
        self._set_model(calibrated(model, rows, method), calibrated=True)
        self.recalibrated_ = True
        self.__dict__.pop("unknown_below_", None)  # the threshold was chosen for other probabilities
        return self

    @available_if(methodcaller("_calibrates"))
    @guesses.with_hints
    def set_threshold(self, threshold: Any, class_: Any = None) -> Self:
        """Predict a class wherever it scores `threshold` or more, and otherwise the best of the others.

        Scores and probabilities stay as they are. The threshold is saved with the model, and undone by None and by the
        next change of the model, such as `refit()` or `calibrate`.

        Parameters
        ----------
        threshold : Threshold, float or None
            From an evaluation, ``model.evaluate(X, y).threshold(precision=0.9)``; or a number in the units of
            `decision_function` for two classes. For more, in log-odds of `predict_proba`, or in those of
            `decision_function` if there are no probabilities.
        class_ : label, optional
            Class 1 of two unless given; a `Threshold` has its own.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            The threshold is no finite number; there are more than two classes and no `class_`, or it is not one of
            them; rows have several labels; or the model decides by `loss` already.

        Warns
        -----
        StreamnbWarning
            The threshold is a round number between 0 and 1, as probabilities are.

        Examples
        --------
        >>> import streamnb as snb
        >>> X, y = [[3], [2], [2], [1], [1], [0]], ["ill", "ill", "well", "ill", "well", "well"]
        >>> model = snb.LinearNB("poisson").fit(X, y)
        >>> found = model.evaluate(X, y).threshold("ill", recall=1.0)
        >>> model.predict([[1]]).tolist(), model.set_threshold(found).predict([[1]]).tolist()
        (['well'], ['ill'])
        """
        odds = hasattr(self, "predict_proba")
        if odds and isinstance(threshold, float) and 0.0 < threshold == round(threshold, 3) < 1.0:  # typed by hand
            warn(f"threshold={threshold} is taken as log-odds; for a probability p give log(p / (1 - p))")
        self._set_model(self._fitted_model().with_threshold(threshold, class_, odds=odds))
        return self

    # ---- explanations and exports ------------------------------------------------------------------------------------

    def top_features(self, n_features: int = 10) -> Any:
        """List the features with the strongest evidence for or against each class.

        Parameters
        ----------
        n_features : int
            Maximum number of features per class; weights of 0 are not listed.

        Returns
        -------
        pandas.DataFrame
            With the columns "class", "feature" (its name or number) and "weight", class by class, largest absolute
            weight first. Features with different units are compared by "per_deviation", a further column: the weight
            times the standard deviation of the feature over the rows of the fit. Models of counts (multinomial and the
            like) lack it. The weight is that of the feature in the score of the class minus its mean weight in the
            scores of the other classes, ``w_k - sum_{c != k} w_c / (K - 1)``; for two classes half of that, the weight
            in `coef_` or its opposite; for labels of a 2-D y, scheme="ovr" and "reference", that of the class against
            the rest or the reference. Where classes have their own variances or covariances, scores are quadratic, and
            the weight is the mean over other classes of ``ln(s_c / s_k) + (s_k^2 + (mu_k - mu_c)^2) / (2 s_c^2) - 1 /
            2``: what the feature by itself adds on average to the log-odds of a row of the class (Kullback-Leibler
            divergence, 1951).

        Raises
        ------
        ValueError
            Scores are not sums over features, or scheme="ovo", whose weights are of pairs of classes.

        Examples
        --------
        >>> import numpy as np, streamnb as snb
        >>> X, y = np.array([[3.0, 0.0, 1.0], [0.0, 4.0, 1.0], [2.0, 1.0, 1.0]]), ["cat", "dog", "cat"]
        >>> snb.LinearNB().fit(X, y).top_features(1)[["class", "feature"]].values.tolist()
        [['cat', 0], ['dog', 0]]
        """
        return strongest_features(self._explained(), preparation.names_of_columns(self), n_features)

    def contrast(self, class_: Any, against: Any, n_features: int = 10) -> Any:
        """List the features that favour one class over another, and those that favour the other.

        Parameters
        ----------
        class_, against : label
        n_features : int
            Maximum number of features for each of the two.

        Returns
        -------
        pandas.DataFrame
            With the columns "class" (the class favoured), "feature" and "weight", which a unit of the feature adds to
            the score of `class_` minus that of `against`; first the features for `class_`, largest first, in the order
            and with the column "per_deviation" of `top_features`. Under scheme="ovo" weights are those of the pair. For
            quadratic scores they are the divergences of `top_features`, for rows of `class_` and then, with a minus,
            for rows of `against`.

        Raises
        ------
        ValueError
            A label is not a class, or scores are not sums over features.

        Examples
        --------
        >>> import numpy as np, streamnb as snb
        >>> X, y = np.array([[3.0, 0.0, 1.0], [0.0, 4.0, 1.0], [2.0, 1.0, 1.0]]), ["cat", "dog", "cat"]
        >>> snb.LinearNB().fit(X, y).contrast("dog", "cat", 1)[["class", "feature"]].values.tolist()
        [['dog', 1], ['cat', 0]]
        """
        return contrasting_features(self._explained(), preparation.names_of_columns(self), class_, against, n_features)

    def explain(self, X: Rows, class_: Any = None, against: Any = None) -> Any:
        """Explain the score of one row by the contribution of each of its features.

        Parameters
        ----------
        X : (1, n_features)
            One row, in any form that `predict` takes.
        class_ : label, optional
            The class whose score is explained; by default the one with the highest score.
        against : label, optional
            Explain the score of `class_` minus that of this class. Under scheme="ovo" the score of the pair, by default
            with the class of the second highest score.

        Returns
        -------
        pandas.DataFrame
            With the columns "feature", "value" as it is in X, "weight" and "contribution", the product of the two, and
            "class", the one that contributions favour; "(intercept)" first, then the largest absolute contributions.
            Weights apply to values after transform, normalisation and idf, the column "transformed" if there are any.
            For log-odds, of two classes or `against` another, "probability" is that of the class by the contributions
            so far. They add up to ``attrs["score"]``, the score of ``attrs["class"]`` in `decision_function`, which for
            two classes is that of `classes_[1]`. For quadratic scores the column "mean", of the class, replaces
            "weight", and contributions are ``-d_j (Sigma^-1 d)_j / 2``, d = x - mean: parts of the Mahalanobis distance
            (Garthwaite and Koch 2016). Log determinants are part of the intercept.

        Raises
        ------
        ValueError
            There are several rows, a label is not a class, or scores are not sums over features.

        Examples
        --------
        >>> import numpy as np, streamnb as snb
        >>> X, y = np.array([[3.0, 0.0, 1.0], [0.0, 4.0, 1.0], [2.0, 1.0, 1.0]]), ["cat", "dog", "cat"]
        >>> found = snb.LinearNB().fit(X, y).explain([[0.0, 2.0, 0.0]])
        >>> found["feature"].tolist(), found.attrs["class"]
        (['(intercept)', 1], 'dog')
        """
        self._explained()
        model, rows = self._ready(X)
        mapped = self._step is not None and self._step.by_column
        own = preparation.opened_columns(self, X, labelled=False) if mapped else None
        return contributions(model, preparation.names_of_columns(self), rows, class_, against, own)

    def markers(
        self,
        n_features: Any = 10,
        *,
        test: str | None = None,
        batch: bool = False,
        corr: str = "benjamini-hochberg",
    ) -> Any:
        """List the features with the strongest evidence for each class against the others, or test all features.

        Parameters
        ----------
        n_features : int
            The largest number of features per class; None for all features, with `test`.
        test : {"t-test", "t-test_overestim_var", "wilcoxon"}, optional
            In place of weights, test the rows of each class against the rest, from the sums of the fit: they need
            ``fit(moments=("sum", "sum_sq"))`` where the family does not keep squares. Rank sums need histograms, which
            ``snb.scan(histogram=..).markers(test="wilcoxon")`` has.
        batch : bool
            Test within batches, for a model of ``fit(batch="obs/sample")``, or within the folds of a CV form; see
            `ClassStats.markers`.
        corr : {"benjamini-hochberg", "bonferroni"}
            How p-values are corrected for many features.

        Returns
        -------
        pandas.DataFrame
            As from `top_features`, but only weights above 0, largest first. With `test` as from `ClassStats.markers`,
            which is that of ``sc.get.rank_genes_groups_df``; `write_markers` puts it into AnnData.

        Raises
        ------
        ValueError
            scheme="ovo", whose weights are of pairs of classes; or the fit has not kept what a test needs.

        Examples
        --------
        >>> import numpy as np, streamnb as snb
        >>> X, y = np.array([[3.0, 0.0, 1.0], [0.0, 4.0, 1.0], [2.0, 1.0, 1.0]]), ["B cell", "T cell", "B cell"]
        >>> snb.LinearNB().fit(X, y).markers(1)[["class", "feature"]].values.tolist()
        [['B cell', 0], ['T cell', 1]]
        """
        names = preparation.names_of_columns(self)
        if test is None:
            if batch:
                raise ValueError("batch=True is of tests within batches; name a test, such as test='t-test'")
            return strongest_features(self._explained(), names, n_features, positive=True)
        self._fitted_model()
        stats: Any = getattr(self, "stats_", None)
        if not hasattr(stats, "markers"):
            raise ValueError(
                f"test={test!r} is of sums of the rows of each class, which {type(self).__name__} does not keep; use "
                "snb.scan(X, y).markers(test=..), or snb.LinearNB"
            )
        table = stats.markers(n_features, test=test, batch=batch, corr=corr, feature_names=names)
        table.attrs["layer"] = self.layer_
        return table

    def annotate(
        self,
        adata: Any,
        key: str = "predicted",
        *,
        over: str | None = None,
        unknown_below: float | str | None = None,
    ) -> Any:
        """Add columns to `obs` of an AnnData object: the predicted class of each cell and its probability.

        Parameters
        ----------
        adata : AnnData
            With the fitted features, in `X` or the layer of `fit`; in memory or backed by its file, which is not
            changed.
        key : str
            Name of the column of labels, a categorical of all classes; probabilities, if the model has any, are in
            ``key + "_probability"``.
        over : str, optional
            A column of `obs` such as "obs/leiden": the most frequent label in each cluster, the first of ties, goes to
            ``key + "_majority"``. "unknown" cells vote for "unknown".
        unknown_below : float or "auto", optional
            Label cells with a lower probability "unknown"; "auto": `unknown_below_`, which `choose_unknown_below` has
            chosen on folds. The classes must be strings. Probabilities that are calibrated on folds, such as those of
            ``LinearNBCV(calibration="sigmoid")``, say how often labels are right.

        Returns
        -------
        AnnData
            The same object.

        Raises
        ------
        TypeError, ValueError
            An argument is something else, `obs` lacks the column, or the model has no probabilities.
        """
        return annotating.annotated(self, adata, key, over, unknown_below)

    def choose_unknown_below(
        self,
        X: Rows,
        y: PerRow,
        sample_weight: PerRow = None,
        *,
        named: float = 0.95,
        folds: int = 5,
        groups: PerRow = None,
        seed: int = 0,
        progress: bool | None = None,
        n_threads: int | None = None,
        memory_limit: Bytes = None,
        client: Any = None,
    ) -> Any:
        """Choose the threshold of ``annotate(unknown_below="auto")`` on folds, and measure its effect.

        For each fold a model is fitted with the parameters of this one, without the rows of the fold. The threshold is
        the highest at which the share `named` of the held-out rows that are labelled right keep their label. A second
        model of each fold also lacks some of the classes. It gets a threshold in the same way, and rows of these
        classes show how often a new class would be "unknown". A class that resembles another one often gets its label,
        whatever the threshold.

        Parameters
        ----------
        X, y, sample_weight
            The rows of the fit, with labels; not in Dask. They are read for two fits and predictions of each fold.
        named : float
            The share of correctly labelled rows that should keep their label, from 0 to 1.
        folds : int
        groups : (n_rows,), optional
            Such as "obs/donor": rows of one group are in one fold, so that the threshold is one for new donors.
        seed : int
            Seed of the folds, and of the `folds` parts into which classes are divided to be left out together.
        progress, n_threads, memory_limit, client
            As in `fit`.

        Returns
        -------
        pandas.DataFrame
            A row for each class. "right": the share of its held-out rows that is labelled right; "named": the share of
            these that keeps its label; "unseen": the share of its rows that is "unknown" to a model without the class.
            NaN where there is no such model, as too few classes would be left, or it labels no row right.

        Raises
        ------
        ValueError, TypeError
            An argument is wrong, the model has no probabilities or other classes than strings, or was calibrated after
            its fit, or no row is labelled right.

        Notes
        -----
        The threshold becomes `unknown_below_`, is saved with the model, and is dropped when the model changes. Models
        of folds are made by `fit`: class weights of `refit`, for instance, are not theirs.

        Examples
        --------
        >>> import numpy as np, streamnb as snb
        >>> y = np.array(["B cell", "NK cell", "T cell"])[np.arange(90) % 3]
        >>> X = np.random.default_rng(0).poisson(np.where(y[:, None] == np.unique(y), 4.0, 1.0))
        >>> model = snb.SoftmaxRegression().fit(X, y)
        >>> table = model.choose_unknown_below(X, y, named=0.9)
        >>> table.columns.tolist(), 0.3 < model.unknown_below_ < 0.9
        (['right', 'named', 'unseen'], True)
        """
        check_is_fitted(self)
        rows = self._opened(X, y, sample_weight, labelled=True)
        options = RunOptions(progress, n_threads, memory_limit, client).fit_options
        self.unknown_below_, shares = annotating.threshold_of_folds(
            self, (X, y, sample_weight), rows, named, folds, groups, seed, options
        )
        return shares

    def predict_ranks(self, reads: Rows, confidence: float = 0.7, draws: int = 100, seed: int = 0) -> Any:
        """Predict taxa from counts, such as k-mers of sequences, down to the last confident rank.

        As in the RDP classifier (Wang, Garrity, Tiedje and Cole 2007), one eighth of the units of a row, such as its
        k-mers, is drawn with replacement, several times. The confidence of a rank is the share of draws whose best
        class has the same names down to that rank as the prediction. Classes that are equally good in a draw share it
        in equal parts, so of references that are identical under two names none has a confidence above .5.

        Parameters
        ----------
        reads : rows
            Anything that `predict` takes, such as "reads.fastq.gz"; counts in whole numbers.
        confidence : float
            The lowest confidence of a rank that is reported, from 0 to 1.
        draws : int
            The number of draws of each row.
        seed : int
            What is drawn depends on this, the number of the row and the draw, and not on blocks or threads.

        Returns
        -------
        pandas.DataFrame
            With the columns "read" (identifiers of files of sequences, else numbers of rows), "taxon" (the label to the
            last rank with this confidence; "Unassigned" if none has it) and "confidence", that of the last of these
            ranks, or of the first rank if there is none.

        Raises
        ------
        ValueError
            The model is not one of counts that has a score for each class, or a value is no whole number.

        Notes
        -----
        Labels are names of ranks, the highest first, split at semicolons, such as "k__Bacteria; p__Firmicutes". Draws
        are scored in single precision, and all k-mers of a row in double precision.

        Examples
        --------
        >>> import streamnb as snb
        >>> labels = ["k__A; g__x", "k__A; g__y", "k__B; g__z"]
        >>> rows = snb.sequences(["ACGTACGTACGTACGT", "ACGTACGTTGCATGCA", "GGGGTTTTGGGGTTTT"], labels, k=3)
        >>> model = snb.LinearNB("multinomial").fit(rows)
        >>> model.predict_ranks(["GGGGTTTTGGGGTT"])["taxon"].tolist()
        ['k__B; g__z']
        """
        model, rows = self._ready(reads)
        return annotating.sure_ranks(model, rows, getattr(self, "family", "multinomial"), confidence, draws, seed)

    def _profile(self) -> ColumnProfile | None:
        """The sums of the columns of the rows that the model has learned from, where it keeps them."""
        stats = vars(self).get("stats_")
        return ColumnProfile.of(stats) if isinstance(stats, ClassStats) else None

    def drift(
        self, X: Rows, before: Rows | None = None, *, threshold: float = 0.2, ignore: Sequence[str] = ()
    ) -> Drift:
        """Report how new rows differ from the training rows: columns, new categories, missing values and scores.

        Columns are compared by their population stability index (PSI), ``sum (q - p) ln(q / p)`` over shares p and q of
        bins, categories or words; or, where the model uses numbers as they are, by its value for normal distributions.
        The rows are read four times.

        Parameters
        ----------
        X : (n_rows, n_features)
            Rows, as for `predict`; labels are not needed.
        before : (n_rows, n_features), optional
            Rows to compare with, instead of the sums that the model keeps; then distributions of scores are compared,
            too.
        threshold : float
            The index at which a column counts as moved: .1 is usually called slight, .25 large.
        ignore : list of str
            Columns that are left out, such as "day: month", which moves with time.

        Returns
        -------
        Drift
            Its `moved` lists the columns that moved; `columns`, `values`, `unseen` and `scores` are data frames, and
            `summary()` is for JSON.

        Raises
        ------
        ValueError
            X lacks a column, has no rows, or the model keeps no sums and `before` is not given.

        Examples
        --------
        >>> import streamnb as snb
        >>> rows = [{"city": city, "late": late} for city in ("Rome", "Oslo") for late in ("no", "yes")] * 50
        >>> found = snb.LinearNB().fit(rows, "late").drift([{"city": "Rome"}, {"city": "Kyiv"}] * 100)
        >>> found.moved, found.unseen["value"].tolist(), found.unseen["rows"].tolist()
        (['city'], ['Kyiv'], [100])
        """
        self._fitted_model()  # raises where there is none
        opened = partial(self._opened, labelled=False)
        return drift(self, self._preparation, self._profile(), opened, (X, before), threshold, ignore)

    # ---- files -------------------------------------------------------------------------------------------------------

    def save(self, path: Any, *, stats: bool = True, meta: Any = None) -> None:
        """Write to one file, no pickle; read it with `snb.load`.

        Parameters
        ----------
        path : path or URL
        stats : bool
            True: parameters and statistics, which allow `refit` and `partial_fit` after loading. False: the model
            alone, as a `PortableModel`, with mostly zero weights stored sparse; loading it and predicting up to 1,000
            rows imports little more than NumPy.
        meta : dict, optional
            Information about the model: strings, numbers, lists and dicts of these. It is kept as `meta_`.

        Raises
        ------
        ValueError
            With ``stats=False``, the model does something that a `PortableModel` cannot; see `export`.
        """
        check_is_fitted(self)
        if meta is not None:
            self.meta_ = checked_meta(meta)
        if arguments.one_of("stats", stats, [True, False]):
            persistence.save(path, self, self._light())
        else:
            self._portable().save(path)

    def _light(self) -> PortableModel | None:
        """The model alone, if it is small and has such a form, for processes that read no more of its file."""
        if 8 * self.n_features_in_ * len(self.classes_) > LIGHT:
            return None
        try:
            return self._portable()
        except (ValueError, TypeError, AttributeError, MemoryError):
            return None

    def export(
        self, path: Any, *, dialect: str | None = None, table: str = "rows", keep: Sequence[str] | None = None
    ) -> None:
        """Write the model, without statistics, to a file that other programs can predict with.

        Parameters
        ----------
        path : path or URL
            "m.onnx": an ONNX graph (``pip install streamnb[onnx]``) with the input "rows", float32 (n_rows,
            n_features), or an input for each column of a table, (n_rows, 1), and the outputs "labels" and
            "probabilities" ("scores" where there are none); its arithmetic is in float64. "m.json": weights by class,
            and the steps before them, with which docs/export.md predicts in ten lines of NumPy; for a table, the scores
            of its values. Both decide as `predict` does.
            "m.py": plain Python without libraries, whose ``predict(record)`` and ``predict_proba(record)`` take a dict
            with the columns of the table, or with x0, x1, .. for arrays. "m.sql": one query that scores the rows of a
            table in a database.
        dialect : str, optional
            The SQL of an .sql file, such as "duckdb", "postgres" or "sqlite", by sqlglot (``pip install
            streamnb[sql]``).
        table : str
            The table that an .sql file scores, such as "flights" or "schema.flights".
        keep : list of str, optional
            Its columns that the result has before "label" and "probability of ..", such as a key; by default those
            that the model reads.

        Raises
        ------
        ValueError
            The name has an unknown ending, the model does something that the file cannot express (the quantile-normal
            map, pairs of classes, quadratic scores, loss=, threshold=, isotonic calibration), or its columns are made
            of texts or hashes. Nothing is written then.
        ImportError
            onnx or sqlglot is not installed.

        Examples
        --------
        >>> import json, pathlib, tempfile, streamnb as snb
        >>> model = snb.LinearNB().fit([[3.0, 0.0], [0.0, 3.0]], ["cat", "dog"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.export(f"{folder}/m.json")
        ...     sorted(json.loads(pathlib.Path(folder, "m.json").read_text()))[:3]
        ['feature_names', 'format', 'multilabel']
        """
        write(path, self._portable, scoring_of(dialect, table, keep))

    def to_sklearn(self) -> Pipeline:
        """Convert to a fitted pipeline of scikit-learn's own estimators, which does not need this package.

        The row transforms become transformers, followed by LogisticRegression, or by OneVsRestClassifier for
        scheme="ovr" and for labels. `predict` decides as this model does and `predict_proba` is the same, to the
        precision of the given rows: scikit-learn normalises float32 rows in float32. LinearSVC, which has no
        probabilities, replaces LogisticRegression where the model has none, or has some that scikit-learn does not
        support, those of labels against a reference label (``reference=``).

        Raises
        ------
        ValueError
            As for `export`; also for bins, and for functions of only some of the columns, which have no transformer.

        Examples
        --------
        >>> import streamnb as snb
        >>> model = snb.LinearNB(transform="log1p").fit([[3.0, 0.0], [0.0, 3.0]], ["cat", "dog"])
        >>> model.to_sklearn().predict([[0.0, 1.0]])
        array(['dog'], dtype='<U3')
        """
        return as_sklearn(self._portable())

    def _portable(self) -> PortableModel:
        """The model without statistics."""
        model = self._explained()
        names = preparation.names_of(self)
        beside = {"encoding": self.encoding_, "meta_": self.meta_}
        return portable(model, self._step, names, hasattr(self, "predict_proba"), **beside)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def model_and_rows(estimator: Classifier, X: Any, *beside: Any, labelled: bool = True) -> tuple[LinearModel, Source]:
    """The model of a fitted classifier, and rows opened for it; `beside` are their labels and weights."""
    return estimator._ready(X, *beside, labelled=labelled)


def fitted_model(estimator: Classifier) -> LinearModel:
    """The model of a fitted classifier."""
    return estimator._fitted_model()


def explained_model(model: LinearModel | Classifier) -> LinearModel:
    """The model for explanations by feature; TypeError where a classifier has none."""
    return model if isinstance(model, LinearModel) else model._explained()


def family_of_columns(estimator: Classifier, family: Family) -> Family:
    """A family for the columns of a fitted classifier's weights."""
    return estimator._preparation.family(family, preparation.names_of(estimator))


def check_parameters(estimator: Classifier) -> None:
    """Raise for parameters that are wrong for any data."""
    estimator._check_params()


def checked_meta(meta: Any) -> dict[str, Any]:
    """`meta`, checked to be storable in a file."""
    if not isinstance(meta, dict) or not all(isinstance(name, str) for name in meta):
        raise TypeError(f"meta={meta!r} should be a dict with names, such as {{'trained on': 'March'}}")
    try:
        return json.loads(json.dumps(meta, allow_nan=False))
    except (TypeError, ValueError) as error:
        raise TypeError(f"meta={meta!r} should hold strings, numbers, and lists and dicts of these: {error}") from error

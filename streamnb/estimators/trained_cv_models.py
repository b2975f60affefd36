"""Softmax regression and the squared hinge, their penalties and reads chosen by cross-validation in shared reads."""

from __future__ import annotations

from typing import Any, ClassVar

from streamnb.core import persistence
from streamnb.estimators.trained_cv import TrainedClassifierCV
from streamnb.estimators.trained_models import MarginClassifier, SoftmaxRegression


@persistence.register
class SoftmaxRegressionCV(TrainedClassifierCV, SoftmaxRegression):
    """`SoftmaxRegression` whose penalties and number of reads are chosen by cross-validation in shared reads.

    Every penalty of the grid is trained without each fold. A read brings all of these models one step, and judges what
    they have come to on their folds: the rows are read about as often as one model needs, and the score is known after
    each read, so that the number of reads is chosen, too. A model is left where it is once it has converged, or once
    five reads, and half as many as its best took, gave no better score on its fold. Then the best penalty is fitted to
    all rows, in as many reads as were best. All is the same to the last bit for any chunks, threads and workers.

    Parameters
    ----------
    l2, l1 : float or list of float, optional
        Strengths to choose from; the product of both lists is judged. By default 0.01, 0.1, .., 1000 for l2, 0 where l1
        is given, and 0 for l1.
    folds : int or (n_rows,) ints
        Number of folds, or the fold of each row, numbered from 0; see `fold_numbers`.
    scoring : str, callable or a list of these
        As for `LinearNBCV`; the first of a list chooses, and of what is equally good by it, the next.
    rule : {"best", "parsimonious", "one_se"}
        The penalty and number of reads with the highest mean score; or, of those whose mean is within 1 % of it, or
        within one standard error of it, that with the fewest features, then the fewest reads.
    seed : int
    start, tol, max_passes, transform, normalize, idf, class_weight
        As for `SoftmaxRegression`, of each model; `max_passes` is at least 2. A `transform` that is learned, and idf,
        are learned for the models of each fold of the rows outside it.

    Attributes
    ----------
    best_ : dict
        What was chosen, such as ``{"l2": 1.0, "l1": 0.0, "max_passes": 6}``: ``SoftmaxRegression(**model.best_)``
        gives the same weights.
    best_score_ : float
        Its mean score.
    cv_results_ : dict of (G,) arrays
        A row for each penalty after each read: params, param_l2, param_l1, param_max_passes, mean_test_score,
        std_test_score, rank_test_score, split<s>_test_score, class_test_score_<label>, n_features (that are used, the
        mean over folds). NaN where a fold lacks a class; means are over the others.
    history_ : dict of (`n_passes_`,) arrays
        Of the fit to all rows, a value a read: objective, gradient_norm, seconds, and held_out_score, the mean score of
        this penalty after as many reads.
    report_ : Report
        Of the scan and of all reads, shared ones and those of the last fit.
    classes_, coef_, intercept_, n_passes_, converged_, n_features_in_, feature_names_in_
        As of `SoftmaxRegression`.

    Examples
    --------
    >>> import streamnb as snb
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = snb.SoftmaxRegressionCV([0.1, 10.0], scoring="accuracy").fit(X, y)
    >>> model.best_["l2"], model.best_score_ > 0.95
    (0.1, True)
    """

    _has_probabilities = True
    _fixed: ClassVar = {"calibration": None}


@persistence.register
class MarginClassifierCV(TrainedClassifierCV, MarginClassifier):
    """`MarginClassifier` whose penalties and number of reads are chosen by cross-validation in shared reads.

    Parameters and attributes are those of `SoftmaxRegressionCV`, and:

    Parameters
    ----------
    scoring
        Scores are margins: one that needs probabilities is refused, and a function of an `Evaluation` gets one without,
        but with ``scheme="joint"``.
    calibration : {None, "sigmoid", "isotonic"}
        As for `MarginClassifier`, by the models without each fold, five at least, at what was chosen: they are trained
        once more, in as many reads as the model. The choice is the same.
    scheme : {"ovr", "joint"}
        As for `MarginClassifier`.

    Examples
    --------
    >>> import streamnb as snb
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = snb.MarginClassifierCV(l2=[0.1, 10.0], folds=3, scoring="accuracy", max_passes=20).fit(X, y)
    >>> model.best_["l2"], round(model.best_score_, 2)
    (0.1, 0.95)
    """

    def __init__(
        self,
        l2: Any = None,
        l1: Any = None,
        *,
        folds: Any = 5,
        scoring: Any = "roc_auc",
        rule: str = "best",
        seed: int = 0,
        start: Any = "auto",
        tol: float = 1e-4,
        max_passes: int = 50,
        transform: Any = None,
        normalize: str | None = None,
        idf: bool = False,
        class_weight: Any = None,
        calibration: str | None = None,
        scheme: str = "ovr",
    ):
        options = {"start": start, "tol": tol, "max_passes": max_passes, "transform": transform}
        options |= {"normalize": normalize, "idf": idf, "class_weight": class_weight, "calibration": calibration}
        MarginClassifier.__init__(self, l2, l1, **options, scheme=scheme)
        self._keep_choice(folds, scoring, rule, seed)

    @property
    def _has_probabilities(self) -> bool:  # type: ignore[override]
        return self.scheme == "joint"

"""Softmax regression and linear support vector machines, with and without cross-validation."""

from __future__ import annotations

from typing import Any

from streamnb.core import persistence
from streamnb.estimators.trained import TrainedClassifier, learner_of
from streamnb.estimators.trained_cv import TrainedClassifierCV
from streamnb.training.fitting import DescentMethod
from streamnb.training.learner import Learner
from streamnb.training.objectives import softmax_of, squared_hinge_of

LOG_ODDS = 2.0  # for each unit of margin


def _softmax(self: Any) -> Learner:
    return learner_of(self, DescentMethod(softmax_of))


def _margins(self: Any) -> Learner:
    return learner_of(self, DescentMethod(squared_hinge_of), factor=LOG_ODDS if self.scheme == "joint" else 1.0)


@persistence.register
class SoftmaxRegression(TrainedClassifier):
    r"""Multinomial logistic regression, from one scan and a few reads of data of any size.

    Minimises, by L-BFGS that the scan's own sums start and precondition (Nocedal 1980),

        sum_i w_i (-ln p(y_i | x_i)) + l2 / 2 \|W\|^2 + l1 \|W\|_1,   p(. | x) = softmax(W x + b),

    the objective of scikit-learn's LogisticRegression with ``C = 1 / l2``; intercepts are not penalised. Two classes
    have one row of weights, and a 2-D y has logistic regression for each label by itself. The weights are the same to
    the last bit for any chunks, threads and workers.

    Parameters
    ----------
    l2, l1 : float
        Strengths of the penalties, 0 or above. With l1 many weights are 0 (orthant-wise steps, Andrew and Gao 2007).
    start : {"auto"} or LinearModel
        Weights of 0; the intercepts, the first direction and the scale of each feature come from the scan. Or a model
        of the same classes, such as ``snb.solve(stats, "gaussian")[0]``: the first read looks for the best point on the
        line from 0 through its weights. That helps dense rows in the first reads, and hurts text.
    tol : float
        Ends once the gradient, in units of the curvature, is so small beside that of the start.
    max_passes : int
        Reads of the rows after the scan, at most. Fewer regularise, too.
    transform, normalize, idf
        As for `LinearNB`, but that features are multiplied by idf before rows are divided by their length, as
        scikit-learn's TfidfTransformer does it; both together take one scan more. A `transform` that is learned
        takes one pass more, too.
    class_weight : None, "balanced" or {label: weight}
        What the weights of the rows of a class are multiplied by.

    Attributes
    ----------
    classes_ : (K,) labels, sorted; of a 2-D y its columns
    coef_ : (1, n_features) for two classes; else (K, n_features)
    intercept_ : one for each row of `coef_`
    n_passes_ : int
        Reads of the rows after the scan.
    converged_ : bool
        Whether the gradient came below `tol`.
    history_ : dict of (`n_passes_`,) arrays
        A value a read: objective, gradient_norm (in units of the curvature: half its square is about what is left to
        fall), seconds. The first read compares steps along the scan's direction; its gradient is that of the start.
    report_ : Report
        Rows, bytes, blocks and seconds of the scan and all reads.
    n_features_in_, feature_names_in_
        As of `LinearNB`.

    Examples
    --------
    >>> import streamnb as snb
    >>> X, y = [[0.0], [0.0], [0.0], [1.0], [1.0], [1.0]], ["ill", "well", "well", "ill", "ill", "well"]
    >>> model = snb.SoftmaxRegression(l2=0.1).fit(X, y)
    >>> model.predict([[0.0], [1.0]]).tolist()
    ['well', 'ill']
    """

    def __init__(
        self,
        l2: float = 1.0,
        l1: float = 0.0,
        *,
        start: Any = "auto",
        tol: float = 1e-4,
        max_passes: int = 50,
        transform: Any = None,
        normalize: str | None = None,
        idf: bool = False,
        class_weight: Any = None,
    ):
        self.l2, self.l1, self.start, self.tol, self.max_passes = l2, l1, start, tol, max_passes
        self.transform, self.normalize, self.idf, self.class_weight = transform, normalize, idf, class_weight

    _learner = _softmax


@persistence.register
class MarginClassifier(TrainedClassifier):
    r"""Linear support vector machine with the squared hinge, each class against the rest, in a few reads of the rows.

    Minimises for each class k, with c_ik = 1 for its rows and -1 for others,

        sum_i w_i max(0, 1 - c_ik (W_k x_i + b_k))^2 + l2 / 2 \|W_k\|^2 + l1 \|W_k\|_1,

    the objective of scikit-learn's LinearSVC(loss="squared_hinge") with ``C = 1 / l2``, but that intercepts are not
    penalised. Parameters are those of `SoftmaxRegression`, and:

    Parameters
    ----------
    calibration : {None, "sigmoid", "isotonic"}
        Without it there are no probabilities before `calibrate`. With it five models more are trained, each without
        a fifth of the rows, in reads that they share; their scores of a sample of these rows calibrate the model, as
        `calibrate` does by rows held back.
    scheme : {"ovr", "joint"}
        Whether the scores of the classes are margins m, each by itself, or ("joint") 2 m, those of one softmax: the
        share of a class by least squares, (1 + m) / 2, has log-odds of about 2 m. Decisions are the same. Rows are then
        ranked by what a class is beside the others, by which areas under ROC curves gain, and there are probabilities,
        rough ones before they are calibrated.

    Attributes
    ----------
    classes_, coef_, intercept_, n_passes_, converged_, history_, report_, n_features_in_, feature_names_in_
        As of `SoftmaxRegression`.

    Examples
    --------
    >>> import streamnb as snb
    >>> X, y = [[0.0], [0.0], [0.0], [1.0], [1.0], [1.0]], ["ill", "well", "well", "ill", "ill", "well"]
    >>> snb.MarginClassifier(l2=0.1).fit(X, y).predict([[0.0], [1.0]]).tolist()
    ['well', 'ill']
    """

    def __init__(
        self,
        l2: float = 1.0,
        l1: float = 0.0,
        *,
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
        self.l2, self.l1, self.start, self.tol, self.max_passes = l2, l1, start, tol, max_passes
        self.transform, self.normalize, self.idf, self.class_weight = transform, normalize, idf, class_weight
        self.calibration, self.scheme = calibration, scheme

    _learner = _margins


@persistence.register
class SoftmaxRegressionCV(TrainedClassifierCV):
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
    ):
        self.folds, self.scoring, self.rule, self.seed = folds, scoring, rule, seed
        self.l2, self.l1, self.start, self.tol, self.max_passes = l2, l1, start, tol, max_passes
        self.transform, self.normalize, self.idf, self.class_weight = transform, normalize, idf, class_weight

    _learner = _softmax


@persistence.register
class MarginClassifierCV(TrainedClassifierCV):
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
        self.folds, self.scoring, self.rule, self.seed = folds, scoring, rule, seed
        self.l2, self.l1, self.start, self.tol, self.max_passes = l2, l1, start, tol, max_passes
        self.transform, self.normalize, self.idf, self.class_weight = transform, normalize, idf, class_weight
        self.calibration, self.scheme = calibration, scheme

    _learner = _margins

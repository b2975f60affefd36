"""Classifiers that take a few reads of the rows: softmax regression and the squared hinge."""

from __future__ import annotations

from typing import Any

from streamnb.core import arguments, persistence
from streamnb.estimators.calibrated_fit import CalibratedClassifier
from streamnb.estimators.trained import TrainedClassifier
from streamnb.stats.class_stats import ClassStats
from streamnb.training import objectives
from streamnb.training.objectives import Objective

LOG_ODDS = 2.0  # for each unit of margin


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

    def _objective(self, stats: ClassStats) -> Objective:
        return objectives.Softmax() if len(stats.classes) > 2 and not stats.multilabel else objectives.Logistic()


@persistence.register
class MarginClassifier(CalibratedClassifier):
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
        options = {"start": start, "tol": tol, "max_passes": max_passes, "transform": transform}
        super().__init__(l2, l1, **options, normalize=normalize, idf=idf, class_weight=class_weight)
        self.calibration, self.scheme = calibration, scheme

    @property
    def _scheme(self) -> str:  # type: ignore[override]
        return self.scheme

    @property
    def _factor(self) -> float:  # type: ignore[override]
        return LOG_ODDS if self.scheme == "joint" else 1.0

    def _check_params(self) -> None:
        super()._check_params()
        arguments.one_of("scheme", self.scheme, ["ovr", "joint"])

    def _gives_probabilities(self) -> bool:
        return self.scheme == "joint" or super()._gives_probabilities()

    def _objective(self, stats: ClassStats) -> Objective:
        return objectives.SquaredHinge()

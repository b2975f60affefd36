"""Softmax regression, linear support vector machines, generalized naive Bayes and least squares of classes."""

from __future__ import annotations

from typing import Any, ClassVar

from streamnb.core import arguments, persistence
from streamnb.estimators.parameters import keeps_parameters, number_above_0
from streamnb.estimators.preparation import StepRequest
from streamnb.estimators.trained import TrainedClassifier, TrainedClassifierCV, learner_of
from streamnb.estimators.transformers import Bins
from streamnb.solving.fitting import DescentMethod
from streamnb.solving.generalized import CorrectionsMethod
from streamnb.solving.learner import Learner
from streamnb.solving.least_squares import LabelSpaceMethod, LeastSquaresMethod
from streamnb.solving.objectives import softmax_of, squared_hinge_of

LOG_ODDS = 2.0  # per unit of margin


@persistence.register
class SoftmaxRegression(TrainedClassifier):
    r"""Multinomial logistic regression, trained in one scan and a few further reads of data of any size.

    Minimises, by L-BFGS that is started and preconditioned with the sums of the scan (Nocedal 1980),

        sum_i w_i (-ln p(y_i | x_i)) + l2 / 2 \|W\|^2 + l1 \|W\|_1,   p(. | x) = softmax(W x + b),

    the objective of scikit-learn's LogisticRegression with ``C = 1 / l2``; intercepts are not penalised. Two classes
    have one row of weights; for a 2-D y each label has its own logistic regression. The weights are the same to the
    last bit for any chunks, threads and workers.

    Parameters
    ----------
    l2, l1 : float
        Strengths of the penalties, 0 or above. With l1 many weights are 0 (orthant-wise steps, Andrew and Gao 2007).
    start : {"auto"} or LinearModel
        "auto": weights of 0; the intercepts, the first direction and the scale of each feature come from the scan. Or a
        model of the same classes, such as ``snb.solve(stats, "gaussian")[0]``: the first read finds the best point on
        the line from 0 through its weights. That helps dense rows in the first reads, and hurts text.
    tol : float
        Stop once the norm of the gradient, in units of the curvature, is at most this fraction of its initial value.
        With 10,000 rows or more, also stop once another read is expected to lower the objective by less than .00003 per
        row; below 1e-4, `tol` lowers this bound with its square.
    max_passes : int
        Maximum number of reads after the scan. Stopping early regularises, too.
    transform, normalize, idf
        As for `LinearNB`, except that features are multiplied by idf before rows are normalised, as in scikit-learn's
        TfidfTransformer; both together take one more scan. A `transform` that is learned takes one more pass.
    class_weight : None, "balanced" or {label: weight}
        Factors of the row weights, by class.
    standardize : bool
        Fit as if each feature had mean 0 and variance 1, for columns with different units. Sparse rows stay sparse, as
        means and scales are folded into the weights. `coef_` has weights of features divided by their standard
        deviation.

    Attributes
    ----------
    classes_ : (K,) labels, sorted; of a 2-D y its columns
    coef_ : (1, n_features) for two classes; else (K, n_features)
    intercept_ : one for each row of `coef_`
    n_passes_ : int
        Reads of the rows after the scan.
    converged_ : bool
        Whether training stopped because of `tol`.
    history_ : dict of (`n_passes_`,) arrays
        One value per read: objective, gradient_norm (in units of the curvature; half its square is about the decrease
        still possible), seconds. The first read compares steps along the scan's direction; its gradient is that at the
        start.
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

    @keeps_parameters
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
        standardize: bool = False,
    ):
        pass

    def _learner(self) -> Learner:
        return learner_of(self, DescentMethod(softmax_of))


@persistence.register
class MarginClassifier(TrainedClassifier):
    r"""Linear support vector machine with the squared hinge loss, each class against the rest, in a few reads.

    Minimises for each class k, with c_ik = 1 for its rows and -1 for others,

        sum_i w_i max(0, 1 - c_ik (W_k x_i + b_k))^2 + l2 / 2 \|W_k\|^2 + l1 \|W_k\|_1,

    the objective of scikit-learn's LinearSVC(loss="squared_hinge") with ``C = 1 / l2``, except that intercepts are not
    penalised. Parameters are those of `SoftmaxRegression`, and:

    Parameters
    ----------
    calibration : {None, "auto", "sigmoid", "isotonic", "matrix"}
        None: no probabilities until `calibrate` is called. Otherwise five more models are trained in shared reads, each
        without a fifth of the rows; their scores on a sample of held-out rows calibrate the model, as `calibrate` does
        with other rows. "auto" takes "sigmoid" or, for 3 to 64 classes, "matrix", whichever has the lower log loss on
        rows that it was not fitted to. Probabilities that exist without calibration stay unless it lowers that loss.
    scheme : {"ovr", "joint"}
        "ovr": the scores of the classes are separate margins m. "joint": they are 2 m, the scores of one softmax, as
        the class share by least squares, (1 + m) / 2, has log-odds of about 2 m. Decisions are the same. Under "joint"
        rows are ranked by a class relative to the others, which improves the areas under ROC curves, and there are
        probabilities, which are rough before calibration.

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

    @keeps_parameters
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
        standardize: bool = False,
    ):
        pass

    def _learner(self) -> Learner:
        factor = LOG_ODDS if self.scheme == "joint" else 1.0
        return learner_of(self, DescentMethod(squared_hinge_of), factor=factor)


@persistence.register
class SoftmaxRegressionCV(TrainedClassifierCV):
    """`SoftmaxRegression` whose penalties and number of reads are chosen by cross-validation in shared reads.

    For every penalty in the grid, one model is trained for each fold, on the other rows. Each read advances all of
    these models by one step and scores them on their folds. The rows are therefore read about as often as for one
    model, and the number of reads is chosen as well. A model stops once it has converged, or once its score on its fold
    has not improved for five reads, or for half as many as its best score took if that is more. Then the best penalty
    is fitted to all rows: if stopping early was best, with as many reads; otherwise until it converges, as
    `SoftmaxRegression` does. All results are the same to the last bit for any chunks, threads and workers.

    Of 10,000 rows or more, and ten for each weight, three values of l2 or more share their reads in two turns: models
    of the middle one first, then all others, which go on from the weights of these and are judged at their ends alone.

    Parameters
    ----------
    l2, l1 : float or list of float, optional
        Candidates; all combinations of both lists are judged. By default l2 is 0.01, 0.1, .., 1000, or 0 where l1 is
        given, and l1 is 0.
    folds : int or (n_rows,) ints
        Number of folds, or the fold of each row, numbered from 0; see `fold_numbers`.
    scoring : str, callable or a list of these
        As for `LinearNBCV`; the first of a list decides, and the others break ties.
    rule : {"best", "parsimonious", "one_se"}
        "best" has the highest mean score after its last read. Fewer reads are chosen only if they score better by more
        than two standard errors of the difference over the folds. "parsimonious" and "one_se" look at all points within
        1 %, or one standard error, of the best, and take the fewest features, then the fewest reads.
    seed : int
    start, tol, max_passes, transform, normalize, idf, class_weight, standardize
        As for `SoftmaxRegression`, for each model; `max_passes` is at least 2. For the models without a fold, idf and a
        learned `transform` are learned from the rows outside it.

    Attributes
    ----------
    best_params_ : dict
        The chosen point, such as ``{"l2": 1.0, "l1": 0.0, "max_passes": 6}``, with the best number of reads for the
        models without a fold. The fit to all rows took `n_passes_`.
    best_score_ : float
        Its mean score.
    cv_results_ : dict of (G,) arrays
        One row for each penalty and read: params, param_l2, param_l1, param_max_passes, mean_test_score,
        std_test_score, low_test_score and high_test_score (as in `LinearNBCV`), rank_test_score, split<s>_test_score,
        class_test_score_<label>, n_features (the number used, the mean over folds). NaN where a fold lacks a class;
        means are over the others.
    history_ : dict of (`n_passes_`,) arrays
        One value for each read of the fit to all rows: objective, gradient_norm, seconds, and held_out_score, the mean
        score of this penalty after as many reads.
    report_ : Report
        Covers the scan and all reads, those shared and those of the last fit.
    classes_, coef_, intercept_, n_passes_, converged_, n_features_in_, feature_names_in_
        As of `SoftmaxRegression`.

    Examples
    --------
    >>> import streamnb as snb
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = snb.SoftmaxRegressionCV([0.1, 10.0], scoring="accuracy").fit(X, y)
    >>> model.best_params_["l2"], model.best_score_ > 0.95
    (0.1, True)
    """

    @keeps_parameters
    def __init__(
        self,
        l2: Any = None,
        l1: Any = None,
        *,
        folds: Any = 5,
        scoring: Any = "neg_log_loss",
        rule: str = "best",
        seed: int = 0,
        start: Any = "auto",
        tol: float = 1e-4,
        max_passes: int = 50,
        transform: Any = None,
        normalize: str | None = None,
        idf: bool = False,
        class_weight: Any = None,
        standardize: bool = False,
    ):
        pass

    _learner = SoftmaxRegression._learner


@persistence.register
class MarginClassifierCV(TrainedClassifierCV):
    """`MarginClassifier` whose penalties and number of reads are chosen by cross-validation in shared reads.

    Parameters and attributes are those of `SoftmaxRegressionCV`, and:

    Parameters
    ----------
    scoring
        Scores are margins: unless ``scheme="joint"``, scorers that need probabilities are an error, and a function of
        an `Evaluation` gets one without probabilities.
    calibration : {None, "auto", "sigmoid", "isotonic", "matrix"}
        As for `MarginClassifier`, using the models without each fold, at least five, at the chosen point. Those that
        stopped early are trained once more, in as many reads as the model. The choice stays the same. With fewer folds,
        "auto" leaves the model without probabilities.
    scheme : {"ovr", "joint"}
        As for `MarginClassifier`.

    Examples
    --------
    >>> import streamnb as snb
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = snb.MarginClassifierCV(l2=[0.1, 10.0], folds=3, scoring="accuracy").fit(X, y)
    >>> model.best_params_["l2"], round(model.best_score_, 2)
    (0.1, 0.95)
    """

    @keeps_parameters
    def __init__(
        self,
        l2: Any = None,
        l1: Any = None,
        *,
        folds: Any = 5,
        scoring: Any = ("accuracy", "roc_auc"),
        rule: str = "best",
        seed: int = 0,
        start: Any = "auto",
        tol: float = 1e-4,
        max_passes: int = 50,
        transform: Any = None,
        normalize: str | None = None,
        idf: bool = False,
        class_weight: Any = None,
        calibration: str | None = "auto",
        scheme: str = "ovr",
        standardize: bool = False,
    ):
        pass

    _learner = MarginClassifier._learner


@persistence.register
class GeneralizedNB(TrainedClassifier):
    r"""Naive Bayes on bins of each feature, with jointly trained corrections (Larsen 2005).

    The score of class k is

        ln P_k + c_k + sum_j ln p(bin of x_j | k) + b_{jk}(bin of x_j),

    where the first and third term are those of naive Bayes, and the corrections b and c minimise

        sum_i w_i (-ln p(y_i | x_i)) + l2 / 2 (\|b\|^2 + \|c\|^2),   where sum_i w_i b_{jk}(bin of x_ij) = 0.

    For large l2 this is naive Bayes; as l2 falls to 0 it becomes additive logistic regression, in which a duplicated
    feature counts once. One pass learns the bins, one sums them, and each further read takes a step.

    Parameters
    ----------
    l2 : float
        Strength of the penalty, 0 or above.
    bins : int or Bins
        Bins of each feature: a number of quantiles, or a `Bins` to learn them. Quantiles count rows, not their weights.
    smoothing : float
        Added to the weight of each bin in each class, above 0.
    tol, max_passes, class_weight
        As for `SoftmaxRegression`.

    Attributes
    ----------
    coef_ : (1, n_columns) for two classes; else (K, n_columns), naive Bayes plus corrections, one column per bin
    column_names_ : (n_columns,) such as "x3 in (509, 733]"
    classes_, intercept_, n_passes_, converged_, history_, report_, n_features_in_, feature_names_in_
        As of `SoftmaxRegression`; the first read is that of naive Bayes itself.

    Notes
    -----
    For a 2-D y, each label has the log-odds of its rows against all others, with its own corrections.

    Examples
    --------
    >>> import streamnb as snb
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = snb.GeneralizedNB(l2=0.1, bins=4, tol=0.01).fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    """

    _checks: ClassVar = {
        **TrainedClassifier._checks,
        "bins": lambda name, value: value if isinstance(value, Bins) else arguments.positive_integer(name, value, 2),
        "smoothing": number_above_0("at 0 a bin without rows of a class has log probability -inf"),
    }

    @keeps_parameters
    def __init__(
        self,
        l2: float = 1.0,
        bins: Any = 16,
        *,
        smoothing: float = 1.0,
        tol: float = 1e-4,
        max_passes: int = 50,
        class_weight: Any = None,
    ):
        pass

    def _learner(self) -> Learner:
        return learner_of(self, CorrectionsMethod(softmax_of, self.smoothing))

    def _step_request(self) -> StepRequest:
        return StepRequest(type(self).__name__, self.bins if isinstance(self.bins, Bins) else Bins(self.bins))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


@persistence.register
class LeastSquaresClassifier(TrainedClassifier):
    r"""Least squares on class indicators, each class against the rest, by conjugate gradients.

    Minimises for each class k, with c_ik = 1 for its rows and -1 for others,

        1/2 sum_i w_i (W_k x_i + b_k - c_ik)^2 + l2 / 2 \|W_k\|^2,

    the objective of scikit-learn's RidgeClassifier with ``alpha = l2``; intercepts are not penalised. In each read,
    every class moves to the best point in the span of all directions (Hestenes and Stiefel 1952, O'Leary 1980). This
    model reaches a good accuracy in the fewest reads: texts need 2 to 6, and stopping early regularises as `l2` does.
    If 16 are not enough, one more sums products of the most frequent columns, which are then solved for jointly.
    Parameters and attributes are those of `MarginClassifier` without `l1`. Probabilities need `calibration` or
    `calibrate`.

    Parameters
    ----------
    solver : {"conjugate_gradients", "products"}
        "products" sums products of feature pairs in the scan, and solves for the weights without a further read:
        `n_passes_` is 0. For up to some thousand features, 8 n (n + 1) bytes, within `memory_limit`. The weights are
        the same as those of converged conjugate gradients. For sparse rows, such as those of
        ``transform=snb.Bins(..)``, only stored values are multiplied.
    standardize : bool
        As for `SoftmaxRegression`.

    Examples
    --------
    >>> import streamnb as snb
    >>> X, y = [[0.0], [0.0], [0.0], [1.0], [1.0], [1.0]], ["ill", "well", "well", "ill", "ill", "well"]
    >>> snb.LeastSquaresClassifier(l2=0.1).fit(X, y).predict([[0.0], [1.0]]).tolist()
    ['well', 'ill']
    """

    @keeps_parameters
    def __init__(
        self,
        l2: float = 1.0,
        *,
        start: Any = "auto",
        tol: float = 1e-4,
        max_passes: int = 50,
        transform: Any = None,
        normalize: str | None = None,
        idf: bool = False,
        class_weight: Any = None,
        calibration: str | None = None,
        solver: str = "conjugate_gradients",
        standardize: bool = False,
    ):
        pass

    def _learner(self) -> Learner:
        return learner_of(self, LeastSquaresMethod(self.solver == "products"), scheme="ovr")


@persistence.register
class LeastSquaresClassifierCV(TrainedClassifierCV):
    """`LeastSquaresClassifier` whose l2 and number of reads are chosen by cross-validation in shared reads.

    Parameters and attributes are those of `MarginClassifierCV`, without l1, and:

    Parameters
    ----------
    standardize : bool
        As for `LeastSquaresClassifier`.
    solver : {"conjugate_gradients", "products"}
        "products": the scan sums products for each fold, which determine all models of all folds and l2. One more read
        scores them; the final model needs none. "max_passes" in `best_params_` is then a meaningless 1.

    Examples
    --------
    >>> import streamnb as snb
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> bins = snb.Bins(8)
    >>> model = snb.LeastSquaresClassifierCV(solver="products", transform=bins, scoring="accuracy").fit(X, y)
    >>> model.best_score_ > 0.93, model.n_passes_
    (True, 0)
    """

    @keeps_parameters
    def __init__(
        self,
        l2: Any = None,
        *,
        folds: Any = 5,
        scoring: Any = ("accuracy", "roc_auc"),
        rule: str = "best",
        seed: int = 0,
        start: Any = "auto",
        tol: float = 1e-4,
        max_passes: int = 50,
        transform: Any = None,
        normalize: str | None = None,
        idf: bool = False,
        class_weight: Any = None,
        calibration: str | None = "auto",
        solver: str = "conjugate_gradients",
        standardize: bool = False,
    ):
        pass

    _learner = LeastSquaresClassifier._learner


@persistence.register
class LabelSpace(TrainedClassifier):
    r"""Least squares on the principal components of the labels of multi-label rows (PLST, with centred labels).

    If labels occur together, rare ones borrow strength from common ones. One scan sums products G of features and Q of
    labels,
    Q_uv the weight of rows with both u and v, c = diag Q, and S, the sums s_u of the rows of each label::

        C = Q - c c' / N,  V the M eigenvectors of C with the largest eigenvalues, (L, M)
        W = (G - s s' / N + l2 I)^-1 (S - s c' / N) V V',  b = c / N - W' s / N

    and a row has the labels where W' x + b is above 1/2: F. Tai and H.-T. Lin, Multilabel classification with principal
    label space transformation, Neural Computation 24 (2012); their form does not centre labels and is less accurate.
    With all components it is `LeastSquaresClassifier`, for each label by itself. Weights and scores are those of labels
    coded as 1 and -1, twice as large, so that scores above 0 are predicted, as in all classifiers here.

    Parameters
    ----------
    n_components : int, optional
        M, at most the number of labels L; L by default.
    l2 : float
        Strength of the penalty on the weights.
    solver : {"products", "conjugate_gradients"}
        "products": the scan sums products of feature pairs, and nothing is read again; for up to some thousand
        features, 8 n (n + 1) bytes. "conjugate_gradients": one step per read for all components together, for any
        number of features.
    tol, max_passes, transform, normalize, idf, calibration
        As for `LeastSquaresClassifier`.

    Attributes
    ----------
    classes_, coef_, intercept_, n_passes_, converged_, history_, report_
        As of `LeastSquaresClassifier`; `coef_` (L, n_features) has a row for each label, not for each component.

    Examples
    --------
    One component is enough for these three labels:

    >>> import numpy as np
    >>> import streamnb as snb
    >>> Y = np.array([[1, 0, 0], [1, 1, 0], [1, 0, 1], [1, 1, 0]])
    >>> model = snb.LabelSpace(n_components=1, l2=1e-6).fit(np.eye(4), Y)
    >>> int((model.predict(np.eye(4)) != Y).sum())
    0
    """

    @keeps_parameters
    def __init__(
        self,
        n_components: Any = None,
        l2: float = 1.0,
        *,
        tol: float = 1e-4,
        max_passes: int = 50,
        transform: Any = None,
        normalize: str | None = None,
        idf: bool = False,
        calibration: str | None = None,
        solver: str = "products",
    ):
        pass

    def _learner(self) -> Learner:
        method = LabelSpaceMethod(type(self).__name__, self.solver == "products", self.n_components)
        return learner_of(self, method, scheme="ovr")


@persistence.register
class LabelSpaceCV(TrainedClassifierCV):
    """`LabelSpace` whose number of components and l2 are chosen by cross-validation: one scan sums, one scores.

    With products, all models follow without a read: those of a fold from the products of its features and one
    eigendecomposition of those of its labels. With conjugate gradients, all are trained in shared reads, whose number
    is chosen as well.

    Parameters
    ----------
    n_components : int or list of int, optional
        Candidates; by default all labels, half of them, and so on, down to a sixteenth.
    l2 : float or list of float, optional
        Candidates; 0.01, 0.1, .., 1000 by default. All combinations of both lists are judged.
    folds, scoring, rule, seed
        As for `LeastSquaresClassifierCV`; "parsimonious" and "one_se" take the fewest components that are good enough.
    tol, max_passes, transform, normalize, idf, calibration, solver
        As for `LabelSpace`.

    Attributes
    ----------
    best_params_ : dict
        The chosen point, such as ``{"l2": 1.0, "n_components": 12, "max_passes": 1}``; with products, "max_passes" is 1
        and has no meaning.
    best_score_, cv_results_, history_, report_
        As of `LeastSquaresClassifierCV`.

    Examples
    --------
    >>> import streamnb as snb
    >>> from sklearn.datasets import make_multilabel_classification
    >>> X, Y = make_multilabel_classification(n_samples=300, n_classes=8, random_state=0)
    >>> model = snb.LabelSpaceCV([2, 4, 8], [1.0, 10.0]).fit(X, Y)
    >>> len(model.cv_results_["params"]), model.best_score_ > 0.75
    (6, True)
    """

    @keeps_parameters
    def __init__(
        self,
        n_components: Any = None,
        l2: Any = None,
        *,
        folds: Any = 5,
        scoring: Any = "roc_auc",
        rule: str = "best",
        seed: int = 0,
        tol: float = 1e-4,
        max_passes: int = 50,
        transform: Any = None,
        normalize: str | None = None,
        idf: bool = False,
        calibration: str | None = None,
        solver: str = "products",
    ):
        pass

    _learner = LabelSpace._learner

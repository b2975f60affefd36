"""Least squares of classes and of labels, with and without cross-validation."""

from __future__ import annotations

from typing import Any

from streamnb.core import persistence
from streamnb.estimators.trained import TrainedClassifier, learner_of
from streamnb.estimators.trained_cv import TrainedClassifierCV
from streamnb.training.conjugate import LabelSpaceMethod, LeastSquaresMethod
from streamnb.training.learner import Learner


def _least_squares(self: Any) -> Learner:
    return learner_of(self, LeastSquaresMethod(self.solver == "products"), scheme="ovr")


@persistence.register
class LeastSquaresClassifier(TrainedClassifier):
    r"""Least squares on class indicators, each class against the rest, by conjugate gradients.

    Minimises for each class k, with c_ik = 1 for its rows and -1 for others,

        1/2 sum_i w_i (W_k x_i + b_k - c_ik)^2 + l2 / 2 \|W_k\|^2,

    the objective of scikit-learn's RidgeClassifier with ``alpha = l2``; intercepts are not penalised. In each read,
    every class moves to the best point in the span of all directions (Hestenes and Stiefel 1952, O'Leary 1980). This
    model reaches a good accuracy in the fewest reads: texts need 2 to 6, and stopping early regularises as `l2` does.
    Where 16 do not suffice, one more sums products of the most frequent columns, which are then solved for together.
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
        self.l2, self.start, self.tol, self.max_passes = l2, start, tol, max_passes
        self.transform, self.normalize, self.idf, self.class_weight = transform, normalize, idf, class_weight
        self.calibration, self.solver, self.standardize = calibration, solver, standardize

    _learner = _least_squares


@persistence.register
class LeastSquaresClassifierCV(TrainedClassifierCV):
    """`LeastSquaresClassifier` whose l2 and number of reads are chosen by cross-validation in shared reads.

    Parameters and attributes are those of `MarginClassifierCV`, without l1, and:

    Parameters
    ----------
    standardize : bool
        As for `LeastSquaresClassifier`.
    solver : {"conjugate_gradients", "products"}
        "products": the scan sums products for each fold, from which all models of all folds and l2 follow. One more
        read judges them; the final model needs none. "max_passes" of `best_params_` is then 1 and has no meaning.

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
        self.folds, self.scoring, self.rule, self.seed = folds, scoring, rule, seed
        self.l2, self.start, self.tol, self.max_passes = l2, start, tol, max_passes
        self.transform, self.normalize, self.idf, self.class_weight = transform, normalize, idf, class_weight
        self.calibration, self.solver, self.standardize = calibration, solver, standardize

    _learner = _least_squares


def _components(self: Any) -> Learner:
    method = LabelSpaceMethod(type(self).__name__, self.solver == "products", self.n_components)
    return learner_of(self, method, scheme="ovr")


@persistence.register
class LabelSpace(TrainedClassifier):
    r"""Least squares on the principal components of the labels of multi-label rows (PLST, with centred labels).

    Where labels occur together, rare ones gain from common ones. One scan sums products G of features and Q of labels,
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
        self.n_components, self.l2, self.tol, self.max_passes = n_components, l2, tol, max_passes
        self.transform, self.normalize, self.idf = transform, normalize, idf
        self.calibration, self.solver = calibration, solver

    _learner = _components


@persistence.register
class LabelSpaceCV(TrainedClassifierCV):
    """`LabelSpace` whose number of components and l2 are chosen by cross-validation: a scan of folds, and one to score.

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
        self.folds, self.scoring, self.rule, self.seed = folds, scoring, rule, seed
        self.n_components, self.l2, self.tol, self.max_passes = n_components, l2, tol, max_passes
        self.transform, self.normalize, self.idf = transform, normalize, idf
        self.calibration, self.solver = calibration, solver

    _learner = _components

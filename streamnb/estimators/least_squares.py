"""Least squares classifiers, with and without cross-validation."""

from __future__ import annotations

from typing import Any

from streamnb.core import persistence
from streamnb.estimators.trained import TrainedClassifier, learner_of
from streamnb.estimators.trained_cv import TrainedClassifierCV
from streamnb.training.conjugate import LeastSquaresMethod
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
        Let `l2` penalise weights of features divided by their standard deviation, for columns with different units.

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
        "products": the scan sums products for each fold, from which all models of all folds and l2 follow, with one
        eigendecomposition per fold. One more read judges them; the final model needs none. "max_passes" of `best_` is
        then 1 and has no meaning.

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

"""Least squares to the classes: by conjugate gradients in a few reads, or by sums of products in none."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from streamnb.core import arguments, persistence
from streamnb.estimators.calibrated_fit import CalibratedClassifier
from streamnb.estimators.trained_cv import TrainedClassifierCV
from streamnb.estimators.trained_on import Posed
from streamnb.passes.options import RunOptions
from streamnb.scanning.class_scan import ClassScan
from streamnb.solving.least_squares import CONSTANT, LeastSquaresPath
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.second_moments import Products
from streamnb.training import objectives
from streamnb.training.by_products import ByProducts
from streamnb.training.conjugate import ConjugateGradients
from streamnb.training.descent import Penalties
from streamnb.training.fitting import Reads, Trainer
from streamnb.training.objectives import Objective


@dataclass(frozen=True, eq=False)
class PosedByProducts(Posed):
    """What a model is trained on, with what all weights follow from."""

    path: LeastSquaresPath


def _per_deviation(posed: Posed) -> np.ndarray:
    """What features, scaled or not, are multiplied by so that they vary by 1; 1 for those that do not vary."""
    sums = posed.sums
    varies = sums.spread > CONSTANT * sums.squares
    return np.where(varies, np.sqrt(sums.weight / np.where(varies, sums.spread, 1.0)), 1.0)


@persistence.register
class LeastSquaresClassifier(CalibratedClassifier):
    r"""Least squares to the classes, each against the rest, by conjugate gradients: a step in all directions a read.

    Minimises for each class k, with c_ik = 1 for its rows and -1 for others,

        1/2 sum_i w_i (W_k x_i + b_k - c_ik)^2 + l2 / 2 \|W_k\|^2,

    the objective of scikit-learn's RidgeClassifier with ``alpha = l2``; intercepts are not penalised. Each class goes
    to the best point in the directions of all (Hestenes and Stiefel 1952, O'Leary 1980). The quickest of these models
    to a good accuracy: texts need 2 to 6 reads, and reads that end early regularise as `l2` does. Parameters and
    attributes are those of `MarginClassifier` without `l1`; there are no probabilities without `calibration`, or before
    `calibrate`.

    Parameters
    ----------
    solver : {"conjugate_gradients", "products"}
        "products" sums those of features two by two in the one scan, and solves for the weights without a further
        read: `n_passes_` is 0. For up to some thousand features, 8 n (n + 1) bytes, refused beyond `memory_limit`;
        where conjugate gradients have converged the weights are the same. Of sparse rows, such as those of
        ``transform=snb.Bins(..)``, what is stored is multiplied.
    standardize : bool
        Let `l2` go by features that are divided by their standard deviation, of columns of different units.

    Examples
    --------
    >>> import streamnb as snb
    >>> X, y = [[0.0], [0.0], [0.0], [1.0], [1.0], [1.0]], ["ill", "well", "well", "ill", "ill", "well"]
    >>> snb.LeastSquaresClassifier(l2=0.1).fit(X, y).predict([[0.0], [1.0]]).tolist()
    ['well', 'ill']
    """

    _scheme = "ovr"
    _trainer = ConjugateGradients
    _fixed: ClassVar = {"l1": 0.0}

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
        self.solver, self.standardize = solver, standardize
        self.l2 = l2
        self.start = start
        self.tol, self.max_passes = tol, max_passes
        self.transform = transform
        self.normalize = normalize
        self.idf = idf
        self.class_weight = class_weight
        self.calibration = calibration

    def _objective(self, stats: ClassStats) -> Objective:
        return objectives.LeastSquares()

    def _check_params(self) -> None:
        super()._check_params()
        arguments.one_of("solver", self.solver, ["conjugate_gradients", "products"])
        arguments.one_of("standardize", self._option("standardize"), [False, True])

    @property
    def _by_products(self) -> bool:
        return self.solver == "products"

    @property
    def _narrows(self) -> bool:
        return not self._by_products

    def _plan_scan(self) -> tuple[tuple[str, ...], Any]:
        moments, folds = super()._plan_scan()
        return ((*moments, "gram") if self._by_products else moments), folds

    def _plan_reads(self, n_features: int, n_rows: int, n_folds: int, limit: int) -> dict[str, int]:
        plan = super()._plan_reads(n_features, n_rows, n_folds, limit)
        if not self._by_products:
            return plan
        return {**plan, "most_reads": self._n_scans() + (self.calibration is not None)}

    def _scan(self, options: RunOptions) -> ClassScan:
        scan = super()._scan(options)
        return replace(scan, how=Products(pooled="gram" in self._plan_pooled())) if self._by_products else scan

    def _posed(self, stats: ClassStats, options: RunOptions) -> Posed:
        posed = super()._posed(stats, options)
        if self._option("standardize"):
            posed = replace(posed, scale=_per_deviation(posed))
        if not self._by_products:
            return posed
        factors = self._class_factors(stats)
        path = LeastSquaresPath(stats if factors is None else stats.reweighted(factors), posed.scale)
        return PosedByProducts(posed.task, posed.sums, posed.scale, None, path)

    def _reads(self, posed: Posed, penalties: Penalties, max_passes: int) -> tuple[Trainer, Reads]:
        if not isinstance(posed, PosedByProducts):
            return super()._reads(posed, penalties, max_passes)
        trainer = ByProducts(posed.task, posed.sums, penalties, posed.path)
        return trainer, trainer.reads(float(self.tol), max_passes)


@persistence.register
class LeastSquaresClassifierCV(TrainedClassifierCV, LeastSquaresClassifier):
    """`LeastSquaresClassifier` whose l2 and number of reads are chosen by cross-validation in shared reads.

    Parameters and attributes are those of `MarginClassifierCV`, without l1, and:

    Parameters
    ----------
    standardize : bool
        As for `LeastSquaresClassifier`.
    solver : {"conjugate_gradients", "products"}
        "products": the one scan sums those of each fold, of which all models of all folds and l2 follow, each fold's
        from one eigendecomposition; one read more judges them, and none is for the final model. "max_passes" of
        `best_` is 1, then, and has no meaning.

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
        solver: str = "conjugate_gradients",
        standardize: bool = False,
    ):
        options = {"start": start, "tol": tol, "max_passes": max_passes, "transform": transform}
        options |= {"normalize": normalize, "idf": idf, "class_weight": class_weight, "calibration": calibration}
        options |= {"solver": solver, "standardize": standardize}
        LeastSquaresClassifier.__init__(self, l2, **options)
        self._keep_choice(folds, scoring, rule, seed)

    def _plan_reads(self, n_features: int, n_rows: int, n_folds: int, limit: int) -> dict[str, int]:
        plan = super()._plan_reads(n_features, n_rows, n_folds, limit)
        if not self._by_products:
            return plan
        return {**plan, "most_reads": self._n_scans() + plan["n_groups"] + (self.calibration is not None)}

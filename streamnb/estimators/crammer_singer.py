"""The support vector machine of Crammer and Singer, with and without cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from streamnb.core import messages, persistence
from streamnb.estimators.parameters import keeps_parameters
from streamnb.estimators.trained import TrainedClassifier, TrainedClassifierCV, learner_of
from streamnb.selection.fold_models import FoldModel, models_by_point
from streamnb.selection.folded_scan import ScannedRows
from streamnb.solving.cutting_planes import CuttingPlanesMethod
from streamnb.solving.learner import FittedModel, Learner

HISTORY = "objective", "gap", "seconds"


@persistence.register
class CrammerSingerSVM(TrainedClassifier):
    r"""Exact multiclass linear support vector machine, with a certificate of the optimum, `gap_`.

    Minimises (Crammer and Singer 2001)

        \|W\|^2 / 2 + C sum_i w_i max_k (W_k x_i + [k != y_i]) - W_{y_i} x_i,

    the objective of scikit-learn's ``LinearSVC(multi_class="crammer_singer")``, by cutting planes (Joachims 2006). Each
    read of the rows adds one plane below the sum of losses, and the minimum over the planes so far is a lower bound of
    the objective. This is exact but not fast: it takes from 20 reads for a small `C` to hundreds for a large one, each
    of which keeps a plane as large as the weights. Use it for rows in memory and small stores; the fast alternative is
    `MarginClassifier`.

    Parameters
    ----------
    C : float
        Strength of the losses, above 0.
    tol : float
        Stop once the objective exceeds its lower bound by at most this fraction of itself.
    fit_intercept : bool
        Whether to add a feature that is always 1, whose weights, the intercepts, are penalised like others. If False,
        hyperplanes go through the origin.
    start : {"auto"} or CuttingPlanes
        The `planes_` of a model of the same rows with another `C`; they are valid for any `C`.
    max_passes : int
        Maximum number of reads after the scan.
    transform, normalize, idf, class_weight
        As for `SoftmaxRegression`.
    calibration : {None, "auto", "sigmoid", "isotonic", "matrix"}
        As for `MarginClassifier`.

    Attributes
    ----------
    gap_ : float
        The objective is at most this much above its minimum. The optimal weights are unique, and those found, including
        intercepts, lie within ``sqrt(2 * gap_)`` of them; with few rows, a smaller `tol` may rank some of them
        differently.
    planes_ : CuttingPlanes
        The planes of all reads, for `start`; not saved.
    coef_, intercept_ : for two classes one row, the second minus the first; else one row per class
    history_ : dict of (`n_passes_`,) arrays
        One value per read: objective (of this read, not the lowest so far), gap, seconds.
    classes_, n_passes_, converged_, report_, n_features_in_, feature_names_in_
        As of `SoftmaxRegression`.

    Examples
    --------
    >>> import streamnb as snb
    >>> X, y = [[0.0, 2.0], [1.0, 2.0], [2.0, 0.0], [2.0, 1.0], [-1.0, -1.0]], ["up", "up", "right", "right", "down"]
    >>> model = snb.CrammerSingerSVM(C=10.0).fit(X, y)
    >>> model.predict([[0.0, 3.0], [-2.0, -1.0]]).tolist(), model.gap_ < 1e-3
    (['up', 'down'], True)
    """

    _history = HISTORY

    @keeps_parameters
    def __init__(
        self,
        C: float = 1.0,
        tol: float = 1e-3,
        *,
        fit_intercept: bool = True,
        start: Any = "auto",
        max_passes: int = 500,
        transform: Any = None,
        normalize: str | None = None,
        idf: bool = False,
        class_weight: Any = None,
        calibration: str | None = None,
    ):
        pass

    def _learner(self) -> Learner:
        method = CuttingPlanesMethod(self.fit_intercept, self.max_passes, self.start)
        return learner_of(self, method, scheme="ovr")

    @property
    def gap_(self) -> float:
        """The largest possible excess of the objective over its minimum."""
        self._fitted_model()
        return max(float(self.history_["gap"][-1]), 0.0)

    def _to_state(self) -> dict[str, Any]:
        state = super()._to_state()
        return {**state, "params": {name: "auto" if name == "start" else v for name, v in state["params"].items()}}


@persistence.register
class CrammerSingerSVMCV(TrainedClassifierCV):
    """`CrammerSingerSVM` whose C is chosen by cross-validation in shared reads.

    Each read serves all unfinished models, of every C without each fold. Planes do not depend on C: those of one C
    serve all others of its fold, so that rows are read about as often as for the largest C; where the models of a
    fold would take more than 256 MiB, each has planes of its own. Each model ends with its own certificate and is
    then judged on its fold. As it shares planes with others, its weights differ from those of a `CrammerSingerSVM`
    fitted without the fold, within the gaps of both. With few rows per fold that can change an AUC by a few
    hundredths; with a smaller `tol`, such as 1e-6, scores agree. The chosen C is fitted to all rows, starting from
    sums of the planes of the folds. Parameters and attributes are those of `MarginClassifierCV` and
    `CrammerSingerSVM`, without `l2`, `l1` and `start`, and:

    Parameters
    ----------
    C : float or list of float, optional
        Candidates, above 0; 0.001, 0.01, 0.1 and 1 by default, as larger ones take hundreds of reads.
    rule : {"best", "parsimonious", "one_se"}
        The C with the highest mean score; or the smallest C whose mean score is within 1 %, or within one standard
        error, of it.

    Attributes
    ----------
    best_params_ : dict
        The chosen point, such as ``{"C": 0.1, "max_passes": 500}``: ``CrammerSingerSVM(**model.best_params_)`` has the
        same objective, within the gaps of both.
    cv_results_ : dict of (G,) arrays
        One row per C: params, param_C, mean_test_score and so on as in `SoftmaxRegressionCV`, and split<s>_gap, the
        largest possible excess of the objective over its minimum, for the model without this fold.

    Examples
    --------
    >>> import streamnb as snb
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = snb.CrammerSingerSVMCV([0.01, 1.0, 10.0], folds=3, scoring="accuracy").fit(X, y)
    >>> model.best_params_["C"], round(model.best_score_, 2)
    (1.0, 0.98)
    >>> bool(model.cv_results_["split0_gap"][0] < 1e-2)  # the first C comes so close without fold 0
    True
    """

    _history = HISTORY
    _saved = (*TrainedClassifierCV._saved, "gaps")
    _gaps = np.zeros((1, 0))  # before there are any
    gap_ = CrammerSingerSVM.gap_

    @keeps_parameters
    def __init__(
        self,
        C: Any = None,
        *,
        folds: Any = 5,
        scoring: Any = ("accuracy", "roc_auc"),
        rule: str = "best",
        seed: int = 0,
        tol: float = 1e-3,
        fit_intercept: bool = True,
        max_passes: int = 500,
        transform: Any = None,
        normalize: str | None = None,
        idf: bool = False,
        class_weight: Any = None,
        calibration: str | None = None,
    ):
        pass

    def _learner(self) -> Learner:
        method = CuttingPlanesMethod(self.fit_intercept, self.max_passes, shares=True)
        return learner_of(self, method, scheme="ovr")

    def _rank(self, scanned: ScannedRows, models: Sequence[FoldModel]) -> None:
        by_point = models_by_point(models, len(scanned.grid))
        outcomes = [[model.outcome for model in of_point] for of_point in by_point]
        self._gaps = np.array([[outcome.gap for outcome in of_point] for of_point in outcomes])
        self._short = [outcome.n_reads for of_point in outcomes for outcome in of_point if not outcome.converged]
        super()._rank(scanned, models)

    def _choose(self) -> None:
        super()._choose()
        self.cv_results_ |= {f"split{split}_gap": gaps for split, gaps in enumerate(self._gaps.T)}

    def _warn_chosen(self, fitted: FittedModel) -> None:
        if self._short:
            messages.warn(
                f"{len(self._short)} of {self._gaps.size} models without a fold have gaps above tol={self.tol:g} of "
                f"their objectives, after {max(self._short)} reads at most, as many as there were time and max_passes= "
                "for: cv_results_ has the gaps; a smaller C takes fewer reads"
            )
        if fitted.warning:
            messages.warn(fitted.warning)

    # ---- the rest of the contract ------------------------------------------------------------------------------------

    def _to_state(self) -> dict[str, Any]:
        return {**super()._to_state(), "gaps": self._gaps}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        self = super()._from_state(state)
        self._gaps = persistence.array("gaps", state["gaps"], ["f8"], self._scores.scores.shape)
        self._choose()
        return self

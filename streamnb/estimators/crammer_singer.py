"""The support vector machine of Crammer and Singer, with and without cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from streamnb.core import messages, persistence
from streamnb.estimators.trained import TrainedClassifier, learner_of
from streamnb.estimators.trained_cv import TrainedClassifierCV
from streamnb.selection.fold_models import FoldModel
from streamnb.selection.penalty_search import PenaltySearch
from streamnb.training.cutting_planes import CuttingPlanesMethod
from streamnb.training.learner import FittedModel, Learner

HISTORY = "objective", "gap", "seconds"


def _gap(self: Any) -> float:
    """No weights have an objective that is lower by more than this."""
    self._fitted_model()
    return max(float(self.history_["gap"][-1]), 0.0)


@persistence.register
class CrammerSingerSVM(TrainedClassifier):
    r"""Linear support vector machine of all classes together, exactly: its `gap_` certifies the optimum.

    Minimises (Crammer and Singer 2001)

        \|W\|^2 / 2 + C sum_i w_i max_k (W_k x_i + [k != y_i]) - W_{y_i} x_i,

    the objective of scikit-learn's ``LinearSVC(multi_class="crammer_singer")``, by cutting planes (Joachims 2006). Each
    read of the rows leaves one plane below the sum of losses, and the planes so far have a least objective, which no
    weights come below. This is exact, not quick: from 20 reads for a small `C` to hundreds for a large one, each of
    which keeps a plane as large as the weights. It is for rows in memory and for small stores; the quick margin model
    is `MarginClassifier`.

    Parameters
    ----------
    C : float
        Strength of the losses, above 0.
    tol : float
        Ends once the objective is at most `tol` of itself above the least that is possible.
    fit_intercept : bool
        Whether the rows have one feature more that is always 1, whose weights, the intercepts, are penalised like
        others; or hyperplanes go through the origin.
    start : {"auto"} or CuttingPlanes
        The `planes_` of a model of the same rows with another `C`: they hold for any, and reads go on from them.
    max_passes : int
        Reads of the rows after the scan, at most.
    transform, normalize, idf, class_weight
        As for `SoftmaxRegression`.
    calibration : {None, "sigmoid", "isotonic"}
        As for `MarginClassifier`.

    Attributes
    ----------
    gap_ : float
        No weights have an objective that is lower by more than this. The best weights are unique, and those found,
        intercepts among them, lie within ``sqrt(2 * gap_)`` of them: of few rows a smaller `tol` may order some others.
    planes_ : CuttingPlanes
        What the reads left, for `start`; not kept in a file.
    coef_, intercept_ : for two classes one row, that of the second less that of the first; else a row a class
    history_ : dict of (`n_passes_`,) arrays
        A value a read: objective (there, not the least so far), gap, seconds.
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
    gap_ = property(_gap)

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
        self.start = start
        self.C, self.tol, self.fit_intercept, self.max_passes = C, tol, fit_intercept, max_passes
        self.transform, self.normalize, self.idf = transform, normalize, idf
        self.class_weight, self.calibration = class_weight, calibration

    def _learner(self) -> Learner:
        method = CuttingPlanesMethod(self.fit_intercept, self.max_passes, self.start)
        return learner_of(self, method, scheme="ovr")

    def _to_state(self) -> dict[str, Any]:
        state = super()._to_state()
        return {**state, "params": {name: "auto" if name == "start" else v for name, v in state["params"].items()}}


@persistence.register
class CrammerSingerSVMCV(TrainedClassifierCV):
    """`CrammerSingerSVM` whose C is chosen by cross-validation in shared reads.

    A read serves every C of the grid without each fold that is still open, and the plane that one C leaves serves all
    of its fold, for planes do not depend on C: rows are read about as often as the largest C needs. Each ends with its
    own certificate, and is judged on its fold then. It shares planes with others, so that it ends at other weights than
    `CrammerSingerSVM` fitted without the fold, within the gaps of both. On folds of few rows that can change an AUC by
    a few hundredths; with a smaller `tol`, such as 1e-6, scores agree. The C that is chosen is fitted to all rows, from
    planes that those of the folds add up to. Parameters and attributes are those of `MarginClassifierCV` and
    `CrammerSingerSVM`, without `l2`, `l1` and `start`, and:

    Parameters
    ----------
    C : float or list of float, optional
        Strengths to choose from, above 0; 0.001, 0.01, 0.1 and 1 by default: larger ones take hundreds of reads.
    rule : {"best", "parsimonious", "one_se"}
        The C with the highest mean score; or the least of those whose mean is within 1 % of it, or within one standard
        error of it.

    Attributes
    ----------
    best_ : dict
        What was chosen, such as ``{"C": 0.1, "max_passes": 500}``: ``CrammerSingerSVM(**model.best_)`` has the same
        objective, within the gaps of both.
    cv_results_ : dict of (G,) arrays
        A row for each C: params, param_C, mean_test_score and so on as of `SoftmaxRegressionCV`, and split<s>_gap, how
        far the objective of the model without this fold may be above the least.

    Examples
    --------
    >>> import streamnb as snb
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = snb.CrammerSingerSVMCV([0.01, 1.0], folds=3, scoring="accuracy").fit(X, y)
    >>> model.best_["C"], round(model.best_score_, 2)
    (1.0, 0.98)
    >>> bool(model.cv_results_["split0_gap"][0] < 1e-2)  # the first C comes so close without fold 0
    True
    """

    _history = HISTORY
    _gaps = np.zeros((1, 0))  # before there are any
    gap_ = property(_gap)

    def __init__(
        self,
        C: Any = None,
        *,
        folds: Any = 5,
        scoring: Any = "roc_auc",
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
        self.folds, self.scoring, self.rule, self.seed = folds, scoring, rule, seed
        self.C, self.tol, self.fit_intercept, self.max_passes = C, tol, fit_intercept, max_passes
        self.transform, self.normalize, self.idf = transform, normalize, idf
        self.class_weight, self.calibration = class_weight, calibration

    def _learner(self) -> Learner:
        method = CuttingPlanesMethod(self.fit_intercept, self.max_passes, shares=True)
        return learner_of(self, method, scheme="ovr")

    def _rank(self, search: PenaltySearch, models: Sequence[FoldModel]) -> None:
        ends = [[model.outcome for model in some] for some in search.by_point(models)]
        self._gaps = np.array([[end.gap for end in some] for some in ends])
        self._short = [end.n_reads for some in ends for end in some if not end.converged]
        super()._rank(search, models)

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
        gaps = persistence.known(cls, state, "params", "fitted", "scores", "gaps")["gaps"]
        self = super()._from_state({name: part for name, part in state.items() if name != "gaps"})
        self._gaps = persistence.array("gaps", gaps, ["f8"], self._scores.scores.shape)
        self._choose()
        return self

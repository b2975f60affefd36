"""The margin of several classes at once: the support vector machine of Crammer and Singer, exactly."""

from typing import Any

import numpy as np

from streamnb.core import arguments, messages, persistence
from streamnb.estimators.calibrated_fit import CalibratedClassifier
from streamnb.models.linear import LinearModel
from streamnb.passes.options import RunOptions
from streamnb.rows.source import Source
from streamnb.stats.class_stats import ClassStats
from streamnb.training.cutting_planes import CrammerSinger, CuttingPlanes, PlaneTrainer
from streamnb.training.descent import Penalties
from streamnb.training.fitting import Reads, Trained, train
from streamnb.training.objectives import Objective


@persistence.register
class CrammerSingerSVM(CalibratedClassifier):
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
        No weights have an objective that is lower by more than this.
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

    _scheme = "ovr"
    _history = ("objective", "gap", "seconds")
    l2 = l1 = 0.0

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
        self.C, self.tol, self.max_passes = C, tol, max_passes
        self.fit_intercept = fit_intercept
        self.start = start
        self.transform = transform
        self.normalize, self.idf, self.class_weight = normalize, idf, class_weight
        self.calibration = calibration

    @property
    def _held(self) -> int:
        return self.max_passes + 4  # a plane a read

    def _n_held(self, stats: ClassStats) -> int:
        return stats.n_features

    @property
    def gap_(self) -> float:
        self._fitted()
        return max(float(self.history_["gap"][-1]), 0.0)

    def _objective(self, stats: ClassStats) -> Objective:
        if stats.multilabel:
            raise ValueError("y is an indicator of labels, and CrammerSingerSVM needs one label a row")
        return CrammerSinger()

    def _n_rows(self, stats: ClassStats) -> int:
        return len(stats.classes)

    def plan_reads(self, n_features: int, n_rows: int, n_folds: int, limit: int) -> dict[str, int]:
        return super().plan_reads(n_features, max(n_rows, 2), n_folds, limit)

    def _asked(self) -> tuple[Penalties, int]:
        return Penalties(1.0 / float(self.C), 0.0), self.max_passes

    def _reads(self, posed: Any, penalties: Penalties, max_passes: int) -> tuple[Any, Reads]:
        trainer = PlaneTrainer(posed.task, posed.sums, posed.scale, float(self.C), bool(self.fit_intercept))
        return trainer, trainer.reads(float(self.tol), max_passes)

    def _given_start(self, stats: ClassStats, n_rows: int, scale: Any) -> Any:
        """Planes are no weights."""

    def _trained(self, stats: ClassStats, rows: Source, options: RunOptions) -> tuple[Trained, Any]:
        posed = self._posed(stats, options)
        trainer, reads = self._reads(posed, *self._asked())
        trainer.planes = None if isinstance(self.start, str) else self.start
        trained = train(reads, rows, options, stats.n_rows)
        self.planes_ = trainer.planes
        return trained, posed.scale

    def _model_of(self, stats: ClassStats, trained: Trained, scale: Any) -> LinearModel:
        if len(stats.classes) == 2:
            weights = np.diff(trained.weights, axis=1)
            trained = Trained(weights, trained.converged, trained.left, trained.history)
        return super()._model_of(stats, trained, scale)

    def _check_penalties(self) -> None:
        if arguments.finite_number("C", self.C, minimum=0.0) == 0.0:
            raise ValueError("C=0 should be above 0: it leaves the losses no say")
        arguments.one_of("fit_intercept", self.fit_intercept, [False, True])

    def _check_start(self) -> None:
        if not isinstance(self.start, CuttingPlanes):
            arguments.one_of("start", self.start, ["auto"])

    def _warn(self, part: float) -> None:
        messages.warn(
            f"max_passes={self.max_passes} reads were spent: the objective may be {part:.3g} above the least, and "
            f"tol={self.tol:g} of it is asked for; the model is usable, a smaller C takes fewer reads"
        )

    def to_state(self) -> dict[str, Any]:
        state = super().to_state()
        return {**state, "params": {**state["params"], "start": "auto"}}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = False
        return tags

"""The margin of several classes at once: the support vector machine of Crammer and Singer, exactly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self
from weakref import WeakValueDictionary

import numpy as np

from streamnb.core import arguments, messages, persistence
from streamnb.estimators.calibrated_fit import CalibratedClassifier
from streamnb.estimators.trained_cv import TrainedClassifierCV
from streamnb.estimators.trained_on import Posed, Scanned
from streamnb.models.linear import LinearModel
from streamnb.passes.options import RunOptions
from streamnb.passes.report import Report
from streamnb.rows.source import Source
from streamnb.selection.penalty_search import Contender
from streamnb.stats.class_stats import ClassStats
from streamnb.training.cutting_planes import IDLE, CrammerSinger, CuttingPlanes, PlaneTrainer, SharedPlanes
from streamnb.training.descent import Penalties
from streamnb.training.fitting import Reads, Trained, train
from streamnb.training.objectives import Objective

STRENGTHS = 0.001, 0.01, 0.1, 1.0


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

    _scheme = "ovr"
    _history = ("objective", "gap", "seconds")
    _fixed: ClassVar = {"l2": 0.0, "l1": 0.0}

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

    @property
    def gap_(self) -> float:
        self._fitted_model()
        return max(float(self.history_["gap"][-1]), 0.0)

    def _objective(self, stats: ClassStats) -> Objective:
        if stats.multilabel:
            raise ValueError("y is an indicator of labels, and CrammerSingerSVM needs one label a row")
        return CrammerSinger()

    def _n_rows(self, stats: ClassStats) -> int:
        return len(stats.classes)

    def _plan_reads(self, n_features: int, n_rows: int, n_folds: int, limit: int) -> dict[str, int]:
        return super()._plan_reads(n_features, max(n_rows, 2), n_folds, limit)

    def _asked(self) -> tuple[Penalties, int]:
        return Penalties(1.0 / self._strength, 0.0), self.max_passes

    def _reads(self, posed: Any, penalties: Penalties, max_passes: int) -> tuple[Any, Reads]:
        trainer = PlaneTrainer(posed.task, posed.sums, posed.scale, self._strength, bool(self.fit_intercept))
        return trainer, trainer.reads(float(self.tol), max_passes)

    @property
    def _strength(self) -> float:
        """C of the model."""
        return float(self.C)

    def _given_start(self, stats: ClassStats, n_rows: int, scale: Any) -> Any:
        """Planes are no weights."""

    def _train(self, trainer: PlaneTrainer, reads: Reads, rows: Source, options: RunOptions, n_rows: int) -> Trained:
        self._lead(trainer)
        trained = train(reads, rows, options, n_rows)
        self.planes_ = trainer.planes
        return trained

    def _lead(self, trainer: PlaneTrainer) -> None:
        """Give it planes of these rows that are known."""
        if not isinstance(self._option("start"), str):
            trainer.begin_from(self._option("start"))

    def _model_of(self, stats: ClassStats, trained: Trained, scale: Any) -> LinearModel:
        if len(stats.classes) == 2:
            weights = np.diff(trained.weights, axis=1)
            trained = Trained(weights, trained.converged, trained.left, trained.history)
        return super()._model_of(stats, trained, scale)

    def _check_penalties(self) -> None:
        _check_strength("C", self.C)
        arguments.one_of("fit_intercept", self.fit_intercept, [False, True])

    def _check_start(self) -> None:
        if not isinstance(self._option("start"), CuttingPlanes):
            arguments.one_of("start", self._option("start"), ["auto"])

    def _warn(self, part: float) -> None:
        allowed = self._asked()[1]
        what = f"max_passes={allowed}" if allowed == self.max_passes else f"the {allowed} allowed"
        messages.warn(
            f"{what} reads were spent: the objective may be {part:.3g} above the least, and "
            f"tol={self.tol:g} of it is asked for; the model is usable, a smaller C takes fewer reads"
        )

    def _to_state(self) -> dict[str, Any]:
        state = super()._to_state()
        return {**state, "params": {name: "auto" if name == "start" else v for name, v in state["params"].items()}}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = False
        return tags


@dataclass(frozen=True, eq=False)
class PosedToShare(Posed):
    """What models of several C are trained on, and the planes that those which are open share."""

    among: WeakValueDictionary[str, SharedPlanes]


@persistence.register
class CrammerSingerSVMCV(TrainedClassifierCV, CrammerSingerSVM):
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

    _trainer: Any = PlaneTrainer
    _history = CrammerSingerSVM._history
    _fixed: ClassVar = {**CrammerSingerSVM._fixed, "start": "auto"}
    _gaps, _n_short = np.zeros((1, 0)), (0, 0)  # and how many models have none that is small enough
    _n_most = 0  # reads of one of these
    _led: Sequence[tuple[np.ndarray, float]] = ()  # planes of all rows, out of those of the folds

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
        self.C, self.tol, self.fit_intercept, self.max_passes = C, tol, fit_intercept, max_passes
        self.transform, self.normalize, self.idf = transform, normalize, idf
        self.class_weight = class_weight
        self.calibration = calibration
        self._keep_choice(folds, scoring, rule, seed)

    # ---- the grid ----------------------------------------------------------------------------------------------------

    @property
    def _kinds(self) -> list[str]:
        return ["C"]

    def _strengths(self, name: str) -> Sequence[float]:
        if self.C is None:
            return STRENGTHS
        if np.ndim(self.C) > 1 or not np.size(self.C):
            raise ValueError(f"C={self.C!r} should be a number above 0, or a list of one at least")
        return sorted({_check_strength(*one) for one in arguments.each("C", self.C)})

    @property
    def _strength(self) -> float:
        return float(self.best_["C"])

    def _asked(self) -> tuple[Penalties, int]:
        return CrammerSingerSVM._asked(self)[0], self.best_["max_passes"]

    def _check_penalties(self) -> None:
        TrainedClassifierCV._check_penalties(self)
        arguments.one_of("fit_intercept", self.fit_intercept, [False, True])

    def _posed(self, stats: ClassStats, options: RunOptions) -> Posed:
        posed = super()._posed(stats, options)
        return PosedToShare(**vars(posed), among=WeakValueDictionary())

    def _reads_at(self, posed: Posed, point: dict[str, Any], max_passes: int) -> tuple[Any, Reads]:
        assert isinstance(posed, PosedToShare)
        shared, intercepts = posed.among.get("planes"), bool(self.fit_intercept)
        if shared is None:
            shared = posed.among["planes"] = SharedPlanes.of(posed.sums, posed.scale, intercepts, IDLE)
        trainer = PlaneTrainer(posed.task, posed.sums, posed.scale, point["C"], intercepts, shared)
        return trainer, trainer.reads(float(self.tol), max_passes)

    # ---- the choice --------------------------------------------------------------------------------------------------

    def _judge(
        self, scanned: Scanned, models: list[Contender], folds: Any, most_reads: int | None, over: Any
    ) -> tuple[list[Contender], Report]:
        models, report = super()._judge(scanned, models, folds, most_reads, over)
        n_folds, ends = len(scanned.stats.folds), [[model.outcome for model in some] for some in self._by_point(models)]
        factors = self.idf or isinstance(self.class_weight, str)  # of the rows outside each fold, which differ
        factors = factors or self._step is not None  # as what is learned of them does
        whole = [some for some in ends if len(some) == n_folds and not factors]
        self._led = [
            (sum(end.slope for end in some) / (n_folds - 1), sum(end.offset for end in some) / (n_folds - 1))
            for some in whole
        ]
        return models, report

    def _by_point(self, models: list[Contender]) -> list[list[Contender]]:
        """The models of each C, by folds."""
        ordered = sorted(models, key=lambda model: model.fold)
        return [[model for model in ordered if model.point == point] for point in range(len(self._grid()))]

    def _rank(self, scanned: Scanned, models: list[Contender]) -> None:
        scores = self._search(scanned, self.max_passes).scores(models)
        by_point = self._by_point(models)
        grid = [{**point, "max_passes": _allowed(some)} for point, some in zip(scores.grid, by_point, strict=True)]
        named = scores.named and {name: replace(own, grid=grid) for name, own in scores.named.items()}
        self._scores = replace(scores, grid=grid, named=named)
        self._gaps = np.array([[model.outcome.gap for model in some] for some in by_point])
        short = [model.outcome.n_reads for model in models if not model.outcome.converged]
        self._n_short, self._n_most = (len(short), len(models)), max(short, default=0)
        self._choose()

    def _choose(self) -> None:
        super()._choose()
        self.cv_results_ |= {f"split{split}_gap": gaps for split, gaps in enumerate(self._gaps.T)}

    def _lead(self, trainer: PlaneTrainer) -> None:
        for slope, offset in self._led:
            trainer.lead(slope, offset)
        self._led = ()

    def _course(self, trained: Trained) -> dict[str, np.ndarray]:
        return trained.history

    def _warn_chosen(self, trained: Trained) -> None:
        n_short, n_models = self._n_short
        if n_short:
            messages.warn(
                f"{n_short} of {n_models} models without a fold have gaps above tol={self.tol:g} of their objectives, "
                f"after {self._n_most} reads at most, as many as there were time and max_passes= for: cv_results_ has "
                "the gaps; a smaller C takes fewer reads"
            )
        if not trained.converged:
            self._warn(trained.left)

    # ---- the rest of the contract ------------------------------------------------------------------------------------

    def _plan_reads(self, n_features: int, n_rows: int, n_folds: int, limit: int) -> dict[str, int]:
        return super()._plan_reads(n_features, max(n_rows, 2), n_folds, limit)

    def _to_state(self) -> dict[str, Any]:
        return {**super()._to_state(), "gaps": self._gaps}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        gaps = persistence.known(cls, state, "params", "fitted", "scores", "gaps")["gaps"]
        self = super()._from_state({name: part for name, part in state.items() if name != "gaps"})
        self._gaps = persistence.array("gaps", gaps, ["f8"], self._scores.scores.shape)
        self._choose()
        return self


def _allowed(models: Sequence[Contender]) -> int:
    """Reads that the fit to all rows may take: as many as models of its C, those that they made if time was over."""
    ends = [model.outcome for model in models]
    hurried = any(end.n_allowed == end.n_reads and not end.converged for end in ends)
    return max(end.n_reads if hurried else end.n_allowed for end in ends)


def _check_strength(name: str, C: Any) -> float:
    return arguments.number_above_0(name, C, "0 leaves the losses no say")

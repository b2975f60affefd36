"""Trains linear models on rows that were scanned, by reading the rows again."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from streamnb.core import arguments, memory, row_checks
from streamnb.models.linear import LinearModel
from streamnb.passes.contract import Reading, ReadRequest, Report, RunOptions
from streamnb.passes.fit import reads_of
from streamnb.problem.schemes import Scheme, as_scheme
from streamnb.rows.preparing import RowOptions
from streamnb.rows.source import NarrowSource
from streamnb.scanning.class_scan import ClassScan
from streamnb.solving.data import TrainingData, TrainingRows, start_weights
from streamnb.solving.method import Judge, Method, Trained, Trainer
from streamnb.solving.objectives import MOMENTS, RowSums, Softmax, features_used, inverse_frequency, scale_by_deviation
from streamnb.solving.reading import ReadTask
from streamnb.solving.row_path import RowsInMemory
from streamnb.solving.sampled_curvature import TrainingSample
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.second_moments import Products, scatter_of_varying


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A model, its training history with one value per read, and further attributes of the estimator."""

    model: LinearModel
    history: dict[str, np.ndarray]
    converged: bool
    report: Report = field(default_factory=Report)
    calibrated: bool = False
    attributes: dict[str, Any] = field(default_factory=dict)
    warning: str = ""  # if it has not converged


@dataclass(frozen=True, eq=False)
class Learner:
    """How weights are trained: the method, start and stopping rule, and the weighting of classes and features.

    Attributes
    ----------
    name : str
        The name of the estimator, for messages.
    method : Method
    scheme : str
    factor : float
        Factor from trained weights to the weights of the model.
    start, tol, max_passes, normalize, idf, class_weight
        As for `SoftmaxRegression`.
    standardize : bool
        As for `LeastSquaresClassifier`.
    calibration : str, optional
        As for `MarginClassifier`.
    sampled : bool
        Whether a sample of the rows, or products of frequent features, may save reads, at the cost of more computing
        between them. Not where reads were chosen by models that have neither.
    """

    name: str
    method: Method
    scheme: str = "joint"
    factor: float = 1.0
    start: Any = "auto"
    tol: float = 1e-4
    max_passes: int = 50
    normalize: str | None = None
    idf: bool = False
    class_weight: Any = None
    standardize: bool = False
    calibration: str | None = None
    sampled: bool = True

    # ---- the scan ----------------------------------------------------------------------------------------------------

    @property
    def moments(self) -> tuple[str, ...]:
        """The moments that the scan sums."""
        return (*MOMENTS, *(["nonzero"] if self.idf else []), *(["gram"] if self.method.products else []))

    @property
    def pooled(self) -> tuple[str, ...]:
        """The moments that are summed over all classes together, unless classes are weighted."""
        return () if self.class_weight is not None else tuple(m for m in self.moments if m != "sum")

    @property
    def idf_first(self) -> bool:
        """Whether features are multiplied by idf before rows are normalised, which needs another scan."""
        return self.idf and self.normalize is not None

    @property
    def n_scans(self) -> int:
        """The number of scans before training."""
        return 2 if self.idf_first else 1

    @property
    def most_reads(self) -> int:
        """The largest number of reads for a model after the scan."""
        return 0 if self.method.products else self.max_passes

    @property
    def reads_to_calibrate(self) -> int:
        """The number of reads that train a model without each fold, plus one for the calibration sample."""
        return 0 if self.calibration is None else self.most_reads + 1

    def scan(self, options: RowOptions, memory_limit: int | None) -> ClassScan:
        """The scan that sums the rows of each class."""
        scan = ClassScan((), options, memory_limit=memory_limit, together=self.pooled, labels=self.method.labels)
        if self.method.products:
            scan = replace(scan, how=Products(pooled="gram" in self.pooled))
        return scan.with_moments(self.moments)

    # ---- training ----------------------------------------------------------------------------------------------------

    def weighted(self, stats: ClassStats) -> ClassStats:
        """Statistics with rows weighted by class."""
        factors = self._class_factors(stats)
        return stats if factors is None else stats.reweighted(factors)

    def data(
        self, stats: ClassStats, rows: TrainingRows, options: RunOptions, outside: int | None = None
    ) -> TrainingData:
        """The data of training, given the statistics of its rows, which may be those `outside` a fold."""
        weighted = self.weighted(stats)
        row_checks.check_total_weight(weighted.total_weight)
        seen = weighted.classes[weighted.weight > 0]
        if not weighted.multilabel:
            left_out = ", apart from classes of weight 0" if len(seen) < len(weighted.classes) else ""
            check_seen(seen.tolist(), self.name, outside, left_out)
            if outside is None:
                row_checks.warn_of_measured(seen, len(seen), weighted.n_rows)
        objective = self.method.objective(weighted)
        self.check_memory(stats, 1, options)
        scale = inverse_frequency(weighted) if self.idf and not self.idf_first else None
        shape = stats.n_features, self.method.n_rows(stats)
        task = ReadTask.at_zero(objective, stats.options, stats.classes, shape, self._class_factors(stats))
        start = None
        if isinstance(self.start, LinearModel):
            start = start_weights(self.start, stats, task, scale, rows.options) / self.factor
        sums = RowSums.of(weighted)
        scale = scale_by_deviation(sums) if self.standardize else scale
        data = TrainingData(task, sums, scale, start, scale_of_all=scale, outside=outside)
        data = replace(data, solved=self.method.solved(data, weighted, rows.step, options.memory_limit))
        return data if rows.features is None else data.of_features(rows.features)

    def trainer(
        self,
        data: TrainingData,
        point: dict[str, Any],
        max_passes: int,
        judge: Judge | None = None,
    ) -> Trainer:
        """The trainer of a point, with at most `max_passes` reads."""
        n_classes, n_seen = len(data.sums.own_weight), np.count_nonzero(data.sums.own_weight)
        if n_seen == 2 < n_classes and isinstance(data.task.objective, Softmax):
            # weights w / 2 and -w / 2 have half the penalty of the one row w of a model of these classes alone
            point = {**point, "l2": 2.0 * point["l2"]}
        trainer = self.method.trainer(data, point, float(self.tol), max_passes)
        trainer.judge = judge
        return trainer

    def sample(
        self,
        data: TrainingData,
        point: dict[str, Any],
        stats: ClassStats,
        rows: TrainingRows,
        options: RunOptions,
        scan: Report,
        name: str = "sample-to-train",
    ) -> Reading[tuple[TrainingSample | None, Report]]:
        """A sample of the rows, drawn in one read, where it saves reads at this point.

        `scan` reports the scan of the rows; `name` is that of a file for a checkpoint.
        """
        alone = rows.read.sites is not None  # rows of a sample would leave their sites
        never = alone or not self.sampled or data.start is not None or self.max_passes < 2
        if never or not self.method.samples(data, point):
            return None, Report()
        row_bytes = scan.bytes / max(scan.rows, 1)
        return (yield from TrainingSample.of(stats, rows, options.of_pass(name), row_bytes, self.method.sampling(data)))

    def judged_in_memory(
        self,
        n_rows: int,
        n_features: int,
        n_classes: int,
        row_bytes: float,
        grid: Sequence[dict[str, Any]],
        options: RunOptions,
    ) -> bool:
        """Whether models of all these points are judged from rows in memory, which are fewer than columns."""
        suit = RowsInMemory.suit(n_rows, n_features, n_classes, row_bytes, options)
        of_method = all(self.method.judged_in_memory(n_classes, point) for point in grid)
        return suit and of_method and not isinstance(self.start, LinearModel)

    def fit(
        self,
        stats: ClassStats,
        rows: TrainingRows,
        point: dict[str, Any],
        max_passes: int,
        options: RunOptions,
        scan: Report,
    ) -> Reading[FittedModel]:
        """Train on the rows of these statistics; a checkpoint is a folder with one file per read."""
        data = self.data(stats, rows, options)
        sample, before = yield from self.sample(data, point, stats, rows, options, scan)
        data = replace(data, sample=sample)
        trainer, products = self.trainer(data, point, max_passes), self.sampled and self.class_weight is None
        trained, report = yield from train_alone(trainer, rows, options, products)
        warning = "" if trained.converged else self.method.unconverged(trained, self.tol, max_passes, self.max_passes)
        results, attributes = (trained.history, trained.converged, before + report), trainer.attributes
        data = replace(data, sample=None)
        del sample, trainer  # before weights of all features take their memory
        memory.return_freed(trained.weights.nbytes)
        return FittedModel(self.model(stats, data, trained), *results, attributes=attributes, warning=warning)

    def model(self, stats: ClassStats, data: TrainingData, trained: Trained) -> LinearModel:
        """The model with the trained weights."""
        weights, scheme = data.of_model(self.factor * trained.weights, stats.n_features), self.scheme_of(stats)
        intercept = _sure_intercepts(weights[-1], stats)
        return LinearModel(stats.classes, weights[:-1], intercept, scheme, stats.options, scale=data.scale_of_all)

    def scheme_of(self, stats: ClassStats) -> Scheme:
        """The scheme of the models of these classes."""
        return as_scheme(self.scheme, stats.classes, multilabel=stats.multilabel)

    def check_memory(self, stats: ClassStats, n_models: int, options: RunOptions) -> None:
        """Raise where this many models need more memory than allowed."""
        n_used, n_rows = len(features_used(stats)), self.method.n_rows(stats)
        self.method.check_memory(stats.n_features, n_used, n_rows, n_models, options.memory_limit)

    def _class_factors(self, stats: ClassStats) -> np.ndarray | None:
        """The factor of each class's rows, or None."""
        if self.class_weight is None:
            return None
        if stats.multilabel:
            raise ValueError(f"class_weight={self.class_weight!r} is for one label a row; give sample_weight")
        checked = arguments.check_class_weight(self.class_weight, stats.classes)
        return arguments.class_factors(checked, stats.classes, stats.weight)


def check_seen(classes: list[Any], name: str, outside: int | None, apart: str = "") -> None:
    """Raise where the rows to train on, which may be those outside a fold, are of one class."""
    if len(classes) < 2:
        where, cure = apart, f"{name} needs at least 2 classes"
        if outside is not None:
            where, cure = f" outside fold {outside}", "use fewer folds, another seed, or folds= that mix the classes"
        raise ValueError(f"y holds one class only ({classes}){where}; {cure}")


def train_alone(
    trainer: Trainer, rows: TrainingRows, options: RunOptions, products: bool
) -> Reading[tuple[Trained, Report]]:
    """Train a model by reads that it does not share, one of which may sum `products` of features of rows read here."""
    trainer.n_threads = options.threads
    if products and rows.read.sites is None and not rows.read.lazy:
        trainer.products_of = partial(products_of, rows, trainer.task.options, options)
    return reads_of(trainer.reads(), rows.read, options, title=trainer.title)


def _sure_intercepts(intercept: np.ndarray, stats: ClassStats) -> np.ndarray:
    """Intercepts (R,) by which classes and labels without rows are impossible, and labels of all rows sure."""
    if len(intercept) < len(stats.classes):  # two classes, of which each has rows
        return intercept
    of_all = (stats.weight == stats.total_weight) & stats.multilabel
    return np.select([stats.weight == 0.0, of_all], [-np.inf, np.inf], intercept)


def products_of(
    rows: TrainingRows, prepared: RowOptions, options: RunOptions, features: np.ndarray
) -> Reading[tuple[np.ndarray, np.ndarray]]:
    """Which of the features vary, and the sums of products of these about their means, for conjugate gradients.

    `prepared` is what is still to be done to the rows of training as they are read.
    """
    few = NarrowSource(rows.read, prepared, features, rows.n_features)
    how, limit = Products(pooled=True), options.memory_limit
    scan = ClassScan(("sum", "gram"), RowOptions(), how=how, memory_limit=limit, of_all=True)
    sums, _ = yield ReadRequest(scan, few, options.of_pass("products"))
    return scatter_of_varying(sums)

"""Ridge regression of wide rows, whose products of columns would not fit into memory, in a few reads.

One scan sums the features, and the features times the targets; the weights then follow by the block conjugate gradients
of classes (`training/conjugate`), each read of which moves all targets to the best point in the span of all directions.
Where these take many reads, one more sums the products of the most frequent columns, which are then solved for
together.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import add
from typing import Annotated, Any, Self

import numpy as np

from streamnb.core import memory, messages, row_checks
from streamnb.fits.passes import StatisticTask
from streamnb.fits.statistic import Statistic
from streamnb.passes.contract import Reading, ReadRequest, Report, RunOptions
from streamnb.regression.target_sums import checked_targets, targets_of
from streamnb.rows.preparing import RowOptions, prepared_block
from streamnb.rows.row_blocks import Block
from streamnb.rows.source import Source
from streamnb.stats.accumulating import Accumulator
from streamnb.training.conjugate import ConjugateGradients
from streamnb.training.data import TrainingData, TrainingRows
from streamnb.training.descent import Penalties
from streamnb.training.learner import train_alone
from streamnb.training.method import Trained
from streamnb.training.objectives import MOMENTS, LeastSquares, RowSums, scale_by_deviation
from streamnb.training.reading import ReadSums, ReadTask

N_ARRAYS = 10  # as large as the weights
ONE_CLASS = np.zeros(1, np.int64)


@dataclass(eq=False)
class WideSums(Statistic):
    """Sums over rows of features, and of features times targets.

    Attributes
    ----------
    features : ClassStats
        Of one class, with the moments of training.
    products : ClassStats
        Sums of x abs(y) for each target by the sign of y: class 2 k of target k has those above 0, class 2 k + 1 those
        below. So each is a sum with weights, which is exact.
    n_targets : int
    """

    features: Annotated[Any, add]  # an Accumulator as long as rows are added
    products: Annotated[Any, add]
    n_targets: Annotated[int, max] = 0
    title = "scan"

    @classmethod
    def asked(cls, memory_limit: int | None = None) -> Self:
        """The sums of no rows, to which rows are added."""
        features = Accumulator(MOMENTS, RowOptions(), ONE_CLASS, memory_limit=memory_limit, together=MOMENTS[1:])
        return cls(features, Accumulator(("sum",), RowOptions(), None, memory_limit=memory_limit))

    def add_block(self, block: Block) -> None:
        (chunk, survey), y = prepared_block(block, RowOptions()), targets_of(block)
        self.n_targets = checked_targets(y.shape[1], self.n_targets)
        self.features.add(chunk, survey, np.zeros(len(y), np.int64), block.weight)
        weight = 1.0 if block.weight is None else block.weight
        for k, target in enumerate(y.T):
            self.products.add(chunk, survey, 2 * k + (target < 0.0), np.abs(target) * weight)

    def ended(self, report: Report) -> WideSums:
        row_checks.check_min_size(report.rows, 1)
        row_checks.check_total_weight(self.features.total_weight)
        return self

    @property
    def nbytes(self) -> int:
        """Bytes of the tables: 0 until there are any, so that no thread joins before it is known how large they are."""
        return self.features.nbytes + self.products.nbytes

    def about(self) -> dict[str, str]:
        return {"the task": "WideScan"}  # as older checkpoints call it

    @property
    def signs(self) -> np.ndarray:
        """1 and -1 for each target and class, (n_targets, n_classes)."""
        classes = self.products.classes
        signs = np.where(classes % 2 == 0, 1.0, -1.0)
        return np.where(classes // 2 == np.arange(self.n_targets)[:, None], signs, 0.0)


@dataclass(frozen=True, eq=False)
class TargetRead(ReadTask):
    """A read along directions, which targets do not matter to."""

    def add(self, partial: ReadSums, block: Block) -> None:
        super().add(partial, replace(block, y=np.zeros(block.n_rows, np.int64)))


def _check_memory(n: int, n_targets: int, options: RunOptions) -> None:
    cure = "give a larger memory_limit, or fewer targets or columns"
    what = f"weights of {n:,} features for {n_targets:,} targets"
    memory.check(what, 8.0 * N_ARRAYS * (n + 1) * n_targets, options.memory_limit, cure)


def fit_wide(
    rows: Source, alpha: float, standardize: bool, tol: float, max_passes: int, options: RunOptions
) -> Reading[tuple[np.ndarray, np.ndarray, Trained, Report]]:
    """Fit a ridge regression by conjugate gradients; rows are kept where `options` say so.

    Returns coefficients (n_features, n_targets), intercepts (n_targets,), how training went, and the report of all
    reads.
    """
    rows = options.kept(rows)
    if rows.n_features is not None:
        _check_memory(rows.n_features, 1, options)
    scan = StatisticTask(WideSums.asked(options.memory_limit))
    sums, report = yield ReadRequest(scan, rows, options.of_pass("scan"))
    stats, n, n_targets = sums.features, sums.features.n_features, sums.n_targets
    _check_memory(n, n_targets, options)
    means, row_sums = sums.signs @ sums.products.weight / stats.total_weight, RowSums.of(stats)
    # as of classes with half of the weight each: the gradient at the start, 2 (whole / 2 - own), is that of the targets
    with_targets = (sums.signs @ sums.products.sum).T
    own = 0.5 * (with_targets - np.outer(row_sums.whole, means) + row_sums.whole[:, None])
    row_sums = replace(row_sums, own=own, own_weight=np.full(n_targets, 0.5 * row_sums.weight))
    scale = scale_by_deviation(row_sums) if standardize else None
    task = TargetRead.at_zero(LeastSquares(), stats.options, ONE_CLASS, (n, n_targets))
    training = TrainingRows.of(stats, rows, options, None, True)
    data = TrainingData(task, row_sums, scale)
    data = data if training.features is None else data.of_features(training.features)
    trainer = ConjugateGradients(data, Penalties(alpha, 0.0), tol, max_passes)
    trained, of_reads = yield from train_alone(trainer, training, stats.n_rows, options, True)
    weights = data.of_model(trained.weights, n)[:-1]
    coefficients = weights if scale is None else weights * scale[:, None]
    intercepts = means - row_sums.whole / row_sums.weight @ coefficients
    if not trained.converged:
        messages.warn(
            f"conjugate gradients have not converged after max_passes={max_passes} reads: the gradient is "
            f"{trained.left:.1e} of that at the start (tol={tol:g}); more reads, or a larger alpha, come closer"
        )
    return coefficients, intercepts, trained, report + of_reads

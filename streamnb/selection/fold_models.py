"""Models of the rows outside each fold, trained in shared reads, and a sample of rows that they can be asked of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.core import label_checks, row_checks
from streamnb.passes.contract import PassTask
from streamnb.passes.options import RunOptions
from streamnb.passes.report import Report
from streamnb.passes.run import run
from streamnb.rows.block import Block
from streamnb.rows.boundary import checked
from streamnb.rows.preparing import RowOptions, transformed
from streamnb.rows.source import Source
from streamnb.rows.splits import Folding
from streamnb.selection.row_sample import RowSample
from streamnb.selection.shared_reads import Asked, Judge, SharedRead, likes_of
from streamnb.stats.class_stats import ClassStats
from streamnb.training.fitting import Reads, Trained, check_rows, options_of
from streamnb.training.objectives import class_codes
from streamnb.training.reading import ReadTask


@dataclass(frozen=True, eq=False)
class SampleTask(PassTask):
    """Keeps a sample of `size` rows, and of `each` rows of each class, with their classes and folds.

    Rows are kept as they are, or after what `options` do to them; all of their features, or `columns`, ascending.
    They have `taken` features, if that is known.
    """

    classes: np.ndarray
    folding: Folding | None
    size: int
    each: int | None = None
    seed: int = 0
    columns: np.ndarray | None = None
    options: RowOptions = field(default_factory=RowOptions)
    taken: int | None = None
    missing: bool = False  # whether values may be
    title: str = "sample"

    def partial(self) -> RowSample:
        return RowSample(len(self.classes), self.size, self.each, self.seed)

    def add(self, partial: RowSample, block: Block) -> None:
        """Add one block of rows."""
        y, folds = label_checks.check_y(block.y), np.zeros(block.n_rows, np.int64)
        if self.folding is not None:
            folds = self.folding.numbers(block.first_row, block.n_rows, block.split, 0)
        labels = y if sp.issparse(y) else class_codes(y, self.classes, block.first_row)
        chunk, _ = transformed(*checked(block, self.missing), self.options)
        if self.taken is not None:
            row_checks.check_n_features(chunk.shape[1], self.taken, "the second scan")
        partial.add(chunk, labels, block.weight, folds, self.columns)

    def total(self, arrays: Mapping[str, Any]) -> RowSample:
        return arrays["sample"]


def trained_together(
    reads: Sequence[Reads],
    stats: ClassStats,
    judge: Judge,
    likes: Sequence[ReadTask],
    rows: Source,
    options: RunOptions,
) -> tuple[list[Trained], Report]:
    """Train one model for each fold, on the rows outside it; a checkpoint is a folder, with a file for each read.

    `likes` are reads of the rows as the model of each fold wants them.
    """
    assert stats.folding is not None
    apart = likes_of(dict(enumerate(likes)))
    found: dict[int, Trained] = {}
    left: list[tuple[int, Any]] = [(fold, None) for fold in range(len(reads))]  # folds, and what their models read
    report, number = Report(), 0
    while True:
        asked = []
        for fold, sums in left:
            try:
                task, _ = reads[fold].send(sums)
                while task is None:  # weights to be judged, which nobody does here
                    task, _ = reads[fold].send(None)
                asked.append(Asked(fold, task, None))
            except StopIteration as end:
                found[fold] = end.value
        if not asked:
            return [found[fold] for fold in range(len(reads))], report
        number += 1
        title = f"read {number} of {len(asked)} models"
        shared = SharedRead(tuple(asked), stats.folding, judge, likes[0], title, apart)
        total, more = run(shared, rows, options_of(options, f"folds-read-{number:03}"))
        check_rows(number, total.rows.tolist(), [part.n_rows for part in stats.folds])
        left = [(model.fold, sums) for model, sums in zip(asked, total.sums, strict=True)]
        report = report + more

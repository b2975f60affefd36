"""Sums of products of some columns of the rows of training, for conjugate gradients that solve for these together."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from streamnb.passes.contract import Report, RunOptions
from streamnb.passes.run import run
from streamnb.rows.preparing import RowOptions
from streamnb.rows.source import NarrowSource
from streamnb.scanning.class_scan import ClassScan, ScanOfAll
from streamnb.stats.second_moments import Products, scatter_of_varying
from streamnb.training.data import TrainingRows


@dataclass(eq=False)
class ProductsOfRows:
    """Reads the rows of training for products of some of their features.

    Attributes
    ----------
    rows : TrainingRows
    prepared : RowOptions
        What is still to be done to rows as they are read.
    options : RunOptions
    report : Report
        Of the reads so far.
    """

    rows: TrainingRows
    prepared: RowOptions
    options: RunOptions
    report: Report = field(default_factory=Report)

    def of(self, features: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which of the features vary, and the sums of products of these about their means."""
        few = NarrowSource(self.rows.read, self.prepared, features, self.rows.n_features)
        how, limit = Products(pooled=True), self.options.memory_limit
        scan = ClassScan(("sum", "gram"), RowOptions(), how=how, memory_limit=limit)
        sums, report = run(ScanOfAll(scan, "products"), few, self.options.of_pass("products"))
        self.report += report
        return scatter_of_varying(sums)

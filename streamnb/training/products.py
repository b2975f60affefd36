"""Sums of products of some columns of the rows of training, for conjugate gradients that solve for these together."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from streamnb.passes.contract import PassTask, Wants
from streamnb.passes.options import RunOptions
from streamnb.passes.report import Report
from streamnb.passes.run import run
from streamnb.rows.block import Block
from streamnb.rows.derived_sources import NarrowSource
from streamnb.rows.preparing import RowOptions
from streamnb.scanning.class_scan import ClassScan
from streamnb.stats.second_moments import CONSTANT, Products, scatter_of_all
from streamnb.training.data import TrainingRows


@dataclass(frozen=True)
class ProductScan(PassTask):
    """The task that sums products of features over all rows, whatever their labels."""

    memory_limit: int | None = None
    title = "products"

    @property
    def _scan(self) -> ClassScan:
        how = Products(pooled=True)
        return ClassScan(("sum", "gram"), RowOptions(), np.zeros(1, np.int64), how=how, memory_limit=self.memory_limit)

    def partial(self) -> Any:
        return self._scan.partial()

    def add(self, partial: Any, block: Block) -> None:
        self._scan.add(partial, replace(block, y=np.zeros(block.n_rows, np.int64)))

    def wants(self, n_rows: int | None, n_features: int | None) -> Wants:
        return self._scan.wants(n_rows, n_features)

    def about(self) -> dict[str, str]:
        return {**self._scan.about(), "the model": "products"}


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
        sums, report = run(ProductScan(self.options.memory_limit), few, self.options.of_pass("products"))
        self.report = self.report + report
        scatter = scatter_of_all(sums)
        squares = scatter.diagonal() + sums.sum[0] ** 2 / sums.total_weight
        varies = np.flatnonzero(scatter.diagonal() > CONSTANT * squares)
        return varies, scatter[np.ix_(varies, varies)]

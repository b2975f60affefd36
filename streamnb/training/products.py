"""Sums of products of some columns of the rows of training, for conjugate gradients that solve for these together."""

from __future__ import annotations

import numpy as np

from streamnb.passes.contract import Reading, ReadRequest, RunOptions
from streamnb.rows.preparing import RowOptions
from streamnb.rows.source import NarrowSource
from streamnb.scanning.class_scan import ClassScan
from streamnb.stats.second_moments import Products, scatter_of_varying
from streamnb.training.data import TrainingRows


def products_of(
    rows: TrainingRows, prepared: RowOptions, options: RunOptions, features: np.ndarray
) -> Reading[tuple[np.ndarray, np.ndarray]]:
    """Which of the features vary, and the sums of products of these about their means.

    `prepared` is what is still to be done to the rows of training as they are read.
    """
    few = NarrowSource(rows.read, prepared, features, rows.n_features)
    how, limit = Products(pooled=True), options.memory_limit
    scan = ClassScan(("sum", "gram"), RowOptions(), how=how, memory_limit=limit, of_all=True)
    sums, _ = yield ReadRequest(scan, few, options.of_pass("products"))
    return scatter_of_varying(sums)

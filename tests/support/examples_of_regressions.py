"""Examples of the tasks of regressions, each with rows, for examples_of_contracts."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

import streamnb as snb
from streamnb.additive.fit import TermSums, most_rows
from streamnb.additive.losses import NumberLosses
from streamnb.encoding.bins import FINEST, CodedFeatures, TermColumns
from streamnb.estimators.judged import HeldOutResiduals, JudgedNumbers
from streamnb.estimators.newton import CurvedSums, ExposedSums, LossTotals
from streamnb.estimators.penalised import TargetRead, WideSums
from streamnb.estimators.target_sums import TargetScan
from streamnb.passes.passes import StatisticTask
from streamnb.problem.losses import SQUARES, TweedieLoss
from streamnb.rows.opening import opened
from streamnb.rows.preparing import RowOptions
from streamnb.rows.source import Source
from streamnb.rows.splits import as_folding
from streamnb.searching.numbers import TargetRange
from streamnb.solving.objectives import LeastSquares
from tests.support.examples_of_problems import every

rng = np.random.default_rng(0)
REAL, WEIGHT = rng.normal(size=(40, 5)), rng.choice([0.25, 0.5, 1.0, 2.0], 40)
COUNTS = rng.poisson(1.0, (40, 5)).astype(float)
FOLDS = as_folding(2, repeats=2, seed=1)
ALONG = TargetRead(LeastSquares(), RowOptions(), np.zeros(1, np.int64), np.ones((6, 2)), np.full(6, 4096.0), 4096.0)

POISSON = ExposedSums.asked(TweedieLoss(1.0, "log"), True, as_folding(2, seed=1), None)
CURVED = CurvedSums.asked(
    POISSON,
    weights=0.1 * rng.normal(size=(6, 3)),
    folds=np.array([-1, 0, 1]),
    unit=np.full(6, 16.0),
    bound=2.0**20,
    top=2.0**20,
    step=2.0**-2,
    every=1,
    limits=np.full(5, np.inf),
)

TARGETS = NumberLosses(TweedieLoss(1.0, "log"), True, LossTotals(40.0, 50.0, 60.0, 1.0, 60.0), 0.7)
CODED = CodedFeatures(np.array([0, 2, 5]), np.full(5, 60.0), np.zeros(2, bool), np.zeros(2, bool))
TERM_COLUMNS = TermColumns.of(None, CODED, [((0,), FINEST), ((1,), FINEST), ((0, 1), FINEST)])
MOST_ROWS = most_rows(TERM_COLUMNS, CODED.firsts, CODED.counts, 60.0)
TERMS = TermSums.asked(TARGETS, TERM_COLUMNS, 0.1 * rng.normal(size=(12, 1)), MOST_ROWS, 2.0**10)
HELD_OUT = HeldOutResiduals.asked(TweedieLoss(1.0, "log"), True, as_folding(2, seed=1), 0.1 * rng.normal(size=(6, 2)))

JUDGED = JudgedNumbers.asked(0.1 * rng.normal(size=(6, 1)), TweedieLoss(1.0, "log"), True, level=0.9, whole=True)
OF_TWO = JudgedNumbers.asked(np.vstack([np.ones((5, 2)), [0.5, -1.0]]), SQUARES)
OF_OTHER_FAMILY = JudgedNumbers.asked(np.full((6, 1), 2.0), SQUARES, judge=TweedieLoss(1.0, "log"))


def rows(X: Any, y: Any) -> Source:
    return opened(X, y, WEIGHT, labelled="targets")


def of_targets() -> Source:
    return rows(REAL, COUNTS[:, 0]).with_columns(offset=REAL[:, 1])


REGRESSIONS: dict[type, dict[str, Callable[[], tuple[snb.PassTask, Source]]]] = {
    TargetScan: every(
        lambda: (StatisticTask(TargetScan.asked()), rows(COUNTS, COUNTS[:, :2] + 1.0)),
        real=lambda: (StatisticTask(TargetScan.asked(exact=True)), rows(REAL, REAL[:, 0])),
        folds=lambda: (StatisticTask(TargetScan.asked(FOLDS)), rows(sp.csr_array(COUNTS), COUNTS[:, 1])),
    ),
    WideSums: every(
        lambda: (StatisticTask(WideSums.asked()), rows(COUNTS, COUNTS[:, :2] - 2.0)),
        csr=lambda: (StatisticTask(WideSums.asked()), rows(sp.csr_array(REAL), REAL[:, 1])),
    ),
    ExposedSums: every(
        lambda: (StatisticTask(POISSON), rows(REAL, COUNTS[:, 0]).with_columns(offset=REAL[:, 1])),
        csr=lambda: (StatisticTask(POISSON), rows(sp.csr_array(COUNTS), COUNTS[:, 0]).with_columns(offset=REAL[:, 1])),
    ),
    CurvedSums: every(
        lambda: (StatisticTask(CURVED), rows(REAL, COUNTS[:, 0]).with_columns(offset=REAL[:, 1])),
        csr=lambda: (StatisticTask(CURVED), rows(sp.csr_array(COUNTS), COUNTS[:, 0]).with_columns(offset=REAL[:, 1])),
    ),
    HeldOutResiduals: every(
        lambda: (StatisticTask(HELD_OUT), rows(REAL, COUNTS[:, 0]).with_columns(offset=REAL[:, 1])),
        csr=lambda: (StatisticTask(HELD_OUT), rows(sp.csr_array(COUNTS), COUNTS[:, 0]).with_columns(offset=REAL[:, 1])),
    ),
    JudgedNumbers: every(
        lambda: (StatisticTask(JUDGED), rows(REAL, COUNTS[:, 0]).with_columns(offset=REAL[:, 1])),
        csr=lambda: (StatisticTask(JUDGED), rows(sp.csr_array(COUNTS), COUNTS[:, 0]).with_columns(offset=REAL[:, 1])),
        two=lambda: (StatisticTask(OF_TWO), rows(REAL, REAL[:, :2])),
        judge=lambda: (StatisticTask(OF_OTHER_FAMILY), rows(REAL, COUNTS[:, 0])),
    ),
    TermSums: every(
        lambda: (StatisticTask(TERMS), rows((REAL > 0.0) * 1.0, COUNTS[:, 0]).with_columns(offset=REAL[:, 1])),
        csr=lambda: (StatisticTask(TERMS), rows(sp.csr_array(COUNTS), COUNTS[:, 0]).with_columns(offset=REAL[:, 1])),
    ),
    TargetRange: every(lambda: (StatisticTask(TargetRange()), rows(REAL, COUNTS[:, 0]))),
    TargetRead: every(lambda: (ALONG, rows(REAL, REAL[:, :2]))),
}

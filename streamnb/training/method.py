"""Defines what a training method provides: a loss, and trainers that ask for reads."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from streamnb.core import memory
from streamnb.encoding.learning import LearnedStep
from streamnb.models.linear import LinearModel
from streamnb.passes.report import Report
from streamnb.stats.class_stats import ClassStats
from streamnb.training.data import TrainingData
from streamnb.training.objectives import Objective, one_row
from streamnb.training.reading import JudgedWeights, ReadTask

Reads = Generator[tuple[ReadTask | None, JudgedWeights | None], Any, "Trained"]  # sent ReadSums, None to begin with


@dataclass(frozen=True, eq=False)
class Trained:
    """Weights (n_features + 1, R), intercepts last, and how they were found; `history` has a value a read.

    `left` is the gradient there, in parts of that of the start.
    """

    weights: np.ndarray
    converged: bool
    left: float
    history: dict[str, np.ndarray]
    report: Report = field(default_factory=Report)


class Trainer:
    """One model on its way: asks for reads of the rows until it has converged, or has had as many as it may.

    What it asks for, a task, may be read beside those of other models. Beside it are weights to judge on rows held
    back, as rows want them that were not scaled, or None; where there is no task, that is all.

    Attributes
    ----------
    task : ReadTask
        A read of the same rows, which says how they are made ready.
    objectives : what the objective came to in each read
    reached : int
        Which of the weights that were to be judged are those of the model, as it is after these reads.
    outcome : Any
        What is to be known of a model that has ended, beside its weights.
    attributes : dict
        Further attributes of a fitted estimator, by name.
    judges : bool
        False where nobody asks for weights that are judged with each read.
    n_threads : int
        That may work between reads.
    """

    task: ReadTask
    objectives: Sequence[float] = ()
    reached = 0
    outcome: Any = None
    judges = True
    n_threads = 1

    @property
    def attributes(self) -> dict[str, Any]:
        return {}

    def reads(self) -> Reads:
        """Ask for reads one after the other."""
        raise NotImplementedError

    def share(self, sums: Any) -> None:
        """Take what models of the same rows share from what was read, before any of them goes on: here nothing."""

    def finish_soon(self) -> None:
        """Ask to be judged soon, for time is over: here every read but the first judges."""


class Method:
    """A loss and how it is minimised; a point names hyperparameters, such as ``{"l2": 1.0, "l1": 0.0}``.

    Attributes
    ----------
    products, labels : bool
        Whether the scan sums products of features, of which all weights follow without a read; and those of labels.
    multilabel, narrows : bool
        Whether rows may bear any number of labels; and whether reads leave out features that no row has.
    n_arrays : int
        Arrays as large as the weights while these are trained.
    scoring_reads : int
        Reads that judge only, what the last one led to.
    starts_from : type
        What weights to start from are given as.
    """

    products = labels = False
    multilabel = narrows = True
    n_arrays = 1
    scoring_reads = 0
    starts_from: type = LinearModel

    def objective(self, stats: ClassStats) -> Objective:
        """The loss, for such labels."""
        raise NotImplementedError

    def trainer(self, data: TrainingData, point: dict[str, Any], tol: float, max_passes: int) -> Trainer:
        """What trains at a point, until the gradient is `tol` of that of the start."""
        raise NotImplementedError

    def n_rows(self, stats: ClassStats) -> int:
        """Rows of weights."""
        return 1 if one_row(stats) else len(stats.classes)

    def n_columns(self, n_rows: int) -> int:
        """How many columns of weights are trained, for so many rows of those of the model."""
        return n_rows

    def solved(self, data: TrainingData, stats: ClassStats, step: LearnedStep | None, limit: int | None) -> Any:
        """What is solved for once, whatever the point, of statistics and the step that was learned before them."""

    def check_given(self, y: Any, n_features: int | None, limit: int | None) -> None:
        """Refuse labels, as they were given, that are known to be wrong before the scan."""

    def check_memory(self, n_features: int, n_used: int, n_rows: int, n_models: int, limit: int | None) -> None:
        """Refuse so many models of n_rows rows of weights where they would take too much."""
        n_rows *= n_models
        needed, may = 8.0 * self.n_arrays * (n_used + 1) * n_rows, memory.allowed(limit)
        if needed > may:
            what = f"descent on {n_rows:,} x {n_used:,} weights"
            memory.refuse(what, needed, may, "give a larger memory_limit, or fewer features (snb.FeatureSelector)")

    def unconverged(self, trained: Trained, tol: float, allowed: int, max_passes: int) -> str:
        """What to say of a model for which the reads allowed were not enough."""
        n_passes = len(trained.history["seconds"])
        left = f"the gradient is {trained.left:.1e} of that of the start, and tol={tol:g}"
        if n_passes < allowed:
            return f"after {n_passes} reads the objective falls no more in float64: {left}; raise tol"
        return (
            f"max_passes={max_passes} reads were spent: {left}; the model is usable, more reads may make it better "
            "(or worse: reads that end early regularise)"
        )

    def warm_started(self, outcomes: Sequence[Any]) -> "Method":
        """The method for all rows, given what the models without each fold came to, for one point after the other."""
        return self

    def final_max_passes(self, outcomes: Sequence[Any]) -> int | None:
        """Reads that the model of all rows may take, by those without folds; None where each read was judged."""
        return None

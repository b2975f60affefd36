"""Defines training methods: a loss, and trainers that request reads of the rows."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from streamnb.core import memory
from streamnb.encoding.learning import LearnedStep
from streamnb.models.linear import LinearModel
from streamnb.passes.contract import Reading
from streamnb.passes.fit import Fit
from streamnb.passes.passes import Pass
from streamnb.solving.data import TrainingData
from streamnb.solving.objectives import Objective, one_row
from streamnb.solving.reading import JudgedWeights, ReadTask
from streamnb.solving.sampled_curvature import Sampling
from streamnb.stats.class_stats import ClassStats


@dataclass(frozen=True, eq=False)
class Trained:
    """Trained weights (n_features + 1, R), intercepts last; `history` has one value per read.

    `left` is the norm of the final gradient relative to that at the start; `outcome` holds further results of a method.
    """

    weights: np.ndarray
    converged: bool
    left: float
    history: dict[str, np.ndarray]
    outcome: Any = None


Judge = Callable[[JudgedWeights, ReadTask], Any]
Reads = Fit[Trained]  # each list of passes has a read, what is judged, both, or neither


class Trainer:
    """Trains one model: asks for reads of the rows until it has converged or used all reads allowed.

    Parameters
    ----------
    data : TrainingData

    Attributes
    ----------
    task : ReadTask
        A read of the same rows, which defines how they are prepared.
    fold : int or None
        The fold that is left out.
    history : dict of list
        A value of each of the `columns` per read.
    objectives : the objective after each read; empty where weights are judged at the end only
    reached : int
        The index, among the judged weights, of the current weights of the model.
    attributes : dict
        Further attributes of a fitted estimator, by name.
    results : list
        Of weights that were judged without a read: the numbers of nonzero ones, as `n_used`, and the result.
    judge : callable, optional
        Given weights and `task`, returns what judges them on the rows of the fold.
    n_threads : int
        Threads for the work between reads.
    products_of : callable, optional
        Asks for a read of its own, for a model that trains alone, and returns which of some features vary, and the sums
        of products of these about their means.
    """

    columns = "objective", "gradient_norm", "seconds"
    objectives: Sequence[float] = ()
    reached = 0
    judge: Judge | None = None
    n_threads = 1
    products_of: Callable[[np.ndarray], Reading[tuple[np.ndarray, np.ndarray]]] | None = None

    def __init__(self, data: TrainingData):
        self.task, self.fold = data.task, data.outside
        self.results: list[tuple[np.ndarray, Any]] = []
        self.history: dict[str, list[float]] = {name: [] for name in self.columns}

    @property
    def n_passes(self) -> int:
        """Reads so far."""
        return len(self.history["seconds"])

    @property
    def attributes(self) -> dict[str, Any]:
        return {}

    @property
    def so_far(self) -> Trained | None:
        """The result if training ended now; None where weights are of no use before the end, as here."""
        return None

    def reads(self) -> Reads:
        """The fit, which returns the trained weights."""
        raise NotImplementedError

    def judged(self, weights: JudgedWeights) -> list[Pass]:
        """The pass that judges weights for unscaled rows, if there is a judge."""
        return [] if self.judge is None else [Pass(self.judge(weights, self.task), inside=self.fold)]

    def title(self, number: int, passes: Sequence[Pass]) -> str:
        """The title of the progress bar of a read, with the objective after the one before."""
        known = self.history["objective"]
        return f"read {number}, objective {known[-1]:.6g}" if known else f"read {number}"

    def note(self, *values: float) -> None:
        """Add the values of a read to the history."""
        for column, value in zip(self.history.values(), values, strict=True):
            column.append(value)

    def trained(self, weights: np.ndarray, converged: bool, left: float, outcome: Any = None) -> Trained:
        """The result, with the history so far."""
        history = {name: np.array(column) for name, column in self.history.items()}
        return Trained(weights, converged, left, history, outcome=outcome)

    def finish_soon(self) -> None:
        """Ask for judging soon, as time is up. Does nothing here, where every read but the first judges."""


class Method:
    """A loss and how it is minimised; a point maps hyperparameters to values, such as ``{"l2": 1.0, "l1": 0.0}``.

    Attributes
    ----------
    products, labels : bool
        Whether the scan sums products of features, from which all weights follow without a read; and of labels.
    multilabel, narrows : bool
        Whether rows may have any number of labels; and whether reads leave out features that no row has.
    shares : bool
        Whether models of all points share what they learn of the same rows, and so train together.
    n_arrays : int
        Arrays as large as the weights that training needs.
    scoring_reads : int
        Reads at the end that only judge the last weights.
    starts_from : type
        The type of a start.
    """

    products = labels = False
    multilabel = narrows = True
    shares = False
    n_arrays = 1
    scoring_reads = 0
    starts_from: type = LinearModel

    def objective(self, stats: ClassStats) -> Objective:
        """The loss for labels such as these."""
        raise NotImplementedError

    def trainer(self, data: TrainingData, point: dict[str, Any], tol: float, max_passes: int) -> Trainer:
        """The trainer of a point, which stops when the gradient is `tol` times that at the start."""
        raise NotImplementedError

    def judged_in_memory(self, n_classes: int, point: dict[str, Any]) -> bool:
        """Whether a model of this point is judged by steps in the duals of rows; see `solving.row_path`.

        Rows of any number of labels have 0 classes.
        """
        return False

    def samples(self, data: TrainingData, point: dict[str, Any]) -> bool:
        """Whether a sample of the rows saves reads."""
        return False

    def sampling(self, data: TrainingData) -> Sampling:
        """How a sample of the rows is drawn and used."""
        return Sampling()

    def n_rows(self, stats: ClassStats) -> int:
        """The number of rows of weights."""
        return 1 if one_row(stats) else len(stats.classes)

    def n_columns(self, n_rows: int) -> int:
        """The number of columns of weights that are trained for a model of `n_rows` rows of weights."""
        return n_rows

    def solved(self, data: TrainingData, stats: ClassStats, step: LearnedStep | None, limit: int | None) -> Any:
        """Results that all points use, computed once from the statistics and the learned step."""

    def check_given(self, y: Any, n_features: int | None, limit: int | None) -> None:
        """Raise where labels are known to be wrong before the scan."""

    def check_memory(self, n_features: int, n_used: int, n_rows: int, n_models: int, limit: int | None) -> None:
        """Raise where `n_models` models of `n_rows` rows of weights need more memory than allowed."""
        n_rows *= n_models
        what, cure = f"descent on {n_rows:,} x {n_used:,} weights", "fewer features (snb.FeatureSelector)"
        memory.check(what, 8.0 * self.n_arrays * (n_used + 1) * n_rows, limit, f"give a larger memory_limit, or {cure}")

    def unconverged(self, trained: Trained, tol: float, allowed: int, max_passes: int) -> str:
        """The warning for a model that has not converged in the reads allowed."""
        n_passes = len(trained.history["seconds"])
        left = f"the gradient is {trained.left:.1e} of that of the start, and tol={tol:g}"
        if n_passes < allowed:
            return f"after {n_passes} reads the objective falls no more in float64: {left}; raise tol"
        return (
            f"max_passes={max_passes} reads were not enough: {left}; the model is usable, but more may improve it "
            "(or worse: reads that end early regularise)"
        )

    def of_grid(self, n_points: int, stats: ClassStats) -> "Method":
        """The method for models of so many points, which may share what they learn of the same rows."""
        return self

    def warm_started(self, outcomes: Sequence[Any]) -> "Method":
        """The method for all rows, given the outcomes of the models without each fold, by point."""
        return self

    def final_max_passes(self, outcomes: Sequence[Any]) -> int | None:
        """Reads allowed for the model of all rows, from those of the fold models; None where every read was judged."""
        return None

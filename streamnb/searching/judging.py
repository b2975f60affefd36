"""How the candidates of a search are judged: on which folds, by which scorings, and within which budget."""

import numbers
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import clone

from streamnb.core import arguments, row_checks
from streamnb.evaluation.scorers import Scorer
from streamnb.rows.source import Source
from streamnb.rows.splits import fold_numbers
from streamnb.scanning.class_scan import with_folds
from streamnb.selection.out_of_fold import ENOUGH_ROWS, LEAST_FOLDS

UNITS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "read": None, "reads": None}
KEPT = 3  # a third of the candidates goes on to the next round
LEAST_READS = 2  # to judge a model: the second read judges its first step
AUTO = "auto"
FEW_ROWS = 100  # of a fold, below which it tells nothing
MANY_ROWS = 10_000  # of a fold, that tell all but exactly which of several models is better
LEAST_GAIN = 0.0005  # of a score: less is not worth judging a candidate on further folds
LARGE_GAIN = 0.003  # the same where these take long


# ---- folds and scorings ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Judging:
    """The folds and scorings by which candidates are judged.

    Attributes
    ----------
    folds : int, or the fold of each row
    n_folds, seed : int
    groups : groups of rows, or None
    scoring : as given by the user
    scorer : Scorer
    calibration : str or None
        How the best model is calibrated.
    n_held : int, about how many rows the first fold has, 0 if unknown
    wide : bool, whether rows have so many features that models take longer than reads
    walks : bool, whether penalties are judged as far as scores rise, where rows are few
    numbers : bool, whether y has numbers to predict in place of classes
    """

    folds: Any
    n_folds: int
    groups: Any
    seed: int
    scoring: Any
    scorer: Scorer
    calibration: str | None = None
    n_held: int = 0
    wide: bool = False
    walks: bool = False
    numbers: bool = False

    def __post_init__(self) -> None:
        arguments.one_of("calibration", self.calibration, ["auto", None])

    @property
    def scorings(self) -> list[str]:
        """The names of the scorings; the first chooses."""
        return [scorer.name for scorer in self.scorer.each]

    @property
    def first_fold_tells(self) -> bool:
        """Whether one fold says enough to leave out candidates that are far behind.

        Of numbers it does not: a few rows far off decide R2, and regressions that choose on folds judge all of them.
        """
        return self.n_held >= FEW_ROWS and not self.numbers

    @property
    def first_fold_decides(self) -> bool:
        """Whether one fold says enough to leave out all but the best, and saves more than it costs in accuracy."""
        return self.n_held >= (ENOUGH_ROWS if self.wide else MANY_ROWS)

    @property
    def least_gain(self) -> float:
        """The expected gain of a score that is worth judging a candidate on further folds."""
        return LARGE_GAIN if self.first_fold_decides else LEAST_GAIN

    @property
    def calibrates(self) -> bool:
        """Whether the best model is calibrated, which takes models without each of several folds."""
        return self.calibration is not None and self.n_folds >= LEAST_FOLDS

    def applied_to(self, model: Any) -> Any:
        """A clone of an estimator that chooses on these folds, by these scorings."""
        known = {"folds": self.folds, "seed": self.seed, "scoring": self.scoring, "repeats": 1}
        return clone(model).set_params(**{name: known[name] for name in known.keys() & model.get_params().keys()})

    def with_folds(self, task: Any, rows: Source) -> tuple[Any, Source]:
        """A task that knows the folds, and rows with the fold of each."""
        return with_folds(task, rows, self.folds, self.groups, 1, self.seed)

    def fold_of_each(self, n_rows: int) -> np.ndarray:
        """The fold of each row in memory."""
        if np.ndim(self.folds):
            row_checks.check_lengths(n_rows, len(self.folds), "folds")
            return np.asarray(self.folds)
        return fold_numbers(n_rows, self.n_folds, groups=self.groups, seed=self.seed)


# ---- the budget ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Budget:
    """A limit of seconds or of reads, or none, and when it started.

    "auto" is no limit, but a first look: candidates that hardly can be the best are judged on one fold alone.

    Attributes
    ----------
    given : str or None
    seconds : float or None
    reads : int or None
    began : float, of time.perf_counter
    """

    given: str | None
    seconds: float | None
    reads: int | None
    began: float

    @classmethod
    def of(cls, given: Any) -> "Budget":
        """The budget from the argument `budget=`."""
        began = time.perf_counter()
        if given is None or given == AUTO:
            return cls(given, None, None, began)
        should = "it should be seconds such as 600 or '600s' ('10m', '2h'), or reads of the rows such as '20 reads'"
        if isinstance(given, numbers.Real) and not isinstance(given, bool):
            seconds = float(given)
            if not 0.0 < seconds < float("inf"):
                raise ValueError(f"budget={given!r} should be above 0 and finite; {should}")
            return cls(f"{seconds:g}s", seconds, None, began)
        if not isinstance(given, str):
            raise TypeError(f"budget={given!r} is of type {type(given).__name__}; {should}")
        found = re.fullmatch(r"\s*(\d+\.?\d*)\s*([a-z]*)\s*", given)
        unit = None if found is None else found[2] or "s"
        if found is None or unit not in UNITS or float(found[1]) == 0.0:
            raise ValueError(f"budget={given!r} is not a budget; {should}")
        factor = UNITS[unit]
        if factor is not None:
            return cls(given if found[2] else f"{given.strip()}s", float(found[1]) * factor, None, began)
        if "." in found[1]:
            raise ValueError(f"budget={given!r} should be a whole number of reads")
        return cls(given, None, int(found[1]), began)

    @property
    def spent(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self.began

    @property
    def left(self) -> float:
        """Remaining seconds."""
        return float("inf") if self.seconds is None else self.seconds - self.spent

    def deadline(self, n_rounds: int, n_waiting: int) -> float:
        """The end of an even share of the rest, for `n_rounds` to come and `n_waiting` candidates in this one."""
        return time.perf_counter() + self.left / n_rounds / n_waiting

    def lasts(self, seconds: float) -> bool:
        """Whether at least so many seconds remain."""
        return self.left >= seconds

    def rounds(self, n_folds: int, tells: bool) -> list[range]:
        """The folds that are judged in each round: few at first, all in the end.

        A read serves all folds, so a budget of reads, or none, has a single round. "auto" has two if one fold `tells`
        enough.
        """
        sizes = [-(-n_folds // KEPT**2), -(-n_folds // KEPT), n_folds] if self.seconds is not None else [n_folds]
        if self.given == AUTO and tells:
            sizes = [1, n_folds]
        return [range(*ends) for ends in pairwise([0, *sorted(set(sizes))])]


@dataclass(frozen=True)
class ToJudge:
    """Candidates to be judged on further folds, and the reads and the time that this may take.

    Attributes
    ----------
    names : list of str
    folds : sequence of int
    most_reads : int, or None for no limit
    deadline : float, of time.perf_counter
    rivals : results of other candidates on the same folds, where those that are beaten are left out
    """

    names: Sequence[str]
    folds: Sequence[int]
    most_reads: int | None = None
    deadline: float = float("inf")
    rivals: Sequence[Any] = ()

    def out_of_time(self) -> bool:
        """Whether the time is spent."""
        return time.perf_counter() > self.deadline


def divide_reads(budget: Budget, costs: Sequence[Any], names: Sequence[str]) -> tuple[list[bool], int | None]:
    """Which candidates take part under a budget of reads, and the reads of each model; None without such a budget.

    `costs` are functions of the reads of each model that return (reads to judge the candidate, reads to fit it).
    """
    if budget.reads is None:
        return [True] * len(costs), None
    chosen: list[Any] = []
    kept = []
    for cost in costs:
        kept.append(_total([*chosen, cost], LEAST_READS) <= budget.reads)
        chosen += [cost] if kept[-1] else []
    if not chosen:
        least = ", ".join(f"{name} takes {sum(cost(LEAST_READS))}" for name, cost in zip(names, costs, strict=True))
        raise ValueError(f"budget={budget.given!r} is too small for one candidate, in reads: {least} at least")
    n_reads = LEAST_READS
    while n_reads < budget.reads and _total(chosen, n_reads + 1) <= budget.reads:
        n_reads += 1
    return kept, n_reads


def _total(costs: Sequence[Any], n_reads: int) -> int:
    """Reads to judge all of these candidates and to fit one."""
    each = [cost(n_reads) for cost in costs]
    return sum(judging for judging, _ in each) + max(fitting for _, fitting in each)

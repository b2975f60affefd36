"""The budget of a search, in seconds or reads, and how it is divided among candidates."""

import numbers
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

UNITS = {"s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0, "read": None, "reads": None}
KEPT = 3  # a third of the candidates goes on to the next round
LEAST_READS = 2  # to judge a model: the second read judges its first step
AUTO = "auto"


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
class Allowed:
    """The reads of each model and the time that a candidate may take.

    Attributes
    ----------
    reads : int, or None for no limit
    out_of_time : callable, returns whether the time is spent
    """

    reads: int | None
    out_of_time: Callable[[], bool]

    @classmethod
    def share(cls, budget: Budget, n_rounds: int, n_waiting: int, reads: int | None) -> "Allowed":
        """An even share of the remaining time, for `n_rounds` rounds to come and `n_waiting` candidates in this one."""
        deadline = time.perf_counter() + budget.left / n_rounds / n_waiting
        return cls(reads, lambda: time.perf_counter() > deadline)


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

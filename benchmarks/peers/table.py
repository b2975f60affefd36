"""What is measured: a row of the table with its floor, goal and figure, and how two sides are timed."""

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

PER_ROW = 100  # nonzeros of a row, before equal ones of a row are one
FASTER, SLOWER, MEMORY, SECONDS, BETTER = "x faster", "x the time", "x the memory", "s more", "x as high"
DIGITS = "digits in common"


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    n_rows: int = 240_000
    chunk: int = 20_000  # rows of one partial_fit of scikit-learn
    repeats: int = 7
    features: tuple[int, ...] = (2**14, 100_000)
    laws: tuple[str, ...] = ("uniform", "zipf")
    slow_rows: int = 40_000  # for peers that take long
    memory_rows: int = 240_000  # more blocks than are in memory at once
    shared_rows: int = 100_000  # that many models are trained on in shared reads
    points: int = 50  # of a grid, at most
    labels: int = 20  # of a row that may bear several


QUICK = Size(n_rows=40_000, repeats=3, slow_rows=8_000, memory_rows=120_000, shared_rows=10_000)


@dataclass(frozen=True)
class Row:
    """One line of the table; `figure` in its unit, None where the peer is not installed."""

    what: str
    against: str
    floor: float | None
    goal: float | None
    figure: float | None
    unit: str = FASTER

    @property
    def verdict(self) -> str:
        if self.figure is None:
            return "not installed"
        sign = 1 if self.unit in (FASTER, BETTER, DIGITS) else -1
        bounds = [(name, bound) for name, bound in (("goal", self.goal), ("floor", self.floor)) if bound is not None]
        reached = [name for name, bound in bounds if sign * (self.figure - bound) >= 0]
        return "no goal set" if not bounds else reached[0] if reached else "below the floor"

    def __str__(self) -> str:
        floor, goal = ("-" if bound is None else f"{bound:g}" for bound in (self.floor, self.goal))
        figure = "-" if self.figure is None else f"{self.figure:.2f}"
        return f"| {self.what} | {self.against} | {floor} | {goal} | {figure} {self.unit} | {self.verdict} |"


HEAD = "| what | against | floor | goal | figure | verdict |\n| --- | --- | --- | --- | --- | --- |"


def ratios(peer: Callable, ours: list[Callable], repeats: int, clock: Callable[[], float]) -> list[float]:
    """How many times longer the peer takes than each of ours: medians over runs that take turns."""
    for run in ours:
        run()  # what is compiled or allocated is there from now on
    rounds = []
    for _ in range(repeats):
        times = [clock()]
        for run in (peer, *ours):
            run()
            times.append(clock())
        first, *others = (b - a for a, b in pairwise(times))
        rounds.append([first / other for other in others])
    return [statistics.median(column) for column in zip(*rounds)]


def ratio(slow: Callable, fast: Callable, repeats: int, clock: Callable[[], float]) -> float:
    """How many times longer the first takes."""
    slow()
    return ratios(slow, [fast], repeats, clock)[0]

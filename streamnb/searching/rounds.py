"""How a search judges its candidates: on which folds, in which rounds, and within which budget."""

import numbers
import re
import time
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.stats import norm
from sklearn.base import clone

from streamnb.core import arguments, messages, row_checks
from streamnb.evaluation.scorers import Scorer
from streamnb.models.calibrating import ENOUGH_ROWS, LEAST_FOLDS
from streamnb.passes.contract import Report
from streamnb.rows.source import Source
from streamnb.rows.splits import Folding, fold_numbers
from streamnb.scanning.class_scan import folding_of
from streamnb.searching.search_result import Judged, Search, best_of, goodness, leaders, reasons

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
    offset : logarithms of exposures of rows, or None
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
    offset: Any = None

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

    def folding_of(self, rows: Source) -> tuple[Folding, Source]:
        """The folds, and rows with the fold of each."""
        folding, rows = folding_of(rows, self.folds, self.groups, 1, self.seed)
        assert folding is not None
        return folding, rows

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


MORE_BY_PAIRS = 0.01  # of a score: what an additive model may gain by pairs and other penalties

# Reads rows as often as is needed before any candidate is judged, and yields nothing; then receives candidates to judge
# on further folds, and yields their results on all folds so far; at last receives the best candidate, fits its model to
# all rows and returns it. Closed if another candidate is better, which frees what only fitting needs.
JudgingSteps = Generator[list[Judged], ToJudge | Judged, Any]


@dataclass(eq=False)
class CandidateGroup:
    """One or more candidates that are judged together.

    Attributes
    ----------
    names : list of str, the names of the candidates
    begin : callable, returns the steps of this group
    reads : callable
        Returns the reads to judge the candidates and to fit one, given how many each model may take, None for no limit.
    plan : str, the description of the reads to come, by default their number
    failures : exceptions of the steps after which all candidates of the group are left out
    left_out : dict, the reason for each candidate that cannot be judged
    report : Report of all reads
    seconds : float, wall time until all were judged
    """

    names: list[str]
    begin: Callable[["CandidateGroup"], JudgingSteps]
    reads: Callable[[int | None], tuple[int, int]]
    plan: str = ""
    failures: tuple[type[Exception], ...] = (ValueError, TypeError)
    left_out: dict[str, str] = field(default_factory=dict)
    report: Report = field(default_factory=Report)
    seconds: float = 0.0

    def __post_init__(self) -> None:
        self._steps = self.begin(self)

    @property
    def title(self) -> str:
        """The name in messages."""
        return self.names[0] if len(self.names) == 1 else f"naive Bayes in {len(self.names)} settings"

    def advance(self, asked: ToJudge | None = None) -> list[Judged]:
        """Begin, or judge candidates; where that fails, leave out all of the group, with the reason."""
        began = time.perf_counter()
        try:
            return self._steps.send(asked)  # type: ignore[arg-type]  # None starts a generator
        except self.failures as error:
            why = str(error) if isinstance(error, ValueError | TypeError) else f"{type(error).__name__}: {error}"
            self.left_out = dict.fromkeys(self.names, why)
            return []
        finally:
            self.seconds += time.perf_counter() - began

    def fitted(self, best: Judged) -> Any:
        """The model of a candidate, fitted to all rows."""
        try:
            self._steps.send(best)
        except StopIteration as end:
            return end.value
        raise AssertionError

    def release(self) -> None:
        """Free everything that only fitting needs, since a candidate of another group is better."""
        self._steps.close()


def within_reads(
    groups: Sequence[CandidateGroup], budget: Budget
) -> tuple[list[CandidateGroup], int | None, dict[str, str]]:
    """The groups that a budget of reads allows, the reads of each model, and why other candidates are left out."""
    if budget.reads is None:
        return list(groups), None, {}
    chosen: list[CandidateGroup] = []
    left_out: dict[str, str] = {}
    for group in groups:
        if _total([*chosen, group], LEAST_READS) <= budget.reads:
            chosen.append(group)
            continue
        least = sum(group.reads(LEAST_READS))
        why = f"budget={budget.given!r} has too few reads for it beside the others: it takes {least} at least"
        left_out |= dict.fromkeys(group.names, why)
    if not chosen:
        each = ", ".join(f"{group.title} takes {sum(group.reads(LEAST_READS))}" for group in groups)
        raise ValueError(f"budget={budget.given!r} is too small for one candidate, in reads: {each} at least")
    n_reads = LEAST_READS
    while n_reads < budget.reads and _total(chosen, n_reads + 1) <= budget.reads:
        n_reads += 1
    return chosen, n_reads, left_out


def _total(groups: Sequence[CandidateGroup], n_reads: int) -> int:
    """Reads to judge all of these candidates and to fit one."""
    each = [group.reads(n_reads) for group in groups]
    return sum(judging for judging, _ in each) + max(fitting for _, fitting in each)


def planned(groups: Sequence[CandidateGroup], judging: Judging, budget: Budget, most_reads: int | None) -> str:
    """Describe the reads to come."""
    lines = [group.plan or f"{group.title}: {sum(group.reads(most_reads))} reads at most" for group in groups]
    rounds = budget.rounds(judging.n_folds, judging.first_fold_tells)
    if budget.given == AUTO and len(rounds) > 1:
        lines.append(f"judged on one fold first; those that may be better than the best go on to {judging.n_folds}")
    if budget.seconds is not None:
        ends = ", ".join(str(folds.stop) for folds in rounds)
        lines.append(f"budget {budget.given}: judged on {ends} folds in turn, a third goes on where time is short")
    if budget.reads is not None:
        lines.append(f"budget {budget.given}: {most_reads} for each model of several reads, at most")
    return "\n".join(lines)


def searched(
    groups: Sequence[CandidateGroup],
    judging: Judging,
    budget: Budget,
    most_reads: int | None,
    left_out: dict[str, str],
    taken: str = "",
) -> Search:
    """Judge candidates in rounds, and fit the best of them to all rows; `taken` says how y was taken.

    After each round all go on if time allows, otherwise the best third. Without a limit, those go on after a first look
    that may gain by it.
    """
    judged = _judged(groups, judging, budget, most_reads)
    spent = f"budget={budget.given!r} was spent before it was judged"
    names = [name for group in groups for name in group.names if name not in group.left_out]
    left_out = left_out | {name: spent for name in names if name not in judged}
    for group in groups:
        left_out |= group.left_out
    if not judged:
        raise ValueError(f"no candidate could be judged. {'; '.join(reasons(left_out))}")
    if left_out:
        first, *others = reasons(left_out)
        more = f"; left_out has {len(others)} more" if others else ""
        messages.warn(f"left out: {first}{more}")
    candidates, scorings = list(judged.values()), judging.scorings
    best = best_of(candidates, scorings)
    model = next(group for group in groups if best.name in group.names).fitted(best)
    report = sum((group.report for group in groups), Report())
    return Search(candidates, left_out, scorings, model, replace(report, seconds=budget.spent), taken=taken)


def _judged(
    groups: Sequence[CandidateGroup], judging: Judging, budget: Budget, most_reads: int | None
) -> dict[str, Judged]:
    """The results of candidates after all rounds, or as many as time allows and choosing takes."""
    judged: dict[str, Judged] = {}
    rounds = budget.rounds(judging.n_folds, judging.first_fold_tells)
    alive = [name for group in groups for name in group.names]
    group_of = {name: group for group in groups for name in group.names}
    for number, folds in enumerate(rounds):
        # the group of the best candidate of the previous round first, as time may run out
        waiting, began = list(dict.fromkeys(group_of[name] for name in alive)), budget.spent
        last = number + 1 == len(rounds)  # the best is fitted after it
        for place, group in enumerate(waiting):
            if judged and budget.left <= 0.0:
                break
            if number == 0:
                _begin(group, budget, bool(judged))
            names, found = [name for name in alive if group_of[name] is group], list[Judged]()
            if not group.left_out.keys() >= {*names}:
                deadline = budget.deadline(len(rounds) - number, len(waiting) - place + last)
                rivals = list(judged.values()) if budget.given == AUTO and not last else []
                found = group.advance(ToJudge(names, folds, most_reads, deadline, rivals))
            for one in found:
                if np.isnan(one.mean(judging.scorings[0])):
                    group.left_out[one.name] = f"it has no {judging.scorings[0]} in any fold"
                else:
                    judged[one.name] = replace(one, seconds=group.seconds)
            for name in group.left_out:
                judged.pop(name, None)
            if last:
                _release_others(waiting[: place + 1], judged.values(), judging.scorings)
        ranked = [judged[name] for name in alive if name in judged]
        ranked.sort(key=lambda one: goodness(one, judging.scorings), reverse=True)
        if budget.given == AUTO and not last:
            ranked = promising(ranked, judging)
            if len(ranked) == 1 and judging.first_fold_decides:
                _release_others(waiting, judged.values(), judging.scorings)
                break
        each = (budget.spent - began) / len(folds)
        if not budget.lasts(each * (judging.n_folds - folds.stop + 1)):  # for remaining folds and the fit
            ranked = ranked[: -(-len(ranked) // KEPT)]
        alive = [one.name for one in ranked]
    return judged


def _begin(group: CandidateGroup, budget: Budget, any_judged: bool) -> None:
    began = budget.spent
    group.advance()
    if not any_judged and budget.left <= 0.0:
        raise ValueError(
            f"budget={budget.given!r} is too small for one candidate: {group.title} took {budget.spent - began:.2g} s "
            "for the first read of the rows alone, and further ones judge it"
        )


def promising(ranked: Sequence[Judged], judging: Judging) -> list[Judged]:
    """The best candidate, and others whose expected gain over it, E[max(0, difference)], is worth further folds.

    The standard error of the difference between two scores from 0 to 1 is taken as half of that on two samples of
    rows: models mostly fail on the same rows.
    """
    means = np.array([judged.mean(judging.scorings[0]) for judged in ranked])
    behind = means[:1] - means
    errors = 0.5 * np.sqrt(np.maximum(2.0 - means[:1] - means, 0.0) / 2.0 / judging.n_held)
    z = behind / np.maximum(errors, np.finfo(float).tiny)
    gains = errors * (norm.pdf(z) - z * norm.sf(z))
    bounded = (means >= 0.0) & (means <= 1.0)
    return [one for i, one in enumerate(ranked) if i == 0 or gains[i] >= judging.least_gain or not bounded[i]]


def beaten(one: Judged, rivals: Sequence[Judged], judging: Judging) -> bool:
    """Whether a candidate is not promising beside others, even if its score were higher by `MORE_BY_PAIRS`.

    A score from 0 to 1 gains at most a quarter of what is left to 1.
    """
    if not rivals:
        return False
    scoring = judging.scorings[0]
    scores = one.scores[scoring]
    more = np.clip(0.25 * (1.0 - scores), 0.0, MORE_BY_PAIRS)
    hoped = replace(one, scores={**one.scores, scoring: scores + more})
    ranked = sorted([hoped, *rivals], key=lambda each: goodness(each, judging.scorings), reverse=True)
    return all(each is not hoped for each in promising(ranked, judging))


def _release_others(done: Sequence[CandidateGroup], judged: Iterable[Judged], scorings: Sequence[str]) -> None:
    """Release the groups that are done, except for those that may have the best candidate so far."""
    judged = list(judged)
    if judged:
        kept = {one.name for one in leaders(judged, scorings) if one is not None}
        for group in done:
            if kept.isdisjoint(group.names):
                group.release()

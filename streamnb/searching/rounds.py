"""A search: candidates are judged in rounds, the worse ones are left out after each, and the best one is fitted.

How candidates of a kind are judged and fitted is a generator; see `JudgingSteps`.
"""

import time
from collections.abc import Callable, Generator, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.stats import norm

from streamnb.core import messages
from streamnb.passes.contract import Report
from streamnb.searching.judging import AUTO, KEPT, LEAST_READS, Budget, Judging, ToJudge, divide_reads
from streamnb.searching.search_result import Judged, Search, best_of, goodness, leaders, reasons

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
    kept, most_reads = divide_reads(budget, [group.reads for group in groups], [group.title for group in groups])
    left_out: dict[str, str] = {}
    for group, stays in zip(groups, kept, strict=True):
        if not stays:
            least = sum(group.reads(LEAST_READS))
            why = f"budget={budget.given!r} has too few reads for it beside the others: it takes {least} at least"
            left_out |= dict.fromkeys(group.names, why)
    return [group for group, stays in zip(groups, kept, strict=True) if stays], most_reads, left_out


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

"""Successive halving of candidates: in each round, those that did best so far are judged on more folds."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import norm
from sklearn.base import clone

from streamnb.core import arguments, messages, row_checks
from streamnb.evaluation.scorers import Scorer
from streamnb.passes.report import Report
from streamnb.rows.source import Source
from streamnb.rows.splits import fold_numbers
from streamnb.scanning.class_scan import with_folds
from streamnb.searching.budget import AUTO, KEPT, LEAST_READS, Allowed, Budget, divide_reads
from streamnb.searching.search_result import Judged, Search, best_of, goodness, leaders, reasons
from streamnb.selection.out_of_fold import ENOUGH_ROWS, LEAST_FOLDS

MANY_ROWS = 10_000  # of a fold, that tell all but exactly which of several models is better
LEAST_GAIN = 0.003  # of a score: less is not worth judging a candidate on further folds


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

    def __post_init__(self) -> None:
        arguments.one_of("calibration", self.calibration, ["auto", None])

    @property
    def first_fold_tells(self) -> bool:
        """Whether one fold says enough to leave out candidates, and saves more than it costs in accuracy."""
        return self.n_held >= (ENOUGH_ROWS if self.wide else MANY_ROWS)

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

    def numbers(self, n_rows: int) -> np.ndarray:
        """The fold of each row in memory."""
        if np.ndim(self.folds):
            row_checks.check_lengths(n_rows, len(self.folds), "folds")
            return np.asarray(self.folds)
        return fold_numbers(n_rows, self.n_folds, groups=self.groups, seed=self.seed)


class Contestants:
    """One or more candidates that are judged together; subclasses are the kinds of candidates.

    Attributes
    ----------
    names : list of str, the names of the candidates
    left_out : dict, the reason for each candidate that cannot be judged; `judge` adds to it
    report : Report of all reads
    seconds : float, wall time of `begin` and `judge`
    failures : exceptions of `begin` and `judge` after which all candidates of the group are left out
    """

    failures: tuple[type[Exception], ...] = (ValueError, TypeError)

    def __init__(self, names: Sequence[str], judging: Judging):
        self.names, self._judging = list(names), judging
        self.left_out: dict[str, str] = {}
        self.report, self.seconds = Report(), 0.0

    def plan(self, most_reads: int | None) -> str:
        """Describe the reads to come, where each model may take up to `most_reads`."""
        return f"{self.names[0]}: {sum(self.reads(most_reads))} reads at most"

    def reads(self, most_reads: int | None) -> tuple[int, int]:
        """The reads to judge the candidates and to fit one, where each model may take up to `most_reads`."""
        raise NotImplementedError

    def begin(self) -> None:
        """Read the rows as often as is needed before any candidate is judged."""

    def judge(self, names: Sequence[str], folds: Sequence[int], allowed: Allowed) -> list[Judged]:
        """Judge candidates on further folds; return their results on all folds so far."""
        raise NotImplementedError

    def fitted(self, judged: Judged) -> Any:
        """Fit the model of a candidate to all rows."""
        raise NotImplementedError

    def release(self) -> None:
        """Free everything that only `fitted` needs, since another candidate is better."""

    @contextmanager
    def leaving_out(self) -> Iterator[None]:
        """Leave out all candidates of the group, with the reason, if they fail; count the time."""
        began = time.perf_counter()
        try:
            yield
        except self.failures as error:
            why = str(error) if isinstance(error, ValueError | TypeError) else f"{type(error).__name__}: {error}"
            self.left_out = dict.fromkeys(self.names, why)
        finally:
            self.seconds += time.perf_counter() - began


class Contest:
    """Judges candidates in rounds; after each round all go on if time allows, otherwise the best third.

    Without a limit, those go on after a first look that may gain by it.
    """

    def __init__(self, groups: Sequence[Contestants], judging: Judging, budget: Budget, left_out: dict[str, str]):
        self._judging, self._budget, self._left_out = judging, budget, dict(left_out)
        self._scorings = [scorer.name for scorer in judging.scorer.each]
        self._rounds = budget.rounds(judging.n_folds, judging.first_fold_tells)
        costs = [group.reads for group in groups]
        kept, self._n_reads = divide_reads(budget, costs, [_group_name(group) for group in groups])
        for group, stays in zip(groups, kept, strict=True):
            if not stays:
                least = sum(group.reads(LEAST_READS))
                why = f"budget={budget.given!r} has too few reads for it beside the others: it takes {least} at least"
                self._left_out |= dict.fromkeys(group.names, why)
        self._groups = [group for group, stays in zip(groups, kept, strict=True) if stays]
        self._judged: dict[str, Judged] = {}
        self._group_of = {name: group for group in self._groups for name in group.names}

    def plan(self) -> str:
        """Describe the reads to come."""
        budget, lines = self._budget, [group.plan(self._n_reads) for group in self._groups]
        if budget.given == AUTO and len(self._rounds) > 1:
            n_folds = self._judging.n_folds
            lines.append(f"judged on one fold first; those that may be better than the best go on to {n_folds}")
        if budget.seconds is not None:
            ends = ", ".join(str(folds.stop) for folds in self._rounds)
            lines.append(f"budget {budget.given}: judged on {ends} folds in turn, a third goes on where time is short")
        if budget.reads is not None:
            lines.append(f"budget {budget.given}: {self._n_reads} for each model of several reads, at most")
        return "\n".join(lines)

    def result(self) -> Search:
        """Run the rounds, and fit the best candidate to all rows."""
        self._run()
        left_out, spent = dict(self._left_out), f"budget={self._budget.given!r} was spent before it was judged"
        for group in self._groups:
            left_out |= {name: spent for name in group.names if name not in self._judged and name not in group.left_out}
        for group in self._groups:
            left_out |= group.left_out
        if not self._judged:
            raise ValueError(f"no candidate could be judged. {'; '.join(reasons(left_out))}")
        if left_out:
            first, *others = reasons(left_out)
            more = f"; left_out has {len(others)} more" if others else ""
            messages.warn(f"left out: {first}{more}")
        candidates = list(self._judged.values())
        best = best_of(candidates, self._scorings)
        model = self._group_of[best.name].fitted(best)
        report = sum((group.report for group in self._groups), Report())
        return Search(candidates, left_out, self._scorings, model, replace(report, seconds=self._budget.spent))

    def _run(self) -> None:
        """Run all rounds, or as many as time allows and choosing takes."""
        budget, n_folds = self._budget, self._judging.n_folds
        alive = [name for group in self._groups for name in group.names]
        for number, folds in enumerate(self._rounds):
            # the group of the best candidate of the previous round first, as time may run out
            waiting, began = list(dict.fromkeys(self._group_of[name] for name in alive)), budget.spent
            last = number + 1 == len(self._rounds)  # the best is fitted after it
            for place, group in enumerate(waiting):
                if self._judged and budget.left <= 0.0:
                    break
                if number == 0:
                    self._begin(group)
                n_waiting = len(waiting) - place + last
                share = Allowed.share(budget, len(self._rounds) - number, n_waiting, self._n_reads)
                self._judge(group, [name for name in alive if self._group_of[name] is group], folds, share)
                if last:
                    self._release_others(waiting[: place + 1])
            judged = [self._judged[name] for name in alive if name in self._judged]
            judged.sort(key=lambda one: goodness(one, self._scorings), reverse=True)
            if budget.given == AUTO and not last:
                judged = self._promising(judged)
                if len(judged) == 1:
                    self._release_others(waiting)
                    break
            each = (budget.spent - began) / len(folds)
            if not budget.lasts(each * (n_folds - folds.stop + 1)):  # for remaining folds and the fit
                judged = judged[: -(-len(judged) // KEPT)]
            alive = [one.name for one in judged]

    def _begin(self, group: Contestants) -> None:
        began = self._budget.spent
        with group.leaving_out():
            group.begin()
        if not self._judged and self._budget.left <= 0.0:
            raise ValueError(
                f"budget={self._budget.given!r} is too small for one candidate: {_group_name(group)} took "
                f"{self._budget.spent - began:.2g} s for the first read of the rows alone, and further ones judge it"
            )

    def _judge(self, group: Contestants, names: list[str], folds: Sequence[int], share: Allowed) -> None:
        found: list[Judged] = []
        if not group.left_out.keys() >= {*names}:
            with group.leaving_out():
                found = group.judge(names, folds, share)
        for judged in found:
            if np.isnan(judged.mean(self._scorings[0])):
                group.left_out[judged.name] = f"it has no {self._scorings[0]} in any fold"
            else:
                self._judged[judged.name] = replace(judged, seconds=group.seconds)
        for name in group.left_out:
            self._judged.pop(name, None)

    def _promising(self, ranked: list[Judged]) -> list[Judged]:
        """The best candidate, and others whose expected gain over it is at least `LEAST_GAIN`, E[max(0, difference)].

        The standard error of the difference between two scores from 0 to 1 is taken as half of that on two samples of
        rows: models mostly fail on the same rows.
        """
        means = np.array([judged.mean(self._scorings[0]) for judged in ranked])
        behind = means[:1] - means
        errors = 0.5 * np.sqrt(np.maximum(2.0 - means[:1] - means, 0.0) / 2.0 / self._judging.n_held)
        z = behind / np.maximum(errors, np.finfo(float).tiny)
        gains = errors * (norm.pdf(z) - z * norm.sf(z))
        bounded = (means >= 0.0) & (means <= 1.0)
        return [one for i, one in enumerate(ranked) if i == 0 or gains[i] >= LEAST_GAIN or not bounded[i]]

    def _release_others(self, done: Sequence[Contestants]) -> None:
        """Release the groups that are done, except for those that may have the best candidate so far."""
        if self._judged:
            first = leaders(self._judged.values(), self._scorings)
            kept = [self._group_of[judged.name] for judged in first if judged is not None]
            for group in done:
                if all(group is not other for other in kept):
                    group.release()


def _group_name(group: Contestants) -> str:
    """The name of a group in messages."""
    return group.names[0] if len(group.names) == 1 else f"naive Bayes in {len(group.names)} settings"

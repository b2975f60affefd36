"""Runs candidates in rounds: those that did best are judged on more folds."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from streamnb.core import messages, row_checks
from streamnb.evaluation.scorers import Scorer
from streamnb.passes.report import Report
from streamnb.rows.splits import fold_numbers
from streamnb.searching.budget import KEPT, LEAST_READS, Allowed, Budget, dealt
from streamnb.searching.found import Judged, Search, goodness, reasons


@dataclass(frozen=True, eq=False)
class Judging:
    """How candidates are judged.

    Attributes
    ----------
    folds : int, or the fold of each row
    n_folds, seed : int
    groups : of rows, or None
    scoring : as it was given
    scorer : Scorer
    """

    folds: Any
    n_folds: int
    groups: Any
    seed: int
    scoring: Any
    scorer: Scorer

    def numbers(self, n_rows: int) -> np.ndarray:
        """The fold of each row."""
        if np.ndim(self.folds):
            row_checks.check_lengths(n_rows, len(self.folds), "folds")
            return np.asarray(self.folds)
        return fold_numbers(n_rows, self.n_folds, groups=self.groups, seed=self.seed)


class Contestants:
    """Candidates that are judged together, or one alone; a kind of these is a subclass.

    Attributes
    ----------
    names : list of str, of the candidates
    left_out : dict, why one cannot be judged: `judge` adds to it
    report : Report, of what was read for them
    failures : exceptions of `begin` and `judge` for which all of them are left out
    """

    failures: tuple[type[Exception], ...] = (ValueError, TypeError)

    def __init__(self, names: Sequence[str]) -> None:
        self.names = list(names)
        self.left_out: dict[str, str] = {}
        self.report = Report()

    def plan(self, most_reads: int | None) -> str:
        """What will be read, in words, where each model may make so many reads."""
        return f"{self.names[0]}: {sum(self.reads(most_reads))} reads at most"

    def reads(self, most_reads: int | None) -> tuple[int, int]:
        """Reads that judge them, and that fit one of them, where each model is read for so often at most."""
        raise NotImplementedError

    def begin(self) -> None:
        """What is read before any of them is judged."""

    def judge(self, names: Sequence[str], folds: Sequence[int], allowed: Allowed) -> list[Judged]:
        """Those of these names on some more folds, with what they came to on those before."""
        raise NotImplementedError

    def fitted(self, judged: Judged) -> Any:
        """The model of all rows."""
        raise NotImplementedError

    def let_go(self) -> None:
        """Keep nothing that only `fitted` needs: another candidate is better."""

    @contextmanager
    def leaving_out(self) -> Iterator[None]:
        """Leave all of them out, and say why, where they fail."""
        try:
            yield
        except self.failures as error:
            why = str(error) if isinstance(error, ValueError | TypeError) else f"{type(error).__name__}: {error}"
            self.left_out = dict.fromkeys(self.names, why)


class OneByOne(Contestants):
    """A candidate that is fitted anew without each fold; a subclass says what that comes to."""

    def __init__(self, name: str, judging: Judging):
        super().__init__([name])
        self._judging = judging
        self._scores: dict[int, list[float]] = {}

    def judge(self, names: Sequence[str], folds: Sequence[int], allowed: Allowed) -> list[Judged]:
        """On the folds that there is time for, on one at least."""
        for fold in folds:
            if self._scores and allowed.out_of_time():
                break
            self._scores[fold] = self._on(fold)
        done, scorers = sorted(self._scores), self._judging.scorer.each
        scores = {one.name: [self._scores[fold][i] for fold in done] for i, one in enumerate(scorers)}
        about: dict[str, Any] = {"name": self.names[0], "words": {}, "point": {}, "n_features": -1}
        return [Judged.on(done, self._judging.n_folds, scores, **about, **self._cost())]

    def _on(self, fold: int) -> list[float]:
        """The scores on a fold of what is fitted to the other rows."""
        raise NotImplementedError

    def _cost(self) -> dict[str, Any]:
        """Reads and seconds so far."""
        raise NotImplementedError


class Contest:
    """Rounds, after each of which all candidates go on that there is time for, or the better third."""

    def __init__(
        self, groups: Sequence[Contestants], scorings: Sequence[str], budget: Budget, left_out: dict[str, str]
    ):
        self._scorings, self._budget, self._left_out = list(scorings), budget, dict(left_out)
        costs = [group.reads for group in groups]
        kept, self._n_reads = dealt(self._budget, costs, [_called(group) for group in groups])
        for group, stays in zip(groups, kept, strict=True):
            if not stays:
                least = sum(group.reads(LEAST_READS))
                why = f"budget={self._budget.given!r} has too few reads for it beside the others: it takes {least}"
                self._left_out |= dict.fromkeys(group.names, f"{why} at least")
        self._groups = [group for group, stays in zip(groups, kept, strict=True) if stays]
        self._judged: dict[str, Judged] = {}
        self._of_name = {name: group for group in self._groups for name in group.names}

    def plan(self, n_folds: int) -> str:
        """What will be read, in words."""
        lines = [group.plan(self._n_reads) for group in self._groups]
        if self._budget.seconds is not None:
            rounds = [str(folds.stop) for folds in self._budget.rounds(n_folds)]
            rounds_of = f"judged on {', '.join(rounds)} folds in turn"
            lines.append(f"budget {self._budget.given}: {rounds_of}, a third goes on where time is short")
        if self._budget.reads is not None:
            lines.append(f"budget {self._budget.given}: {self._n_reads} for each model of several reads, at most")
        return "\n".join(lines)

    def _run(self, n_folds: int) -> None:
        """All rounds, or those that there is time for."""
        rounds = self._budget.rounds(n_folds)
        alive = [name for group in self._groups for name in group.names]
        for number, folds in enumerate(rounds):
            waiting, began = self._in_order(alive), self._budget.spent
            for place, group in enumerate(waiting):
                if self._judged and self._budget.left <= 0.0:
                    break
                last = number + 1 == len(rounds)  # after which the best has to be fitted
                n_waiting = len(waiting) - place + last
                if number == 0:
                    self._begin(group)
                share = Allowed.share(self._budget, len(rounds) - number, n_waiting, self._n_reads)
                self._judge(group, [name for name in alive if self._of_name[name] is group], folds, share)
                if last:
                    self._let_go(waiting[: place + 1])
            alive = self._ranked([name for name in alive if name in self._judged])
            each = (self._budget.spent - began) / len(folds)
            if not self._budget.lasts(each * (n_folds - folds.stop + 1)):  # for the folds that are left, and the fit
                alive = alive[: -(-len(alive) // KEPT)]
        self._say_what_waited()

    def _begin(self, group: Contestants) -> None:
        began = self._budget.spent
        with group.leaving_out():
            group.begin()
        if not self._judged and self._budget.left <= 0.0:
            raise ValueError(
                f"budget={self._budget.given!r} is too small for one candidate: {_called(group)} took "
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
                self._judged[judged.name] = judged
        for name in group.left_out:
            self._judged.pop(name, None)

    def _let_go(self, done: Sequence[Contestants]) -> None:
        """Free what those hold that are done, but for the best so far."""
        if self._judged:
            best = self._of_name[self._best().name]
            for group in done:
                if group is not best:
                    group.let_go()

    def _best(self) -> Judged:
        return max(self._judged.values(), key=lambda judged: goodness(judged, self._scorings))

    def _in_order(self, alive: list[str]) -> list[Contestants]:
        """Those that have candidates left, the best of the round before first, should time be over before the end."""
        groups = [group for group in self._groups if any(self._of_name[name] is group for name in alive)]
        places = {id(self._of_name[name]): place for place, name in reversed(list(enumerate(alive)))}
        return sorted(groups, key=lambda group: places[id(group)])

    def _ranked(self, names: list[str]) -> list[str]:
        """The best first."""
        return sorted(names, key=lambda name: goodness(self._judged[name], self._scorings), reverse=True)

    def result(self, n_folds: int) -> Search:
        """All rounds on so many folds, and the best candidate fitted to all rows."""
        self._run(n_folds)
        left_out = dict(self._left_out)
        for group in self._groups:
            left_out |= group.left_out
        if not self._judged:
            raise ValueError(f"no candidate could be judged. {'; '.join(reasons(left_out))}")
        if left_out:
            messages.warn(
                f"{len(left_out)} candidates are left out; {reasons(left_out)[0]}; left_out has the reasons of all"
            )
        best, every = self._best(), list(self._judged.values())
        model = self._of_name[best.name].fitted(best)
        report = sum((group.report for group in self._groups), Report())
        return Search(every, left_out, self._scorings, model, report)

    def _say_what_waited(self) -> None:
        for group in self._groups:
            for name in group.names:
                if name not in self._judged and name not in group.left_out:
                    self._left_out[name] = f"budget={self._budget.given!r} was spent before it was judged"


def _called(group: Contestants) -> str:
    """A group in a message."""
    return group.names[0] if len(group.names) == 1 else f"naive Bayes in {len(group.names)} settings"

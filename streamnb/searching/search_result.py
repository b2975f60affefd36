"""The result of a search: a table of all candidates, and the best of them, fitted to all rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from streamnb.core import frames, guesses, persistence
from streamnb.core.frames import pandas_for
from streamnb.passes.contract import Report
from streamnb.problem.points import loaded_point
from streamnb.reporting.drawing import scoring_label
from streamnb.reporting.facts import FactTable
from streamnb.reporting.forest import SearchDisplay
from streamnb.reporting.report import Choice, RowsToJudge, write_report
from streamnb.selection.score_table import APPROXIMATE, split_interval, standard_error


@persistence.register
@dataclass(frozen=True, eq=False)
class Judged(persistence.Parameters):
    """The scores of a candidate at its best grid point, on rows that its models did not see.

    Attributes
    ----------
    name : str
    words : dict of str, the options in which it differs
    point : dict, the point of the grid of its penalty
    scores : dict {scoring: scores of all splits, (S,)}
    n_features : int, features of the model of all rows, -1 where unknown
    reads : int, reads of the rows until it was judged, -1 where not counted
    seconds : float, wall time until it was judged, which other candidates may share
    folds : list of int, the folds it was judged on if a budget left out others, where scores are NaN
    quadratic : bool, whether scores are quadratic, by covariances of each class: overconfident where the model is wrong
    """

    name: str
    words: dict[str, str]
    point: dict[str, Any]
    scores: dict[str, np.ndarray]
    n_features: int
    reads: int
    seconds: float = 0.0
    folds: Sequence[int] | None = None
    quadratic: bool = False

    @classmethod
    def on(cls, folds: Sequence[int], n_folds: int, scores: Mapping[str, Any], **about: Any) -> Judged:
        """A candidate with scores on some of `n_folds` folds; `about` are the other fields."""
        of_all = {name: np.full(n_folds, np.nan) for name in scores}
        for name, values in scores.items():
            of_all[name][list(folds)] = values
        return cls(scores=of_all, folds=None if len(folds) == n_folds else list(folds), **about)

    @property
    def n_folds(self) -> int:
        """How many folds it was judged on."""
        return len(next(iter(self.scores.values()))) if self.folds is None else len(self.folds)

    def mean(self, scoring: str) -> float:
        """The mean over the splits where the score is defined, NaN if there are none."""
        values = self.scores[scoring]
        values = np.sort(values[~np.isnan(values)])
        return float(values.sum() / len(values)) if len(values) else np.nan

    def interval(self, scoring: str, level: float = 0.95) -> tuple[float, float]:
        """An interval of the mean, corrected for overlapping training sets, which is approximate."""
        values = self.scores[scoring]
        low, high = split_interval(values, len(values), level)
        return float(low), float(high)


def goodness(judged: Judged, scorings: Sequence[str]) -> tuple[float, ...]:
    """The sort key of candidates, higher is better: most folds first, then mean scores, then fewest features."""
    means = (judged.mean(scoring) for scoring in scorings)
    fewer = -float(judged.n_features if judged.n_features >= 0 else np.inf)
    n_missing = len(next(iter(judged.scores.values()))) - judged.n_folds
    return (-n_missing, *(-np.inf if np.isnan(mean) else mean for mean in means), fewer)


def best_of(candidates: Iterable[Judged], scorings: Sequence[str]) -> Judged:
    """The best candidate; quadratic scores need a clear gain over the best of the others.

    With few rows, their log loss may depend on one row that is almost certainly of a wrong class, and no fold may have
    one.
    """
    best, linear = leaders(candidates, scorings)
    return best if linear is None or _clearly_ahead(best, linear, scorings[0]) else linear


def leaders(candidates: Iterable[Judged], scorings: Sequence[str]) -> tuple[Judged, Judged | None]:
    """The candidate with the best scores, and the best without quadratic scores, None where there is none."""
    ranked = sorted(candidates, key=lambda judged: goodness(judged, scorings), reverse=True)
    return ranked[0], next((judged for judged in ranked if not judged.quadratic), None)


def _clearly_ahead(best: Judged, other: Judged, scoring: str) -> bool:
    """Whether scores are higher by more than the standard error of the difference, on equally many folds."""
    if best is other or best.n_folds > other.n_folds:
        return True
    gains = best.scores[scoring] - other.scores[scoring]
    gains = gains[~np.isnan(gains)]
    return len(gains) < 2 or bool(gains.mean() > standard_error(gains))


def _deviation(scores: np.ndarray) -> float:
    """The standard deviation of the scores of folds, NaN of a single one, which shows none."""
    known = scores[~np.isnan(scores)]
    return float(known.std()) if len(known) > 1 else np.nan


def by_reason(left_out: Mapping[str, str]) -> dict[str, list[str]]:
    """The names of the candidates that are left out for each reason."""
    names: dict[str, list[str]] = {}
    for name, why in left_out.items():
        names.setdefault(why, []).append(name)
    return names


def reasons(left_out: Mapping[str, str]) -> list[str]:
    """The reasons why candidates are left out, each once."""
    return [
        f"{names[0] if len(names) == 1 else f'{len(names)} candidates, such as {names[0]}'}: {why}"
        for why, names in by_reason(left_out).items()
    ]


@persistence.register
@dataclass(frozen=True, eq=False)
class Search(persistence.Saved):
    """The result of `snb.search`; it prints as a table, best first.

    Attributes
    ----------
    best_ : estimator
        The best candidate by the first scoring, at its best point, fitted to all rows. Gaussians with a covariance for
        each class tend to be overconfident, so they must beat the best of the others by more than the standard error of
        the difference over the folds.
    best_score_ : float
        Its mean score over the folds, by the first scoring.
    results_ : pandas.DataFrame
        One row for each candidate, best first; those judged on fewer folds come last. <scoring> is the mean over the
        folds, and std_<scoring> their standard deviation, NaN for a single fold. low_<scoring> and high_<scoring> are
        an approximate 95 % interval of the mean, corrected for overlapping training sets (Nadeau and Bengio 2003).
        n_features is that of the model of all rows, and folds the number of folds. seconds is the wall time until it
        was judged. Candidates may share reads and seconds. point is the point of the grid, followed by the options of
        the candidate.
    left_out : dict {candidate: why}
    scorings : list of str
    candidates : list of Judged, with the scores of each fold
    report_ : Report
        The report of all reads for naive Bayes and `models`, including the fit to all rows.
    positive : label or None
        Of two classes, the one that was named as positive.
    guesses : dict {scoring: score}
        Scores of a baseline that knows only the class frequencies, or the mean of numbers; empty for multi-label rows.
    taken : str
        Whether whole numbers in y were taken as classes or as numbers, and how to get the other; else empty.

    Examples
    --------
    >>> import streamnb as snb
    >>> X, y = [[2, 0], [3, 1], [1, 4], [0, 5]] * 3, ["cat", "cat", "dog", "dog"] * 3
    >>> families = {"families": ["poisson", "bernoulli"], "penalties": [None]}
    >>> found = snb.search(X, y, **families, folds=2, scoring="accuracy", show=False)
    >>> found.best_.predict([[4, 0]]).tolist(), len(found.results_)
    (['cat'], 2)
    """

    candidates: list[Judged]
    left_out: dict[str, str]
    scorings: list[str]
    best_: Any
    report_: Report = field(metadata={"saved_as": "report"})
    positive: bool | int | str | None = None
    guesses: dict[str, float] = field(default_factory=dict)
    taken: str = ""

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(f"'Search' object has no attribute {name!r}{guesses.hint(name, guesses.OF_SEARCH)}")

    @property
    def best_score_(self) -> float:
        return self.ranked[0].mean(self.scorings[0])

    @property
    def ranked(self) -> list[Judged]:
        """The candidates: `best_` first, then by their scores."""
        best = best_of(self.candidates, self.scorings)
        return sorted(
            self.candidates, key=lambda judged: (judged is best, *goodness(judged, self.scorings)), reverse=True
        )

    @property
    def results_(self) -> Any:
        return pandas_for("results_").DataFrame([self._row(judged) for judged in self.ranked])

    def _row(self, judged: Judged) -> dict[str, Any]:
        scores = {name: judged.mean(name) for name in self.scorings}
        stds = {f"std_{name}": _deviation(judged.scores[name]) for name in scores if name in judged.scores}
        for name in scores:
            stds |= dict(zip((f"low_{name}", f"high_{name}"), judged.interval(name), strict=True))
        return {
            "candidate": judged.name,
            **scores,
            **stds,
            "n_features": judged.n_features,
            "folds": judged.n_folds,
            "reads": judged.reads,
            "seconds": judged.seconds,
            "point": judged.point,
            **judged.words,
        }

    def __str__(self) -> str:
        return "\n".join([*frames.aligned(self._table()), *self._notes()])

    def _repr_html_(self) -> str:
        return frames.html(self._table(), self._notes())

    def _notes(self) -> list[str]:
        interval = f"95 %: interval of the mean {self.scorings[0]} over folds, {APPROXIMATE}"
        notes = [self.taken] if self.taken else []
        guessed = self.guesses.get(self.scorings[0], -np.inf)
        worse = [judged.name for judged in self.ranked if judged.mean(self.scorings[0]) <= guessed]
        if len(worse) == len(self.candidates):
            notes.append("No candidate beats guesses; snb.describe may show why")
        else:
            notes += reasons(dict.fromkeys(worse, "no better than guesses"))
        if self.ranked[-1].n_folds < self.ranked[0].n_folds:
            notes.append("Candidates of fewer folds gave up early; compare their scores with each other alone")
        return [*notes, interval, *(f"Left out: {one}" for one in reasons(self.left_out))]

    def _table(self) -> list[list[str]]:
        """Cells, header first, then candidates, best first."""
        first, *others = self.scorings
        table = [["", first, "95 %", *others, "features", "folds", "reads", "seconds"], *map(self._cells, self.ranked)]
        if self.guesses:
            how = "by frequency" if hasattr(self.best_, "classes_") else "by the mean"
            first, *others = (f"{self.guesses[name]:.4f}" if name in self.guesses else "-" for name in self.scorings)
            table.append([f"guesses {how}", first, "", *others, "", "", "", ""])
        return table

    def _cells(self, judged: Judged) -> list[str]:
        means = [judged.mean(name) for name in self.scorings]
        numbers = ["-" if number < 0 else f"{number:,}" for number in (judged.n_features, judged.reads)]
        cost = [numbers[0], f"{judged.n_folds}", numbers[1], f"{judged.seconds:.1f}"]
        first, *others = ("-" if np.isnan(mean) else f"{mean:.4f}" for mean in means)
        low, high = judged.interval(self.scorings[0])
        return [judged.name, first, "-" if np.isnan(low) else f"{low:.4f} .. {high:.4f}", *others, *cost]

    def __repr__(self) -> str:
        return f"<Search: {len(self.candidates)} candidates by {self.scorings[0]}, best {self.ranked[0].name}>"

    def plot(self, ax: Any = None, *, n_best: int = 20, **kwargs: Any) -> SearchDisplay:
        """Draw the scores of the best candidates, see `SearchDisplay`.

        Parameters
        ----------
        ax : matplotlib axes, optional
        n_best : int
            Maximum number of candidates to draw.
        **kwargs
            Of the points.
        """
        shown = self.ranked[:n_best]
        scores = [judged.scores[self.scorings[0]] for judged in shown]
        names = [judged.name for judged in shown]
        return SearchDisplay(names, scores, self.scorings[0], len(self.candidates)).plot(ax, **kwargs)

    def report(self, path: Any, X: Any = None, y: Any = None, *, force: bool = False, **options: Any) -> None:
        """Write one page of HTML that shows the candidates and the best model.

        Parameters
        ----------
        path : path
        X, y : optional
            Rows that the search has not seen, on which the best model is judged.
        force : bool
            Replace an existing file.
        **options
            As for `snb.report`: sample_weight, interval, groups, by, against, positive, offset.
        """
        best = self.ranked[0]
        rows = tuple((one.name, *map(one.mean, self.scorings), one.n_folds, one.seconds) for one in self.ranked)
        scores = ", ".join(f"{name} {best.mean(name):.4f}" for name in self.scorings)
        note = f"The best, {best.name}, has {scores}: means over {best.n_folds} folds, on rows that it had not seen."
        columns = ("candidate", *map(scoring_label, self.scorings), "folds", "seconds")
        choice = Choice(FactTable("Candidates", columns, rows, " ".join([note, *self._notes()])), self.plot)
        given = RowsToJudge(X, y, **{"interval": 0.95, "positive": self.positive, **options})
        write_report(self.best_, given, path, force=force, choice=choice)

    def save(self, path: Any) -> None:
        """Write the table and the best model to one file, without pickle; `snb.load` reads it."""
        if not persistence.registered(self.best_):
            raise TypeError(f"best_={self.best_!r} is not a model of streamnb, and cannot be saved in its files")
        super().save(path)

    def _check_loaded(self) -> None:
        if not self.candidates or not self.scorings or not hasattr(self.best_, "predict"):
            raise ValueError("a search should have candidates, scorings and a model")
        first = self.candidates[0].scores
        for judged in self.candidates:
            loaded_point(judged.point)
            if judged.scores.keys() != first.keys() or not {*self.scorings} <= first.keys():
                raise ValueError("every candidate should have the scores of each scoring")
            for name, values in judged.scores.items():
                persistence.array(name, values, ["f8"], first[name].shape[:1])

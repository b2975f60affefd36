"""What a search has found: a table of all candidates, and the best of them, fitted to all rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from streamnb.core import notebook, persistence
from streamnb.core.frames import pandas_for
from streamnb.passes.report import Report
from streamnb.plotting.candidates import SearchDisplay
from streamnb.problem.points import loaded_point


@persistence.register
@dataclass(frozen=True, eq=False)
class Judged(persistence.Parameters):
    """A candidate at its best point, by the models that did not see the rows that they were judged on.

    Attributes
    ----------
    name : str
    words : dict of str, what is particular to it
    point : dict, of the grid of its penalty
    scores : dict, of each scoring the scores of all splits, (S,)
    n_features : int, that the model of all rows uses, -1 where it does not tell
    reads : int, of the rows that it took part in until it was judged; -1 where nobody counts
    seconds : float, of these reads, which others may have shared
    folds : list of int, that it was judged on, where a budget kept it from the others: elsewhere scores are NaN
    """

    name: str
    words: dict[str, str]
    point: dict[str, Any]
    scores: dict[str, np.ndarray]
    n_features: int
    reads: int
    seconds: float
    folds: Sequence[int] | None = None

    @classmethod
    def on(cls, folds: Sequence[int], n_folds: int, scores: Mapping[str, Sequence[float]], **about: Any) -> Judged:
        """A candidate with scores on some of so many folds; `about` is the rest."""
        if len(folds) == n_folds:
            return cls(scores={name: np.array(values, np.float64) for name, values in scores.items()}, **about)
        of_all = {name: np.full(n_folds, np.nan) for name in scores}
        for name, values in scores.items():
            of_all[name][list(folds)] = values
        return cls(scores=of_all, folds=list(folds), **about)

    @property
    def n_folds(self) -> int:
        """How many folds it was judged on."""
        return len(next(iter(self.scores.values()))) if self.folds is None else len(self.folds)

    def mean(self, scoring: str) -> float:
        """Over the splits where the score is defined, NaN where it is in none."""
        values = self.scores[scoring]
        values = np.sort(values[~np.isnan(values)])
        return float(values.sum() / len(values)) if len(values) else np.nan


def goodness(judged: Judged, scorings: Sequence[str]) -> tuple[float, ...]:
    """What candidates are ordered by: how few folds it lacks, the means of the scorings in turn, how few features."""
    means = (judged.mean(scoring) for scoring in scorings)
    fewer = -float(judged.n_features if judged.n_features >= 0 else np.inf)
    lacks = 0 if judged.folds is None else len(next(iter(judged.scores.values()))) - judged.n_folds
    return (-lacks, *(-np.inf if np.isnan(mean) else mean for mean in means), fewer)


def reasons(left_out: Mapping[str, str]) -> list[str]:
    """Why candidates are left out, each reason once."""
    of_reason: dict[str, list[str]] = {}
    for name, why in left_out.items():
        of_reason.setdefault(why, []).append(name)
    several = {why: f"{len(names)} candidates, such as {names[0]}" for why, names in of_reason.items()}
    return [f"{names[0] if len(names) == 1 else several[why]}: {why}" for why, names in of_reason.items()]


@persistence.register
@dataclass(frozen=True, eq=False)
class Search(persistence.Saved):
    """What `snb.search` returns; it prints as a table, the best first.

    Attributes
    ----------
    best_ : estimator
        The best candidate by the first scoring, at its best point, fitted to all rows.
    results_ : pandas.DataFrame
        A row a candidate, the best first, those judged on fewer folds last: candidate, the mean of each scoring over
        its folds, std_<scoring>, n_features (of the model of all rows), folds (their number), reads and seconds (which
        candidates may have shared), point (of its grid), and what it is made of.
    left_out : dict {candidate: why}
    scorings : list of str
    candidates : list of Judged, with the scores of each fold
    report : Report
        Of all reads of naive Bayes and `models`, of the fit to all rows, too.

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
    report: Report

    @property
    def ranked(self) -> list[Judged]:
        """The candidates, the best first."""
        return sorted(self.candidates, key=lambda judged: goodness(judged, self.scorings), reverse=True)

    @property
    def results_(self) -> Any:
        return pandas_for("results_").DataFrame([self._row(judged) for judged in self.ranked])

    def _row(self, judged: Judged) -> dict[str, Any]:
        scores = {name: judged.mean(name) for name in self.scorings}
        stds = {f"std_{name}": float(np.nanstd(values)) for name, values in judged.scores.items() if name in scores}
        cost: dict[str, Any] = {"n_features": judged.n_features, "folds": judged.n_folds}
        cost |= {"reads": judged.reads, "seconds": judged.seconds}
        return {"candidate": judged.name, **scores, **stds, **cost, "point": judged.point, **judged.words}

    def __str__(self) -> str:
        return "\n".join([*notebook.aligned(self._table()), *self._notes()])

    def _repr_html_(self) -> str:
        return notebook.html(self._table(), self._notes())

    def _notes(self) -> list[str]:
        return [f"Left out: {one}" for one in reasons(self.left_out)]

    def _table(self) -> list[list[str]]:
        """Cells, the head first, then the best."""
        return [["", *self.scorings, "features", "folds", "reads", "seconds"], *map(self._cells, self.ranked)]

    def _cells(self, judged: Judged) -> list[str]:
        means = [judged.mean(name) for name in self.scorings]
        numbers = ["-" if number < 0 else f"{number:,}" for number in (judged.n_features, judged.reads)]
        cost = [numbers[0], f"{judged.n_folds}", numbers[1], f"{judged.seconds:.1f}"]
        return [judged.name, *("-" if np.isnan(m) else f"{m:.4f}" for m in means), *cost]

    def __repr__(self) -> str:
        return f"<Search: {len(self.candidates)} candidates by {self.scorings[0]}, best {self.ranked[0].name}>"

    def plot(self, ax: Any = None, *, n_best: int = 20, **kwargs: Any) -> SearchDisplay:
        """Draw the scores of the best candidates, see `SearchDisplay`.

        Parameters
        ----------
        ax : matplotlib axes, optional
        n_best : int
            How many candidates are drawn at most.
        **kwargs
            Of the points.
        """
        shown = self.ranked[:n_best]
        scores = [judged.scores[self.scorings[0]] for judged in shown]
        return SearchDisplay([judged.name for judged in shown], scores, self.scorings[0]).plot(ax, **kwargs)

    def save(self, path: Any) -> None:
        """Write the table and the best model to one file, no pickle; read it with `snb.load`."""
        if not persistence.registered(self.best_):
            raise TypeError(f"best_={self.best_!r} is not a model of streamnb, and is not kept in its files")
        super().save(path)

    def _to_state(self) -> dict[str, Any]:
        return vars(self)

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        persistence.typed(cls, persistence.known(cls, state, *cls.__dataclass_fields__))
        self = cls(**state)
        if not self.candidates or not self.scorings or not hasattr(self.best_, "predict"):
            raise ValueError("a search should have candidates, scorings and a model")
        first = self.candidates[0].scores
        for judged in self.candidates:
            loaded_point(judged.point)
            if judged.scores.keys() != first.keys() or not {*self.scorings} <= first.keys():
                raise ValueError("every candidate should have the scores of each scoring")
            for name, values in judged.scores.items():
                persistence.array(name, values, ["f8"], first[name].shape[:1])
        return self

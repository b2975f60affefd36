"""The result of `compare`: its tables as text, as HTML and as a data frame."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from streamnb.core import frames, persistence, row_checks
from streamnb.core.frames import pandas_for
from streamnb.evaluation.differences import given_level
from streamnb.passes.contract import Report
from streamnb.plotting.drawing import scoring_label
from streamnb.problem.points import loaded_point
from streamnb.reporting.facts import FactTable
from streamnb.reporting.report import write_tables
from streamnb.searching.search_result import by_reason
from streamnb.selection.score_table import GridScores
from streamnb.selection.split_intervals import APPROXIMATE, split_interval

OVERALL = "overall"
Pair = tuple[str, str]  # the names of a family and a penalty


# ---- the tables ------------------------------------------------------------------------------------------------------


@persistence.register
@dataclass(frozen=True, eq=False)
class Comparison(persistence.Saved):
    """Tables of F families by P penalties, K classes and, last, overall.

    Attributes
    ----------
    families : list of F names
    penalties : list of P names
    classes : (K,) labels
    scores : (F, P, K + 1)
        Mean score over the splits at the point chosen; NaN where the penalty is left out or the score is not defined.
    n_features : (F, P, K + 1) int
        Features that the model of all rows keeps at that point: for each class, and last for all classes together.
        Where no row of weights belongs to a single class, all are that of all classes. -1 where there is no score.
    points : (F, P, K + 1) object
        The grid point, such as ``{"l1": 0.3}``; None where there is no score.
    left_out : dict {(family, penalty): why}
    scoring : str
    rule : str, or dict {penalty: rule} where columns have several
    report_ : Report
        Of both scans together.
    overall : str
        Whether the last of the K + 1 rows is of one point for all classes, or the mean over classes.
    splits : (F, P, K + 1, S), optional
        The score of each split, of which `scores` are the means; None in tables that older versions saved.
    repeats : int
        How often the rows were split into folds.

    Examples
    --------
    >>> import streamnb as snb
    >>> X, y = [[2, 0], [3, 1], [1, 4], [0, 5]] * 3, ["cat", "cat", "dog", "dog"] * 3
    >>> tables = snb.compare(X, y, families="poisson", penalties=["plain"], folds=2, show=False)
    >>> tables.to_frame()[["class", "score"]].round(2).values.tolist()
    [['cat', 1.0], ['dog', 1.0], ['overall', 1.0]]
    """

    families: list[str]
    penalties: list[str]
    classes: np.ndarray
    scores: np.ndarray
    n_features: np.ndarray
    points: np.ndarray
    left_out: dict[Pair, str]
    scoring: str
    rule: str | dict[str, str]
    report_: Report = field(metadata={"saved_as": "report"})
    overall: str = "one_point"
    splits: np.ndarray | None = None
    repeats: int = 1

    @classmethod
    def of(
        cls,
        families: list[str],
        rules: dict[str, str],
        judged: dict[Pair, GridScores],
        left_out: dict[Pair, str],
        scoring: str,
        overall: str,
        report: Report,
        repeats: int = 1,
    ) -> Comparison:
        """The tables of the judged grids; `rules` has the rule of each penalty, in the order of columns."""
        penalties = list(rules)
        classes = next(iter(judged.values())).classes
        shape = len(families), len(penalties), len(classes) + 1
        scores, n_features, points = np.full(shape, np.nan), np.full(shape, -1), np.full(shape, None, object)
        splits = np.full((*shape, next(iter(judged.values())).scores.shape[1]), np.nan)
        for (family, penalty), grid_scores in judged.items():
            at = families.index(family), penalties.index(penalty)
            for row, point, score, kept, of_splits in _cells(grid_scores, rules[penalty], overall):
                if not np.isnan(score):
                    scores[*at, row], n_features[*at, row], points[*at, row] = score, kept, point
                    splits[*at, row] = of_splits
        rule = rules if len({*rules.values()}) > 1 else next(iter(rules.values()))
        tables = families, penalties, classes, scores, n_features, points
        return cls(*tables, left_out, scoring, rule, report, overall, splits, repeats)

    def _to_state(self) -> dict[str, Any]:
        return super()._to_state() | {"points": self.points.reshape(-1).tolist()}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Comparison:
        listed = persistence.part(state, "points", list[dict[str, Any] | None])
        points = np.empty(len(listed), object)
        points[:] = [None if point is None else loaded_point(point) for point in listed]
        shape = len(state["families"]), len(state["penalties"]), -1
        return super()._from_state({**state, "points": points.reshape(shape)})

    def _check_loaded(self) -> None:
        shape = len(self.families), len(self.penalties), len(row_checks.check_labels(self.classes)) + 1
        persistence.array("scores", self.scores, ["f8"], shape)
        persistence.array("n_features", self.n_features, ["i8"], shape)
        persistence.array("points", self.points, ["O"], shape)
        if self.splits is not None:
            persistence.array("splits", self.splits, ["f8"], (*shape, None))

    def summary(self, interval: float = 0.95) -> Any:
        """A data frame of means over splits, and intervals of them: family, penalty, class, score, low and high.

        Intervals are corrected for training sets that overlap (Nadeau and Bengio 2003); they are approximate, and
        those of the best of many points are too high. The frame's `attrs` say so.
        """
        if self.splits is None:
            raise ValueError("the tables were saved by an older version, without the scores of splits; compare again")
        low, high = split_interval(self.splits, self.splits.shape[-1] // self.repeats, given_level(interval))
        frame = self.to_frame().drop(columns=["n_features", "point"])
        kept = [(f, p) not in self.left_out for f in self.families for p in self.penalties]
        frame["low"], frame["high"] = (end.reshape(len(kept), -1)[kept].ravel() for end in (low, high))
        frame.attrs["interval"] = f"{interval:.4g} over {self.splits.shape[-1]} splits, {APPROXIMATE}"
        return frame

    def to_frame(self) -> Any:
        """A pandas data frame with one row for each cell: family, penalty, class, score, n_features and point."""
        pd = pandas_for("to_frame")
        labels = [*self.classes.tolist(), OVERALL]
        cells = [
            (family, penalty, label, self.scores[f, p, row], self.n_features[f, p, row], self.points[f, p, row])
            for f, family in enumerate(self.families)
            for p, penalty in enumerate(self.penalties)
            for row, label in enumerate(labels)
            if (family, penalty) not in self.left_out
        ]
        return pd.DataFrame(cells, columns=["family", "penalty", "class", "score", "n_features", "point"])

    def report(self, path: Any, *, force: bool = False) -> None:
        """Write one page of HTML that shows the tables; `force` replaces a file that is there. See `snb.report`."""
        frame = self.to_frame()
        frame = frame[frame["class"] == OVERALL].sort_values("score", ascending=False)
        rows = tuple(frame[["family", "penalty", "score", "n_features"]].itertuples(index=False, name=None))
        left_out = [f"Left out: {family}, {penalty}: {why}." for (family, penalty), why in self.left_out.items()]
        note = " ".join([f"Scores of {len(self.classes):,} classes, on rows that the models had not seen.", *left_out])
        columns = ("family", "penalty", scoring_label(self.scoring), "features")
        write_tables("Families and penalties", FactTable("Candidates", columns, rows, note), self.report_, path, force)

    def __str__(self) -> str:
        return "\n\n".join("\n".join(self._lines(f)) for f in range(len(self.families)))

    def __repr__(self) -> str:
        n_classes = len(self.classes)
        return f"<Comparison: {n_classes} classes, families {self.families}, penalties {self.penalties}>"

    def _repr_html_(self) -> str:
        families = range(len(self.families))
        return "\n".join(frames.html(self._table(f), self._notes(f), self._caption(f)) for f in families)

    def _lines(self, f: int) -> list[str]:
        """The table of a family as aligned lines."""
        return [self._caption(f), "", *frames.aligned(self._table(f)), *self._notes(f)]

    def _caption(self, f: int) -> str:
        rules = self.rule.items() if isinstance(self.rule, dict) else ()
        rule_text = "rules " + ", ".join(f"{name} {rule!r}" for name, rule in rules) if rules else f"rule {self.rule!r}"
        last = "" if self.overall == "one_point" else "; last the mean of the classes"
        return f"{self.families[f]}: {self.scoring} (features kept), {rule_text}{last}"

    def _table(self, f: int) -> list[list[str]]:
        """Cells of a family's table, header first, without rows and columns that have no score."""
        columns = [p for p, penalty in enumerate(self.penalties) if (self.families[f], penalty) not in self.left_out]
        labels = [*map(str, self.classes.tolist()), OVERALL]
        rows = [row for row in range(len(labels)) if not np.isnan(self.scores[:, :, row]).all()]
        width = len(str(self.n_features[f].max()))
        cells = [[self._cell((f, p, row), width) for p in columns] for row in rows]
        head = ["", *(self.penalties[p] for p in columns)]
        return [head, *([labels[row], *line] for row, line in zip(rows, cells, strict=True))]

    def _cell(self, at: tuple[int, int, int], width: int) -> str:
        if np.isnan(self.scores[at]):
            return "-"
        return f"{self.scores[at]:.4f} {f'({self.n_features[at]})':>{width + 2}}"

    def _notes(self, f: int) -> list[str]:
        """The penalties left out of a family's table, with reasons."""
        of_family = {penalty: why for (family, penalty), why in self.left_out.items() if family == self.families[f]}
        return [f"Left out: {', '.join(names)}; {why}" for why, names in by_reason(of_family).items()]


def _cells(scores: GridScores, rule: str, overall: str) -> list[tuple[int, Any, float, int, Any]]:
    """Row, point, score, kept features and scores of splits of each class that has a score, and of the last row."""
    cells: list[tuple[int, Any, float, int, Any]] = []
    numbers = scores.per_split()[0] if rule == "per_split" else None
    for k, point in enumerate(scores.class_best(rule).tolist()):
        if point < 0:
            continue
        chosen, kept = scores.grid[point], int(scores.n_features_per_class[point, k])
        if numbers is not None:  # a number that need not be on the grid
            kept = int(numbers[k])
            chosen = {**chosen, "top_k": kept}
        assert scores.class_scores is not None
        cells.append((k, chosen, float(scores.class_mean[point, k]), kept, scores.class_scores[point, :, k]))
    if overall == "one_point" and numbers is None:
        best = scores.best(rule)
        point, kept = scores.grid[best], int(scores.n_features[best])
        cells.append((-1, point, float(scores.mean[best]), kept, scores.scores[best]))
    elif cells:
        _, _, means, of_classes, of_splits = zip(*cells, strict=True)
        n, total = len(cells), sum(of_classes)
        cells.append((-1, None, float(np.mean(means)), (2 * total + n) // (2 * n), np.mean(of_splits, axis=0)))
    return cells

"""The thesis's tables: families against penalties, class by class, all from the same two scans."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from streamnb import _checks, persistence
from streamnb.choosing import GridScores, check_choice
from streamnb.data.chunk import Chunk, Survey
from streamnb.decorrelating import check_decorrelation
from streamnb.dirichlet import Together
from streamnb.families import Family, as_family
from streamnb.mixed import FamilyDomain
from streamnb.model_selection import check_read_twice, cross_validated
from streamnb.penalties import L1, Decorrelation, Penalty, TopK, as_penalty
from streamnb.priors import Smoothing
from streamnb.report import Report
from streamnb.scanning import ScanPlan, run_scan, with_folds
from streamnb.schemes import SCHEMES, as_scheme
from streamnb.stats.class_stats import ClassStats, RowOptions

STANDARD = ("plain", "TopK", "L1", "TopK + Decorrelation", "L1 + Decorrelation")  # the columns of the thesis
N_POINTS = 20  # of the grids of TopK and L1
RHOS = (0.05, 0.1, 0.2, 0.4)  # of Decorrelation, in units of the curvature
OVERALL = "overall"

Pair = tuple[str, str]  # the names of a family and a penalty


def compare(
    X: Any,
    y: Any = None,
    *,
    families: Any = ("poisson", "bernoulli", "gaussian"),
    penalties: Any = None,
    scheme: str = "ovr",
    reference: Any = None,
    folds: Any = 5,
    repeats: int = 1,
    seed: int = 0,
    scoring: Any = "roc_auc",
    rule: str = "parsimonious",
    sample_weight: Any = None,
    groups: Any = None,
    classes: Any = None,
    smoothing: Any = 1.0,
    priors: Any = None,
    estimate: str = "posterior_mean",
    binarize: float = 0.0,
    transform: str | None = None,
    normalize: str | None = None,
    idf: bool = False,
    show: bool = True,
    progress: bool | None = None,
    n_threads: int | None = None,
    client: Any = None,
) -> "Comparison":
    """Print and return the score and the features kept of every family under every penalty, for each class and overall.

    The tables of section 7.3, Shishkova 2016. Two scans in all, whatever the numbers of families, penalties and grid
    points: one for the statistics of every fold, one in which each row is scored by all models that did not see it.

    Parameters
    ----------
    X : (n_rows, n_features)
        As for `scan`; a stream has to be a callable that returns a fresh iterator, for the rows are read twice.
    y : (n_rows,) or (n_rows, n_labels)
        Labels, or an indicator of labels; as for `scan`.
    families : names, Family or Mixed objects
        A table each.
    penalties : names, or dict {name: penalty or None}
        A column each. By name: "plain"; "TopK", with 20 numbers of features from all to one, geometric; "L1", with
        20 taus from the data, likewise; "TopK + Decorrelation" and "L1 + Decorrelation", with four strengths
        of ``Decorrelation(scale="curvature")`` for each point. None: these five. Of one's own: any penalties with
        any grids; None is no penalty. Decorrelation is left out, and the table says so, where it is not defined: for
        two classes, scheme="ovo" and multinomial.
    scheme, reference, smoothing, priors, estimate, binarize, transform, normalize, idf
        As for `LinearNB`, the same for all families.
    folds, repeats, seed, groups, scoring
        As for `LinearNBCV`.
    rule : {"parsimonious", "best", "one_se"}
        Which point of the grid a cell shows: that with the fewest features whose mean score is within 1 % of the best
        (procedure 7.1), the best, or the fewest within one standard error of it. Each class has a point of its own,
        chosen by its scores and its features; the last row has the one for the mean over classes and all features.
    sample_weight : (n_rows,), optional
        Counts as frequency.
    classes : array-like, optional
        All labels that may occur.
    show : bool
        Print the tables; they are returned in any case.
    progress : bool, optional
        Show progress bars.
    n_threads : int, optional
        Threads that read and score; as many as there are cores by default.
    client : dask.distributed.Client or cluster, optional
        A cluster that reads and scores, as in `scan`; the active one by default.

    Returns
    -------
    Comparison
        Prints as a table for each family; `Comparison.to_frame` makes a data frame.

    Raises
    ------
    ValueError, TypeError
        An argument or a value is wrong: the message names it, and the family where one does not take the data.
    DataError
        Data cannot be read.

    Warns
    -----
    StreamnbWarning
        A fold lacks a class: the means are those of the others. Or, before the second scan: judging so many models
        of so many classes will take minutes.

    Notes
    -----
    Scores are those of `LinearNBCV` for each family and penalty alone, as long as the scores of all rows by all models
    fit into some 250 MB; beyond that ROC AUC and average precision are read off histograms (see `Evaluation`), the
    finer, the fewer models are judged at once. Most of the time goes into the weights under Decorrelation.
    """
    members = _families(families, getattr(X, "columns", None))
    columns = _penalties(penalties)
    scorer = check_choice(scheme, folds, repeats, seed, scoring, rule)
    options = {"scheme": scheme, "reference": reference, "smoothing": smoothing, "priors": priors}
    options |= {"idf": idf, "estimate": estimate}
    every = tuple(members.values())
    _check_options(every, scheme, smoothing, estimate, idf)
    check_read_twice(X, "compare")
    row_options = RowOptions(transform, normalize, binarize, _centre(every))
    plan = ScanPlan((), row_options, _checks.check_classes(classes), _Domains(every))
    plan = plan.with_moments(_moments(every, idf))
    plan, split = with_folds(plan, X, folds, groups, repeats, seed)
    run: dict[str, Any] = {"split": split, "progress": progress, "n_threads": n_threads, "client": client}
    stats, report = run_scan(plan, X, y, sample_weight, **run)
    _check_classes(stats)
    columns = _standard(columns, stats.n_features) if isinstance(columns, tuple) else columns
    pairs, left_out = _defined(members, columns, stats, scheme, reference)
    scores, more = cross_validated(stats, list(pairs.values()), options, scorer, X, y, sample_weight, **run)
    scores[0].warn_missing()
    judged = dict(zip(pairs, scores, strict=True))
    comparison = Comparison.of(list(members), list(columns), judged, left_out, scorer.name, rule, report + more)
    if show:
        print(comparison)
    return comparison


# ---- what is compared ------------------------------------------------------------------------------------------------


def _families(families: Any, names: Any) -> dict[str, Family]:
    """Families by name; objects go by how they are written. `names` are those of the columns of X, or None."""
    given = [families] if isinstance(families, str | Family) or not isinstance(families, Iterable) else list(families)
    if not given:
        raise ValueError("families is empty; give at least one, such as 'poisson'")
    members: dict[str, Family] = {}
    for one in given:
        name = one if isinstance(one, str) else repr(one)
        if name in members:
            raise ValueError(f"families has {name} twice; give each family once")
        members[name] = as_family(one).named(names)
    return members


def _penalties(penalties: Any) -> dict[str, Penalty | None] | tuple[str, ...]:
    """Penalties by name as given, or the names of standard ones, whose grids need the number of features."""
    if isinstance(penalties, Penalty) or not isinstance(penalties, Iterable | None):
        raise TypeError(f"penalties={penalties!r} should be names, or a dict that gives each penalty one")
    if penalties is not None and not penalties:
        raise ValueError(
            f"penalties={penalties!r} is empty; give at least one, or leave it out for {', '.join(STANDARD)}"
        )
    if isinstance(penalties, Mapping):
        return {str(name): as_penalty(penalty, f"penalties[{name!r}]") for name, penalty in penalties.items()}
    names = STANDARD if penalties is None else (penalties,) if isinstance(penalties, str) else tuple(penalties)
    for name in names:
        _checks.one_of("penalties", name, STANDARD)
    return tuple(dict.fromkeys(names))


def _standard(names: Iterable[str], n_features: int) -> dict[str, Penalty | None]:
    """The penalties of those names."""
    decorrelation = Decorrelation(RHOS, scale="curvature")
    kept = np.geomspace(1, n_features, N_POINTS).round().astype(int)
    top_k, l1 = TopK(np.unique(kept).tolist()), L1(n_taus=N_POINTS)
    every = dict(zip(STANDARD, (None, top_k, l1, top_k + decorrelation, l1 + decorrelation), strict=True))
    return {name: every[name] for name in names}


def _defined(
    members: dict[str, Family], columns: Mapping[str, Penalty | None], stats: ClassStats, scheme: str, reference: Any
) -> tuple[dict[Pair, tuple[Family, Penalty | None]], dict[Pair, str]]:
    """Pairs of a family and a penalty, and why others are left out."""
    as_rows = as_scheme(scheme, stats.classes, reference, stats.multilabel)
    pairs: dict[Pair, tuple[Family, Penalty | None]] = {}
    left_out: dict[Pair, str] = {}
    for family_name, family in members.items():
        for name, penalty in columns.items():
            try:
                check_decorrelation(penalty, family, as_rows, len(stats.classes))
                pairs[family_name, name] = family, penalty
            except ValueError as error:
                left_out[family_name, name] = str(error)
    if not pairs:
        raise ValueError(f"penalties has none that is defined here: {next(iter(left_out.values()))}")
    return pairs, left_out


def _check_options(families: Iterable[Family], scheme: str, smoothing: Any, estimate: str, idf: bool) -> None:
    _checks.one_of("scheme", scheme, SCHEMES)
    _checks.one_of("idf", idf, [False, True])
    for family in families:
        for member in family.members:
            Smoothing.of(member, smoothing, estimate)
            if isinstance(member, Together):
                raise ValueError(
                    f"family={member.name!r} has no penalties to compare: its parameters are fitted together; leave it "
                    "out of families"
                )


def _check_classes(stats: ClassStats) -> None:
    seen = stats.classes[stats.weight > 0].tolist()
    if len(seen) < 2 and not stats.multilabel:
        raise ValueError(f"y holds one class only ({seen}); compare needs at least 2 classes")


# ---- one scan for all families ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Domains:
    """The values that every family takes."""

    families: tuple[Family, ...]

    def check(self, chunk: Chunk, survey: Survey) -> None:
        """Report the first value that is outside."""
        for family in self.families:
            FamilyDomain("compare", family).check(chunk, survey)


def _moments(families: Iterable[Family], idf: bool) -> set[str]:
    """What any of the families needs."""
    return {moment for family in families for moment in family.moments} | ({"nonzero"} if idf else set())


def _centre(families: Iterable[Family]) -> float:
    """The one centre that distances are taken from."""
    centres = {family.centre for family in families if "deviation" in family.moments}
    if len(centres) > 1:
        given = ", ".join(f"{centre:g}" for centre in sorted(centres))
        raise ValueError(f"families take distances from {given}, and one scan takes them from one; compare them apart")
    return centres.pop() if centres else 0.0


# ---- the tables ------------------------------------------------------------------------------------------------------


@persistence.register
@dataclass(frozen=True, eq=False)
class Comparison:
    """Tables of F families by P penalties, K classes and, last, overall.

    Attributes
    ----------
    families : list of F names
    penalties : list of P names
    classes : (K,) labels
    scores : (F, P, K + 1)
        Mean score over the splits at the point chosen; NaN where the penalty is left out or the score is not defined.
    n_features : (F, P, K + 1) int
        Features that the model of all rows keeps there: of the class (of all classes together where no row of weights
        is that of a class alone), and last of all classes together; -1 where there is no score.
    points : (F, P, K + 1) object
        The grid point, such as ``{"l1": 0.3}``; None where there is no score.
    left_out : dict {(family, penalty): why}
    scoring, rule : str
    report : Report
        Of both scans together.
    """

    families: list[str]
    penalties: list[str]
    classes: np.ndarray
    scores: np.ndarray
    n_features: np.ndarray
    points: np.ndarray
    left_out: dict[Pair, str]
    scoring: str
    rule: str
    report: Report

    @classmethod
    def of(
        cls,
        families: list[str],
        penalties: list[str],
        judged: dict[Pair, GridScores],
        left_out: dict[Pair, str],
        scoring: str,
        rule: str,
        report: Report,
    ) -> "Comparison":
        """The tables of what was judged."""
        classes = next(iter(judged.values())).classes
        shape = len(families), len(penalties), len(classes) + 1
        scores, n_features, points = np.full(shape, np.nan), np.full(shape, -1), np.full(shape, None, object)
        for (family, penalty), grid_scores in judged.items():
            at = families.index(family), penalties.index(penalty)
            for row, (point, score, kept) in enumerate(_cells(grid_scores, rule)):
                if not np.isnan(score):
                    scores[*at, row], n_features[*at, row], points[*at, row] = score, kept, grid_scores.grid[point]
        return cls(families, penalties, classes, scores, n_features, points, left_out, scoring, rule, report)

    def save(self, path: Any) -> None:
        """Write the tables to one file; read it with `snb.load`."""
        persistence.save(path, self)

    def to_state(self) -> dict[str, Any]:
        return {**vars(self), "points": self.points.reshape(-1).tolist()}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> "Comparison":
        shape = len(state["families"]), len(state["penalties"]), len(_checks.check_labels(state["classes"])) + 1
        persistence.array("scores", state["scores"], ["f8"], shape)
        persistence.array("n_features", state["n_features"], ["i8"], shape)
        points = np.empty(len(state["points"]), object)
        points[:] = state["points"]
        return cls(**{**state, "points": points.reshape(shape)})

    def to_frame(self) -> Any:
        """A pandas data frame with columns family, penalty, class, score, n_features and point, a row a cell."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_frame needs pandas: pip install pandas") from error
        labels = [*self.classes.tolist(), OVERALL]
        cells = [
            (family, penalty, label, self.scores[f, p, row], self.n_features[f, p, row], self.points[f, p, row])
            for f, family in enumerate(self.families)
            for p, penalty in enumerate(self.penalties)
            for row, label in enumerate(labels)
            if (family, penalty) not in self.left_out
        ]
        return pd.DataFrame(cells, columns=["family", "penalty", "class", "score", "n_features", "point"])

    def __str__(self) -> str:
        return "\n\n".join("\n".join(self._lines(f)) for f in range(len(self.families)))

    def __repr__(self) -> str:
        n_classes = len(self.classes)
        return f"<Comparison: {n_classes} classes, families {self.families}, penalties {self.penalties}>"

    def _repr_html_(self) -> str:
        return "\n".join(map(self._html, range(len(self.families))))

    def _lines(self, f: int) -> list[str]:
        """The table of a family as aligned lines."""
        table = self._table(f)
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        lines = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in table]
        return [self._caption(f), "", *lines, *self._notes(f)]

    def _html(self, f: int) -> str:
        head, *rows = ([escape(cell) for cell in row] for row in self._table(f))
        lines = [f"<tr>{''.join(f'<th>{cell}</th>' for cell in head)}</tr>"]
        lines += [f"<tr><th>{row[0]}</th>{''.join(f'<td>{cell}</td>' for cell in row[1:])}</tr>" for row in rows]
        notes = "".join(f"<p>{escape(note)}</p>" for note in self._notes(f))
        return f"<table><caption>{escape(self._caption(f))}</caption>{''.join(lines)}</table>{notes}"

    def _caption(self, f: int) -> str:
        return f"{self.families[f]}: {self.scoring} (features kept), rule {self.rule!r}"

    def _table(self, f: int) -> list[list[str]]:
        """Cells of a family's table, the head first; rows and columns without any score are not in it."""
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
        """What is left out of a family's table, and why."""
        reasons: dict[str, list[str]] = {}
        for (family, penalty), why in self.left_out.items():
            if family == self.families[f]:
                reasons.setdefault(why, []).append(penalty)
        return [f"Left out: {', '.join(names)}; {why}" for why, names in reasons.items()]


def _cells(scores: GridScores, rule: str) -> list[tuple[int, float, int]]:
    """Point, score and features kept of each class, and overall last."""
    by_class = [
        (point, float(scores.class_mean[point, k]), int(scores.n_features_per_class[point, k]))
        if point >= 0
        else (point, np.nan, -1)
        for k, point in enumerate(scores.class_best(rule).tolist())
    ]
    best = scores.best(rule)
    return [*by_class, (best, float(scores.mean[best]), int(scores.n_features[best]))]

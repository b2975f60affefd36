"""Compares families and penalties on the same folds: `compare`, and its tables as text, as HTML and as a data frame."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from streamnb.core import arguments, frames, persistence, row_checks
from streamnb.core.arguments import Bytes, PerRow, Rows
from streamnb.core.frames import pandas_for
from streamnb.core.guesses import with_hints
from streamnb.encoding.learning import LearnsBins, check_maps, learned_by_fold, learned_maps, of_values
from streamnb.encoding.opening import opened
from streamnb.evaluation.scorers import Scorer
from streamnb.evaluation.tallied import given_level
from streamnb.passes.contract import Reading, Report, RunOptions
from streamnb.passes.run import run_reads
from streamnb.problem.families import Together, as_family
from streamnb.problem.family import Family
from streamnb.problem.mixed import FamilyDomain
from streamnb.problem.penalties import L1, Decorrelation, Penalty, TopK, as_penalty
from streamnb.problem.points import loaded_point
from streamnb.problem.schemes import SCHEMES, as_scheme
from streamnb.problem.sides import check_reference
from streamnb.problem.smoothing import Smoothing
from streamnb.reporting.drawing import scoring_label
from streamnb.reporting.facts import FactTable
from streamnb.reporting.report import write_tables
from streamnb.rows.boundary import Survey
from streamnb.rows.keeping import Keeping
from streamnb.rows.preparing import NONE, LearnedStep, RowOptions
from streamnb.rows.row_blocks import Chunk
from streamnb.rows.source import Source
from streamnb.rows.table_opening import ANY, COMPLETE
from streamnb.scanning.class_scan import ClassScan, folding_of
from streamnb.searching.search_result import by_reason
from streamnb.selection.cross_validation import judged_together, scores_of, summing, with_maps
from streamnb.selection.folded_scan import FoldedSums, scan_maps
from streamnb.selection.score_table import APPROXIMATE, RULES, GridScores, check_choice, check_rule, split_interval
from streamnb.solving.weight_problem import check_penalty
from streamnb.stats.class_stats import ClassStats

STANDARD = ("plain", "TopK", "L1", "TopK + Decorrelation", "L1 + Decorrelation")  # the columns of the thesis
N_POINTS = 20  # in the grids of TopK and L1
RHOS = (0.05, 0.1, 0.2, 0.4)  # of Decorrelation, in units of the curvature
OVERALL = "overall"
Pair = tuple[str, str]  # the names of a family and a penalty


@with_hints
def compare(
    X: Rows,
    y: PerRow = None,
    *,
    families: Any = ("poisson", "bernoulli", "gaussian"),
    penalties: Any = None,
    scheme: str = "ovr",
    reference: Any = None,
    overlap: str = "refuse",
    folds: Any = 5,
    repeats: int = 1,
    seed: int = 0,
    scoring: Any = "roc_auc",
    rule: Any = "parsimonious",
    overall: str = "one_point",
    sample_weight: PerRow = None,
    groups: PerRow = None,
    classes: Any = None,
    smoothing: Any = "auto",
    priors: Any = None,
    estimate: str = "posterior_mean",
    binarize: float = 0.0,
    transform: Any = None,
    normalize: str | None = None,
    idf: bool = False,
    show: bool | None = None,
    progress: bool | None = None,
    n_threads: int | None = None,
    memory_limit: Bytes = None,
    client: Any = None,
    checkpoint: Any = None,
    layer: str | None = None,
    keep: str = "auto",
) -> Comparison:
    """Compare every family under every penalty: scores and numbers of features kept, for each class and overall.

    This cross-validates naive Bayes; to compare fitted models of any kind on new rows, use `compare_models`.

    The tables are those of section 7.3, Shishkova 2016. Two scans are enough for any number of families, penalties and
    grid points: one for the statistics of every fold, and one in which each row is scored by all models that did not
    see it.

    Parameters
    ----------
    X : (n_rows, n_features)
        As for `scan`; rows are read twice.
    y : (n_rows,) or (n_rows, n_labels)
        Labels, or an indicator of labels; as for `scan`.
    families : names, Family or Mixed objects
        One table for each. `Gaussian` with covariances, for scheme="joint", has a grid of shrinkages and no penalty.
    penalties : names, or dict {name: penalty or None}
        One column for each. By name: "plain"; "TopK", with 20 numbers of features from all to one, geometric; "L1",
        with 20 taus from the data, likewise; "TopK + Decorrelation" and "L1 + Decorrelation", with four strengths of
        ``Decorrelation(scale="curvature")`` for each point. By default these five. A dict may have any penalties with
        any grids; None is no penalty. Decorrelation is undefined for two classes, scheme="ovo" and multinomial; it is
        then left out, with a note below the table.
    scheme, reference, overlap, smoothing, priors, estimate, binarize, transform, normalize, idf
        As for `LinearNB`, the same for all families. Steps that are learned from rows are learned, for each fold, from
        the rows outside it, as in `LinearNBCV`. (Columns made by `snb.Bins` have no names of their own here.)
    folds, repeats, seed, groups, scoring
        As for `LinearNBCV`.
    rule : {"parsimonious", "best", "one_se", "per_split"} or {penalty: rule}
        The grid point that a cell shows. "best" has the best mean score. "parsimonious" has the fewest features among
        points within 1 % of the best, and "one_se" among those within one standard error. Each class has its own point,
        chosen by its scores and its features. "per_split" is procedure 7.1, Shishkova 2016, for columns with `TopK`:
        `LinearNBCV` chooses the number of features of a class, under the taus of other penalties that are best for the
        class. Its score is that of the nearest grid point. A dict gives columns their own rules, such
        as ``{"TopK": "per_split", "L1": "best"}``; the others use "parsimonious".
    overall : {"one_point", "mean_of_classes"}
        The last row: the mean score and the features of the one point that the rule chooses for all classes together;
        or the means over the rows of the classes, with numbers of features rounded (halves up), as in the tables of the
        thesis. Under "per_split" it is always the latter.
    sample_weight : (n_rows,), optional
        Counts as frequency.
    classes : array-like, optional
        All labels that may occur.
    show : bool, optional
        Print the tables, which are returned in any case. By default they are printed except in a notebook, which
        displays the returned value as tables.
    progress : bool, optional
        Show progress bars.
    n_threads : int, optional
        Threads that read and score; by default the number of cores.
    memory_limit : int or str, optional
        Bytes that the tables of class sums may take, such as "4GB", as in `scan`.
    client : dask.distributed.Client or cluster, optional
        A cluster that reads and scores, as in `scan`; the active one by default.
    checkpoint : path, optional
        As in `scan`: an interrupted first scan is resumed; the second starts again.
    layer : str, optional
        The layer of AnnData to read instead of its X.
    keep : {"auto", "memory", "disk", "no"}
        Where rows stay for the second read, as in `SoftmaxRegression.fit`.

    Returns
    -------
    Comparison
        Prints as a table for each family; `Comparison.to_frame` makes a data frame, and `Comparison.summary` one of
        means over splits with their intervals.

    Raises
    ------
    ValueError, TypeError
        An argument or a value is wrong: the message names it, and the family if one does not accept the data.
    DataError
        Data cannot be read.

    Warns
    -----
    StreamnbWarning
        A fold lacks a class, so that means are over the other folds; or the second scan will take minutes, as there are
        so many models and classes to score.

    Notes
    -----
    Scores equal those of `LinearNBCV` for the same family and penalty, as long as the scores of all rows by all models
    fit into about 250 MB. Beyond that, ROC AUC and average precision are computed from histograms (see `Evaluation`),
    which are finer the fewer models there are. Most of the time is spent on solving Decorrelation.

    Examples
    --------
    >>> import streamnb as snb
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> tables = snb.compare(X, y, families="gaussian", penalties=["plain", "L1"], folds=3, show=False)
    >>> tables.scores[0, :, -1].round(3).tolist()
    [0.833, 0.83]
    """
    if hasattr(X, "predict") or (isinstance(X, list) and X and hasattr(X[0], "predict")):
        raise TypeError(
            "X has models; compare fits its own to rows: use snb.compare_models([model, ..], X, y) of fitted ones"
        )
    numbers = ANY if isinstance(transform, LearnsBins) else COMPLETE
    rows = opened(X, y, sample_weight, layer=layer, numbers=numbers, beside=(groups, folds))
    members, columns = _families(families, rows, transform), _penalties(penalties, 1)
    scorer = check_choice(scheme, folds, repeats, seed, scoring, "best")
    rules = _rules(rule, columns, overall, scorer, scheme)
    options = {"scheme": scheme, "reference": reference, "overlap": overlap, "smoothing": smoothing, "priors": priors}
    options |= {"idf": idf, "estimate": estimate}
    _check_options(members.values(), options, scoring)
    with Keeping(keep, memory_limit) as keeping:
        run_options = RunOptions(progress, n_threads, memory_limit, client, checkpoint, keeping)
        rows = run_options.kept(rows)
        rows.check_read_again("compare")
        row_options = RowOptions(of_values(transform), normalize, binarize, _centre(members.values()))
        scan = ClassScan((), row_options, row_checks.check_classes(classes), memory_limit=run_options.memory_limit)
        folding, rows = folding_of(rows, folds, groups, repeats, seed)
        scan = replace(scan, folding=folding)
        mapped, rests, report = run_reads(_scanned(tuple(members.values()), scan, idf, transform, rows, run_options))
        stats = next(iter(mapped.values()))
        pairs, left_out = _defined(members, penalties if isinstance(penalties, Mapping) else [*columns], stats, options)
        once = replace(run_options, checkpoint=None)
        candidates = [with_maps(mapped, rests, *pair, options, n_threads) for pair in pairs.values()]
        every = [one for of_maps in candidates for one in of_maps]
        judged, more, _ = run_reads(judged_together(every, scorer, rows, once))
    grids = iter(judged)
    scores = [scores_of([next(grids) for _ in of_maps], scorer) for of_maps in candidates]
    scores[0].warn_missing(reference if scorer.name == "roc_auc_reference" else None)
    of_pairs = dict(zip(pairs, scores, strict=True))
    found = Comparison.of(list(members), rules, of_pairs, left_out, scorer.name, overall, report + more, repeats)
    if frames.prints(show):
        print(found)
    return found


# ---- what is compared ------------------------------------------------------------------------------------------------


def _families(families: Any, rows: Source, transform: Any) -> dict[str, Family]:
    """Families by name, or objects by their repr; with names and kinds of columns where these stay as given."""
    as_given = not isinstance(transform, LearnsBins)
    names = getattr(rows.given, "columns", None) if as_given else None
    kinds = rows.encoding.kinds if as_given and rows.encoding else None
    given = [families] if isinstance(families, str | Family) or not isinstance(families, Iterable) else list(families)
    if not given:
        raise ValueError("families is empty; give at least one, such as 'poisson'")
    members: dict[str, Family] = {}
    for one in given:
        name = one if isinstance(one, str) else repr(one)
        if name in members:
            raise ValueError(f"families has {name} twice; give each family once")
        members[name] = as_family(one).named(names, kinds)
    return members


def _penalties(penalties: Any, n_features: int) -> dict[str, Penalty | None]:
    """The penalties by name; standard ones have grids for so many features."""
    if isinstance(penalties, Penalty) or not isinstance(penalties, Iterable | None):
        raise TypeError(f"penalties={penalties!r} should be names, or a dict {{name: penalty}}")
    if penalties is not None and not penalties:
        raise ValueError(
            f"penalties={penalties!r} is empty; give at least one, or leave it out for {', '.join(STANDARD)}"
        )
    if isinstance(penalties, Mapping):
        return {str(name): as_penalty(penalty, f"penalties[{name!r}]") for name, penalty in penalties.items()}
    top_k = TopK(np.unique(np.geomspace(1, n_features, N_POINTS).round().astype(int)).tolist())
    l1, decorrelation = L1(n_taus=N_POINTS), Decorrelation(RHOS, scale="curvature")
    standard = dict(zip(STANDARD, (None, top_k, l1, top_k + decorrelation, l1 + decorrelation), strict=True))
    names = STANDARD if penalties is None else [penalties] if isinstance(penalties, str) else penalties
    return {name: standard[arguments.one_of("penalties", name, STANDARD)] for name in names}


def _rules(rule: Any, columns: dict[str, Penalty | None], overall: str, scorer: Scorer, scheme: str) -> dict[str, str]:
    """The rule of each column; refuse rules without candidates, and means over classes that have no score."""
    given = rule if isinstance(rule, Mapping) else dict.fromkeys(columns, rule)
    unknown = [name for name in given if name not in columns]
    if unknown:
        raise ValueError(f"rule has the column {unknown[0]!r}, which is none of {', '.join(map(repr, columns))}")
    rules = {name: arguments.one_of("rule", given.get(name, "parsimonious"), RULES) for name in columns}
    arguments.one_of("overall", overall, ["one_point", "mean_of_classes"])
    if overall == "mean_of_classes" and scorer.per_class is None:
        raise ValueError(
            f"overall='mean_of_classes' needs a score of each class, which scoring={scorer.name!r} does not have"
        )
    for name, penalty in columns.items():
        try:
            check_rule(rules[name], penalty, scorer, scheme)
        except ValueError as error:
            raise ValueError(f"column {name!r}: {error}; columns have rules of their own by a dict") from error
    return rules


def _defined(
    members: dict[str, Family], penalties: Any, stats: ClassStats, options: Mapping[str, Any]
) -> tuple[dict[Pair, tuple[Family, Penalty | None]], dict[Pair, str]]:
    """The pairs of a family and a penalty that are defined, and the reasons why others are not."""
    seen = stats.classes[stats.weight > 0].tolist()
    if len(seen) < 2 and not stats.multilabel:
        raise ValueError(f"y holds one class only ({seen}); compare needs at least 2 classes")
    scheme = as_scheme(options["scheme"], stats.classes, options["reference"], stats.multilabel)
    pairs: dict[Pair, tuple[Family, Penalty | None]] = {}
    left_out: dict[Pair, str] = {}
    for family_name, family in members.items():
        for name, penalty in _penalties(penalties, stats.n_features).items():
            try:
                check_penalty(penalty, family, scheme, len(stats.classes))
                pairs[family_name, name] = family, penalty
            except ValueError as error:
                left_out[family_name, name] = str(error)
    if not pairs:
        raise ValueError(f"penalties has none that is defined here: {next(iter(left_out.values()))}")
    return pairs, left_out


def _check_options(families: Iterable[Family], options: Mapping[str, Any], scoring: Any) -> None:
    if isinstance(scoring, list | tuple):
        raise TypeError(f"scoring={scoring!r} should be one name: compare shows one score (LinearNBCV takes lists)")
    arguments.one_of("scheme", options["scheme"], SCHEMES)
    check_reference(options["scheme"], options["reference"])
    arguments.one_of("idf", options["idf"], [False, True])
    for family in families:
        for member in family.members:
            Smoothing.of(member, options["smoothing"], options["estimate"])
            if isinstance(member, Together):
                raise ValueError(
                    f"family={member.name!r} has no penalties to compare: its parameters are fitted together; leave it "
                    "out of families"
                )


# ---- one scan for all families ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Domains:
    """The domain of values that every family accepts."""

    families: tuple[Family, ...]

    def check(self, chunk: Chunk, survey: Survey) -> None:
        """Refuse the first value outside the domain."""
        for family in self.families:
            FamilyDomain("compare", family, argument="families").check(chunk, survey)


def _scanned(
    families: tuple[Family, ...], scan: ClassScan, idf: bool, transform: Any, rows: Source, options: RunOptions
) -> Reading[FoldedSums]:
    """Scan the rows for each map of columns that families try, after steps are learned."""
    tried = [family.map_names or (NONE,) for family in families]
    names = dict.fromkeys(name for maps_of_family in tried for name in maps_of_family)
    check_maps([name for name in names if name != NONE], scan.options.transform, scan.options.normalize)
    known = rows, options, "compare", scan.folding
    steps = yield from learned_by_fold(transform, *known)
    maps = yield from learned_maps(names, *known)

    def scan_of(name: str, split: int | None, step: LearnedStep | None) -> ClassScan:
        with_map = tuple(family for family, maps in zip(families, tried, strict=True) if name in maps)
        options = replace(scan.options, learned=step)
        return summing(replace(scan, options=options, domain=_Domains(with_map)), with_map, idf)

    return (yield from scan_maps(scan_of, maps, steps, rows, options))


def _centre(families: Iterable[Family]) -> float:
    """The centre of distances that all families share."""
    centres = {family.centre for family in families if "deviation" in family.moments}
    if len(centres) > 1:
        given = ", ".join(f"{centre:g}" for centre in sorted(centres))
        raise ValueError(f"families take distances from {given}, and a scan has one centre; compare them apart")
    return centres.pop() if centres else 0.0


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
        Mean score over the splits at the chosen point; NaN where the penalty is left out or the score is undefined.
    n_features : (F, P, K + 1) int
        Features that the model of all rows keeps at that point: for each class, and last for all classes together.
        Where no row of weights belongs to a single class, every entry is the total. -1 where there is no score.
    points : (F, P, K + 1) object
        The grid point, such as ``{"l1": 0.3}``; None where there is no score.
    left_out : dict {(family, penalty): why}
    scoring : str
    rule : str, or dict {penalty: rule} where columns have several
    report_ : Report
        Of both scans together.
    overall : str
        Whether the last of the K + 1 rows shows one point for all classes, or the mean over classes.
    splits : (F, P, K + 1, S), optional
        The score of each split; `scores` are their means. None in tables saved by older versions.
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

        Intervals are corrected for overlapping training sets (Nadeau and Bengio 2003); they are approximate, and
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
        """Write the tables to one HTML page; `force` replaces an existing file. See `snb.report`."""
        frame = self.to_frame()
        frame = frame[frame["class"] == OVERALL].sort_values("score", ascending=False)
        rows = tuple(frame[["family", "penalty", "score", "n_features"]].itertuples(index=False, name=None))
        left_out = [f"Left out: {family}, {penalty}: {why}." for (family, penalty), why in self.left_out.items()]
        note = " ".join([f"Scores of {len(self.classes):,} classes, on rows that the models had not seen.", *left_out])
        columns = ("family", "penalty", scoring_label(self.scoring), "features")
        write_tables("Families and penalties", FactTable("Candidates", columns, rows, note), self.report_, path, force)

    def __str__(self) -> str:
        families = range(len(self.families))
        return "\n\n".join(
            "\n".join([self._caption(f), "", *frames.aligned(self._table(f)), *self._notes(f)]) for f in families
        )

    def __repr__(self) -> str:
        n_classes = len(self.classes)
        return f"<Comparison: {n_classes} classes, families {self.families}, penalties {self.penalties}>"

    def _repr_html_(self) -> str:
        families = range(len(self.families))
        return "\n".join(frames.html(self._table(f), self._notes(f), self._caption(f)) for f in families)

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

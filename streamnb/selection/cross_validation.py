"""Cross-validation: in one read, rows are judged by the models that have not seen them, at all points of all grids."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
from scipy.special import logsumexp

from streamnb.core import arguments, memory, messages, row_checks
from streamnb.core.persistence import shown
from streamnb.evaluation.evaluation import Evaluation
from streamnb.evaluation.reference import JudgedRows
from streamnb.evaluation.scorers import Scorer, check_scorer
from streamnb.models.grid_weights import DOUBLE, in_range
from streamnb.models.linear import LinearModel
from streamnb.passes.contract import PassTask, Reading, Report, RunOptions, Wants
from streamnb.passes.fit import answered
from streamnb.passes.passes import Pass, TotalsOfRead
from streamnb.problem.family import Family
from streamnb.problem.penalties import Penalty, at_point
from streamnb.rows.boundary import Survey, as_chunk, checked
from streamnb.rows.preparing import NONE
from streamnb.rows.row_blocks import Block, Chunk
from streamnb.rows.source import Source
from streamnb.rows.splits import Folding, check_learns
from streamnb.scanning.class_scan import ClassScan
from streamnb.selection import grid_models
from streamnb.selection.covariance_models import CovarianceModels
from streamnb.selection.folded_scan import FoldJudge, check_same_folds, check_sheet, counts_of, without_split
from streamnb.selection.grid_models import GridModels, NestedApart, rows_of
from streamnb.selection.score_table import GridScores
from streamnb.solving.normal_models import CovariancePath
from streamnb.solving.weight_paths import WeightPath, weight_path
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.row_sample import SampledRows, SampleTask
from streamnb.stats.second_moments import Products

WEIGHTS_BYTES = 1 << 30  # of weights kept in memory; beyond, they are computed for the columns of each block
COSTLY_MARGINS = 1 << 25  # at once where weights are computed for each batch, to compute them less often
CACHED_MARGINS = 1 << 18  # at once elsewhere, so that they stay in the cache until they are judged
EVALUATIONS_BYTES = 1 << 30  # of the evaluations of all threads, where there are several
LONGEST_BLOCK = 32 << 20  # bytes of rows
TIMES_WEIGHTS = 4
MARGIN_BYTES = 16  # of one margin and its scores
WEIGHT_BYTES = 12  # of one nonzero weight
PER_MARGIN, PER_WEIGHT, PER_PRODUCT = 5e-9, 1e-8, 1.25e-10  # seconds, roughly
LONG = 300.0  # seconds; warn before a longer wait


RowsJudged = tuple[int | None, int | None]  # those inside a fold, or those outside one


# ---- candidates ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Candidate:
    """A family and a penalty, judged at every point of its grid, on statistics with folds.

    Attributes
    ----------
    stats : ClassStats
    family : Family
    penalty : Penalty or None
    options : dict
        The arguments of `solve` other than family and penalty.
    path : the models of all rows, at every grid point
    by_split : dict {split: (family, statistics)}, optional
        Those of the rows outside each fold, where columns are learned from these alone.
    unseen, seen : dict {split: evaluation}
        On the rows that the models of a split have not seen, and on those that they have seen, where these were judged.
    singular : (G,) bool
        The points at which the models of some split do not exist.
    """

    stats: ClassStats
    family: Any
    penalty: Penalty | None
    options: dict[str, Any]
    path: Any
    by_split: Mapping[int, tuple[Any, ClassStats]] | None = None
    unseen: Mapping[int, Any] = field(default_factory=dict)
    seen: Mapping[int, Any] = field(default_factory=dict)
    singular: Any = False

    @classmethod
    def of(
        cls, stats: ClassStats, family: Any, penalty: Penalty | None, options: dict[str, Any], n_threads: int | None
    ) -> Candidate:
        """A candidate with its models of all rows."""
        return cls(stats, family, penalty, options, weight_path(stats, family, penalty, n_threads=n_threads, **options))

    def outside(self, split: int, rest: ClassStats | None) -> Any:
        """The models of the rows outside a fold, at the same taus; `rest` are their statistics unless in `by_split`."""
        family, stats = (self.family, rest) if self.by_split is None else self.by_split[split]
        assert stats is not None
        check_learns(stats.total_weight, split, self.stats.n_folds)
        if family.covariant and np.count_nonzero(stats.weight) < 2:
            fold, seen = split % self.stats.n_folds, stats.classes[stats.weight > 0.0].tolist()
            raise ValueError(
                f"y holds one class only ({seen}) outside fold {fold}; use fewer folds, another seed, or folds= that "
                "mix the classes"
            )
        with of_columns_outside(split % self.stats.n_folds, self.by_split is not None):
            return weight_path(stats, family, self.path.penalty, n_threads=1, **self.options)

    def model_outside(self, split: int, point: dict[str, Any], n_threads: int | None) -> LinearModel:
        """The model of the rows outside a fold, at one point of the grid."""
        family, stats = self.family, self.stats
        if self.by_split is None:
            stats = without_split(stats, split)
        else:
            family, stats = self.by_split[split]
        penalty = None if self.penalty is None else at_point(self.penalty, point)
        return weight_path(stats, family.at(point), penalty, n_threads=n_threads, **self.options)[0]

    def judged(self, splits: Sequence[int], unseen: Sequence[Any], seen: Sequence[Any], singular: Any) -> Candidate:
        """A copy with the evaluations of further splits; of rows that models have seen, of all or of none."""
        own, known = dict(zip(splits, unseen, strict=True)), dict(zip(splits, seen, strict=False))
        all_unseen, all_seen = {**self.unseen, **own}, {**self.seen, **known}
        return replace(self, unseen=all_unseen, seen=all_seen, singular=self.singular | singular)

    def scores(self, scorer: Scorer) -> GridScores:
        """Scores at all points in the splits that were judged, including those of models that do not exist."""
        unseen, seen = ([judged[split] for split in sorted(judged)] for judged in (self.unseen, self.seen))
        scores = GridScores.of(unseen, self.path, scorer)
        return replace(scores, train=GridScores.of(seen, self.path, scorer)) if seen else scores


@contextmanager
def of_columns_outside(fold: int, learned: bool = True) -> Iterator[None]:
    """Add to errors that the columns were learned outside a fold."""
    try:
        yield
    except ValueError as error:
        if not learned:
            raise
        raise ValueError(f"{error}: these columns were learned from the rows outside fold {fold}") from error


def scores_of(judged: Sequence[Candidate], scorer: Scorer) -> GridScores:
    """Scores of a family from those with each map that it tries; NaN at points without a model."""
    scores = GridScores.joined([one.scores(scorer) for one in judged])
    return scores.without(np.concatenate([one.singular for one in judged]))


def summing(scan: ClassScan, families: Sequence[Family], idf: bool) -> ClassScan:
    """The scan with the sums that these families, and idf, need."""
    moments = {moment for family in families for moment in family.moments} | ({"nonzero"} if idf else set())
    how = Products(pooled=all(family.pooled for family in families if family.covariant))
    return replace(scan, how=how).with_moments(moments)


def with_maps(
    stats: Mapping[str, ClassStats],
    rests: Mapping[str, Mapping[int, ClassStats]],
    family: Family,
    penalty: Penalty | None,
    options: dict[str, Any],
    n_threads: int | None,
    families: Sequence[Family] = (),
) -> list[Candidate]:
    """A candidate for each of the maps that its family tries, or a single one without maps.

    `families` are those for the columns that were learned outside each fold, where they differ.
    """
    found = []
    for name in family.map_names or [NONE]:
        own, *outside = (
            one.with_map(name) if one.map_names else one for one in (family, *(families or [family] * len(rests[name])))
        )
        by_split = dict(enumerate(zip(outside, rests[name].values(), strict=True))) if rests[name] else None
        found.append(replace(Candidate.of(stats[name], own, penalty, options, n_threads), by_split=by_split))
    return found


# ---- scores of rows --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class GridOfFold:
    """All models of a candidate without the rows of a fold, which judge rows together.

    Attributes
    ----------
    models : GridModels or CovarianceModels
    judge : FoldJudge
    at_once : int
        Margins that are computed at once.
    columns_outside : int or None
        The fold outside which the columns of the rows were learned, if each fold has its own.
    """

    models: GridModels | CovarianceModels
    judge: FoldJudge
    at_once: int = CACHED_MARGINS
    columns_outside: int | None = None

    @property
    def fused(self) -> type[ScoringTask]:
        return ScoringTask

    def evaluation(self) -> Evaluation:
        """An empty, mergeable evaluation."""
        nested = isinstance(self.models.apart, NestedApart)
        return self.judge.evaluation(self.models.shell.scheme, self.models.shape[0], nested)

    def add(self, evaluation: Evaluation, chunk: Chunk, screened: bool, judged: JudgedRows) -> None:
        """Add rows of a prepared block; `screened` says whether single precision may decide them."""
        models, rows = self.models, judged.rows
        if models.decider is not None:
            evaluation.add_decided(models.decider.decide(chunk, rows, screened), judged.labels, judged.weight)
            return
        if models.apart is not None:
            evaluation.count(judged.weights)
            models.apart.judge(evaluation, chunk, judged)
            return
        (n_points, n_rows), weight = models.shape, judged.weights
        step = max(self.at_once // (DOUBLE.padded(n_points) * max(n_rows, len(self.judge.classes))), 1)
        buffer = models.buffer(min(step, len(rows)))
        for first in range(0, len(rows), step):
            some = slice(first, first + step)
            margins = models.margins(chunk, rows[some], buffer)
            evaluation.add_margins(models.shell.scheme, margins, judged.labels[some], weight[some])


@dataclass(frozen=True, eq=False)
class ScoringTask(PassTask):
    """One read that gives every row to the models of all passes that judge it, prepared once for models alike.

    `passes` are of `GridOfFold`: inside their fold or, for rows that the models have seen, without it.
    """

    passes: tuple[Pass, ...]
    folding: Folding
    title: str = "scoring"
    most_bytes = EVALUATIONS_BYTES

    @property
    def judge(self) -> FoldJudge:
        """What the models of all passes are judged by."""
        return self.passes[0].statistic.judge

    @property
    def n_rows(self) -> int | None:  # type: ignore[override]
        return self.judge.n_rows

    @cached_property
    def alike(self) -> list[dict[RowsJudged, list[int]]]:
        """The numbers of passes whose models prepare rows in the same way, by the rows that they judge."""
        groups: dict[Any, dict[RowsJudged, list[int]]] = {}
        for number, each in enumerate(self.passes):
            alike = each.statistic.columns_outside, rows_of(each.statistic.models.shell)
            group = groups.setdefault(alike, {})
            group.setdefault((each.inside, each.without), []).append(number)
        return list(groups.values())

    def wants(self, n_rows: int | None, n_features: int | None) -> Wants:
        """Blocks several times as large as the weights that each block loads into the cache."""
        n_bytes = TIMES_WEIGHTS * sum(each.statistic.models.nbytes for each in self.passes if each.without is None)
        return Wants(block_bytes=min(n_bytes, LONGEST_BLOCK))

    def about(self) -> dict[str, str]:
        digests = [[each.inside, each.without, each.statistic.models.digest()] for each in self.passes]
        parts = {"candidates": digests, "judge": self.judge, "folding": self.folding}
        return {"the task": self.name, **{name: shown(value) for name, value in parts.items()}}

    def partial(self) -> TotalsOfRead:
        evaluations = [each.statistic.evaluation() for each in self.passes]
        return TotalsOfRead([evaluations], np.zeros((self.folding.n_splits, len(self.judge.classes)), np.int64))

    def add(self, partial: TotalsOfRead, block: Block) -> None:
        """Judge one block of rows."""
        missing = self.passes[0].statistic.models.shell.options.takes_missing
        of_columns = cache(lambda fold: checked(block.outside(fold), missing))
        splits = self.folding.splits(block.first_row, block.n_rows, block.split)
        labels = self.judge.labels(block.y, block.first_row)
        partial.rows[:] += counts_of(labels, splits, partial.rows.shape)
        known: dict[RowsJudged, JudgedRows] = {}
        for alike in self.alike:
            several = len(alike) > 1
            (first, *_), *_ = alike.values()
            chunk, survey = of_columns(self.passes[first].statistic.columns_outside)
            if several:
                ready, screened = self._prepared(alike, chunk, survey)
            for which, numbers in alike.items():
                if which not in known:
                    known[which] = self._judged(which, splits, labels, block.weight)
                judged = known[which]
                if not len(judged.rows):
                    continue
                if not several:  # no other rows are prepared
                    some = as_chunk(chunk.picked(judged.rows).to_matrix(), chunk.first_row, missing=True)
                    ready, screened = self._prepared(alike, *some)
                    judged = replace(judged, rows=np.arange(len(judged.rows)))
                for number in numbers:
                    self.passes[number].statistic.add(partial.parts[0][number], ready, screened, judged)

    def _judged(self, which: RowsJudged, splits: np.ndarray, labels: Any, weight: np.ndarray | None) -> JudgedRows:
        """The rows of a block that are inside a fold, or outside one."""
        inside, without = which
        fold: Any = without if inside is None else inside
        rows = np.flatnonzero((splits[fold // self.folding.n_folds] == fold) == (without is None))
        return JudgedRows(rows, labels[rows], None if weight is None else weight[rows])

    def _prepared(self, alike: dict[RowsJudged, list[int]], chunk: Chunk, survey: Survey) -> tuple[Chunk, bool]:
        """Rows as the models of some passes take them, and whether single precision may decide them."""
        models = [self.passes[number].statistic.models for numbers in alike.values() for number in numbers]
        ready = models[0].shell.prepared(chunk, survey)
        decided = any(each.decider is not None for each in models)
        return ready, decided and in_range(ready, survey if ready is chunk else None)

    def ended(self, total: TotalsOfRead, report: Report) -> TotalsOfRead:
        """Refuse other rows than those of the first scan."""
        if self.judge.rows is not None and self.n_rows is not None:
            row_checks.check_same_rows(report.rows, self.n_rows)
            check_same_folds(total.rows, self.judge.rows)
        return total

    def answers(self, total: TotalsOfRead, report: Report) -> list[Any]:
        """The evaluation of each pass."""
        return total.parts[0]


def _check_costs(
    paths: Sequence[Any], stats: ClassStats, scorer: Scorer, train: bool, most_bytes: int, costly: int, limit: Any
) -> None:
    """Refuse evaluations that do not fit into memory, and warn before long ones."""
    assert stats.folding is not None
    n_rows, n_classes, n_splits = stats.n_rows * stats.folding.repeats, len(stats.classes), stats.folding.n_splits
    n_points, n_kinds = sum(map(len, paths)), 1 + train
    times_judged = stats.folding.n_folds if train else 1  # each row in a repeat
    models = f"{n_splits} x {n_points:,} models of {n_classes:,} classes"
    check_sheet(n_splits * n_points * n_kinds, models, stats, scorer, limit, train=train)
    seconds = 0.0
    for path in paths:
        margins = n_rows * times_judged * DOUBLE.padded(len(path)) * max(path.n_rows, n_classes)
        if isinstance(path, CovariancePath):
            n_products = len({a for a, _ in path.points}) * stats.n_features
            seconds += (
                PER_MARGIN * margins + PER_PRODUCT * n_rows * times_judged * n_classes * n_products * stats.n_features
            )
            continue
        most = WEIGHT_BYTES * len(path) * path.n_rows * stats.n_features
        by_columns = most > most_bytes and WEIGHT_BYTES * path.n_features_per_class.sum() > most_bytes
        times = n_splits + (max(margins / costly, n_splits) if by_columns else 0)
        seconds += PER_MARGIN * margins + PER_WEIGHT * times * len(path) * path.n_rows * stats.n_features
    if seconds > LONG:
        messages.warn(
            f"judging {stats.n_rows:,} rows by {models} will take up to about {seconds / 60:,.0f} minutes of one core; "
            "progress=True shows progress, and fewer taus (penalty=snb.L1(n_taus=5, scale='score')), repeats, "
            "features or rows take less"
        )


def judged_together(
    candidates: Sequence[Candidate],
    scorer: Scorer,
    rows: Source,
    run_options: RunOptions,
    train: bool = False,
    sampled: int = 0,
    held: Sequence[int] | None = None,
) -> Reading[tuple[list[Candidate], Report, SampledRows | None]]:
    """Candidates with evaluations of their models, at every point of their grids, in each split, from one scan.

    Their statistics are of the same rows. Only the splits in `held` are judged, if given. With `train` rows are also
    scored by models that have seen them. `sampled` is the number of rows to keep.
    """
    stats, paths = candidates[0].stats, [each.path for each in candidates]
    assert stats.folding is not None
    splits = tuple(range(stats.folding.n_splits) if held is None else held)
    may = memory.allowed(run_options.memory_limit)
    most_bytes, costly = min(WEIGHTS_BYTES, may) // (len(paths) * len(splits)), min(COSTLY_MARGINS, may // MARGIN_BYTES)
    _check_costs(paths, stats, scorer, train, most_bytes, costly, run_options.memory_limit)
    grids = _solved(candidates, splits, most_bytes, scorer, run_options.threads)
    groups = grid_models.groups_of(grids)
    joined = [grid_models.of_group([grids[number] for number in group]) for group in groups]
    passes = _passes(joined, splits, stats, scorer, train, costly, rows.by_fold)
    if sampled:
        learned = passes[0].statistic.models.shell.options.takes_missing
        passes.append(Pass(SampleTask(stats.classes, stats.folding, sampled, missing=learned)))
    found, report = yield from answered(passes, rows, run_options, stats.folding, "scoring")
    by_group = [found[first : first + len(splits)] for first in range(0, len(passes) - bool(sampled), len(splits))]
    unseen = grid_models.of_each(by_group[: len(groups)], groups, grids)
    seen: list[Any] = grid_models.of_each(by_group[len(groups) :], groups, grids) if train else [()] * len(grids)
    judged = []
    for candidate, own, known, models in zip(candidates, unseen, seen, grids, strict=True):
        singular = np.any([one.singular for one in models], axis=0)  # of some split
        judged.append(candidate.judged(splits, own, known, singular))
    return judged, report, found[-1].drawn() if sampled else None


def _solved(
    candidates: Sequence[Candidate], splits: Sequence[int], most_bytes: int, scorer: Scorer, n_threads: int
) -> list[grid_models.Grids]:
    """The models of each candidate without the fold of each split."""

    def models_of(split: int) -> list[GridModels | CovarianceModels]:
        known = {id(each.stats): each.stats for each in candidates if each.by_split is None}
        without = {number: without_split(stats, split) for number, stats in known.items()}
        outside = (each.outside(split, without.get(id(each.stats))) for each in candidates)
        return [grid_models.of_path(path, most_bytes, scorer.needs) for path in outside]

    with ThreadPoolExecutor(n_threads, "streamnb-solve") as pool:
        of_splits = pool.map(models_of, splits)
        for each in candidates:
            pool.submit(getattr, each.path, "n_features")  # cached for the scores, while other threads solve models
        return list(zip(*of_splits, strict=True))


def _passes(
    grids: Sequence[grid_models.Grids],
    splits: Sequence[int],
    stats: ClassStats,
    scorer: Scorer,
    train: bool,
    costly: int,
    by_fold: Container[int],
) -> list[Pass]:
    """The passes that judge models on the rows of their folds and, with `train`, on the others."""
    probabilities = all(models[0].shell.scheme.has_probabilities for models in grids)
    needs = scorer.needs if probabilities else scorer.needs - {"probabilities"}
    n_models = sum(len(models) * models[0].shape[0] for models in grids) * (1 + train)
    expected = np.array([part.rows for part in stats.folds])
    judge = FoldJudge(stats.classes, needs, n_models, stats.multilabel, stats.n_rows, expected)
    at_once = grid_models.MARGINS if needs & {"ranking", "margin"} else CACHED_MARGINS
    passes = []
    for models in grids:
        for split, each in zip(splits, models, strict=True):
            own = split if split in by_fold else None
            grid = GridOfFold(each, judge, costly if each.by_columns else at_once, own)
            passes.append(Pass(grid, inside=split))
    check_scorer(scorer, passes[0].statistic.evaluation().of_model(0))
    if train:
        passes += [Pass(each.statistic, without=each.inside) for each in passes]
    return passes


JUDGED = "bernoulli", "multinomial", "poisson"


def fold_likelihood(path: WeightPath) -> np.ndarray:
    """The mean log likelihood of held-out rows under the models of a path, from sums of folds; reads no data.

    For each fold, the same path is solved from the sums of the other folds. Use it to choose penalties for private
    statistics: reading rows once more would reveal more about them, while sums of folds cost nothing further.

    Parameters
    ----------
    path : WeightPath
        From `solve`, of statistics with folds; the family should be "bernoulli", "multinomial" or "poisson", and the
        scheme "joint".

    Returns
    -------
    (G,) float64
        The log likelihood of a row given its class, relative to that of the pooled model of all classes, one number for
        each point of ``path.grid``; the greater the better.

    Raises
    ------
    ValueError, TypeError
        The path is of another family or scheme, or its statistics have no folds.

    Notes
    -----
    Under family parameters t of the pooled rows and t + w_k of class k, the log likelihood of the rows of a fold is
    linear in their sums, ``sum_k w_k S_k - N_k (A(t + w_k) - A(t))`` with the cumulant function A. Features count as
    independent given the class, so it measures the fit of the weights, not accuracy.

    Examples
    --------
    >>> import numpy as np
    >>> import streamnb as snb
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 3, 600)
    >>> X = rng.random((600, 90)) < np.where(np.arange(90) < 3, 0.2 + 0.5 * (np.arange(90) == y[:, None]), 0.1)
    >>> path = snb.solve(snb.scan(X.astype(float), y, folds=5), "bernoulli", snb.L1([0.0, 10.0, 1000.0]))
    >>> int(snb.fold_likelihood(path).argmax())
    1
    """
    if not isinstance(path, WeightPath) or not isinstance(path.asked, dict):
        raise TypeError(f"path is of type {type(path).__name__}; it should be what snb.solve returns")
    problem, asked = path.problem, path.asked
    name = arguments.one_of("family", problem.family.name, JUDGED)
    arguments.one_of("scheme", asked["scheme"], ["joint"])
    if not problem.stats.n_folds:
        raise ValueError("the statistics of this path have no folds; scan with folds=, and with groups= for people")
    total, weight = np.zeros(len(path)), 0.0
    for fold in range(problem.stats.n_folds):
        held_out = problem.stats.fold(fold)
        models = weight_path(problem.stats.without_fold(fold), problem.family, path.penalty, **asked)
        pooled = _pooled(models)
        for point, model in enumerate(models):
            weights = model.coef_
            if len(weights) == 1:  # of two classes, the difference of their weights against the pooled rows
                shares = models.problem.stats.weight / models.problem.stats.total_weight
                weights = np.stack([-shares[1] * weights[0], shares[0] * weights[0]])
            total[point] += _log_likelihood(name, held_out, problem.family.moment, weights, pooled)
        weight += held_out.weight.sum()
    return total / weight


def _pooled(path: WeightPath) -> np.ndarray:
    """The family parameters of all rows, (n_features,), as if each column had a row more in which it is 1."""
    stats, family = path.problem.stats, path.problem.family
    sums = stats.table(family.moment).totals() + 1.0
    return family.link(sums / (sums.sum() if family.coupled else stats.total_weight + 2.0))


def _log_likelihood(name: str, held_out: ClassStats, moment: str, weights: np.ndarray, pooled: np.ndarray) -> float:
    sums, counts = held_out.table(moment).value(), held_out.weight
    if name == "multinomial":
        changes = logsumexp(pooled + weights, axis=1) - logsumexp(pooled)
        return float((weights * sums).sum() - sums.sum(axis=1) @ changes)
    cumulant: Callable[[Any], Any] = np.exp if name == "poisson" else lambda t: np.logaddexp(0.0, t)
    return float((weights * sums).sum() - counts @ (cumulant(pooled + weights) - cumulant(pooled)).sum(axis=1))

"""Naive Bayes in all settings asked for: rows prepared in each way are summed in one read, and judged in another."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from streamnb.core import memory, messages
from streamnb.estimators.classifier import fitted_from
from streamnb.estimators.linear_nb import LinearNB
from streamnb.evaluation.scorers import Scorer
from streamnb.passes.options import RunOptions
from streamnb.passes.run import run
from streamnb.problem.penalties import at_point
from streamnb.rows.source import Source
from streamnb.scanning.class_scan import ClassScan, with_folds
from streamnb.searching.axes import Setting
from streamnb.searching.budget import Allowed
from streamnb.searching.contest import Contestants, Judging
from streamnb.searching.found import Judged
from streamnb.selection.cross_validation import Candidate, judged_together
from streamnb.selection.grid_scores import GridScores
from streamnb.selection.shared_scan import SharedScan
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.moments import PLAIN_MOMENTS
from streamnb.stats.second_moments import Products


class BayesSettings(Contestants):
    """Settings of naive Bayes, summed in one read and judged in another, one a round.

    Parameters
    ----------
    settings : list of Setting
    rows : Source
    given : X, y and the weights of rows
    judging : Judging
    options : RunOptions
    """

    def __init__(self, settings: Sequence[Setting], rows: Source, given: Any, judging: Judging, options: RunOptions):
        super().__init__([setting.name for setting in settings])
        self._settings = {setting.name: setting for setting in settings}
        self._rows, self._given, self._judging, self._options = rows, given, judging, options
        self._candidates: dict[str, Candidate] = {}
        self._paths: dict[str, Any] = {}
        self._evaluations: dict[str, dict[int, Any]] = {name: {} for name in self.names}
        self._lacking: dict[str, Any] = {}  # points without a model, of each setting

    def plan(self, most_reads: int | None) -> str:
        n_ways = len({setting.rows for setting in self._settings.values()})
        ways = "one way" if n_ways == 1 else f"{n_ways} ways"
        return f"{len(self.names)} settings of naive Bayes, rows prepared in {ways}: 2 reads"

    def reads(self, max_passes: int) -> tuple[int, int]:
        return 2, 0

    # ---- sums --------------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """One read for the statistics of all settings; what does not take the rows is left out."""
        settings = list(self._settings.values())
        keys = [_key(setting) for setting in settings]
        families: dict[Any, dict[str, Setting]] = {key: {} for key in keys}
        for key, setting in zip(keys, settings, strict=True):
            families[key].setdefault(setting.words["family"], setting)
        limit = memory.allowed(self._options.memory_limit) // len(families)
        scans = [_scan([s for s, k in zip(settings, keys, strict=True) if k == key], limit) for key in families]
        how = self._judging
        scans[0], self._rows = with_folds(scans[0], self._rows, how.folds, how.groups, 1, how.seed)
        scans = [replace(scan, folding=scans[0].folding) for scan in scans]
        task = SharedScan(tuple(scans), tuple(tuple(s.family for s in one.values()) for one in families.values()))
        total, self.report = run(task, self._rows, self._options)
        at = {(key, family): (n, i) for n, key in enumerate(families) for i, family in enumerate(families[key])}
        for key, setting in zip(keys, settings, strict=True):
            place = at[key, setting.words["family"]]
            self._pose(setting, total.stats[place[0]], total.why(*place))
        if self._candidates:
            _warn_missing(next(iter(self._candidates.values())).stats)

    def _pose(self, setting: Setting, stats: ClassStats, why: str | None) -> None:
        """Take a setting up with its statistics, unless these were refused, or its models cannot be."""
        if why is None:
            candidate = Candidate(stats, setting.family, setting.penalty, setting.options)
            try:
                self._paths[setting.name] = candidate.path(self._options.n_threads)
            except ValueError as error:
                why = str(error)
            else:
                self._candidates[setting.name] = candidate
        if why is not None:
            self.left_out[setting.name] = why

    # ---- scores ------------------------------------------------------------------------------------------------------

    def judge(self, names: Sequence[str], folds: Sequence[int], allowed: Allowed) -> list[Judged]:
        """One read that judges these settings at each point of their grids."""
        names = [name for name in names if name in self._candidates]
        if not names:
            return []
        asked, paths = [self._candidates[name] for name in names], [self._paths[name] for name in names]
        found, report, _ = judged_together(asked, paths, self._first, self._rows, self._options, held=folds)
        self.report = self.report + report
        for name, (_, lacking, evaluations) in zip(names, found, strict=True):
            self._evaluations[name] |= dict(zip(folds, evaluations, strict=True))
            self._lacking[name] = self._lacking.get(name, False) | lacking
        judged = [self._at_best(name) for name in names]
        return [one for one in judged if one is not None]

    @property
    def _first(self) -> Scorer:
        """What chooses the point that the other scorings are of."""
        return replace(self._judging.scorer, per_class=None, error=None, others=())

    def _at_best(self, name: str) -> Judged | None:
        """A setting at its best point by the first scoring, with what the others say of it there."""
        folds = sorted(self._evaluations[name])
        splits, scorer = [self._evaluations[name][fold] for fold in folds], self._judging.scorer
        try:
            grid = GridScores.of(splits, self._paths[name], self._first).without(self._lacking[name])
            point = grid.best("best")
            at_point = [judged.of_point(point) for judged in splits]
            others = {one.name: [float(one.value(judged)) for judged in at_point] for one in scorer.others}
        except ValueError as error:
            self.left_out[name] = str(error)
            return None
        scores = {scorer.name: grid.scores[point].tolist(), **others}
        about = {"name": name, "words": self._settings[name].words, "point": dict(grid.grid[point])}
        n_reads = self.report.rows // self._candidates[name].stats.n_rows
        cost = {"n_features": int(grid.n_features[point]), "reads": n_reads, "seconds": self.report.seconds}
        return Judged.on(folds, self._judging.n_folds, scores, **about, **cost)

    # ---- the model ---------------------------------------------------------------------------------------------------

    def fitted(self, judged: Judged) -> LinearNB:
        """The model of all rows, from the statistics that are there."""
        setting, stats = self._settings[judged.name], self._candidates[judged.name].stats
        penalty = None if setting.penalty is None else at_point(setting.penalty, judged.point)
        prepared = {"transform": setting.transform, "normalize": setting.normalize}
        model = LinearNB(setting.family.at(judged.point), penalty, **setting.options, **prepared)
        return fitted_from(model, replace(stats, folds=(), folding=None), self.report, self._given)


def _key(setting: Setting) -> Any:
    """What settings have in common that one scan serves: sums that are there for any values, of rows prepared alike."""
    plain = set(setting.family.moments) <= set(PLAIN_MOMENTS)
    return setting.rows, None if plain else setting.words["family"]


def _scan(settings: Sequence[Setting], limit: int) -> ClassScan:
    moments = {moment for setting in settings for moment in setting.family.moments}
    moments |= {"nonzero"} if any(setting.idf for setting in settings) else set()
    how = Products(pooled=all(setting.family.pooled for setting in settings))
    return ClassScan((), settings[0].rows, how=how, memory_limit=limit).with_moments(moments)


def _warn_missing(stats: ClassStats) -> None:
    """Say once which classes have no rows in some fold."""
    missing = np.array([part.weight == 0.0 for part in stats.folds])
    if missing.any():
        n_lacking, names = np.count_nonzero(missing.any(axis=1)), messages.listed(stats.classes[missing.any(axis=0)])
        messages.warn(
            f"{n_lacking} of {len(missing)} folds lack rows of {names}: scores there are of the other classes"
        )

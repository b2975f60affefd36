"""Naive Bayes in all settings asked for: rows prepared in each way are summed in one read, and judged in another."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from streamnb.core import memory, messages
from streamnb.estimators.incremental import fitted_from
from streamnb.estimators.linear_nb import LinearNB
from streamnb.evaluation.scorers import Scorer
from streamnb.passes.options import RunOptions
from streamnb.passes.run import run
from streamnb.problem.points import at_point
from streamnb.rows.source import Source
from streamnb.scanning.class_scan import ClassScan, with_folds
from streamnb.searching.axes import Setting
from streamnb.searching.budget import Allowed
from streamnb.searching.contest import Contestants, Judging
from streamnb.searching.encodings import Encoded
from streamnb.searching.found import Judged
from streamnb.selection.candidates import Candidate
from streamnb.selection.cross_validation import judged_together
from streamnb.selection.grid_scores import GridScores
from streamnb.selection.shared_scan import SharedScan
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.moments import PLAIN_MOMENTS
from streamnb.stats.second_moments import Products

Sums = tuple[Setting, ClassStats]  # a setting for the columns at hand, with what serves it


class BayesSettings(Contestants):
    """Settings of naive Bayes, summed in one read and judged in another, one a round.

    Where columns are learned of rows, both are for each fold a read of their own.

    Parameters
    ----------
    settings : list of Setting
    encoded : Encoded
        The rows.
    judging : Judging
    options : RunOptions
    """

    def __init__(self, settings: Sequence[Setting], encoded: Encoded, judging: Judging, options: RunOptions):
        super().__init__([setting.name for setting in settings])
        self._settings = {setting.name: setting for setting in settings}
        self._encoded, self._judging, self._options = encoded, judging, options
        self._rows = encoded.rows  # of the last read, with their folds
        self._sums: dict[str, Sums] = {}
        self._paths: dict[str, Any] = {}
        self._evaluations: dict[str, dict[int, Any]] = {name: {} for name in self.names}
        self._lacking: dict[str, Any] = {}  # points without a model, of each setting

    def plan(self, most_reads: int | None) -> str:
        n_ways = len({setting.rows for setting in self._settings.values()})
        ways = "one way" if n_ways == 1 else f"{n_ways} ways"
        of = "".join(f", {name}={word}" for name, word in self._encoded.words.items())
        return f"{len(self.names)} settings of naive Bayes{of}, rows prepared in {ways}: {self.reads(0)[0]} reads"

    def reads(self, max_passes: int) -> tuple[int, int]:
        times = self._judging.n_folds if self._encoded.nested else 0
        return self._encoded.n_reads + 2 + 2 * times - (times > 0), int(self._encoded.learns_again)

    # ---- sums --------------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """One read for the statistics of all settings; what does not take the rows is left out."""
        try:
            self.report = self._encoded.learn(self._judging, self._options)
        except ValueError as error:
            if self._encoded.coded is None or isinstance(error, messages.DataError):
                raise
            self.left_out = dict.fromkeys(self.names, str(error))  # rows that have no numbers of categories
            return
        self._sums = self._summed(None, self._settings)
        for name, (setting, stats) in self._sums.items():
            candidate = Candidate(stats, setting.family, setting.penalty, setting.options)
            try:
                self._paths[name] = candidate.path(self._options.n_threads)
            except ValueError as error:
                self.left_out[name] = str(error)
        if self._sums:
            warn_missing(next(iter(self._sums.values()))[1])

    def _summed(self, fold: int | None, asked: Mapping[str, Setting]) -> dict[str, Sums]:
        """One read for the statistics of settings, by what the rows outside a fold, or all, tell of columns.

        Why settings do not take the rows is noted.
        """
        rows = self._encoded.whole if fold is None else self._encoded.outside(fold)
        settings = self._on(rows, fold, asked)
        if not settings:
            return {}
        keys = {name: _key(setting) for name, setting in settings.items()}
        families: dict[Any, dict[str, Setting]] = {key: {} for key in keys.values()}
        for name, setting in settings.items():
            families[keys[name]].setdefault(setting.words["family"], setting)
        limit = memory.allowed(self._options.memory_limit) // len(families)
        scans = [_scan([settings[name] for name in settings if keys[name] == key], limit) for key in families]
        how = self._judging
        scans[0], self._rows = with_folds(scans[0], rows, how.folds, how.groups, 1, how.seed)
        scans = [replace(scan, folding=scans[0].folding, outside=fold) for scan in scans]
        if (labels := self._rows.label_names) is not None:
            scans = [scan.named(labels) for scan in scans]
        task = SharedScan(tuple(scans), tuple(tuple(s.family for s in one.values()) for one in families.values()))
        total, report = run(task, self._rows, self._options)
        self.report = self.report + report
        at = {(key, family): (n, i) for n, key in enumerate(families) for i, family in enumerate(families[key])}
        places = {name: at[keys[name], setting.words["family"]] for name, setting in settings.items()}
        refused = {name: why for name, place in places.items() if (why := total.why(*place)) is not None}
        self.left_out |= refused
        return {name: (settings[name], total.stats[place[0]]) for name, place in places.items() if name not in refused}

    def _on(self, rows: Source, fold: int | None, asked: Mapping[str, Setting]) -> dict[str, Setting]:
        """Settings for the columns at hand."""
        names = rows.feature_names if rows.encoding is not None else getattr(rows.given, "columns", None)
        found = {}
        for name, setting in asked.items():
            try:
                named = setting.on(names, rows.encoding and rows.encoding.kinds)
                found[name] = replace(named, family=self._encoded.family_of(named.family, fold))
            except ValueError as error:
                self.left_out[name] = str(error)
        return found

    # ---- scores ------------------------------------------------------------------------------------------------------

    def judge(self, names: Sequence[str], folds: Sequence[int], allowed: Allowed) -> list[Judged]:
        """One read that judges these settings at each point of their grids."""
        if not self._paths:
            return []
        for some in [[fold] for fold in folds] if self._encoded.nested else [folds]:
            self._judge([name for name in names if name in self._paths], some)
        judged = [self._at_best(name) for name in names if name in self._paths]
        return [one for one in judged if one is not None]

    def _judge(self, names: list[str], folds: Sequence[int]) -> None:
        """Judge settings on some folds; where columns are learned, it is one, by those of the rows outside it."""
        rests: dict[str, Sums] = {}
        if self._encoded.nested:
            rests = self._summed(folds[0], {name: self._settings[name] for name in names})
            for name in set(names) - rests.keys():
                del self._paths[name]
            names = [name for name in names if name in rests]
        if not names:
            return
        asked = [self._candidate(name, folds[0], rests.get(name)) for name in names]
        paths = [self._paths[name] for name in names]
        found, report, _ = judged_together(asked, paths, self._first, self._rows, self._options, held=folds)
        self.report = self.report + report
        for name, (_, lacking, evaluations) in zip(names, found, strict=True):
            self._evaluations[name] |= dict(zip(folds, evaluations, strict=True))
            self._lacking[name] = self._lacking.get(name, False) | lacking

    def _candidate(self, name: str, fold: int, rest: Sums | None) -> Candidate:
        setting, stats = self._sums[name]
        outside = None if rest is None else {fold: (rest[0].family, rest[1])}
        return Candidate(stats, setting.family, setting.penalty, setting.options, outside)

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
            others = {one.name: [one.of(judged) for judged in at_point] for one in scorer.others}
        except ValueError as error:
            self.left_out[name] = str(error)
            return None
        scores = {scorer.name: grid.scores[point].tolist(), **others}
        about = {"name": name, "words": self._settings[name].words, "point": dict(grid.grid[point])}
        n_reads = self.report.rows // self._sums[name][1].n_rows
        cost = {"n_features": int(grid.n_features[point]), "reads": n_reads, "seconds": self.report.seconds}
        return Judged.on(folds, self._judging.n_folds, scores, **about, **cost)

    # ---- the model ---------------------------------------------------------------------------------------------------

    def fitted(self, judged: Judged) -> Any:
        """The model of all rows, from the statistics that are there."""
        setting, (on_columns, stats) = self._settings[judged.name], self._sums[judged.name]
        penalty = None if setting.penalty is None else at_point(setting.penalty, judged.point)
        learned = self._encoded.transform
        made = setting.family.coded and not self._encoded.learns_again  # categories that a table is encoded by
        family = on_columns.family if made else setting.family
        prepared = {"transform": setting.transform if learned is None else learned, "normalize": setting.normalize}
        model = LinearNB(family.at(judged.point), penalty, **setting.options, **prepared)
        whole = replace(stats, folds=(), folding=None)
        return self._encoded.finished(fitted_from(model, whole, self.report, self._encoded.to_fit))

    def let_go(self) -> None:
        self._sums, self._paths, self._evaluations = {}, {}, {}


def _key(setting: Setting) -> Any:
    """What settings have in common that one scan serves: sums that are there for any values, of rows prepared alike."""
    plain = set(setting.family.moments) <= set(PLAIN_MOMENTS)
    return setting.rows, None if plain else setting.words["family"]


def _scan(settings: Sequence[Setting], limit: int) -> ClassScan:
    moments = {moment for setting in settings for moment in setting.family.moments}
    moments |= {"nonzero"} if any(setting.idf for setting in settings) else set()
    how = Products(pooled=all(setting.family.pooled for setting in settings))
    return ClassScan((), settings[0].rows, how=how, memory_limit=limit).with_moments(moments)


def warn_missing(stats: ClassStats) -> None:
    """Say once which classes have no rows in some fold."""
    missing = np.array([part.weight == 0.0 for part in stats.folds])
    if missing.any():
        n_lacking, names = np.count_nonzero(missing.any(axis=1)), messages.listed(stats.classes[missing.any(axis=0)])
        messages.warn(
            f"{n_lacking} of {len(missing)} folds lack rows of {names}: scores there are of the other classes"
        )

"""Judges settings of naive Bayes: one read sums the rows for all of them, a second one scores the rows."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from streamnb.core import memory, messages
from streamnb.estimators.classifier import recalibrate
from streamnb.estimators.incremental import fitted_from
from streamnb.estimators.linear_nb import LinearNB
from streamnb.evaluation.scorers import Scorer
from streamnb.models.calibrating import check_calibrated
from streamnb.models.linear import LinearModel
from streamnb.passes.options import RunOptions
from streamnb.passes.run import run
from streamnb.problem.mixed import FamilyDomain
from streamnb.problem.points import at_point
from streamnb.rows.preparing import RowOptions
from streamnb.rows.source import Source
from streamnb.scanning.class_scan import ClassScan, warn_of_telling
from streamnb.scanning.side_by_side import SideBySide
from streamnb.searching.axes import Setting
from streamnb.searching.budget import Allowed
from streamnb.searching.contest import Contestants, Judging
from streamnb.searching.encodings import Encoded
from streamnb.searching.search_result import Judged
from streamnb.selection.cross_validation import Candidate, JudgedGrid, judged_together, scores_of, summing
from streamnb.selection.folded_scan import ScannedFolds
from streamnb.selection.out_of_fold import calibrated_out_of_fold
from streamnb.solving.weight_paths import weight_path
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.moments import PLAIN_MOMENTS
from streamnb.stats.row_sample import SampleTask, sample_size

Sums = tuple[Setting, ClassStats]  # a setting for the columns of the rows, and its statistics


class BayesSettings(Contestants):
    """Settings of naive Bayes, summed in one read and judged in another, one for each round.

    Where columns are learned from rows, each fold takes both reads for itself.

    Parameters
    ----------
    settings : list of Setting
    encoded : Encoded
        The rows.
    judging : Judging
    options : RunOptions
    """

    failures = ()  # settings fail one by one

    def __init__(self, settings: Sequence[Setting], encoded: Encoded, judging: Judging, options: RunOptions):
        super().__init__([setting.name for setting in settings], judging)
        self._settings = {setting.name: setting for setting in settings}
        self._encoded, self._options = encoded, options
        self._rows = encoded.rows  # as of the last read, with folds
        self._candidates: dict[str, Candidate] = {}
        self._judged: dict[str, JudgedGrid] = {}

    def plan(self, most_reads: int | None) -> str:
        n_ways = len({setting.rows for setting in self._settings.values()})
        ways = "one way" if n_ways == 1 else f"{n_ways} ways"
        encoding = "".join(f", {name}={word}" for name, word in self._encoded.words.items())
        n_reads = self.reads(most_reads)[0]
        return f"{len(self.names)} settings of naive Bayes{encoding}, rows prepared in {ways}: {n_reads} reads"

    def reads(self, most_reads: int | None) -> tuple[int, int]:
        times = self._judging.n_folds if self._encoded.nested else 0
        fitting = self._encoded.learns_again + self._judging.calibrates
        return self._encoded.n_reads + 2 + 2 * times - (times > 0), fitting

    # ---- sums --------------------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """Read the rows once for the statistics of all settings; leave out settings that do not take the rows."""
        try:
            self.report = self._encoded.learn(self._judging, self._options)
        except ValueError as error:
            if self._encoded.coded is None or isinstance(error, messages.DataError):
                raise
            self.left_out = dict.fromkeys(self.names, str(error))  # columns that are not category numbers
            return
        sums = self._summed(None, self._settings)
        for name, (setting, stats) in sums.items():
            problem = setting.family, setting.penalty, setting.options, self._options.n_threads
            try:
                self._candidates[name] = Candidate.of(stats, *problem)
            except ValueError as error:
                self.left_out[name] = str(error)
        if sums:
            warn_missing(next(iter(sums.values()))[1])

    def _summed(self, fold: int | None, wanted: Mapping[str, Setting]) -> dict[str, Sums]:
        """Read the rows once for the statistics of settings, with columns learned outside a fold, or from all rows.

        Settings that do not take the rows are noted in `left_out`.
        """
        rows = self._options.kept(self._encoded.whole if fold is None else self._encoded.outside(fold))
        settings = self._for_columns(rows, fold, wanted)
        if not settings:
            return {}
        groups: dict[Any, dict[str, list[str]]] = {}  # of each scan, the names of settings by their family
        for name, setting in settings.items():
            any_values = set(setting.family.moments) <= set(PLAIN_MOMENTS)
            key = setting.rows, None if any_values else setting.words["family"]
            groups.setdefault(key, {}).setdefault(setting.words["family"], []).append(name)
        limit = memory.allowed(self._options.memory_limit) // len(groups)
        scans, domains = [], []
        for names_of in groups.values():
            of_scan = [settings[name] for names in names_of.values() for name in names]
            scan = ClassScan((), of_scan[0].rows, memory_limit=limit)
            scans.append(summing(scan, [one.family for one in of_scan], any(one.idf for one in of_scan)))
            families = [settings[names[0]].family for names in names_of.values()]
            domains.append(tuple(FamilyDomain("search", one, scan.options.seen, "families") for one in families))
        scans[0], self._rows = self._judging.with_folds(scans[0], rows)
        scans = [replace(scan, folding=scans[0].folding, outside=fold) for scan in scans]
        task = SideBySide(tuple(scans), tuple(domains))
        if (labels := self._rows.label_names) is not None:
            task = task.named(labels)
        total, report = run(task, self._rows, self._options)
        self.report = self.report + report
        if fold is None:
            warn_of_telling(self._rows, total.parts[0])
        places = {
            name: (number, place)
            for number, names_of in enumerate(groups.values())
            for place, names in enumerate(names_of.values())
            for name in names
        }
        refused = {name: why for name in settings if (why := total.why(*places[name])) is not None}
        self.left_out |= refused
        parts = {name: total.parts[number] for name, (number, _) in places.items()}
        return {name: (setting, parts[name]) for name, setting in settings.items() if name not in refused}

    def _for_columns(self, rows: Source, fold: int | None, wanted: Mapping[str, Setting]) -> dict[str, Setting]:
        """The settings adapted to the columns of these rows; others are noted in `left_out`."""
        names = rows.feature_names if rows.encoding is not None else getattr(rows.given, "columns", None)
        found = {}
        for name, setting in wanted.items():
            try:
                named = setting.on(names, rows.encoding and rows.encoding.kinds)
                found[name] = replace(named, family=self._encoded.family_of(named.family, fold))
            except ValueError as error:
                self.left_out[name] = str(error)
        return found

    # ---- scores ------------------------------------------------------------------------------------------------------

    def judge(self, names: Sequence[str], folds: Sequence[int], allowed: Allowed) -> list[Judged]:
        """Judge these settings at every point of their grids, in one read."""
        for folds_of_read in [[fold] for fold in folds] if self._encoded.nested else [folds]:
            self._judge([name for name in names if name in self._candidates], folds_of_read)
        judged = [self._at_best_point(name) for name in names if name in self._candidates]
        return [one for one in judged if one is not None]

    def _judge(self, names: list[str], folds: Sequence[int]) -> None:
        """Judge settings on some folds; on a single one where columns are learned from the rows outside it."""
        chosen = {name: self._candidates[name] for name in names}
        if self._encoded.nested and names:
            sums = self._summed(folds[0], {name: self._settings[name] for name in names})
            for name in chosen.keys() - sums.keys():
                del self._candidates[name]
            outside = {name: {folds[0]: (setting.family, stats)} for name, (setting, stats) in sums.items()}
            chosen = {name: replace(chosen[name], by_split=by_split) for name, by_split in outside.items()}
        if not chosen:
            return
        candidates, scorer = list(chosen.values()), self._first_scorer
        grids, report, _ = judged_together(candidates, scorer, self._rows, self._options, held=folds)
        self.report = self.report + report
        for name, judged in zip(chosen, grids, strict=True):
            self._judged[name] = self._judged[name] | judged if name in self._judged else judged

    @property
    def _first_scorer(self) -> Scorer:
        """The scorer that chooses the grid point; other scorings are reported at that point."""
        return replace(self._judging.scorer, per_class=None, error=None, others=())

    def _at_best_point(self, name: str) -> Judged | None:
        """A setting at its best point by the first scoring, with the other scores at that point."""
        judged, scorer = self._judged[name], self._judging.scorer
        folds = sorted(judged.unseen)
        try:
            grid = scores_of([judged], self._first_scorer)
            point = grid.best("best")
            evaluations = [judged.unseen[fold].of_point(point) for fold in folds]
            others = {other.name: [other.of(evaluation) for evaluation in evaluations] for other in scorer.others}
        except ValueError as error:
            self.left_out[name] = str(error)
            return None
        scores = {scorer.name: grid.scores[point].tolist(), **others}
        about = {"name": name, "words": self._settings[name].words, "point": dict(grid.grid[point])}
        n_reads = self.report.rows // self._candidates[name].stats.n_rows
        cost = {"n_features": int(grid.n_features[point]), "reads": n_reads}
        family = self._settings[name].family
        quadratic = family.covariant and not family.pooled
        return Judged.on(folds, self._judging.n_folds, scores, quadratic=quadratic, **about, **cost)

    # ---- the model ---------------------------------------------------------------------------------------------------

    def fitted(self, judged: Judged) -> Any:
        """The model of all rows, from the statistics of the first read."""
        setting, candidate = self._settings[judged.name], self._candidates[judged.name]
        penalty = None if setting.penalty is None else at_point(setting.penalty, judged.point)
        scores = scores_of([self._judged[judged.name]], self._first_scorer)
        scores.warn_of_penalties(scores.best("best"), candidate.stats.n_features, "penalties")
        learned = self._encoded.transform
        coded = setting.family.coded and not self._encoded.learns_again  # categories are those of the table encoding
        family = candidate.family if coded else setting.family
        prepared = {"transform": setting.transform if learned is None else learned, "normalize": setting.normalize}
        model = LinearNB(family.at(judged.point), penalty, **setting.options, **prepared)
        whole = replace(candidate.stats, folds=(), folding=None)
        fitted = fitted_from(model, whole, self.report, self._encoded.to_fit)
        if self._judging.calibrates:
            scored_by = candidate.family.at(judged.point), penalty, setting, candidate.stats
            recalibrate(fitted, lambda uncalibrated: self._calibrated(uncalibrated, *scored_by))
        return self._encoded.finished(fitted)

    def _calibrated(self, model: LinearModel, family: Any, penalty: Any, setting: Setting, stats: Any) -> LinearModel:
        """The model, calibrated by sampled rows that models of the other folds score, where that lowers log loss."""
        try:
            check_calibrated(model)
        except (ValueError, MemoryError):  # it has no probabilities
            return model
        _, rows = self._judging.with_folds(ClassScan((), RowOptions()), self._encoded.whole)
        size = sample_size(len(stats.classes), self.report.bytes / max(self.report.rows, 1))
        sampled, report = run(SampleTask(stats.classes, stats.folding, size, missing=True), rows, self._options)
        self.report, folds = self.report + report, ScannedFolds(stats)
        options = {**setting.options, "n_threads": self._options.n_threads}

        def without(fold: int) -> Any:
            return weight_path(folds.outside(fold), family, penalty, **options)[0]

        assert self._judging.calibration is not None
        return calibrated_out_of_fold(model, sampled.drawn(), without, self._judging.calibration)

    def release(self) -> None:
        self._candidates, self._judged = {}, {}


def warn_missing(stats: ClassStats) -> None:
    """Warn once about classes without rows in some fold."""
    missing = np.array([part.weight == 0.0 for part in stats.folds])
    if missing.any():
        n_lacking, names = np.count_nonzero(missing.any(axis=1)), messages.listed(stats.classes[missing.any(axis=0)])
        messages.warn(
            f"{n_lacking} of {len(missing)} folds lack rows of {names}: scores there are those of the other classes"
        )

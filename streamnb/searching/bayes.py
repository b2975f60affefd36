"""How settings of naive Bayes are judged: one read sums the rows for all of them, a second one scores the rows."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from streamnb.core import memory, messages
from streamnb.estimators.classifier import recalibrate
from streamnb.estimators.incremental import fitted_from
from streamnb.estimators.linear_nb import LinearNB
from streamnb.evaluation.scorers import Scorer
from streamnb.models.calibrating import check_calibrated
from streamnb.models.linear import LinearModel
from streamnb.passes.contract import RunOptions
from streamnb.passes.run import run
from streamnb.problem.mixed import FamilyDomain
from streamnb.problem.penalties import at_point
from streamnb.rows.preparing import RowOptions
from streamnb.rows.source import Source
from streamnb.scanning.class_scan import ClassScan, warn_of_telling
from streamnb.scanning.side_by_side import SideBySide
from streamnb.searching.axes import Setting
from streamnb.searching.encodings import Encoded
from streamnb.searching.judging import Judging, ToJudge
from streamnb.searching.rounds import CandidateGroup, JudgingSteps
from streamnb.searching.search_result import Judged
from streamnb.selection.cross_validation import Candidate, JudgedGrid, judged_together, scores_of, summing
from streamnb.selection.folded_scan import ScannedFolds
from streamnb.selection.out_of_fold import calibrated_out_of_fold
from streamnb.solving.weight_paths import weight_path
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.moment_sums import PLAIN_MOMENTS
from streamnb.stats.row_sample import SampleTask, sample_size

Sums = tuple[Setting, ClassStats]  # a setting for the columns of the rows, and its statistics


def settings_together(
    settings: Mapping[str, Setting], encoded: Encoded, judging: Judging, options: RunOptions
) -> CandidateGroup:
    """Candidates for settings of naive Bayes, by name, on encoded rows."""
    times = judging.n_folds if encoded.nested else 0
    to_judge = encoded.n_reads + 2 + 2 * times - (times > 0)
    to_fit = encoded.learns_again + judging.calibrates
    n_ways = len({setting.rows for setting in settings.values()})
    ways = "one way" if n_ways == 1 else f"{n_ways} ways"
    encoding = "".join(f", {name}={word}" for name, word in encoded.words.items())
    plan = f"{len(settings)} settings of naive Bayes{encoding}, rows prepared in {ways}: {to_judge} reads"
    steps = partial(judge_settings, settings=settings, encoded=encoded, judging=judging, options=options)
    return CandidateGroup(
        [*settings], steps, lambda most_reads: (to_judge, to_fit), plan, failures=()
    )  # they fail one by one


def judge_settings(
    group: CandidateGroup, settings: Mapping[str, Setting], encoded: Encoded, judging: Judging, options: RunOptions
) -> JudgingSteps:
    """Settings of naive Bayes, summed in one read and judged in another, one for each round.

    Where columns are learned from rows, each fold takes both reads for itself.
    """
    candidates, rows = _begun(group, settings, encoded, judging, options)
    scorer = replace(judging.scorer, per_class=None, error=None, others=())  # chooses the point; others are of it
    grids: dict[str, JudgedGrid] = {}
    found: list[Judged] = []
    while isinstance(asked := (yield found), ToJudge):
        for folds in [[fold] for fold in asked.folds] if encoded.nested else [asked.folds]:
            chosen = {name: candidates[name] for name in asked.names if name in candidates}
            if encoded.nested and chosen:
                wanted = {name: settings[name] for name in chosen}
                sums, rows = _summed(group, wanted, encoded, folds[0], judging, options)
                for name in chosen.keys() - sums.keys():
                    del candidates[name]
                by_split = {name: {folds[0]: (setting.family, stats)} for name, (setting, stats) in sums.items()}
                chosen = {name: replace(chosen[name], by_split=by_split[name]) for name in by_split}
            if not chosen:
                continue
            judged, report, _ = judged_together([*chosen.values()], scorer, rows, options, held=folds)
            group.report += report
            for name, grid in zip(chosen, judged, strict=True):
                grids[name] = grids[name] | grid if name in grids else grid
        found = []
        for name in asked.names:
            if name in candidates:
                try:
                    n_reads = group.report.rows // candidates[name].stats.n_rows
                    found.append(_at_best_point(name, settings[name], grids[name], scorer, judging, n_reads))
                except ValueError as error:
                    group.left_out[name] = str(error)
    setting, candidate = settings[asked.name], candidates[asked.name]
    scores = scores_of([grids[asked.name]], scorer)
    scores.warn_of_penalties(scores.best("best"), candidate.stats.n_features, "penalties")
    return _fitted(group, setting, candidate, asked.point, encoded, judging, options)


# ---- sums ------------------------------------------------------------------------------------------------------------


def _begun(
    group: CandidateGroup, settings: Mapping[str, Setting], encoded: Encoded, judging: Judging, options: RunOptions
) -> tuple[dict[str, Candidate], Source]:
    """Read the rows once for the statistics of all settings; leave out settings that do not take the rows."""
    try:
        group.report = encoded.learn(judging, options)
    except ValueError as error:
        if encoded.coded is None or isinstance(error, messages.DataError):
            raise
        group.left_out = dict.fromkeys(settings, str(error))  # columns that are not category numbers
        return {}, encoded.rows
    sums, rows = _summed(group, settings, encoded, None, judging, options)
    candidates = {}
    for name, (setting, stats) in sums.items():
        try:
            candidates[name] = Candidate.of(stats, setting.family, setting.penalty, setting.options, options.n_threads)
        except ValueError as error:
            group.left_out[name] = str(error)
    if sums:
        warn_missing(next(iter(sums.values()))[1])
    return candidates, rows


def _summed(
    group: CandidateGroup,
    wanted: Mapping[str, Setting],
    encoded: Encoded,
    fold: int | None,
    judging: Judging,
    options: RunOptions,
) -> tuple[dict[str, Sums], Source]:
    """Read the rows once for the statistics of settings, with columns learned outside a fold, or from all rows.

    Returns the rows, too, with the fold of each. Settings that do not take the rows are left out.
    """
    rows = options.kept(encoded.whole if fold is None else encoded.outside(fold))
    settings = _for_columns(group, wanted, rows, encoded, fold)
    if not settings:
        return {}, rows
    by_scan: dict[Any, dict[str, list[str]]] = {}  # of each scan, the names of settings by their family
    for name, setting in settings.items():
        any_values = set(setting.family.moments) <= set(PLAIN_MOMENTS)
        key = setting.rows, None if any_values else setting.words["family"]
        by_scan.setdefault(key, {}).setdefault(setting.words["family"], []).append(name)
    limit = memory.allowed(options.memory_limit) // len(by_scan)
    scans, domains = [], []
    for by_family in by_scan.values():
        of_scan = [settings[name] for names in by_family.values() for name in names]
        scan = ClassScan((), of_scan[0].rows, memory_limit=limit)
        scans.append(summing(scan, [one.family for one in of_scan], any(one.idf for one in of_scan)))
        families = [settings[names[0]].family for names in by_family.values()]
        domains.append(tuple(FamilyDomain("search", one, scan.options.seen, "families") for one in families))
    scans[0], rows = judging.with_folds(scans[0], rows)
    scans = [replace(scan, folding=scans[0].folding, outside=fold) for scan in scans]
    task = SideBySide(tuple(scans), tuple(domains))
    if rows.label_names is not None:
        task = task.named(rows.label_names)
    total, report = run(task, rows, options)
    group.report += report
    if fold is None:
        warn_of_telling(rows, total.parts[0])
    sums: dict[str, Sums] = {}
    for number, by_family in enumerate(by_scan.values()):
        for place, names in enumerate(by_family.values()):
            why = total.why(number, place)
            if why is None:
                sums |= {name: (settings[name], total.parts[number]) for name in names}
            else:
                group.left_out |= dict.fromkeys(names, why)
    return {name: sums[name] for name in settings if name in sums}, rows


def _for_columns(
    group: CandidateGroup, wanted: Mapping[str, Setting], rows: Source, encoded: Encoded, fold: int | None
) -> dict[str, Setting]:
    """The settings adapted to the columns of these rows; others are left out."""
    names = rows.feature_names if rows.encoding is not None else getattr(rows.given, "columns", None)
    kinds = rows.encoding and rows.encoding.kinds
    found = {}
    for name, setting in wanted.items():
        try:
            named = setting.on(names, kinds)
            found[name] = replace(named, family=encoded.family_of(named.family, fold))
        except ValueError as error:
            group.left_out[name] = str(error)
    return found


# ---- scores and models -----------------------------------------------------------------------------------------------


def _at_best_point(
    name: str, setting: Setting, judged: JudgedGrid, scorer: Scorer, judging: Judging, n_reads: int
) -> Judged:
    """A setting at its best point by the first scoring, with the other scores at that point."""
    folds, grid = sorted(judged.unseen), scores_of([judged], scorer)
    point = grid.best("best")
    evaluations = [judged.unseen[fold].of_point(point) for fold in folds]
    scores = {scorer.name: grid.scores[point].tolist()}
    scores |= {one.name: [one.of(evaluation) for evaluation in evaluations] for one in judging.scorer.others}
    about = {"name": name, "words": setting.words, "point": dict(grid.grid[point])}
    cost = {"n_features": int(grid.n_features[point]), "reads": n_reads}
    quadratic = setting.family.covariant and not setting.family.pooled
    return Judged.on(folds, judging.n_folds, scores, quadratic=quadratic, **about, **cost)


def _fitted(
    group: CandidateGroup,
    setting: Setting,
    candidate: Candidate,
    point: dict[str, Any],
    encoded: Encoded,
    judging: Judging,
    options: RunOptions,
) -> Any:
    """The model of all rows, from the statistics of the first read."""
    penalty = None if setting.penalty is None else at_point(setting.penalty, point)
    coded = setting.family.coded and not encoded.learns_again  # categories are those of the table encoding
    family = candidate.family if coded else setting.family
    transform = setting.transform if encoded.transform is None else encoded.transform
    prepared = {"transform": transform, "normalize": setting.normalize}
    model = LinearNB(family.at(point), penalty, **setting.options, **prepared)
    stats = candidate.stats
    fitted = fitted_from(model, replace(stats, folds=(), folding=None), group.report, encoded.to_fit)

    def calibrated(uncalibrated: LinearModel) -> LinearModel:
        """Calibrated by sampled rows that models of the other folds score, where that lowers the log loss."""
        try:
            check_calibrated(uncalibrated)
        except (ValueError, MemoryError):  # it has no probabilities
            return uncalibrated
        _, rows = judging.with_folds(ClassScan((), RowOptions()), encoded.whole)
        size = sample_size(len(stats.classes), group.report.bytes / max(group.report.rows, 1))
        sampled, report = run(SampleTask(stats.classes, stats.folding, size, missing=True), rows, options)
        group.report += report
        folds, how = ScannedFolds(stats), {**setting.options, "n_threads": options.n_threads}

        def without(fold: int) -> Any:
            return weight_path(folds.outside(fold), candidate.family.at(point), penalty, **how)[0]

        assert judging.calibration is not None
        return calibrated_out_of_fold(uncalibrated, sampled.drawn(), without, judging.calibration)

    if judging.calibrates:
        recalibrate(fitted, calibrated)
    return encoded.finished(fitted)


def warn_missing(stats: ClassStats) -> None:
    """Warn once about classes without rows in some fold."""
    missing = np.array([part.weight == 0.0 for part in stats.folds])
    if missing.any():
        n_lacking, names = np.count_nonzero(missing.any(axis=1)), messages.listed(stats.classes[missing.any(axis=0)])
        messages.warn(
            f"{n_lacking} of {len(missing)} folds lack rows of {names}: scores there are those of the other classes"
        )

"""Naive Bayes in all settings asked for: rows prepared in each way are summed in one read, and judged in another."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from streamnb.core import memory, messages
from streamnb.estimators.classifier import fitted_from
from streamnb.estimators.linear_nb import LinearNB
from streamnb.evaluation.scorers import Scorer
from streamnb.passes.options import RunOptions
from streamnb.passes.report import Report
from streamnb.passes.run import run
from streamnb.problem.penalties import at_point
from streamnb.rows.source import Source
from streamnb.scanning.class_scan import ClassScan, with_folds
from streamnb.searching.axes import Setting
from streamnb.searching.found import Judged
from streamnb.selection.cross_validation import Candidate, judged_together
from streamnb.selection.grid_scores import GridScores
from streamnb.selection.shared_scan import SharedScan
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.moments import PLAIN_MOMENTS
from streamnb.stats.second_moments import Products


@dataclass(frozen=True, eq=False)
class Summed:
    """Settings that take the rows, each with the statistics that serve it."""

    settings: list[Setting]
    stats: list[ClassStats]
    rows: Source
    report: Report


def summed(
    settings: Sequence[Setting],
    rows: Source,
    splits: tuple[Any, Any, int],
    options: RunOptions,
    left_out: dict[str, str],
) -> Summed:
    """One read for the statistics of all settings, by folds, groups and a seed; what does not take rows is left out."""
    keys = [_key(setting) for setting in settings]
    families: dict[Any, dict[str, Setting]] = {key: {} for key in keys}
    for key, setting in zip(keys, settings, strict=True):
        families[key].setdefault(setting.words["family"], setting)
    limit = memory.allowed(options.memory_limit) // len(families)
    scans = [_scan([s for s, k in zip(settings, keys, strict=True) if k == key], limit) for key in families]
    folds, groups, seed = splits
    scans[0], rows = with_folds(scans[0], rows, folds, groups, 1, seed)
    scans = [replace(scan, folding=scans[0].folding) for scan in scans]
    task = SharedScan(tuple(scans), tuple(tuple(s.family for s in one.values()) for one in families.values()))
    total, report = run(task, rows, options)
    at = {(key, family): (n, i) for n, key in enumerate(families) for i, family in enumerate(families[key])}
    kept: list[tuple[Setting, ClassStats]] = []
    for key, setting in zip(keys, settings, strict=True):
        why = total.why(*at[key, setting.words["family"]])
        if why is None:
            kept.append((setting, total.stats[at[key, setting.words["family"]][0]]))
        else:
            left_out[setting.name] = why
    return Summed([s for s, _ in kept], [stats for _, stats in kept], rows, report)


def _key(setting: Setting) -> Any:
    """What settings have in common that one scan serves: sums that are there for any values, of rows prepared alike."""
    plain = set(setting.family.moments) <= set(PLAIN_MOMENTS)
    return setting.rows, None if plain else setting.words["family"]


def _scan(settings: Sequence[Setting], limit: int) -> ClassScan:
    moments = {moment for setting in settings for moment in setting.family.moments}
    moments |= {"nonzero"} if any(setting.idf for setting in settings) else set()
    how = Products(pooled=all(setting.family.pooled for setting in settings))
    return ClassScan((), settings[0].rows, how=how, memory_limit=limit).with_moments(moments)


def judged(
    found: Summed, scorer: Scorer, options: RunOptions, left_out: dict[str, str]
) -> tuple[list[tuple[Judged, Setting, ClassStats]], Report]:
    """One read that judges every setting at each point of its grid; what is best, its setting and its statistics."""
    asked, paths, kept = [], [], []
    for setting, stats in zip(found.settings, found.stats, strict=True):
        candidate = Candidate(stats, setting.family, setting.penalty, setting.options)
        try:
            paths.append(candidate.path(options.n_threads))
        except ValueError as error:
            left_out[setting.name] = str(error)
            continue
        asked.append(candidate)
        kept.append(setting)
    if not asked:
        return [], Report()
    first = replace(scorer, per_class=None, error=None, others=())  # which chooses the point that the others are of
    scores, report, _ = judged_together(asked, paths, first, found.rows, options)
    _warn_missing(asked[0].stats)
    cost = found.report.seconds + report.seconds
    of_best: list[tuple[Judged, Setting, ClassStats]] = []
    for setting, (grid, lacking, splits), candidate in zip(kept, scores, asked, strict=True):
        try:
            of_best.append((_at_best(setting, grid.without(lacking), splits, scorer, cost), setting, candidate.stats))
        except ValueError as error:
            left_out[setting.name] = str(error)
    return of_best, report


def _warn_missing(stats: ClassStats) -> None:
    """Say once which classes have no rows in some fold."""
    missing = np.array([part.weight == 0.0 for part in stats.folds])
    if missing.any():
        n_lacking, names = np.count_nonzero(missing.any(axis=1)), messages.listed(stats.classes[missing.any(axis=0)])
        messages.warn(
            f"{n_lacking} of {len(missing)} folds lack rows of {names}: scores there are of the other classes"
        )


def _at_best(setting: Setting, scores: GridScores, splits: Sequence[Any], scorer: Scorer, seconds: float) -> Judged:
    """A setting at its best point by the first scoring, with what the others say of it there."""
    point = scores.best("best")
    at_point = [judged.of_point(point) for judged in splits]
    others = {other.name: np.array([float(other.value(judged)) for judged in at_point]) for other in scorer.others}
    best = judged_at(setting.name, setting.words, scores, point, scorer, (2, seconds))
    return replace(best, scores={**best.scores, **others})


def judged_at(
    name: str, words: dict[str, str], scores: GridScores, point: int, scorer: Scorer, cost: tuple[int, float]
) -> Judged:
    """A candidate at a point of its grid."""
    named = scores.named or {scorer.name: scores}
    of_splits = {each: np.array(own.scores[point], np.float64) for each, own in named.items()}
    return Judged(name, words, dict(scores.grid[point]), of_splits, int(scores.n_features[point]), *cost)


def fitted(setting: Setting, point: dict[str, Any], stats: ClassStats, report: Report, opened: Any) -> LinearNB:
    """The model of all rows, from the statistics that are there; `opened` are X, y and the weights."""
    penalty = None if setting.penalty is None else at_point(setting.penalty, point)
    prepared = {"transform": setting.transform, "normalize": setting.normalize}
    model = LinearNB(setting.family.at(point), penalty, **setting.options, **prepared)
    return fitted_from(model, replace(stats, folds=(), folding=None), report, opened)

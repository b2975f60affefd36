"""How settings of naive Bayes are judged: one read sums the rows for all of them, a second one scores the rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Annotated, Any, Self

import numpy as np

from streamnb.core import memory, messages
from streamnb.core.persistence import shown
from streamnb.estimators.classifier import recalibrate
from streamnb.estimators.incremental import fitted_from
from streamnb.estimators.linear_nb import LinearNB
from streamnb.evaluation.scorers import Scorer
from streamnb.models.calibrating import calibrated_out_of_fold, check_calibrated
from streamnb.models.linear import LinearModel
from streamnb.passes.contract import Report, RunOptions, Wants
from streamnb.passes.fit import answered
from streamnb.passes.passes import Pass
from streamnb.passes.run import run, run_reads
from streamnb.passes.statistic import Statistic, added
from streamnb.problem.family import Family
from streamnb.problem.mixed import FamilyDomain
from streamnb.problem.penalties import at_point
from streamnb.rows.boundary import TakesValues
from streamnb.rows.preparing import prepared_block
from streamnb.rows.row_blocks import Block
from streamnb.rows.source import Source
from streamnb.scanning.class_scan import ClassScan, warn_of_telling
from streamnb.searching.axes import Encoded, Setting
from streamnb.searching.rounds import CandidateGroup, Judging, JudgingSteps, ToJudge
from streamnb.searching.search_result import Judged
from streamnb.selection.cross_validation import Candidate, judged_together, scores_of, summing
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.moment_sums import PLAIN_MOMENTS
from streamnb.stats.row_sample import SampleTask, sample_size

Sums = dict[Any, tuple[Family, ClassStats]]  # by fold, the family for its columns, and statistics outside it


def _first_refusals(a: dict[str, list[Any]], b: dict[str, list[Any]]) -> dict[str, list[Any]]:
    return {number: min(each[number] for each in (a, b) if number in each) for number in {*a, *b}}


def settings_together(
    settings: Mapping[str, Setting], encoded: Encoded, judging: Judging, options: RunOptions
) -> CandidateGroup:
    """Candidates for settings of naive Bayes, by name, on encoded rows."""
    to_judge = encoded.n_reads + encoded.nested + 2 * encoded.n_times(judging.n_folds)
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

    Where columns are learned from rows, those of the folds of a round are summed in a read of their own.
    """
    candidates, rows = _begun(group, settings, encoded, judging, options)
    scorer = replace(judging.scorer, per_class=None, error=None, others=())  # chooses the point; others are of it
    found: list[Judged] = []
    while isinstance(asked := (yield found), ToJudge):
        for folds, given in encoded.side_by_side(asked.folds):
            chosen = {name: candidates[name] for name in asked.names if name in candidates}
            if encoded.nested and chosen:
                wanted = {name: settings[name] for name in chosen}
                sums, rows = _summed(group, wanted, encoded, given, folds, judging, options)
                for name in chosen.keys() - sums.keys():
                    del candidates[name]
                chosen = {name: replace(chosen[name], by_split=by_split) for name, by_split in sums.items()}
            if not chosen:
                continue
            judged, report, _ = run_reads(judged_together([*chosen.values()], scorer, rows, options, held=folds))
            group.report += report
            candidates |= {name: replace(one, by_split=None) for name, one in zip(chosen, judged, strict=True)}
        found = []
        for name in asked.names:
            if name in candidates:
                try:
                    n_reads = group.report.rows // candidates[name].stats.n_rows
                    found.append(_at_best_point(name, settings[name], candidates[name], scorer, judging, n_reads))
                except ValueError as error:
                    group.left_out[name] = str(error)
    setting, candidate = settings[asked.name], candidates[asked.name]
    scores = scores_of([candidate], scorer)
    scores.warn_of_penalties(scores.best("best"), candidate.stats.n_features, "penalties")
    return _fitted(group, setting, candidate, asked.point, encoded, judging, options)


# ---- sums ------------------------------------------------------------------------------------------------------------


def _begun(
    group: CandidateGroup, settings: Mapping[str, Setting], encoded: Encoded, judging: Judging, options: RunOptions
) -> tuple[dict[str, Candidate], Source]:
    """Read the rows once for the statistics of all settings; leave out settings that do not take the rows."""
    try:
        group.report = encoded.learn(judging, options)
        whole = encoded.whole
    except ValueError as error:
        if not (encoded.coded or encoded.transform) or isinstance(error, messages.DataError):
            raise
        group.left_out = dict.fromkeys(settings, str(error))  # values are missing, or no category numbers
        return {}, encoded.rows
    sums, rows = _summed(group, settings, encoded, whole, [None], judging, options)
    candidates = {}
    for name, of_setting in sums.items():
        setting, (family, stats) = settings[name], of_setting[None]
        try:
            candidates[name] = Candidate.of(stats, family, setting.penalty, setting.options, options.n_threads)
        except ValueError as error:
            group.left_out[name] = str(error)
    if sums:
        warn_missing(next(iter(sums.values()))[None][1])
    return candidates, rows


def _summed(
    group: CandidateGroup,
    wanted: Mapping[str, Setting],
    encoded: Encoded,
    rows: Source,
    folds: Sequence[Any],
    judging: Judging,
    options: RunOptions,
) -> tuple[dict[str, Sums], Source]:
    """Read the rows once for the statistics of settings, with columns learned outside each fold; None is all rows.

    Returns the rows, too, with the fold of each. Settings that do not take the rows are left out.
    """
    rows = options.kept(rows)
    ways: dict[Any, dict[Any, dict[str, Setting]]] = {}  # of each way to prepare rows, the settings of each scan
    for fold in folds:
        for name, setting in _for_columns(group, wanted, rows.by_fold.get(fold, rows), encoded, fold).items():
            own_values = not {*setting.family.moments} <= {*PLAIN_MOMENTS}
            of_way = ways.setdefault((fold, setting.rows), {})
            of_way.setdefault(own_values and setting.words["family"], {})[name] = setting
    scans = [(*way, of_scan) for way, of_way in ways.items() for of_scan in of_way.values()]
    if not scans:
        return {}, rows
    limit = memory.allowed(options.memory_limit) // len(scans)
    folding, rows = judging.folding_of(rows)
    passes = []
    for fold, of_rows, of_scan in scans:
        own = folding if fold is None else None
        scan = ClassScan((), of_rows, rows.label_names, folding=own, memory_limit=limit)
        families = [setting.family for setting in of_scan.values()]
        scan = summing(scan, families, any(setting.idf for setting in of_scan.values()))
        domains = [FamilyDomain("search", family, of_rows.seen, "families") for family in by_word(of_scan).values()]
        passes.append(Pass(TriedSums(scan, tuple(domains)), without=fold))
    found, report = run_reads(answered(passes, rows, options, folding, "scan"))
    group.report += report
    if folds == [None]:
        warn_of_telling(rows, found[0].stats)
    sums: dict[str, Sums] = {}
    for tried, (fold, _, of_scan) in zip(found, scans, strict=True):
        words = list(by_word(of_scan))
        for name, setting in of_scan.items():
            refused = tried.refused.get(str(words.index(setting.words["family"])))
            if refused is None:
                sums.setdefault(name, {})[fold] = setting.family, tried.stats
            else:
                group.left_out[name] = refused[1]
    return {name: sums[name] for name in wanted if len(sums.get(name, ())) == len(folds)}, rows


def by_word(settings: Mapping[str, Setting]) -> dict[str, Family]:
    """The families of settings, each once, by their words."""
    return {setting.words["family"]: setting.family for setting in settings.values()}


@dataclass(eq=False)
class TriedSums(Statistic):
    """The sums of a scan that goes on as long as one of several domains takes the values; of a transform, none errs.

    Attributes
    ----------
    scan : ClassScan
    domains : tuple of TakesValues
    stats : ClassStats or None
        None where all domains have refused the rows.
    refused : dict
        What the domains refused, by number: the first row of the block, and the message.
    """

    scan: ClassScan
    domains: tuple[TakesValues, ...]
    stats: Annotated[Any, added] = None
    refused: Annotated[dict[str, list[Any]], _first_refusals] = field(default_factory=dict)
    title = "scan"
    weighs = True

    def begun(self) -> Self:
        return replace(self, stats=self.scan.partial(), refused={})

    @property
    def total_weight(self) -> float:
        """Of the rows that were summed; 1 where none were."""
        return 1.0 if self.stats is None else self.stats.total_weight

    def add_block(self, block: Block) -> None:
        """Add a block of rows unless all domains have refused some."""
        if self.stats is None:
            return
        block = block if block.ready is not None else block.shared()
        for number, domain in enumerate(self.domains):
            try:
                domain.check(*prepared_block(block, self.scan.options))
            except ValueError as error:
                self.refused.setdefault(str(number), [block.first_row, str(error)])
        if len(self.refused) == len(self.domains):
            self.stats = None
        else:
            self.scan.add(self.stats, block)

    def wants(self, n_rows: int | None, n_features: int | None) -> Wants:
        return self.scan.wants(n_rows, n_features)

    def ended(self, report: Report) -> Self:
        return self if self.stats is None else replace(self, stats=self.scan.ended(self.stats, report))

    def about(self) -> dict[str, str]:
        return self.scan.about() | {"domains": shown(self.domains)}


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
    name: str, setting: Setting, judged: Candidate, scorer: Scorer, judging: Judging, n_reads: int
) -> Judged:
    """A setting at its best point by the first scoring, with the other scores at that point."""
    folds, grid = sorted(judged.unseen), scores_of([judged], scorer)
    point = grid.best("best")
    evaluations = [judged.unseen[fold].of_model(point) for fold in folds]
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
        _, rows = judging.folding_of(encoded.whole)
        size = sample_size(len(stats.classes), group.report.bytes / max(group.report.rows, 1))
        sampled, report = run(SampleTask(stats.classes, stats.folding, size, missing=True), rows, options)
        group.report += report

        def without(fold: int) -> LinearModel:
            return candidate.model_outside(fold, point, options.n_threads)

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

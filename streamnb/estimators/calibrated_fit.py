"""Classifiers of several reads that fit calibrates, by scores of rows that their models have not seen."""

from __future__ import annotations

from typing import Any

from streamnb.core import arguments
from streamnb.estimators.trained import TrainedClassifier
from streamnb.estimators.trained_on import Scanned
from streamnb.models.calibrating import METHODS
from streamnb.models.linear import LinearModel
from streamnb.passes.report import Report
from streamnb.passes.run import run
from streamnb.problem.schemes import as_scheme
from streamnb.selection.fold_models import SampleTask, trained_together
from streamnb.selection.out_of_fold import LEAST_FOLDS, calibrated_out_of_fold
from streamnb.selection.row_sample import sample_size
from streamnb.selection.shared_reads import Judge
from streamnb.training.fitting import options_of


class CalibratedClassifier(TrainedClassifier):
    """A classifier whose scores are no probabilities, unless `calibration` makes them some."""

    calibration: Any

    def _check_params(self) -> None:
        super()._check_params()
        arguments.one_of("calibration", self.calibration, [None, *METHODS])

    def _plan_scan(self) -> tuple[tuple[str, ...], Any]:
        return super()._plan_scan()[0], None if self.calibration is None else LEAST_FOLDS

    def _plan_reads(self, n_features: int, n_rows: int, n_folds: int, limit: int) -> dict[str, int]:
        plan = super()._plan_reads(n_features, n_rows, n_folds, limit)
        if self.calibration is None:
            return plan
        more = {"n_models": LEAST_FOLDS, "model_bytes": LEAST_FOLDS * plan["model_bytes"]}  # open at a time
        return {**plan, **more, "most_reads": plan["most_reads"] + self.max_passes + 1}

    def _gives_probabilities(self) -> bool:
        if not self._calibrated:
            raise AttributeError(
                "scores are no probabilities before they are calibrated: fit with calibration='sigmoid', or call "
                "calibrate(X, y) with rows held back"
            )
        return True

    def _settle(self, scanned: Scanned) -> Report:
        """Train a model without each fold, in reads that they share, and calibrate by the scores of a sample."""
        if self.calibration is None:
            return Report()
        of_folds, rows, options, stats = scanned.of_folds, scanned.rows, scanned.options, scanned.stats
        assert stats.folding is not None
        n_folds = len(stats.folds)
        self._check_memory(stats, n_folds * self._n_rows(stats), options)
        rests = [of_folds.outside(fold) for fold in range(n_folds)]
        shared = scanned.without_folds
        whole = [self._posed(rest, options) for rest in rests]
        posed = [shared.posed(one) for one in whole]
        reads = [self._reads(one, *self._asked())[1] for one in posed]
        scheme = as_scheme(self._scheme, stats.classes, multilabel=stats.multilabel)
        judge = Judge(scheme, stats.classes, frozenset(), n_folds)
        trained, report = trained_together(reads, stats, judge, [one.task for one in posed], shared.read, options)
        size = sample_size(len(stats.classes), scanned.report.bytes / max(scanned.report.rows, 1))
        task = SampleTask(stats.classes, stats.folding, size, missing=bool(of_folds.rests))
        sampled, more = run(task, rows.given, options_of(options, "sample"))

        def of_rest(fold: int) -> LinearModel:
            return self._model_of(rests[fold], shared.of_all(trained[fold], stats.n_features), whole[fold].scale)

        self._model = calibrated_out_of_fold(self._model, sampled.drawn(), of_rest, self.calibration)
        self._calibrated = True
        return report + more

"""Chooses penalties and the number of reads of trained classifiers by cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone

from streamnb.core import arguments, guesses, messages
from streamnb.core.arguments import Bytes, PerRow, Rows
from streamnb.estimators.parameters import one_of
from streamnb.estimators.preparation import fitting, opened_to_read_again
from streamnb.estimators.trained import POINT, TrainedClassifier
from streamnb.evaluation.scorers import as_scorer
from streamnb.passes.contract import Reading, Report, RunOptions
from streamnb.passes.run import run_reads
from streamnb.rows.preparing import RowOptions
from streamnb.rows.source import Source
from streamnb.scanning.class_scan import ClassScan, with_folds
from streamnb.selection.fold_models import (
    FoldModel,
    ModelGroups,
    bytes_of_data,
    check_models,
    chosen,
    fit_chosen,
    judged_models,
    scores_by_read,
    scores_by_reads,
)
from streamnb.selection.folded_scan import ScannedRows
from streamnb.selection.score_table import GridScores, check_choice, warn_of_ends
from streamnb.training.learner import FittedModel

L2 = tuple(10.0**exponent for exponent in range(3, -3, -1))
C = 0.001, 0.01, 0.1, 1.0
HALVINGS = 5  # default numbers of components to choose from: all labels, a half, a quarter, ..
RULES = "best", "parsimonious", "one_se"


class TrainedClassifierCV(TrainedClassifier):
    """A trained classifier that chooses penalties and the number of reads by cross-validation."""

    _checks: ClassVar = {**TrainedClassifier._checks, "rule": one_of(*RULES)}
    _history = (*TrainedClassifier._history, "held_out_score")
    _saved = (*TrainedClassifier._saved, "scores")
    folds: Any
    scoring: Any
    rule: str
    seed: int
    max_passes: int
    best_params_: dict[str, Any]

    @property
    def best_(self) -> dict[str, Any]:
        """The former name of `best_params_`."""
        return guesses.renamed_best(self)

    def _grid(self, n_labels: int | None = None) -> list[dict[str, Any]]:
        kinds = [name for name in POINT if name in self.get_params()]
        values = [self._values(name, n_labels or 1) for name in kinds]
        return [dict(zip(kinds, point, strict=True)) for point in product(*values)]

    def _values(self, name: str, n_labels: int) -> Sequence[Any]:
        """The candidates of a parameter: penalties in descending order, others in ascending order."""
        params = self.get_params()
        given = params[name]
        if given is None:
            with_l1 = params.get("l1") is not None
            components = sorted({max(n_labels >> halving, 1) for halving in range(HALVINGS)})
            return {"l2": (0.0,) if with_l1 else L2, "l1": (0.0,), "C": C, "n_components": components}[name]
        if np.ndim(given) > 1 or not np.size(given):
            kind = "a number above 0" if name == "C" else "a number"
            raise ValueError(f"{name}={given!r} should be {kind}, or a list of one at least")
        return sorted({POINT[name](*one) for one in arguments.each(name, given)}, reverse=name in ("l2", "l1"))

    # ---- fitting -----------------------------------------------------------------------------------------------------

    def fit(
        self,
        X: Rows,
        y: PerRow = None,
        sample_weight: PerRow = None,
        *,
        groups: PerRow = None,
        progress: bool | None = None,
        n_threads: int | None = None,
        memory_limit: Bytes = None,
        client: Any = None,
        checkpoint: Any = None,
        layer: str | None = None,
        keep: str = "auto",
    ) -> Self:
        """Choose penalties and the number of reads in a scan and shared reads, then fit to all rows.

        Parameters
        ----------
        X, y, sample_weight, progress, n_threads, client, layer, keep
            As for `SoftmaxRegression.fit`. The progress bar shows the current read, and the mean held-out score and
            objective of the best penalty so far.
        groups : (n_rows,), optional
            Group labels, or the name of a column of X, which is no feature then; the rows of one group are in one fold.
        memory_limit : int or str, optional
            Bytes that class sums may take, and that all open models together may take; half of the free memory by
            default. Where not all models fit, they are trained in groups, each with its own reads, after a warning;
            the choice is the same. `snb.plan(X, y, model=..)` predicts this before any row is read.
        checkpoint : path, optional
            A folder for the results of the scan and of each read, as large as the weights of all open models. An
            interrupted fit resumes from it with identical results. It stays until you remove it.

        Raises
        ------
        ValueError, TypeError
            An argument or a value is wrong: the message names it. There is only one class, in all rows or in those
            outside a fold; rows can be read only once, or a stream gave other rows in a later read.
        DataError
            Data cannot be read.
        MemoryError
            Sums, weights of one model or scores of all would take more than `memory_limit`.

        Warns
        -----
        StreamnbWarning
            A fold lacks a class; models train in groups; a penalty is clearly best at the end of those tried; or the
            score still rose with the last of `max_passes` reads.
        """
        with fitting(self, progress, n_threads, memory_limit, client, keep, checkpoint) as options:
            run_reads(self._fit((X, y, sample_weight), options, layer, groups))
        return self

    def _fit(self, given: Any, options: RunOptions, layer: str | None = None, groups: Any = None) -> Reading[None]:
        """Judge all points on folds, and fit the best one to all rows."""
        scanned = yield from self._scanned_to_choose(given, groups, options, layer)
        models, report = yield from judged_models(scanned, as_scorer(self.scoring))
        self._rank(scanned, models)
        yield from self._fit_best(scanned, models, scanned.report + report, self.rule == "best")

    def _scanned_to_choose(
        self, given: Any, groups: Any, options: RunOptions, layer: str | None = None
    ) -> Reading[ScannedRows]:
        """The scan of rows with folds from which all models start."""
        self._check_params()
        rows = opened_to_read_again(self, given, options, layer, (groups, self.folds))
        learner = replace(self._learner(), sampled=False)  # models of folds share reads: computing takes longer
        scan, rows = with_folds(ClassScan((), RowOptions()), rows, self.folds, groups, 1, self.seed)
        scanned = yield from self._scanned(learner, rows, given[1], scan.folding, options)
        grid = self._grid(learner.method.n_rows(scanned.stats))
        learner = replace(learner, method=learner.method.of_grid(len(grid), scanned.stats))
        scanned = replace(scanned, learner=learner, grid=grid)
        check_models(scanned)
        return scanned

    def _rank(self, scanned: ScannedRows, models: Sequence[FoldModel]) -> None:
        """Choose a point by the models without folds trained so far."""
        self._scores = scores_by_reads(scanned, models, as_scorer(self.scoring))
        self._choose()

    def _choose(self) -> None:
        scores, self._point = self._scores, chosen(self._scores, self.rule)
        self.best_params_, self.best_score_ = scores.grid[self._point], float(scores.mean[self._point])
        self.cv_results_ = scores.table()

    def _fit_best(
        self, scanned: ScannedRows, models: Sequence[FoldModel], report: Report, further: bool, own: bool = True
    ) -> Reading[None]:
        """Fit the model of all rows at the chosen point, after reads with this report; see `fit_chosen`."""
        self._scores.warn_missing()
        names = {name: name for name in POINT if name in self.best_params_}
        limits = {"n_components": (1, scanned.learner.method.n_rows(scanned.stats))}
        warn_of_ends(self._scores.grid, self._scores.scores, self._point, names, limits)
        fitted = yield from fit_chosen(scanned, models, self.best_params_, further, own)
        history = {}
        if "held_out_score" in self._history:
            n_reads, known = len(fitted.history["seconds"]), scores_by_read(self._scores, self._point)
            history["held_out_score"] = np.append(known, np.full(n_reads, np.nan))[:n_reads]
        fitted = replace(fitted, history=fitted.history | history, report=report + fitted.report)
        self._keep(fitted, scanned.stats)
        self._warn_chosen(fitted)

    def _warn_chosen(self, fitted: FittedModel) -> None:
        """Warn where more reads could have improved the result."""
        if self.best_params_["max_passes"] == self.max_passes and not fitted.converged:
            messages.warn(
                f"max_passes={self.max_passes} reads were spent, and the last gave the best score; the model is "
                "usable, more reads may make it better"
            )

    def _plan_reads(self, n_features: int, n_rows: int, n_folds: int, limit: int) -> dict[str, int]:
        learner = self._learner()
        n_rows, n_pooled = max(n_rows, learner.method.n_columns(n_rows)), len(learner.pooled)
        tables = 8 * (n_folds + 1) * n_features * (n_pooled + (len(learner.moments) - n_pooled) * n_rows)
        beside = tables + bytes_of_data(n_features, n_rows, n_folds)
        n_models, options = len(self._grid(n_rows)) * n_folds, RunOptions(memory_limit=limit)
        groups = ModelGroups.of(learner.method, n_models, n_features, n_rows, options, beside=beside)
        judging = learner.n_scans + groups.n_groups * (learner.most_reads + learner.method.scoring_reads)
        return groups.planned(judging + learner.most_reads + learner.reads_to_calibrate)

    def _check_params(self) -> None:
        super()._check_params()
        if self.max_passes < 2:
            raise ValueError(
                f"max_passes={self.max_passes} should be at least 2: the second read judges the first step"
            )
        scheme = self._learner().scheme
        check_choice(scheme, self.folds, 1, self.seed, self.scoring, self.rule)
        for scoring in self.scoring if isinstance(self.scoring, list | tuple) else [self.scoring]:
            if scheme != "joint" and isinstance(scoring, str) and "probabilities" in as_scorer(scoring).needs:
                raise ValueError(
                    f"scoring={scoring!r} needs probabilities, and {type(self).__name__} scores by margins; take "
                    "scoring='roc_auc' or 'accuracy', or SoftmaxRegressionCV"
                )

    # ---- the rest of the contract ------------------------------------------------------------------------------------

    def _to_state(self) -> dict[str, Any]:
        return {**super()._to_state(), "scores": self._scores}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        self, scores = super()._from_state(state), state["scores"]
        if not isinstance(scores, GridScores) or not all("max_passes" in point for point in scores.grid):
            raise ValueError(f"{cls.__name__} should have the scores of its penalties after each read")
        self._scores = scores
        self._choose()
        return self


def reads_at_most(estimator: TrainedClassifierCV, max_passes: int) -> tuple[int, int]:
    """The largest numbers of reads to judge all penalties, given the reads of each model, and to fit the best one."""
    model = clone(estimator).set_params(max_passes=max_passes)
    learner, most = model._learner(), model._plan_reads(1, 1, 2, 1 << 62)["most_reads"]
    judging = min(learner.n_scans + max_passes + learner.method.scoring_reads, most)
    return judging, most - judging


def scanned_to_choose(estimator: TrainedClassifierCV, rows: Source, groups: Any, options: RunOptions) -> ScannedRows:
    """The scan of rows with folds, after which models are judged on some of them, or all."""
    return run_reads(estimator._scanned_to_choose((rows, None, None), groups, options))


def choose_best(
    estimator: TrainedClassifierCV, scanned: ScannedRows, models: Sequence[FoldModel]
) -> tuple[GridScores, int]:
    """Choose a point by the models judged so far: as `judged_reads`."""
    estimator._rank(scanned, models)
    return judged_reads(estimator)


def fit_best(
    estimator: TrainedClassifierCV,
    scanned: ScannedRows,
    models: Sequence[FoldModel],
    report: Report,
    further: bool,
    own: bool,
) -> None:
    """Fit the model of all rows at the best point on the folds so far, after reads with this report.

    It may go `further` than the models without each fold, whose reads end where their scores no longer rise.
    """
    run_reads(estimator._fit_best(scanned, models, report, further and estimator.rule == "best", own))


def judged_reads(estimator: TrainedClassifierCV, class_: Any = None) -> tuple[GridScores, int]:
    """The scores of all penalties after each read, overall or of one class, and the point that the rule chooses."""
    scores = estimator._scores if class_ is None else estimator._scores.of_class(class_)
    return scores, chosen(scores, estimator.rule)

"""Classifiers of several reads whose penalties, and number of reads, are chosen by cross-validation in shared reads."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from streamnb.core import arguments, messages, persistence
from streamnb.core.types import Bytes, PerRow, Rows
from streamnb.estimators.trained import TrainedClassifier
from streamnb.estimators.trained_on import Posed, Scanned
from streamnb.evaluation.scorers import as_scorer
from streamnb.passes.options import RunOptions
from streamnb.passes.report import Report
from streamnb.problem.schemes import as_scheme
from streamnb.rows.preparing import RowOptions
from streamnb.scanning.class_scan import ClassScan, with_folds
from streamnb.selection.grid_scores import GridScores, check_choice
from streamnb.selection.out_of_fold import check_calibration
from streamnb.selection.penalty_search import Contender, PenaltySearch, Turns, chosen, course_of
from streamnb.selection.shared_reads import Judge
from streamnb.stats.class_stats import ClassStats
from streamnb.training import objectives
from streamnb.training.descent import Penalties
from streamnb.training.fitting import Reads, Trained, Trainer

L2 = tuple(10.0**exponent for exponent in range(3, -3, -1))
RULES = "best", "parsimonious", "one_se"


class TrainedClassifierCV(TrainedClassifier):
    """The choice of penalties and of the number of reads, for any loss."""

    _history = (*TrainedClassifier._history, "held_out_score")
    _has_probabilities = False  # of margins, which judge decisions and rankings only

    def __init__(
        self,
        l2: Any = None,
        l1: Any = None,
        *,
        folds: Any = 5,
        scoring: Any = "roc_auc",
        rule: str = "best",
        seed: int = 0,
        start: Any = "auto",
        tol: float = 1e-4,
        max_passes: int = 50,
        transform: Any = None,
        normalize: str | None = None,
        idf: bool = False,
        class_weight: Any = None,
    ):
        options = {"start": start, "tol": tol, "max_passes": max_passes, "transform": transform}
        super().__init__(l2, l1, **options, normalize=normalize, idf=idf, class_weight=class_weight)
        self._keep_choice(folds, scoring, rule, seed)

    def _keep_choice(self, folds: Any, scoring: Any, rule: str, seed: int) -> None:
        self.folds, self.scoring, self.rule, self.seed = folds, scoring, rule, seed

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
    ) -> Self:
        """Choose penalties and the number of reads, and fit to all rows: a scan, shared reads, and those of the fit.

        Parameters
        ----------
        X, y, sample_weight, progress, n_threads, client, layer
            As for `SoftmaxRegression.fit`. The bar says how far a read is, and of the penalty that is best so far the
            mean held-out score and the objective.
        groups : (n_rows,), optional
            Labels; rows of one group are in one fold.
        memory_limit : int or str, optional
            Bytes that class sums may take, and those that all open models together may; half of the free memory by
            default. Models that do not fit wait: they go in groups, each with reads of its own, and a warning says so
            beforehand. The choice is the same. `snb.plan(X, y, model=..)` tells it before any row is read.
        checkpoint : path, optional
            A folder that keeps what the scan and each read left, as large as the weights of all open models: a fit
            that was broken off goes on from there, to the same bits. It stays until you remove it.

        Raises
        ------
        ValueError, TypeError
            An argument or a value is wrong: the message names it. There is one class only, in all rows or in those
            outside a fold; rows can be read only once, or a stream gave others in a later read.
        DataError
            Data cannot be read.
        MemoryError
            Sums, weights of one model or scores of all would take more than `memory_limit`.

        Warns
        -----
        StreamnbWarning
            A fold lacks a class; models go in groups; or the score still rose with the last read of `max_passes`.
        """
        options = RunOptions(progress, n_threads, memory_limit, client)
        with self._all_or_nothing():
            chosen_on_folds = ChosenOnFolds(self, (X, y, sample_weight), groups, options, checkpoint, layer)
            chosen_on_folds.judge()
            chosen_on_folds.fit()
        return self

    def _scan_folds(self, given: Any, groups: Any, options: RunOptions, checkpoint: Any, layer: str | None) -> Scanned:
        """One scan of rows with folds, from which all models start."""
        self._check_params()
        rows = self._opened_as_given(given, options, layer)
        rows.check_read_again(type(self).__name__)
        scan, rows = with_folds(ClassScan((), RowOptions()), rows, self.folds, groups, 1, self.seed)
        scanned = self._scanned(rows, given[1:], scan.folding, options, checkpoint)
        self._turns_of(scanned, len(scanned.stats.folds)).check(options)
        self._check_calibration(scanned.stats, options)
        self._posed(scanned.of_folds.whole, options)  # which refuses what no fold can learn from
        return scanned

    def _judge(
        self, scanned: Scanned, models: list[Contender], folds: Any, most_reads: int | None, over: Any
    ) -> tuple[list[Contender], Report]:
        """Judge the models of some folds, beside those that were judged before, and choose."""
        turns = self._turns_of(scanned, len(scanned.stats.folds) if folds is None else len(folds))
        turns.announce(self.max_passes)
        max_passes = self.max_passes
        if most_reads is not None:
            max_passes = min(max_passes, most_reads // turns.n_groups - self._trainer.judged_later)
            if max_passes < 2:
                raise ValueError(f"{most_reads} reads are too few for models that go in {turns.n_groups} groups")
        search = self._search(scanned, max_passes)
        more, report = search.run(scanned.without_folds.read, scanned.options, turns, folds, over)
        self._rank(scanned, [*models, *more])
        return [*models, *more], report

    def _rank(self, scanned: Scanned, models: list[Contender]) -> None:
        self._scores = self._search(scanned, self.max_passes).scores(models)
        self._choose()

    def _fit_best(self, scanned: Scanned, read: Report) -> None:
        """The model of all rows at what was chosen."""
        self._scores.warn_missing()
        whole = scanned.of_folds.whole
        trained, scale = self._trained(whole, scanned.rows, scanned.options)
        self._keep(self._model_of(whole, trained, scale), self._course(trained), trained.converged)
        self.report_ = read + trained.report + self._settle(scanned)
        self._warn_chosen(trained)

    def _course(self, trained: Trained) -> dict[str, np.ndarray]:
        """The history of the fit to all rows, with the scores that were held out."""
        held_out = course_of(self._scores, self._point)[: len(trained.history["seconds"])]
        return {**trained.history, "held_out_score": held_out}

    def _warn_chosen(self, trained: Trained) -> None:
        if self.best_["max_passes"] == self.max_passes and not trained.converged:
            messages.warn(
                f"max_passes={self.max_passes} reads were spent, and the last gave the best score; the model is "
                "usable, more reads may make it better"
            )

    def _plan_scan(self) -> tuple[tuple[str, ...], Any]:
        return super()._plan_scan()[0], self.folds

    def _plan_reads(self, n_features: int, n_rows: int, n_folds: int, limit: int) -> dict[str, int]:
        n_pooled = len(self._plan_pooled())
        tables = 8 * (n_folds + 1) * n_features * (n_pooled + (len(self._plan_scan()[0]) - n_pooled) * n_rows)
        beside = tables + _posed_bytes(n_features, n_rows, n_folds)
        turns = self._turns(n_features, n_rows, n_folds, RunOptions(memory_limit=limit), beside=beside)
        most_reads = self._n_scans() + turns.n_groups * (self.max_passes + self._trainer.judged_later) + self.max_passes
        most_reads += 0 if self._option("calibration") is None else self.max_passes + 1
        return {
            "n_models": turns.n_models,
            "model_bytes": turns.n_models * turns.model_bytes,
            "n_groups": turns.n_groups,
            "most_reads": most_reads,
        }

    def _search(self, scanned: Scanned, max_passes: int) -> PenaltySearch:
        """What is to be judged on these folds, in so many reads at most."""
        scorer, stats, rows = as_scorer(self.scoring), scanned.stats, scanned.without_folds
        scheme = as_scheme(self._scheme, stats.classes, multilabel=stats.multilabel)
        needs = scorer.needs if self._has_probabilities else scorer.needs - {"probabilities"}

        @cache
        def posed(fold: int) -> Posed:
            rest = scanned.of_folds.outside(fold)
            seen = rest.classes[rest.weight > 0]
            if len(seen) < 2 and not rest.multilabel:
                raise ValueError(
                    f"y holds one class only ({seen.tolist()}) outside fold {fold}; take fewer folds, another seed, or "
                    "folds= that mix the classes"
                )
            return rows.posed(self._posed(rest, scanned.options))

        def trainer(fold: int, point: dict[str, Any]) -> tuple[Trainer, Reads]:
            return self._reads_at(posed(fold), point, max_passes)

        grid = self._grid(self._n_rows(stats))
        judge = Judge(scheme, stats.classes, needs, len(grid) * len(stats.folds), self._factor)
        return PenaltySearch(grid, stats, trainer, judge, scorer)

    def _check_calibration(self, stats: ClassStats, options: RunOptions) -> None:
        """Refuse, before models are trained, folds that calibration can do nothing with, or has no memory for."""
        if self._option("calibration") is not None:
            check_calibration(self._option("calibration"), self._scheme, len(stats.folds))
            self._check_memory(stats, len(stats.folds) * self._n_rows(stats), options)

    def _turns(
        self, n_features: int, n_rows: int, n_folds: int, options: RunOptions, n_used: Any = None, beside: int = 0
    ) -> Turns:
        """How many models of n_rows rows of weights there are, and how many are open at a time."""
        return Turns.of(len(self._grid(n_rows)) * n_folds, n_features, n_rows, self._held, options, n_used, beside)

    def _turns_of(self, scanned: Scanned, n_folds: int) -> Turns:
        """Those of the models of so many folds."""
        stats, n_used = scanned.stats, self._n_held(scanned.stats)
        n_features, n_rows = scanned.without_folds.n_features, self._n_rows(stats)
        beside = scanned.of_folds.nbytes + _posed_bytes(n_features, n_rows, len(stats.folds))
        return self._turns(n_features, n_rows, n_folds, scanned.options, n_used, beside)

    def _most_reads(self) -> tuple[int, int]:
        most = self._plan_reads(1, 1, 2, 1 << 62)["most_reads"]
        judging = min(self._n_scans() + self.max_passes + self._trainer.judged_later, most)
        return judging, most - judging

    def _reads_at(self, posed: Posed, point: dict[str, Any], max_passes: int) -> tuple[Trainer, Reads]:
        """What trains at a point of the grid, in so many reads at most."""
        return self._reads(posed, _penalties(point), max_passes)

    def _grid(self, n_rows: int | None = None) -> list[dict[str, Any]]:
        """The points of the grid of penalties, for so many rows of weights."""
        return [dict(zip(self._kinds, point, strict=True)) for point in product(*map(self._strengths, self._kinds))]

    @property
    def _kinds(self) -> list[str]:
        return [name for name in ("l2", "l1") if name in self._get_param_names()]

    def _strengths(self, name: str) -> Sequence[float]:
        """The strengths of a penalty to choose from, from the largest on."""
        given = getattr(self, name)
        if given is None:
            return L2 if name == "l2" and ("l1" not in self._kinds or self.l1 is None) else (0.0,)
        if np.ndim(given) > 1 or not np.size(given):
            raise ValueError(f"{name}={given!r} should be a number, or a list of one number at least")
        found = {objectives.check_strength(*one) for one in arguments.each(name, given)}
        return sorted(found, reverse=True)

    def _asked(self) -> tuple[Penalties, int]:
        return _penalties(self.best_), self.best_["max_passes"]

    def _choose(self) -> None:
        scores, self._point = self._scores, chosen(self._scores, self.rule)
        self.best_, self.best_score_ = scores.grid[self._point], float(scores.mean[self._point])
        self.cv_results_ = scores.table()

    def _check_params(self) -> None:
        super()._check_params()
        if self.max_passes < 2:
            raise ValueError(
                f"max_passes={self.max_passes} should be at least 2: the second read judges the first step"
            )
        arguments.one_of("rule", self.rule, RULES)
        check_choice(self._scheme, self.folds, 1, self.seed, self.scoring, self.rule)
        self._check_scoring()

    def _check_penalties(self) -> None:
        self._grid()

    def _check_scoring(self) -> None:
        given = self.scoring if isinstance(self.scoring, list | tuple) else [self.scoring]
        named = [one for one in given if isinstance(one, str) and "probabilities" in as_scorer(one).needs]
        if named and not self._has_probabilities:
            raise ValueError(
                f"scoring={named[0]!r} needs probabilities, and {type(self).__name__} scores by margins; take "
                "scoring='roc_auc' or 'accuracy', or SoftmaxRegressionCV"
            )

    # ---- the rest of the contract ------------------------------------------------------------------------------------

    def _to_state(self) -> dict[str, Any]:
        return {**super()._to_state(), "scores": self._scores}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        scores = persistence.known(cls, state, "params", "fitted", "scores")["scores"]
        if not isinstance(scores, GridScores) or not all("max_passes" in point for point in scores.grid):
            raise ValueError(f"{cls.__name__} should have the scores of its penalties after each read")
        self = super()._from_state({name: state[name] for name in ("params", "fitted")})
        self._scores = scores
        self._choose()
        return self


def reads_at_most(estimator: TrainedClassifierCV, max_passes: int) -> tuple[int, int]:
    """How often rows are read to judge all penalties in so many reads of each model, and then to fit the best one."""
    return clone(estimator).set_params(max_passes=max_passes)._most_reads()


class ChosenOnFolds:
    """Penalties and reads of a classifier, chosen on folds in turn; `fit` then makes the model of all rows.

    The scan is done first. `report` is of all that was read so far.
    """

    def __init__(
        self,
        model: TrainedClassifierCV,
        given: Any,
        groups: Any,
        options: RunOptions,
        checkpoint: Any = None,
        layer: str | None = None,
    ):
        self._model = model
        self._scanned = model._scan_folds(given, groups, options, checkpoint, layer)
        self._models: list[Contender] = []
        self.report = self._scanned.before + self._scanned.report

    @property
    def n_rows(self) -> int:
        """Rows of each read."""
        return self._scanned.stats.n_rows

    def judge(self, folds: Any = None, most_reads: int | None = None, over: Any = None) -> GridScores:
        """Scores of all penalties after every read on the folds so far and these, all of them by default.

        In so many reads at most, those for models that wait for memory among them, or until time is `over`.
        """
        models, report = self._model._judge(self._scanned, self._models, folds, most_reads, over)
        self._models, self.report = models, self.report + report
        return self._model._scores

    def take(self, other: ChosenOnFolds) -> None:
        """What another came to on folds of its own, of the same labels and folds."""
        self._models, self.report = [*self._models, *other._models], self.report + other.report
        self._model._rank(self._scanned, self._models)

    def fit(self) -> None:
        """The model of all rows, at what is best on the folds so far."""
        self._model._fit_best(self._scanned, self.report)
        self.report = self._model.report_


def judged_reads(estimator: TrainedClassifierCV, class_: Any = None) -> tuple[GridScores, int]:
    """The scores of all penalties after each read, or those of one class, and the point the rule takes by them."""
    scores = estimator._scores if class_ is None else estimator._scores.of_class(class_)
    return scores, chosen(scores, estimator.rule)


def _posed_bytes(n_features: int, n_rows: int, n_folds: int) -> int:
    """Of the sums that the models of each fold share, and the weights that they begin with."""
    return 16 * (n_features + 1) * n_rows * n_folds


def _penalties(point: dict[str, Any]) -> Penalties:
    return Penalties(point["l2"], point.get("l1", 0.0))

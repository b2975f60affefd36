"""Fits classifiers by one scan and a few reads of the rows, and chooses penalties and numbers of reads on folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, fields, replace
from itertools import product
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from streamnb.core import arguments, guesses, messages, persistence
from streamnb.core.arguments import Bytes, PerRow, Rows
from streamnb.encoding.learning import of_values
from streamnb.estimators.classifier import Classifier
from streamnb.estimators.parameters import (
    Check,
    Parameter,
    boolean,
    integer_from,
    number_above_0,
    number_from_0,
    one_of,
    optional,
)
from streamnb.estimators.preparation import (
    OF_ROWS,
    StepRequest,
    fitting,
    opened_to_read_again,
    restore_rows,
    state_of_rows,
    steps_of_folds,
)
from streamnb.evaluation.scorers import as_scorer
from streamnb.models.calibrating import AUTO, LEAST_FOLDS, METHODS, check_enough_classes
from streamnb.models.linear import LinearModel
from streamnb.passes.checkpoint import checkpoint_folder
from streamnb.passes.contract import Reading, Report, RunOptions
from streamnb.passes.run import run_reads
from streamnb.rows.preparing import RowOptions
from streamnb.rows.source import Source
from streamnb.rows.splits import Folding, as_folding
from streamnb.scanning.class_scan import folding_of
from streamnb.selection.fold_models import (
    FoldModel,
    ModelGroups,
    bytes_of_data,
    check_models,
    chosen,
    fit_at_point,
    fit_chosen,
    judged_models,
    scores_by_read,
    scores_by_reads,
    starts_from_middle,
)
from streamnb.selection.folded_scan import ScannedRows, scan_to_train
from streamnb.selection.score_table import GridScores, check_choice, warn_of_ends
from streamnb.solving.learner import FittedModel, Learner
from streamnb.solving.method import Method
from streamnb.solving.objectives import check_strength
from streamnb.solving.row_path import AT_ONCE
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.stability import ColumnProfile, checked_profile
from streamnb.stats.tables import deviations

_FITTED = "model", "n_features", "history", "converged", "report", "calibrated", "step", "sums", *OF_ROWS
_OF_LEARNERS = {each.name for each in fields(Learner)} - {"name", "method"}

POINT: dict[str, Check] = {  # parameters that may be chosen from a grid
    "l2": check_strength,
    "l1": check_strength,
    "C": number_above_0("0 leaves the losses no say"),
    "n_components": optional(integer_from(1)),
}


def learner_of(estimator: TrainedClassifier, method: Method, **more: Any) -> Learner:
    """The learner with a method and the estimator's parameters."""
    params = {name: value for name, value in estimator.get_params().items() if name in _OF_LEARNERS}
    return Learner(type(estimator).__name__, method, **{**more, **params})


class TrainedClassifier(Classifier):
    """A linear classifier whose weights minimise a sum over the rows, trained in one scan and a few further reads.

    A subclass defines the parameters and the learner. Everything after training follows from `LinearModel`.
    """

    _checks: ClassVar = {
        "tol": number_from_0,
        "max_passes": integer_from(1),
        "idf": boolean,
        "calibration": one_of(None, AUTO, *METHODS),
        "scheme": one_of("ovr", "joint"),
        "solver": one_of("conjugate_gradients", "products"),
        "standardize": boolean,
        "fit_intercept": boolean,
    }
    _history: tuple[str, ...] = ("objective", "gradient_norm", "seconds")
    _saved: tuple[str, ...] = ("params", "fitted")  # parts of the state in a file
    _calibrated = False
    _sums: ColumnProfile | None = None  # of the rows of the fit
    transform = Parameter()

    def _learner(self) -> Learner:
        """The learner that the parameters define."""
        raise NotImplementedError

    def _grid(self, n_labels: int | None = None) -> list[dict[str, Any]]:
        """The grid of points to train, given the number of labels; here a single one."""
        params = self.get_params()
        return [{name: check(name, params[name]) for name, check in POINT.items() if name in params}]

    # ---- fitting -----------------------------------------------------------------------------------------------------

    def fit(
        self,
        X: Rows,
        y: PerRow = None,
        sample_weight: PerRow = None,
        *,
        progress: bool | None = None,
        n_threads: int | None = None,
        memory_limit: Bytes = None,
        client: Any = None,
        checkpoint: Any = None,
        layer: str | None = None,
        keep: str = "auto",
    ) -> Self:
        """Fit in one scan and up to `max_passes` reads of the same rows.

        Parameters
        ----------
        X : (n_rows, n_features)
            NumPy, SciPy sparse, Dask array, Zarr array or CSR group, a path or URL of one or of a table, or a callable
            that returns a fresh iterator of chunks: rows are read several times. Also an iterator, if its rows are
            kept.
        y : (n_rows,) or (n_rows, n_labels)
            Labels, or the name of an array beside X; a 2-D indicator, dense or CSR, has a model for each label.
        sample_weight : (n_rows,), optional
            Counts as frequency.
        progress : bool, optional
            Show a progress bar for each read.
        n_threads : int, optional
            Threads that sum; as many as there are cores by default. The weights do not depend on them.
        memory_limit : int or str, optional
            Bytes that class sums, and training, may each take, such as "4GB"; half of the free memory by default.
        client : dask.distributed.Client or cluster, optional
            A cluster that reads, as in `scan`; the active one by default.
        checkpoint : path, optional
            A folder for the results of the scan and of each read, each as large as the weights. An interrupted fit, or
            one with more `max_passes`, resumes from it with identical results. It stays until you remove it.
        layer : str, optional
            As in `LinearNB.fit`.
        keep : {"auto", "memory", "disk", "no"}
            Where to keep rows, as the first read prepared them, for further reads: in memory, up to a quarter of
            `memory_limit`, and then in scratch on the local disk (see `set_scratch`); only in memory; only on disk; or
            nowhere, so that each read takes them from X. "auto" keeps rows that are slow to prepare, such as texts,
            tables and streams. Results are the same; `report_` says what came from where.

        Raises
        ------
        ValueError, TypeError
            An argument or a value is wrong: the message names it. There is only one class; rows can be read only once;
            a stream gave other rows in a later read; or the rows are separable without a penalty, so that no optimum
            exists.
        DataError
            Data cannot be read.
        MemoryError
            Sums or weights would take more than `memory_limit`.

        Warns
        -----
        StreamnbWarning
            The gradient was not small enough after the last read, whose model is kept. Or rows could not be kept, for
            example because a disk is full, and were read from X again.
        """
        with fitting(self, progress, n_threads, memory_limit, client, keep, checkpoint) as options:
            run_reads(self._fit((X, y, sample_weight), options, layer))
        return self

    def _fit(self, given: Any, options: RunOptions, layer: str | None = None) -> Reading[None]:
        """Scan the rows, train, and calibrate if asked to."""
        rows = opened_to_read_again(self, given, options, layer)
        learner, point = self._learner(), self._grid()[0]
        folding = as_folding(None if learner.calibration is None else LEAST_FOLDS)
        scanned = yield from self._scanned(learner, rows, given[1], folding, options)
        check_enough_classes(learner.calibration, scanned.stats)
        fitted = yield from fit_at_point(scanned, point, learner.max_passes)
        self._keep(replace(fitted, report=scanned.report + fitted.report), scanned.stats)
        if fitted.warning:
            messages.warn(fitted.warning)

    def _scanned(
        self, learner: Learner, rows: Source, y: Any, folding: Folding | None, options: RunOptions
    ) -> Reading[ScannedRows]:
        """The scan from which all models start, after the preparation has been learned."""
        learner.method.check_given(y, rows.n_features, options.memory_limit)
        steps = yield from steps_of_folds(self, rows, options, folding)
        options = replace(options, checkpoint=checkpoint_folder(options.checkpoint))
        row_options = RowOptions(of_values(self._step_request().transform), learner.normalize)
        return (yield from scan_to_train(learner, row_options, steps, rows, folding, options))

    def _plan_scan(self, n_features: int | None, encoded: bool) -> tuple[Any, ...]:
        """For `snb.plan`: the moments, folds and pooled moments of the scan, and the number of its columns."""
        learner = self._learner()
        folds = vars(self).get("folds", None if learner.calibration is None else LEAST_FOLDS)
        return learner.moments, folds, learner.pooled, n_features

    def _plan_reads(
        self, n_features: int, n_rows: int, n_folds: int, limit: int, given: Source | None = None
    ) -> dict[str, int]:
        """For `snb.plan`: the memory of models with n_rows rows of weights, and the largest number of reads."""
        learner = self._learner()
        n_models = 1 if learner.calibration is None else LEAST_FOLDS
        n_rows = max(n_rows, learner.method.n_columns(n_rows))
        at_once = ModelGroups(n_models, 8 * learner.method.n_arrays * (n_features + 1) * n_rows, n_models)
        return at_once.planned(learner.n_scans + learner.most_reads + learner.reads_to_calibrate)

    def _step_request(self) -> StepRequest:
        return StepRequest(type(self).__name__, vars(self)["transform"])

    def _check_params(self) -> None:
        super()._check_params()
        self._grid()
        learner = self._learner()
        if not isinstance(learner.start, learner.method.starts_from):
            arguments.one_of("start", learner.start, ["auto"])
        RowOptions(of_values(self._step_request().transform), learner.normalize)

    def _keep(self, fitted: FittedModel, stats: ClassStats | None = None) -> None:
        """Keep a model, the sums of its columns, by `stats` of the rows, and their deviations where it matters."""
        model, self.history_, self.report_ = fitted.model, fitted.history, fitted.report
        self._sums = None if stats is None else ColumnProfile.of(stats)
        if self._sums is not None and not self._preparation.has_units:
            self._sums = replace(self._sums, variance=None)
        if stats is not None and self._preparation.has_units:
            of_columns = deviations(stats)
            model = replace(model, deviations=of_columns if model.scale is None else of_columns * model.scale)
        self._model, self._calibrated, self.converged_ = model, fitted.calibrated, fitted.converged
        self.classes_, self.n_passes_ = model.classes_, len(fitted.history["objective"])
        self.n_features_in_ = self._preparation.n_features(model.n_features)
        self.__dict__.update(fitted.attributes)

    # ---- the model ---------------------------------------------------------------------------------------------------

    def _fitted_model(self) -> LinearModel:
        check_is_fitted(self, "history_")
        return self._model

    def _gives_probabilities(self) -> bool:
        if self._learner().scheme != "joint" and not self._calibrated:
            raise AttributeError(
                "scores are not probabilities until they are calibrated: fit with calibration='sigmoid', or call "
                "calibrate(X, y) with held-out rows"
            )
        return True

    def _calibrates(self) -> bool:
        return True

    def _profile(self) -> ColumnProfile | None:
        return self._sums

    def _set_model(self, model: LinearModel, calibrated: bool = False) -> None:
        self._model, self._calibrated = model, self._calibrated or calibrated

    @property
    def coef_(self) -> Any:
        """Weights, one row for each score."""
        return self._fitted_model().coef_

    @property
    def intercept_(self) -> np.ndarray:
        """Intercepts, one for each row of `coef_`."""
        return self._fitted_model().intercept_

    # ---- the rest of the contract ------------------------------------------------------------------------------------

    def _to_state(self) -> dict[str, Any]:
        fitted = {"model": self._model, "n_features": self._model.n_features, "history": self.history_}
        fitted |= {"converged": self.converged_, "report": asdict(self.report_), "calibrated": self._calibrated}
        fitted |= state_of_rows(self) | ({} if self._step is None else {"step": self._step})
        fitted |= {} if self._sums is None else {"sums": self._sums}
        return {"params": self.get_params(deep=False), "fitted": fitted}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        persistence.known(cls, state, *cls._saved)
        self, fitted = cls(**state["params"]), persistence.known(cls, state["fitted"], *_FITTED)
        self._check_params()
        model, history, converged = (fitted[name] for name in ("model", "history", "converged"))
        if not isinstance(model, LinearModel) or not isinstance(converged, bool) or tuple(history) != cls._history:
            raise ValueError(f"{cls.__name__} should have a model, history {cls._history}, and whether it converged")
        if model.n_features != fitted["n_features"]:
            raise ValueError(f"the model should be of {fitted['n_features']} features, not of {model.n_features}")
        arguments.check_class_weight(self.get_params().get("class_weight"), model.classes_)
        for name, column in history.items():
            persistence.array(name, column, ["f8"], (len(history["objective"]),))
        restore_rows(self, fitted, self._step_request(), fitted.get("step"), model.n_features)
        is_calibrated = arguments.one_of("calibrated", fitted.get("calibrated", False), [False, True])
        self._keep(FittedModel(model, history, converged, Report._from_state(fitted["report"]), is_calibrated))
        self._sums = checked_profile(fitted.get("sums"), model.n_features)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = self._learner().method.multilabel
        return tags


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

    best_ = property(guesses.renamed_best)  # the former name of `best_params_`

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
            Group labels, or the name of a column of X, which is then not a feature; rows of one group are in one fold.
        memory_limit : int or str, optional
            Bytes that class sums may take, and that all open models together may take; half of the free memory by
            default. If not all models fit, they are trained in groups, each with its own reads, after a warning;
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
            A fold lacks a class; models train in groups; the best penalty clearly lies at an end of those tried; or the
            score was still rising at the last of `max_passes` reads.
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
        folding, rows = folding_of(rows, self.folds, groups, 1, self.seed)
        scanned = yield from self._scanned(learner, rows, given[1], folding, options)
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
                f"max_passes={self.max_passes} reads were used, and the last gave the best score; the model is "
                "usable, but more reads may improve it"
            )

    def _plan_reads(
        self, n_features: int, n_rows: int, n_folds: int, limit: int, given: Source | None = None
    ) -> dict[str, int]:
        learner, options = self._learner(), RunOptions(memory_limit=limit)
        n_rows, n_pooled = max(n_rows, learner.method.n_columns(n_rows)), len(learner.pooled)
        grid, further = self._grid(n_rows), learner.most_reads + learner.reads_to_calibrate
        if given is not None and given.n_rows:
            sizes = given.n_rows, n_features, n_rows
            if learner.judged_in_memory(*sizes, given.nbytes / given.n_rows, grid, options):
                at_once = ModelGroups(AT_ONCE, 8 * n_features * n_rows, AT_ONCE)
                return at_once.planned(learner.n_scans + 1 + further) | {"n_models": len(grid) * n_folds}
        tables = 8 * (n_folds + 1) * n_features * (n_pooled + (len(learner.moments) - n_pooled) * n_rows)
        beside = tables + bytes_of_data(n_features, n_rows, n_folds)
        groups = ModelGroups.of(learner.method, len(grid) * n_folds, n_features, n_rows, options, beside=beside)
        judging = learner.n_scans + groups.n_groups * (learner.most_reads + learner.method.scoring_reads)
        if given is not None and starts_from_middle(learner.method, grid, given.n_rows or 0, n_features * n_rows):
            judging += groups.n_groups + learner.most_reads + 1
        return groups.planned(judging + further)

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
                    f"scoring={scoring!r} needs probabilities, and {type(self).__name__} scores by margins; use "
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

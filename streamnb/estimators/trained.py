"""What classifiers that take a few reads of the rows have in common: the scan, the reads, and what follows."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any, NoReturn, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from streamnb.core import arguments, messages, persistence, row_checks
from streamnb.core.types import Bytes, PerRow, Rows
from streamnb.encoding.by_fold import StepsOfFolds
from streamnb.encoding.learning import of_values, prepared
from streamnb.estimators.classifier import Classifier, Parameter, decision_function
from streamnb.estimators.preparation import StepRequest
from streamnb.estimators.rows_of_fit import OF_ROWS
from streamnb.estimators.trained_on import Posed, Scanned, TrainingRows, given_start, read_often
from streamnb.models.linear import LinearModel
from streamnb.passes.options import RunOptions
from streamnb.passes.report import Report
from streamnb.problem.schemes import as_scheme
from streamnb.rows.preparing import RowOptions
from streamnb.rows.source import Source
from streamnb.rows.splits import Folding, as_folding
from streamnb.scanning.class_scan import ClassScan
from streamnb.selection.folded_scan import Applied
from streamnb.stats.class_stats import ClassStats
from streamnb.training import objectives
from streamnb.training.descent import Penalties
from streamnb.training.fitting import Reads, Trained, Trainer, check_memory, checkpoint_folder, train
from streamnb.training.objectives import Objective, RowSums
from streamnb.training.reading import ReadTask

_FITTED = "model", "n_features", "history", "converged", "report", "calibrated", "step", *OF_ROWS


class TrainedClassifier(Classifier):
    """A linear classifier whose weights minimise a sum over the rows, found by one scan and a few reads more.

    A subclass says which loss; all that is done with a model once it is there follows from `LinearModel`.
    """

    _scheme = "joint"
    _factor = 1.0  # of what is trained, in the weights of the model
    _trainer = Trainer
    _history: tuple[str, ...] = ("objective", "gradient_norm", "seconds")
    _calibrated = False
    transform = Parameter()
    decision_function = decision_function
    _applied: Applied  # to rows, in the last fit

    def __init__(
        self,
        l2: float = 1.0,
        l1: float = 0.0,
        *,
        start: Any = "auto",
        tol: float = 1e-4,
        max_passes: int = 50,
        transform: Any = None,
        normalize: str | None = None,
        idf: bool = False,
        class_weight: Any = None,
    ):
        self.l2, self.l1, self.start, self.tol, self.max_passes = l2, l1, start, tol, max_passes
        self.transform, self.normalize, self.idf, self.class_weight = transform, normalize, idf, class_weight

    def _objective(self, stats: ClassStats) -> Objective:
        """The loss, for such labels."""
        raise NotImplementedError

    @property
    def _narrows(self) -> bool:
        """Whether reads leave out features that no row has: not where these count, or no row is read."""
        return True

    @property
    def _held(self) -> int:
        """Arrays as large as the weights, while these are trained."""
        return self._trainer.held

    def _n_held(self, stats: ClassStats) -> int:
        """Features that these arrays have: those that any row has."""
        return len(objectives.features_used(stats))

    def _check_memory(self, stats: ClassStats, n_rows: int, options: RunOptions) -> None:
        check_memory(self._n_held(stats), n_rows, self._held, options.memory_limit)

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
    ) -> Self:
        """Fit in one scan and up to `max_passes` reads of the same rows.

        Parameters
        ----------
        X : (n_rows, n_features)
            NumPy, SciPy sparse, Dask array, Zarr array or CSR group, a path to one or to a table, or a callable that
            returns a fresh iterator of chunks: rows are read several times.
        y : (n_rows,) or (n_rows, n_labels)
            Labels, or the name of an array beside X; a 2-D indicator, dense or CSR, has a model for each label.
        sample_weight : (n_rows,), optional
            Counts as frequency.
        progress : bool, optional
            Show a progress bar for each read.
        n_threads : int, optional
            Threads that sum; as many as there are cores by default. The weights do not depend on them.
        memory_limit : int or str, optional
            Bytes that class sums, and those that descent may take, such as "4GB"; half of the free memory by default.
        client : dask.distributed.Client or cluster, optional
            A cluster that reads, as in `scan`; the active one by default.
        checkpoint : path, optional
            A folder that keeps what the scan and each read left, as large as the weights each: a fit that was broken
            off, or one with more `max_passes`, goes on from there, to the same bits. It stays until you remove it.
        layer : str, optional
            As in `LinearNB.fit`.

        Raises
        ------
        ValueError, TypeError
            An argument or a value is wrong: the message names it. There is one class only; rows can be read only once;
            a stream gave another number of rows in a later read; or the rows are separable and nothing is penalised, so
            that no weights are best.
        DataError
            Data cannot be read.
        MemoryError
            Sums or weights would take more than `memory_limit`.

        Warns
        -----
        StreamnbWarning
            All reads were spent before the gradient was small enough; the model is what they came to.
        """
        options = RunOptions(progress, n_threads, memory_limit, client)
        with self._all_or_nothing():
            self._check_params()
            rows = self._opened_as_given((X, y, sample_weight), options, layer)
            folding = as_folding(self._plan_scan()[1])
            scanned = self._scanned(rows, (y, sample_weight), folding, options, checkpoint)
            trained, scale = self._trained(scanned.stats, scanned.rows, scanned.options)
            self._keep(self._model_of(scanned.stats, trained, scale), trained.history, trained.converged)
            self.report_ = scanned.before + scanned.report + trained.report + self._settle(scanned)
            if not trained.converged:
                self._warn(trained.left)
        return self

    def _settle(self, scanned: Scanned) -> Report:
        """What is left to do once there is a model."""
        return Report()

    def _plan_scan(self) -> tuple[tuple[str, ...], Any]:
        """For `snb.plan`: the moments and folds of the scan."""
        return (*objectives.MOMENTS, *(("nonzero",) if self._option("idf") else ())), None

    def _plan_pooled(self) -> tuple[str, ...]:
        """For `snb.plan`: the moments that are summed over all classes, unless each counts otherwise."""
        return () if self._option("class_weight") is not None else tuple(m for m in self._plan_scan()[0] if m != "sum")

    def _plan_reads(self, n_features: int, n_rows: int, n_folds: int, limit: int) -> dict[str, int]:
        """For `snb.plan`: what models with n_rows rows of weights take, and how often rows are read at most."""
        one = {"n_models": 1, "model_bytes": 8 * self._held * (n_features + 1) * n_rows, "n_groups": 1}
        return {**one, "most_reads": self._n_scans() + self.max_passes}

    def _n_scans(self) -> int:
        """How often the rows are scanned before they are read for the model."""
        return 2 if self._option("idf") and self._option("normalize") is not None else 1

    def _scanned(
        self, given: Source, beside: Any, folding: Folding | None, options: RunOptions, checkpoint: Any
    ) -> Scanned:
        """What models start from: what is learned before the scan is, and idf, too, of the rows outside each fold.

        Of idf and normalize, idf comes first, and that takes a scan of its own.
        """
        given.check_read_again(type(self).__name__)
        steps = self._learned_by_fold(given, options, folding)
        options = replace(options, checkpoint=checkpoint_folder(checkpoint))
        rows = read_often(prepared(steps.whole, given, *beside), options)
        given, steps = (read_often(given, options), steps) if steps.outside else (rows, StepsOfFolds())
        weighted = self._weighted if self._option("idf") and self._option("normalize") is not None else None
        self._applied, before = Applied.of(self._row_options(), weighted, given, options, folding, steps)
        of_folds, report = self._applied.scanned(self._scan(options), folding, given, options)
        return Scanned(
            of_folds, TrainingRows.of(of_folds.stats, given, rows, options, self._narrows), options, before, report
        )

    def _weighted(self, stats: ClassStats) -> ClassStats:
        factors = self._class_factors(stats)
        return stats if factors is None else stats.reweighted(factors)

    def _scan(self, options: RunOptions) -> ClassScan:
        scan = ClassScan((), self._applied.options, memory_limit=options.memory_limit, together=self._plan_pooled())
        return scan.with_moments(self._plan_scan()[0])

    def _trained(self, stats: ClassStats, rows: TrainingRows, options: RunOptions) -> tuple[Trained, Any]:
        """The weights, and what features are multiplied by before these."""
        posed = self._posed(stats, options)
        trainer, reads = self._reads(rows.posed(posed), *self._asked())
        return rows.of_all(self._train(trainer, reads, rows.read, options, stats.n_rows), stats.n_features), posed.scale

    def _train(self, trainer: Any, reads: Reads, rows: Source, options: RunOptions, n_rows: int) -> Trained:
        """Read what the model of all rows asks for."""
        trainer.judges, trainer.n_threads = False, options.threads
        return train(reads, rows, options, n_rows)

    def _asked(self) -> tuple[Penalties, int]:
        """The penalties of the model, and how often the rows may be read for it."""
        return Penalties(float(self._option("l2")), float(self._option("l1"))), self.max_passes

    def _reads(self, posed: Posed, penalties: Penalties, max_passes: int) -> tuple[Trainer, Reads]:
        """What trains, and the reads that it asks for."""
        trainer = self._trainer(posed.task, posed.sums, posed.scale, penalties)
        return trainer, trainer.reads(float(self.tol), max_passes, posed.towards)

    def _posed(self, stats: ClassStats, options: RunOptions) -> Posed:
        """What is trained on rows of these statistics."""
        factors, weighted = self._class_factors(stats), self._weighted(stats)
        row_checks.check_total_weight(weighted.total_weight)
        seen = weighted.classes[weighted.weight > 0].tolist()
        if len(seen) < 2 and not weighted.multilabel:
            raise ValueError(f"y holds one class only ({seen}); {type(self).__name__} needs at least 2 classes")
        objective, n_features, n_rows = self._objective(weighted), stats.n_features, self._n_rows(stats)
        self._check_memory(stats, n_rows, options)
        later = self._option("idf") and self._option("normalize") is None
        scale = objectives.inverse_frequency(weighted) if later else None
        zeros, ones = np.zeros((n_features + 1, n_rows)), np.ones(n_features + 1)
        task = ReadTask(objective, stats.options, stats.classes, zeros, ones, 1.0, factors)
        towards = None if isinstance(self._option("start"), str) else self._given_start(weighted, n_rows, scale)
        return Posed(task, RowSums.of(weighted), scale, towards)

    def _n_rows(self, stats: ClassStats) -> int:
        """Rows of weights."""
        return 1 if objectives.one_row(stats) else len(stats.classes)

    def _given_start(self, stats: ClassStats, n_rows: int, scale: Any) -> np.ndarray:
        """The weights of `start`, (n_features + 1, R), where it is a model of such rows."""
        of_rows = stats.classes, (stats.n_features, n_rows), scale, self._applied.options
        return given_start(self._option("start"), *of_rows, self._objective(stats)) / self._factor

    def _class_factors(self, stats: ClassStats) -> np.ndarray | None:
        """What the weight of each class is multiplied by."""
        given = self._option("class_weight")
        if given is None:
            return None
        if stats.multilabel:
            raise ValueError(f"class_weight={given!r} is for one label a row; give sample_weight")
        checked = arguments.check_class_weight(given, stats.classes)
        return arguments.class_factors(checked, stats.classes, stats.weight)

    def _step_request(self) -> StepRequest:
        return StepRequest(type(self).__name__, vars(self)["transform"])

    def _row_options(self) -> RowOptions:
        return RowOptions(of_values(self._step_request().transform), self._option("normalize"))

    def _check_params(self) -> None:
        self._check_penalties()
        self._check_start()
        arguments.finite_number("tol", self.tol, minimum=0.0)
        arguments.positive_integer("max_passes", self.max_passes)
        arguments.one_of("idf", self._option("idf"), [False, True])
        self._row_options()

    def _check_start(self) -> None:
        if not isinstance(self._option("start"), LinearModel):
            arguments.one_of("start", self._option("start"), ["auto"])

    def _check_penalties(self) -> None:
        for name in ("l2", "l1"):
            objectives.check_strength(name, self._option(name))

    def _model_of(self, stats: ClassStats, trained: Trained, scale: Any) -> LinearModel:
        scheme = as_scheme(self._scheme, stats.classes, multilabel=stats.multilabel)
        weights, intercepts = self._factor * trained.weights[:-1], self._factor * trained.weights[-1]
        return LinearModel(stats.classes, weights, intercepts, scheme, stats.options, scale=scale)

    def _keep(self, model: LinearModel, history: dict[str, np.ndarray], converged: bool) -> None:
        self._model, self._calibrated, self.history_, self.n_passes_ = model, False, history, len(history["objective"])
        self.converged_, self.classes_, self.n_features_in_ = (
            converged,
            model.classes_,
            self._preparation.n_features(model.n_features),
        )

    def _warn(self, part: float) -> None:
        left = f"the gradient is {part:.1e} of that of the start, and tol={self.tol:g}"
        if self.n_passes_ < self.max_passes:
            messages.warn(f"after {self.n_passes_} reads the objective falls no more in float64: {left}; raise tol")
        else:
            messages.warn(
                f"max_passes={self.max_passes} reads were spent: {left}; the model is usable, more reads may make it "
                "better (or worse: reads that end early regularise)"
            )

    @property
    def partial_fit(self) -> NoReturn:
        """Not there: each read needs all rows."""
        raise AttributeError(f"{self._lacks('partial_fit')}: LinearNB learns from rows as they come")

    @property
    def forget(self) -> NoReturn:
        """Not there: weights keep no sums to take rows from."""
        raise AttributeError(f"{self._lacks('forget')}: fit without these rows, or take LinearNB, which forgets")

    def _lacks(self, name: str) -> str:
        return f"{type(self).__name__} has no {name!r}, for its weights follow from reading all rows several times"

    # ---- the model ---------------------------------------------------------------------------------------------------

    def _fitted_model(self) -> LinearModel:
        check_is_fitted(self, "history_")
        return self._model

    def _calibrates(self) -> bool:
        return True

    def _take_calibrated(self, model: LinearModel) -> None:
        self._model, self._calibrated = model, True

    @property
    def coef_(self) -> Any:
        """Weights, a row for each row of scores."""
        return self._fitted_model().coef_

    @property
    def intercept_(self) -> np.ndarray:
        """One for each row of `coef_`."""
        return self._fitted_model().intercept_

    # ---- the rest of the contract ------------------------------------------------------------------------------------

    def _to_state(self) -> dict[str, Any]:
        fitted = {"model": self._model, "n_features": self._model.n_features, "history": self.history_}
        fitted |= {"converged": self.converged_, "report": asdict(self.report_), "calibrated": self._calibrated}
        fitted |= self._state_of_rows() | ({} if self._step is None else {"step": self._step})
        return {"params": self.get_params(deep=False), "fitted": fitted}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        persistence.known(cls, state, "params", "fitted")
        self, fitted = cls(**state["params"]), persistence.known(cls, state["fitted"], *_FITTED)
        self._check_params()
        model, history, converged = (fitted[name] for name in ("model", "history", "converged"))
        if not isinstance(model, LinearModel) or not isinstance(converged, bool) or tuple(history) != cls._history:
            raise ValueError(f"{cls.__name__} should have a model, history {cls._history}, and whether it converged")
        if model.n_features != fitted["n_features"]:
            raise ValueError(f"the model should be of {fitted['n_features']} features, not of {model.n_features}")
        arguments.check_class_weight(self._option("class_weight"), model.classes_)
        for name, column in history.items():
            persistence.array(name, column, ["f8"], (len(history["objective"]),))
        self._restore_rows(fitted, self._step_request(), fitted.get("step"), model.n_features)
        self._keep(model, history, converged)
        self.report_ = Report._from_state(fitted["report"])
        self._calibrated = arguments.one_of("calibrated", fitted.get("calibrated", False), [False, True])
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags

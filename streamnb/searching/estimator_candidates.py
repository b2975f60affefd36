"""Judges estimators on the folds of a search: CV forms, stacks, and any estimator of scikit-learn."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from streamnb.core import messages, row_checks
from streamnb.estimators import additive, linear_nb_cv
from streamnb.estimators.additive import AdditiveClassifier, judged_scores
from streamnb.estimators.classifier import check_parameters, model_and_rows
from streamnb.estimators.linear_nb_cv import LinearNBCV, judged_grid
from streamnb.estimators.stacked_nb import StackedNB, reads_of_fit
from streamnb.estimators.trained_cv import TrainedClassifierCV, begun, choose_best, fit_best, reads_at_most
from streamnb.evaluation.evaluating import evaluate
from streamnb.evaluation.judging import JudgingTask
from streamnb.passes.options import RunOptions
from streamnb.passes.report import Report
from streamnb.passes.run import run
from streamnb.rows.derived_sources import FoldRows
from streamnb.rows.preparing import RowOptions
from streamnb.scanning.class_scan import ClassScan
from streamnb.searching.axes import check_once
from streamnb.searching.budget import Allowed
from streamnb.searching.contest import Contestants, Judging
from streamnb.searching.encodings import Encoded, in_memory, rows_at
from streamnb.searching.search_result import Judged
from streamnb.selection.penalty_search import PenaltySearch
from streamnb.selection.score_table import ENDS, GridScores

OF_ROWS_AS_GIVEN = LinearNBCV, AdditiveClassifier  # which make columns of tables by themselves, whatever the encoding
READS_TO_CODE = 5  # of an additive model: to learn bins, to count them, to sample, to scan, and to sample again
LEAST_FOLDS = 3  # for a stack


def named_models(models: Any) -> dict[str, Any]:
    """Estimators that choose on folds, by their repr."""
    if not isinstance(models, list | tuple):
        raise TypeError(f"models={models!r} should be a list, such as models=[snb.SoftmaxRegressionCV()]")
    kinds: Any = tuple(KINDS)
    for model in models:
        if not isinstance(model, kinds):
            raise TypeError(
                f"models has {model!r}; each should be an estimator that is judged on folds, such as "
                "snb.SoftmaxRegressionCV(); others={'name': model} takes any estimator with fit and predict"
            )
        try:
            check_parameters(model)
        except (ValueError, TypeError) as error:
            raise type(error)(f"models has {' '.join(repr(model).split())}: {error}") from None
    words = [" ".join(repr(model).split()) for model in models]
    check_once("models", words)
    return dict(zip(words, models, strict=True))


def check_others(others: Any) -> dict[str, Any]:
    """Estimators of any kind by name."""
    if not isinstance(others, Mapping):
        raise TypeError(f"others={others!r} should be a dict {{name: estimator}}")
    for name, one in others.items():
        if not (hasattr(one, "fit") and hasattr(one, "predict")) or isinstance(one, type):
            raise TypeError(f"others[{name!r}]={one!r} should be an estimator, an object with fit and predict")
    return {str(name): one for name, one in others.items()}


def others_of(others: Mapping[str, Any], given: Any, judging: Judging) -> list[Contestants]:
    """Candidates for estimators of any kind, which take rows in memory."""
    X, y, weight = in_memory(given[0], given[1], given[2], "others=")
    row_checks.check_lengths(X.shape[0], y.shape[0])
    rows = X, y, None if weight is None else np.asarray(weight, np.float64)
    return [AnyEstimator(name, one, rows, judging, RunOptions()) for name, one in others.items()]


def contestant_of(name: str, model: Any, encoded: Encoded, judging: Judging, options: RunOptions) -> Contestants:
    """The candidate for an estimator that chooses on folds, or for a stack."""
    kind = next(kind for known, kind in KINDS.items() if isinstance(model, known))
    return kind(name, judging.applied_to(model), encoded, judging, options)


class OneModel(Contestants):
    """A single candidate, an estimator; `rows` are Encoded, or X, y and weights in memory for `AnyEstimator`."""

    def __init__(self, name: str, model: Any, rows: Any, judging: Judging, options: RunOptions):
        super().__init__([name], judging)
        self._model, self._rows, self._options = model, rows, options
        self._folds: list[int] = []

    def _result(self, folds: Sequence[int], scores: Mapping[str, np.ndarray], **about: Any) -> Judged:
        """The result on these folds and those before; `scores` are of these, or of all folds."""
        self._folds, n_folds = sorted({*self._folds, *folds}), self._judging.n_folds
        scores = {name: values[self._folds] if len(values) == n_folds else values for name, values in scores.items()}
        return Judged.on(self._folds, n_folds, scores, **{"name": self.names[0], "words": {}, **about})

    def _at_point(self, folds: Sequence[int], scores: GridScores, point: int, n_reads: int) -> Judged:
        """The result at a grid point."""
        named = scores.named or {self._judging.scorer.name: scores}
        about = {"point": dict(scores.grid[point]), "n_features": int(scores.n_features[point])}
        at_point = {name: each.scores[point] for name, each in named.items()}
        return self._result(folds, at_point, reads=n_reads, **about)


class ModelOfReads(OneModel):
    """A model of several reads, whose penalties and number of reads are chosen.

    Where columns are learned from rows, the model of each fold is trained in its own reads.
    """

    _search: PenaltySearch | None = None
    _learned = Report()
    _further = True

    def reads(self, most_reads: int | None) -> tuple[int, int]:
        most = self._model.max_passes
        most = most if most_reads is None else min(most_reads, most)
        judging, fitting = reads_at_most(self._model, most)
        if most_reads is None:
            fitting += 1  # for a sample
        if self._judging.calibrates and self._model.get_params().get("calibration") is None:
            fitting += most + 1
        if not self._rows.nested:
            return judging, fitting
        return self._rows.n_reads + 1 + judging * self._judging.n_folds, fitting

    def begin(self) -> None:
        self._learned = self._rows.learn(self._judging, self._options)
        self._search = begun(self._model, self._rows.whole, self._judging.groups, self._options)

    def judge(self, names: Sequence[str], folds: Sequence[int], allowed: Allowed) -> list[Judged]:
        assert self._search is not None
        self._further = allowed.reads is None
        if self._rows.nested:
            for fold in folds:
                of_fold = begun(clone(self._model), self._rows.outside(fold), self._judging.groups, self._options)
                of_fold.judge([fold], allowed.reads, allowed.out_of_time)
                self._search.take(of_fold)
        else:
            self._search.judge(folds, allowed.reads, allowed.out_of_time)
        self.report = self._learned + self._search.report
        n_reads = self.report.rows // self._search.scanned.stats.n_rows
        return [self._at_point(folds, *choose_best(self._model, self._search), n_reads)]

    def fitted(self, judged: Judged) -> Any:
        assert self._search is not None
        fit_best(self._model, self._search, self._judging.calibration, self._further)
        self.report = self._learned + self._search.report
        return self._rows.finished(self._model)

    def release(self) -> None:
        self._search = None


class FittedAtOnce(OneModel):
    """A model that is judged on all folds, and fitted, in one `fit`; results have the folds asked for so far."""

    def _fit(self) -> None:
        if not self._folds:
            with messages.without(ENDS):  # that matter only to the best candidate
                self._model.fit(*self._rows.given, groups=self._judging.groups, **self._options.fit_options)

    def fitted(self, judged: Judged) -> Any:
        if isinstance(self._model, AdditiveClassifier):
            additive.warn_of_ends_chosen(self._model)
        else:
            linear_nb_cv.warn_of_ends_chosen(self._model)
        return self._model


class BayesOnGrid(FittedAtOnce):
    """A `LinearNBCV`, which takes two reads."""

    def plan(self, most_reads: int | None) -> str:
        return f"{self.names[0]}: 2 reads"

    def reads(self, most_reads: int | None) -> tuple[int, int]:
        return 2, 0

    def judge(self, names: Sequence[str], folds: Sequence[int], allowed: Allowed) -> list[Judged]:
        self._fit()
        self.report, scores = self._model.report_ + self._model.scoring_report_, judged_grid(self._model)[0]
        return [self._at_point(folds, scores, scores.best(self._model.rule), 2)]


class AdditiveOnFolds(FittedAtOnce):
    """An `AdditiveClassifier`, which chooses on the folds of the search, and opens raw rows with bins of its own."""

    def reads(self, most_reads: int | None) -> tuple[int, int]:
        most = self._model.max_passes
        return READS_TO_CODE, most if most_reads is None else min(most_reads, most)

    def judge(self, names: Sequence[str], folds: Sequence[int], allowed: Allowed) -> list[Judged]:
        if not self._folds and allowed.reads is not None:
            self._model.set_params(max_passes=allowed.reads)
        self._fit()
        model, self.report = self._model, self._model.report_
        about = {
            "point": model.best_params_,
            "n_features": model.n_features_in_,
            "reads": READS_TO_CODE + model.n_passes_,
        }
        return [self._result(folds, judged_scores(model), **about)]


class OneByOne(OneModel):
    """A candidate that is fitted anew without each fold; subclasses define `_scores_on` and `_reads`."""

    def __init__(self, name: str, model: Any, rows: Any, judging: Judging, options: RunOptions):
        super().__init__(name, model, rows, judging, options)
        self._scores: dict[int, list[float]] = {}

    def judge(self, names: Sequence[str], folds: Sequence[int], allowed: Allowed) -> list[Judged]:
        """Judge on as many folds as time allows, at least one."""
        for fold in folds:
            if self._scores and allowed.out_of_time():
                break
            self._scores[fold] = self._scores_on(fold)
        done, scorers = sorted(self._scores), self._judging.scorer.each
        scores = {one.name: np.array([self._scores[fold][i] for fold in done]) for i, one in enumerate(scorers)}
        return [self._result(done, scores, point={}, n_features=-1, reads=self._reads())]

    def _scores_on(self, fold: int) -> list[float]:
        """The scores on a fold of a model fitted to the other rows."""
        raise NotImplementedError

    def _reads(self) -> int:
        """Reads of the rows so far, -1 where they are not counted."""
        raise NotImplementedError


class StackOnFolds(OneByOne):
    """A stack, fitted anew without each fold: to all rows, with weight 0 for those of the fold.

    The stack makes its margins by the folds of the search too: margins of rows outside a fold come from models without
    that fold and without the fold of the row.
    """

    _n_rows = 1

    def reads(self, most_reads: int | None) -> tuple[int, int]:
        fitting = reads_of_fit(self._model)
        return self._rows.n_reads + self._judging.n_folds * (fitting + 1), fitting

    def begin(self) -> None:
        if self._judging.n_folds < LEAST_FOLDS:
            raise ValueError(
                f"folds={self._judging.n_folds} leave no rows outside the fold that judges a stack and the one "
                f"whose margins are made; take {LEAST_FOLDS} at least"
            )
        self.report = self.report + self._rows.learn(self._judging, self._options)

    def _reads(self) -> int:
        return self.report.rows // self._n_rows

    def _scores_on(self, fold: int) -> list[float]:
        judging, options = self._judging, self._options
        task, rows = judging.with_folds(ClassScan((), RowOptions()), self._rows.outside(fold))
        assert task.folding is not None
        stack = clone(self._model)
        stack.fit(FoldRows(rows, task.folding, fold, inside=False), groups=judging.groups, **options.fit_options)
        needs = judging.scorer.needs
        if "probabilities" in needs and not hasattr(stack, "predict_proba"):
            raise ValueError("a scoring needs probabilities, and its second level has none")
        model, held = model_and_rows(stack, FoldRows(rows, task.folding, fold, inside=True))
        total, report = run(JudgingTask.of_one(model, {*needs, "confusion"}), held, options)
        self.report, self._n_rows = self.report + stack.report_ + report, report.rows
        return [one.of(total.evaluations[0]) for one in judging.scorer.each]

    def fitted(self, judged: Judged) -> Any:
        model = clone(self._model).fit(*self._rows.to_fit, groups=self._judging.groups, **self._options.fit_options)
        self.report = self.report + model.report_
        return self._rows.finished(model)


class AnyEstimator(OneByOne):
    """An estimator of any kind, which is given X, y and weights in memory."""

    failures = (Exception,)  # an estimator may raise anything

    def plan(self, most_reads: int | None) -> str:
        return f"{self.names[0]}: fitted to the rows outside each fold, in memory"

    def reads(self, most_reads: int | None) -> tuple[int, int]:
        return 0, 0

    def _scores_on(self, fold: int) -> list[float]:
        X, y, weight = self._rows
        numbers = self._judging.numbers(y.shape[0])
        training, held = np.flatnonzero(numbers != fold), np.flatnonzero(numbers == fold)
        classes = None if y.ndim == 2 else np.unique(y)
        if classes is not None and len(np.unique(y[training])) < len(classes):
            raise ValueError(
                f"a class has no rows outside fold {fold}; take fewer folds, or folds= that mix the classes"
            )
        of_training = None if weight is None else weight[training]
        model = fitted_other(self._model, (rows_at(X, training), y[training], of_training))
        outputs = _outputs(model, rows_at(X, held), self._judging.scorer.needs)
        judged = evaluate(y[held], classes=classes, sample_weight=None if weight is None else weight[held], **outputs)
        return [one.of(judged) for one in self._judging.scorer.each]

    def _reads(self) -> int:
        return -1

    def fitted(self, judged: Judged) -> Any:
        return fitted_other(self._model, self._rows)


KINDS: dict[type, type[OneModel]] = {
    StackedNB: StackOnFolds,
    AdditiveClassifier: AdditiveOnFolds,
    LinearNBCV: BayesOnGrid,
    TrainedClassifierCV: ModelOfReads,
}


def fitted_other(estimator: Any, given: tuple[Any, Any, Any]) -> Any:
    """A clone of the estimator, fitted to rows."""
    X, y, weight = given
    weights = {} if weight is None else {"sample_weight": weight}
    if weights and not has_fit_parameter(estimator, "sample_weight"):
        raise ValueError("sample_weight is given, and its fit takes none")
    return clone(estimator).fit(X, y, **weights)


def _outputs(model: Any, X: Any, needs: frozenset[str]) -> dict[str, Any]:
    """The outputs of a model for rows, as far as a scoring needs them."""
    outputs: dict[str, Any] = {"y_pred": model.predict(X)}
    if "probabilities" in needs and not hasattr(model, "predict_proba"):
        raise ValueError("a scoring needs probabilities, and it has none")
    if needs & {"probabilities", "ranking"} and hasattr(model, "predict_proba"):
        outputs["proba"] = model.predict_proba(X)
    if needs & {"ranking", "margin"} and hasattr(model, "decision_function"):
        outputs["scores"] = model.decision_function(X)
    if needs & {"ranking", "margin"} and not {"proba", "scores"} & outputs.keys():
        raise ValueError("a scoring needs scores, and it has neither decision_function nor predict_proba")
    return outputs

"""How estimators are judged and fitted in a search: CV forms, stacks, and any estimator of scikit-learn."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from streamnb.additive.classifier import AdditiveClassifier
from streamnb.additive.model import fit_in_race
from streamnb.additive.regressor import AdditiveRegressor
from streamnb.core import messages, row_checks
from streamnb.estimators import linear_nb_cv
from streamnb.estimators.chosen import ElasticNetCV
from streamnb.estimators.classifier import check_parameters, model_and_rows
from streamnb.estimators.generalized import GeneralizedRegressorCV
from streamnb.estimators.linear_nb_cv import LinearNBCV, judged_grid
from streamnb.estimators.regressor import LinearRegressor
from streamnb.estimators.stacked_nb import StackedNB, reads_of_fit
from streamnb.estimators.trained import (
    TrainedClassifierCV,
    choose_best,
    fit_best,
    reads_at_most,
    scanned_to_choose,
)
from streamnb.evaluation.evaluating import evaluate
from streamnb.evaluation.judging import JudgingTask
from streamnb.evaluation.scorers import Scorer, as_scorer
from streamnb.passes.contract import Report, RunOptions
from streamnb.passes.run import run, run_reads
from streamnb.rows.source import FoldRows, Source
from streamnb.searching.axes import Encoded, check_once, in_memory, rows_at
from streamnb.searching.numbers import generalized, least_squares, scores_of_numbers, scores_of_predictions
from streamnb.searching.rounds import CandidateGroup, Judging, JudgingSteps, ToJudge, beaten
from streamnb.searching.search_result import Judged
from streamnb.selection.fold_models import FoldModel, judged_models, walked_models, walks_along
from streamnb.selection.score_table import ENDS, GridScores

OF_ROWS_AS_GIVEN = LinearNBCV, AdditiveClassifier  # which make columns of tables by themselves, whatever the encoding
READS_TO_CODE = 3  # of an additive model: to learn bins, to count them, and to sample
LEAST_FOLDS = 3  # for a stack


def named_models(models: Any) -> dict[str, Any]:
    """Estimators that choose on folds, by their repr."""
    if not isinstance(models, list | tuple):
        raise TypeError(f"models={models!r} should be a list, such as models=[snb.SoftmaxRegressionCV()]")
    for model in models:
        if not isinstance(model, KINDS):
            raise TypeError(
                f"models has {model!r}; each should be an estimator that is judged on folds, such as "
                "snb.SoftmaxRegressionCV() or snb.ElasticNetCV(); others={'name': model} takes any estimator with fit "
                "and predict"
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


def others_of(others: Mapping[str, Any], given: Any, judging: Judging) -> list[CandidateGroup]:
    """Candidates for estimators of any kind, which take rows in memory."""
    X, y, weight = in_memory(given[0], given[1], given[2], "others=")
    row_checks.check_lengths(X.shape[0], y.shape[0])
    rows = X, y, None if weight is None else np.asarray(weight, np.float64)
    groups = []
    for name, one in others.items():
        plan = f"{name}: fitted to the rows outside each fold, in memory"
        steps = partial(any_estimator, estimator=one, given=rows, judging=judging)
        # an estimator may raise anything
        groups.append(CandidateGroup([name], steps, lambda most_reads: (0, 0), plan, failures=(Exception,)))
    return groups


def group_of(name: str, model: Any, rows: Encoded, judging: Judging, options: RunOptions) -> CandidateGroup:
    """The candidate for an estimator that chooses on folds, or for a stack."""
    about = {"model": judging.applied_to(model), "rows": rows, "judging": judging}
    if isinstance(model, StackedNB):
        return CandidateGroup([name], partial(fitted_anew, **about, options=options), partial(_reads_of_stack, **about))
    if isinstance(model, AdditiveClassifier):
        return CandidateGroup(
            [name],
            partial(additive_model, model=about["model"], given=rows.given, judging=judging, options=options),
            partial(_reads_of_additive, model),
        )
    if isinstance(model, LinearNBCV):
        steps = partial(bayes_on_grid, **about, options=options)
        return CandidateGroup([name], steps, lambda most_reads: (2, 0), f"{name}: 2 reads")
    return CandidateGroup([name], partial(model_of_reads, **about, options=options), partial(_reads_of_model, **about))


def regressions(
    models: Mapping[str, Any], rows: Source, given: Any, judging: Judging, options: RunOptions
) -> list[CandidateGroup]:
    """The candidates for regressions; those of least squares that choose on folds share their reads.

    Additive ones come last, as they take longest, and make columns of the rows as `given`.
    """
    models = {name: judging.applied_to(model) for name, model in models.items()}
    squares = {name: model for name, model in models.items() if isinstance(model, ElasticNetCV)}
    groups = []
    if squares:
        steps = partial(least_squares, models=squares, rows=rows, judging=judging, options=options)
        groups.append(CandidateGroup([*squares], steps, lambda most_reads: (2, 0), f"{', '.join(squares)}: 2 reads"))
    additive = {name: model for name, model in models.items() if isinstance(model, AdditiveRegressor)}
    for name in [name for name in models if name not in squares.keys() | additive.keys()]:
        model = models[name]
        if isinstance(model, GeneralizedRegressorCV):
            steps = partial(generalized, model=model, rows=rows, judging=judging, options=options)
        else:
            as_given = Encoded(rows, (rows, None, None))
            steps = partial(fitted_anew, model=model, rows=as_given, judging=judging, options=options)
        groups.append(CandidateGroup([name], steps, partial(_reads_of_regression, model=model, judging=judging)))
    for name, model in additive.items():
        steps = partial(additive_model, model=model, given=given, judging=judging, options=options)
        groups.append(CandidateGroup([name], steps, partial(_reads_of_additive, model)))
    return groups


def _reads_of_regression(most_reads: int | None, model: Any, judging: Judging) -> tuple[int, int]:
    most = getattr(model, "max_passes", 0)
    most = most if most_reads is None else min(most_reads, most)
    n_times = 1 if isinstance(model, GeneralizedRegressorCV) else judging.n_folds
    return n_times * (most + 2), most + 1


# ---- models of several reads -----------------------------------------------------------------------------------------


def model_of_reads(
    group: CandidateGroup, model: TrainedClassifierCV, rows: Encoded, judging: Judging, options: RunOptions
) -> JudgingSteps:
    """A model whose penalties and number of reads are chosen."""
    learned, further, done = rows.learn(judging, options), True, set[int]()
    scanned, models = scanned_to_choose(model, rows.whole, judging.groups, options), list[FoldModel]()
    report, scorer = scanned.report, as_scorer(model.scoring)
    walks = judging.walks and walks_along(scanned)
    found: list[Judged] = []
    while isinstance(asked := (yield found), ToJudge):
        further, late = asked.most_reads is None, asked.out_of_time
        for folds, own in rows.side_by_side(sorted({*asked.folds} | done) if walks else asked.folds):
            of_folds = scanned
            if rows.nested:
                of_folds = scanned_to_choose(clone(model), own, judging.groups, options)
                report += of_folds.report
            if walks:
                models, of_reads = run_reads(walked_models(of_folds, scorer, folds, models, late))
            else:
                judged, of_reads = run_reads(judged_models(of_folds, scorer, folds, asked.most_reads, late))
                models = models + judged
            report += of_reads
        done |= {*asked.folds}
        group.report = learned + report
        n_reads = group.report.rows // scanned.stats.n_rows
        found = [_at_point(group, judging, done, *choose_best(model, scanned, models), n_reads)]
    learner = scanned.learner
    scanned = replace(scanned, learner=replace(learner, calibration=learner.calibration or judging.calibration))
    fit_best(model, scanned, models, report, further, own=not rows.nested)
    group.report = learned + model.report_
    return rows.finished(model)


def _reads_of_model(
    most_reads: int | None, model: TrainedClassifierCV, rows: Encoded, judging: Judging
) -> tuple[int, int]:
    most = model.max_passes if most_reads is None else min(most_reads, model.max_passes)
    to_judge, to_fit = reads_at_most(model, most)
    if most_reads is None:
        to_fit += 1  # for a sample
    if judging.calibrates and model.get_params().get("calibration") is None:
        to_fit += most + 1
    if rows.nested:
        to_judge = rows.n_reads + 1 + to_judge * rows.n_times(judging.n_folds)
    return to_judge, to_fit


# ---- models that one `fit` judges on all folds -----------------------------------------------------------------------


def bayes_on_grid(
    group: CandidateGroup, model: LinearNBCV, rows: Encoded, judging: Judging, options: RunOptions
) -> JudgingSteps:
    """A `LinearNBCV`, which takes two reads."""
    done = set[int]()
    found: list[Judged] = []
    while isinstance(asked := (yield found), ToJudge):
        if not done:
            with messages.without(ENDS):  # that matter only to the best candidate
                model.fit(*rows.given, groups=judging.groups, **options.fit_options)
            group.report = model.report_ + model.scoring_report_
        done |= {*asked.folds}
        scores, _ = judged_grid(model)
        found = [_at_point(group, judging, done, scores, scores.best(model.rule), 2)]
    linear_nb_cv.warn_of_ends_chosen(model)
    return model


def additive_model(
    group: CandidateGroup,
    model: AdditiveClassifier | AdditiveRegressor,
    given: Any,
    judging: Judging,
    options: RunOptions,
) -> JudgingSteps:
    """An additive model, which chooses on the folds of the search, and opens raw rows with bins of its own."""
    done = set[int]()
    found: list[Judged] = []

    def result(folds: Sequence[int], scores: Mapping[str, np.ndarray], **about: Any) -> Judged:
        on_folds = {name: values[folds] for name, values in scores.items()}
        return Judged.on(folds, judging.n_folds, on_folds, name=group.names[0], words={}, reads=READS_TO_CODE, **about)

    def settles(scores: Mapping[str, np.ndarray], asked: ToJudge) -> bool:
        return beaten(result(list(asked.folds), scores, point={}, n_features=-1), asked.rivals, judging)

    while isinstance(asked := (yield found), ToJudge):
        if not done:
            if asked.most_reads is not None:
                model.set_params(max_passes=asked.most_reads)
            race: dict[str, Any] = {"settles": partial(settles, asked=asked)}
            if isinstance(model, AdditiveRegressor):
                race["scoring"] = partial(scores_of_predictions, scorer=judging.scorer), judging.scorings
                race["offset"] = judging.offset
            fit = fit_in_race(model, given, judging.groups, options, **race)
            chosen = next(fit)
            group.report = chosen.report
        done |= {*asked.folds}
        best = chosen.best
        found = [result(sorted(done), best.each, point=best.point, n_features=chosen.n_features)]
    next(fit, None)
    group.report = model.report_
    return model


def _reads_of_additive(model: AdditiveClassifier | AdditiveRegressor, most_reads: int | None) -> tuple[int, int]:
    return READS_TO_CODE, model.max_passes if most_reads is None else min(most_reads, model.max_passes)


# ---- models that are fitted anew without each fold -------------------------------------------------------------------


def fitted_anew(
    group: CandidateGroup, model: StackedNB | LinearRegressor, rows: Encoded, judging: Judging, options: RunOptions
) -> JudgingSteps:
    """A stack, or a regression that does not choose on folds, fitted anew without each fold.

    It is fitted to all rows, with weight 0 for those of the fold. A stack makes its margins by the folds of the search,
    too: margins of rows outside a fold come from models without that fold and without the fold of the row.
    """
    fit_options, n_rows = options.fit_options, 1
    if isinstance(model, StackedNB):
        fit_options["groups"] = judging.groups
        if judging.n_folds < LEAST_FOLDS:
            raise ValueError(
                f"folds={judging.n_folds} leave no rows outside the fold that judges a stack and the one "
                f"whose margins are made; use {LEAST_FOLDS} at least"
            )
    group.report += rows.learn(judging, options)

    def scores_on(fold: int) -> list[float]:
        nonlocal n_rows
        folding, encoded = judging.folding_of(rows.outside(fold))
        without = clone(model).fit(FoldRows(encoded, folding, fold, inside=False), **fit_options)
        held = FoldRows(encoded, folding, fold, inside=True)
        scores_of = scores_of_numbers if judging.numbers else scores_of_classes
        scores, report = scores_of(without, held, judging.scorer, options)
        group.report += without.report_ + report
        n_rows = report.rows
        return scores

    yield from _fold_by_fold(group, judging, scores_on, lambda: group.report.rows // n_rows)
    best = clone(model).fit(*rows.to_fit, **fit_options)
    group.report += best.report_
    return rows.finished(best)


def scores_of_classes(model: Any, rows: Source, scorer: Scorer, options: RunOptions) -> tuple[list[float], Report]:
    """The scores of a fitted classifier on rows."""
    if "probabilities" in scorer.needs and not hasattr(model, "predict_proba"):
        raise ValueError("a scoring needs probabilities, and its second level has none")
    judged, rows = model_and_rows(model, rows)
    total, report = run(JudgingTask.of_one(judged, {*scorer.needs, "confusion"}), rows, options)
    return [one.of(total.evaluations[0]) for one in scorer.each], report


def _reads_of_stack(most_reads: int | None, model: StackedNB, rows: Encoded, judging: Judging) -> tuple[int, int]:
    fitting = reads_of_fit(model)
    return rows.n_reads + judging.n_folds * (fitting + 1), fitting


def any_estimator(group: CandidateGroup, estimator: Any, given: tuple[Any, Any, Any], judging: Judging) -> JudgingSteps:
    """An estimator of any kind, which is given X, y and weights in memory."""
    X, y, weight = given
    classes = None if judging.numbers or y.ndim == 2 else np.unique(y)

    def scores_on(fold: int) -> list[float]:
        numbers = judging.fold_of_each(y.shape[0])
        training, held = np.flatnonzero(numbers != fold), np.flatnonzero(numbers == fold)
        if classes is not None and len(np.unique(y[training])) < len(classes):
            raise ValueError(
                f"a class has no rows outside fold {fold}; use fewer folds, or folds= that mix the classes"
            )
        of_training, of_held = (None if weight is None else weight[some] for some in (training, held))
        model = fitted_other(estimator, (rows_at(X, training), y[training], of_training))
        if judging.numbers:
            return scores_of_predictions(model.predict(rows_at(X, held)), y[held], of_held, judging.scorer)
        outputs = _outputs(model, rows_at(X, held), judging.scorer.needs)
        judged = evaluate(y[held], classes=classes, sample_weight=of_held, **outputs)
        return [one.of(judged) for one in judging.scorer.each]

    yield from _fold_by_fold(group, judging, scores_on, lambda: -1)
    return fitted_other(estimator, given)


def _fold_by_fold(
    group: CandidateGroup, judging: Judging, scores_on: Callable[[int], list[float]], n_reads: Callable[[], int]
) -> JudgingSteps:
    """Judge a candidate on one fold after the other, as many as time allows, at least one; end when it is the best."""
    scores: dict[int, list[float]] = {}
    found: list[Judged] = []
    while isinstance(asked := (yield found), ToJudge):
        for fold in asked.folds:
            if scores and asked.out_of_time():
                break
            scores[fold] = scores_on(fold)
        done = sorted(scores)
        each = {name: np.array([scores[fold][i] for fold in done]) for i, name in enumerate(judging.scorings)}
        about = {"name": group.names[0], "words": {}, "point": {}, "n_features": -1, "reads": n_reads()}
        found = [Judged.on(done, judging.n_folds, each, **about)]


# ---- results ---------------------------------------------------------------------------------------------------------


def _at_point(
    group: CandidateGroup, judging: Judging, folds: set[int], scores: GridScores, point: int, n_reads: int
) -> Judged:
    """The result of a candidate at a grid point; `scores` are of these folds, or of all."""
    done = sorted(folds)
    of_point = {name: one.scores[point] for name, one in (scores.named or {judging.scorer.name: scores}).items()}
    on_folds = {name: values[done] if len(values) == judging.n_folds else values for name, values in of_point.items()}
    cost = {"n_features": int(scores.n_features[point]), "reads": n_reads}
    about = {"name": group.names[0], "words": {}, "point": dict(scores.grid[point])}
    return Judged.on(done, judging.n_folds, on_folds, **about, **cost)


KINDS = StackedNB, AdditiveClassifier, LinearNBCV, TrainedClassifierCV, LinearRegressor


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

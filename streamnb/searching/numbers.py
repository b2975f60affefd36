"""Searches for numbers: how y is taken, default regressions, and how they are judged on rows they have not seen."""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import is_regressor

from streamnb.additive.regressor import AdditiveRegressor
from streamnb.core import arguments, messages, row_checks
from streamnb.encoding.opening import opened
from streamnb.estimators.chosen import ElasticNetCV
from streamnb.estimators.errors import RegressionEvaluation
from streamnb.estimators.generalized import (
    GammaRegressorCV,
    GeneralizedRegressorCV,
    PoissonRegressorCV,
    TweedieRegressorCV,
    begun,
    finished,
)
from streamnb.estimators.judged import HeldOutResiduals, JudgedNumbers
from streamnb.estimators.penalised import MOST_COLUMNS, Ridge
from streamnb.estimators.regressor import LinearRegressor, loss_of, weights_without_folds
from streamnb.evaluation.scorers import Scorer
from streamnb.passes.contract import Report, RunOptions
from streamnb.passes.fit import answered
from streamnb.passes.passes import Pass, StatisticTask
from streamnb.passes.run import run, run_reads
from streamnb.passes.statistic import Statistic
from streamnb.problem.losses import SQUARES, Loss, TweedieLoss
from streamnb.rows import opening
from streamnb.rows.boundary import computed
from streamnb.rows.labels import TARGETS
from streamnb.rows.row_blocks import Block
from streamnb.rows.source import Source
from streamnb.rows.table_columns import NUMBER, kind_of
from streamnb.rows.table_opening import is_table, open_tables
from streamnb.searching.axes import FEW_CURVES, check_once, is_encoded_table, is_sparse
from streamnb.searching.rounds import CandidateGroup, Judging, JudgingSteps, ToJudge
from streamnb.searching.search_result import Judged

CLASSES, NUMBERS = "classification", "regression"
FEW_CLASSES = 2  # of whole numbers, which nobody takes for measured ones
OF_NUMBERS = ["r2", "neg_root_mean_squared_error", "neg_mean_absolute_error"]
OF_COUNTS = ["d2_poisson", "r2", "neg_mean_absolute_error"]
ALPHAS_OF_WIDE, ROUGHLY = (10.0, 1.0, 0.1), 1e-4
POISSON, GAMMA = TweedieLoss(1.0, "log"), TweedieLoss(2.0, "log")


# ---- how y is taken --------------------------------------------------------------------------------------------------


def task_of(task: str | None, given: Any, estimators: Sequence[Any], scoring: Any, of_classes: bool) -> tuple[str, str]:
    """Whether y has classes or numbers to predict, and a sentence where its whole numbers could be either.

    `estimators` and `scoring` are those of the user; `of_classes` says that other candidates are for classes alone.
    """
    if task is not None:
        return arguments.one_of("task", task, [CLASSES, NUMBERS]), ""
    X, y = given
    named = of_classes or bool(estimators)
    try:
        labels = None if named and y is None else _labels(X, y)
    except row_checks.ContinuousLabels:
        return NUMBERS, ""
    if named:
        return NUMBERS if not of_classes and all(map(is_regressor, estimators)) else CLASSES, ""
    names = scoring if isinstance(scoring, list | tuple) else [scoring]
    if any(isinstance(name, str) and name in SCORERS for name in names):
        return NUMBERS, ""
    if labels is None or row_checks.label_kind(labels) != "numbers":
        return CLASSES, ""
    n_labels = len(np.unique(labels))
    if row_checks.look_measured(n_labels, len(labels)):
        return NUMBERS, f"y: its {n_labels:,} whole numbers are predicted as numbers; task={CLASSES!r} takes classes"
    if n_labels <= FEW_CLASSES:
        return CLASSES, ""
    taken = f"y: its {n_labels:,} whole numbers are classes; task={NUMBERS!r} predicts them as numbers"
    if n_labels >= row_checks.MANY_NUMBERS:  # the search takes long, and its table has this, too
        messages.warn(taken)
    return CLASSES, taken


def check_candidates(task: str, of_classes: Mapping[str, Any], models: Mapping[str, Any]) -> None:
    """Refuse candidates that do not predict what y is taken as."""
    taken = "numbers to predict" if task == NUMBERS else "classes"
    wrong = [
        f"{name}={values!r} is for classes"
        for name, values in of_classes.items()
        if task == NUMBERS and (values or values == 0)
    ]
    wrong += [f"models has {name}" for name, model in models.items() if is_regressor(model) != (task == NUMBERS)]
    if wrong:
        cure = "" if task == NUMBERS else f", or give task={NUMBERS!r}"
        raise ValueError(f"{wrong[0]}, and y is taken as {taken}: leave it out{cure}")


def _labels(X: Any, y: Any) -> Any:
    """The labels of rows, or None where only reading X tells them.

    Raises
    ------
    ContinuousLabels
        They are numbers with fractions.
    """
    if len(getattr(y, "shape", ())) == 2:
        return None
    if isinstance(y, str) and is_table(X):
        tables = open_tables(X, {}, 1)
        if y not in tables.schema.names or kind_of(tables.schema.field(y).type) != NUMBER:
            return None
        return np.concatenate([row_checks.check_labels(piece) for piece in tables.pieces_of(y, "y")])
    if y is None or isinstance(y, str):
        y = _beside(X, y)
    labels = None if y is None else row_checks.check_y(computed(y))
    return None if sp.issparse(labels) else labels


def _beside(X: Any, y: str | None) -> Any:
    """Labels beside the rows of a store; None where rows bring them, of which the first are checked."""
    if y is None and is_table(X):
        return None
    try:
        rows = X.with_columns(targets=True) if isinstance(X, Source) else opening.opened(X, y, labelled=TARGETS)
        if y is not None:
            return rows.whole_column(y, "y")
        first = None if rows.lazy or rows.read_once else next(rows.blocks(), None)
    except (TypeError, ValueError):  # of other labels; the search says what is wrong with them
        return None
    if first is not None and first.y.ndim == 1:
        row_checks.check_labels(first.y)
    return None


@dataclass
class TargetRange(Statistic):
    """The least and the largest target, and the largest distance of one from a whole number."""

    least: Annotated[np.ndarray, np.minimum] = np.inf  # type: ignore[assignment]
    most: Annotated[np.ndarray, np.maximum] = -np.inf  # type: ignore[assignment]
    fraction: Annotated[np.ndarray, np.maximum] = 0.0  # type: ignore[assignment]

    def add_block(self, block: Block) -> None:
        y = block.y if block.weight is None else block.y[block.weight > 0.0]
        if y.ndim == 2:
            raise ValueError(
                f"y has {y.shape[1]} columns; a search predicts one number a row: search for each column, or use "
                "snb.ElasticNetCV, which takes several"
            )
        self.least = np.minimum(self.least, y.min(initial=np.inf))
        self.most = np.maximum(self.most, y.max(initial=-np.inf))
        self.fraction = np.maximum(self.fraction, np.abs(y - np.rint(y)).max(initial=0.0))

    @property
    def are_counts(self) -> bool:
        """Whether targets are whole numbers of at least 0, and not of 0 and 1 alone."""
        return bool(self.least >= 0.0 and self.most > 1.0 and self.fraction == 0.0)


def range_of(rows: Source, options: RunOptions) -> TargetRange:
    """The range of the targets, from a read of the rows."""
    found, _ = run(StatisticTask(TargetRange()), rows, options)
    if found.most == found.least:
        raise ValueError(f"y is {found.least:g} in every row, so there is nothing to predict")
    return found


# ---- candidates and scorings -----------------------------------------------------------------------------------------


def default_regressions(rows: Source, targets: TargetRange, scorer: Scorer) -> list[Any]:
    """The candidates for rows with such targets; least squares predict numbers below 0, which have no deviance."""
    judge = judge_of(scorer)
    if judge.power and (targets.least < 0.0 or (targets.least == 0.0 and judge == GAMMA)):
        raise ValueError(f"scoring={scorer.name!r} is a {judge.kind} deviance, and y has {targets.least:g}; use 'r2'")
    few = rows.n_features is not None and rows.n_features <= FEW_CURVES
    curves = is_encoded_table(rows) or (few and not is_sparse(rows))
    if rows.n_features is not None and rows.n_features > MOST_COLUMNS:
        return [Ridge(alpha, tol=ROUGHLY) for alpha in ALPHAS_OF_WIDE]
    ratios = () if judge.power else (0.0, 0.5, 1.0)
    models: list[Any] = [ElasticNetCV(l1_ratio, standardize=True) for l1_ratio in ratios]
    losses = [] if judge.power else ["squared"]
    if targets.are_counts:
        models.append(PoissonRegressorCV())
        losses.append("poisson")
    elif targets.least == 0.0 and targets.fraction > 0.0:
        models.append(TweedieRegressorCV(1.5))
        losses.append("tweedie")
    if targets.least > 0.0:
        models.append(GammaRegressorCV())
        losses += [] if targets.are_counts else ["gamma"]
    return [*models, *(AdditiveRegressor(loss) for loss in losses if curves)]


def default_scorings(targets: TargetRange) -> list[str]:
    """Deviances for counts with zeros, and the share of the variance for other numbers."""
    return OF_COUNTS if targets.are_counts and targets.least == 0.0 else OF_NUMBERS


def check_offset(task: str, others: Any) -> None:
    """Refuse offsets of searches that have none."""
    if task != NUMBERS:
        raise ValueError(f"offset is of counts and amounts, and task={task!r} is of classes: leave one of them out")
    if others:
        raise ValueError("offset needs models of streamnb, and others= are fitted without one: leave others out")


def exposed_scorings(targets: TargetRange) -> list[str]:
    """The score of targets with exposures."""
    if targets.are_counts:
        return ["d2_poisson"]
    if targets.least > 0.0:
        return ["d2_gamma"]
    raise ValueError(
        f"offset is for counts, or amounts above 0, and y has {targets.least:g} and fractions; of others take rates "
        "y / exposure with sample_weight=exposure"
    )


def with_exposures(models: Mapping[str, Any], scorer: Scorer) -> dict[str, Any]:
    """The candidates with the loss that judges, which alone count exposures as it does."""
    if [one.name for one in scorer.each] not in (["d2_poisson"], ["d2_gamma"]):
        raise ValueError(f"scoring={scorer.name!r} should be 'd2_poisson' or 'd2_gamma' alone, as there is an offset")
    judge = judge_of(scorer)
    found = {name: model for name, model in models.items() if loss_of(model) == judge}
    if not found:
        raise ValueError(
            f"models has none whose loss is that of scoring={scorer.name!r}, such as snb.{judge.kind}RegressorCV()"
        )
    return found


def _scorer(name: str, value: Any, judge: TweedieLoss = SQUARES) -> Scorer:
    return Scorer(name, frozenset({judge.kind}), value)


SCORERS = {
    scorer.name: scorer
    for scorer in (
        _scorer("r2", lambda errors: errors.r2),
        _scorer("neg_mean_squared_error", lambda errors: -(errors.rmse**2)),
        _scorer("neg_root_mean_squared_error", lambda errors: -errors.rmse),
        _scorer("neg_mean_absolute_error", lambda errors: -errors.mae),
        _scorer("d2_poisson", lambda errors: errors.d2, POISSON),
        _scorer("d2_gamma", lambda errors: errors.d2, GAMMA),
        _scorer("neg_mean_poisson_deviance", lambda errors: -errors.mean_deviance, POISSON),
        _scorer("neg_mean_gamma_deviance", lambda errors: -errors.mean_deviance, GAMMA),
    )
}


def scorer_of_numbers(scoring: Any) -> Scorer:
    """The scorer of a name, a function of a `RegressionEvaluation`, or a list of these, of which the first chooses."""
    if isinstance(scoring, list | tuple):
        if not scoring:
            raise ValueError("scoring=[] is empty; give at least one name; the first decides")
        scorers = [scorer_of_numbers(one) for one in scoring]
        check_once("scoring", [scorer.name for scorer in scorers])
        families = {family for scorer in scorers for family in scorer.needs} - {SQUARES.kind}
        if len(families) > 1:
            raise ValueError(f"scoring={scoring!r} has deviances of two families; give those of one")
        return replace(scorers[0], others=tuple(scorers[1:]))
    if callable(scoring) and not isinstance(scoring, str):
        return _scorer(getattr(scoring, "__name__", type(scoring).__name__), scoring)
    return SCORERS[arguments.one_of("scoring", scoring, SCORERS)]


def judge_of(scorer: Scorer) -> TweedieLoss:
    """The family whose deviances a scorer needs."""
    needed = {need for one in scorer.each for need in one.needs}
    return next((family for family in (POISSON, GAMMA) if family.kind in needed), SQUARES)


def scores_of(errors: RegressionEvaluation, scorer: Scorer) -> list[float]:
    """The scores of predictions by each scoring."""
    scores = [float(one.value(errors)) for one in scorer.each]
    if not np.isfinite(scores).all():
        family = judge_of(scorer).kind
        raise ValueError(
            f"it predicts numbers of 0 or below, whose {family} deviance is infinite; scoring='r2' judges it, too"
        )
    return scores


def scores_of_predictions(predicted: Any, y: Any, weight: Any, scorer: Scorer) -> list[float]:
    """The scores of predictions in memory."""
    rows = opened(np.asarray(predicted, np.float64).reshape(-1, 1), y, weight, labelled=TARGETS)
    asked = JudgedNumbers.asked(np.array([[1.0], [0.0]]), SQUARES, judge=judge_of(scorer))
    judged, _ = run(StatisticTask(asked), rows, RunOptions(False))
    return scores_of(RegressionEvaluation.of(judged), scorer)


# ---- how they are judged ---------------------------------------------------------------------------------------------


def least_squares(
    group: CandidateGroup, models: Mapping[str, ElasticNetCV], rows: Source, judging: Judging, options: RunOptions
) -> JudgingSteps:
    """Penalties of least squares, which follow from the sums of one read, and are judged in another."""
    fitted: dict[str, ElasticNetCV] = {}
    scores: dict[str, np.ndarray] = {}
    done, found = set[int](), list[Judged]()
    while isinstance(asked := (yield found), ToJudge):
        if not fitted:
            for name, model in models.items():
                like = next(
                    (one for one in fitted.values() if one.exact == model.exact and one.intervals == model.intervals),
                    None,
                )
                if like is None:
                    fitted[name] = model.fit(rows, groups=judging.groups, **options.fit_options)
                    group.report += model.report_
                else:
                    fitted[name] = copy(like).refit(**model.get_params())
            weights = {name: (weights_without_folds(model), SQUARES) for name, model in fitted.items()}
            scores, residuals, report = _held_out_scores(group, weights, rows, judging, options)
            for name, model in fitted.items():
                model.residuals_ = residuals[name].found()
            group.report += report
        done |= {*asked.folds}
        found = []
        for name in scores.keys() & {*asked.names}:
            model = fitted[name]
            point = {"alpha": model.alpha_, "l1_ratio": model.l1_ratio_}
            n_used = int(np.count_nonzero(model.coef_))
            found.append(_judged(name, scores[name], done, judging, point=point, n_features=n_used, reads=2))
    return fitted[asked.name]


def generalized(
    group: CandidateGroup, model: GeneralizedRegressorCV, rows: Source, judging: Judging, options: RunOptions
) -> JudgingSteps:
    """A generalised model: reads that its penalties and folds share, and one that judges the chosen penalty."""
    (name,) = group.names
    training, scores, report = None, dict[str, np.ndarray](), Report()
    done, found = set[int](), list[Judged]()
    while isinstance(asked := (yield found), ToJudge):
        if training is None:
            if asked.most_reads is not None:
                model.set_params(max_passes=asked.most_reads)
            training = run_reads(begun(model, rows, judging.groups, options, judging.offset))
            weights = training.held_out
            scores, _, report = _held_out_scores(group, {name: (weights, loss_of(model))}, rows, judging, options)
            group.report = training.report + report
        done |= {*asked.folds}
        about = {"point": {"alpha": training.near[0].alpha}, "n_features": len(weights) - 1}
        reads = training.newton.n_reads + 2
        found = [_judged(name, scores[name], done, judging, reads=reads, **about) for name in scores]
    assert training is not None
    run_reads(finished(model, training))
    group.report = training.report + report
    return model


def scores_of_numbers(
    model: LinearRegressor, rows: Source, scorer: Scorer, options: RunOptions
) -> tuple[list[float], Report]:
    """The scores of a model of one target on rows."""
    weights = np.append(model.coef_, model.intercept_)[:, None]
    judged, report = run(
        StatisticTask(JudgedNumbers.asked(weights, loss_of(model), judge=judge_of(scorer))), rows, options
    )
    return scores_of(RegressionEvaluation.of(judged), scorer), report


def _held_out_scores(
    group: CandidateGroup,
    models: Mapping[str, tuple[np.ndarray, Loss]],
    rows: Source,
    judging: Judging,
    options: RunOptions,
) -> tuple[dict[str, np.ndarray], dict[str, HeldOutResiduals], Report]:
    """Scores (n_scorings, n_folds) and residuals on each fold of weights without it, (n_features + 1, n_folds)."""
    scorer, judge = judging.scorer, judge_of(judging.scorer)
    offset = judging.offset is not None
    folding, rows = judging.folding_of(rows.with_columns(offset=judging.offset) if offset else rows)
    passes = [
        Pass(JudgedNumbers.asked(own[:, None], loss, offset, judge=judge), inside=fold)
        for weights, loss in models.values()
        for fold, own in enumerate(weights.T)
    ]
    passes += [Pass(HeldOutResiduals.asked(loss, offset, folding, own)) for own, loss in models.values()]
    totals, report = run_reads(answered(passes, rows, options, folding, "judge"))
    found: dict[str, np.ndarray] = {}
    of_folds = iter(totals)
    for name, (weights, _) in models.items():
        errors = [RegressionEvaluation.of(next(of_folds)) for _ in weights.T]
        try:
            found[name] = np.array([scores_of(of_fold, scorer) for of_fold in errors]).T
        except ValueError as error:
            group.left_out[name] = str(error)
    return found, dict(zip(models, of_folds, strict=True)), report


def _judged(name: str, scores: np.ndarray, done: set[int], judging: Judging, **about: Any) -> Judged:
    """The result of a candidate on the folds so far."""
    folds = sorted(done)
    on_folds = dict(zip(judging.scorings, scores[:, folds], strict=True))
    return Judged.on(folds, judging.n_folds, on_folds, name=name, words={}, **about)

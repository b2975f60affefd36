"""Gathers the facts of an evaluation: metrics, mistakes, thresholds and curves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import expit

from streamnb.core import persistence
from streamnb.estimators.errors import RegressionEvaluation
from streamnb.evaluation.evaluation import Evaluation
from streamnb.evaluation.intervals import described as intervals_of
from streamnb.evaluation.tallied import DECISIONS, has, is_binary, ranking
from streamnb.reporting.drawing import classes_by_area
from streamnb.reporting.facts import (
    ClassCurves,
    CutOff,
    CutOffs,
    FactTable,
    Metric,
    Performance,
    Share,
    SlicedMetrics,
    SliceRow,
    shown,
)

MOST_CELLS = 20  # classes of a confusion matrix
MOST_CLASSES = 15  # in tables of the worst classes, and of mistakes
MOST_CURVES = 6
MOST_SLICES = 40
SLICED = "accuracy", "roc_auc", "recall", "recall_macro", "mae", "mean_error"
NUMBERS = {"roc_auc": "ROC AUC", "mae": "mean absolute error", "mean_error": "mean error"}  # metrics that are no shares
MOST_SLICED = 2  # metrics of slices
N_POINTS = 100  # thresholds of the slider
N_CURVE = 240  # points of a curve
N_BARS = 25  # of a distribution of scores
TAIL = 0.005  # share of the rows at each end whose scores are in the outer bars
CLOSE = 0.01  # of mean probabilities that are those of the scores
MEANINGS = {  # method of Evaluation: name, meaning
    "accuracy": ("Accuracy", "share of rows whose class is right"),
    "balanced_accuracy": ("Balanced accuracy", "mean over classes of the share found"),
    "precision": ("Precision", "of the rows predicted as {label}, the share that is right"),
    "recall": ("Recall", "of the rows of {label}, the share that is found"),
    "f_score": ("F1", "harmonic mean of precision and recall"),
    "matthews_corrcoef": ("Matthews correlation", "0 for guesses, 1 for no mistake"),
    "hamming_loss": ("Hamming loss", "share of labels that are wrong"),
    "jaccard": ("Jaccard index", "labels right, of all labels true or predicted"),
    "roc_auc": ("ROC AUC", "chance that a row of the class scores above a row of another"),
    "average_precision": ("Average precision", "mean precision over all thresholds"),
    "log_loss": ("Log loss", "mean of −ln of the probability of the true class; lower is better"),
    "brier": ("Brier score", "mean squared error of the probabilities; lower is better"),
    "expected_calibration_error": ("Calibration error", "mean gap between probability and frequency; lower is better"),
}
ERRORS = {  # attribute of RegressionEvaluation: name, meaning
    "mae": ("Mean absolute error", "how far predictions are off, on average; lower is better"),
    "rmse": ("Root mean squared error", "the same with more weight for large errors; lower is better"),
    "r2": ("R²", "share of the variance that is explained; 0 for the mean"),
    "mean_error": ("Mean error", "of the true number less the prediction: above 0 where predictions are too low"),
    "d2": ("D²", "share of the deviance that is explained; 0 for the mean"),
    "mean_deviance": ("Mean deviance", "what the model minimises; lower is better"),
    "gini": ("Gini index", "how unequal the true numbers are in the order of predictions; 0 for guesses"),
}
GUESSED = "accuracy", "balanced_accuracy", "matthews_corrcoef", "roc_auc", "log_loss", "brier"
AVERAGED = "precision", "recall", "f_score"
SHARES = "accuracy", "balanced_accuracy", *AVERAGED


def judged(found: Evaluation, other: Evaluation | None = None) -> Performance:
    """The facts of an evaluation, and the metrics of a second one."""
    counted = bool(DECISIONS & found.needs)
    areas = found.roc_auc(average=None) if {"ranking", "margin"} & found.needs else np.full(found.n_classes, np.nan)
    table = found.confusion_matrix() if "confusion" in found.needs and not found.multilabel else None
    curved = classes_by_area(found, areas)
    if len(curved) > MOST_CURVES:
        curved = [*curved[: MOST_CURVES // 2], *curved[-(MOST_CURVES // 2) :]]
    reliable = "reliability" in found.needs and found.n_rows > 0
    small = table is not None and found.n_classes <= MOST_CELLS
    metrics = tuple(_metrics(found, other))
    return Performance(
        n_rows=found.n_rows,
        weight=found.weight,
        interval=found.level,
        independent=not found.is_grouped and not found.multilabel,
        intervals_of="" if found.level is None else intervals_of(found),
        metrics=metrics,
        classes=_classes(found) if counted else None,
        confusion=tuple(map(tuple, table.tolist())) if table is not None and small else None,
        labels=tuple(shown(label) for label in found.classes.tolist()) if small else (),
        mistakes=_mistakes(found) if counted and not found.multilabel else None,
        thresholds=tuple(_thresholds(found, k) for k in curved) if counted else (),
        curves=tuple(_curves(found, k, areas) for k in curved),
        areas={shown(found.classes[k]): float(areas[k]) for k in classes_by_area(found, areas)},
        reliability=found.reliability_curve() if reliable else None,
        calibration_error=found.expected_calibration_error() if reliable else None,
        fingerprint=_fingerprint(found, metrics),
        slices=_slices(found) if has(found, "slices") else None,
        n_unknown=found.n_unknown,
    )


def _fingerprint(found: Evaluation, metrics: Sequence[Metric]) -> str:
    """A fingerprint of the rows judged, which does not depend on their cuts, as sums and kept scores do."""
    return persistence.digest([found.classes, found.n_rows, found.weight, [[one.key, one.value] for one in metrics]])


def judged_numbers(found: RegressionEvaluation, other: RegressionEvaluation | None = None) -> Performance:
    """The facts of the evaluation of a regression, and the metrics of a second one."""
    metrics = tuple(_errors(found, other))
    if found.judged is None:
        return Performance(found.n_rows, float(found.n_rows), None, metrics)
    tallies = found.judged.tallies[0]
    deciles = enumerate(tallies.deciles().tolist(), 1)
    tenths = tuple((at, weight, predicted, true, round(lift, 2)) for at, (weight, predicted, true, lift) in deciles)
    how_many = "rows" if tallies.means.weight == found.n_rows else "weight"
    columns = ("tenth of the rows", how_many, "mean prediction", "true mean", "lift")
    held, ends_of_tenths = [], tallies.deciles()[[0, -1], 1]
    residuals: Any = found.judged.residuals  # there are some where intervals were covered
    for level, inside, low, high, width in tallies.coverage():
        ends = "" if np.isnan(low) else f"{100.0 * low:.1f} to {100.0 * high:.1f} %".replace(" ", "\N{NO-BREAK SPACE}")
        _, lowest, highest = residuals.around(ends_of_tenths, residuals.ends(level)).T
        widths = (*(highest - lowest).tolist(),) if residuals.power else ()
        held.append((f"{100.0 * level:g} %", Share(inside), ends, width, *widths))
    of_intervals = ("interval", "rows inside", "95 % interval", "mean width", "in the lowest tenth", "in the highest")
    return Performance(
        found.n_rows,
        tallies.means.weight,
        tallies.level,
        metrics,
        intervals_of="" if tallies.level is None else found.intervals_of,
        slices=None if found.judged.slices is None else _slices(found),
        guess="the mean",
        about_guesses="“The mean” predicts the mean of these rows for each of them.",
        numbers=found,
        deciles=FactTable("Tenths of the rows, by rising prediction", columns, tenths),
        coverage=FactTable("Intervals", of_intervals[: len(held[0])] if held else of_intervals, tuple(held)),
    )


def _errors(found: RegressionEvaluation, other: RegressionEvaluation | None) -> Iterator[Metric]:
    """The metrics of predicted numbers; of several targets, their means."""
    values, second = (None if one is None else one.summary() for one in (found, other))
    assert values is not None
    guesses = {"r2": 0.0, "d2": 0.0, "mean_error": 0.0, "gini": 0.0}
    if found.judged is not None and found.r2 < 1.0:
        guesses["rmse"] = found.rmse / (1.0 - found.r2) ** 0.5
    if found.judged is not None and found.d2 < 1.0:
        guesses["mean_deviance"] = found.mean_deviance / (1.0 - found.d2)
    for key, (name, meaning) in ERRORS.items():
        if key in values:
            low, high = (values.get(f"{key} {end}") for end in ("low", "high"))
            there = None if second is None else float(np.mean(second.get(key, np.nan)))
            yield Metric(key, name, meaning, float(np.mean(values[key])), low, high, guesses.get(key), there)


# ---- metrics ---------------------------------------------------------------------------------------------------------


def _metrics(found: Evaluation, other: Evaluation | None) -> Iterator[Metric]:
    label, guesses = shown(found.classes[found.positive if is_binary(found) else -1]), _guesses(found)
    for key, (name, meaning) in MEANINGS.items():
        average = ["macro"] if key in AVERAGED and not is_binary(found) else []
        value = _value(found, key, average)
        if value is None or np.isnan(value):
            continue
        ends = [np.nan] if found.level is None else found.interval(key, *average)
        low, high = (None, None) if np.isnan(ends).any() else ends
        name = f"{name}, mean of classes" if average else name
        meaning = meaning.format(label="a class" if average else f"“{label}”")
        second = None if other is None else _value(other, key, average)
        kind = Share if key in SHARES else float
        more = [None if number is None else kind(number) for number in (low, high, guesses.get(key), second)]
        yield Metric(key, name, meaning, kind(value), *more)


def _value(found: Evaluation, key: str, average: list[str]) -> float | None:
    """The value of a metric, None if the evaluation cannot tell it."""
    try:
        return float(getattr(found, key)(*average))
    except ValueError:
        return None


def _guesses(found: Evaluation) -> dict[str, float]:
    """Metrics of guesses that know only the shares of classes: the largest class, with its share as probability."""
    if found.multilabel or not DECISIONS & found.needs or not found.class_weight.any():
        return {}
    values = {key: _value(found.guesses(), key, []) for key in GUESSED}
    return {key: value for key, value in values.items() if value is not None}


# ---- classes and mistakes --------------------------------------------------------------------------------------------


def _classes(found: Evaluation) -> FactTable | None:
    """The classes that have rows, those with the lowest F score first."""
    rates = [map(Share, getattr(found, name)(None).tolist()) for name in AVERAGED]
    columns = zip(map(shown, found.classes.tolist()), found.class_weight.tolist(), *rates, strict=True)
    rows = sorted((row for row in columns if row[1] > 0.0), key=lambda row: row[-1])[:MOST_CLASSES]
    all_there = len(rows) == found.n_classes
    heading = "Classes, the worst first" if all_there else f"The worst {len(rows)} of {found.n_classes} classes"
    return FactTable(heading, ("class", "rows", "precision", "recall", "F1"), tuple(rows)) if rows else None


def _mistakes(found: Evaluation) -> FactTable | None:
    """The pairs of classes with the most rows of the one that were taken for the other."""
    pairs = found.confused_pairs(MOST_CLASSES).itertuples(index=False, name=None)
    rows = tuple((shown(true), shown(taken), float(rows), Share(share)) for true, taken, rows, share in pairs)
    columns = ("true class", "taken for", "rows", "share of the class")
    return FactTable("Most common mistakes", columns, rows) if rows else None


def _slices(found: Evaluation | RegressionEvaluation) -> SlicedMetrics:
    """The slices of the rows; first those whose first metric is the most standard errors below that of all rows."""
    table = found.slices
    names = [name for name in SLICED if (table["metric"] == name).any()][:MOST_SLICED]
    kinds = [float if name in NUMBERS else Share for name in names]
    parts = [table[table["metric"] == name].set_index(table.columns[:2].tolist()) for name in names]
    rows = []
    for at, n_rows in parts[0]["n_rows"].head(MOST_SLICES).items():
        rows_of_parts = [part.loc[[at], ["value", "low", "high"]].to_numpy()[0].tolist() for part in parts]
        numbers: Any = [tuple(map(kind, row)) for kind, row in zip(kinds, rows_of_parts, strict=True)]
        value = "missing" if at[1] is None or at[1] != at[1] else shown(at[1])
        rows.append(SliceRow(shown(at[0]), value, int(n_rows), tuple(numbers)))
    named = tuple(NUMBERS.get(name, name.replace("_macro", "")) for name in names)
    whole = tuple(kind(part["whole"].iloc[0]) for kind, part in zip(kinds, parts, strict=True))
    return SlicedMetrics(named, whole, tuple(rows))


# ---- thresholds and curves -------------------------------------------------------------------------------------------


def _levels(found: Evaluation, k: int) -> tuple[np.ndarray, ...]:
    """Scores from the highest on, and the weight of the class and of the others from each of them on."""
    levels = ranking(found).levels(k)
    return levels.thresholds, np.cumsum(levels.positive), np.cumsum(levels.negative)


def _probabilities(found: Evaluation, scores: np.ndarray, own: np.ndarray, rest: np.ndarray) -> np.ndarray | None:
    """The probabilities of scores, where scores are log-odds; None where these are not known."""
    if "reliability" not in found.needs or found.multilabel:
        return None
    proba = expit(scores)
    if is_binary(found):  # whose scores are those of decision_function, log-odds or not
        each = np.diff(own + rest, prepend=0.0)
        sure, _, share = found.reliability_curve()
        if abs(float(each @ np.maximum(proba, 1.0 - proba)) / each.sum() - float(sure @ share)) > CLOSE:
            return None
    return proba


def _thresholds(found: Evaluation, k: int) -> CutOffs:
    """About a hundred thresholds of a class, among them the model's own decision."""
    scores, own, rest = _levels(found, k)
    at = _spread(own / own[-1], (own + rest) / (own[-1] + rest[-1]), n=N_POINTS)
    proba = _probabilities(found, scores, own, rest)
    points = [
        _threshold(float(scores[i]), None if proba is None else float(proba[i]), own, rest, own[i], rest[i])
        for i in at.tolist()
    ]
    hit = float(found.recall(None)[k]) * own[-1]
    precision = float(found.precision(None)[k])
    wrong = hit / precision - hit if precision > 0.0 else 0.0
    own_score, own_proba = _own(found, scores, own + rest, hit + wrong, proba is not None)
    mine = replace(_threshold(own_score, own_proba, own, rest, hit, wrong), is_own=True)
    place = sum(point.kept <= mine.kept for point in points)
    return CutOffs(shown(found.classes[k]), (*points[:place], mine, *points[place:]), place)


def _own(
    found: Evaluation, scores: np.ndarray, kept: np.ndarray, mine: float, log_odds: bool
) -> tuple[float | None, float | None]:
    """The score of two classes from which on the model decides for one, and its probability, where they are known."""
    last = int(np.searchsorted(kept, mine * (1.0 - 1e-12)))
    if not is_binary(found) or last + 1 >= len(kept) or abs(kept[last] - mine) > 1e-9 * kept[-1]:
        return None, None
    high, low = float(scores[last]), float(scores[last + 1])
    score = 0.0 if high >= 0.0 >= low else high
    return score, float(expit(score)) if log_odds else None


def _threshold(score: Any, proba: Any, own: np.ndarray, rest: np.ndarray, hit: float, wrong: float) -> CutOff:
    whole = float(own[-1] + rest[-1])
    precision = float(hit / (hit + wrong)) if hit + wrong > 0.0 else 0.0
    shares = float(wrong) / whole, float(own[-1] - hit) / whole
    return CutOff(score, proba, float(hit + wrong) / whole, precision, float(hit / own[-1]), *shares)


def _curves(found: Evaluation, k: int, areas: np.ndarray) -> ClassCurves:
    scores, own, rest = _levels(found, k)
    at = _spread(own / own[-1], rest / rest[-1], n=N_CURVE)
    each, others = np.diff(own, prepend=0.0), np.diff(rest, prepend=0.0)
    proba = _probabilities(found, scores, own, rest)
    values = scores if proba is None else proba
    low, high = _range(scores, each + others) if proba is None else (0.0, 1.0)
    ends = np.linspace(low, high, N_BARS + 1)
    distribution = [np.histogram(np.clip(values, low, high), ends, weights=one)[0] for one in (each, others)]
    return ClassCurves(
        label=shown(found.classes[k]),
        roc_auc=float(areas[k]),
        average_precision=float(each @ (own / (own + rest))) / float(own[-1]),
        share=float(own[-1] / (own[-1] + rest[-1])),
        found=own[at] / own[-1],
        others=rest[at] / rest[-1],
        ends=ends,
        own=distribution[0] / own[-1],
        rest=distribution[1] / rest[-1],
        of_probabilities=proba is not None,
    )


def _range(values: np.ndarray, weights: np.ndarray) -> tuple[float, float]:
    """The lowest and highest of falling values, leaving out their tails and values that are not finite."""
    finite = np.isfinite(values)
    if not finite.any():
        return -1.0, 1.0
    values, share = values[finite], np.cumsum(weights[finite]) / weights[finite].sum()
    high, low = (float(values[min(int(np.searchsorted(share, at)), len(values) - 1)]) for at in (TAIL, 1.0 - TAIL))
    return (low, high) if high > low else (low - 0.5, low + 0.5)


def _spread(*rising: np.ndarray, n: int) -> np.ndarray:
    """The numbers of about n points that are spread evenly along curves that rise to 1, with the last one."""
    each, last = -(-n // len(rising)), len(rising[0]) - 1
    chosen = [
        np.minimum(np.searchsorted(curve, np.linspace(1.0 / each, 1.0, each) * (curve[-1] * (1.0 - 1e-12))), last)
        for curve in rising
    ]
    return np.unique(np.concatenate(chosen))

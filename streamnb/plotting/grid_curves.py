"""Draws scores along a grid as curves, for all classes or one, on held-out and training rows."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from streamnb.core import arguments
from streamnb.estimators.linear_nb_cv import LinearNBCV, judged_grid
from streamnb.estimators.trained_cv import TrainedClassifierCV, judged_reads
from streamnb.plotting.drawing import scoring_label, tau_name
from streamnb.selection.score_table import GridScores
from streamnb.selection.split_intervals import split_interval


def curves_of(estimator: Any, against: str | None, class_: Any, train: bool) -> dict[str, Any]:
    """The arguments of a `ScoreDisplay`, by name."""
    if not isinstance(estimator, LinearNBCV | TrainedClassifierCV):
        raise TypeError(f"estimator={estimator!r} should be a fitted snb.LinearNBCV, SoftmaxRegressionCV or the like")
    check_is_fitted(estimator, "cv_results_")
    if isinstance(estimator, TrainedClassifierCV):
        return _of_reads(estimator, against, class_, train)
    (scores, grid), table = judged_grid(estimator), estimator.cv_results_
    kinds = sorted(scores.grid[0], key=lambda kind: -len(set(map(str, table[f"param_{kind}"].tolist()))))
    against = kinds[0] if against is None else arguments.one_of("against", against, [*kinds, "n_features"])
    axis = kinds[0] if against == "n_features" else against
    rest = [point_text({kind: point[kind] for kind in kinds if kind != axis}) for point in scores.grid]
    names, of_class = list(dict.fromkeys(rest)), ""
    chosen, shown = scores.best(estimator.rule), scores
    chosen_name = f"{point_text(scores.grid[chosen])}, {scores.n_features[chosen]:,} features"
    if class_ is not None:
        shown, chosen, chosen_name = _of_class(scores, class_, estimator.rule)
        of_class = f" of class {class_}"
    elif estimator.rule == "per_split":
        chosen_name = "a number for each class; the best for all"
    if train and shown.train is None:
        raise ValueError("train=True needs scores of training rows; fit with return_train_score=True")
    return {
        "x": np.asarray(shown.n_features if against == "n_features" else table[f"param_{against}"], dtype=np.float64),
        "mean": shown.mean,
        "std": shown.std,
        "lines": np.array([names.index(name) for name in rest]),
        "line_names": names,
        "chosen": chosen,
        "chosen_name": chosen_name,
        "ends": split_interval(shown.scores[chosen], shown.scores.shape[1] // estimator.repeats),
        "least": shown.least(estimator.rule),
        "x_name": tau_name(against, grid) + (of_class.replace("of", "for") if against == "n_features" else ""),
        "score_name": _scoring_name(estimator) + of_class,
        "rule": estimator.rule,
        "train": shown.train.mean if train and shown.train is not None else None,
    }


def _of_reads(estimator: TrainedClassifierCV, against: str | None, class_: Any, train: bool) -> dict[str, Any]:
    """The scores after each read, with a line for each penalty; against a penalty, those after its best read."""
    if train:
        raise ValueError(f"train=True: {type(estimator).__name__} does not judge training rows")
    scores, chosen = judged_reads(estimator)
    of_class = "" if class_ is None else f" of class {class_}"
    if class_ is not None:
        scores, chosen = judged_reads(estimator, _number_of(scores, class_))
    kinds = [*scores.grid[0]][::-1]  # max_passes, then the penalties
    usual = kinds[np.unique([point["max_passes"] for point in scores.grid]).size == 1]  # products take no reads
    against = usual if against is None else arguments.one_of("against", against, [*kinds, "n_features"])
    left_out = {against, "max_passes"}
    tables = {kind: np.array([point[kind] for point in scores.grid], dtype=np.float64) for kind in kinds}
    varied = [kind for kind in kinds[::-1] if kind not in left_out and len(np.unique(tables[kind])) > 1]
    shown = np.arange(len(scores.grid))
    if against != "max_passes":  # each penalty has a point for each read; keep its best
        order = np.lexsort([-scores.mean, shown != chosen, *(tables[kind] for kind in kinds[1:])])
        points = np.array([tables[kind][order] for kind in kinds[1:]]).T
        shown = np.sort(order[np.append(True, (points[1:] != points[:-1]).any(axis=1))])
    rest = [point_text({kind: scores.grid[i][kind] for kind in varied}) for i in shown.tolist()]
    names = list(dict.fromkeys(rest))
    return {
        "x": (scores.n_features if against == "n_features" else tables[against])[shown].astype(np.float64),
        "mean": scores.mean[shown],
        "std": scores.std[shown],
        "lines": np.array([names.index(name) for name in rest]),
        "line_names": names,
        "chosen": int(np.flatnonzero(shown == chosen)[0]),
        "chosen_name": f"{point_text(scores.grid[chosen])}, {scores.n_features[chosen]:,} features",
        "ends": split_interval(scores.scores[chosen], scores.scores.shape[1]),
        "least": scores.least(estimator.rule),
        "x_name": {"max_passes": "reads of the rows", "l1": "L1 penalty", "l2": "L2 penalty"}.get(against)
        or tau_name(against, None),
        "score_name": _scoring_name(estimator) + of_class,
        "rule": estimator.rule,
    }


def _scoring_name(estimator: Any) -> str:
    scoring = estimator.scoring[0] if isinstance(estimator.scoring, list | tuple) else estimator.scoring
    return scoring_label(scoring) if isinstance(scoring, str) else getattr(scoring, "__name__", "score")


def _number_of(scores: GridScores, label: Any) -> int:
    """The index of a class."""
    labels = scores.classes.tolist()
    if scores.class_scores is None:
        raise ValueError(f"class_={label!r}: there is no score of each class; take a scoring that has one")
    if label not in labels:
        raise ValueError(f"class_={label!r} is not a class; it should be one of {', '.join(map(repr, labels))}")
    return labels.index(label)


def _of_class(scores: GridScores, label: Any, rule: str) -> tuple[GridScores, int, str]:
    """The scores of one class with its features, and the index and name of the point that the rule chooses for it."""
    k = _number_of(scores, label)
    chosen = int(scores.class_best(rule)[k])
    if chosen < 0:
        raise ValueError(f"class_={label!r} has no score in any split")
    n_features, point = scores.n_features_per_class[chosen, k], scores.grid[chosen]
    if rule == "per_split":  # its number of features need not be on the grid
        n_features = scores.per_split()[0][k]
        point = {**point, "top_k": int(n_features)}
    return scores.of_class(k), chosen, f"{point_text(point)}, {n_features:,} features"


def point_text(point: dict[str, Any]) -> str:
    """A point of a grid as text."""
    return ", ".join(
        f"{kind} = {tau}" if isinstance(tau, dict) else f"{kind} = {tau:,.4g}" for kind, tau in point.items()
    )

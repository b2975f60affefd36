"""Scores of a grid as curves: of all classes or of one, on held-out and on training rows."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from streamnb.core import arguments
from streamnb.estimators.linear_nb_cv import LinearNBCV, judged_grid
from streamnb.plotting.drawing import tau_name
from streamnb.selection.grid_scores import GridScores


def curves_of(estimator: LinearNBCV, against: str | None, class_: Any, train: bool) -> dict[str, Any]:
    """What a `ScoreDisplay` is made of, by name."""
    if not isinstance(estimator, LinearNBCV):
        raise TypeError(f"estimator={estimator!r} should be a fitted snb.LinearNBCV")
    check_is_fitted(estimator, "cv_results_")
    (scores, grid), table = judged_grid(estimator), estimator.cv_results_
    kinds = sorted(scores.grid[0], key=lambda kind: -len(set(map(str, table[f"param_{kind}"].tolist()))))
    against = kinds[0] if against is None else arguments.one_of("against", against, [*kinds, "n_features"])
    axis = kinds[0] if against == "n_features" else against
    rest = [told({kind: point[kind] for kind in kinds if kind != axis}) for point in scores.grid]
    names, of_class = list(dict.fromkeys(rest)), ""
    chosen, shown = scores.best(estimator.rule), scores
    chosen_name = f"{told(scores.grid[chosen])}, {scores.n_features[chosen]:,} features"
    if class_ is not None:
        shown, chosen, chosen_name = _of_class(scores, class_, estimator.rule)
        of_class = f" of class {class_}"
    elif estimator.rule == "per_split":
        chosen_name = "a number for each class; the best for all"
    if train and shown.train is None:
        raise ValueError("train=True needs scores of training rows; fit with return_train_score=True")
    scoring = estimator.scoring[0] if isinstance(estimator.scoring, list | tuple) else estimator.scoring
    return {
        "x": np.asarray(shown.n_features if against == "n_features" else table[f"param_{against}"], dtype=np.float64),
        "mean": shown.mean,
        "std": shown.std,
        "lines": np.array([names.index(name) for name in rest]),
        "line_names": names,
        "chosen": chosen,
        "chosen_name": chosen_name,
        "least": shown.least(estimator.rule),
        "x_name": tau_name(against, grid) + (of_class.replace("of", "for") if against == "n_features" else ""),
        "score_name": (scoring if isinstance(scoring, str) else getattr(scoring, "__name__", "score")) + of_class,
        "rule": estimator.rule,
        "train": shown.train.mean if train and shown.train is not None else None,
    }


def _of_class(scores: GridScores, label: Any, rule: str) -> tuple[GridScores, int, str]:
    """The scores of one class, with its features, and the point that the rule chooses for it, with a name."""
    labels = scores.classes.tolist()
    if scores.class_scores is None:
        raise ValueError(f"class_={label!r}: there is no score of each class; take a scoring that has one")
    if label not in labels:
        raise ValueError(f"class_={label!r} is not a class; it should be one of {', '.join(map(repr, labels))}")
    k = labels.index(label)
    chosen = int(scores.class_best(rule)[k])
    if chosen < 0:
        raise ValueError(f"class_={label!r} has no score in any split")
    n_features, point = scores.n_features_per_class[chosen, k], scores.grid[chosen]
    if rule == "per_split":  # the number need not be on the grid
        n_features = scores.per_split()[0][k]
        point = {**point, "top_k": int(n_features)}
    return scores.of_class(k), chosen, f"{told(point)}, {n_features:,} features"


def told(point: dict[str, Any]) -> str:
    """A point of a grid in words."""
    return ", ".join(
        f"{kind} = {tau}" if isinstance(tau, dict) else f"{kind} = {tau:,.4g}" for kind, tau in point.items()
    )

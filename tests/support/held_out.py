"""Rows of few persons, of which folds lack classes and features; and what a model says of held-out rows, scored by
scikit-learn: what cross-validation should say of a fold, within the ties that rounding may break."""

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp
from sklearn import metrics

NEAR = 1e-6  # of the largest score, that rounding may move one by
RANKED = {"roc_auc": metrics.roc_auc_score, "average_precision": metrics.average_precision_score}


@dataclass
class Persons:
    """Rows x with labels (n,) or an indicator (n, K), the fold of each, and weights or None."""

    x: np.ndarray
    y: np.ndarray
    folds: np.ndarray
    weight: np.ndarray | None
    classes: np.ndarray

    @property
    def multilabel(self):
        return self.y.ndim == 2

    @property
    def weights(self):
        return np.ones(len(self.y)) if self.weight is None else self.weight

    def of(self, some):
        return self.x[some], self.y[some], None if self.weight is None else self.weight[some]


def persons(seed, multilabel):
    """Features and labels that none, one, two or more persons have; whole persons are in a fold."""
    rng = np.random.default_rng(seed)
    n_persons, n_features, n_classes = rng.integers(4, 9), rng.choice([1, 3, 6, 12, 16]), rng.integers(2, 5)
    who = np.repeat(np.arange(n_persons), rng.integers(2, 7))
    x = rng.poisson(rng.choice([0.5, 2.0]), (len(who), n_features)).astype(float)

    def rows_of(n):
        return np.isin(who, rng.choice(n_persons, min(n, n_persons), replace=False))

    for j in np.flatnonzero(rng.random(n_features) < 0.3):
        x[~rows_of(rng.integers(0, 3)), j] = 0.0
    if multilabel:
        y = np.stack([rows_of(n) for n in rng.choice([0, 1, 1, 2, 3, n_persons // 2], n_classes)], axis=1).astype(int)
        y[y[:, -1] == 1, :-1] = 0  # the last may be the reference
    else:
        y = rng.integers(0, max(n_classes - 1, 2), n_persons)[who]
        y[rows_of(rng.integers(0, 3))] = n_classes - 1
    folds = rng.permutation(np.arange(n_persons) % rng.integers(2, 5))[who]
    weight = None if rng.random() < 0.5 else rng.choice([0.0, 0.5, 1.0, 2.0], len(who))
    return Persons(x, y, folds, weight, np.arange(n_classes))


def agrees(value, model, rows, held, scoring, joint, reference=None):
    """Whether a score is what scikit-learn says of a model's answers to the rows held; `joint` scores tell log-odds."""
    x, y, weight = rows.x[held], rows.y[held], rows.weights[held]
    x, y, weight = (part[weight > 0.0] for part in (x, y, weight))
    if not len(y):
        return np.isnan(value)
    scores = np.clip(model.decision_function(x), -1e30, 1e30)
    if scoring not in ("neg_log_loss", "roc_auc", "roc_auc_reference", "average_precision"):
        if scores.ndim == 1 or rows.multilabel:
            gaps = np.abs(scores)
        else:
            gaps = np.diff(np.sort(scores, axis=1)[:, -2:])
        if (gaps < NEAR).any():
            return True  # which rounding decides
        known = metrics.accuracy_score(y, model.predict(x), sample_weight=weight)
        if scoring == "balanced_accuracy":
            each = {"labels": np.unique(y), "average": None}
            known = np.mean(metrics.recall_score(y, model.predict(x), **each, sample_weight=weight))
        elif scoring != "accuracy":
            name, average = scoring.split("_")
            score = getattr(metrics, f"{name}_score")
            known = score(y, model.predict(x), average=average, sample_weight=weight, zero_division=0.0)
        return np.isclose(value, known, atol=1e-9)
    if scoring == "neg_log_loss":
        proba, asked = model.predict_proba(x), {"sample_weight": weight}
        if not rows.multilabel:
            return np.isclose(value, -metrics.log_loss(y, proba, labels=rows.classes, **asked), rtol=1e-6)
        sides = [(y[:, k], np.column_stack([1.0 - p, p])) for k, p in enumerate(proba.T)]
        return np.isclose(
            value, -np.mean([metrics.log_loss(*each, labels=[0, 1], **asked) for each in sides]), rtol=1e-6
        )
    low, high = np.nanmean([[np.nan] * 2, *_ranked(scores, y, weight, rows, scoring, joint, reference)], axis=0)
    return np.isnan(value) if np.isnan(low) else low - 1e-6 <= value <= high + 1e-6


def _ranked(scores, y, weight, rows, scoring, joint, reference):
    """The least and the largest value of each class whose rows and others are there."""
    own = y == 1 if rows.multilabel else y[:, None] == rows.classes
    n_classes = own.shape[1]
    if scores.ndim == 1:
        scores = scores[:, None] if rows.multilabel else np.column_stack([-scores, scores])
    if rows.multilabel and reference is not None:
        scores = np.insert(scores, reference, -scores.max(axis=1), axis=1)
    elif not rows.multilabel and n_classes > 2 and joint and scoring != "roc_auc_reference":
        scores = np.column_stack([s - logsumexp(np.delete(scores, k, axis=1), axis=1) for k, s in enumerate(scores.T)])
    two = n_classes == 2 and not rows.multilabel
    for k in [1] if two else range(n_classes):
        against = ~own[:, k]
        if scoring == "roc_auc_reference":
            against = own[:, 0 if two else reference]
        some = own[:, k] ^ against
        if k != reference or two or scoring != "roc_auc_reference":
            yield _bounds(RANKED.get(scoring, metrics.roc_auc_score), own[some, k], scores[some, k], weight[some])


def _bounds(metric, own, scores, weight):
    if own.all() or not own.any():
        return np.nan, np.nan
    scale = NEAR * (1.0 + np.abs(scores[np.abs(scores) < 1e29]).max(initial=0.0))
    gaps = np.abs(scores[own][:, None] - scores[~own])
    shift = scale * own if ((gaps > 0.0) & (gaps < scale)).any() else 0.0
    return tuple(metric(own, scores + sign * shift, sample_weight=weight) for sign in (-1.0, 1.0))

"""Variances of metrics by numbers alone: what each row adds is the change of the metric with a little more weight."""

import numpy as np

import streamnb as snb

STEP = 1e-5


def drawn(seed, n=60, K=3, multilabel=False, tied=False, **options):
    """The arguments of an `Evaluation` and of `add`, of rows with scores that tell a little of their class."""
    rng = np.random.default_rng(seed)
    labels = rng.random((n, K)) < 0.4 if multilabel else rng.choice(K, n, p=np.arange(1, K + 1) / (K * (K + 1) / 2))
    scores = rng.normal(size=(n, K)) + (labels if multilabel else np.eye(K)[labels])
    scores = np.round(scores) if tied else scores
    proba = 1.0 / (1.0 + np.exp(-scores)) if multilabel else np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    outputs = {"ranking": scores, "log_proba": np.log(proba), "predicted": scores.argmax(axis=1)}
    if multilabel:
        labels, outputs["predicted"] = labels.astype(int), (scores > 0.5).astype(int)
    elif K == 2:
        outputs["ranking"] = scores[:, 1] - scores[:, 0]
    else:
        outputs["margin"] = scores + 0.5 * rng.normal(size=scores.shape)
    needs = {"confusion", "ranking", "probabilities", "reliability"} | ({"multilabel"} if multilabel else set())
    needs |= {"margin", "pairs"} if "margin" in outputs else set()
    return {"n_classes": K, "needs": needs, "multilabel": multilabel, **options}, labels, outputs


def judged(made, labels, outputs, weight=None, groups=None, cuts=()):
    """The evaluation of rows that are added in pieces."""
    evaluation = snb.Evaluation(**made)
    for some in np.split(np.arange(len(labels)), cuts):
        beside = {"groups": groups[some]} if groups is not None else {}
        own = None if weight is None else weight[some]
        evaluation.add(labels[some], own, **{name: part[some] for name, part in outputs.items()}, **beside)
    return evaluation


def influences(problem, metrics, weight=None):
    """What each row adds to each metric for each unit of its weight, (n, ..), by symmetric differences."""
    made, labels, outputs = problem
    made = {**made, "interval": None, "grouped": False}
    weight = np.ones(len(labels)) if weight is None else weight
    found = [[] for _ in metrics]
    for row in range(len(labels)):
        ends = (weight + sign * STEP * (np.arange(len(labels)) == row) for sign in (1.0, -1.0))
        more, less = (judged(made, labels, outputs, end) for end in ends)
        for added, (name, options) in zip(found, metrics, strict=True):
            difference = np.subtract(getattr(more, name)(**options), getattr(less, name)(**options))
            added.append(difference / (2.0 * STEP))
    return [np.array(added) for added in found]


def of_groups(added, groups):
    """Variance of a metric whose rows come in groups, and the number of groups that matter to it."""
    sums = np.array([added[groups == g].sum(axis=0) for g in np.unique(groups)])
    n = (np.abs(sums) > 1e-9).sum(axis=0)
    return np.square(sums).sum(axis=0) * n / (n - 1), n

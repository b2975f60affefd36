"""Rows and sets of labels as a model judged them, drawn by hypothesis or at random, and their Evaluation."""

import numpy as np
from hypothesis import strategies as st

import streamnb as snb

EVERYTHING = ("confusion", "ranking", "pairs", "probabilities", "multilabel")
WEIGHTS = [0.25, 0.5, 1.0, 2.0, 3.0]
TIED = [-2.0, -1.5, -0.5, 0.0, 0.25, 0.5, 3.0]
WIDE = st.one_of(st.sampled_from(TIED), st.floats(allow_nan=False), st.floats(-4, 4), st.floats(1e-17, 1e-15))
FEW_SCORES, FEW_WEIGHTS = st.sampled_from(TIED), st.sampled_from(WEIGHTS)


class Judged:
    """Rows and what a model says of them."""

    def __init__(self, n_classes, codes, predicted, ranking, weight):
        self.n_classes = n_classes
        self.codes, self.predicted, self.weight = np.array(codes), np.array(predicted), np.array(weight)
        self.ranking = np.array(ranking, float).reshape(len(codes), n_classes)
        odds = np.exp(np.clip(self.ranking, -20.0, 20.0))
        self.proba = odds / odds.sum(axis=1, keepdims=True)

    def said(self, rows=slice(None)):
        said = dict(predicted=self.predicted, ranking=self.ranking, log_proba=np.log(self.proba))
        return {name: values[rows] for name, values in said.items()}

    def evaluation(self, rows=slice(None), **options):
        evaluation = snb.Evaluation(self.n_classes, EVERYTHING, **options)
        evaluation.add(self.codes[rows], self.weight[rows], **self.said(rows))
        return evaluation

    def sides(self, k):
        return self.codes == k, self.ranking[:, k]


@st.composite
def judged_rows(draw, n_classes=None, scores=FEW_SCORES, weights=FEW_WEIGHTS, min_rows=1):
    n_classes = n_classes or draw(st.integers(2, 4))
    n = draw(st.integers(min_rows, 25))
    classes = st.lists(st.integers(0, n_classes - 1), min_size=n, max_size=n)
    ranking = draw(st.lists(scores, min_size=n * n_classes, max_size=n * n_classes))
    weight = draw(st.lists(weights, min_size=n, max_size=n))
    return Judged(n_classes, draw(classes), draw(classes), ranking, weight)


def random_rows(n_classes, n, seed, *, integer_weights=True):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, n_classes, n)
    ranking = rng.normal(scale=2.0, size=(n, n_classes))
    ranking[np.arange(n), codes] += 1.0
    ranking[rng.random((n, n_classes)) < 0.1] = 0.0
    weight = rng.integers(1, 4, n).astype(float) if integer_weights else rng.gamma(1.0, size=n)
    return Judged(n_classes, codes, ranking.argmax(axis=1), ranking, weight)


@st.composite
def judged_sets(draw):
    n, n_labels = draw(st.integers(1, 12)), draw(st.integers(2, 4))
    sets = st.lists(st.integers(0, 1), min_size=n * n_labels, max_size=n * n_labels)
    scores = st.lists(st.sampled_from(TIED), min_size=n * n_labels, max_size=n * n_labels)
    true, found, ranking = (np.array(draw(x)).reshape(n, n_labels) for x in (sets, sets, scores))
    weight = np.array(draw(st.lists(st.sampled_from(WEIGHTS), min_size=n, max_size=n)))
    return true, found, ranking.astype(float), weight


def set_evaluation(true, found, ranking, weight, needs=EVERYTHING, **options):
    e = snb.Evaluation(true.shape[1], needs, multilabel=True, **options)
    e.add(true, weight, predicted=found, ranking=ranking, log_proba=-np.log1p(np.exp(-ranking)))
    return e

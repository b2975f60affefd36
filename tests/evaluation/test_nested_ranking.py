"""Nested models have the areas that scikit-learn finds in their scores."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from streamnb.evaluation.reference_evaluation import NestedRanking, Steps

N, G = 400, 12
rng = np.random.default_rng(3)
LABELS = rng.integers(0, 2, (N, 1)).astype(np.uint8)
WEIGHT = rng.integers(1, 4, N).astype(float)
CHANGES = rng.normal(size=(N, G)) * (rng.random((N, G)) < 0.3) + 0.1 * LABELS
SCORES = CHANGES.cumsum(axis=1)
SCORES[7, 5:] = np.inf
SCORES[8, :5] = -np.inf


def steps_of(scores):
    """Where they change."""
    first = np.ones((len(scores), 1), bool)
    starts = np.hstack([first, scores[:, 1:] != scores[:, :-1]]).T
    return Steps(starts.sum(axis=1).cumsum(), np.nonzero(starts)[1].astype(np.int32), scores.T[starts])


def empty(exact_rows):
    return NestedRanking(1, multilabel=True, pairs=False, exact_rows=exact_rows, n_bins=512, n_models=G)


def ranking(n_rows, exact_rows, step):
    one = empty(exact_rows)
    for first in range(0, n_rows, step):
        some = slice(first, min(first + step, n_rows))
        one.add_steps(steps_of(SCORES[some]), LABELS[some], WEIGHT[some])
    return one


@pytest.mark.parametrize("exact_rows", [N, 150, 0])
def test_against_scikit_learn(exact_rows):
    whole = ranking(N, exact_rows, 70)
    alike = ranking(N, exact_rows, N)
    part, rest = ranking(100, exact_rows, 30), empty(exact_rows)
    rest.add(SCORES[100:, None], LABELS[100:], WEIGHT[100:])  # all scores, not steps
    again = empty(exact_rows)
    again.restore((part + rest)._to_state())
    for g in range(G):
        one = whole.of_point(g)
        finite = np.clip(SCORES[:, g], -1e9, 1e9)
        area, error = roc_auc_score(LABELS[:, 0], finite, sample_weight=WEIGHT), one.auc_error(0)
        assert error == 0.0 if exact_rows == N else 0.0 < error < 5e-3
        assert one.auc(0) == pytest.approx(area, abs=error + 1e-12)
        assert one.auc(0) == alike.of_point(g).auc(0) == again.of_point(g).auc(0) == whole.areas()[0, g]
        assert whole.areas()[1, g] == pytest.approx(error, rel=1e-12)


def test_areas_follow_what_is_added_later():
    one = ranking(200, 0, 200)
    before = one.of_point(3).auc(0)
    both = one + ranking(200, 0, 200)
    assert both.of_point(3).auc(0) == before and both.n_rows == 400
    one.add_steps(steps_of(SCORES[200:]), LABELS[200:], WEIGHT[200:])
    assert one.of_point(3).auc(0) == ranking(N, 0, N).of_point(3).auc(0) != before

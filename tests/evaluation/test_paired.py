"""Sums of differences of models, row by row, against loops over rows."""

import numpy as np
import pytest
from scipy.special import logit

import streamnb as snb
from streamnb.evaluation.judging import JudgedModel, JudgingTask, needs_in_full
from streamnb.passes.contract import RunOptions
from streamnb.passes.run import run
from streamnb.rows.labels import open_columns
from streamnb.rows.opening import opened
from streamnb.rows.source import Source
from streamnb.searching.comparing_models import Differences
from tests.evaluation.test_differences import naive_areas

rng = np.random.default_rng(1)
Y = rng.integers(0, 3, 90)
X = rng.poisson(1.0 + (Y[:, None] == np.arange(4) % 3)).astype(float)
WEIGHT = rng.choice([1.0, 2.0, 3.0], 90)
STATS = snb.scan(X[::2], Y[::2])
NAMES = "poisson", "bernoulli"
LINEAR = {name: snb.solve(STATS, name)[0] for name in NAMES}


def summed(y, weight=WEIGHT):
    rows = Source(open_columns(None, None, None, False))
    models = {name: JudgedModel(model, needs_in_full(model, model), rows) for name, model in LINEAR.items()}
    task = JudgingTask(models, STATS.classes, False, 0.95)
    return task, run(task, opened(X, y, weight), RunOptions(progress=False))[0]


def test_sums_are_those_of_a_loop_over_rows():
    strange = np.where(np.arange(90) < 10, 7, Y)  # a label that no model knows
    task, whole = summed(strange)
    said = [(model.predict(X), model.predict_proba(X)) for model in LINEAR.values()]
    won = lost = 0.0
    total, squares = {}, {}
    for i, (truth, weight) in enumerate(zip(strange, WEIGHT)):
        right = [labels[i] == truth for labels, _ in said]
        if truth == 7:
            continue
        won, lost = won + weight * (right[1] > right[0]), lost + weight * (right[0] > right[1])
        log = [-np.log(proba[i, truth]) for _, proba in said]
        brier = [np.square(proba[i] - np.eye(3)[truth]).sum() for _, proba in said]
        for name, (first, second) in (("log_loss", log), ("brier", brier)):
            total[name] = total.get(name, 0.0) + weight * (second - first)
            squares[name] = squares.get(name, 0.0) + weight * (second - first) ** 2
    expected = [won - lost, *total.values(), won + lost, *squares.values(), WEIGHT[10:].sum()]
    np.testing.assert_allclose(whole.differences.sums[0], expected, rtol=1e-12)
    assert [metric for _, metric in task.paired] == ["accuracy", "log_loss", "brier"] and task.ranked == [*NAMES]
    assert whole.nbytes > 0


def test_areas_are_paired_by_delong():
    task, total = summed(Y, weight=None)
    found = Differences(task, total).of("roc_auc", "bernoulli")
    odds = [logit(model.predict_proba(X)) for model in LINEAR.values()]
    draws = np.random.default_rng(0).integers(0, 90, (300, 90))

    def macro(rows, scores):
        return np.mean([naive_areas(scores[rows][:, [k]].repeat(2, 1), Y[rows] == k)[0][0] for k in range(3)])

    assert [e.roc_auc() for e in total.evaluations] == pytest.approx([macro(np.arange(90), one) for one in odds])
    again = [macro(rows, odds[1]) - macro(rows, odds[0]) for rows in draws]
    assert (found.high - found.low) / 3.92 == pytest.approx(np.std(again), rel=0.15)

"""Models without each fold: when their training is left, and which point is chosen by them."""

from contextlib import suppress

import numpy as np
import pytest

import streamnb as snb
from streamnb.selection.fold_models import PATIENCE, FoldModel, HeldOut, chosen, scores_by_read
from streamnb.selection.score_table import GridScores
from streamnb.solving.method import Trainer


class Fake(Trainer):
    """Its reads lead to weights one after the other; the fourth read is a step that is not taken."""

    def __init__(self):
        self.objectives, self.reached, self.ended = [], 0, False

    def reads(self):
        try:
            for number in range(100):
                yield [snb.Pass(HeldOut(np.array([[1.0, 0.0], [0.0, 0.0], [1.0, 1.0]]), *[None] * 5), inside=0)]
                self.objectives.append(float(number))
                self.reached = number - (number == 3)
        finally:
            self.ended = True


@pytest.mark.parametrize("nan", [False, True])
def test_a_model_is_left_where_no_read_gave_a_better_score_for_long(nan):
    trainer = Fake()
    model, n_reads = FoldModel(0, 0), 0
    fit = model.training(trainer)
    next(fit)
    with suppress(StopIteration):
        while n_reads < 50:
            n_reads += 1
            fit.send([[(np.nan if nan else min(n_reads, 3) / 4, None, None)]])
    assert n_reads == (50 if nan else 3 + PATIENCE)
    assert trainer.ended != nan and model.used[0].tolist() == [1, 0, 1]
    assert [model.after(t) for t in (1, 3, 4, 5)] == [0, 2, 2, 4] and model.after(1000) == n_reads - 1


def test_the_fewest_features_and_then_reads_of_those_that_are_good_enough():
    grid = [{"l2": l2, "max_passes": t} for l2 in (1.0, 0.1) for t in (1, 2, 3)]
    scores = np.array([[0.5, 0.6], [0.90, 0.92], [0.922, 0.922], [0.5, 0.5], [0.93, 0.909], [0.93, 0.92]])
    used = np.array([4, 4, 4, 4, 4, 5])
    of_classes = np.repeat(used[:, None], 2, axis=1)
    found = GridScores(grid, scores, None, used, of_classes, np.arange(2))
    assert [chosen(found, rule) for rule in ("best", "parsimonious", "one_se")] == [5, 4, 2]
    np.testing.assert_allclose(scores_by_read(found, 4), [0.5, 0.9195])


def test_fewer_reads_are_chosen_only_where_they_score_clearly_better():
    grid = [{"l2": l2, "max_passes": t} for l2 in (1.0, 0.1) for t in (1, 2)]
    used, of_classes = np.ones(4, int), np.ones((4, 2), int)
    for second, expected in (([0.6, 0.6, 0.59], 0), ([0.7, 0.72, 0.5], 1)):  # the gain, in units of its error: 10, .6
        scores = np.array([[0.7, 0.7, 0.7], second, [0.5, 0.5, 0.5], [0.5, 0.5, 0.5]])
        assert chosen(GridScores(grid, scores, None, used, of_classes, np.arange(2)), "best") == expected
    undefined = np.where(np.arange(3) == 2, np.nan, scores)  # of a fold without a class
    assert chosen(GridScores(grid, undefined, None, used, of_classes, np.arange(2)), "best") == 1

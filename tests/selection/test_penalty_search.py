"""How many models are open at a time, when one is left where it is, and which point is chosen."""

import numpy as np
import pytest

import streamnb as snb
from streamnb.passes.options import RunOptions
from streamnb.selection.grid_scores import GridScores
from streamnb.selection.penalty_search import PATIENCE, Contender, Turns, chosen, course_of

ONE = 8 * (25 + 2 + 2) * 101 * 3  # bytes of an open model of 3 x 100 weights


def test_models_that_do_not_fit_take_turns_and_that_is_said():
    options = RunOptions(n_threads=2, memory_limit=4 * ONE + 5)
    turns = Turns.of(10, 100, 3, 25, options)
    assert (turns.model_bytes, turns.at_once, turns.n_groups) == (ONE, 4, 3)
    assert Turns.of(10, 100, 3, 25, options, n_used=20).model_bytes == 8 * (25 * 21 + (2 + 2) * 101) * 3
    assert Turns.of(10, 100, 3, 25, options, beside=ONE).at_once == 3
    with pytest.warns(snb.StreamnbWarning, match="3 groups of 4, .* reads the rows up to 7 times"):
        turns.announce(7)
    Turns.of(4, 100, 3, 25, options).announce(7)
    with pytest.raises(MemoryError, match="memory_limit allows"):
        turns.check(RunOptions(memory_limit=ONE - 1))


class Fake:
    """A trainer whose reads lead to weights one after the other; the fourth read is a step that is not taken."""

    task, held, outcome = None, 0, None

    def __init__(self):
        self.objectives, self.reached, self.ended = [], 0, False

    def reads(self):
        try:
            for number in range(100):
                yield None, np.array([[1.0, 0.0], [0.0, 0.0], [1.0, 1.0]])
                self.objectives.append(float(number))
                self.reached = number - (number == 3)
        finally:
            self.ended = True


@pytest.mark.parametrize("nan", [False, True])
def test_a_model_is_left_where_no_read_gave_a_better_score_for_long(nan):
    trainer = Fake()
    contender, n_reads = Contender(0, 0, trainer, trainer.reads()), 0
    contender.go_on(None)
    while contender.asks is not None and n_reads < 50:
        n_reads += 1
        contender.scores.append([(np.nan if nan else min(n_reads, 3) / 4, None, None)])
        contender.go_on("sums")
    assert n_reads == (50 if nan else 3 + PATIENCE)
    assert trainer.ended != nan and contender.used[0].tolist() == [1, 0, 1]
    assert [contender.after(t) for t in (1, 3, 4, 5)] == [0, 2, 2, 4] and contender.after(1000) == n_reads - 1


def test_the_fewest_features_and_then_reads_of_those_that_are_good_enough():
    grid = [{"l2": l2, "max_passes": t} for l2 in (1.0, 0.1) for t in (1, 2, 3)]
    scores = np.array([[0.5, 0.6], [0.90, 0.92], [0.922, 0.922], [0.5, 0.5], [0.93, 0.909], [0.93, 0.92]])
    used = np.array([4, 4, 4, 4, 4, 5])
    of_classes = np.repeat(used[:, None], 2, axis=1)
    found = GridScores(grid, scores, None, used, of_classes, np.arange(2))
    assert [chosen(found, rule) for rule in ("best", "parsimonious", "one_se")] == [5, 4, 2]
    np.testing.assert_allclose(course_of(found, 4), [0.5, 0.9195])

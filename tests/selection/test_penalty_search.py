"""How many models are open at a time, and which point is chosen."""

import numpy as np
import pytest

import streamnb as snb
from streamnb.passes.contract import RunOptions
from streamnb.selection.penalty_search import ModelGroups, chosen, scores_by_read
from streamnb.selection.score_table import GridScores
from streamnb.training.fitting import DescentMethod
from streamnb.training.objectives import softmax_of

METHOD = DescentMethod(softmax_of)
ONE = 8 * (METHOD.n_arrays + 2 + 2) * 101 * 3  # bytes of an open model of 3 x 100 weights


def test_models_that_do_not_fit_take_turns_and_that_is_said():
    options = RunOptions(n_threads=2, memory_limit=4 * ONE + 5)
    groups = ModelGroups.of(METHOD, 10, 100, 3, options)
    assert (groups.model_bytes, groups.at_once, groups.n_groups) == (ONE, 4, 3)
    assert (
        ModelGroups.of(METHOD, 10, 100, 3, options, n_used=20).model_bytes
        == 8 * (METHOD.n_arrays * 21 + (2 + 2) * 101) * 3
    )
    assert ModelGroups.of(METHOD, 10, 100, 3, options, beside=ONE).at_once == 3
    with pytest.warns(snb.StreamnbWarning, match="3 groups of 4, .* reads the rows up to 7 times"):
        groups.announce(7)
    ModelGroups.of(METHOD, 4, 100, 3, options).announce(7)
    with pytest.raises(MemoryError, match="memory_limit allows"):
        groups.check(RunOptions(memory_limit=ONE - 1))


def test_models_that_share_what_they_learn_train_together_or_not_at_all():
    options = RunOptions(n_threads=2, memory_limit=7 * ONE)
    assert ModelGroups.of(METHOD, 12, 100, 3, options, together=3).at_once == 6
    groups = ModelGroups.of(METHOD, 12, 100, 3, options, together=4)
    assert (groups.at_once, groups.n_groups) == (4, 3)
    groups.check(options)
    with pytest.raises(MemoryError, match="4 models that train together would take"):
        groups.check(RunOptions(memory_limit=4 * ONE - 1))


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

"""The choice of penalties and pairs, on rows in memory."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from streamnb.encoding.terms import CodedFeatures
from streamnb.evaluation.scorers import as_scorer
from streamnb.passes.contract import RunOptions
from streamnb.selection.additive_choice import ALL, AdditiveChooser, FoldStage
from streamnb.selection.term_layers import AdditiveTerms
from streamnb.stats.row_sample import SampledRows
from streamnb.training.fitting import DescentMethod
from streamnb.training.learner import Learner
from streamnb.training.objectives import softmax_of

RNG = np.random.default_rng(0)
N, D, CODES = 600, 3, 6
STEPS = RNG.integers(0, CODES, (N, D))
TRUE = (STEPS[:, 0] > 2) == (STEPS[:, 2] > 2)
LABEL = np.where(RNG.random(N) < 0.1, ~TRUE, TRUE).astype(int)
FIRSTS = np.arange(0, D * CODES + 1, CODES)
CODED = CodedFeatures(FIRSTS, np.full(D * CODES, 100.0), np.ones(D, bool), np.zeros(D, bool))
TERMS = AdditiveTerms(CODED, (2,))
POINT = {"l2": 1.0, "l1": 0.0, "pair_factor": 1.0, "interactions": 0}


@pytest.fixture
def chooser():
    labels = sp.csr_array((np.ones(N, np.uint8), LABEL, np.arange(N + 1)), shape=(N, 2))
    rows = SampledRows(STEPS.astype(np.int32), labels, np.ones(N), np.arange(N) % 4, np.arange(N))
    learner = Learner("AdditiveClassifier", DescentMethod(softmax_of))
    classes, scorer = np.array(["a", "b"]), as_scorer("neg_log_loss")
    return AdditiveChooser(learner, TERMS, rows, classes, 4, scorer, RunOptions(False, 1))


def test_penalties_are_judged_on_every_fold(chooser):
    judged = chooser.best_alone([1e6, 1.0])
    assert [one.point["l2"] for one in judged] == [1e6, 1.0]
    assert all(one.scores.shape == (4,) for one in judged)
    assert judged[0].mean == pytest.approx(-np.log(2.0), abs=0.01)


def test_pairs_are_ranked_by_the_rows_outside_each_fold(chooser):
    best = chooser.best_alone([1.0])[0]
    ranked = chooser.ranked(best, 2)
    assert set(ranked) == {ALL, 0, 1, 2, 3}
    assert all(pairs[0] == (0, 2) for pairs in ranked.values())
    assert chooser.ranked(best, 2, [0])[ALL] == [pair for pair in chooser.ranked(best, 3)[ALL] if 0 not in pair]


def test_each_fold_has_pairs_of_its_own(chooser):
    pairs = {ALL: [(0, 2)], 0: [(0, 2)], 1: [(0, 1)], 2: [], 3: [(0, 2)]}
    stage = FoldStage(chooser, pairs)
    judged = stage.judged([POINT])[0]
    weights = stage.weights(judged)
    for fold, own in weights.items():
        columns = stage.terms(fold).columns
        assert columns.features.tolist() == [[0, -1], [1, -1], [2, -1], *map(list, pairs[fold])]
        assert own.shape == (columns.n_columns + 1, 1) and np.abs(own[columns.starts[-2] : -1]).max() > 0.0
    scores = judged.scores
    assert scores[[0, 3]].min() > scores[[1, 2]].max()  # the true pair helps


def test_pairs_that_need_too_much_memory_say_how_many_fit(chooser):
    rng, d, codes = np.random.default_rng(0), 12, 40
    firsts = np.arange(0, d * codes + 1, codes)
    steps = rng.integers(0, codes, (N, d)).astype(np.int32)
    coded = CodedFeatures(firsts, np.full(d * codes, 20.0), np.ones(d, bool), np.zeros(d, bool))
    terms, limit = AdditiveTerms(coded, (2,)), RunOptions(False, 1, 3_000_000)
    wide = replace(chooser, terms=terms, rows=replace(chooser.rows, X=steps), options=limit)
    pairs = [(i, j) for i in range(d) for j in range(i)]
    with pytest.raises(MemoryError, match=r"^66 pairs of features .* enough for about \d+ of them") as refused:
        FoldStage(wide, dict.fromkeys(range(ALL, 4), pairs)).judged([POINT])
    fit = int(str(refused.value).split("about ")[1].split()[0])
    assert 2 <= fit <= 33
    FoldStage(wide, dict.fromkeys(range(ALL, 4), pairs[:fit])).judged([POINT])

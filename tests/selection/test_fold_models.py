"""Models without each fold in shared reads: the same bits as each by itself; and a sample that knows its folds."""

from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import streamnb as snb
from streamnb.evaluation.scorers import SCORERS
from streamnb.fits.fit import answered
from streamnb.fits.passes import Pass
from streamnb.passes.contract import Report, RunOptions
from streamnb.passes.run import run
from streamnb.problem.schemes import Joint
from streamnb.rows.opening import opened
from streamnb.rows.preparing import RowOptions
from streamnb.rows.splits import Folding
from streamnb.selection.fold_judge import FoldJudge
from streamnb.selection.fold_models import PATIENCE, FoldModel, HeldOut
from streamnb.selection.folded_scan import ScannedFolds, ScannedRows
from streamnb.stats.row_sample import SampleTask
from streamnb.training import objectives
from streamnb.training.conjugate import ConjugateGradients
from streamnb.training.data import TrainingRows
from streamnb.training.descent import Penalties
from streamnb.training.fitting import DescentTrainer
from streamnb.training.method import Trainer
from streamnb.training.objectives import LeastSquares, SquaredHinge
from tests.support import training
from tests.training.test_reading import CODES, STEP, WEIGHT, Softmax, read, task
from tests.training.test_reading import X as ROWS

rng = np.random.default_rng(6)
X, Y = rng.poisson(1.0, (120, 4)).astype(float), rng.integers(0, 3, 120)
OPTIONS, FOLDING = RunOptions(progress=False), Folding(5)


def test_each_model_reads_what_is_outside_its_fold_and_is_judged_inside():
    like, folding = task(Softmax()), Folding(3)
    line = task(Softmax(), step=STEP, lengths=np.array([0.5, 1.0]))
    how = FoldJudge(np.arange(3), folding, frozenset({"hits"}), 4), Joint(), 1.0, SCORERS["accuracy"]
    asked = [Pass(like, without=1), Pass(line, without=0), Pass(like, without=2)]
    for fold, weights in ((1, like.weights), (1, STEP), (2, STEP)):
        asked.append(Pass(HeldOut(weights, like, *how), inside=fold))
    options = RunOptions(progress=False, n_threads=2)
    totals, rows, report = answered(asked, opened(ROWS, CODES, WEIGHT), options, folding)
    folds = folding.numbers(0, 90, None, 0)
    assert rows.tolist() == np.bincount(folds).tolist() and report.rows == 90
    for each, found in zip(asked[:3], totals[:3], strict=True):
        alone = read(each.statistic, opened(ROWS, CODES, np.where(folds == each.without, 0.0, WEIGHT)))
        for name, value in alone.arrays().items():
            np.testing.assert_array_equal(found.arrays()[name], value)
    for each, ((score, _, error),) in zip(asked[3:], totals[3:], strict=True):
        own, weights = folds == each.inside, each.statistic.weights
        right = (ROWS[own] @ weights[:-1] + weights[-1]).argmax(axis=1) == CODES[own]
        np.testing.assert_allclose(score, np.average(right, weights=WEIGHT[own]))
        assert error is None


def test_models_that_share_reads_are_those_of_the_other_rows_alone():
    for kind, objective in ((DescentTrainer, SquaredHinge()), (ConjugateGradients, LeastSquares())):

        def trainer(stats, fold=None, kind=kind, objective=objective):
            data = replace(training.data_of(stats, objective), outside=fold)
            return kind(data, Penalties(1.0, 0.0), 1e-4, 30)

        stats = snb.scan(X, Y, moments=objectives.MOMENTS, folds=5)
        fits = [trainer(stats.without_fold(fold), fold).reads() for fold in range(5)]
        rows = TrainingRows(opened(X, Y), 4, RowOptions())
        scanned = ScannedRows(ScannedFolds(stats), rows.read, rows, rows, OPTIONS, Report(), Report())
        models, report = scanned.train(fits, "read")
        assert report.rows == 120 * max(len(model.history["seconds"]) for model in models)
        folds = FOLDING.numbers(0, 120, None, 0)
        for fold, one in enumerate(models):
            x, y = X[folds != fold], Y[folds != fold]
            alone = training.trained(trainer(snb.scan(x, y, moments=objectives.MOMENTS)), x, y)
            np.testing.assert_array_equal(one.weights, alone.weights)


def test_a_sample_has_rows_as_they_are_with_their_classes_and_folds():
    for y in (Y, np.eye(3, dtype=int)[Y]):
        task = SampleTask(np.arange(3), FOLDING, 30)
        whole = run(task, opened(sp.csr_array(X), y), OPTIONS)[0].drawn()
        parts = [(X[a:b], y[a:b]) for a, b in ((0, 50), (50, 51), (51, 120))]
        cut = run(task, opened(iter(parts)), RunOptions(progress=False, n_threads=2))[0].drawn()
        assert 30 <= len(whole.key) < 120
        np.testing.assert_array_equal(whole.X.toarray(), cut.X)
        np.testing.assert_array_equal(whole.labels.toarray(), cut.labels.toarray())
        np.testing.assert_array_equal(whole.fold, cut.fold)


class Fake(Trainer):
    """Its reads lead to weights one after the other; the fourth read is a step that is not taken."""

    def __init__(self):
        self.objectives, self.reached, self.ended = [], 0, False

    def reads(self):
        try:
            for number in range(100):
                yield [Pass(HeldOut(np.array([[1.0, 0.0], [0.0, 0.0], [1.0, 1.0]]), *[None] * 5), inside=0)]
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

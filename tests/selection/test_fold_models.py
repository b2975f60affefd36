"""Models without each fold in shared reads: the same bits as each by itself; and a sample that knows its folds."""

import numpy as np
import pytest
import scipy.sparse as sp

import streamnb as snb
from streamnb.evaluation.scorers import SCORERS
from streamnb.passes.options import RunOptions
from streamnb.passes.report import Report
from streamnb.passes.run import run
from streamnb.problem.schemes import Joint
from streamnb.rows.opening import opened
from streamnb.rows.preparing import RowOptions
from streamnb.rows.splits import Folding
from streamnb.selection.fold_judge import FoldJudge
from streamnb.selection.fold_models import PATIENCE, FoldModel, ReadRequest, SharedRead, train_together
from streamnb.selection.folded_scan import ScannedFolds, ScannedRows
from streamnb.stats.row_sample import SampleTask
from streamnb.training import objectives
from streamnb.training.conjugate import ConjugateGradients
from streamnb.training.data import TrainingRows
from streamnb.training.descent import Penalties
from streamnb.training.fitting import DescentTrainer
from streamnb.training.learner import Learner
from streamnb.training.method import Trainer
from streamnb.training.objectives import LeastSquares, SquaredHinge
from tests.support import training
from tests.training.test_reading import CODES, POINT, STEP, WEIGHT, Softmax, read, task
from tests.training.test_reading import X as ROWS

rng = np.random.default_rng(6)
X, Y = rng.poisson(1.0, (120, 4)).astype(float), rng.integers(0, 3, 120)
OPTIONS, FOLDING = RunOptions(progress=False), Folding(5)


def test_each_model_reads_what_is_outside_its_fold_and_is_judged_inside():
    like, folding = task(Softmax()), Folding(3)
    line = task(Softmax(), step=STEP, lengths=np.array([0.5, 1.0]))
    asked = (
        ReadRequest(1, like, like.weights),
        ReadRequest(0, line, None),
        ReadRequest(1, None, STEP),
        ReadRequest(2, like, STEP),
    )
    shared = SharedRead(asked, FoldJudge(np.arange(3), folding, frozenset({"hits"}), 4), Joint(), like)
    assert [shared.judged(fold) for fold in range(3)] == [[], [0, 2], [3]]
    total, _ = run(shared, opened(ROWS, CODES, WEIGHT), RunOptions(progress=False, n_threads=2))
    folds = folding.numbers(0, 90, None, 0)
    assert total.rows.tolist() == np.bincount(folds).tolist() and total.judged[0] is None
    for model, found in zip(asked, total.sums, strict=True):
        if model.read is None:
            assert found is None
            continue
        alone = read(model.read, opened(ROWS, CODES, np.where(folds == model.fold, 0.0, WEIGHT)))
        for name, value in alone.arrays().items():
            np.testing.assert_array_equal(found.arrays()[name], value)
    for fold, place, weights in ((1, 0, POINT), (1, 1, STEP), (2, 0, STEP)):
        own = folds == fold
        right = (ROWS[own] @ weights[:-1] + weights[-1]).argmax(axis=1) == CODES[own]
        evaluation = total.judged[fold].of_point(place)
        np.testing.assert_allclose(SCORERS["accuracy"].value(evaluation), np.average(right, weights=WEIGHT[own]))


def test_models_that_share_reads_are_those_of_the_other_rows_alone():
    for kind, objective in ((DescentTrainer, SquaredHinge()), (ConjugateGradients, LeastSquares())):

        def trainer(stats, kind=kind, objective=objective):
            made = kind(training.data_of(stats, objective), Penalties(1.0, 0.0), 1e-4, 30)
            made.judges = False
            return made

        stats = snb.scan(X, Y, moments=objectives.MOMENTS, folds=5)
        models = [FoldModel(fold, 0, trainer(stats.without_fold(fold))) for fold in range(5)]
        learner, rows = Learner("Mine", None, scheme="ovr"), TrainingRows(opened(X, Y), 4, RowOptions())
        scanned = ScannedRows(ScannedFolds(stats), rows.read, rows, rows, OPTIONS, Report(), Report())
        report = train_together(learner, models, scanned, "read")
        assert report.rows == 120 * max(len(model.trained.history["seconds"]) for model in models)
        folds = FOLDING.numbers(0, 120, None, 0)
        for fold, one in enumerate(models):
            x, y = X[folds != fold], Y[folds != fold]
            alone = training.trained(trainer(snb.scan(x, y, moments=objectives.MOMENTS)), x, y)
            np.testing.assert_array_equal(one.trained.weights, alone.weights)


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

    task = None

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
    model, n_reads = FoldModel(0, 0, trainer), 0
    model.advance(None)
    while model.request is not None and n_reads < 50:
        n_reads += 1
        model.scores.append([(np.nan if nan else min(n_reads, 3) / 4, None, None)])
        model.advance("sums")
    assert n_reads == (50 if nan else 3 + PATIENCE)
    assert trainer.ended != nan and model.used[0].tolist() == [1, 0, 1]
    assert [model.after(t) for t in (1, 3, 4, 5)] == [0, 2, 2, 4] and model.after(1000) == n_reads - 1

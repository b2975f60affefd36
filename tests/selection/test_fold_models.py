"""Models without each fold in shared reads: the same bits as each by itself; and a sample that knows its folds."""

import numpy as np
import pytest
import scipy.sparse as sp

import streamnb as snb
from streamnb.passes.options import RunOptions
from streamnb.passes.run import run
from streamnb.problem.schemes import as_scheme
from streamnb.rows.opening import opened
from streamnb.rows.splits import Folding
from streamnb.selection.fold_models import PATIENCE, FoldModel, train_together
from streamnb.selection.shared_reads import Judge
from streamnb.stats.row_sample import SampleTask
from streamnb.training import objectives
from streamnb.training.conjugate import ConjugateGradients
from streamnb.training.descent import Penalties
from streamnb.training.fitting import DescentTrainer
from streamnb.training.method import Trainer
from streamnb.training.objectives import LeastSquares, SquaredHinge
from tests.support import training

rng = np.random.default_rng(6)
X, Y = rng.poisson(1.0, (120, 4)).astype(float), rng.integers(0, 3, 120)
OPTIONS, FOLDING = RunOptions(progress=False), Folding(5)


def test_models_that_share_reads_are_those_of_the_other_rows_alone():
    for kind, objective in ((DescentTrainer, SquaredHinge()), (ConjugateGradients, LeastSquares())):

        def trainer(stats, kind=kind, objective=objective):
            made = kind(training.data_of(stats, objective), Penalties(1.0, 0.0), 1e-4, 30)
            made.judges = False
            return made

        stats = snb.scan(X, Y, moments=objectives.MOMENTS, folds=5)
        models = [FoldModel(fold, 0, trainer(stats.without_fold(fold))) for fold in range(5)]
        judge = Judge(as_scheme("ovr", stats.classes), stats.classes, frozenset(), 5)
        report = train_together(models, stats, judge, opened(X, Y), OPTIONS, "read")
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

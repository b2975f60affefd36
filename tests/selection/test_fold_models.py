"""Models without each fold in shared reads: the same bits as each by itself; and a sample that knows its folds."""

import numpy as np
import scipy.sparse as sp

import streamnb as snb
from streamnb.passes.options import RunOptions
from streamnb.passes.run import run
from streamnb.problem.schemes import as_scheme
from streamnb.rows.opening import opened
from streamnb.rows.preparing import RowOptions
from streamnb.rows.splits import Folding
from streamnb.selection.fold_models import SampleTask, trained_together
from streamnb.selection.shared_reads import Judge
from streamnb.training import objectives
from streamnb.training.conjugate import ConjugateGradients
from streamnb.training.descent import Penalties
from streamnb.training.fitting import Trainer, train
from streamnb.training.objectives import LeastSquares, RowSums, SquaredHinge
from streamnb.training.reading import ReadTask

rng = np.random.default_rng(6)
X, Y = rng.poisson(1.0, (120, 4)).astype(float), rng.integers(0, 3, 120)
OPTIONS, FOLDING = RunOptions(progress=False), Folding(5)


def reads_of(kind, objective, stats):
    task = ReadTask(objective, RowOptions(), stats.classes, np.zeros((5, 3)), np.ones(5), 1.0)
    trainer = kind(task, RowSums.of(stats), None, Penalties(1.0, 0.0))
    return trainer.reads(1e-4, 30), task


def test_models_that_share_reads_are_those_of_the_other_rows_alone():
    for made_of in ((Trainer, SquaredHinge()), (ConjugateGradients, LeastSquares())):
        stats = snb.scan(X, Y, moments=objectives.MOMENTS, folds=5)
        asked = [reads_of(*made_of, stats.without_fold(fold)) for fold in range(5)]
        judge = Judge(as_scheme("ovr", stats.classes), stats.classes, frozenset(), 5)
        found, report = trained_together(
            [r for r, _ in asked], stats, judge, [t for _, t in asked], opened(X, Y), OPTIONS
        )
        assert report.rows == 120 * max(len(one.history["seconds"]) for one in found)
        folds = FOLDING.numbers(0, 120, None, 0)
        for fold, one in enumerate(found):
            x, y = X[folds != fold], Y[folds != fold]
            reads = reads_of(*made_of, snb.scan(x, y, moments=objectives.MOMENTS))[0]
            alone = train(reads, opened(x, y), OPTIONS, len(y))
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

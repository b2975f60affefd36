"""One read for many models leaves what each would have read alone, and judges them on their own rows."""

import numpy as np

from streamnb.evaluation.scorers import SCORERS
from streamnb.passes.options import RunOptions
from streamnb.passes.run import run
from streamnb.problem.schemes import Joint
from streamnb.rows.opening import opened
from streamnb.rows.splits import Folding
from streamnb.selection.shared_reads import Judge, ReadRequest, SharedRead
from tests.training.test_reading import CODES, POINT, STEP, WEIGHT, Softmax, X, read, task

FOLDING = Folding(3)


def test_each_model_reads_what_is_outside_its_fold_and_is_judged_inside():
    like = task(Softmax())
    line = task(Softmax(), step=STEP, lengths=np.array([0.5, 1.0]))
    asked = (
        ReadRequest(1, like, like.weights),
        ReadRequest(0, line, None),
        ReadRequest(1, None, STEP),
        ReadRequest(2, like, STEP),
    )
    shared = SharedRead(asked, FOLDING, Judge(Joint(), np.arange(3), frozenset({"hits"}), 4), like)
    assert [shared.judged(fold) for fold in range(3)] == [[], [0, 2], [3]]
    total, _ = run(shared, opened(X, CODES, WEIGHT), RunOptions(progress=False, n_threads=2))
    folds = FOLDING.numbers(0, 90, None, 0)
    assert total.rows.tolist() == np.bincount(folds).tolist() and total.judged[0] is None
    for model, found in zip(asked, total.sums, strict=True):
        if model.read is None:
            assert found is None
            continue
        alone = read(model.read, opened(X, CODES, np.where(folds == model.fold, 0.0, WEIGHT)))
        for name, value in alone.arrays().items():
            np.testing.assert_array_equal(found.arrays()[name], value)
    for fold, place, weights in ((1, 0, POINT), (1, 1, STEP), (2, 0, STEP)):
        own = folds == fold
        right = (X[own] @ weights[:-1] + weights[-1]).argmax(axis=1) == CODES[own]
        evaluation = total.judged[fold].of_point(place)
        np.testing.assert_allclose(SCORERS["accuracy"].value(evaluation), np.average(right, weights=WEIGHT[own]))

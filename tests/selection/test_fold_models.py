"""Models without each fold: when their training is left."""

from contextlib import suppress

import numpy as np
import pytest

from streamnb.fits.passes import Pass
from streamnb.selection.fold_models import PATIENCE, FoldModel, HeldOut
from streamnb.training.method import Trainer


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

"""Steps of a row: each beside its formula, and those that do not go with their columns refused."""

import numpy as np

from streamnb.encoding.plain_steps import Indicators, RowStep
from streamnb.kernels import row_values
from tests.support.refusals import refused

X = np.array([[0.0, 3.0, 4.0], [0.0, 0.0, 0.0]])
BINS = Indicators(
    np.array([1, 1, 2]), np.array([-np.inf, 2.0, np.inf]), np.array([2.0, np.inf, -np.inf]),
    np.array([False, False, True]), np.zeros(3, bool),
)  # fmt: skip


def test_products_stand_behind_the_columns():
    step = RowStep("products", np.array([[1, 2], [2, 2]]))
    assert step.of(X).tolist() == [[0.0, 3.0, 4.0, 12.0, 16.0], [0.0] * 5] and step.width(3) == 5
    assert (RowStep._from_state(vars(step)).of(X) == step.of(X)).all()
    with refused(ValueError, "products are of columns outside the 2 columns"):
        step.width(2)
    for wrong in (np.zeros((2, 3), np.int64), np.zeros(2, np.int64), np.zeros((2, 2))):
        with refused(ValueError, "value|there is no step 'products'"):
            RowStep._from_state({"do": "products", "value": wrong, "columns": None})


def test_logarithms_have_the_bits_of_compiled_loops():
    x = np.abs(np.random.default_rng(0).normal(size=(50, 40))) * (np.arange(40) % 3)
    compiled = np.empty(x.size)
    row_values.transform_values(x.ravel(), row_values.LOG1P, compiled)
    assert (RowStep("log1p").of(x).ravel() == compiled).all()


def test_wrong_steps_are_refused():
    with refused(ValueError, "columns outside the 2 columns"):
        RowStep("scale", np.ones(3)).width(2)
    with refused(ValueError, "columns outside the 2 columns"):
        RowStep("indicators", BINS).width(2)
    assert RowStep("indicators", BINS).width(3) == 3
    with refused(ValueError, "has no logarithm"):
        RowStep("log").of(X)
    with refused(ValueError, "low is"):
        Indicators._from_state({**vars(BINS), "low": np.zeros(2)})

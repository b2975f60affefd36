"""Steps of a row: each beside its formula, and those that do not go with their columns refused."""

import numpy as np
import pytest
import scipy.sparse as sp

from streamnb.models.steps import FUNCTIONS, Indicators, RowStep
from tests.support.refusals import refused

X = np.array([[0.0, 3.0, 4.0], [0.0, 0.0, 0.0]])
BINS = Indicators(
    np.array([1, 1, 2]), np.array([-np.inf, 2.0, np.inf]), np.array([2.0, np.inf, -np.inf]),
    np.array([False, False, True]), np.zeros(3, bool),
)  # fmt: skip


def test_rows_are_divided_by_their_length_and_zeros_stay():
    assert RowStep("l2", 1.0).of(X).tolist() == [[0.0, 0.6, 0.8], [0.0, 0.0, 0.0]]
    assert RowStep("l1", 70.0).of(X).tolist() == [[0.0, 30.0, 40.0], [0.0, 0.0, 0.0]]
    assert RowStep("above", 3.0, np.array([1, 2])).of(X).tolist() == [[0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]
    assert X[0].tolist() == [0.0, 3.0, 4.0]


def test_indicators_of_bins_missing_values_and_columns_as_they_are():
    x = np.array([[7.0, 2.0, np.nan], [7.0, 2.5, 1.0]])
    assert BINS.of(x).tolist() == [[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]

    class Chunk:
        def to_matrix(self):
            return sp.csr_array(x)

    assert BINS.applied(Chunk()).toarray().tolist() == BINS.of(x).tolist()
    kept = Indicators(BINS.feature, BINS.low, BINS.high, BINS.missing, np.array([True, False, False]))
    assert kept.of(x)[:, 0].tolist() == [2.0, 2.5]


@pytest.mark.parametrize("do", FUNCTIONS)
def test_files_keep_steps(do):
    value = {"scale": np.ones(3), "binary": None, "log1p": None, "sqrt": None, "log": None}.get(do, 2.0)
    again = RowStep._from_state(vars(RowStep(do, value)))
    assert np.array_equal(again.of(X + 1), RowStep(do, value).of(X + 1)) and again.width(3) == 3


def test_products_stand_behind_the_columns():
    step = RowStep("products", np.array([[1, 2], [2, 2]]))
    assert step.of(X).tolist() == [[0.0, 3.0, 4.0, 12.0, 16.0], [0.0] * 5] and step.width(3) == 5
    assert (RowStep._from_state(vars(step)).of(X) == step.of(X)).all()
    with refused(ValueError, "products are of columns outside the 2 columns"):
        step.width(2)
    for wrong in (np.zeros((2, 3), np.int64), np.zeros(2, np.int64), np.zeros((2, 2))):
        with refused(ValueError, "value|there is no step 'products'"):
            RowStep._from_state({"do": "products", "value": wrong, "columns": None})


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

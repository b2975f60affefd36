"""Which category a row has of each feature, and the statistics of categories."""

import numpy as np
import pytest

from streamnb.estimators.categorical_nb import Cells
from streamnb.rows.boundary import as_chunk

X = np.array([[0, 2, 1], [3, 0, 1], [0, 2, 0]])


def cells():
    return Cells.of(*as_chunk(X))


def test_cells_are_the_categories_other_than_0():
    found = cells()
    assert found.categories.tolist() == [2, 1, 3, 1, 2] and found.features.tolist() == [1, 2, 0, 2, 1]
    assert found.sizes().tolist() == [4, 3, 2] and found.n_features == 3


def test_strangers_are_named():
    with pytest.raises(
        ValueError, match=r"row 11, column 0 has the unseen category 3; this feature has\s+3 categories"
    ):
        cells().check_below(np.array([3, 3, 2]), 10)


@pytest.mark.parametrize("value", [-1.0, 2.0**31])
def test_numbers_of_categories_have_bounds(value):
    with pytest.raises(ValueError, match="CategoricalNB"):
        Cells.of(*as_chunk(np.array([[value]])))

"""Rows that name their lowest label are right where that and all above it are predicted, and no other."""

import numpy as np
import scipy.sparse as sp

from streamnb.models.nested import NestedModel
from streamnb.problem.label_structure import Nested

FOLLOWS = np.array([[1, 1, 1], [0, 1, 0], [0, 0, 1]], bool)  # "a" is above "b" and "c"


def test_a_row_is_right_with_all_of_its_labels():
    model = NestedModel(np.array(["a", "b", "c"]), np.eye(3), np.full(3, -0.5), Nested(FOLLOWS))
    X = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]])
    assert model.predict(X).tolist() == [[1, 1, 0], [1, 0, 0], [1, 1, 1], [1, 0, 1]]
    assert model.score(X, np.array(["b", "a", "b", "d"])) == 0.5
    assert model.score(X, sp.csr_array(model.predict(X))) == 1.0

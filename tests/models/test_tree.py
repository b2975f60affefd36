"""Columns of trees against products written out; rows dense and sparse."""

import numpy as np
import scipy.sparse as sp

import streamnb as snb
from streamnb.models.tree import TreeColumns

rng = np.random.default_rng(3)
PRESENT = (rng.random((20, 4)) < 0.5).astype(np.uint8)
PARENTS = np.array([-1, 0, 1, 0])


def test_products_of_presence_stand_behind_the_columns():
    columns = TreeColumns(np.arange(5), PARENTS, False)
    products = [PRESENT[:, j] * PRESENT[:, q] for j, q in ((1, 0), (2, 1), (3, 0))]
    expected = np.column_stack([PRESENT, *products])
    np.testing.assert_array_equal(columns.applied(PRESENT), expected)
    np.testing.assert_array_equal(columns.applied(sp.csr_array(PRESENT)).toarray(), expected)
    assert columns.n_columns == 7 and columns.roots.tolist() == [0]
    assert columns.names(list("abcd")).tolist() == ["a", "b", "c", "d", "b & a", "c & b", "d & a"]


def test_products_of_levels_are_one_for_each_two():
    levels = np.column_stack([rng.integers(0, 2, 20), rng.integers(0, 3, 20)])
    indicators = np.column_stack([levels[:, [0]] == [0, 1], levels[:, [1]] == [0, 1, 2]]).astype(float)
    indicators[3, :2] = indicators[4, 2:] = 0.0  # a value that was never seen has no column
    columns = TreeColumns(np.array([0, 2, 5]), np.array([-1, 0]), True)
    found = columns.applied(sp.csr_array(indicators)).toarray()
    expected = [indicators[:, a] * indicators[:, b] for a in (2, 3, 4) for b in (0, 1)]
    np.testing.assert_array_equal(found, np.column_stack([indicators, *expected]))


def test_one_feature_has_no_products():
    columns = TreeColumns(np.arange(2), np.array([-1]), False)
    assert columns.n_columns == 1 and columns.pairs.shape == (0, 2)
    np.testing.assert_array_equal(columns.applied(sp.csr_array(PRESENT[:, :1])).toarray(), PRESENT[:, :1])


def test_what_is_not_stored_may_be_present():
    X, y = PRESENT - 1.0, np.arange(20) % 2
    model = snb.TreeNB(binarize=-0.5).fit(sp.csr_array(X), y)
    dense = snb.TreeNB().fit(PRESENT, y)
    assert (model.predict_proba(sp.csr_array(X)) == dense.predict_proba(PRESENT)).all()
    assert (model.predict_proba(X) == dense.predict_proba(PRESENT)).all()

"""Both sides of a row of weights: each smoothed once, whatever classes they are made of."""

import numpy as np
import pytest

import streamnb as snb
from streamnb.problem.families import Poisson
from streamnb.problem.priors import Pseudo
from streamnb.problem.schemes import OneVsRest
from streamnb.problem.sides import against_rest, class_against_class
from streamnb.problem.smoothing import Smoothing
from streamnb.solving.parts import Part
from streamnb.stats.sparse_tables import SparseTable

X = np.array([[1, 0, 2], [0, 0, 2], [2, 3, 0], [4, 1, 1], [1, 0, 0]], float)
Y = np.array([0, 0, 1, 3, 3])  # class 2 has no rows
SUMS = np.array([[1, 0, 4], [2, 3, 0], [0, 0, 0], [5, 1, 1]], float)
COUNTS = np.array([2.0, 1.0, 0.0, 2.0])
NONE, SOME = Pseudo(0.0, 0.0), Pseudo(np.array([0.5, 1.0, 2.0]), 1.5)
EVERY = slice(None)


class Noting(OneVsRest):
    """Keeps the sums that the sides are to be formed of."""

    def sides(self, data, pseudo, rows):
        self.data = data
        return super().sides(data, pseudo, rows)


def class_sums(x=X, y=Y, cells=None):
    """The sums of all classes, or those of a list of cells, as a part of a problem gives them."""
    scheme, stats = Noting(), snb.scan(x, y, classes=np.arange(4)).with_tables(SparseTable.of)
    part = Part(stats, Poisson(), EVERY, scheme, Smoothing(Poisson(), 0.0, "posterior_mean"), False)
    part.sides() if cells is None else part.equations_of_cells(*cells)
    return scheme.data


@pytest.mark.parametrize("pseudo", [NONE, SOME])
def test_each_class_against_all_others(pseudo):
    sides = against_rest(class_sums(), pseudo, EVERY)
    for k in range(4):
        others = np.arange(4) != k
        np.testing.assert_allclose(sides.positive[k], SUMS[k] + pseudo.sum)
        np.testing.assert_allclose(sides.negative[k], SUMS[others].sum(axis=0) + pseudo.sum)  # smoothed once
        assert sides.n_positive[k] == COUNTS[k] + pseudo.count
        assert sides.n_negative[k] == COUNTS[others].sum() + pseudo.count
    assert sides.alive[:, 0].tolist() == [True, True, False, True] and not sides.pooled


def test_some_classes_are_rows_of_all():
    every, some = (against_rest(class_sums(), SOME, classes) for classes in (EVERY, slice(1, 3)))
    for name in ("positive", "n_positive", "negative", "n_negative", "alive"):
        np.testing.assert_array_equal(getattr(some, name), getattr(every, name)[1:3])


def test_a_class_that_is_all_rows_has_nothing_to_stand_against():
    assert not against_rest(class_sums(X[:2], Y[:2]), SOME, EVERY).alive.any()


@pytest.mark.parametrize("pseudo", [NONE, SOME])
def test_pairs_of_classes(pseudo):
    positive, negative = np.array([1, 2, 3]), np.array([0, 0, 1])
    sides = class_against_class(class_sums(), pseudo, positive, negative)
    np.testing.assert_array_equal(sides.positive, SUMS[positive] + pseudo.sum)
    np.testing.assert_array_equal(sides.negative, SUMS[negative] + pseudo.sum)
    np.testing.assert_array_equal(sides.n_positive[:, 0], COUNTS[positive] + pseudo.count)
    np.testing.assert_array_equal(sides.n_negative[:, 0], COUNTS[negative] + pseudo.count)
    assert sides.alive[:, 0].tolist() == [True, False, True] and not sides.pooled
    assert not class_against_class(class_sums(), pseudo, np.array([0]), np.array([2])).alive.any()


def test_against_one_class_its_sums_are_taken_once():
    sides = class_against_class(class_sums(), NONE, np.array([0, 1]), np.array([3]))
    assert sides.negative.shape == (1, 3) and sides.n_negative.shape == (1, 1) and sides.alive.shape == (2, 1)


def test_cells_of_a_list_stand_each_for_its_own_class():
    columns, classes = np.array([0, 0, 2, 1]), np.array([1, 3, 0, 2])
    cells = class_sums(cells=(columns, classes, SUMS[classes, columns]))
    listed = against_rest(cells, Pseudo(SOME.sum[columns], SOME.count), classes)
    table = against_rest(class_sums(), SOME, EVERY)
    assert listed.positive.shape == (1, 4) and listed.alive.shape == (1, 4)
    for name in ("positive", "negative"):
        np.testing.assert_array_equal(getattr(listed, name)[0], getattr(table, name)[classes, columns])
    for name in ("n_positive", "n_negative", "alive"):
        np.testing.assert_array_equal(getattr(listed, name)[0], getattr(table, name)[classes, 0])

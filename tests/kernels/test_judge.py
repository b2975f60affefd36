"""Decisions of many models and what they come to, against NumPy and plain loops."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from streamnb.kernels import decisions

few = st.sampled_from([-np.inf, -1.0, 0.0, 0.5, 2.0, np.inf])
shapes = st.tuples(st.integers(1, 5), st.integers(1, 6))


@given(
    st.tuples(st.integers(0, 4), st.integers(1, 6), st.integers(1, 3)).flatmap(lambda s: arrays(float, s, elements=few))
)
def test_the_first_of_the_highest_classes_is_decided(scores):
    out = np.full((scores.shape[0], scores.shape[2]), 99)
    decisions.top_class(scores, np.empty(scores.shape[2]), out)
    assert (out == scores.argmax(axis=1)).all()


@given(shapes.flatmap(lambda shape: arrays(float, shape, elements=few)))
def test_scores_below_the_highest_of_their_row(scores):
    out = np.empty_like(scores)
    decisions.below_top(scores, out)
    for row, found in zip(scores, out):
        top = 0.0 if max(row) == -math.inf else max(row)
        assert found.tolist() == [0.0 if score == top else score - top for score in row]


def test_sums_of_the_others_keep_the_digits_of_small_ones():
    mass = np.array([[1e-30, 1.0, 3e-30], [1.0, 0.25, 1.0], [0.0, 0.0, 1.0], [0.5, 1e-20, 1.0]])
    top = np.array([1, 0, 2, 2])
    expected = [[math.fsum(np.delete(row, k)) for k in range(3)] for row in mass]
    decisions.others(mass, top)
    np.testing.assert_allclose(mass, expected, rtol=1e-15)


def test_sums_of_rows():
    values, out = np.arange(12.0).reshape(4, 3), np.empty(4)
    decisions.row_sums(values, out)
    assert out.tolist() == values.sum(axis=1).tolist()


def problem(n_classes, n_points, n_rows=40, seed=0):
    rng = np.random.default_rng(seed)
    return rng.integers(0, n_classes, n_rows), rng.integers(0, n_classes, (n_rows, n_points + 3))  # and room behind


def counted(labels, weight, decided, n_classes, n_points):
    hit, predicted, table = (np.full((n_points, *[n_classes] * axes), Fraction(0)) for axes in (1, 1, 2))
    for k, w, row in zip(labels, map(Fraction, weight), decided):
        for g in range(n_points):
            hit[g, k] += w * (row[g] == k)
            predicted[g, row[g]] += w
            table[g, k, row[g]] += w
    return [sums.astype(float) for sums in (hit, predicted, table)]


@pytest.mark.parametrize("with_table", [True, False])
@pytest.mark.parametrize(("n_classes", "n_points"), [(2, 1), (3, 5), (7, 9)])
def test_decisions_are_counted_by_weight(n_classes, n_points, with_table):
    labels, decided = problem(n_classes, n_points)
    weight = np.random.default_rng(1).choice([0.25, 0.1, 3.0], len(labels))
    hit, predicted = np.zeros((2, n_classes, n_points)), np.zeros((2, n_points, n_classes))
    table = np.zeros((2, n_points * with_table, n_classes, n_classes))
    decisions.count_decisions(labels, weight, decided, hit, predicted, table)
    expected = counted(labels, weight, decided, n_classes, n_points)
    found = hit.sum(axis=0).T, predicted.sum(axis=0), table.sum(axis=0)
    for sums, wanted in zip(found, expected if with_table else expected[:2]):
        np.testing.assert_array_equal(sums, wanted)


@pytest.mark.parametrize("dtype", [np.uint8, np.int64])
@pytest.mark.parametrize("n_classes", [2, decisions.FEW, decisions.FEW + 1, 9])
def test_rows_that_count_once_are_counted_in_whole_numbers(n_classes, dtype):
    labels, decided = problem(n_classes, 6)
    hit, predicted = np.zeros((2, n_classes, 6), np.int32)
    for part in (slice(0, 10), slice(10, None)):
        decisions.count_rows(labels[part], decided[part].astype(dtype), hit, predicted)
    expected = counted(labels, np.ones(40), decided, n_classes, 6)
    assert (hit == expected[0].T).all() and (predicted == expected[1].T).all()

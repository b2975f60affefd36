"""Decisions of many models in single precision are those of double precision."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from streamnb.models.grid_weights import Decider
from streamnb.rows.boundary import as_chunk

ROOM = 1 << 20
FEW = [-1.5, -0.25, 0.125, 0.5, 1.0, 3.0]  # whose sums are exact, and often equal


def one_each(n_classes):
    return np.arange(n_classes)


def grid(weights, density=1.0, seed=0):
    """Weights (n_features, G, R) with some left out, point by point."""
    weights = weights * (np.random.default_rng(seed).random(weights.shape) < density)
    return sp.csr_array(weights.reshape(len(weights), -1))


def expected(X, weights, intercepts, of_classes):
    """The first class of the highest score, in exact arithmetic."""
    n_points, n_rows = intercepts.shape[1], len(intercepts)
    weights = weights.toarray().reshape(-1, n_points, n_rows)
    decided = np.empty((len(X), n_points), int)
    for i, row in enumerate(X):
        for g in range(n_points):
            scores = [Fraction(b) for b in intercepts[:, g]] + [Fraction(0)]
            for j in np.flatnonzero(row):
                for r in np.flatnonzero(weights[j, g]):
                    scores[r] += Fraction(row[j]) * Fraction(weights[j, g, r])
            of_class = [scores[r] for r in of_classes]
            decided[i, g] = of_class.index(max(of_class))
    return decided


def decided(decider, X, screened=True):
    chunk, _ = as_chunk(X)
    return decider.decide(chunk, np.arange(X.shape[0]), screened)[:, : decider.start.shape[1]]


@st.composite
def problems(draw):
    n_features, n_points, n_rows = draw(st.integers(1, 6)), draw(st.integers(1, 40)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    weights = grid(rng.choice(FEW, (n_features, n_points, n_rows)), draw(st.sampled_from([0.05, 0.5, 1.0])))
    intercepts = rng.choice([-0.5, 0.0, 0.0, 0.25], (n_rows, n_points))
    X = rng.choice([0.0, 0.0, 1.0, 2.0, 0.5], (draw(st.integers(1, 3)), n_features))
    return X, weights, intercepts, rng.permutation(n_rows + (n_rows == 1 or draw(st.booleans())))


@given(problems(), st.sampled_from([np.float32, np.float64]), st.booleans())
def test_decisions_are_those_of_exact_arithmetic_ties_included(problem, dtype, sparse):
    X, weights, intercepts, of_classes = problem
    decider = Decider.of(ROOM, [weights], intercepts, of_classes)
    rows = X.astype(dtype)
    rows = sp.csr_array(rows) if sparse else rows
    answer = expected(X, weights, intercepts, of_classes)
    assert np.array_equal(decided(decider, rows), answer)
    assert np.array_equal(decided(decider, rows, screened=False), answer)


@pytest.mark.parametrize("n_points, n_rows", [(3, 1), (50, 1), (50, 20), (33, 5)])
def test_what_single_precision_cannot_tell_apart_is_decided_in_double(n_points, n_rows):
    # all classes score alike but for noise that float32 does not see; one row of weights scores next to nothing
    rng = np.random.default_rng(n_points)
    weights, X = rng.normal(size=(30, n_points, 1)), rng.integers(0, 4, (5, 30)).astype(np.float64)
    if n_rows == 1:
        weights[1::2], X[:, 1::2] = -weights[::2], X[:, ::2]
    weights = weights + 1e-12 * rng.normal(size=(30, n_points, n_rows))
    intercepts, of_classes = 1e-13 * rng.normal(size=(n_rows, n_points)), one_each(max(n_rows, 2))
    decider = Decider.of(ROOM, [grid(weights)], intercepts, of_classes)
    answer = expected(X, grid(weights), intercepts, of_classes)
    assert np.array_equal(decided(decider, X), answer)
    assert len(np.unique(answer)) > 1


@pytest.mark.parametrize("density", [0.02, 0.3, 1.0])
@pytest.mark.parametrize("n_rows", [1, 2, 7, 25])
def test_blocks_of_features_of_any_density_decide_alike(density, n_rows):
    rng = np.random.default_rng(n_rows)
    weights, intercepts = rng.normal(size=(60, 70, n_rows)), rng.normal(size=(n_rows, 70))
    falling = weights * (rng.exponential(20.0, (60, 1, 1)) > np.arange(70)[:, None])  # as L1 leaves them
    X = sp.random_array((50, 60), density=density, rng=rng, format="csr")
    for matrix in grid(weights, density), grid(falling):
        decider = Decider.of(ROOM, [matrix[:13], matrix[13:]], intercepts, one_each(n_rows + 1))
        in_double = decided(decider, X, screened=False)
        assert np.array_equal(decided(decider, X), in_double)
        assert np.array_equal(decided(decider, X.toarray()), in_double)
        assert np.array_equal(decided(decider, X.astype(np.float32)), decided(decider, X.astype(np.float32), False))


@pytest.mark.parametrize("n_classes", [256, 257, 4097])
def test_the_last_of_many_classes_is_told_from_the_others(n_classes):
    """Also where its number, or the column of its scores, is the largest that few bytes hold, or the next."""
    rng = np.random.default_rng(4)
    weights = rng.normal(size=(6, 5, n_classes)) * (rng.random((6, 5, n_classes)) < 0.005)
    weights[0, 0, -1] = 1000.0
    intercepts = rng.normal(size=(n_classes, 5))
    decider = Decider.of(ROOM << 4, [grid(weights)], intercepts, one_each(n_classes))
    X = np.append(np.ones((20, 1)), rng.poisson(0.5, (20, 5)), axis=1).astype(np.float32)
    assert decided(decider, X)[:, 0].tolist() == [n_classes - 1] * 20
    assert np.array_equal(decided(decider, X), decided(decider, X, screened=False))


@pytest.mark.parametrize(
    ("weight", "intercept", "room"),
    [(weight, 0.0, ROOM) for weight in (2.0**-51, 2.0**51, -(2.0**51), np.inf, np.nan)]
    + [(1.0, intercept, ROOM) for intercept in (-np.inf, np.nan, -(2.0**51), -(2.0**-101))]
    + [(1.0, 0.0, 100)],
)
def test_what_single_precision_or_memory_cannot_hold_is_refused(weight, intercept, room):
    weights, intercepts = np.ones((2, 3, 2)), np.zeros((2, 3))
    weights[1, 1, 1], intercepts[1, 1] = weight, intercept
    assert Decider.of(room, [grid(weights)], intercepts, one_each(2)) is None


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e7])
def test_rows_of_which_most_are_left_open_are_decided_in_double_at_once(offset):
    # large numbers that come to little, as uncentred measurements do
    rng = np.random.default_rng(5)
    weights = rng.normal(size=(12, 20, 3))
    intercepts = -offset * weights.sum(axis=0).T
    decider = Decider.of(ROOM, [grid(weights)], intercepts, one_each(3))
    X = rng.normal(size=(1500, 12)) + offset
    no_memory = replace(decider, most_bytes=0, tried=[0, 0])  # to lay weights out in double precision
    answers = [decided(decider, X[first : first + 300]) for first in range(0, 1500, 300)]
    assert np.array_equal(decided(no_memory, X, screened=False), decided(decider, X, screened=False))
    assert np.array_equal(np.concatenate(answers), decided(decider, X, screened=False))
    rows_screened, rows_open = decider.tried
    assert (rows_screened == 1500) == (offset == 0.0)
    assert rows_open <= rows_screened

"""Decisions in single precision, however the weights lie, against those of double precision."""

import numpy as np
import pytest

from streamnb.kernels import decisions, grid_scores
from streamnb.kernels.lanes import SINGLES
from tests.support.chunk_arrays import all_frozen, stored

N, CLASSES, ROOM = 40, 3, 2 * SINGLES  # features, classes, and points


def in_units(weights, beyond):
    """Begins, columns and units of the points from `beyond` on; weights (N, CLASSES, ROOM)."""
    begins, columns, units = [0], [], []
    for j in range(len(weights)):
        for k in range(CLASSES):
            for first in range(beyond, ROOM, SINGLES):
                if weights[j, k, first : first + SINGLES].any():
                    columns.append(k * ROOM + first)
                    units.append(weights[j, k, first : first + SINGLES])
        begins.append(len(units))
    units = np.array(units, np.float32).reshape(-1, SINGLES)
    return np.array(begins, np.int32), np.array(columns, np.uint16), units


def laid_out(weights, kind):
    """Head, spots, units and how many points lie in whole tables; whether one table lies as the sums do."""
    n_whole, depth = {"tables": (ROOM, ROOM), "a table and units": (SINGLES, SINGLES)}.get(kind, (0, 0))
    if n_whole:
        head = weights.reshape(N, CLASSES, -1, SINGLES)[:, :, : n_whole // SINGLES].transpose(2, 0, 1, 3)
        head = np.ascontiguousarray(head).reshape(n_whole // SINGLES, N, -1)
        spots = np.zeros((len(head), 0), np.int64)
    elif kind == "in place":
        depth, head, spots = ROOM, weights.reshape(1, N, -1), np.arange(CLASSES * ROOM)[None]
    else:
        depth = {"one table": ROOM, "few columns and units": SINGLES, "units": 0}[kind]
        spots = np.array([[k * ROOM + g for g in range(depth) for k in range(CLASSES)]], np.int64)
        head = np.ascontiguousarray(weights.reshape(1, N, -1)[:, :, spots[0]])
        head, spots = (head, spots) if depth else (np.zeros((0, N, SINGLES), np.float32), spots[:0])
    begins, columns, units = in_units(weights, depth)
    has = (np.diff(begins) > 0).astype(np.uint8)
    head, spots, begins, columns, units = all_frozen((head, spots, begins, columns, units))
    return (head, spots, has, begins, columns, units), n_whole, kind == "in place"


def screened(x, rows, weights, start, kind):
    """Decisions and which rows are left open, of weights (N, CLASSES, ROOM) and start (CLASSES, ROOM)."""
    arrays, n_whole, in_place = laid_out(weights.astype(np.float32), kind)
    places = np.outer([SINGLES, ROOM], np.arange(CLASSES))
    top = np.zeros((2, CLASSES * ROOM + SINGLES), np.float32)
    room = (
        np.zeros(grid_scores.ROOM, np.int32),
        np.zeros(grid_scores.ROOM, np.float32),
        np.empty(grid_scores.LISTED, np.int64),
    )
    out, left_open = np.empty((len(rows), ROOM), np.uint8), np.ones(len(rows), bool)
    form = n_whole, in_place, start.astype(np.float32), places, np.empty((2, CLASSES * ROOM), np.float32)
    decisions.screen_csr((*stored(x), rows), arrays, (top, *room), *form, out, left_open)
    return out, left_open


def problem(seed, n_rows=30):
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=(N, CLASSES, ROOM)) * (rng.exponential(20.0, (N, 1, 1)) > np.arange(ROOM))  # as of L1
    start = rng.normal(size=(CLASSES, ROOM))
    x = rng.normal(size=(n_rows, N)) * (rng.random((n_rows, N)) < 0.4)
    return x, rng.permutation(n_rows)[: n_rows - 5], weights, start - start.max(axis=0)


KINDS = ["tables", "a table and units", "in place", "one table", "few columns and units", "units"]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_left_open_is_decided_as_in_double_precision(kind):
    x, rows, weights, start = problem(0)
    x[rows[3]] = 0.0
    found, left_open = screened(x, rows, weights, start, kind)
    scores = start + np.einsum("ij,jkg->ikg", x[rows], weights)
    decided = scores.argmax(axis=1)
    assert (found[~left_open] == decided[~left_open]).all()
    assert left_open.mean() < 0.2 and not left_open[3]
    assert len(np.unique(decided)) == CLASSES


@pytest.mark.parametrize("kind", KINDS)
def test_scores_that_single_precision_cannot_tell_apart_are_left_open(kind):
    x, rows, weights, start = problem(1)
    x[:, 0], weights[0] = 1.0, 1.0  # every row meets a weight at each point
    weights[:] = weights[:, :1]
    start[:] = 0.0
    _, left_open = screened(x, rows, weights, start, kind)
    assert left_open.all()
    weights[0, 2, -1] += 1e6  # at one point of all a class is far above the others
    found, left_open = screened(x, rows, weights, start, kind)
    assert left_open.all() and (found[:, -1] == 2).all()


def test_rows_without_values_are_decided_by_what_scores_start_with():
    _, rows, weights, start = problem(2)
    start[:, 5] = 0.0  # the first of equal classes
    found, left_open = screened(np.zeros((30, N)), rows, weights, start, "a table and units")
    assert not left_open.any() and (found == start.argmax(axis=0)).all() and (found[:, 5] == 0).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("value", "inside"),
    [
        (decisions.SMALLEST, True),
        (-decisions.LARGEST, True),
        (2.0**-51, False),
        (-(2.0**51), False),
        (np.nan, False),
        (np.inf, False),
    ],
)
def test_values_within_range(value, inside, dtype):
    values = np.zeros(decisions.STRETCH + 2, dtype)
    assert decisions.within_range(values) and decisions.within_range(values[:0])
    for place in (0, decisions.STRETCH - 1, decisions.STRETCH, -1):
        values[:] = 1.0
        values[place] = value
        assert decisions.within_range(values) is inside

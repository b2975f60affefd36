"""Draws hold what a loop in Python draws, and their best classes are those of the scores of what was drawn."""

import numpy as np
import pytest

from streamnb.kernels import draws

MASK = (1 << 64) - 1


def splitmix(key):
    z = (key + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def drawn(counts, row, seed, size, n_draws):
    """The counts of each draw, (n_draws, n_columns)."""
    n, indices = n_draws * size, np.arange(len(counts), dtype=np.int32) * 2
    units, places = np.empty(int(counts.sum()), np.int32), np.empty(len(counts), np.int64)
    columns, of_draw = np.empty(n, np.int32), np.empty(n, np.int32)
    ends = 0, len(counts), row
    with np.errstate(over="ignore"):
        draws.draw(counts, indices, *ends, np.uint64(seed), size, n_draws, units, places, columns, of_draw)
    assert (np.diff(columns) >= 0).all()
    found = np.zeros((n_draws, len(counts)))
    np.add.at(found, (of_draw, columns // 2), 1)
    return found, columns, of_draw


@pytest.mark.parametrize(("row", "seed", "size"), [(0, 0, 3), (5, 1, 1), (2**40, 12345, 7)])
def test_draws_are_those_of_a_loop(row, seed, size):
    counts = np.array([1.0, 3.0, 2.0, 1.0])
    units = np.repeat(np.arange(4), counts.astype(int))
    expected = np.zeros((6, 4))
    for d in range(6):
        of_draw = splitmix(((splitmix((splitmix(seed) + row) & MASK)) + d) & MASK)
        for t in range(size):
            expected[d, units[((splitmix((of_draw + t) & MASK) >> 32) * len(units)) >> 32]] += 1
    assert drawn(counts, row, seed, size, 6)[0].tolist() == expected.tolist()


def test_units_are_drawn_as_often_as_they_are_counted():
    counts = np.array([1.0, 2.0, 5.0])
    found = drawn(counts, 3, 7, 100, 100)[0].sum(axis=0) / 10_000
    np.testing.assert_allclose(found, counts / 8, atol=0.02)


def test_best_classes_are_those_of_the_scores():
    rng, n_classes = np.random.default_rng(0), draws.WIDTH + 5
    counts = np.array([2.0, 1.0, 4.0])
    found, columns, of_draw = drawn(counts, 0, 0, 5, 8)
    weights = rng.integers(-9, 9, (2, 6, draws.WIDTH)).astype(np.float32)
    start = rng.integers(-3, 0, n_classes).astype(np.float32)
    scores = start + found @ np.concatenate(list(weights), axis=1)[::2, :n_classes]
    is_best, decided = scores == scores.max(axis=1, keepdims=True), scores[0].argmax()
    best, agreeing = np.full(8, -np.inf, np.float32), np.zeros((8, 2), np.int64)
    for number, tile in enumerate(weights):
        sums, groups = np.empty((8, draws.WIDTH), np.float32), np.arange(n_classes)[None]
        draws.best_of_draws(tile, number, start, columns, of_draw, sums, groups, decided, best, agreeing)
    assert (
        best.tolist() == scores.max(axis=1).tolist() and agreeing.sum(axis=1).tolist() == is_best.sum(axis=1).tolist()
    )
    assert agreeing[:, 1].tolist() == is_best[:, decided].tolist()


def test_a_tile_is_left_out_only_where_no_class_is_the_best():
    rng = np.random.default_rng(1)
    found, columns, of_draw = drawn(np.array([2.0, 1.0, 4.0]), 0, 0, 5, 8)
    weights = (rng.normal(size=(3, 6, draws.WIDTH)) - 0.3 * np.arange(3)[:, None, None]).astype(np.float32)
    start, sums = np.zeros(3 * draws.WIDTH, np.float32), np.empty((8, draws.WIDTH), np.float32)
    scores = found.astype(np.float32) @ np.concatenate(list(weights), axis=1)[::2]
    best, classes = scores.max(axis=1) - np.float32(1e-5), scores.argmax(axis=1)
    bounds, hopeful = np.zeros((6, draws.WIDTH), np.float32), np.zeros(3, np.bool_)
    bounds[:, :3] = weights.max(axis=2).T
    draws.find_hopeful(bounds, 0, start[:3], columns, of_draw, sums, best, hopeful)
    assert hopeful[np.unique(classes // draws.WIDTH)].all()
    draws.find_hopeful(bounds, 0, start[:3] - 100, columns, of_draw, sums, best, none := np.zeros(3, np.bool_))
    assert not none.any()

"""Informations, spanning trees and symmetrical uncertainty, against definitions and by hand."""

import numpy as np

import streamnb as snb
from streamnb.solving.trees import beyond_chance, informations, spanning_tree, symmetrical_uncertainty
from tests.support.naive_tree import NaiveTree

rng = np.random.default_rng(1)
LEVELS = rng.integers(0, 3, (60, 4))
LEVELS[:, 2] = (LEVELS[:, 0] + rng.integers(0, 2, 60)) % 3
Y, WEIGHT = np.array(list("abc"))[rng.integers(0, 3, 60)], rng.choice([0.25, 1.0, 2.0], 60)
FIRSTS = np.arange(0, 13, 3)
ONE_HOT = (LEVELS[:, :, None] == np.arange(3)).reshape(60, 12).astype(np.uint8)


def test_the_tree_has_the_most_information_and_the_lowest_of_equal_edges():
    every = np.zeros((5, 5))
    assert spanning_tree(every).tolist() == [-1, 0, 0, 0, 0]
    every[1, 3] = every[3, 1] = 1.0
    every[2, 3] = every[3, 2] = 1.0 + 2.0**-45  # the same, but for rounding
    every[1, 2] = every[2, 1] = 1.0
    assert spanning_tree(every).tolist() == [-1, 0, 1, 1, 0]
    assert spanning_tree(np.zeros((1, 1))).tolist() == [-1]
    for seed in range(20):
        some = np.random.default_rng(seed).integers(0, 4, (6, 6)) / 4.0
        some = some + some.T
        naive = NaiveTree.__new__(NaiveTree)
        naive.n, naive.bound, naive.information = 6, None, lambda i, j, some=some: some[i, j]
        assert spanning_tree(some).tolist() == naive.tree()


def test_independent_features_pass_for_dependent_as_often_as_is_said():
    draws = np.random.default_rng(0)
    levels, weight, passed = np.array([2, 3, 4]), np.array([300.0, 0.0, 200.0]), []
    y, firsts = np.repeat([0, 2], [300, 200]), np.array([0, 2, 5, 9])
    for _ in range(120):
        rows = np.hstack([np.eye(n)[draws.integers(0, n, 500)] for n in levels])
        information = informations(snb.scan(rows, y, moments=["gram_above"]), firsts)
        kept = beyond_chance(information, weight, levels, 0.2)
        passed.append(kept[np.triu_indices(3, 1)] > 0)
        assert ((kept == information) | (kept == -1.0)).all()
    np.testing.assert_allclose(np.mean(passed, axis=0), 0.2, atol=0.08)
    alone = beyond_chance(np.ones((2, 2)), weight, np.array([1, 5]), 0.2)
    assert alone.tolist() == [[-1.0, -1.0], [-1.0, 1.0]]


def test_symmetrical_uncertainty_is_that_of_rankings():
    stats = snb.scan(LEVELS, Y, sample_weight=WEIGHT)
    ranked = snb.rank_features(stats, by="symmetrical_uncertainty").scores
    np.testing.assert_allclose(symmetrical_uncertainty(stats, np.arange(5)), ranked, atol=1e-14)
    values = snb.scan(LEVELS, Y, sample_weight=WEIGHT, histogram="value", n_bins=3)
    ranked = snb.rank_features(values, by="symmetrical_uncertainty", values="value").scores
    found = symmetrical_uncertainty(snb.scan(ONE_HOT, Y, sample_weight=WEIGHT), FIRSTS)
    np.testing.assert_allclose(found, ranked, atol=1e-14)

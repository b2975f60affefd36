"""Terms at several resolutions, whose scores add up to those of the finest."""

import numpy as np
import pytest

from streamnb.encoding.terms import FINEST, CodedFeatures, TermColumns
from streamnb.selection.term_layers import AdditiveTerms, TermLayers

RNG = np.random.default_rng(0)
FIRSTS = np.array([0, 8, 14, 20])
CODED = CodedFeatures(FIRSTS, np.full(20, 10.0), np.array([True, True, False]), np.zeros(3, bool))
EVERY = [((0,), [2, 4, FINEST]), ((1,), [2, FINEST]), ((0, 1), [2, 4])]


def scores(columns, weights):
    """The scores of a row for each pair of codes."""
    found = np.zeros((8, 6))
    for grid, ((i, j), (x, y)) in enumerate(zip(columns.features.tolist(), columns.sides, strict=True)):
        places = x[:, None] * (y.max() + 1) + y if j >= 0 else x[:, None] if i == 0 else x
        found += weights[columns.starts[grid] + places]
    return found


def test_scores_stay_at_one_resolution():
    columns = TermColumns.of(None, CODED, [(term, resolutions[-1]) for term, resolutions in EVERY])
    apart = TermColumns.of(None, CODED, [(term, one) for term, resolutions in EVERY for one in resolutions])
    layers = TermLayers.of(columns, CODED, [resolutions for _, resolutions in EVERY])
    weights = RNG.normal(size=layers.parts.shape[1])
    np.testing.assert_allclose(scores(columns, layers.parts @ weights), scores(apart, weights))
    assert layers.widths.tolist() == apart.widths.tolist()
    assert layers.terms.tolist() == [0, 0, 0, 1, 1, 2, 2]


def test_layers_of_features_and_of_pairs():
    layers = AdditiveTerms(CODED, (2,), ((0, 1),)).layers
    assert layers.widths.tolist() == [2, 8, 2, 6, 6, 16, 48, 48, 48]  # levels have one layer
    np.testing.assert_array_equal(layers.finer[:5], [1, 4, 1, 3, 1])


def test_the_finer_the_steps_the_larger_the_penalty():
    terms = AdditiveTerms(CODED, (2,), ((0, 2),))
    ends = np.cumsum(terms.layers.widths)[:-1]
    found = [one[0] for one in np.split(terms.factors(4.0), ends)]
    assert found[0] == 1.0
    assert found[1] == pytest.approx(4.0**-0.5)  # four times as many steps
    assert found[5] == 0.5  # of pairs
    assert found[6] < found[5]


def test_degrees_of_freedom_are_the_steps_without_a_penalty():
    layers = AdditiveTerms(CODED, (2,), ((0, 1),)).layers
    freedom = layers.degrees_of_freedom(np.ones(layers.parts.shape[1]), 1e-12)
    np.testing.assert_allclose(freedom, [2 + 8, 2 + 6, 6, 16 + 48 + 48 + 48])

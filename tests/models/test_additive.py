"""Terms of additive models: one resolution, and pure terms."""

import numpy as np
import pytest

from streamnb.encoding.terms import FINEST, CodedFeatures, TermColumns
from streamnb.models.additive import TermTables, importances, of_terms, purified

RNG = np.random.default_rng(0)
CODED = CodedFeatures(np.array([0, 8, 14]), RNG.integers(1, 50, 14).astype(float), np.ones(2, bool), np.zeros(2, bool))
FINE = TermColumns.of(None, CODED, [((0,), FINEST), ((1,), FINEST), ((0, 1), 4)])


def scores(columns, weights, intercept):
    """The scores of a row for each pair of codes."""
    found = {}
    for a in range(8):
        for b in range(6):
            total = intercept.copy()
            for grid, ((_, j), (x, y)) in enumerate(zip(columns.features.tolist(), columns.sides, strict=True)):
                first = columns.features[grid, 0]
                code = (a, b)[first]
                place = x[code] if j < 0 else x[a] * (y.max() + 1) + y[b]
                total = total + weights[columns.starts[grid] + place]
            found[a, b] = total
    return np.array(list(found.values()))


def test_pure_terms_have_the_same_scores_and_means_of_0():
    weights, intercept = RNG.normal(size=(FINE.n_columns, 2)), np.array([0.3, -0.2])
    counts = RNG.integers(0, 30, FINE.n_columns).astype(float)
    cells = counts[FINE.starts[2] :].reshape(4, 4)
    for grid, axis in ((0, 1), (1, 0)):  # the counts of features are those of the cells
        of_steps, side = cells.sum(axis=axis), FINE.sides[2][grid]
        for step in range(4):
            codes = np.flatnonzero(side == step)
            counts[FINE.starts[grid] + codes] = of_steps[step] / len(codes)
    pure, moved = purified(FINE, weights, intercept, counts)
    np.testing.assert_allclose(scores(FINE, pure, moved), scores(FINE, weights, intercept))
    table = pure[FINE.starts[2] :].reshape(4, 4, 2)
    np.testing.assert_allclose((table * cells[:, :, None]).sum(axis=0), 0.0, atol=1e-8)
    np.testing.assert_allclose((table * cells[:, :, None]).sum(axis=1), 0.0, atol=1e-8)
    for grid in (0, 1):
        some = slice(FINE.starts[grid], FINE.starts[grid + 1])
        np.testing.assert_allclose((pure[some] * counts[some, None]).sum(axis=0), 0.0, atol=1e-8)


def test_values_of_other_terms():
    others = TermColumns.of(None, CODED, [((1,), FINEST), ((0, 1), 4), ((1, 0), 2)])
    found = of_terms(FINE, np.arange(FINE.n_columns), others)
    np.testing.assert_array_equal(found, [*range(8, 14), *range(14, 30), *[0] * 4])


def test_importance_is_the_mean_absolute_score():
    weights, counts = RNG.normal(size=(FINE.n_columns, 1)), np.ones(FINE.n_columns)
    np.testing.assert_allclose(importances(FINE, weights, counts)[1], np.abs(weights[8:14]).mean())


def test_tables_that_do_not_fit_are_refused():
    tables = TermTables(["a", "b"], np.ones(FINE.n_columns), np.ones((FINE.n_columns, 1)), np.ones(3))
    tables.check(FINE, 1)
    with pytest.raises(ValueError, match="deviations"):
        tables.check(FINE, 2)
    with pytest.raises(ValueError, match="names of 2"):
        TermTables(["a"], tables.counts, tables.std, tables.freedom).check(FINE, 1)

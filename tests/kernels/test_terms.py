"""Scores of additive terms and sums over the rows of their columns, beside NumPy's."""

import numpy as np
import pytest

from streamnb.kernels import terms
from streamnb.kernels.lanes import LANES

N_COLUMNS = 7  # of each term


@pytest.mark.parametrize("n_rows", [1, terms.TILE, terms.TILE + 5])
def test_scores_and_sums_of_any_number_of_rows(n_rows):
    rng = np.random.default_rng(n_rows)
    places = rng.integers(0, N_COLUMNS, (3, n_rows)) + N_COLUMNS * np.arange(3)[:, None]
    values, table = rng.normal(size=(n_rows, 2 * LANES)), rng.normal(size=(3 * N_COLUMNS, 2 * LANES))
    scores, total = np.zeros_like(values), np.zeros_like(table)
    terms.score_terms(places.astype(np.int32), table.reshape(-1, LANES), scores)
    terms.add_terms(places.astype(np.int32), values.reshape(-1, LANES), total)
    expected, sums = np.zeros_like(values), np.zeros_like(table)
    for of_term in places:
        expected += table[of_term]
        np.add.at(sums, of_term, values)
    assert np.array_equal(scores, expected) and np.array_equal(total, sums)

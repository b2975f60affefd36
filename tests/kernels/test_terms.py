"""Scores of additive terms and sums over the rows of their columns, beside NumPy's."""

import numpy as np
import pytest

from streamnb.kernels import terms
from streamnb.kernels.lanes import LANES

N_COLUMNS = 7  # of each term


@pytest.mark.parametrize("n_terms", [1, 4, 7])
@pytest.mark.parametrize("width", [1, 2 * LANES, LANES + 3])
def test_scores_and_sums_of_any_number_of_terms_and_lanes(n_terms, width):
    rng, n_rows = np.random.default_rng(width), 50
    places = rng.integers(0, N_COLUMNS, (n_terms, n_rows)) + N_COLUMNS * np.arange(n_terms)[:, None]
    values, table = rng.normal(size=(n_rows, width)), rng.normal(size=(n_terms * N_COLUMNS, width))
    scores, total = np.zeros_like(values), np.zeros_like(table)
    terms.score_terms(places.astype(np.int32), table, scores)
    terms.add_terms(places.astype(np.int32), values, total)
    expected, sums = np.zeros_like(values), np.zeros_like(table)
    for of_term in places:
        expected += table[of_term]
        np.add.at(sums, of_term, values)
    assert np.array_equal(scores, expected) and np.array_equal(total, sums)

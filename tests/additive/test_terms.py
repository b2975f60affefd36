"""Tables of terms of additive models that do not go with their columns."""

import numpy as np
import pytest

from streamnb.additive.terms import TermTables
from streamnb.encoding.terms import FINEST, CodedFeatures, TermColumns

RNG = np.random.default_rng(0)
CODED = CodedFeatures(np.array([0, 8, 14]), RNG.integers(1, 50, 14).astype(float), np.ones(2, bool), np.zeros(2, bool))
FINE = TermColumns.of(None, CODED, [((0,), FINEST), ((1,), FINEST), ((0, 1), 4)])


def test_tables_that_do_not_fit_are_refused():
    tables = TermTables(["a", "b"], np.ones(FINE.n_columns), np.ones((FINE.n_columns, 1)), np.ones(3))
    tables.check(FINE, 1)
    with pytest.raises(ValueError, match="deviations"):
        tables.check(FINE, 2)
    with pytest.raises(ValueError, match="names of 2"):
        TermTables(["a"], tables.counts, tables.std, tables.freedom).check(FINE, 1)

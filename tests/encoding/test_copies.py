"""Weights as whole numbers of copies in units: their sums are exact, and those of whole weights are the copies."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from streamnb.encoding.bins import ValueScan
from streamnb.encoding.learning import BITS, OfCopies, WeighedTotal, copies_of
from streamnb.passes.contract import RunOptions
from streamnb.passes.run import run
from streamnb.rows.opening import opened

WEIGHTS = st.lists(st.one_of(st.integers(0, 9), st.floats(0.0, 1e100, allow_subnormal=False)), min_size=1, max_size=9)


@given(WEIGHTS)
def test_copies_add_up_to_the_weights(weights):
    weights, total = np.array(weights, np.float64), np.zeros(len(weights))
    for unit, copies in copies_of(weights):
        assert copies.dtype == np.int64 and copies.min() >= 0 and copies.max() < 2**BITS
        total = total + copies * 2.0 ** (BITS * unit)
    np.testing.assert_allclose(total, weights, rtol=0.0, atol=2.0 ** (-43 * BITS))


def test_whole_weights_are_counted_once():
    assert [unit for unit, _ in copies_of(np.array([3.0, 0.0, 2.0**24 - 1.0]))] == [0]
    assert not list(copies_of(np.zeros(3)))


def test_rows_without_weights_have_the_arrays_of_the_task_alone():
    """So files of older versions are read."""
    rows, options = opened(np.arange(9.0)[:, None], labelled=False), RunOptions(False)
    alone, _ = run(ValueScan(), rows, options)
    total = WeighedTotal({0: alone})
    assert total.arrays().keys() == alone.arrays().keys()
    assert OfCopies(ValueScan()).total(alone.arrays()).whole().features[0].counts.tolist() == [1] * 9

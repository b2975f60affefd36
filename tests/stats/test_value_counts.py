"""Values counted by their leading bits: against counting them, whatever the order, and the quantiles read off."""

from functools import reduce
from operator import add

import numpy as np
import pytest
import scipy.sparse as sp

from streamnb.rows.boundary import as_chunk
from streamnb.stats.value_counts import N_CELLS, ValueCounts, cells_of, counted_cells

rng = np.random.default_rng(0)
REAL = {
    "normal": rng.normal(size=20_000),
    "heavy": rng.standard_cauchy(20_000) ** 3,
    "late": 1.7e9 + 1e6 * rng.random(20_000),
    "few": rng.integers(-3, 3, 20_000) / 10,
    "zeros": np.repeat([0.0, -0.0, 5e-324, -5e-324, 1e100, -1e100], 3000),
}


def counted(*blocks):
    counting = ValueCounts()
    for block in blocks:
        counting.add_rows(as_chunk(block, missing=True)[0])
    return counting


def same(a, b):
    np.testing.assert_equal(a.arrays(), b.arrays())


@pytest.mark.parametrize("values", REAL.values(), ids=REAL)
def test_cells_do_not_depend_on_the_order_and_are_no_coarser_than_they_must(values):
    whole = cells_of(values)
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(values))
        parts = [cells_of(part) for part in np.array_split(values[order], 7)]
        np.testing.assert_equal(reduce(add, parts), whole)
        np.testing.assert_equal(reduce(add, [cells_of(part, whole.shift) for part in np.array_split(values, 3)]), whole)
    assert whole.counts.sum() == len(values) and len(whole.keys) <= N_CELLS
    if whole.shift:
        finer = np.unique(np.where((b := (values + 0.0).view(np.int64)) < 0, b ^ (2**63 - 1), b) >> (whole.shift - 1))
        assert len(finer) > N_CELLS
    tops, up_to = whole.tops(), np.cumsum(whole.counts)
    np.testing.assert_array_equal(np.searchsorted(np.sort(values), tops, side="right"), up_to)
    if len(np.unique(values)) <= N_CELLS:
        np.testing.assert_array_equal(tops, np.unique(values))
    between = whole.between()
    np.testing.assert_array_equal(np.searchsorted(np.sort(values), between, side="right"), up_to[:-1])
    assert (tops[:-1] <= between).all()


@pytest.mark.parametrize("values", [[-1.7e308, 1.7e308], [1.0, np.nextafter(1.0, 2.0)], [0.0, 5e-324], [-5e-324, 0.0]])
def test_a_number_between_two_is_no_larger_than_what_lies_there(values):
    border = counted_cells(np.array(values), np.ones(2, int)).between()
    assert values[0] <= border[0] < values[1]


@pytest.mark.parametrize("q", [0.01, 0.25, 0.5, 0.9])
@pytest.mark.parametrize("values", REAL.values(), ids=REAL)
def test_quantiles_are_as_near_as_is_said(values, q):
    cells = cells_of(values)
    top = cells.tops()[np.searchsorted(np.cumsum(cells.counts), np.ceil(q * len(values)))]
    true = np.quantile(values, q, method="inverted_cdf")
    n_powers = len({*zip(np.frexp(values)[1].tolist(), np.sign(values).tolist(), strict=True)})
    assert 2.0 ** (cells.shift - 52) < 2 * n_powers / N_CELLS or not cells.shift
    assert true <= top <= true + (2.0 ** (cells.shift - 52) * abs(true) if cells.shift else 0.0)


def test_rows_in_any_form_and_parts_leave_the_same_counts():
    X = np.column_stack([REAL["normal"], REAL["few"], np.where(REAL["few"] > 0, np.nan, 1.0)])[:3000]
    whole = counted(X)
    assert whole.missing.tolist() == [0, 0, np.isnan(X[:, 2]).sum()] and whole.n_features == 3
    assert whole.low.tolist() == np.nanmin(X, axis=0).tolist() and whole.high.tolist() == np.nanmax(X, axis=0).tolist()
    same(counted(X[:10], X[10:10], X[10:]), whole)
    same(counted(X[100:]) + counted(X[:100]), whole)
    same(counted() + whole + counted(), whole)
    same(ValueCounts().of_arrays(whole.arrays()), whole)
    counts = rng.poisson(0.3, (500, 4))
    same(counted(sp.csr_array(counts)), counted(counts))
    assert 0 <= whole.nbytes - sum(c.keys.nbytes + c.counts.nbytes for c in whole.features) < 100


def test_what_does_not_fit_is_refused():
    counting = ValueCounts(memory_limit=1000)
    with pytest.raises(MemoryError, match=r"values of 1 features, counted would take .*, and memory_limit allows"):
        counting.add_rows(as_chunk(REAL["normal"][:, None])[0])
    counting = ValueCounts()
    counting.add_rows(as_chunk([[1.0, 2.0]])[0])
    with pytest.raises(ValueError, match="3 features"):
        counting.add_rows(as_chunk([[1.0, 2.0, 3.0]])[0])


@pytest.mark.parametrize("name", ["few", "zeros"])
def test_cells_of_values_that_were_counted_are_those_of_all(name):
    values, counts = np.unique(REAL[name], return_counts=True)
    some, all_of_them = counted_cells(values[::-1], counts[::-1]), cells_of(REAL[name])
    assert some.shift == all_of_them.shift and np.array_equal(some.keys, all_of_them.keys)
    assert np.array_equal(some.counts, all_of_them.counts)

"""Sums of moments while blocks come: dense and sparse tables hold the same bits, as long as either fits."""

import numpy as np
import pytest
import scipy.sparse as sp

from streamnb.rows.boundary import as_chunk
from streamnb.rows.preparing import RowOptions
from streamnb.rows.row_blocks import Entries
from streamnb.stats import moment_sums
from streamnb.stats.moment_sums import PLAIN_MOMENTS, MomentSums

N_GROUPS, N_FEATURES = 4, 30
PLAIN = RowOptions()


def rows(n_rows=50, seed=0, real=True):
    rng = np.random.default_rng(seed)
    x = rng.integers(-3, 4, (n_rows, N_FEATURES)) * (rng.random((n_rows, N_FEATURES)) < 0.3)
    x = x * rng.uniform(0.1, 9.0, x.shape) if real else x.astype(float)
    return x, rng.integers(0, N_GROUPS, n_rows), rng.uniform(0.1, 2.0, n_rows) if real else np.ones(n_rows)


def summed(x, codes, weight, make=sp.csr_array, step=9, moments=PLAIN_MOMENTS, limit=None, options=PLAIN, width=None):
    """Sums of the blocks of so many rows, whose groups become more from block to block."""
    sums = MomentSums(moments, options, limit)
    for first in range(0, len(x), step):
        some = slice(first, first + step)
        block = make(x[some])
        if width is not None:
            block = sp.csr_array((block.data, block.indices, block.indptr), shape=(block.shape[0], width))
        entries = Entries(np.arange(len(codes[some])), codes[some], weight[some])
        heaviest = weight[some].sum() if (weight == np.floor(weight)).all() else np.inf
        sums.add(*as_chunk(block), entries, int(codes[: some.stop].max()) + 1, heaviest)
    return sums


def values(sums, n_features=N_FEATURES):
    return {name: sums.take(name, np.arange(N_GROUPS), n_features).value(slice(0, N_FEATURES)) for name in sums.moments}


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_sizes_of_numbers_that_are_not_negative_are_their_sums(make):
    x, codes, weight = rows(real=False)
    counts = values(summed(abs(x), codes, weight, make, moments=("sum", "deviation")))
    np.testing.assert_array_equal(counts["deviation"], counts["sum"])
    mixed = np.vstack([abs(x), x])  # negative numbers come after a table of whole numbers has begun
    found = values(summed(mixed, np.tile(codes, 2), np.tile(weight, 2), make, moments=("sum", "deviation")))
    np.testing.assert_array_equal(found["deviation"], 2.0 * counts["sum"])


def test_tables_become_sparse_where_the_limit_is_below_dense_ones_and_it_is_kept():
    x, codes, weight = rows(real=False)
    limit = 8 * len(PLAIN_MOMENTS) * N_GROUPS * N_FEATURES - 1
    sums = summed(x[:4], codes[:4], weight[:4], limit=limit)
    assert sums.nbytes < limit
    assert (values(sums)["sum"] == values(summed(x[:4], codes[:4], weight[:4]))["sum"]).all()
    with pytest.raises(MemoryError, match=r"sums \(sum, sum_sq, nonzero, above\) of 4 classes and 30 features"):
        summed(x, codes, weight, limit=1000)


def test_what_cannot_be_sparse_is_refused_before_the_scan_and_in_it():
    assert moment_sums.may_be_sparse(["sum", "above"], PLAIN)
    assert not moment_sums.may_be_sparse(["log_sum"], PLAIN)
    assert not moment_sums.may_be_sparse(["sum", "above"], RowOptions(binarize=-1.0))  # true of absent values
    moment_sums.check_fits(("sum",), PLAIN, 4, 1 << 40, 1000)  # they may turn out to be mostly empty
    moment_sums.check_fits(("log_sum",), PLAIN, 2, 10, 160)
    with pytest.raises(MemoryError, match=r"the sums \(log_sum\) of 2 classes and 10 features .* memory_limit"):
        moment_sums.check_fits(("log_sum",), PLAIN, 2, 10, 159)
    x, codes, weight = rows()
    with pytest.raises(MemoryError, match=r"\(log_sum\)"):
        summed(np.abs(x) + 1.0, codes, weight, moments=["log_sum"], limit=100)

"""Moments of a function of the feature: exact sums, whatever the chunks; NaN outside the domain."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import streamnb as snb
from streamnb.rows.boundary import as_chunk
from streamnb.rows.preparing import RowOptions
from streamnb.rows.row_blocks import Entries
from streamnb.stats import moment_sums
from streamnb.stats.moment_sums import MOMENTS, PLAIN_MOMENTS, TABLE, MomentSums

FUNCTIONS = {
    "log_sum": np.log,
    "inv_sum": np.reciprocal,
    "log1m_sum": lambda x: np.log1p(-x),
    "deviation": lambda x: np.abs(x - 0.25),
}
SPARSE = ["log1m_sum", "deviation"]  # those that have a value at 0


def shares(seed=0, n_rows=40, n_features=5, n_classes=3, zeros=False):
    """Values inside (0, 1), labels and weights that round."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0.01, 0.99, (n_rows, n_features))
    if zeros:
        x[rng.random(x.shape) < 0.6] = 0.0
    return x, rng.integers(0, n_classes, n_rows), rng.random(n_rows)


def sums_of(function, x, y, w):
    return np.array([(w[y == k, None] * function(x[y == k])).sum(axis=0) for k in np.unique(y)])


def scan(x, y, w=None, **options):
    return snb.scan(x, y, sample_weight=w, moments=list(FUNCTIONS), centre=0.25, **options)


@given(st.sampled_from([-0.5, 0.0, 2.0]), st.sampled_from([-1.5, 0.0, 0.25]))
def test_a_row_of_the_table_is_what_the_scan_sums(binarize, centre):
    x, options = np.array([-2.0, -0.5, 0.0, 0.25, 0.75]), RowOptions(binarize=binarize, centre=centre)
    stats = snb.scan(x[:, None], np.zeros(5, int), moments=MOMENTS, binarize=binarize, centre=centre)
    for name, moment in TABLE.items():
        with np.errstate(divide="ignore", invalid="ignore"):
            values = moment.of(x, options) + moment.of_absent(options)
        inside = (moment.domain[0] <= x) & (x <= moment.domain[1])
        assert (
            np.isfinite(values[inside]).all()
            and ((values >= moment.means[0]) & (values <= moment.means[1]))[inside].all()
        )
        expected = values.sum() if inside.all() else np.nan
        np.testing.assert_allclose(getattr(stats, name)[0, 0], expected, rtol=1e-13)
        if moment.at_zero is not None:
            assert moment.of(np.zeros(1, np.float32), options) == 0  # what is not stored adds nothing
            assert moment.may_be_sparse(options) == (values[2] == 0.0)
        whole = np.arange(-3, 4)
        if moment.bound is not None:
            assert moment.whole_up_to(3.0, True) >= np.abs(moment.of(whole, options)).max()
        assert moment.whole_up_to(0.5, False) == (1.0 if moment.counts else np.inf)


@pytest.mark.parametrize("name", SPARSE)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_absent_values_count_as_zeros(name, dtype):
    x, y, w = shares(1, zeros=True)
    x = x.astype(dtype)
    dense, sparse = (getattr(scan(rows, y, w), name) for rows in (x, sp.csr_array(x)))
    assert np.array_equal(dense, sparse)
    np.testing.assert_allclose(dense, sums_of(FUNCTIONS[name], x.astype(float), y, w), rtol=1e-13)


@pytest.mark.parametrize("centre", [-2.5, 0.0, 1e8])
def test_deviations_are_exact_before_they_are_rounded(centre):
    """Also around a centre far from 0, though they are counted relative to a value that is absent."""
    rng = np.random.default_rng(2)
    x = centre + rng.normal(size=(60, 3)) * (rng.random((60, 3)) < 0.7)
    y, w = rng.integers(0, 2, 60), rng.random(60)
    ours = snb.scan(x, y, sample_weight=w, moments="deviation", centre=centre).deviation
    for k in (0, 1):
        for j in range(3):
            terms = (Fraction(w[i]) * abs(Fraction(x[i, j]) - Fraction(centre)) for i in np.flatnonzero(y == k))
            assert abs(ours[k, j] - float(sum(terms))) <= 2e-16 * abs(ours[k, j])


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("name, bad", [("log_sum", 0.0), ("log_sum", -1.0), ("inv_sum", 0.0), ("log1m_sum", 1.0)])
def test_a_value_outside_the_domain_makes_its_own_sum_nan(name, bad, make):
    """Of that feature and class alone, whether a zero is stored or absent."""
    x, y, w = shares(5)
    x[7, 2] = bad
    expected = np.zeros((3, 5), bool)
    expected[y[7], 2] = True
    assert np.array_equal(np.isnan(getattr(scan(make(x), y, w), name)), expected)
    stored = sp.csr_array(np.where(x == 0, 1.0, x))
    stored.data[7 * 5 + 2] = bad
    assert np.array_equal(np.isnan(getattr(scan(stored, y, w), name)), expected)


def test_the_plain_moments_are_what_is_summed_unless_told():
    x, y, _ = shares()
    stats = snb.scan(x, y)
    assert set(stats.tables) == {"weight", *PLAIN_MOMENTS}
    for name in set(MOMENTS) - set(PLAIN_MOMENTS):
        with pytest.raises(ValueError, match=f"{name}.*moments"):
            getattr(stats, name)
    with pytest.raises(ValueError, match=r"'logsum' is unknown.*'log_sum'"):
        snb.scan(x, y, moments=["logsum"])


def test_the_centre_belongs_to_the_statistics():
    x, y, _ = shares()
    stats = scan(x, y)
    with pytest.raises(ValueError, match=r"centre=0\.25, the others with 0\.0"):
        stats + snb.scan(x, y, moments=list(FUNCTIONS))
    with pytest.raises(ValueError, match="centre=nan"):
        snb.scan(x, y, centre=np.nan)


# ---- Sums of moments while blocks come: dense and sparse tables hold the same bits, as long as either fits -----------

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

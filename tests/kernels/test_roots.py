"""The exact scalars of a class under L1, part by part, against the definition at many T."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from streamnb.kernels import roots
from streamnb.kernels.table_sums import index_of
from streamnb.solving.multinomial import fill_totals
from tests.support import naive

TAUS = np.array([0.25, 0.5, 1.5, 2.0, 6.0])


def feature(seed, n=6, digits=64):
    """Excess that sums to 0, share that sums to 1, and units: of few binary digits, so that sums are exact."""
    rng = np.random.default_rng(seed)
    share = rng.multinomial(digits, np.full(n, 1.0 / n)) / digits
    excess = rng.integers(-20, 21, n) / 4.0
    excess[0] -= excess.sum()
    return excess, share, rng.choice([0.5, 1.0, 2.0], n)


def counted(seed, n):
    """A feature as counts leave it, whose sums are rounded."""
    rng = np.random.default_rng(seed)
    share, counts = rng.dirichlet(np.ones(n)), rng.integers(0, 20, n) + 0.5
    return counts - counts.sum() * share, share, rng.choice([0.5, 1.0], n)


features = st.builds(feature, st.integers(0, 2**32 - 1), st.integers(2, 9))


def clipped(excess, share, unit, tau, total):
    return np.abs(excess + total * share) > tau * unit


@given(features, st.sampled_from([0.5, 2.0, 6.0, 30.0]))
def test_in_a_flat_range_nothing_is_clipped(arrays, tau):
    excess, share, unit = arrays
    low, high = roots.flat_range(*arrays, len(share), tau)
    ends = [(sorted((s * tau * u - e) / q for s in (-1, 1))) for e, q, u in zip(excess, share, unit) if q > 0.0]
    lowest, highest = max(end[0] for end in ends), min(end[1] for end in ends)
    assert (low <= high) == (lowest <= highest)
    if low <= high:
        assert (low, high) == (lowest, highest)
        root = roots.flat_root(low, high)
        assert low <= root <= high and (root == 0.0 or not low <= 0.0 <= high)
        assert not clipped(excess, share, unit, tau, root)[share > 0.0].any()


@given(features, st.sampled_from(TAUS.tolist()), st.floats(-20.0, 20.0))
def test_newton_ends_at_a_root_from_anywhere(arrays, tau, start):
    excess, share, unit = arrays
    low, high = roots.flat_range(*arrays, len(share), tau)
    if low <= high:  # any T between is a root
        return
    width = tau * unit.sum()
    total = roots.newton_root(*arrays, len(share), tau, 0.0, 0.0, -width, width, start)
    assert naive.surplus_of(excess, share, tau * unit)(total) == pytest.approx(0.0, abs=1e-12 * (width + 1.0))
    surely = (share == 0.0) & (np.abs(excess) > tau * unit)  # whatever T is: their sums may be given
    level = (np.sign(excess) * tau * unit - excess)[surely].sum()
    rest = (values[~surely] for values in arrays)
    again = roots.newton_root(*rest, np.count_nonzero(~surely), tau, 0.0, level, -width, width, start)
    assert again == pytest.approx(total, rel=1e-12, abs=1e-12)


@given(features, st.sampled_from([-4.0, 0.0, 1.0]), st.sampled_from([0.0, 0.5, 8.0]))
def test_what_is_looked_at_and_what_is_known_are_all_that_is_clipped_within_reach(arrays, centre, reach):
    excess, share, unit = arrays
    n = len(excess)
    found, spans, sums = np.empty(n, np.intp), np.empty((2, n), np.intp), np.empty((3, len(TAUS)))
    known = TAUS, TAUS, index_of(TAUS), np.arange(len(TAUS) + 1)
    n_found = roots.clipped_spans(*arrays, *known, centre, reach, found, spans, sums)
    assert np.unique(found[:n_found]).size == n_found and (spans[0, :n_found] < spans[1, :n_found]).all()
    for total in np.linspace(centre - reach, centre + reach, 17):
        signs = np.sign(excess + total * share)
        for g, tau in enumerate(TAUS):
            are = clipped(*arrays, tau, total)
            looked_at = np.zeros(n, bool)
            looked_at[found[:n_found][(spans[0, :n_found] <= g) & (g < spans[1, :n_found])]] = True
            surely = are & ~looked_at
            expected = [part[surely].sum() for part in (share, signs * unit, excess)]
            assert sums[:, g].tolist() == expected


@given(st.lists(st.integers(0, 4), max_size=12))
def test_features_in_order_of_their_first_tau(firsts):
    spans = np.array([firsts, [5] * len(firsts)], np.intp).reshape(2, -1)
    order, ends = np.empty(len(firsts), np.intp), np.empty(6, np.intp)
    roots.sort_spans(spans, len(firsts), 5, order, ends)
    assert order.tolist() == sorted(range(len(firsts)), key=lambda i: firsts[i])
    assert ends[:5].tolist() == [sum(first <= g for first in firsts) for g in range(5)]


@given(st.builds(counted, st.integers(0, 2**32 - 1), st.integers(2, 40)), st.sampled_from([0.04, 1.0, 16.0]))
@example(counted(1, 3), 1.0)  # where steps end between two neighbouring numbers
def test_pulls_are_roots_whatever_the_other_taus_are_and_the_first_taus_clip(arrays, scale):
    taus = scale * TAUS
    totals, alone = np.full(len(TAUS), np.nan), np.full(1, np.nan)
    n_clipped = fill_totals(arrays, taus, index_of(taus), totals)
    excess, share, unit = arrays
    for g, (tau, total) in enumerate(zip(taus, totals)):
        surplus = naive.surplus_of(excess, share, tau * unit)(total)
        assert abs(surplus) <= 1e-13 * (np.abs(excess).sum() + tau * unit.sum())
        low, high = roots.flat_range(*arrays, len(share), tau)
        assert (g < n_clipped) == (low > high)
        fill_totals(arrays, taus[g : g + 1], index_of(taus[g : g + 1]), alone)
        np.testing.assert_allclose(total, alone[0], rtol=1e-13, atol=1e-13)


def test_features_that_no_total_moves_have_none():
    totals = np.ones(len(TAUS))
    assert fill_totals([np.array([3.0, -3.0]), np.zeros(2), np.ones(2)], TAUS, index_of(TAUS), totals) == 0
    assert not totals.any()

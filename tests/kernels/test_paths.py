"""Weights of a grid of L1 taus and their means, against loops over features, rows and taus."""

from itertools import product

import numpy as np
import pytest

from streamnb.kernels import roots
from streamnb.kernels.table_sums import index_of

TAUS = np.array([0.0, 0.1, 0.4, 0.4, 1.5, 3.0])
N, G = 7, len(TAUS)
every_shape = pytest.mark.parametrize(
    ("n_rows", "one_for_all", "scored"), [(1, True, False), (3, True, True), (3, False, True)]
)


class Problem:
    """What tells whether a weight is zero, totals, and what is known of both sides."""

    def __init__(self, n_rows, one_for_all, scored, seed=0):
        rng = np.random.default_rng(seed)
        self.n_rows, self.shape = n_rows, (n_rows, N)
        known = 1 if one_for_all else n_rows
        self.t_star = rng.normal(size=self.shape) * 2.0
        self.pooled, self.phi = rng.uniform(0.1, 1.0, (2, known, N))
        self.sd = rng.uniform(0.5, 2.0, self.shape)
        self.sd[0, 0] = 0.0 if scored and n_rows > 1 else 1.0
        self.scored, self.totals = scored, rng.normal(size=(n_rows, G))
        shares = rng.uniform(4.0, 9.0, (1, 1) if one_for_all else self.shape), rng.uniform(4.0, 9.0, (known, N))
        self.plus = rng.uniform(1.0, 2.0, self.shape), shares[0]
        self.minus = rng.uniform(1.0, 2.0, (known, N)), shares[1]

    def arguments(self):
        return self.t_star, self.pooled, self.sd, self.scored, TAUS

    def of(self, array, r, j):
        return np.broadcast_to(array, self.shape)[r, j]

    def unit(self, r, j):
        return self.sd[r, j] if self.scored else 1.0

    def size(self, r, j, g, total):
        """What is above tau where there is a weight."""
        unit = self.unit(r, j)
        return abs(self.t_star[r, j] + total * self.of(self.pooled, r, j)) / unit if unit else 0.0

    def ends(self, bounds, slack=1.0):
        ends = np.empty((N, self.n_rows), np.int32)
        roots.live_ends(*self.arguments(), bounds, slack, index_of(TAUS), ends)
        return ends


@every_shape
def test_from_the_ends_on_no_total_within_bounds_leaves_a_weight(n_rows, one_for_all, scored):
    problem = Problem(n_rows, one_for_all, scored)
    for bounds in np.zeros((n_rows, G)), -np.sort(-np.abs(problem.totals), axis=1):
        ends = problem.ends(bounds)
        for j, r in product(range(N), range(n_rows)):
            outward = np.copysign(bounds[r], problem.t_star[r, j])
            assert ends[j, r] == sum(problem.size(r, j, g, outward[g]) > TAUS[g] for g in range(G))


@every_shape
def test_the_last_tau_with_a_weight_in_any_row(n_rows, one_for_all, scored):
    problem, lasts = Problem(n_rows, one_for_all, scored), np.zeros(N, np.intp)
    expected = lasts.copy()
    for r in range(n_rows):
        unit = np.array([problem.unit(r, j) for j in range(N)])
        pooled = np.ascontiguousarray(np.broadcast_to(problem.pooled, problem.shape)[r])
        live = [[problem.size(r, j, g, problem.totals[r, g]) > TAUS[g] for g in range(G)] for j in range(N)]
        here = np.array([max((g + 1 for g in range(G) if of_feature[g]), default=0) for of_feature in live])
        most = roots.last_live(problem.t_star[r], pooled, unit, TAUS, problem.totals[r], index_of(TAUS), lasts)
        assert most == max(here[here >= expected], default=0)
        expected = np.maximum(expected, here)
        assert lasts.tolist() == expected.tolist()
        again = roots.last_live(problem.t_star[r], pooled, unit, TAUS, problem.totals[r], index_of(TAUS), lasts)
        assert again == max(here[here >= expected], default=0)  # the row shares it all
    assert roots.last_live(problem.t_star[0], pooled, unit, TAUS, problem.totals[0, :0], index_of(TAUS), lasts) == 0


@every_shape
def test_weights_are_counted_by_row_and_features_once(n_rows, one_for_all, scored):
    problem = Problem(n_rows, one_for_all, scored)
    bounds = np.full((n_rows, G), np.abs(problem.totals).max())
    rows, union = np.ones((n_rows, G), np.int64), np.ones(G, np.int64)
    roots.count_live(*problem.arguments(), problem.totals, problem.ends(bounds), np.empty(G, np.int64), rows, union)
    live = np.zeros((N, n_rows, G), bool)
    for j, r, g in np.ndindex(live.shape):
        live[j, r, g] = problem.size(r, j, g, problem.totals[r, g]) > TAUS[g]
    assert (rows == 1 + live.sum(axis=0)).all() and (union == 1 + live.any(axis=1).sum(axis=0)).all()


@pytest.mark.parametrize("fixed", [False, True])
@every_shape
def test_means_under_the_pull(n_rows, one_for_all, scored, fixed):
    problem = Problem(n_rows, one_for_all, scored)
    lengths, first = problem.ends(np.zeros((n_rows, G))), 2
    found = np.full((2, lengths[first:].sum()), np.nan)
    where = first, N, problem.t_star, problem.sd, scored, TAUS, lengths
    roots.pulled_means(*where, problem.plus, problem.minus, fixed, *found)
    expected = []
    for j, r in product(range(first, N), range(n_rows)):
        pull = np.sign(problem.t_star[r, j]) * problem.unit(r, j) * TAUS[: lengths[j, r]]
        (m_plus, r_plus), (m_minus, r_minus) = (
            [problem.of(part, r, j) for part in side] for side in (problem.plus, problem.minus)
        )
        expected.append([m_plus - pull * r_plus, np.full(len(pull), m_minus) if fixed else m_minus + pull * r_minus])
    np.testing.assert_allclose(found, np.concatenate(expected, axis=1), rtol=1e-14)


def moved(problem, fixed, first=0):
    """Lists of the weights that are not zero, as the kernel makes them."""
    lengths = problem.ends(np.full((problem.n_rows, G), np.abs(problem.totals).max()))
    room = lengths[first:].sum() + 1
    points, sign = np.empty(room, np.int32), np.empty(room, np.int8)
    means = np.empty((2, room))
    sides = problem.plus, problem.minus, fixed, points, sign, means[0], means[1]
    roots.moved_means(first, N, *problem.arguments(), problem.totals, lengths, sides)
    n = lengths[first:].sum()
    return lengths, points[:n], sign[:n], means[:, :n]


@pytest.mark.parametrize("fixed", [False, True])
@every_shape
def test_means_under_totals(n_rows, one_for_all, scored, fixed):
    problem, first = Problem(n_rows, one_for_all, scored), 1
    problem.sd[0, 0] = 1.0
    lengths, points, sign, means = moved(problem, fixed, first)
    expected = []
    for j, r in product(range(first, N), range(n_rows)):
        totals = problem.totals[r]
        live = [g for g in range(G) if problem.size(r, j, g, totals[g]) > TAUS[g]]
        assert lengths[j, r] == len(live)
        (s_plus, n_plus), (s_minus, n_minus) = (
            [problem.of(part, r, j) for part in side] for side in (problem.plus, problem.minus)
        )
        for g in live:
            side = np.sign(problem.t_star[r, j] + totals[g] * problem.of(problem.pooled, r, j))
            pull = side * TAUS[g] * problem.unit(r, j)
            negative = s_minus if fixed else (s_minus + pull) / (n_minus + totals[g])
            expected.append((g, side, (s_plus - pull) / (n_plus - totals[g]), negative))
    np.testing.assert_allclose([points, sign, *means], np.transpose(expected), rtol=1e-13)


@pytest.mark.parametrize("coupled", [False, True])
@every_shape
def test_weights_come_in_order_with_what_they_add(n_rows, one_for_all, scored, coupled):
    problem = Problem(n_rows, one_for_all, scored)
    problem.sd[0, 0] = 1.0
    first, rng = 2, np.random.default_rng(1)
    if coupled:
        lengths, points, sign, _ = moved(problem, False, first)
    else:
        lengths, points, sign = problem.ends(np.zeros((n_rows, G))), np.empty(0, np.int32), np.empty(0, np.int8)
    of_list = [
        (j, r, points[p] if coupled else g, sign[p] if coupled else np.sign(problem.t_star[r, j]))
        for p, (j, r, g) in enumerate(
            (j, r, g) for j in range(first, N) for r in range(n_rows) for g in range(lengths[j, r])
        )
    ]
    negative = rng.normal(size=len(of_list))
    positive = negative + [side for *_, side in of_list] * rng.uniform(0.5, 2.0, len(of_list))
    positive[1], positive[-1] = negative[1], np.inf  # nothing, and too much
    shifts, before = rng.normal(size=(2, len(of_list)))
    before[:] = shifts
    indptr = np.full(N + 1, 3)  # so many weights stand before
    indices, weights = np.full(3 + len(of_list), -1, np.int32), np.zeros(3 + len(of_list))
    some = first, N, lengths, coupled, points
    put = (
        problem.t_star,
        sign,
        (positive, negative, False, np.zeros((1, 1), bool)),
        problem.phi,
        indptr,
        np.zeros(G, np.int64),
        (indices, weights),
    )
    assert roots.put_in_order(*some, *put, shifts) == 2
    expected = {}
    for p, (j, r, g, _) in enumerate(of_list):
        expected[j, g * n_rows + r] = (positive[p] - negative[p]) / problem.of(problem.phi, r, j)
    expected = {key: value if np.isfinite(value) and value else np.nan for key, value in sorted(expected.items())}
    assert indices[3:].tolist() == [column for _, column in expected]
    np.testing.assert_allclose(weights[3:], list(expected.values()), rtol=1e-14)
    assert indptr[first:].tolist() == [3 + sum(j < stop for j, _ in expected) for stop in range(first, N + 1)]
    assert np.flatnonzero(shifts != before).tolist() == [1, len(of_list) - 1] and not shifts[[1, -1]].any()
    added, of_each = np.zeros((2, n_rows, G))
    roots.add_shifts(*some, problem.phi, shifts, added)
    for p, (j, r, g, _) in enumerate(of_list):
        of_each[r, g] += shifts[p] / problem.of(problem.phi, r, j)
    np.testing.assert_allclose(added, of_each, rtol=1e-14)


def test_links_of_a_fixed_side_are_those_of_the_features():
    t_star, phi, lengths = np.ones((1, 2)), np.ones((1, 2)), np.array([[2], [1]], np.int32)
    indptr, csr = np.zeros(3, np.int64), (np.empty(3, np.int32), np.empty(3))
    nothing = np.empty(0, np.int32), np.empty(0, np.int8)
    links = np.array([5.0, 6.0, 7.0]), np.array([1.0, 2.0])
    links = *links, True, np.zeros((1, 1), bool)
    put = t_star, nothing[1], links, phi, indptr, np.zeros(G, np.int64), csr, np.empty(0)
    assert roots.put_in_order(0, 2, lengths, False, nothing[0], *put) == 0
    assert indptr.tolist() == [0, 2, 3] and csr[0].tolist() == [0, 1, 0] and csr[1].tolist() == [4.0, 5.0, 5.0]


@pytest.mark.parametrize("coupled", [False, True])
def test_places_of_the_weights_of_a_feature(coupled):
    lengths, places = np.array([2, 0, 3], np.int32), np.full(G, 99)
    points = np.array([9, 9, 1, 3, 0, 3, 5], np.int32) if coupled else np.empty(0, np.int32)  # two of another feature
    stop = roots.find_places(lengths, 2, points, coupled, 10, places)
    at = [points[2:].tolist()] if coupled else [range(length) for length in lengths]
    counts = [sum(list(one).count(g) for one in at) for g in range(G)]
    assert stop == 15
    expected = [10 + sum(counts[:g]) for g in range(G) if any(counts[g:])]
    assert places[: len(expected)].tolist() == expected

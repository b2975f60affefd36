"""Classes of which one weighs up to 1e16 times another, and features of any scale: weights with all their digits."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import streamnb as snb
from streamnb.stats.tables import SparseTable
from tests.support import exact_sides
from tests.support.spread_classes import FAMILIES, STATISTICS, exactly, scanned, solved, spread

SCHEMES = [("joint", 2), ("joint", 3), ("ovr", 3), ("joint", 5), ("ovr", 5), ("ovo", 3), ("reference", 4)]
RATIOS = [1.0, 1e6, 1e12, 1e16]


def one_or_the_other_first(families, schemes):
    """Each family in each scheme, the heaviest class first in every second of them."""
    cells = ((i + j, family, *scheme) for i, family in enumerate(families) for j, scheme in enumerate(schemes))
    names = "family", "scheme", "n_classes", "heaviest_first"
    return pytest.mark.parametrize(names, [(*cell, number % 2 == 0) for number, *cell in cells])


def largest_error(coef, family, rows, phi, tau=0.0):
    errors = (exact_sides.error(coef[r], exact_sides.weights(family, row, phi, tau)) for r, row in enumerate(rows))
    return max(errors)


@one_or_the_other_first(FAMILIES, SCHEMES)
def test_weights_are_right_however_unequal_classes_are(family, scheme, n_classes, heaviest_first):
    for ratio in RATIOS[heaviest_first::2]:
        x, y, weight = spread(family, n_classes, ratio, heaviest_first)
        path, phi = solved(scanned(x, y, weight), family, scheme)
        rows = exactly(family, scheme, x, y, weight)
        assert largest_error(path[0].coef_, family, rows, phi) < 1e-12


@one_or_the_other_first(["poisson", "bernoulli", "gaussian", "gamma"], SCHEMES[:4])
def test_a_whole_grid_of_l1_is_right(family, scheme, n_classes, heaviest_first):
    x, y, weight = spread(family, n_classes, 1e16, heaviest_first)
    stats, taus = scanned(x, y, weight), np.array([1e-3, 0.1, 0.4])
    path, phi = solved(stats, family, scheme, snb.L1(taus))
    alone = [solved(stats, family, scheme, snb.L1(tau) + snb.TopK(4))[0] for tau in taus]  # by another way
    rows = exactly(family, scheme, x, y, weight)
    blocks = list(path.by_columns())
    coef = np.vstack([weights.toarray() for _, weights in blocks]).T.reshape(len(taus), -1, x.shape[1])
    for g, tau in enumerate(taus):
        assert largest_error(coef[g], family, rows, phi, tau) < 2e-12
        assert largest_error(alone[g][0].coef_, family, rows, phi, tau) < 2e-12
        assert path.n_features[g] == (coef[g] != 0.0).any(axis=0).sum()
    expected = np.max([[abs(float(t)) for t in exact_sides.pulls(row)] for row in rows], axis=0)
    np.testing.assert_allclose(path.breakpoints(), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("family", "scheme", "n_classes", "tau_1", "heaviest_first"),
    [
        (family, *scheme, *(((0.0, True), (0.2, False))[(i + j) % 2]))
        for i, family in enumerate(FAMILIES)
        for j, scheme in enumerate(SCHEMES[:3])
    ],
)
def test_a_whole_grid_of_l2_and_of_both_is_right(family, scheme, n_classes, tau_1, heaviest_first):
    taus = np.array([1e-3, 0.5, 300.0])
    x, y, weight = spread(family, n_classes, 1e16, heaviest_first)
    path, phi = solved(scanned(x, y, weight), family, scheme, snb.L1(tau_1) + snb.L2(taus) if tau_1 else snb.L2(taus))
    rows = exactly(family, scheme, x, y, weight)
    for model, tau in zip(path, taus, strict=True):
        for w, row in zip(model.coef_, rows, strict=True):
            if family == "multinomial":
                assert exact_sides.error(w, exact_sides.smooth_weights(family, row, phi, w, tau_1, tau)) < 2e-12
            else:
                assert all(exact_sides.stops(family, row, phi, j, w[j], tau, 12, tau_1) for j in range(len(w)))


@pytest.mark.parametrize(
    ("family", "scheme", "n_classes", "heaviest_first"),
    [
        ("gaussian", "joint", 2, True),
        ("bernoulli", "joint", 2, False),
        ("gamma", "joint", 2, True),
        ("laplace", "joint", 2, False),
        ("laplace", "ovr", 3, True),
    ],
)
def test_intercepts_are_right_where_a_light_side_is_pulled_away(family, scheme, n_classes, heaviest_first):
    taus = np.array([3.0, 1e4])
    x, y, weight = spread(family, n_classes, 1e16, heaviest_first)
    x[y == y[np.argmax(weight)], :2] = 0.0, {"binomial": 4.0}.get(family, 1.0)  # never there, and always
    rows = exactly(family, scheme, x, y, weight)
    for penalty in (snb.L1(0.2) + snb.L2(taus), snb.Separable(lambda w: -w, taus)):
        path, phi = solved(scanned(x, y, weight), family, scheme, penalty)
        for model, tau in zip(path, taus, strict=True):
            tau_1 = path.grid[0].get("l1", 0.0)
            for r, row in enumerate(rows):
                w = exact_sides.smooth_weights(family, row, phi, model.coef_[r], tau_1, tau)
                right, largest = map(float, exact_sides.shift(family, row, phi, w, tau_1, tau))
                found = model.intercept_[r] - path.intercepts[r]
                assert abs(found - right) <= 1e-10 * largest + 1e-15 * abs(path.intercepts[r])


RARE = {  # words that one class has next to never: where their shares are 0 the equations are all but straight up
    "three words": ([[0, 2, 3], [0, 2, 0]], [10.0, 1e7], 0.52, [-1.923018, 0.745649, -14.050940]),
    "five words": (
        [[0, 1, 1, 2, 0], [3, 0, 0, 0, 3]],
        [100.0, 1e8],
        0.47,
        [4.174642, -16.617485, -16.617485, -17.308630, 4.174642],
    ),
}


@pytest.mark.parametrize("name", RARE)
def test_words_that_a_heavy_class_lacks(name):
    x, weight, tau, expected = RARE[name]
    for y, sign in (([0, 1], 1.0), ([1, 0], -1.0)):
        model = snb.LinearNB("multinomial", snb.L2(tau)).fit(x, y, sample_weight=weight)
        np.testing.assert_allclose(sign * model.coef_[0], expected, atol=2e-6)


def test_categories_that_a_heavy_class_lacks():
    x, y, weight = np.array([[0], [1], [1], [2], [3], [3]]), [0, 0, 1, 1, 1, 0], np.array([10, 20, 1e7, 1e7, 3e7, 5])
    found = snb.LinearNB("categorical", snb.L2(0.52)).fit(x, y, sample_weight=weight).coef_[0]
    counts = [[sum(weight[(x[:, 0] == v) & (np.equal(y, k))]) + 1.0 for v in range(4)] for k in (1, 0)]
    plus, minus = ([Fraction(count) for count in of_class] for of_class in counts)
    right = exact_sides.smooth_weights("multinomial", (plus, sum(plus), minus, sum(minus), False), None, found, 0, 0.52)
    np.testing.assert_allclose(found, np.array(right, float), rtol=1e-12)


@given(st.data())
def test_multinomial_weights_under_l2_and_both(data):
    n_classes = data.draw(st.integers(2, 4))
    counts = st.lists(st.sampled_from([0, 0, 0, 1, 2, 3, 7]), min_size=4, max_size=4)
    y = [*range(n_classes), *data.draw(st.lists(st.integers(0, n_classes - 1), max_size=4))]
    x = np.array([data.draw(counts) for _ in y], float)
    logs = [data.draw(st.floats(0.0, 12.0)) for _ in range(n_classes)]
    weight = 10.0 ** np.take(logs, y)
    tau_1, tau_2 = data.draw(st.sampled_from([0.0, 0.1, 1.0, 20.0])), 10.0 ** data.draw(st.floats(-4.0, 6.0))
    scheme = data.draw(st.sampled_from(["joint", "ovr", "ovo", "reference"] if n_classes > 2 else ["joint"]))
    path, phi = solved(scanned(x, np.array(y), weight), "multinomial", scheme, snb.L1(tau_1) + snb.L2(tau_2))
    for w, row in zip(path[0].coef_, exactly("multinomial", scheme, x, np.array(y), weight), strict=True):
        right = np.array(exact_sides.smooth_weights("multinomial", row, phi, w, tau_1, tau_2), float)
        assert abs(w - right).max() <= 1e-9 * abs(right).max()


@pytest.mark.parametrize(("scheme", "n_classes"), SCHEMES[:3] + SCHEMES[5:])
@pytest.mark.parametrize("family", ["bernoulli", "binomial"])
def test_features_that_all_rows_of_a_class_have(family, scheme, n_classes):
    taus = np.array([1e-3, 0.4])
    for ratio, heaviest_first in ((1e6, True), (1e16, False)):
        x, y, weight = spread(family, n_classes, ratio, heaviest_first)
        x[(y[:, None] + np.arange(4)) % 2 == 0] = 4.0
        x[:, 3] = 4.0  # in all classes
        stats, rows = scanned(x, y, weight), exactly(family, scheme, x, y, weight)
        path, phi = solved(stats, family, scheme, snb.L1(np.append(0.0, taus)))
        for tau, model in zip(np.append(0.0, taus), path, strict=True):
            assert largest_error(model.coef_, family, rows, phi, tau) < 2e-12
        assert largest_error(solved(stats, family, scheme)[0][0].coef_, family, rows, phi) < 1e-12
        sparse = solved(stats.with_tables(SparseTable.of), family, scheme, snb.TopK(4, by="likelihood"))[0][0]
        assert largest_error(sparse.coef_, family, rows, phi) < 1e-12
        if (scheme, n_classes) in [("joint", 3), ("ovr", 3)]:
            unheld = snb.LinearNB(FAMILIES[family], scheme=scheme).fit(sp.csr_array(x), y, weight, memory_limit=100)
            rise = unheld.decision_function(np.eye(4)) - unheld.decision_function(np.zeros((1, 4)))
            np.testing.assert_allclose(rise, path[0].coef_.T, rtol=1e-9, atol=1e-9)
            labels = np.column_stack([y == 2, y != 0, y != 2, y < 2]).astype(np.uint8)
            stats, (*_, rows) = scanned(x, labels, weight), _indicator(family, x, labels, weight)
            path, phi = solved(stats, family, "ovr")
            assert largest_error(path[0].coef_, family, rows, phi) < 1e-12


@pytest.mark.parametrize(
    "penalty", [snb.L2(0.3), snb.L1(0.1) + snb.L2(0.5), snb.TopK(2, by="likelihood"), snb.Decorrelation(0.05)], ids=str
)
def test_presence_and_absence_are_one_feature(penalty):
    x, y, weight = spread("bernoulli", 3, 1e12, True)
    x[(y[:, None] + np.arange(4)) % 2 == 0] = 4.0
    there, not_there = (snb.LinearNB("bernoulli", penalty).fit(values, y, weight) for values in (x, x == 0))
    np.testing.assert_allclose(there.coef_, -not_there.coef_, rtol=1e-10)
    scores, others = there.decision_function(x), not_there.decision_function((x == 0).astype(float))
    np.testing.assert_allclose(scores, others, rtol=1e-10, atol=1e-12)
    assert there.coef_.any()


@given(seed=st.integers(0, 2**32 - 1), log_ratio=st.floats(0.0, 16.0))
def test_two_classes_by_the_other_name_have_the_negative_weights(seed, log_ratio):
    rng = np.random.default_rng(seed)
    x, y = rng.gamma(1.0, 2.0, (12, 3)), np.repeat([0, 1], 6)
    weight = rng.random(12) * 10.0 ** (log_ratio * y)
    for family in ("poisson", "gaussian", "gamma"):
        for penalty in (None, snb.L1(0.1), snb.L2(0.3)):
            one, other = (snb.LinearNB(family, penalty).fit(x, labels, weight) for labels in (y, 1 - y))
            assert (one.coef_ == -other.coef_).all() and one.coef_.any()


@given(seed=st.integers(0, 2**32 - 1), log_ratio=st.floats(0.0, 30.0), n_classes=st.integers(3, 6))
def test_the_rest_of_a_class_has_the_digits_that_its_means_have(seed, log_ratio, n_classes):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(n_classes), 4)
    x, scale = rng.gamma(1.0, 2.0, (len(y), 3)), 10.0 ** rng.uniform(0.0, log_ratio, n_classes)
    weight = rng.random(len(y)) * scale[y]
    coef = solved(scanned(x, y, weight), "poisson", "ovr")[0][0].coef_
    for r, row in enumerate(exactly("poisson", "ovr", x, y, weight)):
        right = np.array([float(w) for w in exact_sides.weights("poisson", row, np.ones(3))])
        np.testing.assert_allclose(coef[r], right, rtol=1e-12, atol=1e-14 * n_classes)


def test_a_class_that_fades_away_keeps_its_weights():
    rng = np.random.default_rng(0)
    x = rng.poisson([[6.0, 1.0, 3.0]] * 20 + [[1.0, 4.0, 1.0]] * 20).astype(float)
    y = np.repeat([0, 1], 20)
    for labels in (y, 1 - y):
        model = snb.LinearNB("poisson", smoothing=0.0).fit(x, labels)
        for _ in range(50):
            model.partial_fit(x[:20], labels[:20], decay=0.5)
        weight = np.where(y == 0, 2.0 - 2.0**-50, 2.0**-50)
        (row,) = exactly("poisson", "joint", x, labels, weight, smoothing=0.0)
        assert largest_error(model.coef_, "poisson", [row], np.ones(3)) < 1e-12


@pytest.mark.parametrize("family", ["poisson", "bernoulli", "geometric", "laplace", "multinomial"])
def test_labels_that_nearly_all_rows_bear_by_weight(family):
    for ratio in RATIOS:
        x, y, weight = spread(family, 3, ratio, False)
        labels = np.column_stack([y == 2, y != 0, y != 2, y < 2]).astype(np.uint8)
        stats, (*_, rows) = scanned(x, labels, weight), _indicator(family, x, labels, weight)
        path, phi = solved(stats, family, "ovr")
        assert largest_error(path[0].coef_, family, rows, phi) < 1e-12
        sparse, _ = solved(stats.with_tables(SparseTable.of), family, "ovr")
        assert largest_error(sparse[0].coef_, family, rows, phi) < 1e-12
        own, rest = (
            np.array([float(weight[of].sum()) for of in (labels[:, k] == v for k in range(4))]) for v in (1, 0)
        )
        np.testing.assert_allclose(path.intercepts, np.log(own / rest), rtol=1e-12, atol=1e-12)


def _indicator(family, x, labels, weight):
    members = [np.flatnonzero(column) for column in labels.T]
    statistic = STATISTICS.get(family, float)
    sums, counts = exact_sides.class_sums(x, members, weight, statistic)
    ((total,), (count,)) = exact_sides.class_sums(x, [range(len(x))], weight, statistic)
    return sums, counts, exact_sides.sides(family, "ovr", sums, counts, 1, every=(total, count))


@pytest.mark.parametrize("heaviest_first", [True, False])
@pytest.mark.parametrize("scheme", ["joint", "ovr"])
@pytest.mark.parametrize("family", ["poisson", "bernoulli"])
def test_weights_computed_when_needed_are_right_too(family, scheme, heaviest_first):
    x, y, weight = spread(family, 4, 1e16, heaviest_first)
    held = snb.LinearNB(family, scheme=scheme).fit(sp.csr_array(x), y, weight)
    unheld = snb.LinearNB(family, scheme=scheme).fit(sp.csr_array(x), y, weight, memory_limit=100)
    with pytest.raises(MemoryError):
        _ = unheld.coef_
    scores = [
        model.decision_function(np.eye(4)) - model.decision_function(np.zeros((1, 4))) for model in (held, unheld)
    ]
    np.testing.assert_allclose(scores[1], scores[0], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(scores[0], held.coef_.T, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("heaviest_first", [True, False])
@pytest.mark.parametrize(("scheme", "n_classes"), [("joint", 2), ("joint", 3), ("ovr", 3)])
def test_the_features_that_are_kept_are_the_likeliest(scheme, n_classes, heaviest_first):
    for ratio in RATIOS:
        x, y, weight = spread("poisson", n_classes, ratio, heaviest_first)
        rows = exactly("poisson", scheme, x, y, weight)
        for k in (1, 2, 3):
            coef = solved(scanned(x, y, weight), "poisson", scheme, snb.TopK(k, by="likelihood"))[0][0].coef_
            for r, row in enumerate(rows):
                best = np.argsort([-float(v) for v in exact_sides.likelihoods_lost(row)], kind="stable")[:k]
                assert sorted(np.flatnonzero(coef[r])) == sorted(best)


def test_a_label_without_other_rows_has_no_weights():
    x, weight = np.array([[1.0, 2.0], [3.0, 0.5], [2.0, 2.0]]), np.array([1e16, 0.3, 1e-9])
    stats = snb.scan(x, np.array([[1, 1], [1, 0], [1, 0]]), sample_weight=weight)
    coef = snb.solve(stats, "poisson")[0].coef_
    assert (coef[0] == 0.0).all() and (coef[1] != 0.0).all()


# ------------------------------------------------------------------------------------------------- multinomial


@given(
    seed=st.integers(0, 2**32 - 1),
    scheme=st.sampled_from(["joint", "ovr", "ovo"]),
    by=st.sampled_from(["weight", "score", "likelihood"]),
    more=st.sampled_from([None, snb.L1(0.1), snb.L2(0.3)]),
)
def test_the_one_share_that_is_kept_is_the_pooled_one(seed, scheme, by, more):
    rng = np.random.default_rng(seed)
    n_classes, n = rng.integers(2, 6), rng.integers(1, 30)
    y = np.append(np.arange(n_classes), rng.integers(0, n_classes, 30))
    x, weight = rng.poisson(1.0, (len(y), n)), rng.random(len(y)) * 10.0 ** rng.integers(-8, 9)
    penalty = snb.TopK(1, by) if more is None else snb.TopK(1, by) + more
    path = snb.solve(snb.scan(x, y, sample_weight=weight), "multinomial", penalty, scheme=scheme)
    assert not path[0].coef_.any()
    assert path.n_features.tolist() == [0]


def test_shares_in_one_proportion_all_have_no_weight():
    x = np.array([[3, 0, 0], [1, 2, 1], [0, 1, 4.0]]) / 7.0
    x = np.hstack([np.repeat(x[:, :1], 50, axis=1), x[:, 1:] / 100.0])
    path = snb.solve(snb.scan(x, [0, 1, 2]), "multinomial", snb.TopK(50, by="score"), scheme="ovr", smoothing=0.01)
    coef = path[0].coef_
    assert ((coef == 0.0) | (np.abs(coef) > 1e-9)).all()


# ------------------------------------------------------------------------------------------------------- roots

SCALES = [1e-300, 1e-45, 1e90]
ROWS = np.random.default_rng(1).integers(1, 5, (12, 2)) + np.array([[3.25, 0.5]] * 6 + [[0.75, 1.5]] * 6)


@pytest.mark.parametrize("penalty", [snb.L2(1e-30), snb.Separable(lambda w: -w, 1.0)], ids=["L2", "Separable"])
@pytest.mark.parametrize("family", ["poisson", "geometric", "gamma", "inverse_gaussian", "laplace", "gaussian"])
def test_roots_at_any_scale(family, penalty):
    y = np.repeat([0, 1], 6)
    least = {"gamma": 1e-100, "inverse_gaussian": 1e-100}.get(family, 0.0)
    for x in (ROWS * scale for scale in SCALES if scale >= least):
        (row,) = exactly(family, "joint", x, y, np.ones(12), smoothing=0.0)
        path, phi = solved(scanned(x, y, np.ones(12)), family, "joint", penalty, smoothing=0.0)
        (w,), (tau,) = path[0].coef_, penalty.tau
        assert all(exact_sides.stops(family, row, phi, j, w[j], tau, 11, precision=400) for j in range(2))


@pytest.mark.parametrize("tau", [1e-95, 1e-50, 1e-5])
@pytest.mark.parametrize("family", ["poisson", "gamma", "inverse_gaussian", "binomial"])
def test_roots_next_to_weights_without_bound(family, tau):
    x, y = np.minimum(ROWS, 4.0) * np.repeat([[0.0, 1.0], [1.0, 1.0]], 6, axis=0), np.repeat([0, 1], 6)
    (row,) = exactly(family, "joint", x, y, np.ones(12), smoothing=0.0)
    for penalty in (snb.L2(tau), snb.Separable(lambda w: -w, tau)):
        path, phi = solved(scanned(x, y, np.ones(12)), family, "joint", penalty, smoothing=0.0)
        assert all(
            exact_sides.stops(family, row, phi, j, path[0].coef_[0, j], tau, 11, precision=400) for j in range(2)
        )


@pytest.mark.parametrize("family", ["gamma", "inverse_gaussian"])
def test_a_dispersion_without_a_value_is_refused(family):
    stats = scanned(ROWS * np.array([1.0, 1e-250]), np.repeat([0, 1], 6), np.ones(12))
    with pytest.raises(ValueError, match="feature 1 are so small"):
        snb.solve(stats, FAMILIES[family])

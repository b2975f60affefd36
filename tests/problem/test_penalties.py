"""TopK and Separable, alone and in sums, and the look-ups on the L1 path."""

import numba
import numpy as np
import pytest

import streamnb as snb

RNG = np.random.default_rng(0)
X = RNG.poisson(RNG.gamma(1.0, 1.5, (4, 12))[np.arange(300) % 4]).astype(float)
Y = np.arange(300) % 4
STATS = snb.scan(X, Y)
FAMILIES = ["poisson", "bernoulli", "gaussian", "multinomial"]
SCHEMES = ["joint", "ovr", "ovo"]


def best_of(values, k):
    """Numbers of the k largest, ties to the lower index."""
    return np.sort(np.argsort(-values, kind="stable")[:k])


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("family", FAMILIES)
def test_top_k_keeps_the_largest_weights(family, scheme):
    plain = snb.solve(STATS, family, scheme=scheme)[0]
    path = snb.solve(STATS, family, snb.TopK([2, 5, 12]), scheme=scheme)
    assert path.grid == [{"top_k": 2}, {"top_k": 5}, {"top_k": 12}]
    there = np.count_nonzero(plain.coef_, axis=1)
    assert (path.n_features_per_class == [np.minimum(k, there) for k in (2, 5, 12)]).all()
    for k, model in zip((2, 5, 12), path):
        for row, reference in zip(model.coef_, plain.coef_):
            kept = best_of(np.abs(reference), min(k, np.count_nonzero(reference)))
            assert (np.flatnonzero(row) == kept).all()
            if family != "multinomial":
                assert (row[kept] == reference[kept]).all()


@pytest.mark.parametrize("family", ["poisson", "bernoulli", "gaussian"])
def test_top_k_keeps_what_the_likelihood_loses_most_by(family):
    binary = family == "bernoulli"
    values = (X > 0).astype(float) if binary else X
    y = (Y > 1).astype(int)
    stats = snb.scan(values, y)
    path = snb.solve(stats, family, snb.TopK([1, 4], by="likelihood"), smoothing=0.0)

    def log_likelihood(column):
        """Of two means less that of one, times phi."""
        total = 0.0
        for part, sign in ((column[y == 0], 1), (column[y == 1], 1), (column, -1)):
            m, n = part.mean(), len(part)
            cumulant = {"poisson": m, "gaussian": m * m / 2, "bernoulli": -np.log1p(-m) if binary else 0.0}[family]
            link = {"poisson": np.log(m), "gaussian": m, "bernoulli": np.log(m / (1 - m)) if binary else 0.0}[family]
            total += sign * n * (m * link - cumulant)
        return total

    lost = np.array([log_likelihood(c) for c in values.T])
    if family == "gaussian":
        lost = lost / np.mean([[np.var(c[y == k]) for c in values.T] for k in y], axis=0)
    for k, model in zip((1, 4), path):
        assert (np.flatnonzero(model.coef_[0]) == best_of(lost, k)).all()


def test_top_k_by_score():
    z = snb.solve(STATS, "poisson", snb.L1(scale="score", n_taus=12))
    for scheme in ("joint", "ovr"):
        model = snb.solve(STATS, "poisson", snb.TopK(3, by="score"), scheme=scheme)[0]
        for row, label in zip(model.coef_, range(4)):
            tau = snb.tau_for(STATS, "poisson", n_features=3, class_=label, scale="score", scheme=scheme)
            soft = snb.solve(STATS, "poisson", snb.L1(tau, scale="score"), scheme=scheme)[0].coef_[label]
            assert (np.flatnonzero(row) == np.flatnonzero(soft)).all()
    assert len(z) == 12


@pytest.mark.parametrize("scheme", ["joint", "ovr"])
def test_top_k_of_the_multinomial(scheme):
    # math: p = q on the dropped, p = (1 - Q) S / sum of S over the kept on the kept
    plain, model = (snb.solve(STATS, "multinomial", p, scheme=scheme)[0] for p in (None, snb.TopK(4)))
    sums = STATS.sum + 1.0
    for u in range(4):
        kept = best_of(np.abs(plain.coef_[u]), 4)
        other = sums.sum(axis=0) if scheme == "joint" else (STATS.sum.sum(axis=0) - STATS.sum[u]) + 1.0
        q = other / other.sum() if scheme == "joint" else (sums[u] + other) / (sums[u] + other).sum()
        share = q[kept].sum()
        plus = share * sums[u, kept] / sums[u, kept].sum()
        minus = q[kept] if scheme == "joint" else share * other[kept] / other[kept].sum()
        np.testing.assert_allclose(model.coef_[u, kept], np.log(plus / minus), rtol=1e-9, atol=1e-12)
        assert np.count_nonzero(model.coef_[u]) == 4


@pytest.mark.parametrize("family", FAMILIES)
def test_top_k_adds_to_l1_and_l2(family):
    both = snb.solve(STATS, family, snb.L1(2.0) + snb.L2(0.5) + snb.TopK(5))[0]
    assert (np.count_nonzero(both.coef_, axis=1) <= 5).all()
    if family != "multinomial":
        shrunk = snb.solve(STATS, family, snb.L1(2.0) + snb.L2(0.5))[0]
        kept = both.coef_ != 0
        assert (both.coef_[kept] == shrunk.coef_[kept]).all()


def test_ties_go_to_the_lower_index():
    x = np.repeat(X[:, :1], 5, axis=1)
    model = snb.solve(snb.scan(x, Y), "poisson", snb.TopK(2))[0]
    assert (np.flatnonzero(model.coef_.any(axis=0)) == [0, 1]).all()


@numba.njit
def ridge(w):
    return -w


def laplace(w):
    return -np.sign(w)


def logarithmic(w):
    return -2.0 * w / (1.0 + w * w / 100.0) if abs(w) < 10 else -10.0 * np.sign(w)


@pytest.mark.parametrize(("family", "scheme"), [*zip(FAMILIES, ["joint", "ovr", "ovo", "joint"], strict=True)])
def test_separable_penalties_include_l2_and_l1(family, scheme):
    for own, known in ((snb.Separable(ridge, 0.7), snb.L2(0.7)), (snb.Separable(laplace, 1.5), snb.L1(1.5))):
        ours, theirs = (snb.solve(STATS, family, p, scheme=scheme)[0] for p in (own, known))
        np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(ours.intercept_, theirs.intercept_, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("tau", [0.1, 3.0, 300.0])
def test_separable_solves_its_equation(tau):
    model = snb.solve(STATS, "poisson", snb.L1(0.5) + snb.Separable(logarithmic, tau))[0]
    rows, mean = np.bincount(Y) + 1.0, X.mean(axis=0)
    sums = STATS.sum + mean
    pooled = sums.sum(axis=0) / rows.sum()
    for u, row in enumerate(model.coef_):
        pull = 0.5 * np.sign(row) - tau * np.array([logarithmic(w) for w in row])
        expected = np.log((sums[u] - pull) / rows[u]) - np.log(pooled)
        np.testing.assert_allclose(row[row != 0], expected[row != 0], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize(
    ("derivative", "words"),
    [
        (lambda w: w, "w="),
        (lambda w: -np.cos(w) * np.sign(w), "w="),
        (lambda w: -1.0 / w, "rise"),
        (lambda w: np.nan, "w="),
    ],
)
def test_derivatives_that_will_not_do(derivative, words):
    with pytest.raises(ValueError, match=f"(?s)derivative gives.*{words}"):
        snb.Separable(derivative, 1.0)
    with pytest.raises(TypeError, match="derivative=3"):
        snb.Separable(3, 1.0)


def test_top_k_that_will_not_do():
    with pytest.raises(ValueError, match=r"TopK\(k=13\).*12"):
        snb.solve(STATS, "poisson", snb.TopK([3, 13]))
    for k in (0, -1, [2**63]):
        with pytest.raises(ValueError, match="k="):
            snb.TopK(k)
    with pytest.raises(TypeError, match="k="):
        snb.TopK(2.5)
    with pytest.raises(ValueError, match="'weight', 'score', 'likelihood'"):
        snb.TopK(2, by="luck")
    with pytest.raises(ValueError, match="grid of 2"):
        snb.LinearNB("poisson", snb.TopK([1, 2])).fit(X, Y)


@pytest.mark.parametrize("kind", [snb.L1, snb.L2, snb.TopK, snb.Decorrelation])
def test_each_kind_of_penalty_stands_once_in_a_sum(kind):
    with pytest.raises(ValueError, match=r"penalty has '.*' twice; put its taus into one grid"):
        kind(1) + snb.L1(0.5) + kind(2)

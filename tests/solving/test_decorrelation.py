"""Decorrelation of classes against local maximisation of log density + penalty, followed from tau = 0."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import digamma

import streamnb as snb
from tests.support import spread_classes
from tests.support.reference_decorrelation import (
    FAMILIES,
    NATURAL,
    SCHEMES,
    Feature,
    dispersion,
    rows,
    sides_of,
    solved,
)

PENALTIES = {
    "alone": {},
    "l2": {"l2": 1.5},
    "l1": {"l1": 3.0},
    "strong l1": {"l1": 9.0},
    "l1 + l2": {"l1": 2.0, "l2": 0.7},
}


def penalty_of(decorrelation, l1=0.0, l2=0.0):
    parts = ([snb.L1(l1)] if l1 else []) + ([snb.L2(l2)] if l2 else [])
    return sum(parts, start=decorrelation) if parts else decorrelation


PAIRS = [  # each family, and each penalty
    (family, name, SCHEMES[(i + j) % len(SCHEMES)])
    for i, family in enumerate(FAMILIES)
    for j, name in enumerate(PENALTIES)
    if (i - j) % 5 == 0
]


@pytest.mark.parametrize(("family", "name", "scheme"), PAIRS)
def test_weights_are_the_local_maximum_followed_from_zero(family, name, scheme):
    x, y = rows(family, 3, n=3)
    taus = [0.0, 0.3, 2.0, 6.0, 12.0]
    path = solved(x, y, family, penalty_of(snb.Decorrelation(taus), **PENALTIES[name]), scheme)
    ended = np.zeros(len(taus), int)
    for j in range(x.shape[1]):
        feature = Feature(x, y, family, scheme, j, **PENALTIES[name])
        unseen = [np.zeros(feature.R)] * len(taus)  # a constant feature tells no classes apart
        for i, expected in enumerate(feature.followed(taus) if j or family == "bernoulli" else unseen):
            ended[i] += expected is None
            if expected is not None:
                np.testing.assert_allclose(path.weights(i)[:, j], expected, rtol=1e-8, atol=1e-8 * abs(expected).max())
                assert ((path.weights(i)[:, j] == 0) == (expected == 0)).all()
    assert (path.saturated == ended).all()


def test_a_feature_keeps_the_last_solution_of_its_branch():
    """The branch ends where the next small step finds no maximum nearby; before that nothing is counted."""
    x, y = rows("poisson", 5, n=3)
    j = 2
    for scheme, l1 in zip(SCHEMES[::2], (0.0, 2.0), strict=True):
        feature = Feature(x, y, "poisson", scheme, j, l1=l1)
        end = feature.end(80.0)
        taus = end * np.array([0.99, 1 - 1e-6, 1 + 1e-6, 1.5, 1e6])
        path = solved(x[:, [j]], y, "poisson", penalty_of(snb.Decorrelation(taus), l1=l1), scheme)
        assert path.saturated.tolist() == [0, 0, 1, 1, 1]
        weights = [path.weights(i)[:, 0] for i in range(5)]
        size = np.abs(weights[0]).max()
        assert np.abs(weights[1] - weights[2]).max() < 1e-2 * size  # the branch rises like a square root at its end
        for later in weights[3:]:
            np.testing.assert_allclose(later, weights[2], atol=1e-3 * size)


def test_gaussian_where_one_class_has_no_curvature_left():
    """d_u = 0 for one class: S = w_0u, and w_u is what the others leave of it."""
    x, y = rows("gaussian", 4)
    stats = snb.scan(x, y)
    plain = snb.solve(stats, "gaussian")[0].coef_
    a = stats.weight[:, None] * dispersion(x, y, "gaussian")
    u, j = int(stats.weight.argmin()), 2
    path = snb.solve(stats, "gaussian", snb.Decorrelation(a[u, j]))
    w = path.weights(0)[:, j]
    np.testing.assert_allclose(w.sum(), plain[u, j], rtol=1e-9)
    others = np.delete(a[:, j] * (plain[:, j]) - a[u, j] * plain[u, j], u) / np.delete(a[:, j] - a[u, j], u)
    np.testing.assert_allclose(np.delete(w, u), others, rtol=1e-8)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_gaussian_stays_on_the_branch_in_units_of_the_curvature(scheme):
    x, y = rows("gaussian", 6, n_classes=5, n=30)
    path = solved(x, y, "gaussian", snb.Decorrelation([0.5, 0.99, 1 - 1e-6], "curvature"), scheme)
    assert path.saturated.tolist() == [0, 0, 0]
    equal = snb.scan(np.arange(60.0).reshape(12, 5) ** 1.1 % 7, np.arange(12) % 3)
    assert snb.solve(equal, "gaussian", snb.Decorrelation([0.99, 1.01], "curvature")).saturated.tolist() == [0, 5]


@pytest.mark.parametrize("family", FAMILIES)
def test_units_of_the_curvature(family):
    """tau_j = rho min_u a_uj with a_u = phi N_u / g'(m_u) at the means without any penalty (joint)."""
    x, y = rows(family, 7)
    rho, j = 0.2, 2
    feature = Feature(x, y, family, "joint", j)
    plus = feature.start[: feature.R] + feature.phi * feature.start[feature.R :]
    tau = rho * (feature.phi * feature.n[0] * feature.slope(plus)).min()
    ours = solved(x, y, family, snb.L1(1.0) + snb.Decorrelation(rho, "curvature")).weights(0)[:, j]
    np.testing.assert_allclose(ours, solved(x, y, family, snb.L1(1.0) + snb.Decorrelation(tau)).weights(0)[:, j])


# ---- laws ------------------------------------------------------------------------------------------------------------


@st.composite
def cases(draw):
    """Statistics of few rows of small integers, a family, a scheme and a penalty that may be far too strong."""
    family = draw(st.sampled_from(FAMILIES[:4]))
    n_classes = draw(st.integers(3, 5))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    y = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, draw(st.integers(0, 30)))])
    x = rng.poisson(rng.gamma(0.5, 2.0, (n_classes, 3))[y]).astype(float) - 2.0 * (family == "gaussian")
    penalty = snb.Decorrelation(
        draw(st.sampled_from([0.01, 0.3, 0.7, 1.0, 2.0, 1e6])), draw(st.sampled_from([None, "curvature"]))
    )
    more = [snb.L1(0.8), snb.L1(0.7, "score"), snb.L2(0.5), snb.L1(0.3) + snb.L2(2.0), snb.TopK(2)]
    added = draw(st.sampled_from([None, *more]))
    return x, y, family, penalty if added is None else added + penalty, draw(st.sampled_from(SCHEMES))


@given(cases())
def test_always_finite(case):
    x, y, family, penalty, scheme = case
    path = solved(x, y, family, penalty, scheme)
    model = path[0]
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.intercept_).all()
    assert path.n_features[0] == np.count_nonzero(model.coef_.any(axis=0))
    assert (path.n_features_per_class[0] == np.count_nonzero(model.coef_, axis=1)).all()
    assert 0 <= path.saturated[0] <= path.n_features[0]
    assert not model.coef_[:, (x == x[0]).all(axis=0) & (family != "bernoulli")].any()


@given(cases())
def test_features_and_grid_points_do_not_depend_on_each_other(case):
    x, y, family, penalty, scheme = case
    one = solved(x, y, family, penalty, scheme).weights(0)
    if family != "gaussian" and penalty.parts[0].kind != "top_k":  # these know of the other features
        alone = [solved(x[:, [j]], y, family, penalty, scheme).weights(0)[:, 0] for j in range(x.shape[1])]
        assert (one == np.array(alone).T).all()
    part = penalty.parts[-1]
    tau = float(part.tau[0])
    grid = snb.Decorrelation([0.0, 0.4 * tau, tau, 3 * tau], part.scale)
    path = solved(x, y, family, sum(penalty.parts[:-1], start=grid), scheme)
    assert (path.weights(2) == one).all()
    without = sum(penalty.parts[1:-1], start=penalty.parts[0]) if len(penalty.parts) > 1 else None
    first = solved(x, y, family, without, scheme)[0]
    assert (path[0].coef_ == first.coef_).all() and (path[0].intercept_ == first.intercept_).all()


@given(cases(), st.randoms(use_true_random=False))
def test_classes_in_another_order_have_the_same_weights(case, random):
    x, y, family, penalty, scheme = case
    order = np.array(random.sample(range(int(y.max()) + 1), int(y.max()) + 1))
    if scheme == "reference":
        order = np.concatenate([[0], 1 + np.argsort(np.argsort(order[order != 0]))])
    path, other = solved(x, y, family, penalty, scheme), solved(x, order[y], family, penalty, scheme)
    rows_of = order[1:] - 1 if scheme == "reference" else order
    if path.saturated[0] == other.saturated[0] == 0:
        a, b = path.weights(0), other.weights(0)[rows_of]
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-7 * max(np.abs(a).max(), 1e-300))


@given(cases())
def test_weights_solve_their_equations(case):
    """(6.2): in natural parameters the gradient of log density + penalty is zero, or within the threshold at w = 0."""
    x, y, family, penalty, scheme = case
    kinds = {part.kind: part for part in penalty.parts}
    if "top_k" in kinds or getattr(kinds.get("l1"), "scale", None) or kinds["decorrelation"].scale:
        return
    l1, l2 = (float(kinds[k].tau[0]) if k in kinds else 0.0 for k in ("l1", "l2"))
    tau = float(kinds["decorrelation"].tau[0])
    path = solved(x, y, family, penalty, scheme)
    plain = solved(x, y, family, None, scheme).weights(0)
    for j in range(x.shape[1]):
        w = path.weights(0)[:, j]
        if not w.any() or (path.saturated[0] and solved(x[:, [j]], y, family, penalty, scheme).saturated[0]):
            continue
        for u, (plus, n_plus, minus, n_minus) in enumerate(sides_of(x, y, family, scheme)):
            pull = l1 * np.sign(w[u]) + l2 * w[u] + tau * (w.sum() - w[u])
            share = 0.0 if n_minus is None else 1 / n_minus
            before = plus[j] / n_plus, minus[j] * (share if share else 1.0)
            if w[u] == 0.0:
                star = (before[0] - before[1]) / (1 / n_plus + share)
                assert abs(star - pull) <= l1 + 1e-9 * max(1.0, abs(star))
                continue
            link, phi = NATURAL[family][2], dispersion(x, y, family)[j]
            expected = (link(before[0] - pull / n_plus) - link(before[1] + pull * share)) / phi
            assert abs(w[u] - expected) <= 1e-10 * max(np.abs(w).max(), np.abs(plain[:, j]).max())


# ---- around it -------------------------------------------------------------------------------------------------------


def test_top_k_leaves_the_other_weights_out_of_the_sum():
    """A feature with one weight left has nothing to be set apart from; two weights are set apart from each other."""
    x, y = rows("poisson", 9, n=5)
    alone = solved(x, y, "poisson", snb.TopK(2)).weights(0)
    both = solved(x, y, "poisson", snb.TopK(2) + snb.Decorrelation(1.0)).weights(0)
    assert ((alone != 0) == (both != 0)).all()
    single = np.count_nonzero(alone, axis=0) == 1
    assert single.any()
    np.testing.assert_allclose(both[:, single], alone[:, single], rtol=1e-12)
    assert (both[:, ~single] != alone[:, ~single]).any()


def test_an_empty_class_takes_no_part():
    x, y = rows("poisson", 10)
    penalty = snb.L1(1.0) + snb.Decorrelation(2.0)
    with pytest.warns(snb.StreamnbWarning, match="without any weight"):
        path = snb.solve(snb.scan(x, y, classes=[0, 1, 2, 7]), "poisson", penalty)
    assert not path.weights(0)[3].any()
    np.testing.assert_allclose(path.weights(0)[:3], solved(x, y, "poisson", penalty).weights(0), rtol=1e-12)


@pytest.mark.parametrize("scale", [None, "curvature"])
def test_families_that_see_x_through_another_function(scale):
    """Means of ln x may be negative, those of abs(x - a) may not: S_u - N_u c'(theta_u) = tau (S - w_u) either way."""
    x, y = rows("gamma", 16)
    x = x[:, 1:] / 4
    seen = {
        snb.ChiSquared(): (np.log(x), lambda a: digamma(a) + np.log(2)),
        snb.Laplace(0.5): (np.abs(x - 0.5), lambda a: -1 / a),
    }
    for family, (t, mean) in seen.items():
        stats = snb.scan(x, y, moments=family.moments, centre=family.centre)
        path = snb.solve(stats, family, snb.Decorrelation([0.3], scale))
        assert path.saturated[0] == 0
        sums = np.array([t[y == k].sum(axis=0) for k in range(3)]) + t.mean(axis=0)
        counts = np.bincount(y)[:, None] + 1.0
        w = path.weights(0)
        theta = family.link(sums.sum(axis=0) / counts.sum()) + w
        left = sums - counts * mean(theta)
        ratio = left / (w.sum(axis=0) - w)  # tau of each feature, the same for its classes
        np.testing.assert_allclose(ratio, np.broadcast_to(ratio[0], ratio.shape), rtol=1e-7)
        assert (ratio > 0).all() if scale else np.allclose(ratio, 0.3)


def test_labels_are_set_apart_as_classes_are():
    x, y = rows("poisson", 12, n_classes=4)
    indicator = np.eye(4, dtype=int)[y]
    penalty = snb.L1(1.0) + snb.Decorrelation(1.5)
    ours = snb.solve(snb.scan(x, indicator), "poisson", penalty)
    np.testing.assert_allclose(ours.weights(0), solved(x, y, "poisson", penalty, "ovr").weights(0), rtol=1e-9)
    with pytest.raises(ValueError, match="at least 3 classes"):
        snb.solve(snb.scan(x, indicator[:, :2]), "poisson", penalty)


@pytest.mark.parametrize(("family", "scheme"), [("gaussian", "joint"), ("poisson", "ovr"), ("bernoulli", "joint")])
def test_separable_adds_to_decorrelation(family, scheme):
    """-w as `Separable` is L2, and -sign(w) is L1, also where the weights of classes are coupled."""
    x, y = rows(family, 21)
    stats, apart = snb.scan(x, y), snb.Decorrelation([0.0, 0.2], scale="curvature")
    for own, known in (
        (snb.Separable(lambda w: -w, 0.7), snb.L2(0.7)),
        (snb.Separable(lambda w: -float(np.sign(w)), 1.5), snb.L1(1.5)),
        (snb.Separable(lambda w: -w, 0.3) + snb.Separable(lambda w: -w, 0.4), snb.L2(0.7)),
    ):
        ours, theirs = (snb.solve(stats, family, p + apart, scheme=scheme) for p in (own, known))
        assert (ours[1].coef_ != ours[0].coef_).any() and (ours.saturated == theirs.saturated).all()
        np.testing.assert_allclose(ours[1].coef_, theirs[1].coef_, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(ours[1].intercept_, theirs[1].intercept_, rtol=1e-7, atol=1e-8)


def test_what_will_not_do():
    with pytest.raises(ValueError, match=r"scale='score'.*'curvature'"):
        snb.Decorrelation(0.1, scale="score")
    with pytest.raises(ValueError, match="tau=-1"):
        snb.Decorrelation(-1)
    with pytest.raises(TypeError, match="tau=None"):
        snb.Decorrelation(None)
    with pytest.raises(ValueError, match=r"infinite.*smoothing > 0"):
        snb.solve(snb.scan(np.eye(3), [0, 1, 2]), "poisson", snb.Decorrelation(0.1), smoothing=0.0)[0]


SHIFTS = {  # what the parameters theta and theta + phi w of two classes add to an intercept, m the mean of the first
    "gaussian": lambda m, w, phi: -w * (m + phi * w / 2.0),
    "poisson": lambda m, w, phi: -m * np.expm1(w),
    "gamma": lambda m, w, phi: np.log1p(-phi * w * m) / phi,
}


@pytest.mark.parametrize(
    ("family", "scale", "tau_2"), [("gaussian", 1e-3, 1.0), ("poisson", 1.0, 1e4), ("gamma", 1.0, 1.0)]
)
def test_intercepts_of_classes_set_apart_from_a_heavy_one(family, scale, tau_2):
    x, y, weight = spread_classes.spread(family, 4, 1e8, True)
    x = x[:, :1] * np.where(y == 0, 1e-6 * scale, scale)[:, None]
    tau = 1e-3 * tau_2
    path, phi = spread_classes.solved(
        spread_classes.scanned(x, y, weight), family, "reference", snb.Decorrelation(tau) + snb.L2(tau_2)
    )
    model, (_, _, sums, count, _) = path[0], spread_classes.exactly(family, "reference", x, y, weight)[0]
    w = model.coef_[:, 0]
    means = (float(sums[0]) + tau_2 * w + tau * (w.sum() - w)) / float(count)  # of the heavy class, after the pulls
    right = SHIFTS[family](means, w, phi[0])
    np.testing.assert_allclose(model.intercept_ - path.intercepts, right, rtol=1e-9, atol=1e-14)
    ended = spread_classes.solved(
        spread_classes.scanned(x, y, weight), family, "reference", snb.Decorrelation(1e4) + snb.L2(1.0)
    )[0]
    assert (ended.saturated == 1).all() and np.isfinite(ended[0].intercept_).all()

"""Combinations of families, priors, schemes and options against densities from SciPy, at estimates taken from formulas.

Nothing here knows how the package computes: rows are transformed, split into sides and summed anew.
"""

import pickle

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats as densities
from scipy.optimize import brentq
from scipy.special import digamma, gammaln

import streamnb as snb

CENTRE = 0.7
FAMILIES = {
    "gaussian": snb.Gaussian(),
    "bernoulli": snb.Bernoulli(),
    "multinomial": snb.Multinomial(),
    "poisson": snb.Poisson(),
    "geometric": snb.Geometric(),
    "laplace": snb.Laplace(CENTRE),
    "chi_squared": snb.ChiSquared(),
    "gamma": snb.Gamma(),
    "gamma_ml": snb.Gamma("ml"),
    "inverse_gaussian": snb.InverseGaussian(),
    "inverse_gaussian_ml": snb.InverseGaussian("ml"),
}
WITHOUT_IDF = {"bernoulli", "laplace", "chi_squared"}

# ---------------------------------------------------------------------------------------------- the reference


def transformed(x, transform, normalize):
    x = {None: lambda v: v, "log1p": np.log1p, "sqrt": np.sqrt}[transform](x)
    length = {None: np.ones(len(x)), "l1": np.abs(x).sum(1), "l2": np.sqrt((x * x).sum(1))}[normalize]
    return x / np.where(length > 0, length, 1.0)[:, None]


def root(function, value):
    return brentq(lambda a: function(a) - value, 1e-3, 1e10, rtol=1e-15)


def dispersion(kind, sides):
    """phi of each column from the rows and weights of all sides."""
    total = sum(w.sum() for _, w in sides)
    means = [np.average(r, 0, w) for r, w in sides]
    if kind == "gaussian":
        within = sum(w @ (r - m) ** 2 for (r, w), m in zip(sides, means)) / total
        every, weight = np.concatenate([r for r, _ in sides]), np.concatenate([w for _, w in sides])
        return within + 1e-9 * np.average((every - np.average(every, 0, weight)) ** 2, 0, weight).max()
    if kind == "gamma_ml":
        excess = sum(w.sum() * np.log(m) - w @ np.log(r) for (r, w), m in zip(sides, means)) / total
        return 1.0 / np.array([root(lambda k: np.log(k) - digamma(k), e) for e in excess])
    if kind == "inverse_gaussian_ml":
        return sum(w @ (1.0 / r) - w.sum() / m for (r, w), m in zip(sides, means)) / total
    power = {"gamma": 2, "inverse_gaussian": 3}[kind]
    return sum(w @ (r - m) ** 2 / m**power for (r, w), m in zip(sides, means)) / total


def log_density(kind, x, side, sides, everything, smoothing, binarize):
    """ln p(x | side) of each row of x, without terms of the row alone; a side is rows with their weights."""
    rows, weight = side
    count = weight.sum()
    if kind == "gaussian":
        return densities.norm.logpdf(x, np.average(rows, 0, weight), np.sqrt(dispersion(kind, sides))).sum(1)
    if kind == "bernoulli":
        p = (weight @ (rows > binarize) + smoothing) / (count + 2.0 * smoothing)
        return densities.bernoulli.logpmf(x > binarize, p).sum(1)
    if kind == "multinomial":
        sums = weight @ rows + smoothing
        return x @ np.log(sums / sums.sum())
    seen = {"laplace": lambda v: np.abs(v - CENTRE), "chi_squared": np.log}.get(kind, lambda v: v)
    pooled = np.average(seen(everything[0]), 0, everything[1])
    m = (weight @ seen(rows) + smoothing * pooled) / (count + smoothing)
    if kind == "poisson":
        return (x * np.log(m) - m).sum(1)
    if kind == "geometric":
        return (x * np.log(m / (1.0 + m)) - np.log1p(m)).sum(1)
    if kind == "laplace":
        return densities.laplace.logpdf(x, CENTRE, m).sum(1)
    if kind == "chi_squared":
        half = np.array([root(digamma, v - np.log(2.0)) for v in m])
        return densities.chi2.logpdf(x, 2.0 * half).sum(1)
    phi = dispersion(kind, sides)
    if kind.startswith("gamma"):
        return densities.gamma.logpdf(x, 1.0 / phi, scale=m * phi).sum(1)
    return densities.invgauss.logpdf(x, m * phi, scale=1.0 / phi).sum(1)


def reference_scores(parts, x, weight, members, new, scheme, *, smoothing, idf, binarize, transform, normalize):
    """Scores (n, K): ln p(x, y), or of each class against the rest; `members` (K, n_rows) of classes or labels."""
    x, new = transformed(x, transform, normalize), transformed(new, transform, normalize)
    if idf:
        factor = np.log((1.0 + weight.sum()) / (1.0 + weight @ (x != 0))) + 1.0
        x, new = x * factor, new * factor

    def side(mine, sides):
        def of(columns, rows):
            return x[rows][:, columns], weight[rows]

        every = np.ones(len(x), bool)
        return sum(
            log_density(kind, new[:, c], of(c, mine), [of(c, s) for s in sides], of(c, every), smoothing, binarize)
            for kind, c in parts.items()
        )

    shares = members @ weight / weight.sum()
    if scheme == "joint":
        return np.array([side(mine, members) + np.log(p) for mine, p in zip(members, shares)]).T
    scores = []
    for mine, p in zip(members, shares):
        sides = [mine, ~mine] if scheme == "labels" else members
        scores.append(side(mine, sides) - side(~mine, sides) + np.log(p / (1.0 - p)))
    return np.array(scores).T


@st.composite
def mixed_problems(draw, kinds=tuple(FAMILIES)):
    """Columns of up to three families under any scheme and row options; classes of one row, weights of zero."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, n_rows, n_classes = rng.integers(1, 6), rng.integers(16, 30), int(rng.integers(2, 5))
    chosen = rng.choice(kinds, rng.integers(1, min(n, 3) + 1), replace=False)
    columns = np.array_split(rng.permutation(n), len(chosen))
    y = np.concatenate([np.arange(n_classes), np.arange(n_classes), rng.integers(0, n_classes, n_rows - 2 * n_classes)])
    if draw(st.booleans()):
        y[n_classes:] = 0  # of the other classes there is one row
    scale = draw(st.sampled_from([1e-8, 1.0, 1.0, 1e8]))
    x = (rng.gamma(1.0 + y[:, None], 1.0, (n_rows, n)) + 1e-3) * scale
    weight = rng.choice([0.5, 1.0, 2.0, 0.0], n_rows)
    weight[:n_classes] = 1.0
    options = {
        "smoothing": draw(st.sampled_from([0.5, 1.0, 3.0])),
        "idf": draw(st.booleans()) and not WITHOUT_IDF & set(chosen),
        "binarize": scale,
        "transform": draw(st.sampled_from([None, None, "sqrt", "log1p"])),
        "normalize": draw(st.sampled_from([None, "l1", "l2"])) if n > 1 else None,
    }
    return dict(zip(chosen, map(np.sort, columns))), x, y, weight, draw(st.sampled_from(["joint", "ovr"])), options


def family_of(parts):
    return snb.Mixed({FAMILIES[kind]: columns for kind, columns in parts.items()})


# ---------------------------------------------------------------------------------------------- scores of mixed columns


@settings(max_examples=60)
@given(mixed_problems())
def test_scores_are_log_densities_whatever_is_combined(problem):
    """Families, schemes, idf, transforms, weights of zero, classes of one row, values of any size: one law."""
    parts, x, y, weight, scheme, options = problem
    members = np.array([y == k for k in np.unique(y)])
    model = snb.LinearNB(family_of(parts), scheme=scheme, **options).fit(x, y, weight)
    found = model.decision_function(x[:6])
    with np.errstate(all="ignore"):
        right = reference_scores(parts, x, weight, members, x[:6], "joint" if len(members) == 2 else scheme, **options)
    if found.ndim == 1:
        right = right[:, 1] - right[:, 0]
    elif scheme == "joint":
        found, right = found - found[:, :1], right - right[:, :1]
    np.testing.assert_allclose(found, right, rtol=1e-6, atol=1e-6)


@settings(max_examples=20)
@given(mixed_problems(), st.data())
def test_labels_of_an_indicator_are_scored_with_their_own_dispersion(problem, data):
    parts, x, _, weight, _, options = problem
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    labels = rng.random((len(x), 3)) < 0.4
    labels[:4] = np.array([[1, 0, 1], [0, 1, 0]] * 2)
    weight[:4] = 1.0
    found = snb.LinearNB(family_of(parts), **options).fit(x, labels, weight).decision_function(x[:6])
    with np.errstate(all="ignore"):
        right = reference_scores(parts, x, weight, labels.T, x[:6], "labels", **options)
    np.testing.assert_allclose(found, right, rtol=1e-6, atol=1e-6)


@settings(max_examples=25)
@given(mixed_problems(kinds=("gaussian", "multinomial", "poisson", "geometric", "gamma", "bernoulli", "laplace")))
def test_rows_that_come_and_go_leave_the_same_model(problem):
    """Mixed columns under an elastic net: parts, sparse parts and forgotten rows, to the last bit."""
    parts, x, y, weight, scheme, options = problem
    model = snb.LinearNB(family_of(parts), snb.L1(0.2, "score") + snb.L2(0.1), scheme=scheme, **options)
    whole = pickle.loads(pickle.dumps(model)).fit(x, y, weight)
    model.partial_fit(x[:7], y[:7], np.unique(y), weight[:7]).partial_fit(sp.csr_array(x[7:]), y[7:], None, weight[7:])
    model.partial_fit(x[2:9], y[2:9]).forget(x[2:9], y[2:9])
    np.testing.assert_array_equal(model.coef_, whole.coef_)
    np.testing.assert_array_equal(model.intercept_, whole.intercept_)


# ---------------------------------------------------------------------------------------------- predictive


@st.composite
def predictive_problems(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    n, n_rows, n_classes = rng.integers(1, 5), rng.integers(8, 20), int(rng.integers(2, 5))
    y = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n_rows - n_classes)])
    weight = rng.choice([0.5, 1.0, 2.0, 0.0], n_rows)
    weight[:n_classes] = 1.0
    scale = draw(st.sampled_from([1.0, 1e-8, 1e4]))
    x = rng.poisson(2.0, (n_rows, n)) * rng.random((n_rows, n)) * scale

    def positive():
        return rng.gamma(2.0, 1.0, n) + 0.01 if draw(st.booleans()) else float(rng.gamma(2.0, 1.0) + 0.01)

    kind = draw(st.sampled_from(["poisson", "multinomial", "gaussian"]))
    prior = {
        "poisson": lambda: snb.GammaPrior(positive(), positive()),
        "multinomial": lambda: snb.DirichletPrior(positive()),
        "gaussian": lambda: snb.NormalInverseGamma(rng.normal(), positive(), positive(), positive()),
    }[kind]()
    rows = {
        "transform": draw(st.sampled_from([None, "sqrt", "log1p"])),
        "normalize": draw(st.sampled_from([None, "l1", "l2"])),
    }
    return kind, prior, x, y, weight, rows, snb.DirichletPrior(rng.gamma(2.0, 1.0, n_classes) + 0.1)


def log_predictive(kind, prior, rows, weight, new):
    """ln p(new | rows of one class), the parameters integrated over their posterior."""
    count, sums = weight.sum(), weight @ rows
    if kind == "poisson":
        a, q = sums + prior.a, 1.0 / (count + prior.b + 1.0)
        log = gammaln(a + new) - gammaln(a) - gammaln(new + 1.0) + a * np.log1p(-q) + new * np.log(q)
        return log.sum(1)
    if kind == "multinomial":
        a, n = sums + prior.alpha, new.sum(1)
        each = (gammaln(a + new) - gammaln(a) - gammaln(new + 1.0)).sum(1)
        return gammaln(n + 1.0) + gammaln(a.sum()) - gammaln(a.sum() + n) + each
    mean, n = sums / count, prior.n0 + count
    a, b = prior.a + count / 2.0, prior.b + 0.5 * weight @ (rows - mean) ** 2
    b = b + 0.5 * prior.n0 * count * (mean - prior.mean) ** 2 / n
    centre = (prior.n0 * prior.mean + sums) / n
    return densities.t.logpdf(new, 2.0 * a, centre, np.sqrt(b * (n + 1.0) / (a * n))).sum(1)


@settings(max_examples=40)
@given(predictive_problems())
def test_predictive_scores_of_transformed_sparse_rows_with_explicit_zeros(problem):
    kind, prior, x, y, weight, options, of_classes = problem
    model = snb.LinearNB(kind, smoothing=prior, priors=of_classes, **options).fit(x, y, weight)
    seen, new = transformed(x, **options), transformed(x[:6], **options)
    counts = np.array([weight[y == k].sum() for k in np.unique(y)]) + of_classes.alpha
    each = [log_predictive(kind, prior, seen[y == k], weight[y == k], new) for k in np.unique(y)]
    right = np.array(each).T + np.log(counts / counts.sum())
    right = right if right.shape[1] > 2 else right[:, 1] - right[:, 0]
    stored = np.indices(x[:6].shape).reshape(2, -1)
    explicit = sp.csr_array((x[:6].ravel(), tuple(stored)), shape=x[:6].shape)
    assert explicit.nnz == x[:6].size
    for rows in (x[:6], sp.csr_array(x[:6]), explicit, da.from_array(x[:6], chunks=(4, -1))):
        found = np.asarray(model.decision_function(rows, predictive=True))
        np.testing.assert_allclose(found, right, rtol=1e-6, atol=1e-6)


# ---------------------------------------------------------------------------------------------- penalties


@settings(max_examples=20)
@given(
    st.lists(st.integers(0, 9), min_size=6, max_size=12),
    st.tuples(st.floats(0.0, 4.0), st.floats(0.0, 4.0), st.floats(0.1, 2.0)),
)
def test_a_penalty_may_differ_on_both_sides_of_zero(values, slopes):
    """R = -left max(-w, 0) - right max(w, 0) - tau w^2 / 2 of two Poisson rates, maximised on a grid of weights."""
    left, right, tau = slopes
    x, y = np.array(values, float)[:, None], np.arange(len(values)) % 2
    penalty = snb.Separable(lambda w: (left if w < 0 else -right) - tau * w, 1.0)
    found = snb.solve(snb.scan(x, y), "poisson", penalty)[0].coef_[0, 0]
    n = np.array([np.sum(y == 0), np.sum(y == 1)]) + 1.0
    s = np.array([x[y == 0].sum(), x[y == 1].sum()]) + x.mean()

    def objective(w):  # the rate of the first class at its best for every w = ln of the ratio of rates
        rate = s.sum() / (n[0] + n[1] * np.exp(w))
        likelihood = s.sum() * np.log(rate) + s[1] * w - rate * (n[0] + n[1] * np.exp(w))
        return likelihood - left * np.maximum(-w, 0.0) - right * np.maximum(w, 0.0) - tau * w * w / 2.0

    if x.any():
        around = found + np.linspace(-1.0, 1.0, 2001) ** 3
        assert (objective(np.append(around, 0.0)) <= objective(np.array([found])) + 1e-9).all()
    else:
        assert found == 0.0


@pytest.mark.parametrize("short", [0.0, 4e-16, 1e-12, 1e-6])
def test_a_weight_next_to_where_it_becomes_zero(short):
    """t* = 4 less a little is left to the weight, down to the last digit."""
    x, y = np.array([[0.0], [0.0], [0.0], [0.0], [0.0], [7.0], [0.0]]), np.array([0, 1, 0, 1, 0, 1, 0])
    penalty = snb.Separable(lambda w: (1.0 if w < 0 else short - 4.0) - w, 1.0)
    weight = snb.solve(snb.scan(x, y), "poisson", penalty)[0].coef_[0, 0]
    assert (weight > 0.0) == (short > 0.0)
    np.testing.assert_allclose(weight, short / (1.0 + 20.0 / 9.0), rtol=1e-5, atol=1e-15)


@pytest.mark.parametrize("family", ["gamma", "poisson", snb.Laplace()])
@pytest.mark.parametrize("tau", [1e-12, 1e-6, 1.0])
def test_any_tau_bounds_infinite_weights(family, tau):
    """R = -tau w^2 / 2 given by its derivative is L2, however large the weight of a class of zeros."""
    x, y = np.array([[1.0], [2.0], [0.0], [0.0], [3.0]]), [1, 1, 0, 0, 1]
    stats = snb.scan(x, y, moments=["sum", "sum_sq", "deviation"])
    own, known = (
        snb.solve(stats, family, p, smoothing=0.0)[0] for p in (snb.Separable(lambda w: -w, tau), snb.L2(tau))
    )
    np.testing.assert_allclose(own.coef_, known.coef_, rtol=1e-9)


@pytest.mark.parametrize("derivative", [lambda w: "steep", lambda w: np.array([-w, -w]), lambda w: [w]])
def test_a_derivative_that_is_no_number_is_refused(derivative):
    with pytest.raises(TypeError, match=r"derivative should give one number, r'\(w\)"):
        snb.Separable(derivative, 1.0)


# ---------------------------------------------------------------------------------------------- numbers of any size


@pytest.mark.parametrize("family", ["gamma", "gamma_ml", "inverse_gaussian", "inverse_gaussian_ml", "gaussian"])
@pytest.mark.parametrize("unit", [1e-12, 1e12])
def test_probabilities_do_not_depend_on_the_unit(family, unit):
    """Families with a dispersion know no scale: the floor of the dispersion must have none either."""
    rng = np.random.default_rng(5)
    y = np.arange(60) % 3
    x = rng.gamma(20.0, 1.0 + 0.3 * y[:, None], (60, 2))
    one, other = (snb.LinearNB(FAMILIES[family]).fit(rows, y).predict_proba(rows) for rows in (x, unit * x))
    np.testing.assert_allclose(other, one, rtol=1e-9)


@pytest.mark.parametrize("family", [snb.Geometric(), snb.NegativeBinomial(3.0)], ids=repr)
def test_weights_of_large_counts_keep_their_digits(family):
    """g(m) = -ln(1 + r / m), close to -r / m where m is large."""
    r, m = getattr(family, "r", 1.0), np.array([2e12, 3e13])
    found = snb.solve(snb.scan(m[:, None], [0, 1]), family, smoothing=0.0)[0].coef_[0, 0]
    np.testing.assert_allclose(found, r / m[0] - r / m[1], rtol=1e-9)

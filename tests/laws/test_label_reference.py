"""Overlapping labels against a reference group: each row of weights is the two-class fit on the rows of its groups."""

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

import streamnb as snb
from streamnb.stats.tables import SparseTable
from tests.support.problems import rows_by_family
from tests.support.strategies import messy_csr

rng = np.random.default_rng(16)
N_ROWS, N_FEATURES, L = 240, 7, 4
HEALTHY = 2
SICK = (rng.random((N_ROWS, 3)) < [0.3, 0.25, 0.4]).astype(int)  # labels that overlap
NONE = SICK.sum(axis=1) == 0
Y = np.insert(SICK, HEALTHY, NONE & (rng.random(N_ROWS) < 0.7), axis=1)  # and some rows bear no label at all
COUNTS = rng.poisson(0.8, (N_ROWS, N_FEATURES)).astype(float)
COUNTS[:, :3] += SICK * rng.poisson(1.2, (N_ROWS, 3))
COUNTS[:, 6] = 0.0
FAMILIES = rows_by_family(COUNTS, COUNTS + rng.random((N_ROWS, N_FEATURES)) + 0.5)
WEIGHT = rng.choice([0.0, 0.5, 1.0, 2.0], N_ROWS)
LABELS = [0, 1, 3]

PENALTIES = [
    None,
    snb.L1(1.5),
    snb.L1(0.8, scale="score") + snb.L2(0.7),
    snb.TopK(3, by="score"),
    snb.Separable(lambda w: -np.tanh(w), 0.9),
]


def groups(reference):
    """Columns of the labels, and which rows are the reference's."""
    if reference == snb.UNLABELLED:
        return range(L), Y.sum(axis=1) == 0
    return [u for u in range(L) if u != reference], Y[:, reference] == 1


def assert_pair_by_pair(x, family, reference, penalty=None, weight=WEIGHT, **options):
    """Weights and intercepts of all labels at once against those of the two groups' rows alone."""
    asked = {"scheme": "reference", "reference": reference}
    whole = snb.LinearNB(family, penalty, **asked, **options).fit(x, Y, sample_weight=weight)
    labels, healthy = groups(reference)
    for row, u in enumerate(labels):
        some = healthy | (Y[:, u] == 1)
        alone = snb.LinearNB(family, penalty, **options).fit(x[some], Y[some, u], sample_weight=weight[some])
        scale = np.abs(alone.coef_[0]).max()
        np.testing.assert_allclose(whole.coef_[row], alone.coef_[0], rtol=1e-12, atol=1e-12 * scale)
        np.testing.assert_allclose(whole.intercept_[row], alone.intercept_[0], rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(whole.predict(x)[:, u], alone.predict(x))
        np.testing.assert_allclose(whole.predict_proba(x)[:, u], alone.predict_proba(x)[:, 1], rtol=1e-9)
    return whole


@pytest.mark.parametrize("reference", [HEALTHY, snb.UNLABELLED], ids=str)
@pytest.mark.parametrize("family", FAMILIES, ids=str)
def test_every_family(family, reference):
    x = FAMILIES[family]
    model = assert_pair_by_pair(x, family, reference)
    again = snb.LinearNB(family, scheme="reference", reference=reference).fit(messy_csr(x), Y, sample_weight=WEIGHT)
    np.testing.assert_allclose(again.coef_, model.coef_, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("penalty", PENALTIES[1:], ids=str)
@pytest.mark.parametrize("family", ["gaussian", "poisson", "bernoulli", "multinomial", "gamma"])
def test_every_penalty(family, penalty):
    assert_pair_by_pair(FAMILIES[family], family, HEALTHY, penalty)


@pytest.mark.parametrize(
    ("family", "options"),
    [
        ("poisson", {"smoothing": 3.0, "estimate": "map"}),
        ("poisson", {"smoothing": snb.GammaPrior(2.0, 1.5), "transform": "sqrt"}),
        ("multinomial", {"smoothing": 2.0, "estimate": "map", "normalize": "l1"}),
        ("bernoulli", {"smoothing": snb.BetaPrior(2.0, 3.0), "binarize": 1.0}),
        ("gaussian", {"smoothing": snb.NormalInverseGamma(1.0, 2.0, 3.0, 2.0)}),
        (snb.Gaussian(var_smoothing=0.3), {}),
        ("geometric", {"estimate": "mle", "smoothing": 0.0, "transform": "log1p"}),
    ],
    ids=str,
)
def test_every_option(family, options):
    x = FAMILIES["gaussian"] if getattr(family, "name", family) == "gaussian" else COUNTS[:, :6]
    assert_pair_by_pair(x, family, HEALTHY, **options)


def test_the_example_by_hand():
    x, y = np.array([[4.0], [6], [1], [3], [100]]), np.eye(3, dtype=int)[[0, 0, 1, 1, 2]]
    model = snb.LinearNB("poisson", scheme="reference", reference=1, smoothing=0.0).fit(x, y)
    assert model.coef_[0, 0] == pytest.approx(np.log(2.5), abs=1e-15)
    assert model.intercept_[0] == pytest.approx(-3.0, abs=1e-14)
    assert model.decision_function(x).shape == (5, 2)
    assert model.predict(x).tolist() == [[1, 0, 0], [1, 0, 0], [0, 0, 0], [0, 0, 0], [1, 0, 1]]
    bare = snb.LinearNB("poisson", scheme="reference", reference=snb.UNLABELLED, smoothing=0.0).fit(x, y[:, [0, 2]])
    assert np.array_equal(bare.coef_, model.coef_) and np.array_equal(bare.intercept_, model.intercept_)
    assert (
        bare.decision_function(x).shape == (5, 2) and bare.predict(x).tolist() == model.predict(x)[:, [0, 2]].tolist()
    )


@pytest.mark.parametrize("reference", [HEALTHY, snb.UNLABELLED], ids=str)
@pytest.mark.parametrize("family", ["gaussian", "poisson"])
def test_decorrelation_couples_the_rows_of_weights(family, reference):
    """The solution is stationary: each weight is W of the pull tau_1 sign(w) + tau times the sum of the others."""
    x, tau = FAMILIES[family], 0.3
    stats = snb.scan(x, Y, moments=["sum", "sum_sq"])
    asked = {"scheme": "reference", "reference": reference, "smoothing": 1.0}
    path = snb.solve(stats, family, snb.Decorrelation(tau), **asked)
    w = path[0].coef_
    assert path.saturated[0] == 0 and not np.allclose(w, snb.solve(stats, family, **asked)[0].coef_, rtol=1e-3)
    t = tau * (w.sum(axis=0) - w)
    labels, healthy = groups(reference)
    for row, u in enumerate(labels):
        on, some = Y[:, u] == 1, healthy | (Y[:, u] == 1)
        mean, add = x[some].mean(axis=0), 0.0 if family == "gaussian" else 1.0
        n_on, n_off = on.sum() + add, healthy.sum() + add
        plus = (x[on].sum(axis=0) + add * mean - t[row]) / n_on
        minus = (x[healthy].sum(axis=0) + add * mean + t[row]) / n_off
        if family == "poisson":
            seen = mean > 0
            np.testing.assert_allclose(w[row, seen], np.log(plus[seen] / minus[seen]), rtol=1e-9)
            continue
        squares = sum(((x[rows] - x[rows].mean(axis=0)) ** 2).sum(axis=0) for rows in (on, healthy)) / some.sum()
        variance = squares + 1e-9 * x[some].var(axis=0).max()
        np.testing.assert_allclose(w[row], (plus - minus) / variance, rtol=1e-9)


@pytest.mark.parametrize("reference", [HEALTHY, snb.UNLABELLED], ids=str)
def test_parts_of_rows_and_files_give_the_same(tmp_path, reference):
    asked = {"scheme": "reference", "reference": reference}
    expected, rest, parts = (snb.LinearNB("poisson", snb.L1(1.0), **asked) for _ in range(3))
    expected.fit(COUNTS, Y)
    for a in range(0, N_ROWS, 60):
        parts.partial_fit(COUNTS[a : a + 60], Y[a : a + 60])
    assert np.array_equal(parts.coef_, expected.coef_) and np.array_equal(parts.intercept_, expected.intercept_)
    assert np.array_equal(parts.forget(COUNTS[:100], Y[:100]).coef_, rest.fit(COUNTS[100:], Y[100:]).coef_)
    expected.save(tmp_path / "model.snb")
    loaded = snb.load(tmp_path / "model.snb")
    assert np.array_equal(loaded.predict_proba(COUNTS), expected.predict_proba(COUNTS))
    assert np.array_equal(loaded.refit(penalty=None).coef_, expected.refit(penalty=None).coef_)
    path = snb.solve(expected.stats_, "poisson", snb.L1([0.5, 1.0]), **asked)
    path.save(tmp_path / "path.snb")
    assert np.array_equal(snb.load(tmp_path / "path.snb")[1].coef_, path[1].coef_)


@pytest.mark.parametrize("y", [Y, np.where(NONE, 3, SICK.argmax(axis=1))], ids=["labels", "classes"])
def test_features_of_a_class_are_those_of_its_own_row(y):
    """The reference has no row, and goes by the features of all."""
    asked = {"scheme": "reference", "reference": 3, "overlap": "keep", "folds": 3}
    model = snb.LinearNBCV("poisson", snb.TopK([1, 2, 3]), **asked).fit(COUNTS, y)
    tables = snb.compare(COUNTS, y, families="poisson", penalties={"k": snb.TopK([2])}, show=False, **asked)
    assert tables.n_features[0, 0, :3].tolist() == [2, 2, 2] and tables.n_features[0, 0, 3] > 2
    assert set(model.n_features_per_class_[:3]) <= {1, 2, 3}


def test_any_reference_follows_from_the_same_statistics():
    model = snb.LinearNB("poisson", scheme="reference", reference=snb.UNLABELLED).fit(COUNTS, Y)
    assert model.coef_.shape == (L, N_FEATURES)
    model.refit(reference=HEALTHY)
    alone = snb.LinearNB("poisson", scheme="reference", reference=HEALTHY).fit(COUNTS, Y)
    assert np.array_equal(model.coef_, alone.coef_) and model.coef_.shape == (L - 1, N_FEATURES)
    named = snb.LinearNB("poisson", scheme="reference", reference="well").fit(
        COUNTS, Y, classes=["a", "b", "well", "c"]
    )
    assert np.array_equal(named.coef_, model.coef_) and named.classes_.tolist() == ["a", "b", "well", "c"]


def test_probabilities_and_scores_of_the_reference():
    model = snb.LinearNB("poisson", scheme="reference", reference=HEALTHY).fit(COUNTS, Y)
    margins, proba = model.decision_function(COUNTS), model.predict_proba(COUNTS)
    assert margins.shape == (N_ROWS, L - 1) and proba.shape == (N_ROWS, L)
    lazy = da.from_array(COUNTS, chunks=(70, N_FEATURES))
    for answer in ("decision_function", "predict", "predict_proba"):
        given = getattr(model, answer)(lazy)
        assert given.shape == getattr(model, answer)(COUNTS).shape
        assert np.array_equal(given.compute(), getattr(model, answer)(COUNTS))
    with pytest.raises(ValueError, match=r"predictive=True .* scheme"):
        model.predict(COUNTS, predictive=True)
    np.testing.assert_allclose(proba[:, HEALTHY], 1.0 / (1.0 + np.exp(margins.max(axis=1))), rtol=1e-12)
    assert not model.predict(COUNTS)[:, HEALTHY].any()
    assert model.score(COUNTS, Y) == (model.predict(COUNTS) == Y).all(axis=1).mean()
    assert "label reference" in repr(
        snb.solve(model.stats_, "poisson", scheme="reference", reference=0, overlap="keep")[0]
    )


def test_rows_that_bear_a_label_and_the_reference():
    y = Y.copy()
    y[np.flatnonzero(Y[:, 0])[:5], HEALTHY] = 1
    y[np.flatnonzero(Y[:, 3])[-2:], HEALTHY] = 1
    both = [int((y[:, u] & y[:, HEALTHY]).sum()) for u in range(L)]
    asked = {"scheme": "reference", "reference": HEALTHY}
    message = rf"reference=2 overlaps other labels: of its rows {both[0]} bear label 0 too.*overlap='keep'"
    for fit in (
        lambda: snb.LinearNB("poisson", **asked).fit(COUNTS, y),
        lambda: snb.LinearNBCV("poisson", snb.L1([1.0]), **asked).fit(COUNTS, y),
        lambda: snb.compare(COUNTS, y, families="poisson", penalties="L1", **asked),
        lambda: snb.solve(snb.scan(COUNTS, y), "poisson", **asked),
        lambda: snb.tau_for(snb.scan(COUNTS, y), "poisson", n_features=3, **asked),
    ):
        with pytest.raises(ValueError, match=message):
            fit()
    kept = snb.LinearNB("poisson", overlap="keep", **asked).fit(COUNTS, y)
    rows = np.concatenate([np.flatnonzero(y[:, 0]), np.flatnonzero(y[:, HEALTHY])])  # those with both stand twice
    twice = snb.LinearNB("poisson").fit(COUNTS[rows], np.arange(len(rows)) < y[:, 0].sum())
    np.testing.assert_allclose(kept.coef_[0], twice.coef_[0], rtol=1e-12, atol=1e-12)
    weight = 1.0 - y[:, HEALTHY] * y[:, LABELS].any(axis=1)  # rows that weigh nothing overlap nothing
    snb.LinearNB("poisson", **asked).fit(COUNTS, y, sample_weight=weight)
    with pytest.raises(ValueError, match="overlap='both' is unknown; it should be one of 'refuse', 'keep'"):
        snb.LinearNB("poisson", overlap="both", **asked).fit(COUNTS, y)


@pytest.mark.parametrize(
    ("reference", "y", "message"),
    [
        (9, Y, r"reference=9 is not a label; it should be one of \[0, 1, 2, 3\], or snb.UNLABELLED"),
        (None, Y, r"reference=None is not a label"),
        (snb.UNLABELLED, Y.argmax(axis=1), r"reference=snb.UNLABELLED \(which is for a 2-D y\) is not a class"),
    ],
)
def test_what_is_no_reference(reference, y, message):
    with pytest.raises(ValueError, match=message):
        snb.LinearNB("poisson", scheme="reference", reference=reference).fit(COUNTS, y)


@pytest.mark.filterwarnings("ignore::streamnb.StreamnbWarning")
def test_a_group_without_rows_has_no_weights():
    y = Y.copy()
    y[:, 1] = 0
    model = snb.LinearNB("gaussian", scheme="reference", reference=HEALTHY).fit(COUNTS, y)
    assert not model.coef_[1].any() and model.intercept_[1] == -np.inf and model.coef_[0].any()
    y[:, HEALTHY] = 0
    model = snb.LinearNB("gaussian", scheme="reference", reference=HEALTHY).fit(COUNTS, y)
    assert not model.coef_.any() and np.isfinite(model.intercept_[0])
    full = np.maximum(Y, np.eye(L, dtype=int)[[3]])
    with pytest.warns(snb.StreamnbWarning, match="every row bears a label: there are none for reference=snb.UNLAB"):
        bare = snb.LinearNB("gaussian", scheme="reference", reference=snb.UNLABELLED).fit(COUNTS, full)
    assert not bare.coef_.any()


def test_class_priors():
    asked = {"scheme": "reference", "reference": HEALTHY}
    even = snb.LinearNB("poisson", priors="uniform", **asked).fit(COUNTS, Y)
    own = snb.LinearNB("poisson", **asked).fit(COUNTS, Y)
    of_rows = np.log(Y[:, LABELS].sum(axis=0) / Y[:, HEALTHY].sum())
    np.testing.assert_allclose(own.intercept_ - even.intercept_, of_rows, rtol=1e-12)
    given = snb.LinearNB("poisson", priors=[0.1, 0.2, 0.5, 0.5], **asked).fit(COUNTS, Y)
    np.testing.assert_allclose(given.intercept_ - even.intercept_, np.log([0.2, 0.4, 1.0]), atol=1e-12)


def test_two_labels_are_enough():
    model = snb.LinearNB("poisson", scheme="reference", reference=1).fit(COUNTS, Y[:, [0, HEALTHY]])
    assert model.coef_.shape == (1, N_FEATURES) and model.decision_function(COUNTS).shape == (N_ROWS, 1)
    with pytest.raises(ValueError, match="reference=0 is the only label; there should be others"):
        snb.LinearNB("poisson", scheme="reference", reference=0).fit(COUNTS, sp.csr_array(Y[:, :1]))


def test_a_tau_for_the_row_of_a_label():
    stats, asked = snb.scan(COUNTS, Y), {"scheme": "reference", "reference": HEALTHY}
    for row, u in enumerate(LABELS):
        tau = snb.tau_for(stats, "poisson", n_features=2, class_=u, **asked)
        assert snb.solve(stats, "poisson", snb.L1(tau), **asked).n_features_per_class[0, row] == 2
    with pytest.raises(ValueError, match="class_=2 has no row of weights of its own"):
        snb.tau_for(stats, "poisson", n_features=2, class_=HEALTHY, **asked)


@pytest.mark.parametrize("reference", [HEALTHY, snb.UNLABELLED], ids=str)
def test_sparse_tables_give_the_same_bits(reference):
    stats = snb.scan(COUNTS, Y, moments=["sum", "sum_sq", "above"])
    sparse = stats.with_tables(lambda table: SparseTable.of(table.dense()))
    asked = {"scheme": "reference", "reference": reference}
    for family in ("poisson", "gaussian", "multinomial", "bernoulli"):
        for penalty in (None, snb.L1(0.5), snb.TopK(3)):
            a, b = (snb.solve(each, family, penalty, **asked)[0] for each in (stats, sparse))
            assert np.array_equal(a.coef_, b.coef_) and np.array_equal(a.intercept_, b.intercept_)
    with pytest.raises(MemoryError, match="choose among these, use fewer features, or a larger memory_limit"):
        snb.solve(sparse, "poisson", memory_limit=100, **asked)[0].predict(COUNTS)

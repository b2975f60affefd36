"""Statistics with noise are ordinary ones, remember what protects them, and refuse what would undo it."""

import sys
import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import chisquare, norm

import streamnb as snb
from streamnb.stats import privacy
from streamnb.stats.privacy import above_zero

CLASSES = ["ash", "birch", "cedar"]
HOW = {"clip": snb.Clip(presence=True, max_features=3), "classes": CLASSES, "n_features": 6}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 6000)
    X = rng.random((6000, 6)) < np.where(np.arange(6) // 2 == y[:, None], 0.6, 0.2)
    return sp.csr_array(X.astype(float)), np.array(CLASSES)[y]


@pytest.fixture(scope="module")
def stats(rows):
    return snb.scan(*rows, **HOW)


@pytest.fixture(scope="module")
def private(stats):
    return stats.privatize(epsilon=1.0, delta=1e-6)


def test_every_family_and_penalty_is_served(rows, private):
    X, y = rows
    for family in ("multinomial", "poisson", "bernoulli", "gaussian"):
        for penalty in (None, snb.L1(40.0), snb.L2(10.0), snb.TopK(4)):
            model = snb.solve(private, family, penalty)[0]
            assert np.mean(model.predict(X) == y) > 0.65
            assert model.privacy_ == private.privacy and "epsilon 1" in repr(model)


def test_noise_has_the_scale_of_the_ledger(stats):
    found = np.stack([stats.privatize(2.0, 1e-5).sum - stats.sum for _ in range(20)])
    expected = stats.privatize(2.0, 1e-5).privacy.noise["sum"]
    assert 0.85 * expected < found.std() < 1.15 * expected and abs(found.mean()) < expected / 3


def test_nothing_of_the_rows_is_left(rows, stats):
    private = stats.privatize(0.1, 1e-6)
    assert (private.rows != stats.rows).any() and private.negatives == 0 and private.folds == ()
    assert np.array_equal(private.sum, private.nonzero) and np.array_equal(private.sum, private.above)
    X, y = rows
    empty = snb.scan(X.tolil()[:, [0, 1, 2, 3, 4, 4]].multiply([1, 1, 1, 1, 1, 0]).tocsr(), y, **HOW)
    assert not empty.sum[:, 5].any()
    assert any(empty.privatize(1.0).sum[:, 5].any() for _ in range(20))  # cells that no row touched have noise, too


def test_moments_of_presence_are_one_sum_and_pairs_another(rows):
    how = {**HOW, "clip": snb.Clip(presence=True), "moments": ["sum_sq", "nonzero", "gram_above"]}
    private = snb.scan(*rows, **how).privatize(2.0)
    assert np.array_equal(private.sum_sq, private.nonzero) and private.gram_above.shape == (3, 6, 6)
    assert private.privacy.noise["gram_above"] > private.privacy.noise["nonzero"] == private.privacy.noise["sum_sq"]


def test_sums_above_zero_keep_their_totals():
    noisy = np.array([[5.0, -1.0, -3.0], [-2.0, 2.0, 1.0], [4.0, -4.0, 8.0]])
    found = above_zero(noisy)
    assert (found >= 0.0).all()
    np.testing.assert_allclose(found.sum(axis=0), [7.0, 0.0, 6.0])
    np.testing.assert_allclose(found[:, 0], [4.0, 0.0, 3.0])
    assert np.array_equal(above_zero(np.abs(noisy)), np.abs(noisy))


def test_folds_have_noise_of_their_own(rows):
    stats = snb.scan(*rows, **HOW, folds=4)
    private = stats.privatize(5.0)
    whole, part = private.privacy.noise["sum"], stats.privatize(5.0).without_fold(0).privacy.noise["sum"]
    assert part == pytest.approx(whole * 0.75**0.5)
    assert np.abs(private.sum - sum(fold.sum for fold in private.folds)).max() < 4 * whole
    assert private.without_fold(1).total_weight == pytest.approx(stats.without_fold(1).total_weight, rel=0.02)


def test_a_membership_attack_stays_below_the_bound(stats):
    """The likelihood ratio of sums with and without a person, who has a column of a rare class alone."""
    rng, epsilon, n_pairs = np.random.default_rng(0), 1.0, 200
    unlike = snb.scan(np.eye(6)[[5]] + np.eye(6)[[4]], ["ash"], **HOW)
    with_person = stats + unlike

    def score(released):
        return (released.sum - stats.sum)[0, 4:].sum() + (released.weight - stats.weight)[0]

    there = rng.random(n_pairs) < 0.5
    attacked = np.array([score((with_person if here else stats).privatize(epsilon)) for here in there])
    threshold = score(with_person) / 2
    advantage = np.mean(attacked[there] > threshold) - np.mean(attacked[~there] > threshold)
    bound = (np.exp(epsilon) - 1 + 2e-6) / (np.exp(epsilon) + 1)
    chance = norm.ppf(1 - 1e-7) / n_pairs**0.5
    assert advantage < min(bound, 2 * norm.cdf(0.125) - 1 + chance)
    assert score(with_person) > threshold > score(stats)  # of sums without noise, the attack is always right


def test_the_ledger_goes_with_files_and_models(rows, private, tmp_path):
    private.save(tmp_path / "sums.snb")
    assert snb.load(tmp_path / "sums.snb").privacy == private.privacy
    l2 = {**HOW, "clip": snb.Clip(l2=1.0, step=2**-8), "moments": ["sum", "sum_sq", "gram"]}
    grams = snb.scan(*rows, **l2).privatize(2.0)
    for family in ("gaussian", snb.Gaussian(covariance="own"), snb.Gaussian(covariance="full")):
        model = snb.solve(grams, family)[0]
        model.save(tmp_path / "model.snb")
        assert snb.load(tmp_path / "model.snb").privacy_ == model.privacy_ == grams.privacy
    assert (private * 0.5).privacy == private.privacy


def test_grids_begin_at_the_level_of_the_noise(private):
    path = snb.solve(private, "bernoulli", snb.L1(n_taus=5))
    assert path.grid[0]["l1"] == pytest.approx(private.privacy.noise["above"]) and len(path) == 5


def test_merging(stats, private, rows):
    other = stats.privatize(2.0)
    assert private.merge(other, people="disjoint").privacy.epsilon == 2.0
    both = private.merge(other, people="same")
    assert both.privacy.epsilon == 3.0 and both.privacy.clipping.rows_per_group == 2
    assert private.merge(stats, people="disjoint", unprotected=True).privacy.unprotected
    assert np.array_equal(stats.merge(stats, people="same").sum, 2 * stats.sum)
    assert stats.merge(stats, people="same").clipping.rows_per_group == 2 and (stats + stats).clipping == stats.clipping
    people = snb.scan(*rows, **HOW, groups=np.arange(6000) // 2, rows_per_group=2)
    assert people.merge(people, people="disjoint").clipping.rows_per_group == 2
    refusals = {
        "added by merge": lambda: private + other,
        "cannot be subtracted": lambda: private - other,
        "the other is not": lambda: private.merge(stats, people="same"),
        "people": lambda: private.merge(other, people="some"),
        "several rows": lambda: people + people,
        "with clip=": lambda: stats + snb.scan(*rows, **{**HOW, "clip": snb.Clip(presence=True)}),
    }
    for message, refused in refusals.items():
        with pytest.raises(ValueError, match=message):
            refused()


@pytest.mark.parametrize(
    "given, message",
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": np.inf}, "epsilon"),
        ({"delta": 0.0}, "delta"),
        ({"delta": 1.0}, "delta"),
    ],
)
def test_budgets_out_of_range(stats, given, message):
    with pytest.raises(ValueError, match=message):
        stats.privatize(**given)


def test_what_cannot_be_made_private(rows, stats, private):
    X, y = rows
    for sums, message in (
        (private, "private already"),
        (snb.scan(X, y), "no clip"),
        (stats * 0.5, "no clip"),
        (snb.scan(X, y, **HOW, moments=["sum", "deviation"]), "no bounded sensitivity"),
    ):
        with pytest.raises(ValueError, match=message):
            sums.privatize()


def test_protection_that_is_none_is_said(stats):
    with pytest.warns(snb.StreamnbWarning, match="1 / n or more"):
        stats.privatize(1.0, delta=1e-3)
    with pytest.warns(snb.StreamnbWarning, match="exceeds what there is to see"):
        stats.privatize(1e-3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        stats.privatize(1.0)


# ---- Noise is discrete Gaussian, and what it costs is what it was given ----------------------------------------------

BY_CHANCE = 1e-7  # how often a right sampler fails


def test_noise_is_discrete_gaussian():
    n, scale = 20_000, 1.7
    drawn, rho = privacy.noisy(np.full((2, n // 2), 40), 3.0, scale)
    assert drawn.shape == (2, n // 2) and rho == pytest.approx(3.0**2 / (2 * scale**2))
    values = np.arange(-60, 61)
    shares = np.exp(-(values**2) / (2 * scale**2))
    shares /= shares.sum()
    counts = np.bincount(drawn.astype(int).reshape(-1) - 40 + 60, minlength=121)
    often = shares * n > 10
    observed, expected = (np.append(part[often], part[~often].sum()) for part in (counts, shares * n))
    assert chisquare(observed, expected).pvalue > BY_CHANCE
    assert np.bincount(drawn.astype(int).reshape(-1) - 40 + 60).sum() == n


def test_the_budget_is_spent_and_not_exceeded():
    for epsilon, delta in ((1.0, 1e-6), (0.3, 1e-5)):
        rho = privacy.budget(epsilon, delta)
        scale = 2.0 / np.sqrt(2.0 * rho)
        spent = privacy._approximate(scale, delta).map(2.0)
        assert 0.99 * epsilon < spent[0] <= epsilon and spent[1] == delta
        # Bun and Steinke 2016, proposition 1.3, which OpenDP's conversion improves on
        assert rho + 2 * np.sqrt(rho * np.log(1 / delta)) > epsilon


def test_no_two_draws_are_alike():
    zeros = np.zeros((1, 50))
    assert not np.array_equal(privacy.noisy(zeros, 1.0, 100.0)[0], privacy.noisy(zeros, 1.0, 100.0)[0])


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    privacy._opendp.cache_clear()
    with pytest.raises(ImportError, match=r"pip install streamnb\[private\]"):
        privacy.budget(0.77, 1e-6)

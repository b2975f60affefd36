"""The stability index beside its formula, and how often chance exceeds the limit."""

import numpy as np
import pytest

import streamnb as snb
from streamnb.rows.preparing import RowOptions
from streamnb.stats.stability import ColumnProfile, checked_profile, limit, of_cells, of_numbers

RNG = np.random.default_rng(0)


def numbers(X):
    return ColumnProfile("sum", RowOptions(), len(X), float(len(X)), X.sum(axis=0), X.var(axis=0))


def test_the_index_is_that_of_the_shares():
    p, q = np.array([0.2, 0.3, 0.5]), np.array([0.5, 0.3, 0.2])
    found, _ = of_cells(1e9 * p, 1e9 * q)
    assert found == pytest.approx(((q - p) * np.log(q / p)).sum(), rel=1e-8)
    assert of_cells(p * 100, p * 300)[0] < 1e-4 and np.isnan(of_cells(p, np.zeros(3))[0])


def test_values_that_few_rows_have_are_taken_together():
    old, new = np.append(np.ones(500), 500.0), np.append(np.ones(250), np.zeros(250))
    new = np.append(new, 750.0)
    assert of_cells(old, new) == of_cells(np.array([500.0, 500.0]), np.array([750.0, 250.0]))


def test_chance_seldom_exceeds_the_limit():
    shares = np.full(20, 0.05)
    found = [of_cells(*(RNG.multinomial(n, shares).astype(float) for n in (3000, 500))) for _ in range(3000)]
    assert 0 < sum(psi > most for psi, most in found) < 15  # about 3 are expected
    means = [of_numbers(*(numbers(RNG.normal(size=(n, 300))) for n in (400, 200))) for _ in range(10)]
    assert np.mean(np.array(means) > limit(2, 400, 200)) < 0.005


def test_numbers_are_compared_as_normal_ones():
    old, new = numbers(RNG.normal(3.0, 1.0, (50, 1))), numbers(RNG.normal(4.0, 2.0, (60, 1)))
    x = np.linspace(-40.0, 50.0, 200_001)
    p, q = (
        -((x - one.means) ** 2) / (2 * one.variances) - np.log(np.sqrt(2 * np.pi * one.variances)) for one in (old, new)
    )
    assert of_numbers(old, new)[0] == pytest.approx(np.trapezoid((np.exp(q) - np.exp(p)) * (q - p), x), rel=1e-6)
    assert of_numbers(old, old)[0] == pytest.approx(0.0, abs=1e-12)


def test_sums_are_over_all_classes_and_rows_count_once():
    X, labels = RNG.poisson(2.0, (60, 3)), RNG.integers(0, 2, (60, 2))
    for stats in (snb.scan(X, np.arange(60) % 4), snb.scan(X, labels), snb.scan(X, np.arange(60) % 2, pooled=True)):
        found = ColumnProfile.of(stats)
        np.testing.assert_array_equal(found.sums, X.sum(axis=0))
        np.testing.assert_allclose(found.variance, X.var(axis=0))
    products = ColumnProfile.of(snb.scan(X, np.arange(60) % 4, moments=["sum", "gram"]))
    np.testing.assert_allclose(products.variance, X.var(axis=0))
    assert ColumnProfile.of(snb.scan(X, np.arange(60) % 4, moments=["sum_sq"])) is None
    with pytest.raises(ValueError, match="of the 2 columns"):
        checked_profile(products, 2)

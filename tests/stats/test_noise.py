"""Noise is discrete Gaussian, and what it costs is what it was given."""

import sys

import numpy as np
import pytest
from scipy.stats import chisquare

from streamnb.stats import privacy

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

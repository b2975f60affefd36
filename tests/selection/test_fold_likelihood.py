"""The likelihood from sums of folds is that of the rows, and chooses a penalty of private statistics."""

import numpy as np
import pytest
from scipy.stats import bernoulli, poisson

import streamnb as snb

RNG = np.random.default_rng(0)
Y = RNG.integers(0, 3, 300)
X = (RNG.random((300, 12)) < np.where(np.arange(12) // 4 == Y[:, None], 0.5, 0.2)).astype(float)


def scanned(y=Y):
    return snb.scan(X, y, folds=3)


@pytest.mark.parametrize("family, of_rows", [("bernoulli", bernoulli.logpmf), ("poisson", poisson.logpmf)])
@pytest.mark.parametrize("y", [Y, Y % 2], ids=["three classes", "two classes"])
def test_it_is_the_log_likelihood_of_held_out_rows(family, of_rows, y):
    stats, fold = scanned(y), snb.fold_numbers(300, 3)
    found = snb.fold_likelihood(snb.solve(stats, family, snb.L2([1.0, 20.0])))
    for point, tau in enumerate((1.0, 20.0)):
        total = 0.0
        for f in range(3):
            train, test = fold != f, fold == f
            weights = snb.solve(snb.scan(X[train], y[train]), family, snb.L2(tau))[0].coef_
            mean = (X[train].sum(axis=0) + 1.0) / (train.sum() + 2.0)
            if len(weights) == 1:
                share = np.bincount(y[train]) / train.sum()
                weights = np.stack([-share[1] * weights[0], share[0] * weights[0]])
            odds = mean / (1 - mean) if family == "bernoulli" else mean
            moved = odds * np.exp(weights[y[test]])
            moved = moved / (1 + moved) if family == "bernoulli" else moved
            total += (of_rows(X[test], moved) - of_rows(X[test], mean)).sum()
        assert found[point] == pytest.approx(total / 300, rel=1e-9)


def test_likelihood_of_counts_of_a_multinomial():
    """Weights of 0 are the pooled model; those of all rows are better than it, and too many are worse than few."""
    stats = scanned()
    found = snb.fold_likelihood(snb.solve(stats, "multinomial", snb.L1([0.0, 5.0, 1e6])))
    assert found[2] == pytest.approx(0.0, abs=1e-12) and found[0] > 0.0


def test_noise_is_left_out_by_the_choice():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 3, 9000)
    X = rng.random((9000, 60)) < np.where(np.arange(60) == y[:, None], 0.5, 0.1)
    clip = snb.Clip(presence=True, max_features=8)
    stats = snb.scan(X.astype(float), y, folds=3, clip=clip, classes=[0, 1, 2], n_features=60)
    noise = (private := stats.privatize(0.5)).privacy.noise["above"]
    path = snb.solve(private, "bernoulli", snb.L1([0.0, noise, 2 * noise, 1e5]))
    scores = snb.fold_likelihood(path)
    assert scores[1:3].max() > scores[0] and scores[1:3].max() > scores[3]


@pytest.mark.parametrize(
    "path, message",
    [
        (lambda: snb.solve(scanned(), "gaussian"), "family"),
        (lambda: snb.solve(scanned(), "poisson", scheme="ovr"), "scheme"),
        (lambda: snb.solve(snb.scan(X, Y), "poisson"), "no folds"),
        (lambda: scanned(), "path is of type ClassStats"),
    ],
)
def test_paths_that_cannot_be_judged(path, message):
    with pytest.raises((ValueError, TypeError), match=message):
        snb.fold_likelihood(path())

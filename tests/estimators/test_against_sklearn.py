"""The same models in scikit-learn, where there are any."""

import numpy as np
import pytest
from sklearn.naive_bayes import BernoulliNB, MultinomialNB
from sklearn.neighbors import NearestCentroid

import streamnb as snb


def counts(n_classes, seed=0, n_rows=120, n=15):
    rng = np.random.default_rng([seed, n_classes])
    size = 0.7 ** np.arange(n_classes)
    y = np.concatenate([np.arange(n_classes), rng.choice(n_classes, n_rows - n_classes, p=size / size.sum())])
    x = rng.poisson(rng.gamma(0.5, 2.0, (n_classes, n))[y])
    x[:, 0] = 0
    return x, y, rng.choice([0.5, 1.0, 3.0], n_rows)


def test_multinomial_and_bernoulli():
    x, y, weight = counts(3)
    priors = [0.2, 0.3, 0.5]
    for ours, theirs in [
        (snb.LinearNB("multinomial", smoothing=0.5), MultinomialNB(alpha=0.5)),
        (snb.LinearNB("multinomial", smoothing=1e-3, priors=priors), MultinomialNB(alpha=1e-3, class_prior=priors)),
        (snb.LinearNB("bernoulli", smoothing=2.0, binarize=1.0), BernoulliNB(alpha=2.0, binarize=1.0)),
        (snb.LinearNB("bernoulli", priors="uniform"), BernoulliNB(fit_prior=False)),
    ]:
        ours.fit(x, y, sample_weight=weight)
        expected = theirs.fit(x, y, sample_weight=weight).predict_log_proba(x)
        np.testing.assert_allclose(ours.predict_log_proba(x), expected, rtol=1e-10, atol=1e-10)


# --------------------------------------------------------------------------------- nearest shrunken centroids


def same_spread(n_classes, n_rows=90, n=8):
    """Rows whose features all have one pooled within-class standard deviation; classes of unequal size."""
    x, y, _ = counts(n_classes, n_rows=n_rows, n=n + 1)
    x = x[:, 1:] + np.random.default_rng(0).normal(size=(n_rows, n))
    means = np.array([x[y == k].mean(axis=0) for k in range(n_classes)])
    return x / np.sqrt(((x - means[y]) ** 2).sum(axis=0)) * 20, y


def score_tau(threshold, n_rows, n_classes):
    """The penalty of a threshold: scikit-learn's s is sd + median sd = 2 sd, with divisor N - K."""
    return threshold * 2 * np.sqrt(n_rows / (n_rows - n_classes))


@pytest.mark.parametrize(("n_classes", "threshold"), [(3, 0.1), (3, 1.5), (5, 0.7), (5, 4.0)])
def test_shrunken_centroids(n_classes, threshold):
    x, y = same_spread(n_classes)
    theirs = NearestCentroid(shrink_threshold=threshold).fit(x, y)
    stats = snb.scan(x, y)
    tau = score_tau(threshold, len(x), n_classes)
    ours = snb.solve(stats, snb.Gaussian(var_smoothing=0.0), snb.L1(tau, "score"), priors="uniform")[0]
    means = stats.sum / stats.weight[:, None]
    phi = (stats.sum_sq - stats.sum * means).sum(axis=0) / len(x)
    np.testing.assert_allclose(x.mean(axis=0) + phi * ours.coef_, theirs.centroids_, rtol=1e-9, atol=1e-9)
    new = np.random.default_rng(2).normal(size=(200, x.shape[1])) * 5 + x.mean(axis=0)
    np.testing.assert_array_equal(ours.predict(new), theirs.predict(new))


@pytest.mark.parametrize("threshold", [0.1, 0.7, 1.5, 4.0])
def test_shrunken_centroids_of_two_classes(threshold):
    x, y = same_spread(2)
    theirs = NearestCentroid(shrink_threshold=threshold).fit(x, y)
    tau = score_tau(threshold, len(x), 2)
    ours = snb.solve(snb.scan(x, y), snb.Gaussian(var_smoothing=0.0), snb.L1(tau, "score"), priors="uniform")[0]
    gap = theirs.centroids_[1] - theirs.centroids_[0]
    phi = 400 / len(x)
    np.testing.assert_allclose(phi * ours.coef_[0], gap, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(ours.coef_[0] == 0, np.abs(gap) < 1e-12)

"""The same models in scikit-learn, where there are any."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
from sklearn.neighbors import NearestCentroid

import streamnb as snb


def counts(n_classes, seed=0, n_rows=120, n=15):
    rng = np.random.default_rng([seed, n_classes])
    size = 0.7 ** np.arange(n_classes)
    y = np.concatenate([np.arange(n_classes), rng.choice(n_classes, n_rows - n_classes, p=size / size.sum())])
    x = rng.poisson(rng.gamma(0.5, 2.0, (n_classes, n))[y])
    x[:, 0] = 0
    return x, y, rng.choice([0.5, 1.0, 3.0], n_rows)


# ------------------------------------------------------------------------------------- multinomial, Bernoulli


@pytest.mark.parametrize(("n_classes", "weighted", "alpha"), [(2, True, 1e-3), (3, False, 1.0), (6, True, 10.0)])
def test_multinomial(n_classes, weighted, alpha):
    x, y, weight = counts(n_classes)
    weight = weight if weighted else None
    for fit_prior in (True, False):
        theirs = MultinomialNB(alpha=alpha, fit_prior=fit_prior).fit(x, y, sample_weight=weight)
        for rows in (x, sp.csr_array(x)):
            stats = snb.scan(rows, y, sample_weight=weight)
            ours = snb.solve(stats, "multinomial", smoothing=alpha, priors=None if fit_prior else "uniform")[0]
            expected = theirs.predict_log_proba(x)
            np.testing.assert_allclose(ours.predict_log_proba(rows), expected, rtol=1e-10, atol=1e-10)
            np.testing.assert_array_equal(ours.predict(rows), theirs.predict(x))


@pytest.mark.parametrize(("n_classes", "binarize", "alpha"), [(2, 2.5, 1e-3), (3, 0.0, 1.0), (6, 1.0, 10.0)])
def test_bernoulli(n_classes, binarize, alpha):
    x, y, weight = counts(n_classes)
    theirs = BernoulliNB(alpha=alpha, binarize=binarize).fit(x, y, sample_weight=weight)
    for rows in (x, sp.csr_array(x)):
        stats = snb.scan(rows, y, sample_weight=weight, binarize=binarize)
        ours = snb.solve(stats, "bernoulli", smoothing=alpha)[0]
        np.testing.assert_allclose(ours.predict_log_proba(rows), theirs.predict_log_proba(x), rtol=1e-10, atol=1e-10)


def test_class_priors():
    x, y, _ = counts(3)
    priors = [0.2, 0.3, 0.5]
    stats = snb.scan(x, y)
    for family, theirs in [
        ("multinomial", MultinomialNB(class_prior=priors)),
        ("bernoulli", BernoulliNB(class_prior=priors)),
    ]:
        ours = snb.solve(stats, family, priors=priors)[0]
        expected = theirs.fit(x, y).predict_log_proba(x)
        np.testing.assert_allclose(ours.predict_log_proba(x), expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_estimator(n_classes):
    x, y, weight = counts(n_classes)
    for ours, theirs in [
        (snb.LinearNB("multinomial", smoothing=0.5), MultinomialNB(alpha=0.5)),
        (snb.LinearNB("bernoulli", smoothing=2.0, binarize=1.0), BernoulliNB(alpha=2.0, binarize=1.0)),
    ]:
        ours.fit(x, y, sample_weight=weight)
        expected = theirs.fit(x, y, sample_weight=weight).predict_log_proba(x)
        np.testing.assert_allclose(ours.predict_log_proba(x), expected, rtol=1e-10, atol=1e-10)


# ------------------------------------------------------------------------------------------------- Gaussian


def same_variances(n_classes, seed=0, sizes=(8, 16, 24, 40), n=5):
    """Rows whose features have the same variance in every class, but not the same as each other."""
    rng = np.random.default_rng(seed)
    noise = rng.normal(size=(8, n)) * np.linspace(0.5, 3, n)
    means = rng.normal(size=(n_classes, n))
    y = np.repeat(np.arange(n_classes), sizes[:n_classes])
    x = np.concatenate([np.tile(m + noise, (size // 8, 1)) for m, size in zip(means, sizes, strict=False)])
    return x, y


@pytest.mark.parametrize("n_classes", [2, 4])
def test_gaussian_naive_bayes_where_variances_are_equal(n_classes):
    x, y = same_variances(n_classes)
    theirs = GaussianNB().fit(x, y)
    ours = snb.solve(snb.scan(x, y), "gaussian")[0]
    new = np.random.default_rng(1).normal(size=(30, x.shape[1])) * 3
    np.testing.assert_allclose(ours.predict_log_proba(new), theirs.predict_log_proba(new), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_gaussian_naive_bayes_told_the_pooled_variance(n_classes):
    x, y, weight = counts(n_classes)
    x = x[:, 1:] + 0.1 * np.random.default_rng(0).normal(size=x[:, 1:].shape)
    theirs = GaussianNB(var_smoothing=0.0).fit(x, y, sample_weight=weight)
    theirs.var_[:] = theirs.class_prior_ @ theirs.var_
    ours = snb.solve(snb.scan(x, y, sample_weight=weight), snb.Gaussian(var_smoothing=0.0))[0]
    np.testing.assert_allclose(ours.predict_log_proba(x), theirs.predict_log_proba(x), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_linear_discriminants_of_one_feature(n_classes):
    x, y, _ = counts(n_classes)
    x = x[:, 1:2] + 0.1 * np.random.default_rng(0).normal(size=(len(x), 1))
    theirs = LinearDiscriminantAnalysis(solver="lsqr").fit(x, y)
    ours = snb.solve(snb.scan(x, y), snb.Gaussian(var_smoothing=0.0))[0]
    np.testing.assert_allclose(ours.predict_log_proba(x), theirs.predict_log_proba(x), rtol=1e-8, atol=1e-8)


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

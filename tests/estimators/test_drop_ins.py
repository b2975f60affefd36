"""The drop-ins beside scikit-learn's classifiers of the same names: attributes, predictions, behaviour."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import naive_bayes
from sklearn.base import clone
from sklearn.neighbors import NearestCentroid
from sklearn.utils import get_tags

import streamnb as snb

THEIRS = {
    snb.MultinomialNB: naive_bayes.MultinomialNB,
    snb.ComplementNB: naive_bayes.ComplementNB,
    snb.BernoulliNB: naive_bayes.BernoulliNB,
    snb.GaussianNB: naive_bayes.GaussianNB,
    snb.CategoricalNB: naive_bayes.CategoricalNB,
}
PREDICTIONS = ("predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba")
DISCRETE = [model for model in THEIRS if model is not snb.GaussianNB]


def data(model, n_classes=3, seed=0, n_rows=90, n_features=7):
    """Rows that the model takes: reals, categories or counts; feature 0 is empty but for reals."""
    rng = np.random.default_rng([seed, n_classes])
    y = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n_rows - n_classes)])
    if model is snb.GaussianNB:
        x = rng.normal(size=(n_classes, n_features))[y] + rng.normal(size=(n_rows, n_features))
        x[rng.random(x.shape) < 0.3] = 0.0
    else:
        x = rng.poisson(rng.gamma(0.6, 2.0, (n_classes, n_features))[y]).astype(float)
        x[:, 0] = 0.0
    return x, y, rng.choice([0.3, 1.0, 2.5], n_rows)


def pair(model, **options):
    return model(**options), THEIRS[model](**options)


def same(a, b, name=""):
    if isinstance(b, list):
        assert len(a) == len(b)
        for mine, theirs in zip(a, b):
            same(mine, theirs, name)
    elif np.asarray(b).dtype.kind in "fc":
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10, err_msg=name)
    else:
        np.testing.assert_array_equal(a, b, err_msg=name)


def assert_alike(ours, theirs, x, new=None):
    """Every fitted attribute of theirs, and every prediction, dense and sparse."""
    for name in [name for name in vars(theirs) if name.endswith("_")]:
        same(getattr(ours, name), getattr(theirs, name), name)
    new = x if new is None else new
    for name in PREDICTIONS:
        expected = getattr(theirs, name)(new)
        for rows in (new, sp.csr_array(new), sp.csc_matrix(new)):
            same(getattr(ours, name)(rows), expected, name)


GRID = [
    (model, options)
    for model in DISCRETE
    for options in (
        {},
        {"alpha": 0.01},
        {"alpha": 7.5, "fit_prior": False},
        {"class_prior": [2.0, 3.0, 5.0], "fit_prior": False},
        {"alpha": 0.2, "force_alpha": False},
    )
]
GRID += [(model, {"alpha": np.linspace(0.1, 3.0, 7)}) for model in (snb.MultinomialNB, snb.ComplementNB)]
GRID += [(snb.ComplementNB, {"norm": True, "alpha": alpha}) for alpha in (0.3, 1.0)]
GRID += [(snb.BernoulliNB, {"binarize": binarize}) for binarize in (0.5, 1.0, 2.5)]
GRID += [(snb.CategoricalNB, {"min_categories": least}) for least in (2, 30, [1, 4, 30, 2, 9, 3, 5])]
GRID += [(snb.GaussianNB, {"priors": p, "var_smoothing": s}) for p in (None, [0.1, 0.4, 0.5]) for s in (0.0, 1e-9, 0.1)]


# Every second case is weighted, but for smoothed variances: their epsilon_ leaves weights out.
CASES = [(*case, i % 2 == 0 and not case[1].get("var_smoothing")) for i, case in enumerate(GRID)]


@pytest.mark.parametrize(("model", "options", "weighted"), CASES, ids=str)
def test_attributes_and_predictions(model, options, weighted):
    x, y, weight = data(model)
    ours, theirs = pair(model, **options)
    weight = weight if weighted else None
    with np.errstate(divide="ignore"):
        theirs.fit(x, y, sample_weight=weight)
    for rows in (x, sp.csr_array(x)):
        assert_alike(clone(ours).fit(rows, y, weight), theirs, x)


@pytest.mark.parametrize("model", THEIRS)
@pytest.mark.parametrize("n_classes", [1, 2, 5])
def test_any_number_of_classes(model, n_classes):
    x, y, _ = data(model, n_classes)
    ours, theirs = pair(model)
    assert_alike(ours.fit(x, y), theirs.fit(x, y), x)


@pytest.mark.parametrize("model", THEIRS)
def test_parameters_are_theirs(model):
    added = {"unseen": "error"} if model is snb.CategoricalNB else {}
    assert model().get_params() == THEIRS[model]().get_params() | added
    assert get_tags(model()).input_tags.sparse


# ---------------------------------------------------------------------------------- their behaviour, side by side


@pytest.mark.parametrize("model", THEIRS)
def test_partial_fit(model):
    x, y, weight = data(model)
    options = {"var_smoothing": 0.0} if model is snb.GaussianNB else {}
    ours, theirs = pair(model, **options)
    for rows in np.split(np.arange(len(x)), [20, 50]):
        for estimator in (ours, theirs):
            with np.errstate(divide="ignore"):
                estimator.partial_fit(x[rows], y[rows], np.arange(3), sample_weight=weight[rows])
    if model is snb.CategoricalNB:  # theirs forgets the categories of earlier batches
        theirs.n_categories_ = x.max(axis=0).astype(int) + 1
    assert_alike(ours, theirs, x)


@pytest.mark.parametrize("fit_prior", [True, False])
@pytest.mark.parametrize("model", DISCRETE)
def test_a_listed_class_without_rows(model, fit_prior):
    x, y, _ = data(model, n_classes=2)
    ours, theirs = pair(model, fit_prior=fit_prior)
    for estimator in (ours, theirs):
        estimator.partial_fit(x, y, classes=[0, 1, 5])
    if model is not snb.ComplementNB:
        assert np.isneginf(ours.class_log_prior_[2]) == fit_prior
    assert_alike(ours, theirs, x)


def test_a_listed_class_without_rows_of_reals():
    x, y, _ = data(snb.GaussianNB, n_classes=2)
    ours, theirs = pair(snb.GaussianNB)
    with np.errstate(divide="ignore"):
        assert_alike(ours.partial_fit(x, y, [0, 1, 5]), theirs.partial_fit(x, y, [0, 1, 5]), x)


@pytest.mark.parametrize("model", [snb.MultinomialNB, snb.CategoricalNB])
def test_without_smoothing_what_was_never_seen_is_impossible(model):
    x, y, _ = data(model)
    x[:, 0] = 1.0
    x[y == 0, 1] = 0.0
    x[y == 1, 2] = 1.0
    ours, theirs = pair(model, alpha=0.0)
    with np.errstate(all="ignore"):
        theirs.fit(x, y)
        # theirs makes NaN of zero times infinity unless the rows are sparse
        expected = theirs.predict_joint_log_proba(x if model is snb.CategoricalNB else sp.csr_array(x))
    ours.fit(x, y)
    same(ours.feature_log_prob_, theirs.feature_log_prob_)
    assert np.isneginf(expected).any()
    for rows in (x, sp.csr_array(x)):
        same(ours.predict_joint_log_proba(rows), expected)
        same(ours.predict(rows), ours.classes_[expected.argmax(axis=1)])


def test_without_smoothing_presence_may_be_certain():
    x = np.array([[1, 0, 1], [1, 1, 0], [0, 1, 1], [0, 0, 1]])
    y = np.array([0, 0, 1, 1])
    ours = snb.BernoulliNB(alpha=0.0).fit(x, y)
    new = np.array([[1, 1, 1], [0, 1, 1], [1, 0, 0], [0, 0, 0]])
    p = np.array([x[y == k].mean(axis=0) for k in (0, 1)])
    expected = np.array([[np.prod(np.where(row, pk, 1 - pk)) for pk in p] for row in new]) / 2
    for rows in (new, sp.csr_array(new)):
        np.testing.assert_allclose(np.exp(ours.predict_joint_log_proba(rows)), expected, rtol=1e-12)
    assert ours.predict_proba(new[1:2]).tolist() == [[0.0, 1.0]]


@pytest.mark.parametrize("model", [*DISCRETE, snb.PoissonNB])
def test_too_small_an_alpha_is_raised_with_a_warning(model):
    x, y, _ = data(model)
    with pytest.warns(snb.StreamnbWarning, match="alpha too small will result in numeric errors"):
        ours = model(alpha=0.0, force_alpha=False).fit(x, y)
    with pytest.warns(snb.StreamnbWarning, match="setting alpha = 1.0e-10. Use `force_alpha=True` to keep"):
        model(alpha=0.0, force_alpha=False).partial_fit(x, y).partial_fit(x, y)
    same(ours.predict_log_proba(x), model(alpha=1e-10).fit(x, y).predict_log_proba(x))
    with warnings.catch_warnings(action="error"):
        model(alpha=0.0, force_alpha=True).fit(x, y)


def test_normed_complements_stay_finite():
    x, y, _ = data(snb.ComplementNB)
    x[y != 1, 2] = 0.0
    ours = snb.ComplementNB(norm=True, alpha=0.0).fit(x[:, 1:], y)
    same(ours.feature_log_prob_.sum(axis=1), [1.0, 1.0, 1.0])
    same(ours.feature_log_prob_[1], np.eye(6)[1])
    assert snb.ComplementNB(norm=True).fit(x[:, :1], y).predict(x[:1, :1]) == [0]


def test_presence_below_zero_and_of_soft_values():
    x, y, _ = data(snb.GaussianNB)
    ours = snb.BernoulliNB(binarize=-0.5).fit(sp.csr_array(x), y)
    present = (x > -0.5).astype(float)
    theirs = naive_bayes.BernoulliNB(binarize=None).fit(present, y)
    same(ours.feature_count_, theirs.feature_count_)
    for rows in (x, sp.csr_array(x)):
        same(ours.predict_joint_log_proba(rows), theirs.predict_joint_log_proba(present))
    soft = np.random.default_rng(0).random((90, 4))
    ours, theirs = pair(snb.BernoulliNB, binarize=None)
    assert_alike(ours.fit(soft, y), theirs.fit(soft, y), soft)


def test_a_feature_without_variance_gives_numbers():
    x, y, _ = data(snb.GaussianNB)
    x[:, 2] = 3.0
    x[y == 1, 3] = 0.5
    for smoothing in (0.0, 1e-9):
        for rows in (x, sp.csr_array(x)):
            ours = snb.GaussianNB(var_smoothing=smoothing).fit(rows, y)
            assert np.isfinite(ours.predict_joint_log_proba(rows)).all()
            assert (ours.predict(rows)[y == 1] == 1).all() and not (ours.predict(rows)[y != 1] == 1).any()
    theirs = naive_bayes.GaussianNB().fit(x, y)
    same(ours.var_, theirs.var_)
    np.testing.assert_allclose(ours.predict_joint_log_proba(x), theirs.predict_joint_log_proba(x), rtol=1e-10)
    constant = snb.GaussianNB().fit(np.ones((4, 2)), [0, 0, 0, 1])
    np.testing.assert_allclose(constant.predict_proba(np.ones((1, 2))), [[0.75, 0.25]])


@pytest.mark.parametrize("shift", [0.0, 1e8])
def test_variances_far_from_zero_keep_their_digits(shift):
    values = np.array([[1.0], [2.0], [4.0], [8.0]]) + shift
    model = snb.GaussianNB(var_smoothing=0.0).fit(values, [0, 0, 1, 1])
    assert model.var_.tolist() == [[0.25], [4.0]] and model.theta_.tolist() == [[1.5 + shift], [6.0 + shift]]
    assert snb.GaussianNB(priors="uniform").fit(values, [0, 0, 0, 1]).class_prior_.tolist() == [0.5, 0.5]


@pytest.mark.parametrize("unseen", ["error", "ignore", "smooth"])
def test_categories_that_were_never_seen(unseen):
    x, y, _ = data(snb.CategoricalNB)
    ours, theirs = snb.CategoricalNB(unseen=unseen, alpha=0.5).fit(x, y), naive_bayes.CategoricalNB(alpha=0.5).fit(x, y)
    new = x[:4].copy()
    new[2, 3] = ours.n_categories_[3] + 2
    same(ours.predict_joint_log_proba(x), theirs.predict_joint_log_proba(x))
    with pytest.raises(IndexError):
        theirs.predict(new)
    for rows in (new, sp.csr_array(new)):
        if unseen == "error":
            with pytest.raises(ValueError, match=r"row 2, column 3 has the unseen category"):
                ours.predict(rows)
            continue
        scores = ours.predict_joint_log_proba(rows)
        same(scores[[0, 1, 3]], theirs.predict_joint_log_proba(new[[0, 1, 3]]))
        without = np.delete(np.arange(7), 3)
        rest = naive_bayes.CategoricalNB(alpha=0.5).fit(x[:, without], y).predict_joint_log_proba(new[2:3, without])[0]
        smoothed = np.log(0.5) - np.log(ours.class_count_ + 0.5 * ours.n_categories_[3])
        same(scores[2], rest + (smoothed if unseen == "smooth" else 0.0))


def test_categories_that_are_no_whole_numbers_are_cut_with_a_warning():
    x, y, _ = data(snb.CategoricalNB)
    ours, theirs = pair(snb.CategoricalNB)
    with pytest.warns(snb.StreamnbWarning, match=r"row 0, column 0 is 0.5"):
        ours.fit(x + 0.5, y)
    assert_alike(ours, theirs.fit(x + 0.5, y), x)


# --------------------------------------------------------------------------------------------------- Poisson


def test_poisson_is_the_density():
    from scipy.stats import poisson

    x, y, _ = data(snb.PoissonNB)
    ours = snb.PoissonNB(alpha=0.5, fit_prior=False).fit(x[:, 1:], y)
    means = x[:, 1:].mean(axis=0)
    rates = [(x[y == k, 1:].sum(axis=0) + 0.5 * means) / ((y == k).sum() + 0.5) for k in range(3)]
    same(ours.rate_, rates)
    logs = np.array([poisson.logpmf(x[:, 1:], rate).sum(axis=1) for rate in rates]).T - np.log(3)
    same(ours.predict_log_proba(x[:, 1:]), logs - np.logaddexp.reduce(logs, axis=1, keepdims=True))


def test_poisson_without_smoothing_excludes_classes():
    x, y = np.array([[1, 0, 0], [2, 0, 0], [1, 3, 0]]), np.array([0, 0, 1])
    ours = snb.PoissonNB(alpha=0.0).fit(x, y)
    assert ours.predict_proba([[1, 1, 5]]).tolist() == [[0.0, 1.0]]


def counts(n_classes, seed=0, n_rows=120, n=15):
    rng = np.random.default_rng([seed, n_classes])
    size = 0.7 ** np.arange(n_classes)
    y = np.concatenate([np.arange(n_classes), rng.choice(n_classes, n_rows - n_classes, p=size / size.sum())])
    x = rng.poisson(rng.gamma(0.5, 2.0, (n_classes, n))[y])
    x[:, 0] = 0
    return x, y, rng.choice([0.5, 1.0, 3.0], n_rows)


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

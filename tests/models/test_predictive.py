"""Exact predictive distributions; tests/laws compare those of given priors with SciPy's."""

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats as dist
from scipy.special import log_softmax

import streamnb as snb
from tests.support.strategies import example

METHODS = ("predict", "predict_proba", "predict_log_proba", "decision_function")


def data(n_classes=3, seed=0, n_rows=60, n=5):
    rng = np.random.default_rng([seed, n_classes])
    y = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n_rows - n_classes)])
    x = rng.poisson(rng.gamma(1.0, 2.0, (n_classes, n))[y]).astype(float)
    return x, y, rng.choice([0.5, 1.0, 3.0], n_rows)


def dirichlet_multinomial(x, stats, alpha):
    totals = x.sum(axis=1).astype(int)
    rows = [[dist.dirichlet_multinomial.logpmf(row, a, n) for a in stats.sum + alpha] for row, n in zip(x, totals)]
    return np.array(rows)


def assert_scores(model, x, expected):
    """Decisions, probabilities and labels follow from ln P(y) + ln p(x | y), (n_rows, K)."""
    decision = model.decision_function(x, predictive=True)
    two = expected.shape[1] == 2
    np.testing.assert_allclose(decision, expected[:, 1] - expected[:, 0] if two else expected, rtol=1e-10, atol=1e-10)
    logs = log_softmax(expected, axis=1)
    np.testing.assert_allclose(model.predict_log_proba(x, predictive=True), logs, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(model.predict_proba(x, predictive=True), np.exp(logs), rtol=1e-9, atol=1e-12)
    assert model.predict(x, predictive=True).tolist() == model.classes_[expected.argmax(axis=1)].tolist()


def test_the_default_prior_of_counts_is_pseudo_rows():
    x, y, weight = data(3)
    x[:, 2] = 0.0  # never seen, so it is left out whatever a new row has there
    new = data(3, seed=2)[0]
    model = snb.LinearNB("poisson", smoothing=1.5).fit(x, y, sample_weight=weight)
    stats, seen = model.stats_, [0, 1, 3, 4]
    a = 1.5 * stats.sum.sum(axis=0) / stats.weight.sum()
    size, rate = (stats.sum + a)[:, seen], stats.weight[:, None] + 1.5
    densities = dist.nbinom.logpmf(new[:, None, seen], size, rate / (rate + 1)).sum(axis=2)
    assert_scores(model, new, densities + np.log(stats.weight / stats.weight.sum()))
    model = snb.LinearNB(smoothing=0.5).fit(x, y)
    densities = dirichlet_multinomial(new, model.stats_, np.full(5, 0.5))
    assert_scores(model, new, densities + np.log(model.stats_.weight / len(x)))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("smoothing", [1.0, snb.BetaPrior(0.5, np.array([1.0, 2, 3, 4, 5]))])
def test_presence_is_predicted_by_the_posterior_means(smoothing, n_classes):
    x, y, _ = data(n_classes)
    model = snb.LinearNB("bernoulli", smoothing=smoothing).fit(x, y)
    a, b = (smoothing, smoothing) if isinstance(smoothing, float) else (smoothing.a, smoothing.b)
    means = (model.stats_.above + a) / (model.stats_.weight[:, None] + a + b)
    expected = dist.bernoulli.logpmf((x > 0)[:, None, :], means).sum(axis=2) + np.log(model.stats_.weight / len(x))
    np.testing.assert_allclose(model.predict_log_proba(x, predictive=True), log_softmax(expected, axis=1), atol=1e-10)
    assert np.array_equal(model.predict_proba(x, predictive=True), model.predict_proba(x))


def test_weighted_classes_and_classes_without_rows():
    (x, y, _), prior = data(3), snb.NormalInverseGamma(0.3, 1.0, 2.0, 1.0)
    model = snb.LinearNB("gaussian", smoothing=prior)
    with pytest.warns(snb.StreamnbWarning):
        model.fit(sp.csr_array(x), y, classes=[0, 1, 2, 3])
        model.refit(class_weight={0: 2.0, 3: 5.0})
    weighted = snb.LinearNB("gaussian", smoothing=prior).fit(x, y, np.where(y == 0, 2.0, 1.0))
    for rows in (x, sp.csr_array(x)):
        decision = model.decision_function(rows, predictive=True)
        np.testing.assert_allclose(decision[:, :3], weighted.decision_function(x, predictive=True), rtol=1e-9)
        assert (decision[:, 3] == -np.inf).all()
        assert (model.predict_proba(rows, predictive=True)[:, 3] == 0).all()


@pytest.mark.parametrize("family", ["poisson", "multinomial", "gaussian"])
def test_sparse_columns_far_from_zero_keep_their_digits(family):
    """A zero row costs much in columns far from zero; what is stored must put that back to the last digits."""
    rng = np.random.default_rng(0)
    y = np.arange(40) % 3
    x = np.round(rng.normal(1e6, 30.0, (40, 5))) + y[:, None]
    prior = {"gaussian": snb.NormalInverseGamma(1e6, 1.0, 2.0, 500.0), "poisson": snb.GammaPrior(1e6, 1.0)}
    model = snb.LinearNB(family, smoothing=prior.get(family, 1.0)).fit(x, y)
    answers = [model.decision_function(rows, predictive=True) for rows in (x, sp.csr_array(x))]
    np.testing.assert_allclose(answers[0], answers[1], rtol=1e-12)


@pytest.mark.parametrize("family", ["poisson", "multinomial", "gaussian"])
@pytest.mark.parametrize("kind", ["int", "bool"])
def test_answers_come_in_kind(family, kind, tmp_path):
    rows = example(kind)
    prior = snb.NormalInverseGamma(0.0, 1.0, 1.0, 1.0) if family == "gaussian" else 1.0
    model = snb.LinearNB(family, smoothing=prior).fit(rows.x, rows.y)
    model.save(tmp_path / "model.snb")
    for method in METHODS:
        answer = getattr(model, method)(rows.x, predictive=True)
        assert not np.array_equal(answer, getattr(model, method)(rows.x)) or method == "predict"
        lazy = getattr(model, method)(da.from_array(rows.x, chunks=(9, -1)), predictive=True)
        assert isinstance(lazy, da.Array) and lazy.chunks[0] == (9, 9, 9, 9, 5)
        np.testing.assert_array_equal(lazy.compute(), answer)
        out = np.empty_like(answer)
        assert getattr(model, method)(iter([rows.x[:20], rows.x[20:]]), predictive=True, out=out) is out
        np.testing.assert_array_equal(out, answer)
        again = getattr(snb.load(tmp_path / "model.snb"), method)(rows.x, predictive=True)
        np.testing.assert_array_equal(again, answer)


def test_parameters_set_later_wait_for_refit_in_a_loaded_model_too(tmp_path):
    rows = example("int")
    model = snb.LinearNB("poisson").fit(rows.x, rows.y)
    expected = model.predict_proba(rows.x, predictive=True)
    model.set_params(smoothing=9.0, family="multinomial").save(tmp_path / "model.snb")
    for one in (model, snb.load(tmp_path / "model.snb")):
        np.testing.assert_array_equal(one.predict_proba(rows.x, predictive=True), expected)
        assert not np.array_equal(one.refit().predict_proba(rows.x, predictive=True), expected)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"penalty": snb.L1(0.1)}, r"predictive=True is for penalty=None.*not penalty=L1\(0.1"),
        ({"scheme": "ovr"}, "predictive=True is for .*scheme='joint'.*not scheme='ovr'"),
        ({"idf": True}, "predictive=True is for .*not idf=True"),
        ({"estimate": "mle", "penalty": None, "family": "gaussian"}, "estimate='mle' takes one point"),
        ({"family": "geometric"}, "families 'bernoulli'.*not 'geometric'"),
        ({"family": "gaussian"}, r"needs a prior.*smoothing=1.0 should be NormalInverseGamma\(...\)"),
        ({"family": "poisson", "smoothing": 0.0, "dense": True}, r"needs a prior.*smoothing=0.0.*number above 0"),
    ],
)
def test_what_has_no_predictive_distribution_is_refused(options, words):
    rows = example("int")
    options = dict(options)
    x = rows.x + 1.0 if options.pop("dense", False) else rows.x
    model = snb.LinearNB(**options).fit(x, rows.y)
    with pytest.raises(ValueError, match=words):
        model.predict(x, predictive=True)
    with pytest.raises(ValueError, match="predictive='yes' is unknown"):
        model.predict(x, predictive="yes")
    assert len(model.predict(x)) == len(x)


def test_negative_counts_are_refused_where_they_stand():
    rows = example("int")
    model = snb.LinearNB("poisson").fit(rows.x, rows.y)
    rows.x[3, 4] = -2.0
    for x in (rows.x, sp.csr_array(rows.x)):
        with pytest.raises(ValueError, match="predictive=True for counts: row 3, column 4 is -2"):
            model.predict(x, predictive=True)

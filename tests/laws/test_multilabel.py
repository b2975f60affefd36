"""Multi-label under every option: one scan and one solution give what a two-class fit a label gives."""

import warnings

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import streamnb as snb
from tests.support.problems import rows_by_family
from tests.support.strategies import messy_csr

rng = np.random.default_rng(11)
Y = (rng.random((120, 4)) < [0.5, 0.15, 0.7, 0.3]).astype(int)
COUNTS = rng.poisson(0.8, (120, 7)).astype(float)
COUNTS[:, :4] += Y * rng.poisson(1.0, (120, 4))
COUNTS[:, 6] = 0.0
FAMILIES = rows_by_family(COUNTS, COUNTS + rng.random((120, 7)) + 0.5)
WEIGHT = rng.choice([0.0, 0.5, 1.0, 2.0], 120)

PENALTIES = [None, snb.L1(1.5), snb.L1(0.8, scale="score") + snb.L2(0.7), snb.TopK(3, by="score")]


def assert_label_by_label(x, family, priors=None, weight=WEIGHT, labels=Y, **options):
    """Weights, intercepts and answers of all labels at once against a fit of each label alone."""
    whole = snb.LinearNB(family, priors=priors, **options).fit(x, labels, sample_weight=weight)
    for label in range(labels.shape[1]):
        own = [1.0 - priors[label], priors[label]] if isinstance(priors, list) else priors
        alone = snb.LinearNB(family, priors=own, **options).fit(x, labels[:, label], sample_weight=weight)
        np.testing.assert_allclose(whole.coef_[label], alone.coef_[0], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(whole.intercept_[label], alone.intercept_[0], rtol=1e-9, atol=1e-11)
        np.testing.assert_array_equal(whole.predict(x)[:, label], alone.predict(x))
        np.testing.assert_allclose(whole.predict_proba(x)[:, label], alone.predict_proba(x)[:, 1], rtol=1e-8)


CASES = [  # each family with each penalty, and either of them in each storage
    (family, penalty, (np.asarray, messy_csr)[(i + j) % 2])
    for i, family in enumerate(FAMILIES)
    for j, penalty in enumerate(PENALTIES)
    if penalty is None or not isinstance(family, snb.Dirichlet | snb.Beta)  # parameters fitted together
]


@pytest.mark.parametrize(("family", "penalty", "storage"), CASES, ids=str)
def test_every_family_and_penalty(family, penalty, storage):
    assert_label_by_label(storage(FAMILIES[family]), family, penalty=penalty)


OPTIONS = [
    ("multinomial", {"idf": True}),
    ("poisson", {"idf": True, "transform": "log1p", "normalize": "l2"}),
    ("gaussian", {"transform": "sqrt", "normalize": "l1"}),
    ("multinomial", {"transform": "binary", "normalize": "l1", "smoothing": 0.2}),
    ("bernoulli", {"binarize": -0.5}),
    ("bernoulli", {"binarize": 1.0, "transform": "log1p"}),
    ("bernoulli", {"smoothing": 2.5, "estimate": "map"}),
    ("poisson", {"smoothing": 3.0, "estimate": "map"}),
    ("multinomial", {"smoothing": 2.0, "estimate": "map"}),
    ("poisson", {"smoothing": snb.GammaPrior(2.0, 1.5), "estimate": "map"}),
    ("poisson", {"smoothing": snb.GammaPrior(2.0, 1.5)}),
    ("bernoulli", {"smoothing": snb.BetaPrior(np.linspace(0.5, 2.0, 7), 3.0)}),
    ("multinomial", {"smoothing": snb.DirichletPrior(np.linspace(0.5, 2.0, 7))}),
    ("gaussian", {"smoothing": snb.NormalInverseGamma(1.0, 2.0, 3.0, 2.0)}),
    ("gaussian", {"smoothing": snb.NormalInverseGamma(1.0, 2.0, 3.0, 2.0), "estimate": "map"}),
    ("gaussian", {"estimate": "mle"}),
    ("poisson", {"priors": "uniform"}),
    ("poisson", {"priors": [0.5, 0.1, 0.9, 0.2]}),
]


@pytest.mark.parametrize(
    ("family", "options", "penalty"), [(*case, PENALTIES[i % 3]) for i, case in enumerate(OPTIONS)], ids=str
)
def test_every_option(family, options, penalty):
    x = messy_csr(COUNTS)
    if options.get("binarize", 0.0) < 0.0:
        x = sp.csr_array(COUNTS - (rng.random(COUNTS.shape) < 0.3))
    assert_label_by_label(x, family, penalty=penalty, **options)


@given(data=st.data(), family=st.sampled_from(["poisson", "bernoulli", "multinomial", "gaussian"]))
def test_random_indicators(data, family):
    """Labels of any size, also of no row, of every row, and equal to each other."""
    n_rows, n_labels = data.draw(st.integers(4, 14)), data.draw(st.integers(2, 4))
    bits = st.lists(st.integers(0, 1), min_size=n_rows, max_size=n_rows)
    labels = np.array([data.draw(bits) for _ in range(n_labels)]).T
    counts = st.lists(st.integers(0, 3), min_size=3, max_size=3)
    x = np.array([data.draw(counts) for _ in range(n_rows)], float)
    x[0, 0] += 1.0  # multinomial needs something somewhere
    with warnings.catch_warnings(action="ignore", category=snb.StreamnbWarning):  # labels of no row
        whole = snb.LinearNB(family).fit(x, labels)
    for label, own in enumerate(labels.T):
        if own.min() == own.max():
            assert not whole.coef_[label].any()
            assert (whole.predict(x)[:, label] == own).all()
        else:
            alone = snb.LinearNB(family).fit(x, own)
            np.testing.assert_allclose(whole.coef_[label], alone.coef_[0], rtol=1e-9, atol=1e-9)
            np.testing.assert_allclose(whole.decision_function(x)[:, label], alone.decision_function(x), atol=1e-7)


def test_names_of_columns_out_of_order_survive_saving_with_folds(tmp_path):
    """Statistics that were saved add up label by label, in the order of the columns."""
    names = ["sport", "art", "war", "tax"]
    stats = snb.scan(COUNTS, Y, classes=names, folds=3)
    stats.save(tmp_path / "s.snb")
    loaded = snb.ClassStats.load(tmp_path / "s.snb")
    for f in range(3):
        assert ((loaded + loaded).fold(f).sum == 2.0 * stats.fold(f).sum).all()
        assert (loaded.without_fold(f).sum == stats.without_fold(f).sum).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"priors": snb.DirichletPrior(2.0)}, "one label a row"),
        ({"loss": 1.0 - np.eye(4)}, "loss.*one label a row"),
        ({"threshold": 0.6, "reject_label": -1}, "one label a row"),
        ({"scheme": "ovo"}, "binary relevance"),
    ],
    ids=str,
)
def test_what_needs_one_label_a_row_says_so(options, message):
    with pytest.raises(ValueError, match=message):
        snb.LinearNB("poisson", **options).fit(COUNTS, Y)


def test_names_in_another_order_are_other_columns():
    model = snb.LinearNB("poisson").partial_fit(COUNTS, Y, classes=["d", "a", "c", "b"])
    with pytest.raises(ValueError, match="not the same as on last call"):
        model.partial_fit(COUNTS, Y, classes=["a", "b", "c", "d"])
    assert model.partial_fit(COUNTS, Y, classes=["d", "a", "c", "b"]).stats_.n_rows == 240


def test_a_block_without_rows_is_no_other_kind_of_y():
    """Whichever thread or partition meets it."""
    blocks = [(COUNTS[:0], Y[:0]), (COUNTS[:60], Y[:60]), (COUNTS[:0], Y[:0]), (COUNTS[60:], Y[60:])]
    for n_threads in (1, 2, 3):
        assert (snb.scan(iter(blocks), n_threads=n_threads).sum == snb.scan(COUNTS, Y).sum).all()
    sizes = (70, *(0,) * 20, 50)  # more empty ones than a task takes
    lazy = da.from_array(COUNTS, chunks=(sizes, 7)), da.from_array(Y, chunks=(sizes, 4))
    assert (snb.scan(*lazy).every.sum == snb.scan(COUNTS, Y).every.sum).all()


def test_masked_entries_are_refused():
    with pytest.raises(ValueError, match="y is a masked array"):
        snb.scan(COUNTS, np.ma.array(Y, mask=Y == 1))


def test_a_model_that_has_forgotten_all_rows_says_so():
    model = snb.LinearNB("poisson").fit(COUNTS, Y).forget(COUNTS, Y)
    with pytest.raises(ValueError, match="no row with any weight"):
        model.predict(COUNTS)
    assert model.partial_fit(COUNTS, Y).predict(COUNTS).shape == Y.shape

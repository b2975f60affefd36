"""Models whose weights would not fit into memory predict as those that hold them."""

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

import streamnb as snb
from streamnb.models import linear as models
from streamnb.models import on_demand
from streamnb.solving import weight_paths
from streamnb.stats.tables import SparseTable

N_CLASSES, N_FEATURES = 30, 1000
LIMIT = "150kB"  # weights of all classes and features take 240 kB
rng = np.random.default_rng(0)
y = np.repeat(np.arange(N_CLASSES), rng.integers(2, 6, N_CLASSES))
own = rng.integers(0, N_FEATURES, (N_CLASSES, 6))
X = np.zeros((len(y), N_FEATURES))
for _ in range(4):
    X[np.arange(len(y)), own[y, rng.integers(0, 6, len(y))]] += rng.integers(1, 4, len(y))
rows = sp.csr_array(X)
weight = rng.choice([0.5, 1.0, 2.0], len(y))


@pytest.fixture(autouse=True)
def few_at_once(monkeypatch):
    monkeypatch.setattr(on_demand, "NUMBERS", 1000)
    monkeypatch.setattr(models, "MARGINS", 7 * N_CLASSES)


def pair(family, penalty=None, y=y, **options):
    """A model that holds its weights, and one that does not."""
    held = snb.LinearNB(family, penalty, **options).fit(rows, y, weight)
    return held, snb.LinearNB(family, penalty, **options).fit(rows, y, weight, memory_limit=LIMIT)


BOTH = snb.L1(0.5, scale="score") + snb.L2(0.5)


@pytest.mark.parametrize(
    ("family", "penalty", "scheme"),
    [
        ("poisson", None, "joint"),
        ("poisson", snb.L1(0.3), "ovr"),
        ("bernoulli", BOTH, "ovr"),
        (snb.Geometric(), BOTH, "joint"),
        (snb.Mixed({"poisson": ...}), None, "ovr"),
    ],
    ids=str,
)
def test_scores_are_those_of_the_whole_model(family, penalty, scheme):
    held, unheld_ = pair(family, penalty, scheme=scheme)
    assert type(unheld_.stats_.table(unheld_.stats_.moments[0])) is SparseTable
    np.testing.assert_allclose(unheld_.intercept_, held.intercept_, rtol=1e-9)
    for matrix in (rows, X):
        np.testing.assert_allclose(unheld_.decision_function(matrix), held.decision_function(matrix), rtol=1e-9)
    assert (unheld_.predict(rows) == held.predict(rows)).all() and unheld_.score(rows, y) == held.score(rows, y)


@pytest.mark.parametrize("options", [{}, {"idf": True}, {"scheme": "ovr"}, {"smoothing": 0.1, "transform": "log1p"}])
def test_multinomial_scores_are_those_of_the_whole_model(options):
    held, unheld_ = pair("multinomial", **options)
    np.testing.assert_allclose(unheld_.predict_proba(rows), held.predict_proba(rows), rtol=1e-9)
    assert (unheld_.predict(rows) == held.predict(rows)).all()


def test_labels_of_an_indicator():
    several = sp.csr_array((np.arange(N_CLASSES) == y[:, None]) | (rng.random((len(y), N_CLASSES)) < 0.02))
    held, unheld_ = pair("bernoulli", y=several)
    np.testing.assert_allclose(unheld_.decision_function(rows), held.decision_function(rows), rtol=1e-9)
    assert (unheld_.predict(rows) == held.predict(rows)).all()


@pytest.mark.parametrize("family", ["bernoulli", "gaussian", snb.Binomial(1), snb.InverseGaussian()], ids=str)
@pytest.mark.parametrize("scheme", ["joint", "ovr"])
def test_a_feature_of_every_row_scores_as_in_the_whole_model(family, scheme):
    always = sp.hstack([rows > 0, np.ones((len(y), 1))], format="csr")  # no class could do without the last feature
    held, unheld_ = (
        snb.LinearNB(family, snb.L1(0.3), scheme=scheme).fit(always, y, memory_limit=limit) for limit in (None, LIMIT)
    )
    np.testing.assert_allclose(unheld_.decision_function(always), held.decision_function(always), rtol=1e-9)


def test_scores_are_the_same_bits_however_the_rows_are_cut(monkeypatch):
    _, model = pair("poisson", snb.L1(0.3))
    in_pieces = model.decision_function(rows)
    monkeypatch.setattr(models, "MARGINS", 1 << 25)
    monkeypatch.setattr(on_demand, "NUMBERS", 1 << 22)
    assert (model.decision_function(rows) == in_pieces).all()
    assert (np.vstack([model.decision_function(rows[[i]]) for i in range(9)]) == in_pieces[:9]).all()
    held = snb.LinearNB("poisson").fit(rows, y)
    whole = held.decision_function(X)
    monkeypatch.setattr(models, "MARGINS", 1)  # one row at a time
    assert (held.decision_function(X) == whole).all()
    lazy = model.decision_function(da.from_array(X, chunks=(50, -1)))
    assert (lazy.compute() == in_pieces).all()


@pytest.mark.parametrize(
    ("scheme", "words"), [("joint", "240.0 kB for 30 classes"), ("ovo", "the 435 pairs of 30 classes")]
)
def test_what_needs_all_weights_says_what_they_would_take(scheme, words, tmp_path):
    _, model = pair("poisson", scheme=scheme)
    for ask in (lambda: model.coef_, model.sparsify, lambda: model._model.save(tmp_path / "m.snb")):
        with pytest.raises(MemoryError, match=f"would take .*{words} and 1,000 features"):
            ask()
    assert "computed when needed" in repr(model._model)


def test_weights_of_some_columns_are_those_of_the_whole_model():
    path = snb.solve(pair("poisson")[1].stats_, "poisson")
    assert (path.weights(0, np.array([3, 40])) == path[0].coef_[:, [3, 40]]).all()


def test_the_estimator_is_saved_by_its_statistics(tmp_path):
    held, model = pair("poisson")
    model.save(tmp_path / "m.snb")
    loaded = snb.load(tmp_path / "m.snb")
    assert type(loaded.stats_.table("sum")) is SparseTable
    assert (loaded.predict(rows) == model.predict(rows)).all() and (loaded.coef_ == held.coef_).all()


@pytest.mark.parametrize(
    ("family", "penalty", "options"),
    [
        ("poisson", snb.TopK(3), {}),
        ("poisson", snb.Decorrelation(0.1), {}),
        ("poisson", None, {"scheme": "reference", "reference": 3}),
        ("poisson", None, {"estimate": "map"}),
        ("multinomial", snb.L1(1.0), {}),
        (snb.Mixed({"poisson": slice(0, 9), "bernoulli": ...}), None, {}),
    ],
    ids=str,
)
def test_weights_of_which_one_needs_others_are_refused(family, penalty, options):
    with pytest.raises(MemoryError, match=r"takes one family under scheme='joint' or 'ovr'"):
        snb.LinearNB(family, penalty, **options).fit(rows, y, memory_limit=LIMIT)


def test_pairs_of_classes_vote_as_ever(tmp_path, monkeypatch):
    monkeypatch.setattr(on_demand, "NUMBERS", 1 << 16)
    monkeypatch.setattr(models, "MARGINS", 1 << 25)
    held, sparse = pair("poisson", scheme="ovo")
    assert (sparse.predict(rows[:50]) == held.predict(rows[:50])).all()
    sparse.save(tmp_path / "m.snb")
    assert (snb.load(tmp_path / "m.snb").predict(rows[:50]) == held.predict(rows[:50])).all()
    lazy = sparse.predict(da.from_array(X[:50], chunks=(20, -1)))
    assert (lazy.compute() == held.predict(rows[:50])).all() and not hasattr(sparse, "predict_proba")


FEW = np.random.default_rng(0).integers(0, 5, 200)
COUNTS = rng.poisson(0.4 + rng.random((5, 30))[FEW])


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(
    ("family", "penalty", "options"),
    [
        ("poisson", snb.L1(2.0, scale="score"), {}),
        ("bernoulli", snb.L2(3.0), {"binarize": -0.5}),
        ("gaussian", snb.TopK(4), {}),
        ("multinomial", None, {"idf": True}),
    ],
    ids=str,
)
def test_votes_of_pairs_are_those_of_the_whole_model(family, penalty, options, storage, monkeypatch):
    matrix = storage(COUNTS - 0.5 if family == "gaussian" else COUNTS)
    held = snb.LinearNB(family, penalty, scheme="ovo", **options).fit(matrix, FEW)
    monkeypatch.setattr(weight_paths, "PAIRS_BYTES", 0)
    monkeypatch.setattr(on_demand, "NUMBERS", 100)
    unheld = snb.LinearNB(family, penalty, scheme="ovo", **options).fit(matrix, FEW)
    np.testing.assert_allclose(unheld.intercept_, held.intercept_, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(unheld.decision_function(matrix), held.decision_function(matrix), rtol=1e-9)
    assert (unheld.predict(matrix) == held.predict(matrix)).all()

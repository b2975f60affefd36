"""All pairs of many classes without their weights in memory: the same votes as with them."""

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

import streamnb as snb
from streamnb.models import on_demand
from streamnb.solving import weight_paths

rng = np.random.default_rng(0)
y = rng.integers(0, 7, 400)
X = rng.poisson(0.4 + rng.random((7, 30))[y])
given = {"poisson": X, "bernoulli": X, "gaussian": X - 0.5, "multinomial": X}


@pytest.fixture
def no_memory(monkeypatch):
    monkeypatch.setattr(weight_paths, "PAIRS_BYTES", 0)
    monkeypatch.setattr(on_demand, "NUMBERS", 100)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("penalty", [None, snb.L1(2.0, scale="score"), snb.L2(3.0), snb.TopK(4)], ids=str)
@pytest.mark.parametrize(
    ("family", "options"),
    [("poisson", {}), ("bernoulli", {"binarize": -0.5}), ("gaussian", {}), ("multinomial", {"idf": True})],
)
def test_votes_are_those_of_the_whole_model(family, options, penalty, storage, monkeypatch):
    rows = storage(given[family])
    whole = snb.LinearNB(family, penalty, scheme="ovo", **options).fit(rows, y)
    monkeypatch.setattr(weight_paths, "PAIRS_BYTES", 0)
    monkeypatch.setattr(on_demand, "NUMBERS", 100)
    model = snb.LinearNB(family, penalty, scheme="ovo", **options).fit(rows, y)
    np.testing.assert_allclose(model.intercept_, whole.intercept_, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(model.decision_function(rows), whole.decision_function(rows), rtol=1e-9)
    assert (model.predict(rows) == whole.predict(rows)).all()


def test_what_needs_all_weights_says_what_they_would_take(no_memory, tmp_path):
    model = snb.LinearNB("poisson", scheme="ovo").fit(X, y)
    for ask in (lambda: model.coef_, model.sparsify, lambda: model._model.save(tmp_path / "m.snb")):
        with pytest.raises(MemoryError, match="21 pairs of 7 classes and 30 features"):
            ask()
    assert "computed when needed" in repr(model._model)


def test_the_estimator_is_saved_by_its_statistics_and_predicts_lazily(no_memory, tmp_path):
    model = snb.LinearNB("poisson", scheme="ovo").fit(X, y)
    model.save(tmp_path / "m.snb")
    loaded = snb.load(tmp_path / "m.snb")
    assert (loaded.predict(X) == model.predict(X)).all()
    assert (model.predict(da.from_array(X, chunks=(90, 30))).compute() == model.predict(X)).all()
    assert not hasattr(model, "predict_proba")


@pytest.mark.slow
def test_many_classes_need_no_room_for_their_pairs():
    labels = np.arange(750) % 150
    rows = sp.random_array((750, 3200), density=0.01, format="csr", rng=rng)
    rows.data[:] = 1.0
    model = snb.LinearNB("bernoulli", scheme="ovo").fit(rows, labels, memory_limit="40MB")  # 290 MB of weights
    assert model.score(rows[:20], labels[:20]) > 0.9

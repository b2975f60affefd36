"""Weights that are mostly zero: small files, and models that are the same after loading."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import streamnb as snb
from streamnb.core import memory
from tests.support.refusals import refused

N, K = 5_000, 6
Y = np.arange(60) % K


def model(n_classes=K, share=0.005):
    """A model with that share of its weights."""
    rng = np.random.default_rng(0)
    x = sp.random_array((60, N), density=0.02, rng=rng, format="csr")
    solved = snb.solve(snb.scan(x, Y % n_classes), "poisson")[0]
    weights = np.where(
        rng.random((N, len(solved.intercept_))) < share, rng.normal(size=(N, len(solved.intercept_))), 0.0
    )
    return replace(solved, weights=weights), x


def again(value, tmp_path):
    """A value saved and loaded, and the size of its file."""
    value.save(tmp_path / "value.snb")
    return snb.load(tmp_path / "value.snb"), (tmp_path / "value.snb").stat().st_size


@pytest.mark.parametrize("n_classes", [2, K])
def test_files_hold_the_weights_that_are_not_zero(n_classes, tmp_path):
    whole, _ = model(n_classes)
    _, size = again(whole, tmp_path)
    assert size < 12 * np.count_nonzero(whole.weights) + 5_000 < whole.weights.nbytes / 4


def test_a_sparsified_model_stays_one(tmp_path):
    whole, x = model()
    loaded, _ = again(whole.sparsify(), tmp_path)
    assert sp.issparse(loaded.coef_) and (loaded.coef_ != whole.sparsify().coef_).nnz == 0
    assert np.array_equal(loaded.decision_function(x), whole.decision_function(x))


def test_estimators_keep_a_dense_coef(tmp_path):
    _, x = model()
    fitted = snb.LinearNB("poisson", snb.TopK(9)).fit(x, Y)
    loaded, size = again(fitted, tmp_path)
    assert np.array_equal(loaded.coef_, fitted.coef_) and type(loaded.coef_) is np.ndarray
    assert np.array_equal(loaded.refit(penalty=None).coef_, fitted.refit(penalty=None).coef_)
    assert size < again(fitted, tmp_path)[1]  # all weights take more


@pytest.mark.parametrize("options", [{}, {"idf": True}, {"family": "bernoulli"}])
def test_sparse_weights_score_rows_of_every_kind_like_dense_ones(options):
    _, x = model()
    dense = snb.LinearNB(**{"family": "poisson", "penalty": snb.L1(0.5), **options}).fit(x, Y)
    scores = dense.decision_function(x)
    assert 0 < np.count_nonzero(dense.coef_) < dense.coef_.size
    dense.sparsify()
    for rows in (x, x.toarray(), sp.csc_array(x)):
        np.testing.assert_allclose(dense.decision_function(rows), scores, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(dense.decision_function(rows[3:9]), scores[3:9], rtol=1e-12, atol=1e-12)


def test_weights_too_many_for_the_memory_stay_sparse(tmp_path, monkeypatch):
    whole, x = model()
    whole.save(tmp_path / "whole.snb")
    monkeypatch.setattr(memory, "free_memory", lambda: 4 * whole.weights.nbytes // 3)
    assert sp.issparse(snb.load(tmp_path / "whole.snb").coef_)
    assert np.array_equal(snb.load(tmp_path / "whole.snb").decision_function(x), whole.decision_function(x))
    monkeypatch.setattr(memory, "free_memory", lambda: 8 * N)
    with refused(MemoryError, "5,000 columns"):
        snb.load(tmp_path / "whole.snb")

"""Wide rows by conjugate gradients: the weights of products, whatever the blocks and threads."""

import numpy as np
import pytest
import scipy.sparse as sp

import streamnb as snb

rng = np.random.default_rng(3)
X = sp.random_array((300, 60), density=0.1, rng=rng, format="csr")
Y = X @ rng.normal(size=(60, 2)) + 0.1 * rng.normal(size=(300, 2)) + [5.0, -1.0]
W = rng.integers(1, 4, 300).astype(float)
GRADIENTS = {"solver": "conjugate_gradients", "tol": 1e-10}


@pytest.mark.parametrize("standardize", [False, True])
def test_weights_are_those_of_products(standardize):
    narrow = snb.Ridge(0.5, standardize=standardize, solver="products").fit(X, Y, W)
    wide = snb.Ridge(0.5, standardize=standardize, **GRADIENTS).fit(X, Y, W)
    np.testing.assert_allclose(wide.coef_, narrow.coef_, atol=1e-7)
    np.testing.assert_allclose(wide.intercept_, narrow.intercept_, atol=1e-7)
    assert wide.converged_
    assert 0 < wide.n_passes_ <= 100
    assert narrow.n_passes_ == 0


def test_columns_that_hold_each_other_up_are_solved_for_together():
    """Two columns of many values that tell the same, and numbers far from 0: single steps took over 100 reads."""
    n = 3000
    place = np.minimum((rng.pareto(0.6, n) * 3).astype(int), 599)
    road = np.where(rng.random(n) < 0.02, rng.integers(0, 600, n), (place * 7) % 600)
    ones = np.ones(n)
    values = [sp.csr_array((ones, (np.arange(n), column)), (n, 600)) for column in (place, road)]
    time = rng.normal(size=(n, 1)) + 0.01 * place[:, None]
    rows = sp.hstack([*values, sp.csr_array(np.hstack([time, time + 0.01 * rng.normal(size=(n, 1))]))], format="csr")
    y = rng.normal(size=600)[place] + 5.0 * time[:, 0] + 0.1 * rng.normal(size=n)
    options = {"solver": "conjugate_gradients"}
    model = snb.Ridge(0.01, **options).fit(rows, y, n_threads=1)
    assert model.converged_ and model.n_passes_ < 60
    exact = snb.Ridge(0.01, solver="products").fit(rows, y)
    np.testing.assert_allclose(model.predict(rows), exact.predict(rows), atol=1e-3)

    def cut():
        return ((rows[i : i + 700], y[i : i + 700]) for i in range(0, n, 700))

    for other in (snb.Ridge(0.01, **options).fit(rows, y, n_threads=2), snb.Ridge(0.01, **options).fit(cut)):
        assert other.coef_.tolist() == model.coef_.tolist()


def test_models_without_sums_say_what_they_lack():
    model = snb.Ridge(0.5, **GRADIENTS).fit(X, Y[:, 0])
    for use in (lambda: model.partial_fit(X, Y[:, 0]), lambda: model.refit(alpha=2.0), model.summary):
        with pytest.raises(ValueError, match="fitted by conjugate gradients, which keep no sums"):
            use()
    assert not hasattr(model, "condition_number_")


@pytest.mark.parametrize("options", [{"alpha": "evidence"}, {"exact": True}, {"fit_intercept": False}])
def test_what_needs_products_is_refused(options):
    with pytest.raises(ValueError, match=f"{next(iter(options))}=.* needs sums of products, and these columns"):
        snb.Ridge(**options, solver="conjugate_gradients").fit(X, Y)


def test_too_few_reads_are_told():
    with pytest.warns(snb.StreamnbWarning, match="have not converged after max_passes=2 reads"):
        snb.Ridge(1e-6, solver="conjugate_gradients", max_passes=2).fit(X, Y[:, 0])

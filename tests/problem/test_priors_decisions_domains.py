"""Priors, decisions and domains of values, whatever families, schemes and forms of the rows they meet."""

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
import zarr

import streamnb as snb

# ---------------------------------------------------------------------------------------------- priors


@pytest.fixture
def rows():
    rng = np.random.default_rng(4)
    y = np.concatenate([np.arange(3), rng.integers(0, 3, 37)])
    return rng.poisson(2.0 + y[:, None], (40, 4)).astype(float), y


@pytest.mark.parametrize("estimate", ["posterior_mean", "map"])
def test_a_prior_for_each_feature_follows_the_features_of_mixed_columns(rows, estimate):
    """Entry j of an array is of feature j, whichever family it has."""
    x, y = rows
    a, b = np.array([1.5, 2.0, 2.5, 3.0]), 2.0
    columns = {snb.Bernoulli(): [3, 0], snb.Binomial(20): [1, 2]}
    options = {"binarize": 2.0, "estimate": estimate}
    mixed = snb.LinearNB(snb.Mixed(columns), smoothing=snb.BetaPrior(a, b), **options).fit(x, y)
    for family, mine in columns.items():
        mine = np.sort(mine)
        alone = snb.LinearNB(family, smoothing=snb.BetaPrior(a[mine], b), **options).fit(x[:, mine], y)
        np.testing.assert_array_equal(mixed.coef_[:, mine], alone.coef_)
    with pytest.raises(ValueError, match=r"BetaPrior\(a=\) has 2 entries for 4 features"):
        snb.LinearNB(snb.Mixed(columns), smoothing=snb.BetaPrior(a[:2], b), **options).fit(x, y)


def test_modes_of_mixed_columns_are_chosen_by_cross_validation(rows):
    """Weights asked for column by column are those of all columns."""
    x, y = rows
    mixed, prior = snb.Mixed({"bernoulli": [0, 3], snb.Binomial(20): ...}), snb.BetaPrior(np.arange(1.0, 5.0), 2.0)
    model = snb.LinearNBCV(mixed, snb.L1([0.1, 1.0]), smoothing=prior, estimate="map", binarize=2.0, folds=3).fit(x, y)
    path = snb.solve(model.stats_, mixed, snb.L1(model.best_params_["l1"]), smoothing=prior, estimate="map")
    np.testing.assert_array_equal(model.coef_, path[0].coef_)
    columns = np.array([3, 0, 2])
    np.testing.assert_array_equal(path.grid_weights(columns)[0].toarray().T, model.coef_[:, columns])


# ---------------------------------------------------------------------------------------------- decisions


def test_losses_decide_for_no_class_without_rows(rows):
    """Classes without rows are never predicted, however little they cost."""
    x, y = rows
    loss = np.ones((4, 4)) - np.eye(4)
    loss[:, 0] = 0.0
    for scheme in ({"scheme": "joint"}, {"scheme": "ovr"}, {"scheme": "reference", "reference": -1}):
        with pytest.warns(snb.StreamnbWarning, match="never predicted"):
            model = snb.LinearNB("poisson", loss=loss, **scheme).fit(x, y, classes=[-1, 0, 1, 2])
        expected = model.predict_proba(x) @ loss
        np.testing.assert_array_equal(model.predict(x), expected[:, 1:].argmin(axis=1))


def test_a_reject_label_does_not_change_the_kind_of_the_labels(rows, tmp_path):
    x, y = rows
    model = snb.LinearNB("poisson", threshold=0.6, reject_label=-1.0).fit(x, y)
    model.save(tmp_path / "model")
    for answer in (model.predict(x), snb.load(tmp_path / "model").predict(x)):
        assert answer.dtype == y.dtype
        assert np.count_nonzero(answer == -1) in range(1, len(y))


# ---------------------------------------------------------------------------------------------- what is refused


def as_zarr(x):
    array = zarr.create_array({}, shape=x.shape, chunks=(7, 2), dtype=x.dtype)
    array[:] = x
    return array


FORMS = {
    "dense": np.asarray,
    "sparse": sp.csr_array,
    "zarr": as_zarr,
    "zarr csr": lambda x: snb.write_csr({}, (sp.csr_array(x[i : i + 9]) for i in range(0, 30, 9)), n_features=4),
    "dask": lambda x: da.from_array(x, chunks=(8, -1)),
    "dask csr": lambda x: da.from_array(x, chunks=(8, -1)).map_blocks(sp.csr_array),
}


@pytest.mark.parametrize(
    ("form", "family", "value", "limit"),
    [
        ("dense", snb.Gamma("ml"), 0.0, "above 0"),
        ("dask", snb.Gamma("ml"), 0.0, "above 0"),
        ("sparse", snb.Beta(), 1.0, "below 1"),
        ("zarr", snb.Dirichlet(), 0.0, "above 0"),
        ("zarr csr", snb.Mixed({snb.Binomial(3): [2], "gaussian": ...}), 4.0, "at most 3"),
        ("dask csr", snb.Mixed({"chi_squared": [2], "gaussian": ...}), 0.0, "above 0"),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_values_outside_the_domain_are_named_in_every_kind_of_input(form, family, value, limit):
    rng = np.random.default_rng(6)
    x, y = rng.random((30, 4)) * 0.8 + 0.1, np.arange(30) % 3
    x[17, 2] = value
    with pytest.raises(
        ValueError, match=rf"{value} at row 17, column 2; LinearNB\(family='.*'\) takes values .*{limit}"
    ):
        snb.LinearNB(family).fit(FORMS[form](x), y)


def test_lazy_predictions_count_rows_through_all_blocks():
    rng = np.random.default_rng(7)
    x, y = rng.random((30, 4)) + 0.1, np.arange(30) % 3
    model = snb.LinearNB("chi_squared").fit(x, y)
    x[17, 2] = 0.0
    with pytest.raises(ValueError, match=r"0\.0 at row 17, column 2; LinearModel takes values above 0"):
        model.predict(da.from_array(x, chunks=(8, -1))).compute()


def test_the_domain_is_that_of_transformed_values(rows):
    """Shares of counts are inside (0, 1), whatever the counts."""
    x, y = rows
    x = x + 1.0
    shares = x / x.sum(1, keepdims=True)
    found = snb.LinearNB("beta", normalize="l1").fit(x, y).coef_
    np.testing.assert_allclose(found, snb.LinearNB("beta").fit(shares, y).coef_, rtol=1e-9)
    small = np.minimum(x, 9.0)
    found = snb.LinearNB(snb.Binomial(3), transform="sqrt").fit(small, y).coef_
    np.testing.assert_allclose(found, snb.LinearNB(snb.Binomial(3)).fit(np.sqrt(small), y).coef_, rtol=1e-12)
    with pytest.raises(
        ValueError, match=r"X after transform='sqrt' has 2\.23606797749979 at row 0, column 0.*at most 2"
    ):
        snb.LinearNB(snb.Binomial(2), transform="sqrt").fit(small, y)
    with pytest.raises(ValueError, match=r"X after transform='binary' has 0\.0 at row 5, column 1.*above 0"):
        x[5, 1] = 0.0
        snb.LinearNB("chi_squared", transform="binary").fit(x, y)


def test_statistics_tell_of_more_successes_than_trials_in_one_class():
    """The mean over all rows may lie inside the domain all the same."""
    x, y = np.array([[3.0], [3.0], [0.0], [0.0], [1.0]]), np.array([1, 1, 0, 0, 0])
    with pytest.raises(ValueError, match=r"at most 2, but feature 0 has a mean of 3 in class 1"):
        snb.solve(snb.scan(x, y), snb.Binomial(2))
    labels = np.array([[0, 1], [0, 1], [1, 0], [1, 1], [1, 0]])
    with pytest.raises(ValueError, match=r"feature 1 has a mean of 3 in the rows without label 0"):
        stats = snb.scan(np.hstack([x > 1, x]), labels)
        snb.solve(stats, snb.Mixed({"poisson": [0], snb.Binomial(2): [1]}))


def test_features_without_parameters_of_their_own_are_named(rows):
    x, y = rows
    shares = (x + 1.0) / 20.0
    shares[:, 3] = 0.5
    with pytest.raises(ValueError, match=r"family='beta': feature 3 has no most likely parameters.*leave the feature"):
        snb.LinearNB(snb.Mixed({"gaussian": [0], "beta": ...})).fit(shares, y)
    with pytest.raises(ValueError, match=r"compositions of two columns or more, X has 1"):
        snb.LinearNB("dirichlet").fit(shares[:, :1], y)

"""Bins and the quantile-normal map as transform=: learned before the scan, kept in the model's own file."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest

import streamnb as snb

RNG = np.random.default_rng(6)
Y = RNG.integers(0, 3, 200)
X = pd.DataFrame(RNG.gamma(1.0 + Y[:, None], 1.0, (200, 3)), columns=["a", "b", "c"])
X.iloc[3, 1] = np.nan


def test_bins_inside_a_model_are_bins_before_it(tmp_path):
    model = snb.LinearNB("bernoulli", snb.L2(0.5), transform=snb.Bins(5)).fit(X, Y)
    bins = snb.Bins(5).fit(X)
    apart = snb.LinearNB("bernoulli", snb.L2(0.5)).fit(bins.rows(X, Y))
    np.testing.assert_array_equal(model.coef_, apart.coef_)
    assert model.n_features_in_ == 3 and model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert (
        model.column_names_.tolist() == bins.get_feature_names_out().tolist() and "b is missing" in model.column_names_
    )
    assert model.posterior()["feature"].tolist()[0] == model.column_names_[0]
    expected = apart.predict_proba(bins.rows(X))
    np.testing.assert_array_equal(model.predict_proba(X), expected)
    model.save(tmp_path / "m.snb")
    again = snb.load(tmp_path / "m.snb")
    np.testing.assert_array_equal(again.predict_proba(X), expected)
    assert repr(again.get_params()["transform"]) == repr(snb.Bins(5)) and again.score(X, Y) == model.score(X, Y)
    assert again.refit(penalty=snb.L1(1.0)).n_features_in_ == 3
    lazy = da.from_array(X.to_numpy(), chunks=(70, 3))
    of_dask = snb.LinearNB("bernoulli", snb.L2(0.5), transform=snb.Bins(5)).fit(lazy, da.from_array(Y, chunks=70))
    np.testing.assert_array_equal(of_dask.coef_, model.coef_)
    np.testing.assert_array_equal(of_dask.predict_proba(lazy).compute(), expected)
    found = snb.LinearNBCV("bernoulli", snb.L1([0.1]), transform=snb.Bins(5), folds=3).fit(X, Y)
    np.testing.assert_array_equal(found.coef_, snb.LinearNB("bernoulli", snb.L1(0.1)).fit(bins.rows(X, Y)).coef_)
    rest = snb.LinearNB("bernoulli", transform=snb.Bins(5)).fit(X, Y).forget(X[:50], Y[:50])
    np.testing.assert_array_equal(rest.stats_.above, snb.scan(bins.rows(X[50:], Y[50:])).above)


def test_quantile_normal_is_a_map_of_ranks(tmp_path):
    x = np.nan_to_num(X.to_numpy(), nan=1.0)
    family = snb.Gaussian(covariance="own")
    model = snb.LinearNB(family, transform="quantile_normal").fit(x, Y)
    other = snb.LinearNB(family, transform="quantile_normal").fit(np.exp(x), Y)  # which keeps the order
    np.testing.assert_allclose(model.predict_proba(x), other.predict_proba(np.exp(x)), atol=0.02)
    model.save(tmp_path / "m.snb")
    assert (snb.load(tmp_path / "m.snb").predict_proba(x) == model.predict_proba(x)).all()
    assert model.n_features_in_ == 3 and not hasattr(model, "column_names_")


@pytest.mark.usefixtures("as_in_folds")
@pytest.mark.filterwarnings("ignore:max_passes:streamnb.StreamnbWarning")
def test_models_of_several_reads_learn_steps_too(tmp_path):
    rows = snb.Bins(4).fit(X).rows(X, Y)
    asked = {"l2": 1.0, "max_passes": 60}
    model = snb.SoftmaxRegression(**asked, transform=snb.Bins(4)).fit(X, Y, checkpoint=tmp_path / "reads")
    np.testing.assert_array_equal(model.coef_, snb.SoftmaxRegression(**asked).fit(rows).coef_)
    assert model.n_features_in_ == 3 and model.column_names_[0].startswith("a in (-inf")
    model.save(tmp_path / "m.snb")
    assert (snb.load(tmp_path / "m.snb").predict_proba(X) == model.predict_proba(X)).all()
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X[["a", "b"]])
    chosen = snb.SoftmaxRegressionCV([1.0], folds=3, max_passes=3, transform=snb.Bins(4)).fit(X, Y)
    plain = snb.SoftmaxRegression(1.0, max_passes=chosen.best_["max_passes"]).fit(rows)
    np.testing.assert_array_equal(chosen.coef_, plain.coef_)


def test_columns_of_bins_go_by_their_own_names():
    """The first column of the bins is not the first of the data frame."""
    mixed = snb.Mixed({"bernoulli": ["a"], "poisson": ...})
    with pytest.raises(ValueError, match="'a'"):
        snb.LinearNB(mixed, transform=snb.Bins(5)).fit(X, Y)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: snb.LinearNB("gaussian", transform="quantile_normal").fit(X, Y), "1 NaN in column 1"),
        (lambda: snb.LinearNB(transform=snb.Bins(1)).fit(X, Y), "n_bins=1"),
        (lambda: snb.LinearNB(transform=snb.Bins(4)).fit(iter([(X.to_numpy(), Y)]), keep="no"), "read"),
        (lambda: snb.LinearNB(transform=snb.Bins(4)).fit(X, Y).refit(transform=snb.Bins(5)), "learned before the scan"),
        (
            lambda: snb.LinearNB(transform=snb.Bins(4)).fit(X, Y).refit(transform=None),
            "transform=None is learned|use fit",
        ),
        (lambda: snb.LinearNB(transform=snb.Bins(4)).fit(X, Y).predict(X[["a", "b"]]), "feature names"),
        (lambda: snb.LinearNB(transform="bins").fit(X, Y), "transform='bins'"),
    ],
)
def test_what_cannot_be_prepared(call, words):
    with pytest.raises(ValueError, match=words):
        call()

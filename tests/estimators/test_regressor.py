"""Rows of any kind, in any parts: the same regression."""

import numpy as np
import pandas as pd
import pytest

import streamnb as snb
from tests.support.refusals import refuses

rng = np.random.default_rng(4)
X = rng.normal(size=(200, 5))
Y = X @ [1.0, -2.0, 0.0, 0.5, 3.0] + rng.normal(size=200) + 7.0
W = rng.integers(1, 4, 200).astype(float)


@pytest.fixture(scope="module")
def model():
    return snb.Ridge(0.5).fit(X, Y, W)


def test_predictions_are_a_column_for_each_target(model):
    wanted = X @ model.coef_ + model.intercept_
    np.testing.assert_allclose(model.predict(X), wanted, rtol=1e-12)
    out = np.empty(200)
    assert model.predict(X, out=out) is out
    several = snb.Ridge(0.5).fit(X, np.column_stack([Y, -Y]), W)
    np.testing.assert_allclose(several.predict(X), np.column_stack([wanted, -wanted]), rtol=1e-9)


def test_sums_of_two_sites_are_fitted_without_rows(model):
    sites = [snb.Ridge().fit(X[rows], Y[rows], W[rows]).stats_ for rows in (slice(110), slice(110, None))]
    together = snb.Ridge(0.5).fit(sites[0] + sites[1])
    assert together.coef_.tolist() == model.coef_.tolist()
    assert snb.Lasso(0.1).fit(model.stats_).coef_.tolist() == snb.Lasso(0.1).fit(X, Y, W).coef_.tolist()
    refuses(ValueError, "the sums have no folds, which ElasticNetCV needs", snb.ElasticNetCV().fit, model.stats_)


def test_refit_reads_nothing(model):
    again = snb.Ridge(0.5).fit(X, Y, W).refit(alpha=30.0, fit_intercept=False)
    np.testing.assert_allclose(again.coef_, snb.Ridge(30.0, fit_intercept=False).fit(X, Y, W).coef_, rtol=1e-12)
    refuses(ValueError, "alpha=-1 should be finite and at least 0", lambda: again.refit(alpha=-1))
    assert again.alpha == 30.0


def test_tables_have_their_own_columns_and_keep_numbers(tmp_path):
    frame = pd.DataFrame({"size": X[:, 0], "town": np.where(X[:, 1] > 0, "Ada", "Bree"), "price": Y})
    frame.loc[[3, 8], "size"] = np.nan
    model = snb.Ridge(1e-6).fit(frame, "price")
    assert list(model.feature_names_in_) == ["size", "size is missing", "town=Ada", "town=Bree"]
    frame.to_parquet(tmp_path / "homes.parquet")
    stored = snb.Ridge(1e-6).fit(str(tmp_path / "homes.parquet"), "price")
    assert stored.coef_.tolist() == model.coef_.tolist()
    apart = snb.Ridge(1e-6).fit(frame.drop(columns="price"), frame["price"])
    assert apart.coef_.tolist() == model.coef_.tolist()
    model.save(tmp_path / "m.snb")
    loaded = snb.load(tmp_path / "m.snb")
    assert loaded.predict(frame.drop(columns="price")).tolist() == model.predict(frame.drop(columns="price")).tolist()
    assert loaded.score(frame, "price") == model.score(frame, "price") > 0.15
    assert loaded.evaluate(frame.drop(columns="price"), frame["price"]) == model.evaluate(frame, "price")


def test_wrong_uses_and_those_without_effect_are_refused(model):
    for use, message in (
        (lambda: snb.Ridge().fit(X, Y[:5]), "inconsistent numbers of samples"),
        (lambda: snb.Ridge().fit(X), "requires y to be passed"),
        (lambda: model.predict(X[:, :3]), "X has 3 features, but Ridge is expecting 5"),
        (lambda: model.partial_fit(X, Y, decay=0.0), "decay=0.0 should be above 0"),
        (lambda: snb.Ridge().fit(X, Y, groups=np.arange(200)), "groups= needs folds, and Ridge has none"),
        (lambda: model.forget(X[:1] + 1e9, Y[:1]), "never added|more"),
        (lambda: snb.Ridge().fit(iter([X[:100], X[100:]]), Y[:100]), "inconsistent numbers of samples"),
        (lambda: snb.Ridge().fit(model.stats_, Y), "y is given beside sums in place of rows"),
        (lambda: snb.Ridge(0.5).fit(X, Y).refit(exact=True), "exact=True needs the rows again: use fit"),
        (lambda: snb.ElasticNetCV().fit(X, Y).refit(folds=3), "folds=3 needs the rows again"),
        (lambda: snb.Ridge(solver="conjugate_gradients").fit(X, Y, groups=Y), "groups is given beside a fit by conj"),
        (lambda: snb.ElasticNetCV(folds=None).fit(X, Y), "folds=None leaves nothing to choose by"),
        (lambda: snb.ElasticNetCV().fit(X, Y, np.where(snb.fold_numbers(200, 5) == 1, 0.0, 1.0)), "fold 1 has none of"),
    ):
        refuses(ValueError, message, use)


def test_columns_of_any_scale_are_fitted_and_those_that_vanish_are_named():
    units = np.array([1e-120, 1e90, 1.0, 1e-5, 1e60])
    np.testing.assert_allclose(
        snb.Ridge(0.0).fit(X * units, Y).coef_ * units, snb.Ridge(0.0).fit(X, Y).coef_, rtol=1e-9
    )
    heavy = np.where(np.arange(200) < 190, 1.0, 1e12)
    assert np.isfinite(snb.ElasticNetCV(1.0).fit(X, Y, heavy).coef_).all()
    with pytest.warns(snb.StreamnbWarning, match=r"values of \['x2'\] are so small that their squares are 0"):
        model = snb.Ridge(0.0).fit(X * [1.0, 1.0, 1e-200, 1.0, 1.0], Y)
    assert model.coef_[2] == 0.0


def test_rows_are_forgotten_only_where_that_is_what_it_says():
    with pytest.raises(ValueError, match="rows do not tell which fold they were in"):
        snb.ElasticNetCV(1.0).fit(X, Y).forget(X[:5], Y[:5])
    faded = snb.Ridge().fit(X, Y).partial_fit(X[:5], Y[:5], decay=0.5)
    refuses(ValueError, "sample_weight is not given, and partial_fit has weighed rows down", faded.forget, X[:5], Y[:5])
    heavy = X * np.where(np.arange(200) < 10, 1e6, 1.0)[:, None]
    with pytest.warns(snb.StreamnbWarning, match="the rows taken away outweigh those left"):
        snb.Ridge(exact=False).fit(heavy, Y).forget(heavy[:10], Y[:10])
    exact = snb.Ridge().fit(heavy, Y).forget(heavy[:10], Y[:10])
    np.testing.assert_allclose(exact.coef_, snb.Ridge().fit(X[10:], Y[10:]).coef_, rtol=1e-12)
    refuses(ValueError, "sums to zero", lambda: snb.Ridge().fit(X, Y).forget(X, Y))


def test_one_row_is_added_to_models_of_folds():
    model = snb.ElasticNetCV(1.0).fit(X, Y).partial_fit(X[:1], Y[:1])
    assert model.stats_.n_rows == 201


def test_units_of_columns_do_not_matter_to_errors_evidence_and_paths():
    units = np.array([1e-7, 1.0, 1e7, 1e3, 1e-4])
    ours, plain = (snb.Ridge(0.0).fit(X * u, Y).summary() for u in (units, 1.0))
    np.testing.assert_allclose(ours["standard_error"][1:] * units, plain["standard_error"][1:], rtol=1e-9)
    np.testing.assert_allclose(ours["t"], plain["t"], rtol=1e-8)
    tiny = snb.ElasticNetCV(0.0, alphas=[1e-20]).fit(X * units, Y)
    np.testing.assert_allclose(tiny.coef_ * units, plain["weight"][1:], rtol=1e-5)


@pytest.mark.parametrize("way", [snb.Ridge(100.0), snb.Lasso(0.5), snb.ElasticNetCV(alphas=[9.0, 0.1, 1e-9])])
def test_a_warning_names_columns_whose_units_decide_what_is_penalised(way):
    rng = np.random.default_rng(0)
    cars = pd.DataFrame(
        {"litres": rng.normal(size=200), "miles": 1e4 * rng.normal(size=200), "used": np.arange(200) % 2}
    )
    price = cars["litres"] - 1e-4 * cars["miles"] + 9.0 * rng.normal(size=200)
    with pytest.warns(snb.StreamnbWarning, match="'litres' has the standard deviation 0.9.*'miles' 1.*standardize"):
        way.fit(cars, price)
    way.set_params(standardize=True).fit(cars, price)  # and without units or names there is no warning, as here
    way.set_params(standardize=False).fit(cars.to_numpy(), price)
    way.fit(cars.assign(miles=cars["miles"] / 1e4), price)

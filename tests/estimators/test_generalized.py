"""Poisson, Gamma and Tweedie regressions beside scikit-learn's, on rows of every kind, and what they refuse."""

import json
from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import zarr
from sklearn import linear_model
from sklearn.metrics import mean_tweedie_deviance

import streamnb as snb
from tests.support.refusals import refuses

rng = np.random.default_rng(0)
N = 4000
CODES = rng.integers(0, 6, (N, 2))
NUMBERS = rng.normal(size=(N, 2)) * [1.0, 30.0] + [0.0, 90.0]
X = np.column_stack([np.eye(6)[CODES[:, 0]], np.eye(6)[CODES[:, 1]], NUMBERS])
ETA = X @ np.append(rng.normal(size=12) * 0.4, [0.5, 0.01]) - 1.5
W, EXPOSURE = rng.uniform(0.1, 2.0, (2, N))
COUNTS = rng.poisson(np.exp(ETA)).astype(float)
AMOUNTS = rng.gamma(2.0, np.exp(ETA))
THEIRS = {"tol": 1e-13, "max_iter": 10_000, "solver": "newton-cholesky"}
PAIRS = {
    "poisson": (snb.PoissonRegressor(0.01, tol=1e-9), linear_model.PoissonRegressor(alpha=0.01, **THEIRS), COUNTS),
    "gamma": (snb.GammaRegressor(1e-3, tol=1e-9), linear_model.GammaRegressor(alpha=1e-3, **THEIRS), AMOUNTS),
    "plain": (snb.PoissonRegressor(0.0, tol=1e-9), linear_model.PoissonRegressor(alpha=0.0, **THEIRS), COUNTS),
}
for power, link, y in ((0, "identity", COUNTS), (0, "log", AMOUNTS), (1.5, "log", COUNTS), (1.9, "log", COUNTS)):
    theirs = linear_model.TweedieRegressor(power=power, link=link, alpha=0.01, **THEIRS)
    PAIRS[f"{power} {link}"] = snb.TweedieRegressor(power, 0.01, link=link, tol=1e-9), theirs, y
theirs = linear_model.PoissonRegressor(alpha=0.01, fit_intercept=False, **THEIRS)
PAIRS["no intercept"] = snb.PoissonRegressor(0.01, fit_intercept=False, tol=1e-9), theirs, COUNTS


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_weights_and_scores_are_those_of_scikit_learn(name, kind):
    ours, theirs, y = PAIRS[name]
    columns = [*range(1, 6), *range(7, 14)] if name == "plain" else np.arange(14)  # none depends on others
    rows = kind(X[:, columns])
    ours.fit(rows, y, W)
    theirs.fit(X[:, columns], y, W)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-8)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, abs=1e-7)
    assert ours.score(rows, y, W) == pytest.approx(theirs.score(X[:, columns], y, W), abs=1e-10)
    np.testing.assert_allclose(ours.predict(rows), theirs.predict(X[:, columns]), rtol=1e-7)
    np.testing.assert_allclose(ours.to_sklearn().predict(X[:, columns]), ours.predict(rows), rtol=1e-12)
    means, power = ours.predict(rows), getattr(ours, "power", {"gamma": 2}.get(name, 1))
    deviance = mean_tweedie_deviance(y, means, sample_weight=W, power=power)
    assert ours.evaluate(rows, y, W).mean_deviance == pytest.approx(deviance, rel=1e-9)


@pytest.mark.parametrize("model", [snb.PoissonRegressor(0.02, tol=1e-9), snb.TweedieRegressor(1.5, 0.02, tol=1e-9)])
def test_an_offset_is_an_exposure(model):
    claims, power = COUNTS * (rng.random(N) < EXPOSURE), getattr(model, "power", 1.0)
    with_offset = model.fit(X, claims, W, offset=np.log(EXPOSURE)).coef_
    errors = model.evaluate(X, claims, W, offset=np.log(EXPOSURE))
    exposed = W * EXPOSURE ** (2 - power)
    model.set_params(alpha=0.02 * W.sum() / exposed.sum()).fit(X, claims / EXPOSURE, exposed)
    np.testing.assert_allclose(with_offset, model.coef_, atol=1e-9)
    assert errors.d2 == pytest.approx(model.score(X, claims / EXPOSURE, exposed), abs=1e-9)
    means = model.predict(X) * EXPOSURE
    assert errors.rmse == pytest.approx(np.sqrt(np.average((claims - means) ** 2, weights=W)), rel=1e-8)


def test_offsets_and_weights_have_names(tmp_path):
    frame = pd.DataFrame(
        {"town": np.array(list("abcdef"))[CODES[:, 0]], "x": X[:, 12], "y": COUNTS, "e": np.log(EXPOSURE)}
    )
    frame.to_parquet(tmp_path / "t.parquet")
    both = frame, tmp_path / "t.parquet"
    from_frame, from_file = (snb.PoissonRegressorCV(n_alphas=4).fit(rows, "y", offset="e") for rows in both)
    assert from_frame.coef_.tolist() == from_file.coef_.tolist()
    assert list(from_file.feature_names_in_) == [f"town={name}" for name in "abcdef"] + ["x"]
    assert from_file.score(tmp_path / "t.parquet", "y", offset="e") == from_frame.score(frame, "y", offset="e") > 0.1
    store = zarr.create_group(tmp_path / "s.zarr")
    for name, values in (("X", X), ("y", COUNTS), ("w", W), ("e", np.log(EXPOSURE))):
        store.create_array(name, data=values, chunks=(700, *values.shape[1:]))
    by_name = snb.PoissonRegressorCV(n_alphas=4).fit(store, "y", "w", offset="e")
    of_arrays = snb.PoissonRegressorCV(n_alphas=4).fit(X, COUNTS, W, offset=np.log(EXPOSURE))
    assert by_name.coef_.tolist() == of_arrays.coef_.tolist()


def test_a_penalty_is_judged_as_by_models_without_each_fold():
    folds, alphas = np.arange(N) % 3, [1.0, 1e-3, 1e-7]
    model = snb.GammaRegressorCV(alphas=alphas, folds=folds, standardize=False).fit(X, AMOUNTS, W)
    for fold in range(3):
        inside = folds == fold
        for number, alpha in enumerate(alphas):
            alone = snb.GammaRegressor(alpha).fit(X[~inside], AMOUNTS[~inside], W[~inside])
            expected = alone.evaluate(X[inside], AMOUNTS[inside], W[inside]).mean_deviance
            assert model.deviance_path_[number, fold] == pytest.approx(expected, rel=5e-4)
    alone = snb.GammaRegressor(model.alpha_).fit(X, AMOUNTS, W)
    np.testing.assert_allclose(model.coef_, alone.coef_, atol=1e-6)
    assert model.alpha_ == alphas[model.deviance_path_.mean(axis=1).argmin()]


def test_the_grid_goes_on_and_units_do_not_matter():
    y = rng.poisson(np.exp(8.0 + 0.3 * X[:, 12]))
    model = snb.PoissonRegressorCV(n_alphas=3).fit(X[:, 12:], y)
    assert len(model.alphas_) > 3
    other = snb.PoissonRegressorCV(n_alphas=3).fit(X[:, 12:] * [1e6, 1e-6], y)
    np.testing.assert_allclose(other.coef_ * [1e6, 1e-6], model.coef_, rtol=1e-5, atol=1e-9)


def test_extreme_rows_are_fitted():
    x = np.linspace(-1.0, 1.0, 200)[:, None]
    assert snb.PoissonRegressor(0.0).fit(x, np.full(200, 3.0)).coef_[0] == pytest.approx(0.0, abs=1e-9)
    np.testing.assert_allclose(snb.PoissonRegressor(0.0).fit(x, np.exp(20.0 + x[:, 0])).coef_, 1.0, atol=1e-9)
    np.testing.assert_allclose(snb.GammaRegressor(0.0).fit(x, np.exp(3.0 * x[:, 0])).coef_, 3.0, atol=1e-9)
    zero_weight = np.append(np.zeros(50), np.ones(150))
    kept = snb.PoissonRegressor(0.1).fit(x, np.append(np.full(50, 7.0), np.arange(150.0)), zero_weight)
    np.testing.assert_allclose(kept.coef_, snb.PoissonRegressor(0.1).fit(x[50:], np.arange(150.0)).coef_, rtol=1e-9)
    with pytest.warns(snb.StreamnbWarning, match=r"alpha=0 leaves the weights undetermined.*'x1'"):
        both = snb.PoissonRegressor(0.0).fit(np.hstack([x, 2.0 * x]), np.arange(200.0))
    alone = snb.PoissonRegressor(0.0).fit(x, np.arange(200.0))
    np.testing.assert_allclose(both.predict(np.hstack([x, 2.0 * x])), alone.predict(x))


def test_files_say_what_models_do(tmp_path):
    model = snb.PoissonRegressorCV(n_alphas=3, folds=2).fit(X, COUNTS)
    model.save(tmp_path / "m.snb")
    loaded = snb.load(tmp_path / "m.snb")
    assert loaded.predict(X).tolist() == model.predict(X).tolist()
    assert loaded.deviance_path_.tolist() == model.deviance_path_.tolist()
    model.export(tmp_path / "m.json")
    content = json.loads((tmp_path / "m.json").read_text())
    assert content["link"] == "log"
    found = np.exp(X @ content["weights"][0] + content["intercepts"][0])
    np.testing.assert_allclose(found, model.predict(X), rtol=1e-12)
    model.export(tmp_path / "m.py")
    code: dict = {}
    exec((tmp_path / "m.py").read_text(), code)  # a file that was just written here
    record = {f"x{j}": X[0, j] for j in range(14)}
    assert code["predict"](record) == pytest.approx(model.predict(X[:1])[0], rel=1e-12)
    model.export(tmp_path / "m.sql", dialect="duckdb")
    assert "EXP(" in (tmp_path / "m.sql").read_text()
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    model.export(tmp_path / "m.onnx")
    session = runtime.InferenceSession(tmp_path / "m.onnx")
    (predicted,) = session.run(None, {"rows": X.astype(np.float32)})
    np.testing.assert_allclose(predicted, model.predict(X.astype(np.float32)), rtol=1e-10)


ONES, SMALL = np.ones(4), np.arange(4.0)[:, None]
WRONG = [
    (snb.GammaRegressor(), [1.0, 0.0, 2.0, 3.0], {}, "y has 0 at row 1; targets of a Gamma model should be above 0"),
    (snb.PoissonRegressor(), [1.0, 0.0, -2.0, 3.0], {}, "y has -2 at row 2; targets of a Poisson model"),
    (snb.PoissonRegressor(), ONES, {"offset": [0.0, -1.0, -np.inf, 0.0]}, "offset has -inf at row 2; it should be"),
    (snb.PoissonRegressor(), ONES, {"offset": [0.0, np.nan, 0.0, 0.0]}, "offset has nan at row 1"),
    (snb.PoissonRegressor(), ONES, {"offset": [0.0, 1e5, 0.0, 0.0]}, "offset has 100000.0 at row 1; .*logarithm"),
    (snb.PoissonRegressor(), ONES, {"offset": ONES[:3]}, "offset should have one entry for each row"),
    (snb.PoissonRegressor(), ONES, {"sample_weight": np.zeros(4)}, "sample_weight sums to zero"),
    (snb.PoissonRegressor(), [1.0, np.nan, 2.0, 3.0], {}, "y contains NaN or infinity"),
    (snb.PoissonRegressor(), np.zeros(4), {}, "y is 0 in all rows"),
    (snb.PoissonRegressorCV(folds=2), np.zeros(4), {}, "y is 0 in all rows, so"),
    (snb.PoissonRegressorCV(folds=[0, 0, 1, 1]), [0, 0, 1, 2], {}, "y is 0 in all rows outside fold 1"),
    (snb.PoissonRegressor(), ["1", "2", "a", "b"], {}, "a regression predicts numbers"),
    (snb.PoissonRegressor(), pd.date_range("2024", periods=4), {}, "dates"),
    (snb.PoissonRegressor(), np.ones((4, 2)), {}, "y has 2 columns; a Poisson model predicts one number a row"),
    (snb.PoissonRegressor(-1.0), ONES, {}, "alpha=-1.0 should be"),
    (snb.TweedieRegressor(0.5), ONES, {}, "power=0.5 should be 0"),
    (snb.TweedieRegressor(-1), ONES, {}, "power=-1 should be 0"),
    (snb.TweedieRegressor(1, link="probit"), ONES, {}, "link='probit' is unknown"),
    (snb.TweedieRegressor(1, link="identity"), ONES, {"offset": ONES}, "offset= needs link='log', or power=0"),
    (snb.TweedieRegressor(1, link="identity", fit_intercept=False), ONES, {}, "fit_intercept=False needs"),
    (snb.PoissonRegressor(), ONES, {"groups": ONES}, "groups= needs folds.*PoissonRegressorCV"),
    (snb.PoissonRegressorCV(alphas=[0.0]), ONES, {}, "alphas="),
    (snb.Ridge(), ONES, {"offset": ONES}, "argument 'offset': PoissonRegressor, .* take it"),
    (snb.Ridge(), [1.0, 1e300, 2.0, 3.0], {}, "y is 1e+300 at row 1, too large to be squared".replace("+", r"\+")),
]


@pytest.mark.parametrize(("model", "y", "more", "words"), WRONG)
def test_what_is_wrong_is_named(model, y, more, words):
    refuses((ValueError, TypeError), words.replace("(", r"\("), lambda: model.fit(SMALL, y, **more))


@pytest.mark.parametrize("kind", [snb.PoissonRegressor, snb.AdditiveRegressor])
def test_models_with_offsets_are_not_judged_as_rates_in_silence(kind, tmp_path):
    rng = np.random.default_rng(0)
    x, years = rng.normal(size=(400, 2)), rng.integers(1, 9, 400).astype(float)
    y, given = rng.poisson(years * np.exp(0.3 * x[:, 0])).astype(float), {"offset": np.log(years)}
    model = (kind("poisson") if kind is snb.AdditiveRegressor else kind()).fit(x, y, **given)
    model.save(tmp_path / "m.snb")
    for fitted in (model, snb.load(tmp_path / "m.snb")):
        assert fitted.has_offset_
        for judge in (fitted.score, fitted.evaluate):
            with pytest.warns(snb.StreamnbWarning, match="was fitted with offset="):
                judge(x, y)
            judge(x, y, **given)
            judge(x, y / years, years)
        refuses(ValueError, "before=rows", fitted.drift, x)
        assert fitted.drift(x, before=x).moved == []
    model.calibrate(x, y, offset=np.log(years)).save(tmp_path / "light.snb", stats=False)
    light, more = snb.load(tmp_path / "light.snb"), {"interval": 0.9, "offset": np.log(years)[:50]}
    assert light.predict(x[:50], **more).tolist() == model.predict(x[:50], **more).tolist()
    refuses(ValueError, "offset should be an array of 50 finite numbers", lambda: light.predict(x[:50], offset=[0.0]))
    refuses(AttributeError, "saved with stats=False predicts, and does no more", lambda: light.evaluate(x, y))
    assert model.fit(x, y).has_offset_ is None


@pytest.mark.parametrize("column", [[0.0, 1.0], [10.0, 11.0]])
def test_a_column_that_is_constant_outside_folds_takes_no_more_reads(column):
    """Without a fold it says what the intercept says; its weight there is 0, as the penalty has it."""
    rng = np.random.default_rng(0)
    fold = np.arange(400) % 2
    X = np.column_stack([rng.normal(size=(400, 2)), np.array(column)[fold]])
    y = rng.poisson(np.exp(0.3 * X[:, 0])).astype(float)
    model = snb.PoissonRegressorCV(folds=fold).fit(X, y)
    without = snb.PoissonRegressorCV(folds=fold, alphas=model.alphas_).fit(X[:, :2], y)
    assert model.n_passes_ <= without.n_passes_ + 3
    np.testing.assert_allclose(model.deviance_path_, without.deviance_path_, rtol=1e-3)


@pytest.mark.parametrize(
    "make", [partial(snb.PoissonRegressorCV, n_alphas=3), partial(snb.AdditiveRegressor, "poisson", interactions=0)]
)
def test_offsets_of_predictions_and_of_judged_rows_are_columns_or_arrays_of_rows_of_any_kind(make, tmp_path):
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"age": rng.uniform(0.0, 1.0, 400), "log_years": rng.normal(0.0, 0.7, 400)})
    frame["claims"] = rng.poisson(np.exp(frame["log_years"] + 2.0 * frame["age"])).astype(float)
    path, log_years = tmp_path / "claims.parquet", frame["log_years"].to_numpy()
    frame.to_parquet(path)
    model = make(folds=3).fit(path, "claims", offset="log_years")
    alone = frame.drop(columns=["log_years"])
    expected = model.predict(alone) * np.exp(log_years)
    model.save(tmp_path / "m.snb")
    for X, same in ((path, model), (frame, snb.load(tmp_path / "m.snb"))):
        with pytest.warns(snb.StreamnbWarning, match="'log_years', the offset of the fit, .* exposure of 1"):
            np.testing.assert_array_equal(same.predict(X), model.predict(alone))
    for X, offset in ((path, "log_years"), (frame, "log_years"), (alone, log_years), (alone, frame["log_years"])):
        np.testing.assert_allclose(model.predict(X, offset=offset), expected, rtol=1e-14)
        judged = snb.evaluate(model, X, "claims", offset=offset)
        assert judged.rmse == pytest.approx(np.sqrt(np.mean((frame["claims"] - expected) ** 2)), rel=1e-12)
        assert judged.d2 == model.score(X, "claims", offset=offset)
    model.calibrate(frame, "claims", offset="log_years")
    out = np.zeros((400, 3))
    mean, low, high = model.predict(path, offset="log_years", interval=0.8, out=out).T
    np.testing.assert_array_equal(mean, model.predict(path, offset="log_years"))
    assert 0.77 < ((low <= frame["claims"]) & (frame["claims"] <= high)).mean() < 0.85
    numbers = make(folds=3).fit(frame[["age", "log_years"]], frame["claims"], offset="log_years")
    np.testing.assert_allclose(numbers.predict(frame[["age", "log_years"]], offset="log_years"), expected, rtol=1e-9)
    snb.report(model, path, "claims", tmp_path / "page.html", offset="log_years")
    for wrong, message in (("year", "offset='year'"), ([0.0], "400 rows"), (["a"] * 400, "logarithms of exposures")):
        refuses((TypeError, ValueError), message, model.predict, path, offset=wrong)
    with pytest.raises(TypeError, match="Ridge has none"):
        snb.evaluate(snb.Ridge().fit(alone, "claims"), alone, "claims", offset=log_years)
    refuses(ValueError, "offset needs a model", lambda: snb.evaluate([1, 0], [1, 0], offset=[0.0, 0.0]))


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_columns_far_from_zero_take_few_reads(make):
    far = X[:, 12:] * [1.0, 1e-3] + [3000.0, 50.0]
    models = [snb.PoissonRegressor(0.0, tol=1e-9).fit(make(columns), COUNTS) for columns in (far, X[:, 12:])]
    np.testing.assert_allclose(models[0].coef_ * [1.0, 1e-3], models[1].coef_, rtol=1e-6)
    assert models[0].n_passes_ <= models[1].n_passes_ + 1


def test_rows_of_large_values_and_rounded_objectives_cost_few_reads():
    """A sample of curvatures lacks such rows, and objectives of many rows are rounded by more than the last gain."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(100_000, 2)), np.exp(rng.normal(size=100_000))])
    y = rng.poisson(np.exp(0.3 * X[:, 0] + 0.05 * X[:, 2] - 2.0)).astype(float)
    model = snb.PoissonRegressorCV(n_alphas=4, folds=3).fit(X, y)
    assert model.converged_ and model.n_passes_ <= 14


def test_columns_of_heavy_tails_cost_few_reads():
    """Rows of huge values are never left out of a sample of curvatures, and no step changes them too much."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(100_000, 5)), rng.standard_cauchy(100_000)])
    means = np.exp(0.3 * X[:, 0] + X[:, 5].argsort().argsort() / 1e5 - 1.0)
    model = snb.PoissonRegressorCV().fit(X, rng.poisson(means).astype(float))
    assert model.converged_ and model.n_passes_ <= 16  # 39 by a plain sample

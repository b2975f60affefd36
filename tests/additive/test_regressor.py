"""AdditiveRegressor: curves and pairs of numbers, trained to the optimum, whatever holds the rows and in any units."""

import runpy
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

import streamnb as snb
from streamnb.problem.losses import TweedieLoss
from tests.support.refusals import refuses

RNG = np.random.default_rng(0)
N = 600
X = RNG.uniform(-1, 1, (N, 3))
MEANS = np.exp(np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2])
YEARS = RNG.uniform(0.1, 2.0, N)
Y = {
    "squared": np.log(MEANS) + 0.2 * RNG.normal(size=N),
    "poisson": RNG.poisson(MEANS).astype(float),
    "gamma": MEANS * RNG.gamma(2.0, 0.5, N),
    "tweedie": np.where(RNG.random(N) < 0.3, 0.0, MEANS * RNG.gamma(2.0, 0.5, N)),
}
LEVELS = np.array(list("xyz"))[np.digitize(X[:, 2], [-0.3, 0.3])]
FRAME = pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 1] > 0.9, np.nan, X[:, 1]), "c": LEVELS})
FAST = {"l2": 1.0, "pair_factor": 1.0, "folds": 3}


@pytest.mark.parametrize("loss", Y)
def test_weights_are_those_of_a_general_optimiser(loss):
    model = snb.AdditiveRegressor(loss, interactions=0, l2=3.0, resolutions=(4, 16), folds=3, tol=1e-9)
    y, of_rows = (
        Y[loss],
        TweedieLoss({"squared": 0.0, "poisson": 1.0, "gamma": 2.0, "tweedie": 1.5}[loss], model._loss.link),
    )
    model.fit(X, y)
    edges = [np.unique(np.r_[-np.inf, model.term(f"x{j}")["upper"]])[:-1] for j in range(3)]
    fine = [np.searchsorted(e[1:], X[:, j], side="left") for j, e in enumerate(edges)]
    columns = []
    for codes in fine:
        share = (np.cumsum(np.bincount(codes)) - 0.5 * np.bincount(codes)) / N
        coarse = np.minimum((share * 4).astype(int), 3)[codes]
        columns += [np.eye(4)[coarse], np.eye(16)[codes] * (codes.max() + 1) ** -0.5 * 2.0]
    design = np.hstack([*columns, np.ones((N, 1))])
    start = of_rows.linked(np.array([y.mean()]))
    unit = 2.0 * of_rows.values(start, y).mean()
    strength = 3.0 / (unit if loss == "squared" else 1.0)

    def objective(theta):
        scores = design @ theta
        slopes = design.T @ of_rows.slopes(scores, y) / unit
        penalty = 0.5 * strength * (theta[:-1] ** 2).sum()
        return of_rows.values(scores, y).sum() / unit + penalty, slopes + np.append(strength * theta[:-1], 0.0)

    theta = np.append(np.zeros(design.shape[1] - 1), start)
    found = minimize(
        objective, theta, jac=True, method="L-BFGS-B", options={"maxiter": 9000, "ftol": 1e-16, "gtol": 1e-9}
    )
    np.testing.assert_allclose(model.predict(X), of_rows.mean(design @ found.x), rtol=2e-4, atol=2e-4)
    terms = model.term("x0")
    assert abs(terms["score"] @ terms["count"]) < 1e-6 * N  # pure
    assert model.score(X, y) > 0.1


@pytest.mark.parametrize("loss", Y)
def test_pairs_are_found_and_units_of_columns_and_targets_do_not_matter(loss):
    model = snb.AdditiveRegressor(loss, resolutions=(4, 16), folds=3)
    expected = model.fit(X, Y[loss]).predict(X)
    assert ("x1", "x2") in model.terms_["name"].tolist()
    in_others = 1000.0 * Y[loss] + (1e6 if loss == "squared" else 0.0)
    if loss == "poisson":
        found = model.fit(1e6 * X - 7.0, Y[loss], offset=np.full(N, np.log(1000.0)))
        np.testing.assert_allclose(1000.0 * found.predict(1e6 * X - 7.0), expected, rtol=1e-7)
        return
    found = model.fit(1e6 * X - 7.0, in_others).predict(1e6 * X - 7.0)
    np.testing.assert_allclose((found - in_others.mean()) / 1000.0, expected - Y[loss].mean(), rtol=1e-6, atol=1e-6)


def test_exposures_are_offsets_or_weights_of_rates():
    model = snb.AdditiveRegressor("poisson", interactions=[("a", "b")], **FAST)
    claims = RNG.poisson(MEANS * YEARS)
    frame = FRAME.assign(claims=claims, exposure=np.log(YEARS))
    expected = model.fit(FRAME, claims, offset=np.log(YEARS)).predict(FRAME)
    np.testing.assert_array_equal(model.fit(frame, "claims", offset="exposure").predict(FRAME), expected)
    assert np.corrcoef(expected, MEANS)[0, 1] > 0.7
    np.testing.assert_allclose((expected * YEARS).sum(), claims.sum(), rtol=1e-3)
    assert model.evaluate(FRAME, claims, offset=np.log(YEARS)).d2 > 0.1
    table = snb.table(FRAME, bins=64, min_count=5)  # of rows without weights
    rates = model.set_params(l2=YEARS.mean()).fit(table, claims / YEARS, YEARS).predict(FRAME)
    assert np.corrcoef(np.log(rates), np.log(expected))[0, 1] > 0.99


def test_rows_of_weight_0_do_not_count_and_curves_may_be_monotone():
    y, weight = Y["gamma"].copy(), np.ones(N)
    y[::7], weight[::7] = -1.0, 0.0
    model = snb.AdditiveRegressor("gamma", interactions=1, monotone={"x0": 1}, **FAST).fit(X, y, weight)
    assert model.term("x0")["score"].is_monotonic_increasing
    assert "x0" not in model.terms_["name"][model.terms_["kind"] == "pair"].explode().tolist()


@pytest.mark.parametrize("unit", [1e-6, 1e5])
def test_units_of_weights_do_not_matter_to_what_is_chosen(unit):
    expected = snb.AdditiveRegressor("poisson", folds=3).fit(X, Y["poisson"], YEARS)
    model = snb.AdditiveRegressor("poisson", folds=3).fit(X, Y["poisson"], unit * YEARS)
    assert 1 / 3 < model.best_params_["l2"] / unit / expected.best_params_["l2"] < 3
    assert abs(model.best_score_ - expected.best_score_) < 0.03


@pytest.mark.parametrize("loss", ["squared", "gamma"])
def test_intervals_hold_as_many_further_numbers_as_they_say(loss, tmp_path):
    model = snb.AdditiveRegressor(loss, interactions=[(1, 2)], **FAST).fit(X[:400], Y[loss][:400])
    model.save(tmp_path / "m.snb")
    _, low, high = snb.load(tmp_path / "m.snb").predict(X[400:], interval=0.8).T
    assert 0.7 < ((low <= Y[loss][400:]) & (Y[loss][400:] <= high)).mean() < 0.9
    counted = snb.AdditiveRegressor("poisson", interactions=0, **FAST).fit(X, Y["poisson"], offset=np.log(YEARS))
    refuses(ValueError, "needs residuals of held-out rows", lambda: counted.predict(X, interval=0.8))


def test_explanations_add_up_and_exports_answer_as_the_model(tmp_path):
    model = snb.AdditiveRegressor("gamma", interactions=1, **FAST).fit(FRAME, Y["gamma"])
    predicted, added = model.predict(FRAME), model.contributions(FRAME)
    np.testing.assert_allclose(np.exp(model.intercept_ + added.sum(axis=1)), predicted, rtol=1e-12)
    np.testing.assert_allclose(model.explain(FRAME[:1])["contribution"].sum(), np.log(predicted[0]), rtol=1e-12)
    assert model.predict_one(FRAME.iloc[0].to_dict()) == predicted[0]
    model.save(tmp_path / "m.snb")
    loaded = snb.load(tmp_path / "m.snb")
    np.testing.assert_array_equal(loaded.predict(FRAME), predicted)
    assert loaded.best_params_ == model.best_params_ and loaded.terms_.equals(model.terms_)
    model.export(tmp_path / "m.py")
    answer = runpy.run_path(str(tmp_path / "m.py"))["predict"]
    np.testing.assert_allclose([answer(row) for row in FRAME[:9].to_dict("records")], predicted[:9], rtol=1e-12)
    model.term_scores_["a"] = np.zeros_like(model.term_scores_["a"])
    assert not np.array_equal(model.predict(FRAME), predicted)


@pytest.mark.parametrize("interactions", [0, 1])
def test_onnx_and_json_hold_numbers(interactions, tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    rows = X.astype(np.float32)
    model = snb.AdditiveRegressor("poisson", interactions=interactions, **FAST).fit(rows, Y["poisson"])
    model.export(tmp_path / "m.onnx")
    (found,) = runtime.InferenceSession(tmp_path / "m.onnx").run(None, {"rows": rows})
    np.testing.assert_allclose(found, model.predict(rows), rtol=1e-12)
    refuses(ValueError, "no transformer of scikit-learn's", model.to_sklearn)


@pytest.mark.filterwarnings("ignore:y is .* in every row:streamnb.StreamnbWarning")
@pytest.mark.parametrize(("loss", "value"), zip(Y, [1e9 + 0.1, 3.0] * 2))
def test_constant_targets_are_predicted(loss, value):
    model = snb.AdditiveRegressor(loss, **FAST).fit(X, np.full(N, value))
    np.testing.assert_allclose(model.predict(X), value, rtol=1e-9)


@pytest.mark.parametrize("size", [1e-9, 1e9])
def test_a_column_may_explain_all(size):
    levels = np.repeat([1.0, 2.0, 5.0], 200)
    for loss in Y:
        with warnings.catch_warnings(action="ignore"):
            model = snb.AdditiveRegressor(loss, folds=3).fit(np.column_stack([levels, X[:, 0]]), size * levels)
        np.testing.assert_allclose(model.predict(np.column_stack([levels, X[:, 0]])), size * levels, rtol=0.03)


SKEWED = Y["squared"] + RNG.exponential(1.0 + X[:, 0])


@pytest.mark.parametrize("quantile", [0.1, 0.5])
def test_quantiles_have_their_share_of_further_rows_below_and_are_judged_by_pinball_loss(quantile, tmp_path):
    metrics = pytest.importorskip("sklearn.metrics")
    model = snb.AdditiveRegressor("quantile", quantile=quantile, interactions=1, folds=3).fit(X[:450], SKEWED[:450])
    predicted, y = model.predict(X[450:]), SKEWED[450:]
    assert abs((y <= predicted).mean() - quantile) < 0.08
    judged = model.evaluate(X[450:], y, interval=0.9)
    expected = metrics.mean_pinball_loss(y, predicted, alpha=quantile)
    assert judged.mean_deviance == pytest.approx(expected, rel=1e-12)
    assert judged.d2 == model.score(X[450:], y)
    assert judged.d2 == pytest.approx(metrics.d2_pinball_score(y, predicted, alpha=quantile), abs=1e-4)
    low, high = judged.interval("mean_deviance")
    assert low < expected < high and np.isnan(judged.interval("d2")).all()
    constant = metrics.mean_pinball_loss(y, np.full(150, np.quantile(SKEWED[:450], quantile)), alpha=quantile)
    assert expected < 0.75 * constant and abs(model.best_score_ - judged.d2) < 0.15
    model.save(tmp_path / "m.snb")
    loaded = snb.load(tmp_path / "m.snb")
    assert loaded.quantile == quantile and np.array_equal(loaded.predict(X), model.predict(X))
    _, low, high = loaded.predict(X[450:], interval=0.8).T
    assert 0.7 < ((low <= y) & (y <= high)).mean() < 0.9


def test_absolute_errors_are_robust_and_their_units_and_copies_do_not_matter():
    y, means = Y["squared"].copy(), np.log(MEANS)
    y[::20] += 50.0
    model = snb.AdditiveRegressor("absolute", interactions=[("x1", "x2")], folds=np.arange(N) % 3)
    expected = model.fit(X, y).predict(X)
    assert np.abs(expected - means).mean() < 0.15
    np.testing.assert_allclose(model.fit(X, 1000.0 * y + 7.0).predict(X), 1000.0 * expected + 7.0, rtol=1e-6)
    np.testing.assert_allclose(model.fit(X, y, offset=means).predict(X), 0.0, atol=0.15)
    rows = np.repeat(np.arange(N), 1 + (np.arange(N) % 2 == 0))
    weighed = snb.AdditiveRegressor("absolute", interactions=0, l2=1.0, folds=np.arange(N) % 3)
    twice = snb.AdditiveRegressor("absolute", interactions=0, l2=1.0, folds=rows % 3).fit(X[rows], y[rows])
    weighed.fit(X, y, np.bincount(rows))
    np.testing.assert_allclose(weighed.predict(X), twice.predict(X), rtol=1e-4, atol=1e-4)


def test_quantiles_of_constants_and_of_all_rows_by_a_sample(monkeypatch):
    for module, name, value in (("fit", "TRAINED_ROWS", 200), ("fit", "SAMPLE", 200)):
        monkeypatch.setattr(f"streamnb.additive.{module}.{name}", value)
    model = snb.AdditiveRegressor("quantile", quantile=0.7, interactions=0, folds=3).fit(X, SKEWED)
    assert model.converged_ and model.n_passes_ > 1
    assert abs((model.predict(X) >= SKEWED).mean() - 0.7) < 0.1
    with warnings.catch_warnings(action="ignore"):
        constant = model.fit(X, np.full(N, 3.0))
    np.testing.assert_allclose(constant.predict(X), 3.0, rtol=1e-5)


def test_a_sample_of_very_unequal_weights_and_exposures_trains_all_rows(monkeypatch):
    monkeypatch.setattr("streamnb.additive.fit.TRAINED_ROWS", 300)
    monkeypatch.setattr("streamnb.additive.fit.SAMPLE", 300)
    rng = np.random.default_rng(0)
    x = rng.uniform(-1.0, 1.0, (3000, 3))
    weight, offset = np.exp(4.0 * rng.normal(size=3000)), np.minimum(2.0 * rng.normal(size=3000), 10.0)
    y = rng.poisson(np.exp(offset + np.sin(3.0 * x[:, 0]))).astype(float)
    with warnings.catch_warnings(action="ignore"):
        model = snb.AdditiveRegressor("poisson", interactions=0, folds=3).fit(x, y, weight, offset=offset)
    first, *_, last = model.history_["gradient_norm"]
    assert last < 0.05 * first


FIFTH = np.arange(N) == 5
BAD = {
    "y has -1 at row 5; targets of a Poisson model should be at least 0": ("poisson", np.where(FIFTH, -1.0, 1.0)),
    "y has 0 at row 5; targets of a Gamma model should be above 0": ("gamma", np.where(FIFTH, 0.0, 2.0)),
    "y is 0 in every row": ("tweedie", np.zeros(N)),
    "loss='huber' is unknown; it should be one of 'squared'": ("huber", Y["squared"]),
    "quantile=None with loss='quantile'": ("quantile", Y["squared"]),
    "y .*NaN.* row 5": ("squared", np.where(FIFTH, np.nan, Y["squared"])),
    "y .*numbers": ("squared", np.array(["a", "b"] * (N // 2))),
    "y .*datetime": ("squared", pd.Series(pd.date_range("2020-01-01", periods=N))),
}


@pytest.mark.parametrize("message", BAD)
def test_bad_targets_are_named(message):
    loss, y = BAD[message]
    refuses((ValueError, TypeError), message, lambda: snb.AdditiveRegressor(loss, **FAST).fit(X, y))

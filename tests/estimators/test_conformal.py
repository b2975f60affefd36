"""Prediction intervals from residuals of held-out rows."""

import dask.array as da
import numpy as np
import pytest

import streamnb as snb

rng = np.random.default_rng(0)
X = rng.normal(size=(3000, 4))
SKEWED = X[:, 0] + rng.exponential(size=3000)
COUNTS = rng.poisson(np.exp(0.5 * X[:, 0] + 1.0)).astype(float)
AMOUNTS = np.exp(X[:, 0]) * rng.gamma(2.0, 0.5, 3000)


@pytest.mark.parametrize(
    "model, y",
    [
        (snb.ElasticNetCV([0.5, 1.0], folds=3, rule="one_se", intervals=True), SKEWED),
        (snb.ForwardRegression(intervals=True), SKEWED),
        (snb.PoissonRegressorCV(n_alphas=3), COUNTS),
        (snb.GammaRegressorCV(n_alphas=3), AMOUNTS),
    ],
)
def test_intervals_cover_what_they_say_and_miss_as_often_on_either_side(model, y, tmp_path):
    model.fit(X[:1500], y[:1500])
    for level in (0.5, 0.9):
        mean, low, high = model.predict(X[1500:], interval=level).T
        assert (mean == model.predict(X[1500:])).all() and (low <= mean).all() and (mean <= high).all()
        assert abs((y[1500:] < low).mean() - (y[1500:] > high).mean()) < 0.06 or y is COUNTS  # which are tied
        assert -0.04 < ((low <= y[1500:]) & (y[1500:] <= high)).mean() - level < (0.15 if y is COUNTS else 0.04)
    model.save(tmp_path / "m.snb")
    found = snb.load(tmp_path / "m.snb").predict(da.from_array(X, chunks=(700, 4)), interval=0.9)
    assert (found.compute() == model.predict(X, interval=0.9)).all()


def test_residuals_are_those_of_models_without_each_fold():
    folds = np.arange(1500) % 3
    model = snb.ElasticNetCV(1.0, folds=folds, intervals=True).fit(X[:1500], SKEWED[:1500])
    residuals = np.empty(1500)
    for fold in range(3):
        other = snb.Lasso(model.alpha_).fit(X[:1500][folds != fold], SKEWED[:1500][folds != fold])
        residuals[folds == fold] = (SKEWED[:1500] - other.predict(X[:1500]))[folds == fold]
    low, high = np.sort(residuals)[[int(0.05 * 1501) - 1, -int(0.05 * 1501)]]
    mean, *ends = model.predict(X[1500:], interval=0.9).T
    np.testing.assert_allclose(ends - mean, [np.full(1500, low), np.full(1500, high)], atol=0.01)


def test_a_weight_of_two_is_two_rows_and_cuts_do_not_matter():
    model, doubled = snb.TweedieRegressor(1.5).fit(X, AMOUNTS), np.r_[:1000, :1000]
    weighted = model.calibrate(X[:1000], AMOUNTS[:1000], np.full(1000, 2.0)).residuals_
    copied = model.calibrate(lambda: iter([(X[doubled[::-1]], AMOUNTS[doubled[::-1]])])).residuals_
    assert all(np.array_equal(part, vars(copied)[name]) for name, part in vars(weighted).items())
    fractions = rng.uniform(size=1000)
    one, other = (
        model.calibrate(da.from_array(X[:1000], chunks=(cut, 4)), AMOUNTS[:1000], fractions).residuals_
        for cut in (1000, 70)
    )
    assert all(np.array_equal(part, vars(other)[name]) for name, part in vars(one).items())


def test_offsets_are_exposures():
    years = rng.uniform(0.1, 2.0, 3000)
    claims = rng.poisson(years * np.exp(0.5 * X[:, 0] + 2.0)).astype(float)
    model = snb.PoissonRegressorCV(n_alphas=3).fit(X, claims, offset=np.log(years))
    low, high = model.residuals_.ends(0.9)
    assert -2.0 < low < -1.5 and 1.5 < high < 2.0  # of standard deviations
    split = snb.PoissonRegressor().fit(X[:1500], claims[:1500], offset=np.log(years[:1500]))
    split.calibrate(X[1500:], claims[1500:], offset=np.log(years[1500:]))
    np.testing.assert_allclose(split.residuals_.ends(0.9), (low, high), atol=0.2)


def test_intervals_belong_to_the_weights_that_were_judged():
    model = snb.ElasticNetCV(intervals=True).fit(X, SKEWED)
    whole = model.residuals_.ends(0.9)
    assert model.report_.reads == 2
    assert model.refit(rule="one_se").residuals_ is None
    streamed = snb.ElasticNetCV(intervals=True, exact=False).fit(
        iter([(X[:2000], SKEWED[:2000]), (X[2000:], SKEWED[2000:])])
    )
    np.testing.assert_allclose(streamed.residuals_.ends(0.9), whole, atol=0.05)


@pytest.mark.parametrize(
    "wrong, says",
    [
        (lambda: snb.PoissonRegressorCV(n_alphas=2).fit(X, COUNTS).predict(X, interval=90), "between 0 and 1"),
        (lambda: snb.Ridge().fit(X, SKEWED).predict(X, interval=0.9), "this Ridge has none: call model.calibrate"),
        (lambda: snb.ElasticNetCV().fit(X, SKEWED).predict(X, interval=0.9), "ElasticNetCV.intervals=True"),
        (lambda: snb.Ridge().fit(X, SKEWED).calibrate(X[:9], SKEWED[:9]).predict(X, interval=0.9), "needs 19 held-out"),
        (lambda: snb.Ridge().fit(X, X).calibrate(X, X), "4 targets"),
        (lambda: snb.ElasticNetCV(intervals=True).fit(X, X), "4 targets"),
        (lambda: snb.GammaRegressor().fit(X, AMOUNTS).calibrate(X, -AMOUNTS), "above 0"),
        (lambda: snb.ElasticNetCV(intervals="yes").fit(X, SKEWED), "intervals='yes'"),
        (lambda: snb.ForwardRegression(2, intervals=True).fit(X, SKEWED), "calibrate"),
        (lambda: snb.ElasticNetCV().fit(X, SKEWED).refit(intervals=True), "intervals=True needs the rows again"),
    ],
)
def test_wrong_uses_are_refused(wrong, says):
    with pytest.raises(ValueError, match=says):
        wrong()

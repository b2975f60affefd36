"""Evaluations of predicted numbers: intervals of metrics, deciles, the Gini index, coverage and slices."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm, t

import streamnb as snb

rng = np.random.default_rng(0)
X = rng.normal(size=(1500, 3))
Y = X[:, 0] + rng.exponential(size=1500) + 1000.0
CLAIMS = rng.poisson(np.exp(0.5 * X[:, 0])).astype(float)
YEARS = rng.uniform(0.1, 2.0, 1500)
WARD = rng.choice(["A", "B", "C"], 1500)
MODEL = snb.ElasticNetCV(intervals=True).fit(X[:500], Y[:500])
COUNTS = snb.PoissonRegressorCV(n_alphas=3).fit(X[:500], CLAIMS[:500])
METRICS = "r2", "rmse", "mae", "mean_error", "d2", "mean_deviance"


@pytest.mark.parametrize("model, y", [(MODEL, Y), (COUNTS, CLAIMS)])
def test_intervals_are_those_of_rows_left_out_one_by_one(model, y):
    judged, mean = model.evaluate(X, y, interval=0.9), model.predict(X)
    for metric in METRICS:
        left_out = []
        for row in range(0, 1500, 5):  # with the four after it, since that is quicker
            kept = np.r_[:row, row + 5 : 1500]
            left_out.append(judged_by_numpy(model, y[kept], mean[kept])[metric])
        low, high = judged.interval(metric)
        error = np.sqrt(299 / 300 * np.square(left_out - np.mean(left_out)).sum())
        assert getattr(judged, metric) == pytest.approx(0.5 * (low + high), rel=1e-6)
        assert 0.5 * (high - low) == pytest.approx(norm.ppf(0.95) * error, rel=0.15), metric
    half = t.ppf(0.95, 1499) * np.abs(y - mean).std(ddof=1) / np.sqrt(1500)
    assert np.ptp(judged.interval("mae")) == pytest.approx(2.0 * half, rel=1e-9)


def judged_by_numpy(model, y, mean):
    def deviance(mean):
        if model is MODEL:
            return np.square(y - mean).mean()
        return 2.0 * (mean - y + y * np.log(np.where(y > 0.0, y, 1.0) / np.where(y > 0.0, mean, 1.0))).mean()

    error = y - mean
    squares, absolute = np.square(error).mean(), np.abs(error).mean()
    of_mean = deviance(np.full(len(y), y.mean()))
    values = 1.0 - squares / y.var(), squares**0.5, absolute, error.mean(), 1.0 - deviance(mean) / of_mean
    return dict(zip(METRICS, (*values, deviance(mean)), strict=True))


def test_a_weight_of_two_is_two_rows_and_cuts_do_not_matter():
    whole = COUNTS.evaluate(X, CLAIMS, np.full(1500, 2.0), interval=0.9, by={"ward": WARD})
    copies = COUNTS.evaluate(np.r_[X, X], np.r_[CLAIMS, CLAIMS], interval=0.9, by={"ward": np.r_[WARD, WARD]})
    cut = COUNTS.evaluate(
        da.from_array(X, chunks=(170, 3)), CLAIMS, np.full(1500, 2.0), interval=0.9, by={"ward": WARD}
    )
    for other in (copies, cut):
        np.testing.assert_array_equal(other.deciles, whole.deciles)
        np.testing.assert_array_equal(other.coverage, whole.coverage)
        np.testing.assert_allclose([*other.summary().values()], [*whole.summary().values()], rtol=1e-13)
    pd.testing.assert_frame_equal(cut.slices, whole.slices)


def test_deciles_and_gini_are_those_of_sorted_rows():
    judged, counts = COUNTS.evaluate(X, CLAIMS * YEARS, offset=np.log(YEARS)), CLAIMS * YEARS
    mean = COUNTS.predict(X)
    order = np.argsort(mean)
    share, found = (np.append(0.0, np.cumsum(part[order]) / part.sum()) for part in (YEARS, counts))
    assert judged.gini == pytest.approx(1.0 - 2.0 * np.trapezoid(found, share), abs=1e-4)
    deciles = judged.deciles
    assert len(deciles) == 10 and deciles["weight"].sum() == pytest.approx(YEARS.sum())
    first = order[np.cumsum(YEARS[order]) < deciles["weight"][0] + 1e-6]
    assert deciles["true"][0] == pytest.approx(counts[first].sum() / YEARS[first].sum())
    assert deciles["predicted"][0] == pytest.approx((mean * YEARS)[first].sum() / YEARS[first].sum())
    assert deciles["lift"][0] == pytest.approx(deciles["true"][0] / (counts.sum() / YEARS.sum()))
    assert np.isnan(MODEL.evaluate(X, Y - 1000.0).gini)


def test_slices_are_evaluations_of_their_rows_and_groups_are_not_independent():
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(ward=WARD, y=Y)
    model = snb.Ridge().fit(frame[["a", "b", "c"]], frame["y"])
    judged = snb.evaluate(model, frame, "y", by="ward", interval=0.9)
    for ward in "ABC":
        own = model.evaluate(frame[ward == WARD][["a", "b", "c"]], Y[ward == WARD], interval=0.9)
        table = judged.slices.query("slice == @ward").set_index("metric")
        for metric in ("rmse", "mae", "mean_error", "r2"):
            expected = [getattr(own, metric), *own.interval(metric)]
            np.testing.assert_allclose(table.loc[metric, ["value", "low", "high"]].astype(float), expected, rtol=1e-6)
    grouped = snb.evaluate(model, frame, "y", groups="ward", interval=0.9)
    away = np.abs(Y - model.predict(frame[["a", "b", "c"]])) - grouped.mae
    by_ward = np.array([away[ward == WARD].sum() for ward in "ABC"]) / 1500
    half = t.ppf(0.95, 2) * np.sqrt(1.5 * np.square(by_ward).sum())
    assert np.ptp(grouped.interval("mae")) == pytest.approx(2.0 * half, rel=1e-6)


def test_coverage_is_that_of_predicted_intervals():
    judged = MODEL.evaluate(X[500:], Y[500:], interval=0.95)
    assert "in 90 % intervals" in repr(judged) and "[" in judged._repr_html_()
    for level, share, low, high, width in judged.coverage.itertuples(index=False):
        _, lower, upper = MODEL.predict(X[500:], interval=level).T
        assert share == pytest.approx(((lower <= Y[500:]) & (Y[500:] <= upper)).mean()) and low < share < high
        assert width == pytest.approx((upper - lower).mean())
    assert len(judged.coverage) == 4 and not len(snb.Ridge().fit(X, Y).evaluate(X, Y).coverage)


@pytest.mark.parametrize(
    "wrong, says",
    [
        (lambda: MODEL.evaluate(X, Y).interval("rmse"), "without intervals; give interval=0.95"),
        (lambda: MODEL.evaluate(X, Y, interval=0.9).interval("accuracy"), "one of r2, rmse, mae"),
        (lambda: MODEL.evaluate(X, Y, interval=9), "between 0 and 1"),
        (lambda: MODEL.evaluate(X, Y, groups=WARD), "groups"),
        (lambda: MODEL.evaluate(X, Y, interval=0.9, groups=np.ones(1500, int)), "groups has one group"),
        (lambda: MODEL.evaluate(X, Y).slices, "give by="),
        (lambda: snb.Ridge().fit(X, X).evaluate(X, X, interval=0.9), "one target"),
        (lambda: snb.Ridge().fit(X, X).evaluate(X, X).gini, "one target"),
    ],
)
def test_wrong_uses_are_refused(wrong, says):
    with pytest.raises(ValueError, match=says):
        wrong()


def test_slices_of_rows_in_groups_are_those_of_their_rows_alone():
    rng = np.random.default_rng(5)
    X, groups, by = rng.normal(size=(240, 3)), np.arange(240) // 6, np.arange(240) % 3
    y = X[:, 0] + rng.normal(size=240) + rng.normal(size=40)[groups]
    model = snb.Ridge().fit(X, y)
    found = snb.evaluate(model, X, y, by=by, groups=groups, min_rows=10).slices.set_index(["slice", "metric"])
    for value in range(3):
        some = by == value
        alone = snb.evaluate(model, X[some], y[some], groups=groups[some], interval=0.95)
        for metric in ("rmse", "mae", "r2"):
            expected = getattr(alone, metric), *alone.interval(metric)
            one = found.loc[(value, metric), ["value", "low", "high"]].to_numpy(float)
            np.testing.assert_allclose(one, expected, rtol=1e-12)

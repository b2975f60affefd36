"""Standard errors, evidence and explanations against formulas that see all rows."""

import numpy as np
import pytest
from scipy import stats

import streamnb as snb
from streamnb.estimators.penalised import evidence, most_evident
from streamnb.estimators.target_sums import System
from tests.estimators.test_paths import X, Y
from tests.estimators.test_target_sums import summed
from tests.support.refusals import refuses

SMALL = X[:, :4]


def test_standard_errors_are_those_of_the_rows():
    design = np.column_stack([np.ones(120), SMALL])
    inverse = np.linalg.inv(design.T @ design)
    weights = inverse @ design.T @ Y
    noise = np.sum((Y - design @ weights) ** 2) / (120 - 5)
    table = snb.Ridge(0.0).fit(SMALL, Y).summary(0.9)
    assert table["feature"].tolist() == ["(intercept)", "x0", "x1", "x2", "x3"]
    errors = np.sqrt(noise * inverse.diagonal())
    np.testing.assert_allclose(table["weight"], weights, rtol=1e-9)
    np.testing.assert_allclose(table["standard_error"], errors, rtol=1e-9)
    np.testing.assert_allclose(table["p"], 2.0 * stats.t.sf(np.abs(weights / errors), 115), rtol=1e-6)
    half = stats.t.ppf(0.95, 115) * errors
    np.testing.assert_allclose(table["upper"] - table["lower"], 2.0 * half, rtol=1e-9)


def test_errors_of_ridge_weights_are_those_of_many_draws():
    signal = SMALL @ [0.2, -0.1, 0.05, 0.0]
    drawn = signal[:, None] + np.random.default_rng(0).normal(size=(120, 400))
    model = snb.Ridge(50.0).fit(SMALL, drawn)
    errors = model.summary().groupby("feature")["standard_error"].mean()
    np.testing.assert_allclose(errors[["x0", "x1", "x2", "x3"]], model.coef_.std(axis=0), rtol=0.1)


def test_too_few_rows_have_no_standard_errors():
    refuses(ValueError, "4 rows are too few for the standard errors", snb.Ridge(0.0).fit(X[:4, :3], Y[:4]).summary)


def test_evidence_is_that_of_the_joint_normal_distribution():
    # the intercept is integrated out: targets in any basis orthogonal to the constant
    basis = np.linalg.svd(np.ones((1, 120)))[2][1:]
    rows, targets, system = basis @ SMALL, basis @ Y, System(summed(SMALL, Y, None))
    for strength in (0.1, 3.0, 200.0):
        covariance = np.eye(119) + rows @ rows.T / strength
        noise = targets @ np.linalg.solve(covariance, targets) / 119
        wanted = stats.multivariate_normal(np.zeros(119), noise * covariance).logpdf(targets)
        assert evidence(system, strength) == pytest.approx(wanted, rel=1e-9)


def test_the_strength_of_the_largest_evidence_is_found():
    model = snb.Ridge("evidence").fit(SMALL, Y)
    near = [evidence(System(model.stats_), model.alpha_ * factor) for factor in (0.9, 1.0, 1.1)]
    assert near[1] == max(near) == model.log_evidence()
    assert snb.Ridge(0.0).fit(SMALL, Y).log_evidence() == -np.inf


def test_an_evidence_without_a_maximum_is_told():
    noise = np.random.default_rng(5).normal(size=120)
    centred = SMALL - SMALL.mean(axis=0)
    noise -= centred @ np.linalg.lstsq(centred, noise, rcond=None)[0]
    with pytest.warns(snb.StreamnbWarning, match="takes the largest: X hardly predicts y"):
        most_evident(System(summed(SMALL, noise, None)))


def test_contributions_add_up_to_the_prediction():
    model = snb.Ridge(0.3).fit(SMALL, np.column_stack([Y, -Y]))
    table = model.explain(SMALL[:1])
    sums = table.groupby("target")["contribution"].sum()
    np.testing.assert_allclose(sums, model.predict(SMALL[:1])[0], rtol=1e-12)
    assert table["feature"][0] == "(intercept)"
    refuses(ValueError, "X has 2 rows; explain is of one", lambda: model.explain(SMALL[:2]))

"""Losses of generalised regressions against their definition, numerical derivatives, and scikit-learn's deviances."""

import numpy as np
import pytest
from sklearn.metrics import mean_tweedie_deviance

from streamnb.problem.losses import QuantileLoss, TweedieLoss, slopes_bound

LOG = [(power, "log") for power in (0, 1, 1.001, 1.5, 1.99, 2, 3)]
IDENTITY = [(power, "identity") for power in (0, 1, 1.5, 2)]


@pytest.mark.parametrize(("power", "link"), [*LOG, *IDENTITY])
def test_losses_are_half_deviances_and_their_slopes_and_curvatures_are_derivatives(power, link):
    loss, rng = TweedieLoss(power, link), np.random.default_rng(0)
    mean, y = rng.lognormal(0.0, 2.0, (2, 100))
    y[:20] *= not 1 <= power < 2
    s = loss.linked(mean)
    deviances = [mean_tweedie_deviance([y[i]], [mean[i]], power=power) for i in range(len(y))]
    np.testing.assert_allclose(2.0 * loss.values(s, y), deviances, rtol=1e-6, atol=1e-11 * mean.max() ** 2)
    step = 1e-5 * (np.maximum(np.abs(s), 0.1) if link == "log" else mean)
    slopes = loss.slopes(s, y)
    numeric = (loss.values(s + step, y) - loss.values(s - step, y)) / (2.0 * step)
    np.testing.assert_allclose(slopes, numeric, rtol=1e-4, atol=1e-4 * (1.0 + loss.values(s, y).max() * 1e-6))
    if loss.convex:
        numeric = (loss.slopes(s + step, y) - loss.slopes(s - step, y)) / (2.0 * step)
        np.testing.assert_allclose(loss.curvatures(s, y), numeric, rtol=1e-5, atol=1e-5)
    if link == "log":
        offset, weight = rng.normal(size=(2, 100))
        target, exposed = loss.absorbed(y, weight, offset)
        np.testing.assert_allclose(weight * loss.values(s + offset, y), exposed * loss.values(s, target), 1e-6, 1e-10)
        assert (np.abs(slopes) <= slopes_bound(loss.values(s, y), np.abs(y) ** (2 - power))).all()


@pytest.mark.parametrize(
    ("power", "y", "offset", "words"),
    [
        (0.5, [1.0], 0.0, "power=0.5 should be 0"),
        (1.0, [2.0, -1.0], 0.0, "y has -1 at row 8; targets of a Poisson model should be at least 0"),
        (2.0, [0.0], 0.0, "y has 0 at row 7; targets of a Gamma model should be above 0"),
        (1.0, [1.0], np.inf, "offset has inf at row 7; it should be finite, the logarithm of an exposure above 0"),
        (1.5, [1.0], np.nan, "offset has nan at row 7"),
    ],
)
def test_impossible_powers_targets_and_offsets_are_refused(power, y, offset, words):
    with pytest.raises(ValueError, match=words.replace("(", r"\(")):
        loss = TweedieLoss(power, "log")
        loss.check(np.array(y), first_row=7)
        loss.check_offset(np.array([offset]), first_row=7)


@pytest.mark.parametrize("quantile", [0.05, 0.5, 0.9])
def test_smooth_pinball_losses_are_just_above_the_pinball_loss_and_below_their_parabolas(quantile):
    loss, s, y = QuantileLoss(quantile, 0.3), np.linspace(-9, 9, 401)[:, None], np.array([0.0, 2.0])
    smooth, slopes = loss.evaluated(s, y)
    sharp = loss.values(s, y)
    np.testing.assert_allclose(sharp, 0.5 * np.where(y > s, quantile * (y - s), (1.0 - quantile) * (s - y)))
    assert (smooth >= sharp - 1e-12).all() and (smooth - sharp).max() <= 0.15 * np.log(2.0) + 1e-12
    np.testing.assert_allclose(slopes, loss.slopes(s, y), atol=1e-12)
    np.testing.assert_allclose(
        slopes, (loss.evaluated(s + 1e-6, y)[0] - loss.evaluated(s - 1e-6, y)[0]) / 2e-6, atol=1e-8
    )
    assert np.abs(slopes).max() <= loss.steepest
    for step in (-3.0, -0.1, 0.1, 3.0):
        parabola = smooth + step * slopes + 0.5 * step**2 * loss.curvatures(s, y)
        assert (loss.evaluated(s + step, y)[0] <= parabola + 1e-12).all()
    weight = np.array([1.0, 3.0, 1.0])
    constant = loss.constant(np.array([5.0, 1.0, 2.0]), weight)
    assert constant == {0.05: 1.0, 0.5: 1.0, 0.9: 5.0}[quantile]
    residuals = y - s
    bound = loss.most(0.5 * float((residuals**2).sum()), residuals.size)
    assert smooth.sum() <= bound < 3.0 * smooth.sum() / min(quantile, 1.0 - quantile)

"""The reliability picture draws the curve of the evaluation."""

import numpy as np
import pytest
from matplotlib import pyplot as plt
from scipy.stats import binomtest

import streamnb as snb
from streamnb.plotting.reliability import ReliabilityDisplay


@pytest.mark.parametrize("multilabel", [False, True])
def test_what_is_drawn_is_the_curve_of_the_evaluation(multilabel):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 80)
    X = rng.poisson(rng.gamma(1.0, 1.0, (3, 6))[y]).astype(float)
    y = (y[:, None] == np.arange(3)).astype(int) if multilabel else y
    model = snb.LinearNB("poisson").fit(X, y)
    display = ReliabilityDisplay.from_estimator(model, X, y, color="k")
    judged = snb.evaluate(y, proba=model.predict_proba(X))
    proba, right, _ = judged.reliability_curve()
    np.testing.assert_allclose(display.line_.get_xdata(), proba)
    np.testing.assert_allclose(display.line_.get_ydata(), right)
    assert display.line_.get_color() == "k"
    assert f"{judged.expected_calibration_error():.3f}" in display.line_.get_label()
    sizes = display.points_.get_sizes()
    assert np.argmax(sizes) == np.argmax(display.share) and display.ax_.get_legend() is None
    assert ReliabilityDisplay.from_evaluation(judged, ax=display.ax_).figure_ is display.figure_
    plt.close("all")


@pytest.mark.parametrize(("right", "way"), [(0.5, "too sure"), (0.79, "too cautious"), (0.704, "as sure as right")])
def test_the_title_says_whether_the_model_is_too_sure(right, way):
    half = np.array([0.5, 0.5])
    display = ReliabilityDisplay(np.array([0.6, 0.8]), np.array([right, right]), half, 0.1).plot()
    assert display.ax_.get_title("left").replace("\n", " ").startswith(f"The model is {way}: it says 70.0%")
    plt.close("all")


def test_what_has_no_probabilities_is_refused():
    with pytest.raises(TypeError, match="it should be what"):
        ReliabilityDisplay.from_evaluation(0.5)
    with pytest.raises(ValueError, match="needs 'reliability'"):
        ReliabilityDisplay.from_evaluation(snb.evaluate([0, 1], [0, 1]))
    votes = snb.LinearNB(scheme="ovo").fit(np.eye(3), [0, 1, 2])
    with pytest.raises(ValueError, match="'ovo' has no probabilities"):
        ReliabilityDisplay.from_estimator(votes, np.eye(3), [0, 1, 2])


def test_whiskers_are_wilsons():
    curve = np.array([0.5, 0.9]), np.array([0.4, 1.0]), np.array([0.5, 0.5])
    display = ReliabilityDisplay(*curve, 0.1, n_rows=40).plot()
    ends = [tuple(segment[:, 1]) for segment in display.whiskers_.get_segments()]
    known = [binomtest(k, 20).proportion_ci(method="wilson") for k in (8, 20)]
    np.testing.assert_allclose(ends, [(one.low, one.high) for one in known], atol=1e-12)
    assert "whiskers: 95 %" in " ".join(display.ax_.get_title("left").split())
    assert display.plot(interval=None).whiskers_ is None


def test_whiskers_of_fractional_weights_are_of_as_many_equal_rows():
    y, proba = np.arange(200) % 2, np.linspace(0.05, 0.95, 200)

    def drawn(**options):
        return ReliabilityDisplay.from_evaluation(snb.evaluate(y, proba=proba, **options)).n_rows

    assert drawn() == 200.0
    assert drawn(interval=0.9, sample_weight=np.full(200, 0.25)) == pytest.approx(200.0)
    assert drawn(sample_weight=np.full(200, 0.25)) is None and drawn(interval=0.9, groups=np.arange(200)) is None

"""ROC curves: what is drawn is what was given."""

import numpy as np
import pytest

import streamnb as snb
from streamnb.plotting.roc import RocDisplay

rng = np.random.default_rng(0)
Y = rng.integers(0, 3, 60)
X = rng.poisson(rng.gamma(1.0, 1.0, (3, 6))[Y]).astype(float)


def names_of(display):
    return [text.get_text() for legend in display.figure_.legends for text in legend.get_texts()]


def test_curves_of_classes_by_hand():
    curve = np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 1.0])
    display = RocDisplay({"a": curve, "b": curve}, {"a": 1.0, "b": 0.9}, mean=curve, error=0.01).plot(n_named=1)
    np.testing.assert_array_equal(display.lines_["b"].get_data(), curve)
    assert names_of(display) == ["a (1.000)", "1 other classes between", "mean (0.950)"]
    assert display.figure_.legends[0].get_title().get_text() == "class (area)\nareas within 0.01"
    assert RocDisplay({"a": curve}, {"a": 1.0}).plot().mean_ is None


def test_areas_of_an_evaluation_come_the_best_first():
    evaluation = snb.evaluate(Y, scores=rng.normal(size=(60, 3)) + np.array([0.0, 3.0, 1.0]) * (np.eye(3)[Y]))
    display = RocDisplay.from_evaluation(evaluation)
    assert list(display.roc_auc) == [1, 2, 0] == list(display.lines_)
    np.testing.assert_allclose([display.roc_auc[k] for k in range(3)], evaluation.roc_auc(average=None))
    with pytest.raises(ValueError, match="no class has both rows of its own and others"):
        RocDisplay.from_evaluation(snb.evaluate([1, 1], scores=[0.1, 0.2], classes=[0, 1]))


def test_the_corner_in_which_curves_differ_is_magnified():
    steep = np.array([0.0, 0.0, 0.1, 1.0]), np.array([0.0, 0.8, 1.0, 1.0])
    display = RocDisplay({"a": steep}, {"a": 0.99}).plot()
    assert display.ax_.get_xlim() == pytest.approx((-0.00125, 0.12625)) and display.ax_.get_ylim()[0] > 0.6
    assert (
        display.ax_.get_title("left").replace("\n", " ") == "a is separated from the others with area 0.990 (magnified)"
    )
    assert display.plot(zoom=False).ax_.get_xlim() == (-0.01, 1.01)
    flat = np.array([0.0, 1.0]), np.array([0.0, 1.0])
    display = RocDisplay({"a": steep, "b": flat}, {"a": 0.99, "b": 0.5}).plot()
    assert display.ax_.get_xlim() == display.ax_.get_ylim() == (-0.01, 1.01)
    assert display.ax_.get_title("left").replace("\n", " ") == "a is separated best (area 0.990), b worst (0.500)"


def test_bands_hold_both_rates_at_each_threshold():
    evaluation = snb.evaluate(Y > 0, scores=Y + rng.normal(size=60))
    display = RocDisplay.from_evaluation(evaluation, zoom=False)
    (band,) = display.bands_.values()
    low, high = band.get_paths()[0].vertices.min(axis=0), band.get_paths()[0].vertices.max(axis=0)
    assert (low >= -1e-9).all() and (high <= 1.0 + 1e-9).all()
    false, true = display.curves[True]
    assert all(band.get_paths()[0].contains_point(point, radius=1e-6) for point in zip(false[1:-1], true[1:-1]))
    assert "shaded: 95 % for both rates" in display.figure_.legends[0].get_title().get_text()
    assert not display.plot(interval=None).bands_
    with pytest.raises(ValueError, match="interval=2 should be"):
        display.plot(interval=2)

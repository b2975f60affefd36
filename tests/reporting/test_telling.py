"""Pictures of telling features: the largest weights as bars, all of them as images."""

import numpy as np
import pandas as pd
import pytest

import streamnb as snb
from tests.reporting.displays import counts, title
from tests.support.refusals import refused, refuses

X, Y = counts()
STATS = snb.scan(X, Y)


def test_models_of_several_reads_have_pictures_of_their_weights():
    model = snb.SoftmaxRegression(tol=0.1).fit(X, Y)
    display = snb.TellingFeaturesDisplay.from_estimator(model, class_=1)
    ((_, _, shown),) = display.groups
    np.testing.assert_allclose(np.abs(shown), -np.sort(-np.abs(model.coef_[1]) * X.std(axis=0)), rtol=1e-12)
    assert display.ax_.get_xlabel() == "weight per standard deviation for class 1"
    assert snb.ConfusionMatrixDisplay.from_estimator(model, X, Y).ax_ is not None


def test_regressions_have_bars_too():
    frame = pd.DataFrame({"far": [1.0, 2.0, 4.0, 3.0, 9.0], "near": [1.0, 0.0, 2.0, 0.0, 1.0]})
    model = snb.Ridge(alpha=0.0).fit(frame, 3.0 * frame["far"] - frame["near"])
    display = snb.TellingFeaturesDisplay.from_estimator(model)
    ((_, names, weights),) = display.groups
    assert names == ["far", "near"] and title(display) == "far matters most"
    np.testing.assert_allclose(weights, [3.0, -1.0] * frame.std(ddof=0))
    both = snb.Ridge(alpha=0.0).fit(frame, np.column_stack([frame["far"], frame["near"]]))
    assert snb.TellingFeaturesDisplay.from_estimator(both, 1, n_features=1).groups[0][1] == ["near"]
    with refused(ValueError, "class_=2 should be the number of a target, below 2"):
        snb.TellingFeaturesDisplay.from_estimator(both, 2)
    nothing = snb.Lasso(1e9).fit(frame, frame["far"])
    assert title(snb.TellingFeaturesDisplay.from_estimator(nothing)) == "No feature has a weight"


def test_bars_by_hand():
    groups = [("a", ["u", "v"], np.array([2.0, -1.0])), (("a", "b"), ["w"], np.array([0.5]))]
    display = snb.TellingFeaturesDisplay(groups).plot()
    assert [[bar.get_width() for bar in bars] for bars in display.bars_] == [[2.0, -1.0], [0.5]]
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == ["u", "v", "w"]
    assert [text.get_text() for text in display.ax_.texts] == ["class a", "b against a"]
    assert title(display) == "Evidence for each class (blue) and against it (orange)"
    assert len({bar.get_facecolor() for bar in display.bars_[0]}) == 2  # a colour for each sign
    plain = snb.TellingFeaturesDisplay(groups).plot(color="k").ax_.get_title("left")
    assert plain.replace("\n", " ") == "Evidence for each class and against it"
    alone = snb.TellingFeaturesDisplay(groups[:1]).plot().ax_
    assert alone.get_xlabel() == "weight for class a"
    assert alone.get_title("left").replace("\n", " ") == "u is the strongest evidence for class a, v against it"


def test_bars_go_from_what_is_for_to_what_is_against():
    display = snb.TellingFeaturesDisplay([("a", ["u", "v", "w"], np.array([-3.0, 2.0, 0.5]))]).plot()
    assert [bar.get_width() for bar in display.bars_[0]] == [2.0, 0.5, -3.0]
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == ["v", "w", "u"]
    against = snb.TellingFeaturesDisplay([("a", ["u"], np.array([-3.0]))]).plot()
    assert against.ax_.get_title("left").replace("\n", " ") == "u is the strongest against class a"


def test_features_that_are_pixels_are_images():
    model = snb.solve(STATS, "poisson")[0]
    display = snb.TellingFeaturesDisplay.from_estimator(model, image_shape=(2, 3))
    image = np.asarray(display.image_.get_array().filled(np.nan))
    tiles = [image[-2:, left : left + 3] for left in (0, 4, 8)]  # a column between
    np.testing.assert_array_equal(tiles, np.asarray(model.coef_).reshape(3, 2, 3))
    assert display.image_.norm.vmax == -display.image_.norm.vmin == np.abs(model.coef_).max()  # 0 has the middle colour
    assert [text.get_text() for text in display.ax_.texts] == ["class 0", "class 1", "class 2"] and not display.bars_
    assert "blue" in display.ax_.get_title("left")
    plain = display.plot(cmap="PiYG").ax_.get_title("left")
    assert plain.replace("\n", " ") == "Pixels that favour a class and against it"
    for wrong in ((2, 2), 6, (6.0, 1), (-2, -3)):
        with pytest.raises(ValueError, match=r"image_shape=.* should be \(height, width\) of 6 pixels"):
            snb.TellingFeaturesDisplay.from_estimator(model, image_shape=wrong)


def test_bars_of_a_model_are_its_largest_weights():
    model = snb.solve(STATS, "poisson", snb.TopK(2))[0]
    display = snb.TellingFeaturesDisplay.from_estimator(model, 1, n_features=4)
    ((name, features, weights),) = display.groups
    best = np.argsort(-np.abs(model.coef_[1]), kind="stable")[:2]  # two have a weight at all
    assert name == 1 and features == [f"x{j}" for j in best] and (weights == model.coef_[1, best]).all()
    assert len(snb.TellingFeaturesDisplay.from_estimator(model).groups) == 3
    with pytest.raises(ValueError, match="n_features=0 should be at least 1"):
        snb.TellingFeaturesDisplay.from_estimator(model, n_features=0)
    many = snb.solve(snb.scan(np.eye(6), np.arange(6)), scheme="ovo")[0]
    refuses(ValueError, "there are 15; name up to 12", lambda: snb.TellingFeaturesDisplay.from_estimator(many))

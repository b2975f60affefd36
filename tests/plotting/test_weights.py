"""Pictures of weights: what is drawn is what was given, and what a path holds."""

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot as plt

import streamnb as snb
from streamnb.plotting.weights import RegularizationPathDisplay, TellingFeaturesDisplay

matplotlib.use("Agg")
rng = np.random.default_rng(0)
Y = rng.integers(0, 3, 60)
X = rng.poisson(rng.gamma(1.0, 1.0, (3, 6))[Y]).astype(float)
STATS = snb.scan(X, Y)


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


def names_of(display):
    return [text.get_text() for legend in display.figure_.legends for text in legend.get_texts()]


@pytest.mark.parametrize("kind", [snb.SoftmaxRegression, snb.LeastSquaresClassifier])
def test_models_of_several_reads_have_pictures_of_their_weights(kind):
    model = kind(tol=0.1).fit(X, Y)
    display = TellingFeaturesDisplay.from_estimator(model, class_=1)
    ((_, _, shown),) = display.groups
    np.testing.assert_array_equal(np.abs(shown), -np.sort(-np.abs(model.coef_[1])))
    assert snb.ConfusionMatrixDisplay.from_estimator(model, X, Y).ax_ is not None


def test_a_path_by_hand():
    tau, weights = np.array([0.5, 1.0, 2.0]), np.array([[3.0, -1.0, 0.0], [2.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    given = dict(feature_names=["long", "short", "none"], class_="b", tau_name="tau of L1", chosen=1.5)
    display = RegularizationPathDisplay(tau, weights, breakpoints=np.array([9.0, 1.0, 0.2]), **given).plot(n_named=1)
    assert [line.get_xydata().tolist() for line in display.lines_] == [
        [[0.5, 3.0], [1.0, 2.0], [2.0, 1.0]],
        [[0.5, -1.0], [1.0, 0.0], [2.0, 0.0]],
        [[0.5, 0.0], [1.0, 0.0], [2.0, 0.0]],
    ]
    assert display.breakpoints_.get_xdata().tolist() == [1.0]  # the others are outside of the picture
    assert names_of(display) == ["long", "a feature leaves", "chosen: 1.5"]
    assert (display.ax_.get_xlabel(), display.ax_.get_ylabel()) == ("tau of L1", "weight for class b")
    assert RegularizationPathDisplay(tau, weights, feature_names=["u", "v", "w"]).plot().breakpoints_ is None


def test_without_taus_the_grid_holds_every_breakpoint():
    display = RegularizationPathDisplay.from_stats(STATS, "poisson", snb.L1(), 1)
    breaks = np.sort(snb.solve(STATS).breakpoints(None, 1))[::-1]
    np.testing.assert_allclose(display.breakpoints, breaks)
    assert np.isin(breaks[breaks > display.tau[0]], display.tau).all() and display.tau[-1] > breaks[0]
    assert (np.abs(display.weights[-1]) == 0.0).all()
    given = RegularizationPathDisplay.from_stats(STATS, "poisson", snb.L1([1.0, 2.0]), 1)
    assert given.tau.tolist() == [1.0, 2.0]


def test_features_are_drawn_as_long_as_they_have_a_weight():
    path = snb.solve(STATS, "poisson", snb.L1([0.0, 1e9]) + snb.L2(0.5))
    display = RegularizationPathDisplay.from_path(path, 2, feature_names=list("abcdef"))
    order = np.argsort(-path.breakpoints(row=2), kind="stable")
    assert list(display.feature_names) == [list("abcdef")[j] for j in order]
    np.testing.assert_array_equal(display.weights, [path.weights(i, order, 2) for i in range(2)])


@pytest.mark.parametrize(
    ("penalty", "message"),
    [(None, "the path has one point"), (snb.L1([1.0, 2.0]) + snb.L2([1.0, 2.0]), "the path has the taus of l1 and l2")],
)
def test_one_tau_varies_along_a_path(penalty, message):
    with pytest.raises(ValueError, match=message):
        RegularizationPathDisplay.from_path(snb.solve(STATS, "poisson", penalty), 1)
    with pytest.raises(TypeError, match="should be a WeightPath"):
        RegularizationPathDisplay.from_path(STATS, 1)


def test_bars_by_hand():
    groups = [("a", ["u", "v"], np.array([2.0, -1.0])), (("a", "b"), ["w"], np.array([0.5]))]
    display = TellingFeaturesDisplay(groups).plot()
    assert [[bar.get_width() for bar in bars] for bars in display.bars_] == [[2.0, -1.0], [0.5]]
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == ["u", "v", "w"]
    assert [text.get_text() for text in display.ax_.texts] == ["class a", "b against a"]
    assert len({bar.get_facecolor() for bar in display.bars_[0]}) == 2  # a colour for each sign
    assert TellingFeaturesDisplay(groups[:1]).plot().ax_.get_xlabel() == "weight for class a"


def test_bars_of_a_model_are_its_largest_weights():
    model = snb.solve(STATS, "poisson", snb.TopK(2))[0]
    display = TellingFeaturesDisplay.from_estimator(model, 1, n_features=4)
    ((name, features, weights),) = display.groups
    best = np.argsort(-np.abs(model.coef_[1]), kind="stable")[:2]  # two have a weight at all
    assert name == 1 and features == [f"x{j}" for j in best] and (weights == model.coef_[1, best]).all()
    assert len(TellingFeaturesDisplay.from_estimator(model).groups) == 3
    with pytest.raises(ValueError, match="n_features=0 should be at least 1"):
        TellingFeaturesDisplay.from_estimator(model, n_features=0)
    many = snb.solve(snb.scan(np.eye(6), np.arange(6)), scheme="ovo")[0]
    with pytest.raises(ValueError, match="there are 15; name up to 12"):
        TellingFeaturesDisplay.from_estimator(many)

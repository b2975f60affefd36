"""Pictures of weights: what is drawn is what was given, and what a path holds."""

import numpy as np
import pytest

import streamnb as snb
from streamnb.plotting.weights import RegularizationPathDisplay

rng = np.random.default_rng(0)
Y = rng.integers(0, 3, 60)
X = rng.poisson(rng.gamma(1.0, 1.0, (3, 6))[Y]).astype(float)
STATS = snb.scan(X, Y)


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
    assert [text.get_text() for text in display.ax_.texts] == ["long"]
    legend = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert legend == ["a feature leaves", "chosen: 1.5"] and display.ax_.yaxis.get_label_position() == "right"
    assert display.ax_.get_title("left").startswith("long stays longest of 3 features")
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

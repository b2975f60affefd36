"""Pictures of weights: what is drawn is what was given, and what a path holds."""

import numpy as np
import pytest

import streamnb as snb
from tests.reporting.displays import counts

X, Y = counts()
STATS = snb.scan(X, Y)


def test_a_path_by_hand():
    tau, weights = np.array([0.5, 1.0, 2.0]), np.array([[3.0, -1.0, 0.0], [2.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    given = dict(feature_names=["long", "short", "none"], class_="b", tau_name="tau of L1", chosen=1.5)
    display = snb.RegularizationPathDisplay(tau, weights, breakpoints=np.array([9.0, 1.0, 0.2]), **given).plot(
        n_named=1
    )
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
    assert snb.RegularizationPathDisplay(tau, weights, feature_names=["u", "v", "w"]).plot().breakpoints_ is None


def test_without_taus_the_grid_holds_every_breakpoint():
    display = snb.RegularizationPathDisplay.from_stats(STATS, "poisson", snb.L1(), 1)
    breaks = np.sort(snb.solve(STATS).breakpoints(None, 1))[::-1]
    np.testing.assert_allclose(display.breakpoints, breaks)
    assert np.isin(breaks[breaks > display.tau[0]], display.tau).all() and display.tau[-1] > breaks[0]
    assert (np.abs(display.weights[-1]) == 0.0).all()
    given = snb.RegularizationPathDisplay.from_stats(STATS, "poisson", snb.L1([1.0, 2.0]), 1)
    assert given.tau.tolist() == [1.0, 2.0]


def test_two_taus_that_vary_are_panels():
    path = snb.solve(STATS, "poisson", snb.L1([0.0, 1.0, 2.0]) + snb.L2([0.0, 5.0]))
    display = snb.RegularizationPathDisplay.from_path(path, 1)
    first, second = axes = display.figure_.axes
    assert [ax.get_title() for ax in axes] == ["l2 = 0", "l2 = 5"] == display.panel_names
    assert display.ax_ is first and first.get_ylim() == second.get_ylim()
    features = [int(name[1:]) for name in display.feature_names]
    for i, point in enumerate(path.grid):
        panel, at = int(point["l2"] == 5.0), [0.0, 1.0, 2.0].index(point["l1"])
        assert (display.weights[panel, at] == path[i].coef_[1, features]).all()
    np.testing.assert_array_equal([line.get_ydata() for line in display.lines_], np.hstack([*display.weights]).T)
    assert {text.get_text() for text in first.texts} == {*display.feature_names} and not second.texts
    with pytest.raises(ValueError, match=r"ax=.*: there are 2 panels, which have axes of their own"):
        display.plot(first)

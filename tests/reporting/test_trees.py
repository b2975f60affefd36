"""The picture of a tree: places, widths, names, and what is refused."""

import numpy as np
import pandas as pd

import streamnb as snb

rng = np.random.default_rng(5)
X = pd.DataFrame(rng.integers(0, 2, (60, 5)), columns=["age", "height", "a" * 50, "weight", "shoes"])
X["shoes"] = X["height"] ^ (rng.random(60) < 0.1)
Y = rng.integers(0, 2, 60)


def test_each_feature_has_its_place_and_each_edge_its_width():
    parents, information = np.array([-1, 0, 0, 1, -2]), np.array([0.0, 0.2, 0.1, 0.0, 0.0])
    display = snb.TreeDisplay(list("abcde"), parents, information).plot(colors="black")
    places = {label.get_text(): tuple(map(float, label.xy)) for label in display.labels_}
    assert places == {"a": (0.0, 0.0), "c": (1.0, 1.0), "b": (1.0, 2.0), "d": (2.0, 3.0)}
    assert display.ax_.get_title("left").startswith("a and b share most")
    forest = snb.TreeDisplay(list("abcde"), np.array([-1, -1, 1, -1, 2]), information).plot()
    places = {label.get_text(): tuple(map(float, label.xy)) for label in forest.labels_}
    assert {name: line for name, (_, line) in places.items()} == {"b": 0.0, "c": 1.0, "e": 2.0, "d": 3.0, "a": 4.0}
    chain = snb.TreeDisplay(range(9), np.arange(-1, 8), np.ones(9)).plot()
    assert [label.xy[0] for label in chain.labels_] == list(range(9))  # each below its parent, and beside it
    deep = snb.TreeDisplay(range(90), np.arange(-1, 89), np.ones(90)).plot()
    assert deep.figure_.get_size_inches()[0] < 16.0
    widths = display.edges_.get_linewidths()
    assert len(widths) == 3 and widths[0] > widths[1] > widths[2] > 0.0


def test_the_tree_of_a_model_has_its_names():
    model = snb.TreeNB().fit(X, Y)
    display = snb.TreeDisplay.from_estimator(model)
    names = [label.get_text() for label in display.labels_]
    assert names == [name if len(name) < 33 else "a" * 31 + "…" for name in X.columns]
    named = snb.TreeDisplay.from_estimator(model, feature_names=list("abcde"), ax=display.ax_)
    assert named.figure_ is display.figure_ and named.names == list("abcde")
    assert len(snb.TreeDisplay.from_estimator(snb.TreeNB(max_features=2).fit(X, Y)).labels_) == 2
    one = snb.TreeDisplay.from_estimator(snb.TreeNB().fit(X[["age"]], Y))
    assert len(one.labels_) == 1 and not len(one.edges_.get_paths())

"""Displays the tree of features of tree-augmented naive Bayes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from streamnb.estimators.tree_nb import TreeNB
from streamnb.plotting.drawing import COLOURS, axes, check_fitted, feature_names_of, set_title, shortened

STEP, WIDTH, BESIDE = 0.45, 12.0, 2.7  # inches: of a step to the right, of all steps at most, and of names
WIDEST = 4.0  # line width, in points, of the edge with the most information


class TreeDisplay:
    """The tree of features, its root on top; wider edges mean more mutual information of their ends.

    Where the model has several trees, the largest comes first; isolated features are at the bottom.

    Parameters
    ----------
    names : (n_features,) str
    parents : (n_features,) int
        The parent of each feature, -1 of roots, -2 of features that are not drawn.
    information : (n_features,) float
        Mutual information of each feature and its parent, given the class, in nats.

    Attributes
    ----------
    ax_, figure_ : matplotlib axes and figure
    edges_ : LineCollection
    labels_ : list of Text, of the features that are drawn

    Examples
    --------
    >>> import streamnb as snb
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]] * 10, [0, 1, 1, 0] * 10
    >>> display = snb.TreeDisplay.from_estimator(snb.TreeNB().fit(X, y), feature_names=["snow", "wind"])
    >>> [label.get_text() for label in display.labels_]
    ['snow', 'wind']
    """

    def __init__(self, names: Sequence[Any], parents: np.ndarray, information: np.ndarray):
        self.names, self.parents, self.information = list(names), np.asarray(parents), np.asarray(information)

    @classmethod
    def from_estimator(cls, estimator: Any, *, feature_names: Any = None, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the tree of a fitted model.

        Parameters
        ----------
        estimator : TreeNB
        feature_names : (`n_features_in_`,), optional
        ax : matplotlib axes, optional
        **kwargs
            Properties of the edges.
        """
        check_fitted(estimator, TreeNB, "a fitted snb.TreeNB, which has a tree", "stats_")
        names = getattr(estimator, "feature_names_in_", None) if feature_names is None else feature_names
        names = feature_names_of(names, None, estimator.n_features_in_)
        information = np.zeros(len(names))
        information[estimator.parents_ >= 0] = estimator.edges_["information"]
        return cls(names.tolist(), estimator.parents_, information).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw on `ax`, new ones unless given; keywords are those of the edges."""
        depth, height = self._places()
        drawn = np.flatnonzero(self.parents > -2)
        deepest = float(depth[drawn].max())
        step = min(STEP, WIDTH / max(deepest, 1.0))
        size = 0.9 + BESIDE + step * deepest, 1.0 + 0.24 * (float(height[drawn].max()) + 1.0)
        self.ax_ = ax = axes(ax, size)
        from matplotlib.collections import LineCollection

        self.figure_ = ax.figure
        children = np.flatnonzero(self.parents >= 0)
        ends = np.stack([depth, height], axis=-1)
        shared = self.information[children]
        widths = 0.4 + WIDEST * shared / max(float(shared.max(initial=0.0)), np.finfo(float).tiny)
        parents = self.parents[children]
        corners = np.stack([depth[parents], height[children]], axis=-1)
        lines = np.stack([ends[parents], corners, ends[children]], axis=1)
        self.edges_ = LineCollection(list(lines), **{"linewidths": widths, "colors": COLOURS[0], "zorder": 1, **kwargs})
        ax.add_collection(self.edges_)
        ax.scatter(*ends[drawn].T, 14.0, color=COLOURS[0], zorder=2)
        style = {"xytext": (6, 0), "textcoords": "offset points", "va": "center", "fontsize": "small"}
        self.labels_ = [ax.annotate(shortened(self.names[j]), ends[j], **style) for j in drawn]
        ax.set(xlim=(-0.3, deepest + BESIDE / step), ylim=(height[drawn].max() + 0.6, -0.6))
        ax.set_axis_off()
        if len(children):
            most = children[np.argmax(shared)]
            pair = f"{shortened(self.names[self.parents[most]])} and {shortened(self.names[most])}"
            set_title(ax, f"{pair} share most information, given the class (thicker lines: more)")
        else:
            set_title(ax, "no feature depends on another, given the class")
        return self

    def _places(self) -> tuple[np.ndarray, np.ndarray]:
        """Column and line of each feature; its column is one to the right of its parent's.

        The child with the most descendants comes last.
        """
        depth, height = np.zeros(len(self.parents)), np.zeros(len(self.parents))
        children: dict[int, list[int]] = {}
        for j in np.flatnonzero(self.parents >= -1).tolist():
            children.setdefault(int(self.parents[j]), []).append(j)
        order, todo = list[int](), list(children.get(-1, []))
        while todo:  # from the roots, each before its children
            at = todo.pop()
            order.append(at)
            todo += children.get(at, [])
        below = np.ones(len(self.parents))
        for j in reversed(order):
            below[j] += sum(below[child] for child in children.get(j, []))
        lines, todo = 0, sorted(children.get(-1, []), key=lambda j: below[j])
        while todo:
            at = todo.pop()
            height[at], lines = lines, lines + 1
            last = sorted(children.get(at, []), key=lambda j: below[j])
            depth[last] = depth[at] + 1.0
            todo += last[::-1]
        return depth, height

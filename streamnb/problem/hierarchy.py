"""Label hierarchies: a row with a label has all of its ancestors."""

from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any

import numpy as np

from streamnb.core import label_checks
from streamnb.problem.schemes import MultiLabel


class Nested(MultiLabel):
    """Binary relevance where labels imply others: ``follows[a, d]`` is true where a row with label d also has a."""

    name = "nested"

    def __init__(self, follows: np.ndarray):
        self.follows = follows

    def decide(self, margins: np.ndarray) -> np.ndarray:
        return (super().decide(margins) @ self.follows.T > 0).astype(np.int64)

    def log_proba(self, margins: np.ndarray) -> np.ndarray:
        own = super().log_proba(margins)
        return np.stack([own[:, below].max(axis=1) for below in self.follows], axis=1)


def check_hierarchy(hierarchy: Any) -> dict[Any, tuple[Any, ...]]:
    """The parents of each label that has any.

    Raises
    ------
    ValueError, TypeError
        The hierarchy is not a mapping of labels to labels, or it has a cycle.
    """
    if not isinstance(hierarchy, Mapping) or not hierarchy:
        raise TypeError(f"hierarchy={hierarchy!r} should map labels to their parents, such as {{'dog': 'animal'}}")
    parents = {}
    for label, above in hierarchy.items():
        several = above if isinstance(above, list | tuple | set | frozenset) else (above,)
        parents[label_checks.plain(label)] = tuple(map(label_checks.plain, several))
    try:
        TopologicalSorter(parents).prepare()
    except CycleError as error:
        circle = " -> ".join(map(repr, reversed(error.args[1])))
        raise ValueError(f"hierarchy has a circle, {circle}: each would follow from itself") from None
    return parents


def nested(parents: dict[Any, tuple[Any, ...]], classes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All labels of rows and hierarchy, sorted (L,), and (L, L) bool: ``follows[a, d]`` where label d implies a."""
    listed = {*classes.tolist(), *parents, *(one for above in parents.values() for one in above)}
    kinds = {label_checks.label_kind(np.asarray(one)) if np.ndim(one) == 0 else "objects" for one in listed}
    if len(kinds) > 1:
        raise ValueError(
            f"hierarchy and y should have labels of one kind, and have {' and '.join(sorted(kinds))}; y has, for one, "
            f"{classes[0].item()!r}, the hierarchy {next(iter(parents))!r}"
        )
    labels = label_checks.check_labels(sorted(listed), "hierarchy")
    place = {label: at for at, label in enumerate(labels.tolist())}
    follows = np.zeros((len(labels),) * 2, bool)
    for label, at in place.items():
        todo = [label]
        while todo:
            one = todo.pop()
            if not follows[place[one], at]:
                follows[place[one], at] = True
                todo += parents.get(one, ())
    return labels, follows

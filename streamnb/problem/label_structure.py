"""Sets of classes with models of their own: the labels of a hierarchy, and the bits of output codes."""

from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from typing import Any

import numpy as np

from streamnb.core import arguments, label_checks
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

    def hits(self, predicted: np.ndarray, lowest: np.ndarray, labels: np.ndarray) -> np.ndarray:
        """Where the lowest label of a row and all above it are predicted, and no other label, (n_rows,) bool."""
        at = np.minimum(np.searchsorted(labels, lowest), len(labels) - 1)
        return (predicted == self.follows[:, at].T).all(axis=1) & (labels[at] == lowest)


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


DRAWS = 32  # random codes, from which the one with the largest distance is taken


def check_code(code: Any, n_classes: int) -> np.ndarray:
    """Check a given code and return it as (n_classes, n_bits) bool.

    Raises
    ------
    ValueError
        An entry is neither 0 nor 1, the number of words is not that of the classes, all classes share a bit, or two
        classes have the same word.
    """
    given = np.asarray(code)
    if given.ndim != 2 or given.dtype.kind not in "buif" or not np.isin(given, (0, 1)).all():
        raise ValueError(f"code={code!r} should have a row of bits, 0 or 1, for each class")
    if len(given) != n_classes:
        raise ValueError(f"code has {len(given)} words; it should have one for each of the {n_classes} classes")
    words = given.astype(bool)
    same = np.flatnonzero(words.all(axis=0) | ~words.any(axis=0))
    if same.size:
        raise ValueError(f"bit {same[0]} of code is the same in all words; each should tell some classes from others")
    if n_classes > 1 and distance(words) == 0:
        raise ValueError("two classes have the same word of code; nothing would tell them apart")
    return words


def random_code(n_classes: int, code_size: float, seed: int) -> np.ndarray:
    """A code of ``code_size * n_classes`` bits, (K, B) bool: of several random ones, that with the largest distance."""
    size = arguments.finite_number("code_size", code_size, minimum=0.0)
    n_bits = max(int(size * n_classes), 1)
    least = max(int(np.ceil(np.log2(max(n_classes, 2)))), 1)
    if size == 0.0 or n_bits < least:
        raise ValueError(
            f"code_size={code_size} makes {n_bits} bits for {n_classes} classes, which have no words of their own in "
            f"these; it should be at least {least / n_classes:.3g}"
        )
    rng, best = np.random.default_rng(seed), np.zeros((n_classes, 0), bool)
    for _ in range(DRAWS):
        words = rng.random((n_classes, n_bits)) < 0.5
        same = words.all(axis=0) | ~words.any(axis=0)
        # a bit that all classes share carries no information
        words[rng.integers(n_classes, size=n_bits), np.arange(n_bits)] ^= same
        if not best.size or distance(words) > distance(best):
            best = words
    return best


def distance(words: np.ndarray) -> int:
    """The smallest number of bits in which two words differ."""
    signs = 2.0 * words - 1.0
    alike = signs @ signs.T
    np.fill_diagonal(alike, -np.inf)
    return round((words.shape[1] - float(alike.max())) / 2.0) if len(words) > 1 else words.shape[1]

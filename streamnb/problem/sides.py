"""The two sides that a row of weights compares.

The negative side is the other class or all other classes, which a penalty moves as much as the positive side, or
(joint) the pooled model, which is fixed.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from streamnb.problem.priors import Pseudo
from streamnb.stats.complements import HEAVY


@dataclass(frozen=True, slots=True, eq=False)
class Sides:
    """Smoothed sums S and counts N of both sides: sums (R, n_columns), counts (R, 1) or (1, 1).

    Counts have a column for each feature where the prior has one.

    `alive` (R, 1) is False in rows where a side has no weight at all: their weights are zero.
    `pooled` is True where the negative side is the pooled model. Its means are close to those of a class that
    outweighs all others; `apart` has a mask of such cells (broadcast), and sums and counts of the other classes.
    `room` has the amounts by which the sums of each side fall short of the highest mean, where some are so close to it
    that a difference of sums would have few digits; None elsewhere.
    """

    positive: np.ndarray
    n_positive: np.ndarray
    negative: np.ndarray
    n_negative: np.ndarray
    alive: np.ndarray
    pooled: bool
    apart: tuple[np.ndarray, np.ndarray, np.ndarray] | None = None
    room: "Sides | None" = None

    @property
    def both(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Sums and counts of both sides."""
        return [(self.positive, self.n_positive), (self.negative, self.n_negative)]

    def with_room(self, some: np.ndarray, room: "Sides", short: list[np.ndarray]) -> "Sides":
        """The same with the exact `room` of some features; that of the others is a plain difference, `short`."""
        for whole, found in zip(short, (room.positive, room.negative), strict=True):
            whole[:, some] = found
        apart = self.apart
        if apart is not None and room.apart is not None:
            others = np.zeros_like(apart[1])
            others[:, some] = room.apart[1]
            apart = apart[0], others, apart[2]
        return replace(self, room=replace(self, positive=short[0], negative=short[1], apart=apart))

    def picked(self, pick: Callable[[np.ndarray], np.ndarray]) -> "Sides":
        """The same with `pick` applied to all arrays."""
        (positive, n_positive), (negative, n_negative) = ((pick(sums), pick(counts)) for sums, counts in self.both)
        sides = positive, n_positive, negative, n_negative, pick(self.alive)
        apart = None if self.apart is None else (pick(self.apart[0]), pick(self.apart[1]), pick(self.apart[2]))
        return Sides(*sides, self.pooled, apart, None if self.room is None else self.room.picked(pick))


@dataclass(frozen=True, slots=True, eq=False)
class ClassSums:
    """Raw sums of some features: `sums(classes)` (n_classes, n_columns) of some classes, `total` of all rows.

    `outside(places, classes)` has the sums of all rows outside a class, for a list of features and classes, with all
    digits however much the class outweighs them.
    `counts` (K,) are the counts of the classes, `count` is that of all rows, each counted once, and `rests` (K,) are
    those of the rows outside each class. `seen` (K,) marks classes with any weight, `has_rest` (K,) classes with rows
    outside them.
    """

    sums: Callable[[Any], np.ndarray]
    outside: Callable[[np.ndarray, np.ndarray], np.ndarray]
    total: np.ndarray
    counts: np.ndarray
    count: float
    rests: np.ndarray
    seen: np.ndarray
    has_rest: np.ndarray

    def own(self, classes: Any) -> tuple[np.ndarray, np.ndarray]:
        """Sums (n_classes, n_columns) and counts (n_classes, 1) of some classes."""
        return self.sums(classes), self.aligned(self.counts, classes)

    def aligned(self, values: np.ndarray, classes: Any) -> np.ndarray:
        """The values of some classes, from (K,), in a shape that broadcasts with their sums."""
        return values[classes, None]

    def rest(self, sums: np.ndarray, classes: Any) -> np.ndarray:
        """Sums of all rows outside each class; `sums` are those of the classes."""
        rest = self.total - sums
        heavy = np.abs(sums) > HEAVY * np.abs(rest)
        if heavy.any():
            rest[heavy] = self.outside(*self.cells(heavy, classes))
        return rest

    def cells(self, where: np.ndarray, classes: Any) -> tuple[np.ndarray, np.ndarray]:
        """Features and classes of the marked cells of a table as `own` returns it."""
        rows, places = np.nonzero(where)
        return places, np.arange(len(self.counts))[classes][rows]


@dataclass(frozen=True, slots=True, eq=False)
class CellSums(ClassSums):
    """The same for a list of cells: one row of weights, in which each column has a class of its own."""

    values: np.ndarray  # (n_columns,) the sums of the cells

    def own(self, classes: Any) -> tuple[np.ndarray, np.ndarray]:
        return self.values[None], self.aligned(self.counts, classes)

    def aligned(self, values: np.ndarray, classes: Any) -> np.ndarray:
        return values[classes][None]

    def cells(self, where: np.ndarray, classes: Any) -> tuple[np.ndarray, np.ndarray]:
        places = np.flatnonzero(where[0])
        return places, classes[places]


def against_rest(data: ClassSums, pseudo: Pseudo, classes: Any) -> Sides:
    """Each class against all others."""
    sums, n_positive = data.own(classes)
    rest, n_rest = data.rest(sums, classes), data.aligned(data.rests, classes)
    alive = data.aligned(data.seen & data.has_rest, classes)
    own, others = pseudo.of(classes).smoothed(sums, n_positive), pseudo.of_others(classes).smoothed(rest, n_rest)
    return Sides(*own, *others, alive, False)


def class_against_class(data: ClassSums, pseudo: Pseudo, positive: np.ndarray, negative: np.ndarray) -> Sides:
    """Classes against other classes, each smoothed by itself."""
    alive = (data.seen[positive] & data.seen[negative])[:, None]
    (s_pos, n_pos), (s_neg, n_neg) = (
        pseudo.of(classes).smoothed(data.sums(classes), data.counts[classes, None]) for classes in (positive, negative)
    )
    return Sides(s_pos, n_pos, s_neg, n_neg, alive, False)


def from_heaviest(data: ClassSums, pseudo: Pseudo, classes: Any, sums: np.ndarray, n_positive: np.ndarray) -> Any:
    """The mask of a class that outweighs all others, and the smoothed sums and counts of the others; see `Sides.apart`.

    `sums` and `n_positive` are smoothed. None if no class outweighs the others, or it is not among the `classes`.
    """
    top = int(np.argmax(data.counts))
    seen = np.flatnonzero(data.seen)
    others = seen[seen != top]
    more = pseudo.of_all(others)
    n_others = np.atleast_2d(data.rests[top] + more.count)
    heavy = data.aligned(np.arange(len(data.counts)) == top, classes) & (n_positive > HEAVY * n_others)
    if not heavy.any():
        return None
    where, of_others = np.broadcast_to(heavy, sums.shape), np.zeros(sums.shape)
    if pseudo.highest is None:
        of_others[where] = data.outside(*data.cells(where, classes))
        of_others += more.sum
    else:
        of_others += pseudo.of(others).smoothed(data.sums(others), data.counts[others, None])[0].sum(axis=0)
    return heavy, of_others, n_others

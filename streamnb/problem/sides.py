"""The two sides that a row of weights sets against each other.

The negative side is the other class or all other classes, pulled as much as the positive one, or (joint) the pooled
model, held fixed.
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
    `pooled` is True where the negative side is the pooled model. This is next to the means of a class that outweighs
    all others: `apart` tells where (broadcast), and sums and counts of the others.
    `room` has what the sums of each side fall short of the highest mean there is, where some are so close to it that
    a difference of sums would have few digits; None elsewhere.
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
        """The same with the room of some features; of the others it is what a difference leaves, `short`."""
        for whole, found in zip(short, (room.positive, room.negative), strict=True):
            whole[:, some] = found
        apart = self.apart
        if apart is not None and room.apart is not None:
            others = np.zeros_like(apart[1])
            others[:, some] = room.apart[1]
            apart = apart[0], others, apart[2]
        return replace(self, room=replace(self, positive=short[0], negative=short[1], apart=apart))

    def picked(self, pick: Callable[[np.ndarray], np.ndarray]) -> "Sides":
        """The same with other arrays in place of all of its own."""
        (positive, n_positive), (negative, n_negative) = ((pick(sums), pick(counts)) for sums, counts in self.both)
        sides = positive, n_positive, negative, n_negative, pick(self.alive)
        apart = None if self.apart is None else (pick(self.apart[0]), pick(self.apart[1]), pick(self.apart[2]))
        return Sides(*sides, self.pooled, apart, None if self.room is None else self.room.picked(pick))


@dataclass(frozen=True, slots=True, eq=False)
class ClassSums:
    """Raw sums of some features: `sums(classes)` (n_classes, n_columns) of the classes asked for, `total` of all.

    `outside(places, classes)` are those of all rows outside a class, for a list of features and classes, with all
    their digits however much the class outweighs them.
    `counts` (K,) are the counts of all classes, `count` that of all rows, each once, `rests` (K,) those of the rows
    outside each class. `seen` (K,) tells which classes have any weight, `has_rest` (K,) which have rows outside them.
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
        """Sums and counts of the classes that rows of weights are of, (n_classes, n_columns) and (n_classes, 1)."""
        return self.sums(classes), self.beside(self.counts, classes)

    def beside(self, values: np.ndarray, classes: Any) -> np.ndarray:
        """Of values of all classes (K,) those that go with the sums of some."""
        return values[classes, None]

    def rest(self, sums: np.ndarray, classes: Any) -> np.ndarray:
        """Sums of all rows outside the classes that rows of weights are of; `sums` are those of the classes."""
        rest = self.total - sums
        heavy = np.abs(sums) > HEAVY * np.abs(rest)
        if heavy.any():
            rest[heavy] = self.outside(*self.cells(heavy, classes))
        return rest

    def cells(self, where: np.ndarray, classes: Any) -> tuple[np.ndarray, np.ndarray]:
        """Of a table as `own` has it the places of the features, and the classes, of the cells that are marked."""
        rows, places = np.nonzero(where)
        return places, np.arange(len(self.counts))[classes][rows]


@dataclass(frozen=True, slots=True, eq=False)
class CellSums(ClassSums):
    """The same for a list of cells: one row of weights, each column of which is of a class of its own."""

    values: np.ndarray  # (n_columns,) the sums of the cells

    def own(self, classes: Any) -> tuple[np.ndarray, np.ndarray]:
        return self.values[None], self.beside(self.counts, classes)

    def beside(self, values: np.ndarray, classes: Any) -> np.ndarray:
        return values[classes][None]

    def cells(self, where: np.ndarray, classes: Any) -> tuple[np.ndarray, np.ndarray]:
        places = np.flatnonzero(where[0])
        return places, classes[places]


def against_rest(data: ClassSums, pseudo: Pseudo, classes: Any) -> Sides:
    """Each class against all others."""
    sums, n_positive = data.own(classes)
    rest, n_rest = data.rest(sums, classes), data.beside(data.rests, classes)
    alive = data.beside(data.seen & data.has_rest, classes)
    own, others = pseudo.of(classes).smoothed(sums, n_positive), pseudo.of_rests(classes).smoothed(rest, n_rest)
    return Sides(*own, *others, alive, False)


def class_against_class(data: ClassSums, pseudo: Pseudo, positive: np.ndarray, negative: np.ndarray) -> Sides:
    """Classes against other classes, each smoothed once."""
    alive = (data.seen[positive] & data.seen[negative])[:, None]
    (s_pos, n_pos), (s_neg, n_neg) = (
        pseudo.of(classes).smoothed(data.sums(classes), data.counts[classes, None]) for classes in (positive, negative)
    )
    return Sides(s_pos, n_pos, s_neg, n_neg, alive, False)


def from_heaviest(data: ClassSums, pseudo: Pseudo, classes: Any, sums: np.ndarray, n_positive: np.ndarray) -> Any:
    """What a class that outweighs all others is set apart from: where it stands, and what the others come to.

    `sums` and `n_positive` are smoothed; None where it is not among the `classes`, or there is none.
    """
    top = int(np.argmax(data.counts))
    seen = np.flatnonzero(data.seen)
    others = seen[seen != top]
    more = pseudo.of_all(others)
    n_others = np.atleast_2d(data.rests[top] + more.count)
    heavy = data.beside(np.arange(len(data.counts)) == top, classes) & (n_positive > HEAVY * n_others)
    if not heavy.any():
        return None
    where, of_others = np.broadcast_to(heavy, sums.shape), np.zeros(sums.shape)
    if pseudo.highest is None:
        of_others[where] = data.outside(*data.cells(where, classes))
        of_others += more.sum
    else:
        of_others += pseudo.of(others).smoothed(data.sums(others), data.counts[others, None])[0].sum(axis=0)
    return heavy, of_others, n_others

"""What a row of weights compares: its two sides, or the labels of an indicator with a reference."""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from streamnb.core import messages, persistence
from streamnb.problem.smoothing import Pseudo
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.complements import HEAVY
from streamnb.stats.tables import alike

OVERLAPS = ("refuse", "keep")  # treatments of rows that have both a label and the reference


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
    own = pseudo.of(positive).smoothed(data.sums(positive), data.counts[positive, None])
    others = pseudo.of(negative).smoothed(data.sums(negative), data.counts[negative, None])
    return Sides(*own, *others, alive, False)


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


@persistence.register
@dataclass(frozen=True, repr=False)
class Unlabelled(persistence.Parameters):
    """The rows of an indicator without any label, as a reference.

    Examples
    --------
    >>> import streamnb as snb
    >>> X, illness = [[5, 0], [4, 3], [0, 4], [1, 1], [0, 1]], [[1, 0], [1, 1], [0, 1], [0, 0], [0, 0]]
    >>> model = snb.LinearNB("poisson", scheme="reference", reference=snb.UNLABELLED).fit(X, illness)
    >>> model.predict([[6, 0], [0, 0]]).tolist()
    [[1, 1], [0, 0]]
    """

    def __repr__(self) -> str:
        return "snb.UNLABELLED"


UNLABELLED = Unlabelled()


def check_reference(scheme: str, reference: Any) -> None:
    """Refuse a reference under a scheme that does not use it."""
    if reference is not None and scheme != "reference":
        raise ValueError(f"reference={reference!r} needs scheme='reference', not scheme={scheme!r}")


def loaded_parameters(params: dict[str, Any]) -> dict[str, Any]:
    """Parameters from a file, without a reference that the scheme does not use: versions up to 0.2 accepted one."""
    reference, scheme = params.get("reference"), params.get("scheme", "reference")
    if reference is None or scheme == "reference":
        return params
    messages.warn(f"the file has reference={reference!r} under scheme={scheme!r}, where it did nothing: it is left out")
    return {**params, "reference": None}


def reference_number(classes: np.ndarray, reference: Any, multilabel: bool) -> int | None:
    """The index of the reference class or label; None for the rows without any label."""
    if multilabel and isinstance(reference, Unlabelled):
        return None
    kind, also = ("label", ", or snb.UNLABELLED") if multilabel else ("class", "")
    at = _find(classes, reference)
    if at.size == 0:
        why = " (which is for a 2-D y)" if isinstance(reference, Unlabelled) else ""
        known = messages.listed(classes) + also
        raise ValueError(f"reference={reference!r}{why} is not a {kind}; it should be one of {known}")
    if multilabel and len(classes) == 1:
        raise ValueError(f"reference={reference!r} is the only label; there should be others to set against it")
    return int(at[0])


def _find(classes: np.ndarray, reference: Any) -> np.ndarray:
    """The index of the reference in an array of length 1, or 0 if there is none; True does not equal 1 here."""
    if reference is None or isinstance(reference, tuple) or not isinstance(reference, Hashable):
        return np.empty(0, np.intp)
    flag = isinstance(reference, (bool, np.bool_))
    alike = [label == reference and (not flag or isinstance(label, (bool, np.bool_))) for label in classes]
    return np.flatnonzero(alike)


def with_unlabelled(stats: ClassStats, moments: Iterable[str]) -> ClassStats:
    """Statistics of an indicator with the rows without any label as an additional last label."""
    if stats.unlabelled is None:
        raise ValueError(
            "stats were scanned by an earlier version, which did not keep the rows without any label apart, as "
            "reference=snb.UNLABELLED needs; scan the rows again"
        )
    tables = {}
    for name in dict.fromkeys(["weight", *moments]):
        labels, unlabelled = alike(stats.table(name), stats.unlabelled.table(name))
        tables[name] = labels.above(unlabelled)
    classes = np.array([*stats.classes.tolist(), UNLABELLED], object)
    rows = np.append(stats.rows, stats.unlabelled.rows)
    return replace(stats, classes=classes, rows=rows, tables=tables, folds=(), folding=None)


def two_labels(stats: ClassStats, negative: int, positive: int) -> ClassStats:
    """Statistics of two classes: the rows of one label, and those of another."""
    at = np.array([negative, positive])
    tables = {name: table.take(at) for name, table in stats.tables.items()}
    return ClassStats(np.array([False, True]), stats.rows[at], tables, stats.n_features, 0, stats.options)


def check_overlap(stats: ClassStats, reference: int, overlap: str) -> None:
    """Refuse rows that have the reference and another label, unless `overlap` keeps them on both sides."""
    if overlap == "keep":
        return
    name = stats.classes[reference].item()
    if stats.overlaps is None:
        raise ValueError(
            f"stats were scanned by an earlier version, which did not count the rows that bear a label and the "
            f"reference {name!r}; scan the rows again, or use overlap='keep', which lets them stand on both sides"
        )
    counts = stats.overlaps.counts[[reference]].toarray()[0]
    if counts.any():
        found = [
            f"{n:,} bear label {label!r} too" for label, n in zip(stats.classes.tolist(), counts, strict=True) if n
        ]
        shown = ", ".join(found[:5]) + (f", and so on for {len(found)} labels" if len(found) > 5 else "")
        raise ValueError(
            f"reference={name!r} overlaps other labels: of its rows {shown}; take the reference off these rows, or "
            "overlap='keep', which lets them stand on both sides"
        )


def check_added(stats: ClassStats, reference: Any, overlap: str) -> None:
    """Refuse such rows in statistics to be added; the reference may only come with later rows."""
    at = _find(stats.classes, reference)
    if stats.multilabel and at.size:
        check_overlap(stats, int(at[0]), overlap)

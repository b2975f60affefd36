"""The features that TopK keeps in each row of weights; the columns of a category go together."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from streamnb.solving.equations import Equations
from streamnb.solving.parts import Columns, Part

MERITS = 1 << 22  # most merits, of all features and rows of weights, that are cached


class TopRanking:
    """Ranks features for TopK; the columns of a part with a family `as_one` are ranked together."""

    def __init__(self, parts: Sequence[Part], n_rows: int, n_features: int):
        self.parts, self.n_rows, self.n_features = parts, n_rows, n_features
        self._found: dict[tuple[str, int], tuple[np.ndarray, np.ndarray | None]] = {}
        self._together: dict[tuple[str, Part], np.ndarray] = {}
        self._last: np.ndarray | None = None  # the last column of each ranked item, where items are not all features
        if any(part.family.as_one for part in parts):
            every = np.arange(n_features)
            self._last = np.sort(np.concatenate([every[p.columns][-1 if p.family.as_one else 0 :] for p in parts]))

    @property
    def n_ranked(self) -> int:
        """Number of ranked items: features, with the columns of a category counted once."""
        return self.n_features if self._last is None else len(self._last)

    def kept(self, by: str, numbers: Sequence[int]) -> "Kept":
        """Return the best items of each row of weights; `numbers` is how many."""
        cut, last = np.full((self.n_rows, 1), np.inf), np.full((self.n_rows, 1), -1, np.intp)
        for r, k in enumerate(numbers):
            if k == 0:  # leaves the cut at infinity
                continue
            merit, order = self._ranked(by, r)
            if order is None:
                ties = k - np.count_nonzero(merit > (worst := np.partition(merit, -k)[-k]))
                at = np.flatnonzero(merit == worst)[ties - 1]
            else:
                at = order[k - 1]
            cut[r], last[r] = merit[at], at if self._last is None else self._last[at]
        return Kept(self, by, cut, last)

    def entering(self, by: str, numbers: np.ndarray) -> np.ndarray | None:
        """Return which of the ascending numbers first keeps each feature, (R, n); None if some are ranked as one."""
        if self._last is not None:
            return None
        enters, first = np.empty((self.n_rows, self.n_features), np.int32), np.arange(1, self.n_features + 1)
        for r in range(self.n_rows):
            merit, order = self._ranked(by, r)
            order = np.argsort(-merit, kind="stable") if order is None else order
            enters[r, order] = np.searchsorted(numbers, first)
        return enters

    def _ranked(self, by: str, r: int) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the merits of a row of weights, (n_ranked,), and their order, ties by number; cached if small.

        Sorting takes longer than finding the best k, so the order is None in the first call. It is computed for the
        second number of a grid and serves all others.
        """
        if (by, r) in self._found:
            merit, order = self._found[by, r]
            order = np.argsort(-merit, kind="stable") if order is None else order
        else:
            merit, order, row = np.empty(self.n_features), None, slice(r, r + 1)
            for part in self.parts:
                merit[part.columns] = self.merits(part, by, row, partial(_unpulled, part, row))[0]
            merit = merit if self._last is None else merit[self._last]
        if self.n_rows * self.n_features <= MERITS:
            self._found[by, r] = merit, order
        return merit, order

    def merits(self, part: Part, by: str, rows: slice, equations: Callable[[], Equations]) -> np.ndarray:
        """Return the merits of the features of a part, (R, n), or (R, 1) if they are ranked as one."""
        if not part.family.as_one:
            return equations().merit(by)
        if (by, part) not in self._together:
            come_to = np.sum if by == "likelihood" else np.max
            groups = part.groups(range(self.n_rows))
            found = [come_to(part.of_rows(group)[1].merit(by), axis=1, keepdims=True) for group in groups]
            self._together[by, part] = np.concatenate(found)
        return self._together[by, part][rows]


def _unpulled(part: Part, rows: slice) -> Equations:
    return part.of_rows(rows)[1]


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """The k best features of each row of weights: the lowest merit kept and the last of its ties, (R, 1)."""

    ranking: TopRanking
    by: str
    cut: np.ndarray
    last: np.ndarray

    def mark(self, equations: Equations, part: Part, columns: Columns, rows: slice = slice(None)) -> Equations:
        """Mark the kept features; `equations` have no pull yet, `columns` are the numbers of their features."""
        merit, cut = self.ranking.merits(part, self.by, rows, lambda: equations), self.cut[rows]
        every = np.arange(self.ranking.n_features)
        numbers = every[part.columns][-1:] if part.family.as_one else every[columns]
        kept = (merit > cut) | ((merit == cut) & (numbers <= self.last[rows]))
        return replace(equations, kept=np.broadcast_to(kept, equations.t_star.shape))


def numbers_kept(k: Any, n_ranked: int, names: Callable[[], Sequence[Any]], n_rows: int) -> list[int]:
    """Return how many features TopK keeps in each row of weights, (R,); raise an error for labels that have no row."""
    largest = max(k.values(), default=0) if isinstance(k, Mapping) else k
    if largest > n_ranked:
        given = f"k={k!r}" if isinstance(k, Mapping) else f"k={int(k)}"
        raise ValueError(f"TopK({given}) keeps more features than the {n_ranked} there are")
    if not isinstance(k, Mapping):
        return [int(k)] * n_rows
    rows = names()
    strange = [label for label in k if label not in rows]
    if strange or len(k) < len(rows):
        what = f"has no row of weights for {strange[0]!r}" if strange else "names no number for some"
        raise ValueError(f"TopK(k={k!r}) {what}; it should have one for each of {', '.join(map(repr, rows))}")
    return [k[name] for name in rows]

"""Assigns rows to folds by row number, or group, and seed, whatever the chunking."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from heapq import heapreplace
from typing import Any

import numpy as np

from streamnb.core import arguments, persistence, row_checks
from streamnb.kernels.row_values import GOLDEN, rank_few, scattered_bits

MOST_SPLITS = 1 << 20  # folds times repeats; a mistake such as folds=10**9 would run forever
MOST_COUNTED = 100_000  # groups that are dealt out by their rows; of more, hashes fill all folds alike
FEW_FOLDS = 32  # up to this many, all keys are compared with each other


@dataclass(frozen=True)
class Folding(persistence.InPlace):
    """How rows are split: `repeats` times into `n_folds` folds, by row number, by group or by numbers given.

    Attributes
    ----------
    n_folds, repeats, seed : int
    by : {"rows", "groups", "given"}
    names : tuple
        What the folds are called, where they are batches.
    groups, places : tuple of int
        The keys of groups that were counted, ascending, and the fold of each in each repeat, one repeat after another.
        The fold of other groups depends on their values alone.
    """

    n_folds: int
    repeats: int = 1
    seed: int = 0
    by: str = "rows"
    names: tuple[Any, ...] = field(default=(), repr=False)  # no part of checkpoints, which older versions read
    groups: tuple[Any, ...] = field(default=(), repr=False, compare=False)
    places: tuple[Any, ...] = field(default=(), repr=False, compare=False)

    def _check_loaded(self) -> None:
        arguments.positive_integer("n_folds", self.n_folds, 2)
        arguments.positive_integer("repeats", self.repeats)
        arguments.one_of("by", self.by, ["rows", "groups", "given"])
        if self.names and len(self.names) != self.n_folds:
            raise ValueError(f"there are {len(self.names)} names of {self.n_folds} folds")
        if len(self.places) != self.repeats * len(self.groups):
            raise ValueError(f"there are {len(self.places)} places of {len(self.groups)} groups")
        keys_and_places = zip([*self.groups] * self.repeats, self.places, strict=True)
        if not all(type(k) is type(f) is int and 0 <= k < 2**64 and 0 <= f < self.n_folds for k, f in keys_and_places):
            raise ValueError("groups and places should hold keys of 64 bits, and numbers of folds")

    def __str__(self) -> str:
        return f"named {list(self.names)}" if self.names else repr(self)

    @property
    def n_splits(self) -> int:
        return self.n_folds * self.repeats

    def splits(self, first_row: int, n_rows: int, column: np.ndarray | None) -> np.ndarray:
        """Split numbers repeat * n_folds + fold of a block of rows, (repeats, n_rows); `column`: groups or folds."""
        return np.stack([self.numbers(first_row, n_rows, column, r) + r * self.n_folds for r in range(self.repeats)])

    def numbers(self, first_row: int, n_rows: int, column: np.ndarray | None, repeat: int) -> np.ndarray:
        """Fold numbers of a block of rows in one repeat, (n_rows,)."""
        if self.by == "rows":  # each run of n_folds rows is spread over all folds, so that folds have equal sizes
            start = first_row // self.n_folds
            stop = -(-(first_row + n_rows) // self.n_folds)
            rows = np.arange(start * self.n_folds, stop * self.n_folds, dtype=np.int64)
            keys = self._random_keys(rows.view(np.uint64), repeat).reshape(-1, self.n_folds)
            ranks = _ranks(keys).reshape(-1)
            offset = first_row - start * self.n_folds
            return ranks[offset : offset + n_rows]
        assert column is not None
        row_checks.check_lengths(n_rows, len(column), "groups" if self.by == "groups" else "folds")
        if self.by == "groups":
            labels, inverse = np.unique(column, return_inverse=True)
            return self._folds_of(keys_of(labels), repeat)[inverse]
        outside = np.flatnonzero((column < 0) | (column >= self.n_folds))
        if outside.size:
            at = int(outside[0])
            raise ValueError(f"folds has {column[at]} at row {first_row + at}; folds should be numbered from 0")
        return column.astype(np.int64)

    def _folds_of(self, keys: np.ndarray, repeat: int) -> np.ndarray:
        """The folds of groups, given by their keys."""
        folds = (self._random_keys(keys, repeat) % np.uint64(self.n_folds)).astype(np.int64)
        if self.groups:
            known, places = self._counted
            at = np.minimum(np.searchsorted(known, keys), len(known) - 1)
            folds = np.where(known[at] == keys, places[repeat, at], folds)
        return folds

    @cached_property
    def _counted(self) -> tuple[np.ndarray, np.ndarray]:
        """The keys of counted groups, and their folds in each repeat, (repeats, n_groups)."""
        return np.array(self.groups, np.uint64), np.array(self.places, np.int64).reshape(self.repeats, -1)

    def counted(self, groups: np.ndarray) -> Folding:
        """The folding that deals out these groups, one for each row, so that folds have about as many rows.

        Larger groups come first, each to the fold that has the fewest rows, so that every fold gets a group if there
        are enough. Groups of about the same size come in a random order, another for each seed and repeat.
        """
        labels, n_rows = np.unique(row_checks.check_labels(groups, "groups"), return_counts=True)
        if self.by != "groups" or len(labels) > MOST_COUNTED:
            return self
        keys = keys_of(labels)
        places = np.empty((self.repeats, len(keys)), np.int64)
        for repeat in range(self.repeats):
            folds = [(0, 0, fold) for fold in range(self.n_folds)]  # rows, groups and number of each: a heap
            for group in np.lexsort((self._random_keys(keys, repeat), -np.frexp(n_rows)[1])).tolist():
                n_held, n_groups, fold = folds[0]
                heapreplace(folds, (n_held + int(n_rows[group]), n_groups + 1, fold))
                places[repeat, group] = fold
        order = np.argsort(keys)
        return replace(self, groups=tuple(keys[order].tolist()), places=tuple(places[:, order].reshape(-1).tolist()))

    def joined(self, other: Folding) -> Folding:
        """The folding of the groups of both, which should be in the same folds where both have them."""
        (keys, places), (others, theirs) = self._counted, other._counted
        _, here, there = np.intersect1d(keys, others, assume_unique=True, return_indices=True)
        if (places[:, here] != theirs[:, there]).any():
            raise ValueError(
                "rows of one group are in different folds of these statistics, because folds are dealt out by the "
                "groups of a scan; scan all rows at once, or give folds= the fold of each row"
            )
        new = np.setdiff1d(np.arange(len(others)), there)
        together = np.append(keys, others[new])
        order = np.argsort(together)
        both = np.hstack([places, theirs[:, new]])[:, order]
        return replace(self, groups=tuple(together[order].tolist()), places=tuple(both.reshape(-1).tolist()))

    def _random_keys(self, keys: np.ndarray, repeat: int) -> np.ndarray:
        """Keys mixed to 64 random-looking bits (splitmix64), differently for each seed and repeat."""
        salt = scattered_bits(np.array([self.seed], np.int64).view(np.uint64) * GOLDEN + np.uint64(repeat))
        return scattered_bits(keys + salt)


def fold_numbers(n_rows: int, folds: int, *, groups: Any = None, seed: int = 0, repeat: int = 0) -> np.ndarray:
    """The fold of each row, as `scan(folds=folds)` numbers them.

    Parameters
    ----------
    n_rows : int
    folds : int
        At least 2.
    groups : (n_rows,), optional
        Rows of one group share a fold. Up to 100,000 groups are dealt out so that folds have about equally many rows,
        and none is empty unless there are fewer groups than folds; with more, the fold of a group depends only on its
        value. Without groups it depends on the row's number.
    seed, repeat : int

    Returns
    -------
    (n_rows,) int64
        The same in every process and on every machine. Without groups, the sizes of folds differ by at most one.

    Examples
    --------
    >>> import streamnb as snb
    >>> folds = snb.fold_numbers(6, 3, seed=0)
    >>> folds.tolist()
    [2, 0, 1, 2, 1, 0]
    """
    n_rows, repeat = arguments.whole_number("n_rows", n_rows), arguments.whole_number("repeat", repeat)
    folding = as_folding(arguments.positive_integer("folds", folds), groups=groups, repeats=repeat + 1, seed=seed)
    assert folding is not None
    if groups is None:
        return folding.numbers(0, n_rows, None, repeat)
    column = row_checks.check_labels(groups, "groups")
    return folding.counted(column).numbers(0, n_rows, column, repeat)


def as_folding(folds: Any, *, groups: Any = None, repeats: int = 1, seed: int = 0) -> Folding | None:
    """How `folds`, `groups`, `repeats` and `seed` split the rows; None without folds.

    `folds` is a number, or the fold of each row: an array in memory, checked here for gaps.
    """
    repeats = arguments.positive_integer("repeats", repeats)
    seed = arguments.whole_number("seed", seed)
    if folds is None:
        if groups is not None or repeats > 1:
            what = "groups need" if groups is not None else f"repeats={repeats} needs"
            raise ValueError(f"{what} folds: give folds=5 or another number")
        return None
    check_no_splits(folds)
    if np.ndim(folds) == 0:
        n_folds = arguments.positive_integer("folds", folds, minimum=2)
        if n_folds * repeats > MOST_SPLITS:
            raise ValueError(
                f"folds={n_folds} times repeats={repeats} is more than {MOST_SPLITS} splits, each with statistics of "
                "its own; use fewer folds or repeats"
            )
        return Folding(n_folds, repeats, seed, "rows" if groups is None else "groups")
    if groups is not None or repeats > 1:
        what = "groups" if groups is not None else f"repeats={repeats}"
        raise ValueError(f"folds are given for each row, so {what} has no meaning; leave it out, or give a number")
    given = np.asarray(folds)
    if given.ndim != 1 or given.dtype.kind not in "iu":
        raise TypeError(
            f"folds has shape {given.shape} and dtype {given.dtype}; it should be a number of folds, or one whole "
            "number a row"
        )
    present = np.unique(given)
    if len(present) < 2 or present[0] != 0 or present[-1] != len(present) - 1:
        raise ValueError(f"folds holds the numbers {present[:10].tolist()}; it should hold 0, 1, .. without gaps")
    return Folding(len(present), 1, seed, "given")


def of_batches(batch: Any, folds: Any, groups: Any) -> tuple[np.ndarray, tuple[Any, ...]]:
    """The number of the batch of each row, and what the batches are called; each is a fold."""
    for name, given in (("folds", folds), ("groups", groups)):
        if given is not None:
            raise ValueError(f"batch= keeps the sums of each batch in place of those of folds; leave {name} out")
    names, codes = np.unique(row_checks.check_labels(batch, "batch"), return_inverse=True)
    if len(names) < 2:
        raise ValueError(f"batch has only the value {names.tolist()}; leave it out")
    return codes, tuple(names.tolist())


def check_no_splits(folds: Any) -> None:
    """Refuse the values of scikit-learn's `cv`: a splitter, or pairs of training and test rows."""
    if hasattr(folds, "get_n_splits") or (isinstance(folds, list | tuple) and any(np.iterable(f) for f in folds[:1])):
        given = type(folds).__name__ if hasattr(folds, "get_n_splits") else f"a {type(folds).__name__} of splits"
        raise TypeError(
            f"folds is {given}; it should be a number of folds, or the fold of each row: for a splitter, set "
            "folds[test] = i for its i-th pair (train, test)"
        )


def check_n_folds(folding: Folding | None, n_rows: int) -> None:
    """Refuse more folds than rows, before memory is allocated for each."""
    if folding is not None and folding.by != "given" and folding.n_folds > n_rows:
        raise ValueError(
            f"folds={folding.n_folds}: some have no row, there are too few of the {n_rows} rows (n_samples={n_rows}); "
            "use fewer folds"
        )


def check_no_empty(folding: Folding, rows: Sequence[int]) -> None:
    """Refuse splits without rows, given the number of rows of each."""
    for split, n_rows in enumerate(rows):
        if n_rows == 0:
            n_all = sum(rows[: folding.n_folds])
            what = f"the {n_all} rows (n_samples={n_all})" if folding.by == "rows" else "the groups"
            raise ValueError(
                f"folds={folding.n_folds}: fold {split % folding.n_folds} has no row, there are too few of {what}; "
                "use fewer folds or another seed"
            )


def check_learns(weight: float, split: int, n_folds: int) -> None:
    """Refuse a fold if no row outside it has weight."""
    if weight == 0.0:
        raise ValueError(
            f"sample_weight is 0 in all rows outside fold {split % n_folds}, which leaves its models nothing to learn "
            "from; give weight to rows of two folds at least"
        )


def keys_of(labels: np.ndarray) -> np.ndarray:
    if row_checks.label_kind(labels) != "strings":
        return labels.astype(np.int64).view(np.uint64)
    digests = (blake2b(label.encode(), digest_size=8).digest() for label in labels.tolist())
    return np.array([int.from_bytes(d, "little") for d in digests], np.uint64)


def _ranks(keys: np.ndarray) -> np.ndarray:
    """The rank of each key in its row; equal keys are ranked in order."""
    if keys.shape[1] > FEW_FOLDS:
        return keys.argsort(axis=1, kind="stable").argsort(axis=1)
    ranks = np.empty(keys.shape, np.int64)
    rank_few(keys, ranks)
    return ranks


def scattered(keys: np.ndarray, seed: int) -> np.ndarray:
    """64 random-looking bits for each of some uint64 keys, others for each seed."""
    return scattered_bits(keys + np.uint64((seed + 1) * int(GOLDEN) % 2**64))

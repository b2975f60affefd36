"""A block: consecutive rows as they were read, with their labels and weights."""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp


class Forms:
    """Other forms of the same rows, made by the first read that needs them.

    Parameters
    ----------
    X : object
        The rows, as their block has them.
    takes : callable
        Whether so many bytes may be held; forms for which there is no memory are made again.
    """

    def __init__(self, X: Any, takes: Callable[[int], bool]):
        self._X, self._takes, self.nbytes = X, takes, 0
        self._held: dict[Hashable, tuple[np.ndarray, ...]] = {}

    def are_of(self, X: Any) -> bool:
        """Whether these are the rows, and not others that were made of them."""
        return self._X is X

    def get(self, name: Hashable, make: Callable[[], tuple[np.ndarray, ...]]) -> Any:
        """The form of this name."""
        if name in self._held:
            return self._held[name]
        form = make()
        n_bytes = sum(array.nbytes for array in form)
        if self._takes(n_bytes):
            self._held[name] = form
            self.nbytes += n_bytes
        return form


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Consecutive rows as they were read, not validated yet.

    `X` is a matrix, a (data, indices, indptr, n_features) tuple, or a dict of columns.

    `data` is None where every value counts as 1. `y` are labels, or a CSR indicator of labels; `split` the groups or
    fold numbers given beside the rows, or records of several such columns. `kept` is True for rows that an earlier read
    has kept.
    """

    X: Any
    y: Any
    weight: np.ndarray | None
    split: np.ndarray | None
    first_row: int
    nbytes: int
    kept: bool = False
    forms: Forms | None = None  # of rows that are kept in memory

    @property
    def n_rows(self) -> int:
        if isinstance(self.X, dict):
            return next(iter(self.X.values())).shape[0]
        return len(self.X[2]) - 1 if isinstance(self.X, tuple) else self.X.shape[0]

    def cut(self, start: int, stop: int) -> "Block":
        """The rows in [start, stop), numbered among all rows."""
        n_rows, first, last = self.n_rows, start - self.first_row, stop - self.first_row
        if last - first == n_rows:
            return self
        if isinstance(self.X, tuple):
            data, indices, indptr, n_features = self.X
            X: Any = *cut_csr(data, indices, indptr, first, last), n_features
        else:
            X = self.X[first:last]
        parts = {name: getattr(self, name) for name in ("y", "weight", "split")}
        parts = {name: part if part is None else part[first:last] for name, part in parts.items()}
        nbytes = self.nbytes * last // n_rows - self.nbytes * first // n_rows
        return replace(self, X=X, **parts, first_row=start, nbytes=nbytes)


def cut_csr(data: Any, indices: Any, indptr: Any, first: int, last: int) -> tuple[Any, Any, Any]:
    """The rows in [first, last) of CSR arrays, whose `data` and `indices` start at indptr[0]."""
    ends = indptr[first : last + 1]
    stored = slice(int(ends[0] - indptr[0]), int(ends[-1] - indptr[0]))
    return None if data is None else data[stored], indices[stored], ends


def joined(blocks: list[Block]) -> Iterator[Block]:
    """Join consecutive blocks into one; blocks of different kinds are yielded as they are, and refused later."""
    if len(blocks) < 2 or len({_kind(block) for block in blocks}) > 1:
        yield from blocks
        return
    X: Any = [block.X for block in blocks]
    if isinstance(X[0], tuple):
        data, indices, indptr, n_features = zip(*X, strict=True)
        counts = [np.diff(each) for each in indptr]
        joined: Any = None if data[0] is None else np.concatenate(data)
        X = joined, np.concatenate(indices), np.concatenate([[0], np.cumsum(np.concatenate(counts))]), n_features[0]
    else:
        X = stacked(X)
    parts = {name: stacked([getattr(block, name) for block in blocks]) for name in ("y", "weight", "split")}
    yield replace(blocks[0], X=X, **parts, nbytes=sum(block.nbytes for block in blocks))


def stacked(parts: Sequence[Any]) -> Any:
    """Arrays or CSR arrays of rows in one; None if there are none."""
    if parts[0] is None or len(parts) == 1:
        return parts[0]
    return sp.vstack(parts, format="csr") if sp.issparse(parts[0]) else np.concatenate(parts)


def _kind(block: Block) -> tuple[Any, ...]:
    """What blocks must have in common to be joined."""
    arrays = isinstance(block.X, tuple)
    key = (arrays, sp.issparse(block.X), *((block.X[3], block.X[0] is None) if arrays else (block.X.shape[1],)))
    return key + tuple(
        None if part is None else (sp.issparse(part), part.dtype.kind, *part.shape[1:])
        for part in (block.y, block.weight, block.split)
    )

"""Keeps the same sample of rows in one pass, however the rows are cut into blocks."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.core import persistence, row_checks
from streamnb.core.csr import of_saved_parts, saved_parts
from streamnb.kernels.row_values import GOLDEN, scattered_bits
from streamnb.passes.contract import PassTask
from streamnb.rows.boundary import checked
from streamnb.rows.preparing import RowOptions, transformed
from streamnb.rows.row_blocks import Block, stacked
from streamnb.rows.splits import Folding
from streamnb.stats.grouping import LabelCodes

ROWS = 10_000
SCORES = 1 << 22  # of all rows, one per class
BYTES = 64 << 20  # of all rows
SIGMAS = 6.0  # standard deviations by which more rows than `size` are kept until all are there
KEY_END = 2.0**64  # all keys are smaller


def sample_size(n_classes: int, row_bytes: float) -> int:
    """The number of rows to sample, given the bytes per row."""
    return max(min(ROWS, SCORES // n_classes, int(BYTES / max(row_bytes, 1.0))), 100)


@dataclass(frozen=True, eq=False)
class SampledRows:
    """Sampled rows, ordered by key.

    Attributes
    ----------
    X : (n, n_features) array or CSR array
    labels : (n, K) CSR array, 1 for the class or labels of a row; or (n, 1), the target of each row
    weight, fold, key : (n,)
        The key of a row is a 64-bit hash of its number.
    """

    X: Any
    labels: Any
    weight: np.ndarray
    fold: np.ndarray
    key: np.ndarray

    def picked(self, rows: np.ndarray) -> "SampledRows":
        """The rows with these indices, in this order; `self` for all rows in their order."""
        if np.array_equal(rows, np.arange(len(self.key))):
            return self
        return SampledRows(**{name: part[rows] for name, part in vars(self).items()})


@persistence.register
class RowSample:
    """The rows with the `size` lowest keys, and with the `each` lowest keys of each class; merges with ``+``.

    The sample depends only on the row numbers and the seed, not on how rows are cut into blocks.

    Parameters
    ----------
    n_classes, size : int
    each : int, optional
        `size` / K by default. A class that has fewer rows is kept whole.
    seed : int
    n_rows : int, optional
        The number of all rows, where it is known. A part of them then keeps about its share of the sample, instead of
        `size` rows.
    mean_weight : float, optional
        Rows of larger weights are drawn in proportion to these: their keys are that much lower.
    """

    def __init__(
        self,
        n_classes: int,
        size: int,
        each: int | None = None,
        seed: int = 0,
        n_rows: int | None = None,
        mean_weight: float = np.inf,
    ):
        self._n_classes, self._size, self._seed, self._mean_weight = n_classes, size, seed, mean_weight
        self._each = max(size // n_classes, 1) if each is None else each
        self._kept: list[SampledRows] = []
        self._n_new = 0  # rows added since the last pruning
        # no key above is drawn: but once in 10^9 samples, at least `size` rows are below
        self._most = KEY_END if n_rows is None else KEY_END * min((size + SIGMAS * size**0.5) / n_rows, 1.0)
        self._limits = np.full(n_classes + 1, KEY_END)  # keys below are drawn, by class and last overall
        self._limits[-1] = self._most

    def add(
        self,
        chunk: Any,
        labels: Any,
        weight: np.ndarray | None,
        folds: np.ndarray,
        columns: np.ndarray | None = None,
    ) -> None:
        """Add the rows of a checked block whose keys may be among the lowest; labels are class codes or an indicator.

        Rows of weight 0 are left out. With `columns`, ascending, only these features are kept.
        """
        n_rows = chunk.shape[0]
        key = np.arange(chunk.first_row, chunk.first_row + n_rows, dtype=np.uint64)
        key += np.uint64(self._seed * int(GOLDEN) % 2**64)
        for _ in range(2):  # twice, as the numbers hashed once decide the folds
            key = scattered_bits(key)
        weight = np.ones(n_rows) if weight is None else np.asarray(weight, np.float64)
        limit = self._limit(labels) if labels.ndim == 2 else np.maximum(self._limits[labels], self._limits[-1])
        rows = np.flatnonzero((self._lowered(key, weight) <= limit) & (weight > 0.0))
        if not rows.size:
            return
        of_rows = labels[rows]
        if labels.ndim == 1:
            cells = np.ones(len(rows), np.uint8), of_rows, np.arange(len(rows) + 1)
            of_rows = sp.csr_array(cells, (len(rows), self._n_classes))
        some = chunk.picked(rows)
        X = (some if columns is None else some.of_columns(columns)).to_matrix()
        X = X.copy() if isinstance(X, np.ndarray) else X
        self._kept.append(SampledRows(X, sp.csr_array(of_rows), weight[rows], folds[rows], key[rows]))
        self._n_new += len(rows)
        if self._n_new > max(self._size * (self._most / KEY_END), self._each * self._n_classes):
            self._prune()

    def _times(self, weight: np.ndarray) -> np.ndarray:
        """How many times as often as others rows are drawn, for their weights."""
        return np.maximum(weight / self._mean_weight, 1.0)

    def _lowered(self, key: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Keys as they are compared, in float64."""
        return key.astype(np.float64) / self._times(weight)

    def _limit(self, labels: Any) -> np.ndarray:
        """The limit of each row's key, (n,) float64: the highest of its classes' limits and that of all rows."""
        of_classes = sp.csr_array((self._limits[labels.indices], labels.indices, labels.indptr), labels.shape)
        return np.maximum(of_classes.max(axis=1).toarray().reshape(-1), self._limits[-1])

    def _prune(self) -> None:
        """Lower the limits, and keep the rows drawn plus the first row not drawn, of each class and of all rows."""
        if not self._kept:
            return
        names = "key", "weight", "labels"
        key, weight, labels = (stacked([vars(part)[name] for part in self._kept]) for name in names)
        key, by_class = self._lowered(key, weight), labels.tocsc()
        self._limits[-1] = self._most
        if len(key) > self._size:
            self._limits[-1] = min(self._most, np.partition(key, self._size)[self._size])
        each = self._each
        for k, (start, stop) in enumerate(zip(by_class.indptr[:-1], by_class.indptr[1:], strict=True)):
            if stop - start > each:
                self._limits[k] = np.partition(key[by_class.indices[start:stop]], each)[each]
        ends = np.cumsum([len(part.key) for part in self._kept])
        of_parts = np.split(key <= self._limit(labels), ends[:-1])
        self._kept = [
            part.picked(np.flatnonzero(some)) for part, some in zip(self._kept, of_parts, strict=True) if some.any()
        ]
        self._n_new = 0

    def finish(self) -> "RowSample":
        """The sample without rows that are no longer drawn, in one part."""
        self._prune()
        if self._kept:
            names = vars(self._kept[0])
            rows = SampledRows(**{name: stacked([vars(part)[name] for part in self._kept]) for name in names})
            self._kept = [rows.picked(np.argsort(rows.key))]
        return self

    def __add__(self, other: "RowSample") -> "RowSample":
        total = RowSample(self._n_classes, self._size, self._each, self._seed, mean_weight=self._mean_weight)
        total._most = self._most
        total._kept = [*self._kept, *other._kept]
        return total.finish()

    def smaller(self, size: int) -> "RowSample":
        """The sample of fewer rows, as if it had been drawn alone."""
        few = RowSample(self._n_classes, size, self._each, self._seed, mean_weight=self._mean_weight)
        few._kept = list(self._kept)
        return few.finish()

    def mapped(self, function: Callable[[Any], Any]) -> "RowSample":
        """The sample with a function applied to its rows."""
        mapped = self.smaller(self._size)
        mapped._kept = [replace(rows, X=function(rows.X)) for rows in mapped._kept]
        return mapped

    def drawn(self, weighed: bool = True) -> SampledRows:
        """The sample, with weights inverse to the probability of being drawn, or as given unless `weighed`.

        They are w / P(drawn), P = limit / 2^64 or larger by weight, scaled to the total weight of the sampled rows.
        """
        rows = self._kept[0]
        limit = self._limit(rows.labels)
        some = np.flatnonzero(self._lowered(rows.key, rows.weight) < limit)
        if not weighed:
            return rows.picked(some)
        weight = rows.weight[some] / np.minimum(limit[some] * self._times(rows.weight[some]), KEY_END)
        return replace(rows.picked(some), weight=weight * (rows.weight[some].sum() / weight.sum()))

    def arrays(self) -> dict[str, Any]:
        kept = [[saved_parts(p) if sp.issparse(p) else p for p in vars(rows).values()] for rows in self._kept]
        sizes = {"n_classes": self._n_classes, "size": self._size, "each": self._each, "seed": self._seed}
        return {**sizes, "most": self._most, "mean_weight": self._mean_weight, "kept": kept}

    _to_state = arrays

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> "RowSample":
        older = {"each": None, "seed": 0, "most": KEY_END, "mean_weight": np.inf}
        kinds: dict[str, Any] = {"n_classes": int, "size": int, "each": int | None, "seed": int, "most": float}
        kinds |= {"mean_weight": float, "kept": list[list[Any]]}
        n_classes, size, each, seed, most, mean_weight, kept = persistence.parts(cls, older | state, **kinds)
        if min(n_classes, size, seed) < 0 or (each is not None and each < 1) or not mean_weight > 0.0:
            raise ValueError(
                f"there is no sample of {size} rows of {n_classes} classes, {each} of each, by seed {seed}"
            )
        sample = cls(n_classes, size, each, seed, mean_weight=float(mean_weight))
        sample._most, sample._kept = float(most), []
        for rows in kept:
            parts = [of_saved_parts(part, "sample") if isinstance(part, list) else part for part in rows]
            sample._kept.append(SampledRows(*parts))
        return sample.finish()


@dataclass(frozen=True, eq=False)
class SampleTask(PassTask):
    """Samples `size` rows, and `each` rows of each class, with their classes and folds.

    Rows are kept as they are or transformed by `options`, with all features or with `columns`, ascending. Rows have
    `taken` features, and there are `n_rows` of them, if that is known; `mean_weight` is as of `RowSample`. With
    `targets`, whose `of_rows` makes numbers
    and weights of a block, its rows are of one class and have numbers in place of labels.
    """

    classes: np.ndarray
    folding: Folding | None
    size: int
    each: int | None = None
    seed: int = 0
    columns: np.ndarray | None = None
    options: RowOptions = field(default_factory=RowOptions)
    taken: int | None = None
    missing: bool = False  # whether values may be missing
    n_rows: int | None = None
    targets: Any = None
    mean_weight: float = np.inf
    title: str = "sample"

    def partial(self) -> RowSample:
        return RowSample(len(self.classes), self.size, self.each, self.seed, self.n_rows, self.mean_weight)

    def add(self, partial: RowSample, block: Block) -> None:
        """Add one block of rows."""
        folds = np.zeros(block.n_rows, np.int64)
        if self.folding is not None:
            folds = self.folding.numbers(block.first_row, block.n_rows, block.split, 0)
        labels, weight = self._labels(block)
        chunk, _ = transformed(*checked(block, self.missing), self.options)
        if self.taken is not None:
            row_checks.check_n_features(chunk.shape[1], self.taken, "the second scan")
        partial.add(chunk, labels, weight, folds, self.columns)

    def _labels(self, block: Block) -> tuple[Any, np.ndarray | None]:
        """The class codes or the indicator of rows, or their targets; and their weights."""
        if self.targets is not None:
            y, weight = self.targets.of_rows(block)
            return sp.csr_array((y, np.zeros(len(y), np.int64), np.arange(len(y) + 1)), (len(y), 1)), weight
        y = row_checks.check_y(block.y)
        return y if sp.issparse(y) else LabelCodes(self.classes).entries(y, block.first_row)[1], block.weight

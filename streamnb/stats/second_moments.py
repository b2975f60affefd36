"""Sums of products of feature pairs, by class or pooled, as packed triangles."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from streamnb.core import arguments, memory, messages
from streamnb.core.threads import one_thread
from streamnb.kernels import bits, class_sums
from streamnb.kernels import products as kernels
from streamnb.rows.boundary import Survey
from streamnb.rows.row_blocks import Chunk, CSRChunk, DenseChunk, Entries, frozen
from streamnb.stats import products
from streamnb.stats.dense_tables import PooledTable, Table
from streamnb.stats.moment_sums import SECOND_MOMENTS, GrowingTable
from streamnb.stats.totals import whole

WAITING = 1 << 18  # numbers of products kept until they are added together
FEW = 40_000  # products of the rows of a group up to which a loop is faster than BLAS
SCATTERED = 16  # a product of two stored values takes as long as this many by BLAS
PACKED, FEWEST_WORDS = 1 << 16, 16  # words of presence bits that stay in the cache, and fewest words of a column
PER_PRODUCT, PER_STORED = 1e-10, 2e-9  # approximate seconds of a product by BLAS, and of two stored values
CONSTANT = 1e-26  # relative to a mean square: a smaller variance is rounding error
LONG = 300.0  # seconds of work that deserve a warning
CURE = (
    "take pooled=True, fewer folds or moments, fewer features (snb.FeatureSelector), covariance='diagonal' or 'own', "
    "which need no products, or a model of several reads: solver='conjugate_gradients', or snb.SoftmaxRegression"
)


@dataclass(frozen=True)
class Products:
    """Options for summing products.

    Attributes
    ----------
    exact : bool
        No rounding, for real values either.
    pooled : bool
        One table for all classes; each row of an indicator counts once.
    """

    exact: bool = False
    pooled: bool = False

    def __post_init__(self) -> None:
        for name in ("exact", "pooled"):
            arguments.one_of(name, getattr(self, name), [False, True])


ROUNDED = Products()


def n_pairs(n_features: int) -> int:
    """Return the number of pairs of features, including each with itself."""
    return n_features * (n_features + 1) // 2


def n_multiplied(name: str, n_features: int) -> int:
    """Return the number of columns that a moment multiplies: the features, and for "gram_sq" their squares."""
    return 2 * n_features if name == "gram_sq" else n_features


def diagonal(n_features: int) -> np.ndarray:
    """Return the places of the diagonal in a packed triangle."""
    return np.cumsum(np.append(0, np.arange(n_features, 1, -1)))[:n_features]


def n_features_of(n_cells: int) -> int:
    """Return the number of features of a packed triangle."""
    return int((np.sqrt(8.0 * n_cells + 1.0) - 1.0) / 2.0 + 0.5)


def unpacked(packed: np.ndarray) -> np.ndarray:
    """Unpack triangles (.., n (n + 1) / 2) to symmetric matrices (.., n, n)."""
    n = n_features_of(packed.shape[-1])
    out, upper = np.empty((*packed.shape[:-1], n, n), packed.dtype), np.triu_indices(n)
    out[..., upper[0], upper[1]] = out[..., upper[1], upper[0]] = packed
    return out


def bytes_of(names: tuple[str, ...], pooled: bool, n_classes: int, n_splits: int, n_features: int) -> int:
    """Return the bytes of the tables for whole numbers; other values take twice as much."""
    cells = sum(n_pairs(n_multiplied(name, n_features)) for name in names if name in SECOND_MOMENTS)
    return 8 * cells * (1 if pooled else n_classes) * n_splits


def check_fits(
    names: tuple[str, ...], pooled: bool, n_classes: int, n_splits: int, n_features: int, limit: int | None
) -> None:
    """Raise an error if the tables would be too large."""
    groups = "pooled" if pooled else f"of {n_classes:,} classes" + (f" in {n_splits} folds" * (n_splits > 1))
    what = f"products of {n_features:,} features by {n_features:,}, {groups}, twice as much of real values,"
    memory.check(what, bytes_of(names, pooled, n_classes, n_splits, n_features), limit, CURE)


def matrices(table: Table) -> np.ndarray:
    """Return the sums rounded to float64, (K, n, n), or (n, n) if pooled."""
    found = unpacked(table.value())
    return found[0] if isinstance(table, PooledTable) else found


class ProductSums:
    """Accumulates sums of products over the blocks given to `add`, in packed triangles.

    The rows of a group are multiplied tile by tile; real values are rounded there, unless `exact`, and nowhere else.
    Tiles follow the row numbers, so the result does not depend on the blocks as long as no block cuts a tile.
    """

    def __init__(self, name: str, how: Products, binarize: float):
        self._name, self._above = name, binarize if name == "gram_above" else None
        self._exact, self._table = how.exact, GrowingTable()
        self._table.note(2.0**31)  # keeps the sums in float64
        self._at = np.zeros(0, np.intp)  # flat indices of the upper triangle of a matrix
        self._waiting: list[tuple[np.ndarray, np.ndarray]] = []  # groups and their packed products, not yet added
        self._n_waiting = 0

    @property
    def nbytes(self) -> int:
        return self._table.nbytes

    def add(self, chunk: Chunk, survey: Survey, entries: Entries, n_groups: int, weight: float) -> None:
        """Add a block of rows; the arguments are those of `MomentSums.add`."""
        n_features = n_multiplied(self._name, chunk.shape[1])
        top = survey.top if self._above is None else 1.0
        top = top * top if self._name == "gram_sq" else top
        whole = np.isfinite(weight) and (survey.whole or self._above is not None)
        self._table.note(weight * top * top if whole else np.inf)
        self._table.grow(n_groups, n_pairs(n_features))
        if not len(self._at):
            self._at = np.flatnonzero(np.triu(np.ones((n_features, n_features), bool)))
        scattered = np.zeros(len(entries.rows), bool)
        if self._above is not None and isinstance(chunk, DenseChunk) and (entries.weight == 1.0).all():
            self._count(chunk.values, entries)
            self._add_waiting()
            return
        with one_thread():
            for rows, own in _tiles(entries.rows, chunk.shape[0], 0 if self._exact else chunk.first_row):
                tile = chunk.of_rows(rows.start, rows.stop)
                if isinstance(tile, CSRChunk) and self._sparse(tile):
                    scattered[own] = True
                else:
                    values, some = self._values(tile), Entries(*(part[own] for part in entries))
                    self._add_tile(values, some._replace(rows=some.rows - rows.start), top if whole else None)
        self._add_waiting()
        if isinstance(chunk, CSRChunk) and scattered.any():
            self._scatter(chunk, Entries(*(part[scattered] for part in entries)))

    def _count(self, values: np.ndarray, entries: Entries) -> None:
        """Add the numbers of rows in which both features of a pair are present."""
        n_features = values.shape[1]
        step = bits.WORD * max(PACKED // n_features, FEWEST_WORDS)
        for own in _alike(entries.codes):
            counts, rows = np.zeros(n_pairs(n_features)), entries.rows[own]
            for first in range(0, len(rows), step):
                some = rows[first : first + step]
                words = np.empty((-(-len(some) // bits.WORD), n_features), np.uint64)
                bits.pack(values, some, self._above, words)
                bits.count_pairs(np.ascontiguousarray(words.T), counts)
            self._wait(entries.codes[own][:1], counts[None])

    def _sparse(self, tile: CSRChunk) -> bool:
        """Return whether multiplying only the stored values is faster."""
        if self._name == "gram_sq":
            return False
        stored = np.diff(tile.indptr).astype(np.float64)
        n_features = tile.shape[1]
        few = SCATTERED * (stored @ (stored + 1.0)) < len(stored) * n_features * n_features
        return bool(few) and not (self._above is not None and self._above < 0.0)

    def _values(self, tile: Chunk) -> np.ndarray:
        values = tile.to_matrix().toarray() if isinstance(tile, CSRChunk) else tile.values
        if self._name == "gram_sq":
            values = values.astype(np.float64)
            return np.hstack([values, values * values])
        return values if self._above is None else (values > self._above).astype(np.uint8)

    def _add_tile(self, values: np.ndarray, entries: Entries, top: float | None) -> None:
        """Add the rows of a tile; `top` is the largest value if values and weights are whole numbers."""
        order, ends = _runs(entries.codes)
        rows, codes, weight = entries.rows[order], entries.codes[order], entries.weight[order]
        begins, ones = np.append(0, ends[:-1]), bool((weight == 1.0).all())
        small = top is not None and ones and products.may_be_small(top)
        middles = None if self._exact or small else products.centres(values, rows, begins, ends)
        near = np.full(len(ends), not self._exact) if middles is None else np.isnan(middles).all(axis=1)
        few = near & ((ends - begins) * len(self._at) < FEW)
        if few.any():
            packed = np.zeros((np.count_nonzero(few), len(self._at)))
            kernels.add_groups(values.astype(np.float64, copy=False), rows, weight, begins[few], ends[few], packed)
            self._wait(codes[begins[few]], packed)
        for g in np.flatnonzero(~few):
            own = slice(begins[g], ends[g])
            x = (
                values
                if len(ends) == 1 and (np.diff(rows) == 1).all() and len(rows) == len(values)
                else values[rows[own]]
            )
            heavy = None if ones or (weight[own] == 1.0).all() else weight[own]
            for part in self._products(
                x, heavy, top, None if near[g] or middles is None else np.nan_to_num(middles[g])
            ):
                self._wait(codes[begins[g], None], np.ascontiguousarray(part).reshape(-1).take(self._at)[None])

    def _products(
        self, x: np.ndarray, weight: np.ndarray | None, top: float | None, middle: np.ndarray | None
    ) -> Iterable[np.ndarray]:
        """Yield matrices that add up to the products of some rows of a group; see `_add_tile` and `products.about`."""
        if top is not None and weight is None and products.may_be_small(top):
            return [products.of_small(x, top)]
        heavy = len(x) if weight is None else weight.sum()
        fits = top is not None and heavy * top * top < products.DOUBLE
        if self._exact and not fits:
            return products.exactly(x, weight)
        return [products.rounded(x, weight)] if fits or middle is None else products.about(x, weight, middle)

    def _wait(self, groups: np.ndarray, packed: np.ndarray) -> None:
        """Queue the products of some groups, to be added later in this order."""
        self._waiting.append((groups, packed))
        self._n_waiting += packed.size
        if self._n_waiting > WAITING:
            self._add_waiting()

    def _add_waiting(self) -> None:
        table = self._table
        if table.lo is None:
            for groups, packed in self._waiting:
                for k, of_group in zip(groups, packed, strict=True):
                    table.hi[k] += of_group
        elif self._waiting:
            codes, packed = (np.concatenate(parts) for parts in zip(*self._waiting, strict=True))
            entries, packed = (np.arange(len(codes)), codes, np.ones(len(codes))), frozen(packed)
            scratch = class_sums.lost_of(packed.shape[1])
            spilled = class_sums.add_dense_pairs(packed, *entries, class_sums.SUM, 0.0, scratch, table.hi, table.lo)
            table.spilled |= bool(spilled)
        self._waiting.clear()
        self._n_waiting = 0

    def _scatter(self, chunk: CSRChunk, entries: Entries) -> None:
        """Add the products of stored values, each exact or in parts."""
        data = chunk.data if self._above is None else (chunk.data > self._above).astype(np.uint8)
        arrays = data, chunk.indices, chunk.indptr, *entries, chunk.n_features, self._table.hi
        if self._table.lo is None:
            kernels.add_csr(*arrays)
        else:
            self._table.spilled |= bool(kernels.add_csr_pairs(*arrays, self._table.lo))

    def take(self, order: np.ndarray, n_features: int) -> Table:
        """Return the sums of all groups in this order, and drop them here."""
        table, self._table = self._table, GrowingTable()
        n_cells = n_pairs(n_multiplied(self._name, n_features))
        table.grow(len(order), n_cells)
        return table.table(order, n_cells)


def _tiles(of_entries: np.ndarray, n_rows: int, first: int) -> Iterator[tuple[slice, Any]]:
    """Yield the rows of each tile and the entries of these; `first` is the number of the first row."""
    numbers = (first + of_entries) // products.TILE
    for own in _alike(numbers):
        start = int(numbers[own][0]) * products.TILE - first
        yield slice(max(start, 0), min(start + products.TILE, n_rows)), own


def _alike(numbers: np.ndarray) -> Iterator[Any]:
    """Yield the places of each number in ascending order; as slices, which copy nothing, if the numbers ascend."""
    order, ends = _runs(numbers)
    for first, last in pairwise([0, *ends.tolist()]):
        yield order[first:last] if isinstance(order, np.ndarray) else slice(first, last)


def _runs(numbers: np.ndarray) -> tuple[Any, np.ndarray]:
    """Return an order that sorts the numbers (a slice if they are sorted), and the end of each run of equal ones."""
    order: Any = slice(None)
    if len(numbers) and (np.diff(numbers) < 0).any():
        few = numbers.min() >= 0 and numbers.max() < 1 << 16  # small enough for a radix sort
        order = np.argsort(numbers.astype(np.uint16) if few else numbers, kind="stable")
    ends = np.flatnonzero(np.diff(numbers[order])) + 1
    return order, np.append(ends, len(numbers)) if len(numbers) else ends


def scatter(stats: Any, name: str = "gram") -> np.ndarray:
    """Return the sums over the rows of each class of (x_i - mean_i) (x_j - mean_j), (K, n, n), without cancellation."""
    sums, weight, table = stats.table("sum").dense(), stats.tables["weight"].dense(), stats.table(name)
    out = np.zeros((len(stats.classes), stats.n_features, stats.n_features))
    for k in map(int, np.flatnonzero(stats.weight > 0)):
        w, w_lo = weight.row(k)
        kernels.scatter_about_means(*sums.row(k), *table.row(k), float(w[0]), float(w_lo[0]), out[k])
    return out


def scatter_of_all(stats: Any) -> np.ndarray:
    """Return the sums of products of all rows about their mean, (n_features, n_features)."""
    sums, weight, products = (whole(stats.table(part)).row(0) for part in ("sum", "weight", "gram"))
    out = np.empty((stats.n_features, stats.n_features))
    kernels.scatter_about_means(*sums, *products, float(weight[0][0]), float(weight[1][0]), out)
    return out


def scatter_of_varying(stats: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of the features that vary, and their sums of products about the mean of all rows."""
    scatter = scatter_of_all(stats)
    squares = scatter.diagonal() + whole(stats.table("sum")).value()[0] ** 2 / stats.total_weight
    kept = np.flatnonzero(scatter.diagonal() > CONSTANT * squares)
    return kept, scatter if len(kept) == len(scatter) else scatter[np.ix_(kept, kept)]


def warn_of_time(n_moments: int, n_rows: int, n_features: int | None, n_values: int | None) -> None:
    """Warn beforehand if products of all pairs of features will take long."""
    width = n_features or 0
    stored = (n_values or n_rows * width) / n_rows
    seconds = n_moments * n_rows * min(PER_PRODUCT * width**2, PER_STORED * stored**2) / 2.0
    if seconds > LONG:
        messages.warn(
            f"{n_rows:,} rows of {width:,} features, {stored:,.0f} of them stored, take about "
            f"{seconds / 60.0:,.0f} minutes of one core to multiply pair by pair; fewer features "
            "(snb.FeatureSelector) take less, and covariance='diagonal' or 'own' needs no pairs"
        )

"""Sums of products of feature pairs, by class or pooled, as packed triangles."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from streamnb.core import arguments, memory, messages
from streamnb.core.threads import one_thread
from streamnb.kernels import class_sums
from streamnb.kernels import dense_sums as kernels
from streamnb.rows.boundary import Survey
from streamnb.rows.row_blocks import Chunk, CSRChunk, DenseChunk, Entries, frozen
from streamnb.stats.moment_sums import SECOND_MOMENTS, GrowingTable
from streamnb.stats.tables import PooledTable, Table, whole

TILE = 2048  # rows that are summed together: row i is in tile i // TILE
BITS = 21  # bits of a slice: the sum of TILE products of two slices is below 2^53
SINGLE, DOUBLE = 2.0**24, 2.0**53  # whole numbers below these are exact
FEWEST = 128  # fewer rows are not worth a product in single precision
FAR = 1024.0  # ratio of distance from 0 to spread beyond which products would hide the variation
PLAIN = 2.0**20  # whole numbers below it have exact sums of products
WAITING = 1 << 18  # numbers of products kept until they are added together
FEW = 40_000  # products of the rows of a group up to which a loop is faster than BLAS
SCATTERED = 16  # a product of two stored values takes as long as this many by BLAS
PACKED, FEWEST_WORDS = 1 << 16, 16  # words of presence bits that stay in the cache, and fewest words of a column
PER_PRODUCT, PER_STORED = 1e-10, 2e-9  # approximate seconds of a product by BLAS, and of two stored values
CONSTANT = 1e-26  # relative to a mean square: a smaller variance is rounding error
LONG = 300.0  # seconds of work that deserve a warning
CURE = (
    "use pooled=True, fewer folds or moments, fewer features (snb.FeatureSelector), covariance='diagonal' or 'own', "
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


def unpacked(packed: np.ndarray) -> np.ndarray:
    """Unpack triangles (.., n (n + 1) / 2) to symmetric matrices (.., n, n)."""
    n = int((np.sqrt(8.0 * packed.shape[-1] + 1.0) - 1.0) / 2.0 + 0.5)  # as n (n + 1) / 2 are packed
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
        step = kernels.WORD * max(PACKED // n_features, FEWEST_WORDS)
        for own in _alike(entries.codes):
            counts, rows = np.zeros(n_pairs(n_features)), entries.rows[own]
            for first in range(0, len(rows), step):
                some = rows[first : first + step]
                words = np.empty((-(-len(some) // kernels.WORD), n_features), np.uint64)
                kernels.pack(values, some, self._above, words)
                kernels.count_pairs(np.ascontiguousarray(words.T), counts)
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
        small = top is not None and ones and may_be_small(top)
        middles = None if self._exact or small else centres(values, rows, begins, ends)
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
        """Yield matrices that add up to the products of some rows of a group; see `_add_tile` and `about`."""
        if top is not None and weight is None and may_be_small(top):
            return [of_small(x, top)]
        heavy = len(x) if weight is None else weight.sum()
        fits = top is not None and heavy * top * top < DOUBLE
        if self._exact and not fits:
            return exactly(x, weight)
        return [rounded(x, weight)] if fits or middle is None else about(x, weight, middle)

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
    numbers = (first + of_entries) // TILE
    for own in _alike(numbers):
        start = int(numbers[own][0]) * TILE - first
        yield slice(max(start, 0), min(start + TILE, n_rows)), own


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


# ---- X' diag(w) X by BLAS --------------------------------------------------------------------------------------------
# Exact for integers and for sliced floats, rounded otherwise. Sums of whole numbers do not depend on the order in which
# BLAS adds them, as long as their absolute values sum to less than 2^53, or 2^24 in float32. Other values are cut into
# slices of few bits, whole multiples of a power of two of each column, so that sums of products of slices are exact
# (Ozaki, Ogita, Oishi and Rump 2012).


class Slice(NamedTuple):
    """Values of some columns, whole multiples of one power of two for each column."""

    columns: np.ndarray
    values: np.ndarray


def rounded(values: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """Return X' diag(w) X in float64: exact for small whole numbers, else rounded in the same way on every machine."""
    x = values.astype(np.float64, copy=False)
    return x.T @ x if weight is None else (x * weight[:, None]).T @ x


def centres(values: np.ndarray, rows: np.ndarray, begins: np.ndarray, ends: np.ndarray) -> np.ndarray | None:
    """Return centres of the columns that lie far from 0 relative to their spread, (groups, n), NaN for others; or None.

    Three rows of each group ``rows[begins:ends]`` decide: the spread of all rows is at least theirs.
    """
    some = values[np.stack([rows[begins], rows[(begins + ends) // 2], rows[ends - 1]])].astype(np.float64)
    low, high = some.min(axis=0), some.max(axis=0)
    spread, least = high - low, np.maximum(np.maximum(low, -high), 0.0)
    far = least > FAR * spread
    if not far.any():
        return None
    far &= ~((spread == 0.0) & (least < PLAIN) & (least == np.floor(least)))
    return np.where(far, some[0], np.nan) if far.any() else None


def about(values: np.ndarray, weight: np.ndarray | None, middle: np.ndarray) -> Iterator[np.ndarray]:
    """Yield matrices that add up to X' diag(w) X, with the rounding error of the products of d = x - c.

    ``sum w x_i x_j = sum w d_i d_j + c_i (U_j - c_j W) + U_i c_j``, the sums U of w x and W of w in pairs.
    """
    x = values.astype(np.float64)
    yield rounded(x - middle, weight)
    columns, n = frozen(np.column_stack([x, np.ones(len(x))])), len(x)
    hi, lo = np.zeros((1, len(middle) + 1)), np.zeros((1, 1, len(middle) + 1))
    entries = np.arange(n), np.zeros(n, np.int64), np.ones(n) if weight is None else weight
    class_sums.add_dense_pairs(columns, *entries, class_sums.SUM, 0.0, class_sums.lost_of(hi.shape[1]), hi, lo)
    sums, of_rows = (hi[0, :-1], lo[0, 0, :-1]), (hi[0, -1], lo[0, 0, -1])
    shift, shift_low = _outer(np.ones(1) * of_rows[0], middle)[:, 0]
    left = sums[0] - shift  # exact: nearly equal numbers, or 0 subtracted
    left_low = sums[1] - shift_low - of_rows[1] * middle
    for a, b in ((middle, left), (middle, left_low), (sums[0], middle), (sums[1], middle)):
        yield from _outer(a, b)


def _outer(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return a_i b_j and its rounding error, (2, len(a), len(b))."""
    out = np.empty((2, len(a), len(b)))
    kernels.weigh(frozen(np.ascontiguousarray(np.broadcast_to(b, out.shape[1:]))), a, out[0], out[1])
    return out


def of_small(values: np.ndarray, top: float) -> np.ndarray:
    """Return X' X of whole numbers up to `top`, computed in single precision."""
    x, step = values.astype(np.float32), max(int(SINGLE / max(top * top, 1.0)), 1)
    total = (x[:step].T @ x[:step]).astype(np.float64)
    for first in range(step, len(x), step):
        some = x[first : first + step]
        total += some.T @ some
    return total


def may_be_small(top: float) -> bool:
    """Return whether single precision holds the products of enough rows exactly."""
    return FEWEST * top * top < SINGLE


def exactly(values: np.ndarray, weight: np.ndarray | None) -> Iterator[np.ndarray]:
    """Yield exact matrices whose upper triangles add up to that of X' diag(w) X; for at most TILE rows."""
    n_features, right = values.shape[1], slices(values.astype(np.float64))
    if weight is None:
        for a, left in enumerate(right):
            yield _spread(left, left, n_features)
            for other in right[a + 1 :]:
                product = _spread(left, other, n_features)
                yield product
                yield product.T
        return
    hi, lo = np.empty((2, *values.shape))
    kernels.weigh(values, weight, hi, lo)
    for left in slices(hi) + slices(lo):
        for other in right:
            yield _spread(left, other, n_features)


def slices(rest: np.ndarray) -> list[Slice]:
    """Return slices that add up to the values in `rest`, which is overwritten."""
    found, columns = list[Slice](), np.arange(rest.shape[1])
    while True:
        top = np.maximum(rest.max(axis=0, initial=0.0), -rest.min(axis=0, initial=0.0))
        left = np.flatnonzero(top)
        if not left.size:
            return found
        if len(left) < len(columns):
            columns, rest, top = columns[left], rest[:, left], top[left]
        grid = np.ldexp(3.0, np.frexp(top)[1] - BITS + 51)  # adding it rounds to 2^-BITS of a power above the largest
        values = rest + grid
        values -= grid
        rest -= values
        found.append(Slice(columns, values))


def _spread(left: Slice, right: Slice, n_features: int) -> np.ndarray:
    """Return the product of two slices, expanded to all columns."""
    product = left.values.T @ right.values
    if len(left.columns) == len(right.columns) == n_features:
        return product
    out = np.zeros((n_features, n_features))
    out[np.ix_(left.columns, right.columns)] = product
    return out

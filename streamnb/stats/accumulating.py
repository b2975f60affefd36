"""Accumulates a run of blocks into a private table, the only place where statistics change in place."""

from collections.abc import Iterable
from dataclasses import replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.core import row_checks
from streamnb.core.memory import bytes_of
from streamnb.rows.boundary import Survey, csr_chunk
from streamnb.rows.preparing import RowOptions
from streamnb.rows.row_blocks import Chunk, DenseChunk, Entries
from streamnb.rows.splits import Folding
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.grouping import Groups, LabelCodes, LabelColumns, Overlaps
from streamnb.stats.histograms import Grid, HistogramSums
from streamnb.stats.moment_sums import LABELS, SECOND_MOMENTS, TABLE, GrowingTable, MomentSums
from streamnb.stats.second_moments import ROUNDED, Products, ProductSums, check_fits
from streamnb.stats.tables import AnyTable, pooled

FEW_OVERLAPS = 1 << 20  # pairs of labels and groups up to which a dense table is faster than sorted cells


class Accumulator:
    """Class sums of the blocks given to `add`; `finish` turns them into statistics.

    Parameters
    ----------
    moments : names out of MOMENTS
    options : RowOptions
    classes : labels, or None for an open set
    folding : Folding, optional
        Keep the statistics of each fold as well.
    memory_limit : int, optional
        Bytes that the tables may take; half of the free memory by default.
    sparse : bool
        Begin with sparse tables.
    grid : Grid, optional
        Also keep histograms on this grid.
    how : Products
        How second moments are summed.
    labels : bool
        Also keep, for an indicator, the weight of the rows that have both labels of each pair.
    n_sharing : int
        Accumulators that share the limit: tables that may become sparse do so once they exceed their share.
    together : names
        Moments summed over all classes; an absent value must contribute 0. Each row of an indicator counts once.
    """

    def __init__(
        self,
        moments: Iterable[str],
        options: RowOptions,
        classes: np.ndarray | None,
        folding: Folding | None = None,
        memory_limit: int | None = None,
        sparse: bool = False,
        grid: Grid | None = None,
        how: Products = ROUNDED,
        labels: bool = False,
        n_sharing: int = 1,
        together: Iterable[str] = (),
    ):
        self._options, self._folding = options, folding
        self._groups = Groups(classes, 1 if folding is None else folding.n_splits)
        names, self._how, self._limit = tuple(moments), how, memory_limit
        own = [m for m in names if m in TABLE and m not in together]
        pools = [m for m in names if m in TABLE and m in together]
        self._whole = MomentSums(pools, options, memory_limit, sparse, n_sharing)
        self._sums = MomentSums(own, options, memory_limit, sparse, n_sharing, self._whole)
        self._products = {m: ProductSums(m, how, options.binarize) for m in names if m in SECOND_MOMENTS}
        self._histograms = None if grid is None else HistogramSums(grid, memory_limit)
        self._fits = 0  # groups whose products are known to fit into memory
        self._weight = GrowingTable()
        self._rows = np.zeros(0, np.int64)
        self._negatives = np.zeros(self._groups.n_splits, np.int64)
        self._overlaps: MomentSums | None = None  # of an indicator, from its first rows on
        self._labels = MomentSums(["sum"], RowOptions(), memory_limit, sparse) if labels else None
        self.n_features: int | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of the tables."""
        kept = self._sums, self._whole, self._histograms, self._labels, self._overlaps, *self._products.values()
        return sum(bytes_of(sums) for sums in kept if sums is not None)

    @property
    def n_groups(self) -> int:
        """Number of classes so far, times the number of splits."""
        return self._groups.n

    def add(
        self, chunk: Chunk, survey: Survey, y: Any, weight: np.ndarray | None, column: np.ndarray | None = None
    ) -> None:
        """Add one block of transformed rows.

        Parameters
        ----------
        y : (n_rows,) labels or (n_rows, n_labels) CSR indicator
        weight : (n_rows,), or None for 1 each
        column : (n_rows,) groups or fold numbers, if the folding needs them
        """
        n_rows, n_features = chunk.shape
        row_checks.check_lengths(n_rows, y.shape[0])
        if self.n_features is None:
            self.n_features = n_features
        row_checks.check_n_features(n_features, self.n_features)
        self._groups.see(y)
        if n_rows == 0:
            return
        whole = weight is None or bool((weight == np.floor(weight)).all())
        heaviest = 1.0 if weight is None else float(weight.max())
        splits = None if self._folding is None else self._folding.splits(chunk.first_row, n_rows, column)
        if survey.negatives:
            self._negatives += _negatives(chunk, survey, splits, len(self._negatives))
        entries = self._groups.entries(y, weight, splits, chunk.first_row)
        growth = n_rows * heaviest if whole else np.inf
        self._weight.note(growth)
        self._add_weights(entries, weight is None)
        block = chunk, survey, entries, self._groups.n, growth
        self._sums.add(*block)
        if sp.issparse(y):  # products of labels, as if these were features
            indicator, known = csr_chunk(None, y.indices, y.indptr, y.shape[1], chunk.first_row)
            several = (np.diff(y.indptr) > 1)[entries.rows] & (entries.weight > 0.0)
            several &= entries.codes < y.shape[1] * self._groups.n_splits
            rows = Entries(entries.rows[several], entries.codes[several], np.ones(np.count_nonzero(several)))
            if self._overlaps is None:
                many = self._groups.n * y.shape[1] > FEW_OVERLAPS
                self._overlaps = MomentSums(["sum"], RowOptions(), self._limit, sparse=many)
            self._overlaps.add(indicator, known, rows, self._groups.n, n_rows)
            if self._labels is not None:
                self._labels.add(indicator, known, *block[2:])
        if self._histograms is not None:
            self._histograms.add(*block)
        if self._whole.moments:
            self._whole.add(chunk, survey, *self._groups.pooled(entries), block[-1])
        if self._products:
            self._add_products(*block)

    def _add_products(self, chunk: Chunk, survey: Survey, entries: Entries, n_groups: int, weight: float) -> None:
        n_splits, n_features = self._groups.n_splits, chunk.shape[1]
        names = tuple(self._products)
        if n_groups > self._fits:  # only then is the free memory checked again
            check_fits(names, self._how.pooled, n_groups // n_splits, n_splits, n_features, self._limit)
            self._fits = n_groups
        if self._how.pooled:
            entries, n_groups = self._groups.pooled(entries)
        for sums in self._products.values():
            sums.add(chunk, survey, entries, n_groups, weight)

    def _add_weights(self, entries: Entries, alike: bool) -> None:
        """Count the entries of each group and add up their weights; `alike` says that all weights are 1."""
        n = self._groups.n
        self._grow_weights(n)
        count = np.bincount(entries.codes, minlength=n)
        self._rows += count
        codes, weight = entries.codes, entries.weight
        if alike and n < len(codes):  # one addition of the count for each group
            codes, weight = np.arange(n), count.astype(np.float64)
        self._weight.add_weights(codes, weight)

    def _grow_weights(self, n: int) -> None:
        self._weight.grow(n, 1)
        if n > len(self._rows):
            self._rows = np.concatenate([self._rows, np.zeros(n - len(self._rows), np.int64)])

    def finish(self) -> ClassStats:
        """Return the statistics with sorted classes; the accumulator cannot be used afterwards."""
        if self._groups.codes is None:  # no rows came
            self._groups.codes = LabelCodes(self._groups.classes)
        classes, order = self._groups.codes.sorted()
        n, n_features = self._groups.n, self.n_features or 0
        self._grow_weights(n)
        by_split = self._groups.by_split(order)
        tables: dict[str, AnyTable] = {"weight": self._weight.table(by_split, 1)}
        for name in self._sums.moments:
            tables[name] = self._sums.take(name, by_split, n_features)  # only one moment at a time is held twice
            absent = TABLE[name].of_absent(self._options)
            if absent and n:  # the kernels count relative to an absent value
                weight = tables["weight"].dense().times(absent)
                tables[name] = weight.select(np.zeros(n_features, np.intp)).plus(tables[name].dense())
        if self._histograms is not None:
            tables["histogram"] = self._histograms.take(by_split, n_features)
        if self._labels is not None and isinstance(self._groups.codes, LabelColumns):
            tables[LABELS] = self._labels.take("sum", by_split, len(classes))
        overlaps = None
        if isinstance(self._groups.codes, LabelColumns):
            found = self._overlaps or MomentSums(["sum"], RowOptions(), self._limit, sparse=True)
            overlaps = found.take("sum", by_split, len(classes))
        n_splits = self._groups.n_splits
        together = self._groups.pooled_groups()
        pools: dict[str, Any] = {name: self._whole.take(name, together, n_features) for name in self._whole.moments}
        groups, taken = (together, pools) if self._how.pooled else (by_split, tables)
        taken |= {name: sums.take(groups, n_features) for name, sums in self._products.items()}
        rows = self._rows[by_split]
        folds = tuple(self._part(tables, pools, overlaps, rows, classes, split) for split in range(n_splits))
        if self._folding is None:
            return folds[0]
        total = reduce(add, folds[: self._folding.n_folds])
        return replace(total, closed=folds[0].closed, folds=folds, folding=self._folding)

    def _part(
        self,
        tables: dict[str, AnyTable],
        pools: dict[str, Any],
        overlaps: Any,
        rows: np.ndarray,
        classes: np.ndarray,
        split: int,
    ) -> ClassStats:
        """Return the statistics of one split; all arguments but the classes hold the splits one after another."""
        labels, n_features = self._groups.codes, self.n_features or 0
        assert labels is not None
        first = split * labels.n

        def taken(classes: np.ndarray, at: np.ndarray, pool: int | None, **more: Any) -> ClassStats:
            part = {name: table.take(at) for name, table in tables.items()}
            if pool is not None:
                part |= {name: pooled(table.take(np.array([pool])).dense()) for name, table in pools.items()}
            return ClassStats(classes, rows[at], part, n_features, options=self._options, **more)

        of_indicator: dict[str, Any] = {}
        negatives = int(self._negatives[split])
        if isinstance(labels, LabelColumns):  # two more codes: rows with labels, rows without
            one, codes = np.zeros(1, np.int64), first + np.arange(len(classes), labels.n)[:, None]
            places = split, self._groups.n_splits + split
            labelled, unlabelled = (
                taken(one, code, pool, closed=True, negatives=negatives)
                for code, pool in zip(codes, places, strict=True)
            )
            every = replace(labelled + unlabelled, negatives=negatives)
            own = overlaps.take(np.arange(first, first + len(classes)))
            of_indicator = {"every": every, "unlabelled": unlabelled, "overlaps": Overlaps.of(own)}
        at, pool = np.arange(first, first + len(classes)), None if of_indicator else split
        part = taken(classes, at, pool, closed=labels.closed, negatives=negatives, **of_indicator)
        if part.every is None:
            return part
        return replace(part, tables={**part.tables, **{name: part.every.tables[name] for name in pools}})


def _negatives(chunk: Chunk, survey: Survey, splits: np.ndarray | None, n_splits: int) -> int | np.ndarray:
    """Count the negative values of a block in each split, (n_splits,); a single number without splits."""
    if splits is None:
        return survey.negatives
    if isinstance(chunk, DenseChunk):
        per_row = np.count_nonzero(chunk.values < 0, axis=1)
    else:
        before = np.concatenate([[0], np.cumsum(chunk.stored < 0)])
        per_row = np.diff(before[chunk.row_ends - chunk.row_ends[0]])
    return np.bincount(splits.reshape(-1), np.tile(per_row, len(splits)), n_splits).astype(np.int64)

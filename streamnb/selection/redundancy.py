"""The fast correlation-based filter, which drops redundant features by tables of pairs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from streamnb.core import arguments, persistence, row_checks
from streamnb.passes.contract import RunOptions, Wants
from streamnb.passes.run import run
from streamnb.rows.boundary import checked, surveyed
from streamnb.rows.preparing import RowOptions, transformed
from streamnb.rows.row_blocks import Block, Chunk, CSRChunk, DenseChunk, frozen
from streamnb.rows.source import Source
from streamnb.scanning.class_scan import ClassScan
from streamnb.selection.criteria import Criterion, SymmetricalUncertainty
from streamnb.selection.feature_ranking import FeatureSearch, Found
from streamnb.stats.accumulating import Accumulator
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.histograms import found_in
from streamnb.stats.second_moments import Products, matrices

MAX_PAIRED = 4096  # features whose pairs are counted: their table takes 64 MiB
OTHER_VALUES = (
    "X has values in the second scan that lie in no bin of the first; a callable should return a fresh iterator of the "
    "same rows each time"
)
ROUNDING = 1.0 - 1e-12  # allows for sums of equal numbers in different orders


@dataclass(frozen=True)
class PairTable:
    """The weight of rows with each pair of values of two features.

    Attributes
    ----------
    columns : (c,) int
        The features, ascending.
    counts : (c * V, c * V)
        [i * V + u, j * V + v] is the weight of value u of feature i with value v of feature j. For presence V = 1, and
        absence has the rest of the weight.
    total : float
        The weight of all rows.
    """

    columns: np.ndarray
    counts: np.ndarray
    total: float

    def uncertainty(self, i: int, others: np.ndarray) -> np.ndarray:
        """SU of a feature with each of the others, (len(others),); features are indices into `columns`."""
        n_values = len(self.counts) // len(self.columns)
        own = slice(i * n_values, (i + 1) * n_values)
        places = others[:, None] * n_values + np.arange(n_values)
        counts = self.counts[own][:, places].transpose(2, 0, 1)  # values of the others, own values, others
        weight = np.diag(self.counts)[own]
        if n_values == 1:
            (both,), theirs = counts[0], np.diag(self.counts)[others]
            alone, absent = np.maximum(weight - both, 0.0), np.maximum(theirs - both, 0.0)
            neither = np.maximum(self.total - weight - absent, 0.0)
            counts = np.stack([np.stack([both, absent]), np.stack([alone, neither])])
            weight = np.append(weight, self.total - weight)
        return SymmetricalUncertainty().of_counts(counts, weight[:, None])


@dataclass(frozen=True)
class PairScan(ClassScan):
    """Counts pairs of values of features: presence, or bins (`scale` and `shift` as in a `Grid`).

    Rows have `taken` features, of which `columns` are counted.
    """

    columns: np.ndarray | None = None
    taken: int = 0
    presence: str = "above"
    n_values: int = 1
    scale: Any = None
    shift: Any = None
    title = "pairs"
    called = "PairScan"

    def partial(self) -> Accumulator:
        known = self.moments, RowOptions(), self.classes, None, self.memory_limit
        return Accumulator(*known, how=self.how)

    def add(self, partial: Any, block: Block) -> None:
        """Check one block of rows and add its values."""
        assert self.columns is not None
        chunk, _ = transformed(*checked(block), self.options)
        row_checks.check_n_features(chunk.shape[1], self.taken, "the second scan")
        chunk = chunk.of_columns(self.columns)
        present = self._present(chunk) if self.scale is None else self._in_bins(chunk)
        partial.add(*surveyed(present), row_checks.check_y(block.y), block.weight)

    def wants(self, n_rows: int | None, n_features: int | None) -> Wants:
        assert self.columns is not None
        return super().wants(n_rows, len(self.columns) * self.n_values)

    def _present(self, chunk: Chunk) -> Chunk:
        if self.presence == "nonzero":
            return chunk.with_values((chunk.stored != 0).astype(np.uint8))
        above = self.options.binarize
        if isinstance(chunk, CSRChunk) and above < 0.0:  # absent values count as present then
            chunk = DenseChunk(chunk.to_matrix().toarray(), chunk.first_row)
        return chunk.with_values((chunk.stored > above).astype(np.uint8))

    def _in_bins(self, chunk: Chunk) -> CSRChunk:
        """Rows of indicators, one per bin of each feature."""
        values = chunk.to_matrix().toarray() if isinstance(chunk, CSRChunk) else chunk.values
        n_rows, n = values.shape
        places = np.floor(values.astype(np.float64) * self.scale) + self.shift
        bins = places - self.n_values * np.arange(n)
        if not ((bins >= 0) & (bins < self.n_values)).all():  # would index outside the table
            raise ValueError(OTHER_VALUES)
        places = places.astype(np.int32)
        data, ends = frozen(np.ones(places.size, np.uint8)), frozen(np.arange(n_rows + 1, dtype=np.int64) * n)
        return CSRChunk(data, frozen(places.reshape(-1)), ends, n * self.n_values, chunk.first_row, ones=True)


@persistence.register
@dataclass(frozen=True)
class FCBF(FeatureSearch):
    """The fast correlation-based filter of Yu and Liu (2003): relevant features without redundant ones.

    Features with SU(j; Y) >= delta (and above 0) are visited from the best down. A feature q is dropped if a better
    feature p that was kept has SU(p, q) >= SU(q; Y). A copy of a kept feature has SU(p, q) = 1 and is always dropped.
    ``SU(a, b) = 2 I(a; b) / (H(a) + H(b))``.

    Parameters
    ----------
    delta : float
        From 0 to 1.
    candidates : int
        Only this many features, the best ones, are compared in pairs: c features with V values take
        4 c V (c V + 1) bytes (V = 1 for presence).

    Examples
    --------
    >>> import numpy as np, streamnb as snb
    >>> y = np.repeat([0, 1], 8)
    >>> X = np.column_stack([y, y, [0, 1] * 8])
    >>> X[3, :2] = 1
    >>> stats = snb.scan(X, y, moments=["above", "gram_above"])
    >>> snb.rank_features(stats, snb.FCBF(delta=0.1)).chosen
    array([0])
    """

    delta: float = 0.0
    candidates: int = MAX_PAIRED
    name: ClassVar[str] = "fcbf"
    begins: ClassVar[str] = "symmetrical_uncertainty"
    reads: ClassVar[str] = "pairs of features, scan(moments=['above', 'gram_above'])"

    def __post_init__(self) -> None:
        arguments.share("delta", self.delta)
        if arguments.positive_integer("candidates", self.candidates) > MAX_PAIRED:
            raise ValueError(f"candidates={self.candidates} should be at most {MAX_PAIRED:,}: more take too long")

    def _candidates(self, stats: ClassStats, criterion: Criterion) -> tuple[np.ndarray, np.ndarray]:
        """Scores of all features, and the candidates, best first."""
        scores, order = self.best_first(stats, criterion)
        return scores, order[(scores[order] >= self.delta) & (scores[order] > 0.0)][: self.candidates]

    def read(self, stats: ClassStats, criterion: Criterion, rows: Source, options: RunOptions) -> PairTable | None:
        columns = np.sort(self._candidates(stats, criterion)[1])
        if _has_pairs(stats, criterion) or not len(columns):
            return None
        task = PairScan(
            ("gram_above",),
            stats.options,
            stats.classes,
            how=Products(pooled=True),
            memory_limit=options.memory_limit,
            columns=columns,
            taken=stats.n_features,
            presence=criterion.presence,
        )
        if criterion.values != "presence":
            grid = found_in(stats.tables).grid
            shift = grid.shift[columns] + grid.n_bins * (np.arange(len(columns)) - columns)
            task = replace(task, n_values=grid.n_bins, scale=grid.scale[columns], shift=shift)
        pairs, _ = run(task, rows, options)
        row_checks.check_same_rows(pairs.n_rows, stats.n_rows)
        return PairTable(columns, matrices(pairs.table("gram_above").dense()), pairs.total_weight)

    def found(self, stats: ClassStats, criterion: Criterion, beside: Any) -> Found:
        scores, order = self._candidates(stats, criterion)
        if not len(order):
            return Found(order, order, scores)
        pairs = beside if isinstance(beside, PairTable) else _pairs_from_stats(stats, criterion, np.sort(order))
        of_class = scores[pairs.columns]
        left, chosen = np.searchsorted(pairs.columns, order), []
        while len(left):
            best, left = left[0], left[1:]
            chosen.append(best)
            if len(left):
                left = left[pairs.uncertainty(best, left) < of_class[left] * ROUNDING]
        return Found(pairs.columns[chosen], order, scores)


def _has_pairs(stats: ClassStats, criterion: Criterion) -> bool:
    """Whether the statistics already hold the pairs."""
    return "gram_above" in stats.moments and (criterion.values, criterion.presence) == ("presence", "above")


def _pairs_from_stats(stats: ClassStats, criterion: Criterion, columns: np.ndarray) -> PairTable:
    """The pairs from statistics of a scan that counted them."""
    if not _has_pairs(stats, criterion):
        raise ValueError(
            "by='fcbf' looks at pairs of features: of presence='above' with statistics of "
            "scan(moments=['above', 'gram_above']); snb.FeatureSelector('fcbf') counts them of any values in a second "
            "read of the rows"
        )
    counts = matrices(stats.table("gram_above").dense())
    counts = counts if counts.ndim == 2 else counts.sum(axis=0)
    return PairTable(columns, counts[np.ix_(columns, columns)], stats.total_weight)

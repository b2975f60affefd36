"""Learns transforms of rows in a pass before the scan: bins, column maps, values of categories."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import Annotated, Any, Self

import numpy as np
import scipy.sparse as sp

from streamnb.core import persistence, row_checks
from streamnb.encoding.bins import BinEdges
from streamnb.encoding.category_columns import CategoryColumns, LevelsSeen, are_some_of, warn_of_distinct
from streamnb.encoding.plain_steps import Indicators, RowStep
from streamnb.passes.answering import answer
from streamnb.passes.contract import Reading, Report, RunOptions
from streamnb.passes.fit import answered
from streamnb.passes.passes import Pass
from streamnb.passes.statistic import Statistic, united
from streamnb.rows.boundary import picked
from streamnb.rows.in_arrays import DaskSource
from streamnb.rows.opening import opened
from streamnb.rows.preparing import (
    LOG1P,
    NONE,
    QUANTILE_NORMAL,
    TRANSFORMS,
    LearnedStep,
    LogColumns,
    QuantileNormal,
    map_name,
)
from streamnb.rows.row_blocks import Block, Chunk, stacked
from streamnb.rows.source import PreparedSource, Source
from streamnb.rows.splits import Folding, check_learns
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.value_counts import ValueCounts

BITS = 24  # of a number of copies: 2^29 rows of so many are counted exactly in float64
SMALLEST = -43  # unit: smaller parts of weights are lost
ABSENT = -99  # in place of the unit: rows of weight 0


def copies_of(weight: np.ndarray) -> Iterator[tuple[int, np.ndarray]]:
    """Yield units u and whole numbers of copies (n_rows,) below 2^24: the weights are the sums of copies 2^(24 u)."""
    rest = np.asarray(weight, np.float64)
    unit = (int(np.frexp(rest.max(initial=0.0))[1]) - 1) // BITS
    while rest.any() and unit >= SMALLEST:
        size = 2.0 ** (BITS * unit)
        copies = np.floor(rest / size)
        if copies.any():
            yield unit, copies.astype(np.int64)
        rest, unit = rest - copies * size, unit - 1


@dataclass(eq=False)
class OfCopies(Statistic):
    """Sums of a statistic that counts whole numbers of copies, for rows of any weights.

    Attributes
    ----------
    statistic : Statistic
        Of no rows. It takes the weights of a block as numbers of copies, and has `scaled(factor)`.
    absent : bool
        Whether it has `beside(other)`, with what is to be known of rows of weight 0.
    units : dict of int to Statistic
        The sums of the copies in each unit; `ABSENT` has those of the rows of weight 0.
    """

    statistic: Any
    absent: bool = False
    units: Annotated[dict[int, Any], united] = field(default_factory=dict)

    @property
    def title(self) -> str:  # type: ignore[override]
        return self.statistic.title

    def add_block(self, block: Block) -> None:
        """Add the copies of each unit."""
        if block.weight is None:
            self._add(0, block)
            return
        weight = row_checks.check_weights(block.weight, block.first_row)
        for unit, copies in copies_of(weight):
            self._add(unit, _in_copies(block, copies), block)
        if self.absent and not weight.all():
            self._add(ABSENT, _in_copies(block, (weight == 0.0).astype(np.int64)), block)

    def _add(self, unit: int, part: Block, block: Block | None = None) -> None:
        if unit not in self.units:
            self.units[unit] = self.statistic.begun()
        try:
            self.units[unit].add_block(part)
        except ValueError:
            if block is not None:
                self.statistic.begun().add_block(block)  # raises it with the row's number among all
            raise

    @property
    def has_weight(self) -> bool:
        """Whether any row has a weight above 0."""
        return bool(self.units.keys() - {ABSENT})

    def whole(self) -> Any:
        """The statistic of all rows, whose counts are the weights."""
        units = sorted(self.units.keys() - {ABSENT}, reverse=True)
        if not units:
            row_checks.check_total_weight(0.0)
        total = self.units[0] if units == [0] else reduce(add, [self.units[u].scaled(2.0 ** (BITS * u)) for u in units])
        return total.beside(self.units[ABSENT]) if ABSENT in self.units else total

    def ended(self, report: Report) -> Self:
        if not report.rows:
            self.statistic.ended(report)
        elif self.has_weight:
            self.whole().ended(report)
        return self

    def about(self) -> dict[str, str]:
        return self.statistic.about()

    def arrays(self) -> Mapping[str, Any]:
        if [*self.units] == [0]:  # as before rows had weights
            return self.units[0].arrays()
        units = sorted(self.units)
        return {"units": units, "totals": [self.units[unit].arrays() for unit in units]}

    def of_arrays(self, arrays: Mapping[str, Any]) -> Self:
        if "units" not in arrays:
            return replace(self, units={0: self.statistic.of_arrays(arrays)})
        units = persistence.part(arrays, "units", list[int])
        return replace(self, units=dict(zip(units, map(self.statistic.of_arrays, arrays["totals"]), strict=True)))


def _in_copies(block: Block, copies: np.ndarray) -> Block:
    """The rows of a block of which there are any copies, and their numbers as weights; None for 1 each."""
    rows = np.flatnonzero(copies)
    some = replace(block, weight=copies)
    some = some if len(rows) == block.n_rows else picked(some, rows)
    return replace(some, weight=None) if (copies[rows] == 1).all() else some


@dataclass(frozen=True)
class StepsOfFolds:
    """The step learned from all rows and, for each split, from the rows outside its fold; empty by default."""

    whole: LearnedStep | None = None
    outside: Sequence[LearnedStep] = ()


def totals_of(
    statistic: Statistic, rows: Source, options: RunOptions, folding: Folding | None
) -> Reading[tuple[Any, list[Any], Report]]:
    """Add up a statistic in one pass: its total over all rows and, for each split, over the rows outside its fold."""
    n_splits = 0 if folding is None else folding.n_splits
    passes = [Pass(statistic), *(Pass(statistic, without=split) for split in range(n_splits))]
    totals, report = yield from answered(passes, rows, replace(options, checkpoint=None), folding)
    if isinstance(statistic, OfCopies):
        for split, total in enumerate(totals[1:]):
            check_learns(float(total.has_weight), split, n_splits if folding is None else folding.n_folds)
        totals = [total.whole() for total in totals]
    whole, *outside = totals
    return whole, outside, report


def counted_values(options: RunOptions) -> OfCopies:
    """Counts of the values of all columns, of no rows yet; bins and column maps are learned from them."""
    return OfCopies(ValueCounts(memory_limit=options.memory_limit), absent=True)


def learned_maps(
    names: Iterable[str], rows: Source, options: RunOptions, who: str, folding: Folding | None
) -> Reading[dict[str, StepsOfFolds]]:
    """Learn the named column maps in one pass, from all rows and from those outside each fold; "none" is empty."""
    found = dict.fromkeys(names, StepsOfFolds())
    if set(found) <= {NONE}:
        return found
    rows.check_read_again(f"{who} with maps=")
    whole, outside, _ = yield from totals_of(counted_values(options), rows, options, folding)
    if LOG1P in found:  # decided by all rows, because those of each held-out fold must have logarithms, too
        found[LOG1P] = StepsOfFolds(LogColumns((whole.low if whole.lowest is None else whole.lowest) > -1.0))
    if QUANTILE_NORMAL in found:
        found[QUANTILE_NORMAL] = StepsOfFolds(quantile_normal(whole), list(map(quantile_normal, outside)))
    return found


def check_maps(names: Iterable[str], transform: Any, normalize: Any) -> None:
    """Refuse `transform` and `normalize` together with column maps."""
    for name, value in (("transform", transform), ("normalize", normalize)):
        if value is not None and list(names):
            raise ValueError(
                f"{name}={value!r} does not work with maps={list(names)}, which apply to raw columns; use one "
                "of the two"
            )


def check_applied(names: Iterable[str], applied: LearnedStep | None) -> None:
    """Refuse statistics whose columns were not mapped by one of the requested maps."""
    done, requested = map_name(applied), list(names) or [NONE]
    if done not in requested:
        listed = " or ".join(map(repr, requested))
        raise ValueError(
            f"maps={listed} is applied in the scan, which had {done!r}; use fit of LinearNB or LinearNBCV, which learn "
            "what it does to each column"
        )


def loaded_maps(others: Any, stats: ClassStats) -> dict[str, ClassStats]:
    """Check statistics of the same rows with other maps, loaded from a file, by the names of the maps."""
    for name, other in others.items():
        alike = isinstance(other, ClassStats) and map_name(other.options.learned) == name
        if not alike or np.any(other.rows != stats.rows) or other.n_features != stats.n_features:
            raise ValueError(f"statistics with maps={name!r} should be of the rows that the others are of")
    return dict(others)


N_QUANTILES = 1000


def quantile_normal(counts: ValueCounts) -> QuantileNormal:
    """The quantile-normal map from value counts; no value may be missing."""
    if counts.missing.any():
        column = int(np.argmax(counts.missing > 0))
        raise ValueError(
            f"X has {counts.missing[column]} NaN in column {column}; 'quantile_normal' has no place for missing "
            "values; snb.Bins and data frames (snb.table) have (Input X contains NaN.)"
        )
    quantiles = np.empty((len(counts.features), N_QUANTILES))
    for row, cells, low, high in zip(quantiles, counts.features, counts.low, counts.high, strict=True):
        row[:] = np.clip(cells.tops(), low, high)[cells.reaching(np.linspace(0.0, 1.0, N_QUANTILES))]
    return QuantileNormal(quantiles)


class LearnsBins:
    """Base of values of `transform=` that learn bins."""

    def learned(self, counts: ValueCounts) -> BinEdges:
        """Bin edges from value counts."""
        raise NotImplementedError

    def check_for(self, n_features: int) -> None:
        """Refuse parameters that do not fit this number of features."""
        raise NotImplementedError


def to_learn(transform: Any) -> Any:
    """The transform if it has to be learned, None if it acts on single values; anything else is refused."""
    if isinstance(transform, LearnsBins):
        return transform
    if transform is None or isinstance(transform, tuple):  # steps, which the scan checks
        return None
    if not (isinstance(transform, str) and transform in (*TRANSFORMS, QUANTILE_NORMAL)):
        listed = ", ".join(map(repr, (None, *TRANSFORMS, QUANTILE_NORMAL)))
        raise ValueError(
            f"transform={transform!r} is unknown; it should be one of {listed}, a tuple of steps, or snb.Bins(..)"
        )
    return transform if transform == QUANTILE_NORMAL else None


def of_values(transform: Any) -> Any:
    """The transform if it acts on single values, which the scan applies itself; None if it has to be learned."""
    return transform if to_learn(transform) is None else None


def learned_by_fold(
    transform: Any, rows: Source, options: RunOptions, who: str, folding: Folding | None
) -> Reading[StepsOfFolds]:
    """Learn the step of `transform` in one pass, from all rows and from those outside each fold."""
    request = to_learn(transform)
    if request is None:
        return StepsOfFolds()
    rows.check_read_again(who)
    whole, outside, _ = yield from totals_of(counted_values(options), rows, options, folding)
    steps = StepsOfFolds(step_of(request, whole), [step_of(request, counts) for counts in outside])
    if not isinstance(steps.whole, BinEdges):
        return steps
    gaps = steps.whole.missing  # a held-out fold may have the only missing values of a column, which need a bin
    outside = [replace(step, missing=gaps) for step in steps.outside if isinstance(step, BinEdges)]
    return replace(steps, outside=outside)


def step_of(transform: Any, counts: ValueCounts) -> LearnedStep:
    """Learn the step of `transform` from value counts."""
    return transform.learned(counts) if isinstance(transform, LearnsBins) else quantile_normal(counts)


def learned_levels(
    columns: Callable[[int], np.ndarray], rows: Source, options: RunOptions, who: str, folding: Folding | None
) -> Reading[StepsOfFolds]:
    """Learn the values of categorical columns in one pass, from all rows and from those outside each fold."""
    rows.check_read_again(who)
    seen, outside, report = yield from totals_of(LevelsSeen(columns, options.memory_limit), rows, options, folding)
    warn_of_distinct(list(map(len, seen.values)), seen.columns.tolist(), report.rows)
    return StepsOfFolds(CategoryColumns.of(seen), list(map(CategoryColumns.of, outside)))


def prepared(step: LearnedStep | None, rows: Source) -> Source:
    """Rows with the step applied block by block, or by Dask."""
    if step is None:
        return rows
    if isinstance(rows, DaskSource):
        made = DaskSource(matrix(step, rows), rows.columns, rows.check_y)
        made.label_names = rows.label_names
        return made
    return PreparedSource(rows, step.applied, step.n_columns, persistence.digest(step), step.at_once)


def opened_through(step: LearnedStep | None, X: Any, *labels: Any, labelled: bool = True) -> Source:
    """Open rows of any kind with the step applied."""
    return prepared(step, opened(X, *labels, labelled=labelled))


def matrix(step: LearnedStep, rows: Source) -> Any:
    """Apply the step to all rows: a matrix, CSR if the step is sparse, or a lazy array for Dask."""
    width, sparse = step.n_columns, step.sparse
    meta: Any = sp.csr_array((0, width)) if sparse else np.empty((0, width))
    return answer(step.applied, rows, width, None, join=stacked, meta=meta, missing=True)


@persistence.register
@dataclass(frozen=True, eq=False, repr=False)
class ChosenColumns(LearnedStep):
    """Keeps a subset of the columns before bins or categories are encoded.

    Attributes
    ----------
    taken : int
        Number of input columns.
    columns : (n,) numbers of the kept columns, sorted
    step : BinEdges, CategoryColumns or None
        Applied to the kept columns.
    """

    taken: int
    columns: Annotated[np.ndarray, "i8[n]"]
    step: BinEdges | CategoryColumns | None

    @classmethod
    def of(cls, step: BinEdges | CategoryColumns | None, n_features: int, columns: np.ndarray) -> "ChosenColumns":
        """Restrict a step to these columns."""
        if isinstance(step, BinEdges):
            step = BinEdges([step.edges[j] for j in columns], step.missing[columns])
        elif isinstance(step, CategoryColumns):  # all of the columns are categorical
            step = CategoryColumns(len(columns), np.arange(len(columns)), [step.values[j] for j in columns])
        return cls(n_features, columns, step)

    def _check_loaded(self) -> None:
        columns = self.columns
        if not len(columns) or not are_some_of(columns, self.taken):
            raise ValueError("columns that are kept should be some of all, in order")
        if self.step is not None and self.step.n_features != len(columns):
            raise ValueError("the step of the columns that are kept should be of as many")

    @property
    def n_features(self) -> int:
        return self.taken

    @property
    def n_columns(self) -> int:
        return len(self.columns) if self.step is None else self.step.n_columns

    def applied(self, chunk: Chunk, survey: Any = None) -> sp.csr_array:
        """The kept columns of a block of rows, encoded by the step if there is one."""
        row_checks.check_n_features(chunk.shape[1], self.taken, "TreeNB")
        some = chunk.of_columns(self.columns)
        return sp.csr_array(some.to_matrix()) if self.step is None else self.step.applied(some)

    def names(self, features: Sequence[str]) -> list[str]:
        """Names of the output columns."""
        some = [features[j] for j in self.columns]
        return list(some) if self.step is None else self.step.names(some)

    def plain(self) -> list[RowStep]:
        if self.step is not None:
            made = self.step.plain()[0].value
            return [RowStep("indicators", replace(made, feature=self.columns[made.feature]))]
        n = len(self.columns)
        ends, none = np.full(n, np.inf), np.zeros(n, bool)
        return [RowStep("indicators", Indicators(self.columns, -ends, ends, none, ~none))]

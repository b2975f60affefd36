"""Learns transforms of rows in a pass before the scan: bins, column maps, values of categories."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
import scipy.sparse as sp

from streamnb.core import persistence, row_checks
from streamnb.encoding.bins import BinEdges, ValueScan
from streamnb.encoding.category_columns import CategoryColumns, LevelScan, are_some_of, warn_of_distinct
from streamnb.encoding.copies import OfCopies
from streamnb.fits.fit import answered
from streamnb.fits.passes import Pass
from streamnb.passes.answering import answer
from streamnb.passes.contract import PassTask, Report, RunOptions
from streamnb.rows.in_arrays import DaskSource
from streamnb.rows.opening import opened
from streamnb.rows.preparing import (
    LOG1P,
    NONE,
    QUANTILE_NORMAL,
    TRANSFORMS,
    ColumnMap,
    LearnedStep,
    LogColumns,
    QuantileNormal,
    map_name,
)
from streamnb.rows.row_blocks import Chunk
from streamnb.rows.source import PreparedSource, Source
from streamnb.rows.splits import Folding, check_learns
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.value_counts import ValueCounts


@dataclass(frozen=True)
class StepsOfFolds:
    """The step learned from all rows and, for each split, from the rows outside its fold; empty by default."""

    whole: LearnedStep | None = None
    outside: Sequence[LearnedStep] = ()


def totals_of(
    task: PassTask, rows: Source, options: RunOptions, folding: Folding | None
) -> tuple[Any, list[Any], Report]:
    """Run a task in one pass: its total over all rows and, for each split, over the rows outside its fold."""
    n_splits = 0 if folding is None else folding.n_splits
    passes = [Pass(task), *(Pass(task, without=split) for split in range(n_splits))]
    totals, _, report = answered(passes, rows, replace(options, checkpoint=None), folding)
    if isinstance(task, OfCopies):
        for split, total in enumerate(totals[1:]):
            check_learns(float(total.has_weight), split, n_splits if folding is None else folding.n_folds)
        totals = [total.whole() for total in totals]
    whole, *outside = totals
    return whole, outside, report


def values_task(options: RunOptions) -> OfCopies:
    """The task that counts the values of all columns, as bins and column maps are learned from them."""
    return OfCopies(ValueScan(options.memory_limit), absent=True)


def learned_maps(
    names: Iterable[str], rows: Source, options: RunOptions, who: str, folding: Folding | None
) -> dict[str, StepsOfFolds]:
    """Learn the named column maps in one pass, from all rows and from those outside each fold; "none" is empty."""
    found = dict.fromkeys(names, StepsOfFolds())
    if set(found) <= {NONE}:
        return found
    rows.check_read_again(f"{who} with maps=")
    whole, outside, _ = totals_of(values_task(options), rows, options, folding)
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
                f"{name}={value!r} does not go with maps={list(names)}, which are of the columns as they are; take one "
                "of the two"
            )


def check_applied(names: Iterable[str], applied: ColumnMap | None) -> None:
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
        alike = isinstance(other, ClassStats) and map_name(other.options.columns) == name
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
            "values, snb.Bins has (Input X contains NaN.)"
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


def learned(transform: Any, rows: Source, options: RunOptions, who: str) -> LearnedStep | None:
    """Learn the step of `transform` in one pass over the rows; None if there is nothing to learn."""
    return learned_by_fold(transform, rows, options, who, None).whole


def learned_by_fold(
    transform: Any, rows: Source, options: RunOptions, who: str, folding: Folding | None
) -> StepsOfFolds:
    """Learn the step of `transform` in one pass, from all rows and from those outside each fold."""
    request = to_learn(transform)
    if request is None:
        return StepsOfFolds()
    rows.check_read_again(who)
    whole, outside, _ = totals_of(values_task(options), rows, options, folding)
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
) -> StepsOfFolds:
    """Learn the values of categorical columns in one pass, from all rows and from those outside each fold."""
    rows.check_read_again(who)
    seen, outside, report = totals_of(LevelScan(columns, options.memory_limit), rows, options, folding)
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
    join = _joined if sparse else np.concatenate
    return answer(step.applied, rows, width, None, join=join, meta=meta, missing=True)


def check_learned(transform: Any, step: Any, coded: bool = False) -> Any:
    """Check that a step loaded from a file fits `transform`, or is one of categorical columns if `coded`."""
    request = to_learn(transform)
    default: type = CategoryColumns if coded else type(None)
    kind: Any = default if request is None else BinEdges if isinstance(request, LearnsBins) else QuantileNormal
    if not isinstance(step, kind):
        raise ValueError(f"transform={request!r} should come with what was learned for it, not {type(step).__name__}")
    if isinstance(request, LearnsBins) and step is not None:
        request.check_for(step.n_features)
    return step


def _joined(pieces: list[Any]) -> Any:
    """Stack blocks of rows."""
    return sp.vstack(pieces, format="csr") if len(pieces) > 1 else pieces[0]


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

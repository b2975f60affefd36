"""Maps of columns that a family asks for, learned in a pass before the scan."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from streamnb.encoding.bins import ValueScan
from streamnb.encoding.by_fold import StepsOfFolds, totals_of
from streamnb.passes.options import RunOptions
from streamnb.rows.column_maps import LOG1P, NONE, QUANTILE_NORMAL, ColumnMap, LogColumns, QuantileNormal, map_name
from streamnb.rows.source import Source
from streamnb.rows.splits import Folding
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.value_counts import ValueCounts


def learned_maps(
    names: Iterable[str], rows: Source, options: RunOptions, who: str, folding: Folding | None
) -> dict[str, StepsOfFolds]:
    """Maps of these names, of all rows and of those outside each fold, from one pass; none of "none"."""
    found = dict.fromkeys(names, StepsOfFolds())
    if set(found) <= {NONE}:
        return found
    rows.check_read_again(f"{who} with maps=")
    whole, outside, _ = totals_of(ValueScan(options.memory_limit), rows, options, folding)
    if LOG1P in found:  # which columns have logarithms is told by all rows: those of a fold have to be mapped, too
        found[LOG1P] = StepsOfFolds(LogColumns(whole.low > -1.0))
    if QUANTILE_NORMAL in found:
        found[QUANTILE_NORMAL] = StepsOfFolds(quantile_normal(whole), list(map(quantile_normal, outside)))
    return found


def check_maps(names: Iterable[str], transform: Any, normalize: Any) -> None:
    """Refuse what would be done to values beside maps of columns."""
    for name, value in (("transform", transform), ("normalize", normalize)):
        if value is not None and list(names):
            raise ValueError(
                f"{name}={value!r} does not go with maps={list(names)}, which are of the columns as they are; take one "
                "of the two"
            )


def check_applied(names: Iterable[str], applied: ColumnMap | None) -> None:
    """Refuse statistics of other columns than those of one of the maps."""
    done, asked = map_name(applied), list(names) or [NONE]
    if done not in asked:
        listed = " or ".join(map(repr, asked))
        raise ValueError(
            f"maps={listed} is applied in the scan, which had {done!r}; use fit of LinearNB or LinearNBCV, which learn "
            "what it does to each column"
        )


def loaded_maps(others: Any, stats: ClassStats) -> dict[str, ClassStats]:
    """Statistics of the same rows with other maps, out of a file, by the names of these."""
    for name, other in others.items():
        alike = isinstance(other, ClassStats) and map_name(other.options.columns) == name
        if not alike or np.any(other.rows != stats.rows) or other.n_features != stats.n_features:
            raise ValueError(f"statistics with maps={name!r} should be of the rows that the others are of")
    return dict(others)


N_QUANTILES = 1000


def quantile_normal(counts: ValueCounts) -> QuantileNormal:
    """From how often values occur; none may be missing."""
    if counts.missing.any():
        column = int(np.argmax(counts.missing > 0))
        raise ValueError(
            f"X has {counts.missing[column]} NaN in column {column}; 'quantile_normal' has no place for missing "
            "values, snb.Bins has (Input X contains NaN.)"
        )
    quantiles = np.empty((len(counts.features), N_QUANTILES))
    for row, cells, low, high in zip(quantiles, counts.features, counts.low, counts.high, strict=True):
        up_to = np.cumsum(cells.counts)
        ranks = np.ceil(np.linspace(0.0, up_to[-1], N_QUANTILES))
        row[:] = np.clip(cells.tops(), low, high)[np.searchsorted(up_to, np.maximum(ranks, 1))]
    return QuantileNormal(quantiles)

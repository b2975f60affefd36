"""The quantile-normal map: each feature becomes normal, whatever its distribution was; learned in one pass."""

import numpy as np

from streamnb.rows.column_maps import QuantileNormal
from streamnb.stats.value_counts import ValueCounts

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

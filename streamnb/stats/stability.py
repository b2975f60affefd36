"""The population stability index: how far rows are from others, by the sums of their columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

import numpy as np
from scipy.special import chdtri

from streamnb.core import persistence
from streamnb.rows.preparing import RowOptions
from streamnb.stats.second_moments import diagonal
from streamnb.stats.tables import spread_about_mean, whole

LEAST = 5.0  # rows of a cell that the smaller set is expected to have; cells with fewer are taken together
RARE = 0.001  # chance that a column without drift exceeds the limit


@persistence.register
@dataclass(frozen=True, eq=False)
class ColumnProfile(persistence.Parameters):
    """Sums of each column over all rows, whatever their classes; models keep those of the rows that they learned from.

    Attributes
    ----------
    moment : {"sum", "above", "nonzero"}
        What was summed: values, or whether they are above a border or not 0.
    options : RowOptions
        What was done to rows before.
    n_rows, weight : rows, and the sum of their weights
    sums : (n_columns,)
    variance : (n_columns,), optional
        About the mean, where sums of squares are known.
    class_weight : (K,), optional
        The weight of the rows of each class.
    """

    moment: Literal["sum", "above", "nonzero"]
    options: RowOptions
    n_rows: int
    weight: float
    sums: Annotated[np.ndarray, "f8[n_columns]"]
    variance: Annotated[np.ndarray, "f8[n_columns]"] | None = None
    class_weight: Annotated[np.ndarray, "f8[K]"] | None = None

    @classmethod
    def of(cls, stats: Any, n_columns: int | None = None) -> Self | None:
        """Those of class statistics, of their first columns; None where they have no sums of single columns."""
        own, n = stats if stats.every is None else stats.every, stats.n_features
        moment: Any = next((name for name in ("sum", "above", "nonzero") if name in own.tables), None)
        if moment is None or own.total_weight <= 0.0:
            return None
        sums, weight = np.array(whole(own.table(moment)).value()[0]), own.total_weight
        variance = None
        if moment == "sum" and "sum_sq" in own.tables:
            variance = spread_about_mean(own) / weight
        elif moment == "sum" and "gram" in own.tables:
            squares = whole(own.tables["gram"]).value()[0][diagonal(n)]
            variance = np.maximum(squares / weight - (sums / weight) ** 2, 0.0)
        variance = None if variance is None else variance[:n_columns]
        return cls(moment, own.options, stats.n_rows, weight, sums[:n_columns], variance, np.array(stats.weight))

    def _check_loaded(self) -> None:
        if not (np.isfinite(self.sums).all() and 0.0 < self.weight < np.inf):
            raise ValueError("sums of columns should be finite, and their rows have some weight")
        if self.class_weight is not None and len(self.class_weight) == 0:
            raise ValueError("class_weight should have a value for each class, and is empty")

    @property
    def moments(self) -> tuple[str, ...]:
        """The moments of a scan of other rows that are to be compared with these."""
        return (self.moment,) if self.variance is None else (self.moment, "sum_sq")

    @property
    def means(self) -> np.ndarray:
        """Of the columns, (n_columns,)."""
        return self.sums / self.weight

    @property
    def variances(self) -> np.ndarray:
        """Of the columns, (n_columns,): as summed, or as of counts or presence with these means."""
        if self.variance is not None:
            return self.variance
        return np.abs(self.means) if self.moment == "sum" else self.means * (1.0 - self.means)


def of_cells(old: np.ndarray, new: np.ndarray) -> tuple[float, float]:
    """Return the index of two lists of counts of the same cells, and the limit that it seldom exceeds by chance.

    The index is ``sum (q - p) ln(q / p)`` over the cells with shares p and q, the divergence of Jeffreys (1946). Each
    cell counts half a row more, and cells that few rows are expected to have are taken together. The limit is from the
    chi-squared distribution of the index times ``n m / (n + m)``.
    """
    old, new = (np.maximum(one, 0.0) for one in (old, new))
    totals = old.sum(), new.sum()
    if min(totals) <= 0.0:
        return np.nan, np.inf
    few = (old + new) * min(totals) / sum(totals) < LEAST
    shares = []
    for counts, total in zip((old, new), totals, strict=True):
        cells = np.append(counts[~few], counts[few].sum() if few.any() else [])
        shares.append((cells + 0.5) / (total + 0.5 * len(cells)))
    p, q = shares
    return float(((q - p) * np.log(q / p)).sum()), limit(len(p) - 1, *totals)


def of_numbers(old: ColumnProfile, new: ColumnProfile) -> np.ndarray:
    """Return the index of each column as if numbers were normal, (n_columns,), from their means and variances."""
    one, two = old.variances, new.variances
    least = np.finfo(float).eps * (one + two + old.means**2 + new.means**2) + np.finfo(float).tiny
    one, two, moved = one + least, two + least, (new.means - old.means) ** 2
    return 0.5 * ((one + moved) / two + (two + moved) / one) - 1.0


def limit(freedom: int, n: float, m: float) -> float:
    """Return what the index of so many degrees of freedom seldom exceeds by chance, for n and m rows."""
    return float(chdtri(freedom, RARE) * (1.0 / n + 1.0 / m)) if freedom > 0 else 0.0


def checked_profile(profile: Any, n_columns: int) -> ColumnProfile | None:
    """A profile from a file, of a model of so many columns."""
    if profile is not None and not (isinstance(profile, ColumnProfile) and len(profile.sums) == n_columns):
        raise ValueError(f"sums={profile!r:.80} should be of the {n_columns} columns of the model")
    return profile

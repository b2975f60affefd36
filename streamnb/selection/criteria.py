"""Criteria that rank features, computed from class statistics."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import chdtrc, entr, fdtrc, rel_entr

from streamnb.core import arguments
from streamnb.problem.families import as_family
from streamnb.problem.family import column_blocks
from streamnb.problem.schemes import SCHEMES
from streamnb.solving.weight_paths import solve
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.histograms import found_in

BLOCK = 1 << 17  # table entries processed at a time
SCATTER_COLUMNS = 1 << 12  # at least so many at a time where `ClassStats.scatter` loops over classes
PRESENCE = ("above", "nonzero")
VALUES = ("presence", "value", "bins")
STRATEGIES = ("uniform", "quantile")


# ---- criteria --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Criterion:
    """Scores features; a new criterion is a subclass and a line in CRITERIA.

    Attributes
    ----------
    moments : tuple of str
        The moments that a scan must sum.
    lowest, highest : float
        The smallest and largest values of x allowed.
    takes_values : bool
        True where scores follow from a feature's table of values by class.
    """

    presence: str = "above"
    family: Any = "poisson"
    scheme: str = "joint"
    reference: Any = None
    smoothing: float = 1.0
    values: str = "presence"
    n_bins: int | None = None
    strategy: str = "uniform"
    min_rows: float = 6.0
    moments: ClassVar[tuple[str, ...]] = ("sum",)
    lowest: ClassVar[float] = -np.inf
    highest: ClassVar[float] = np.inf
    takes_values: ClassVar[bool] = False

    def __post_init__(self) -> None:
        arguments.one_of("presence", self.presence, PRESENCE)
        as_family(self.family)
        arguments.one_of("scheme", self.scheme, SCHEMES)
        arguments.finite_number("smoothing", self.smoothing, minimum=0.0)
        arguments.one_of("values", self.values, VALUES)
        arguments.one_of("strategy", self.strategy, STRATEGIES)
        arguments.finite_number("min_rows", self.min_rows, minimum=0.0)
        if self.n_bins is not None:
            arguments.positive_integer("n_bins", self.n_bins)
            if self.values == "presence":
                raise ValueError(f"n_bins={self.n_bins} joins bins; give values='value' or 'bins', or leave it out")
        if self.values != "presence" and not self.takes_values:
            able = ", ".join(repr(by) for by, criterion in CRITERIA.items() if criterion.takes_values)
            named = next((f"by={by!r}" for by, criterion in CRITERIA.items() if criterion is type(self)), "this one")
            raise ValueError(
                f"values={self.values!r} is for the criteria {able}; {named} goes by sums of values: leave values out"
            )

    def scores(self, stats: ClassStats) -> np.ndarray:
        """Scores (n_features,); every class has weight."""
        raise NotImplementedError

    def pvalues(self, stats: ClassStats, scores: np.ndarray) -> np.ndarray | None:
        """P-values (n_features,) of the scores, or None."""
        return None


class Chi2(Criterion):
    """sum_y (S_y - E_y)^2 / E_y; with values, the same for the weight of each value, summed over values."""

    takes_values = True

    @property
    def moments(self) -> tuple[str, ...]:  # type: ignore[override]
        if self.values == "presence":
            return ("sum",)
        return ()

    @property
    def lowest(self) -> float:  # type: ignore[override]
        if self.values == "presence":
            return 0.0
        return -np.inf

    def scores(self, stats: ClassStats) -> np.ndarray:
        if self.values != "presence":
            return value_table_scores(stats, self, self._of_counts)
        weight, table = stats.weight[:, None], stats.table("sum")
        return _in_blocks(stats, lambda columns: self._of_counts(table.value(columns)[None], weight))

    @staticmethod
    def _of_counts(counts: np.ndarray, weight: np.ndarray) -> np.ndarray:
        expected = np.stack([_expected(weight, n.sum(axis=0)) for n in counts])
        squares = (counts - expected) ** 2
        return np.divide(squares, expected, out=np.zeros_like(squares), where=expected > 0).sum(axis=(0, 1))

    def pvalues(self, stats: ClassStats, scores: np.ndarray) -> np.ndarray:
        n_values: Any = 2
        if self.values != "presence":
            n_values = value_table_scores(stats, self, lambda counts, weight: (counts.sum(axis=1) > 0).sum(axis=0))
        degrees = np.broadcast_to((len(stats.classes) - 1) * (n_values - 1), scores.shape)
        return np.where(degrees > 0, chdtrc(np.maximum(degrees, 1), scores), 1.0)


class FClassif(Criterion):
    """Variance between the classes divided by that within them."""

    moments = "sum", "sum_sq"

    def scores(self, stats: ClassStats) -> np.ndarray:
        between, within = self._degrees(stats)

        def of_block(columns: slice) -> np.ndarray:
            _, explained, left = _squares(stats, columns)
            most = np.where(explained > 0, np.inf, 0.0)
            return np.divide(explained / between, left / within, out=most, where=left > 0)

        return _in_blocks(stats, of_block, SCATTER_COLUMNS)

    def pvalues(self, stats: ClassStats, scores: np.ndarray) -> np.ndarray:
        known = fdtrc(*self._degrees(stats), np.where(np.isinf(scores), 0.0, scores))
        return np.where(np.isinf(scores), 0.0, known)

    def _degrees(self, stats: ClassStats) -> tuple[float, float]:
        n_classes, total = len(stats.classes), float(stats.weight.sum())
        if total <= n_classes:
            raise ValueError(
                f"by='f_classif' needs more rows than classes, but the weight of all rows is {total:g} for "
                f"{n_classes} classes (weights count as frequencies)"
            )
        return float(n_classes - 1), total - n_classes


class Pearson(Criterion):
    """The largest absolute correlation of x with the indicator of a class."""

    moments = "sum", "sum_sq"

    def scores(self, stats: ClassStats) -> np.ndarray:
        weight, total = stats.weight[:, None], stats.weight.sum()

        def of_block(columns: slice) -> np.ndarray:
            deviations, explained, left = _squares(stats, columns)
            size = np.sqrt((explained + left) * (weight * ((total - weight) / total)))
            r = np.divide(np.abs(weight * deviations), size, out=np.zeros_like(size), where=size > 0)
            return np.minimum(r.max(axis=0), 1.0)

        return _in_blocks(stats, of_block, SCATTER_COLUMNS)


class PoissonLogRatio(Criterion):
    """The largest log ratio of means, one class against the rest, which is the unpenalised Poisson weight."""

    lowest = 0.0

    def scores(self, stats: ClassStats) -> np.ndarray:
        path = solve(stats, "poisson", scheme="ovr", smoothing=self.smoothing)
        return _in_blocks(stats, lambda columns: np.abs(path.weights(0, columns)).max(axis=0))


class Score(Criterion):
    """The largest abs(z) over the rows of weights."""

    @property
    def moments(self) -> tuple[str, ...]:  # type: ignore[override]
        return as_family(self.family).moments

    @property
    def lowest(self) -> float:  # type: ignore[override]
        return as_family(self.family).lowest

    @property
    def highest(self) -> float:  # type: ignore[override]
        return as_family(self.family).highest

    def scores(self, stats: ClassStats) -> np.ndarray:
        options: dict[str, Any] = {"scheme": self.scheme, "reference": self.reference, "smoothing": self.smoothing}
        return solve(stats, self.family, **options).breakpoints("score")


class OfCells(Criterion):
    """A criterion of a feature's table of values by class; by default the two values are presence and absence."""

    takes_values = True

    @property
    def moments(self) -> tuple[str, ...]:  # type: ignore[override]
        if self.values == "presence":
            return (self.presence,)
        return ()

    def scores(self, stats: ClassStats) -> np.ndarray:
        return value_table_scores(stats, self, self.of_counts)

    def of_counts(self, counts: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Scores (n_columns,) from the weight of each value, (n_values, K, n_columns), and of all rows, (K, 1)."""
        raise NotImplementedError


class MutualInfo(OfCells):
    """I(X; Y), in nats."""

    def of_counts(self, counts: np.ndarray, weight: np.ndarray) -> np.ndarray:
        # observed against expected counts: a feature independent of the class gives logarithms of 1
        information = sum(rel_entr(n, _expected(weight, n.sum(axis=0))).sum(axis=0) for n in counts)
        return np.maximum(information, 0.0) / weight.sum()


class GainRatio(MutualInfo):
    """I(X; Y) / H(X)."""

    def of_counts(self, counts: np.ndarray, weight: np.ndarray) -> np.ndarray:
        information, entropy = super().of_counts(counts, weight), _entropy(counts)
        return np.divide(information, entropy, out=np.zeros_like(information), where=entropy > 0)


class SymmetricalUncertainty(MutualInfo):
    """2 I(X; Y) / (H(X) + H(Y))."""

    def of_counts(self, counts: np.ndarray, weight: np.ndarray) -> np.ndarray:
        entropy = _entropy(counts) + entr(weight / weight.sum()).sum()
        return 2.0 * super().of_counts(counts, weight) / entropy


class KullbackLeibler(GainRatio):
    """Gain ratios divided by their mean."""

    def scores(self, stats: ClassStats) -> np.ndarray:
        ratios = super().scores(stats)
        if ratios.any():
            return ratios / ratios.mean()
        return ratios


class OneR(OfCells):
    """The weight share of the best class of each value; values are merged until that class has weight `min_rows`."""

    def of_counts(self, counts: np.ndarray, weight: np.ndarray) -> np.ndarray:
        joined, right = np.zeros_like(counts[0]), np.zeros(counts[0].shape[1])
        for n in counts:
            joined += n
            best = joined.max(axis=0)
            full = best >= (0.0 if self.values == "presence" else self.min_rows)
            right += np.where(full, best, 0.0)
            joined[:, full] = 0.0
        return (right + joined.max(axis=0)) / weight.sum()


CRITERIA: dict[str, type[Criterion]] = {
    "chi2": Chi2,
    "mutual_info": MutualInfo,
    "gain_ratio": GainRatio,
    "symmetrical_uncertainty": SymmetricalUncertainty,
    "kullback_leibler": KullbackLeibler,
    "poisson_log_ratio": PoissonLogRatio,
    "f_classif": FClassif,
    "pearson": Pearson,
    "score": Score,
    "one_r": OneR,
}


def as_criterion(by: Any, **options: Any) -> Criterion:
    """The criterion with this name, with checked options."""
    return CRITERIA[arguments.one_of("by", by, CRITERIA)](**options)


def _in_blocks(
    stats: ClassStats, of_block: Callable[[slice], np.ndarray], fewest: int = 1, n_values: int = 1
) -> np.ndarray:
    """Scores (n_features,) computed in blocks of columns, so that temporary arrays stay small."""
    out = np.empty(stats.n_features)
    for columns in column_blocks(stats.n_features, max(BLOCK // (len(stats.classes) * n_values), fewest)):
        out[columns] = of_block(columns)
    return out


def blind(stats: ClassStats, criterion: Criterion) -> bool:
    """Whether a criterion of presence is uninformative: each feature is present in all rows or in none."""
    if not isinstance(criterion, OfCells) or criterion.values != "presence":
        return False

    def varies(counts: Any, weight: np.ndarray) -> np.ndarray:
        present, absent = counts
        return (present > 0).any(axis=0) & (absent > 0).any(axis=0)

    return not value_table_scores(stats, criterion, varies).any()


def value_table_scores(stats: ClassStats, criterion: Criterion, of_counts: Callable) -> np.ndarray:
    """Scores (n_features,) by `of_counts`, which gets the weight of each value and of all rows."""
    weight = stats.weight[:, None]
    if criterion.values == "presence":
        table = stats.table(criterion.presence)

        def of_presence(columns: slice) -> np.ndarray:
            present = table.value(columns)
            return of_counts([present, np.maximum(weight - present, 0.0)], weight)

        return _in_blocks(stats, of_presence)
    bins, n_bins = found_in(stats.tables), criterion.n_bins
    if criterion.values == "value" and bins.grid.mode != "value":
        raise ValueError("values='value' needs the values one by one; scan(histogram='value'), or use values='bins'")

    def of_bins(columns: slice) -> np.ndarray:
        counts = bins.counts_of(columns)
        return of_counts(counts if n_bins is None else _joined(counts, n_bins, criterion.strategy), weight)

    return _in_blocks(stats, of_bins, n_values=bins.grid.n_bins)


def _joined(counts: np.ndarray, n_bins: int, strategy: str) -> np.ndarray:
    """Neighbouring bins (n, K, n_columns) merged into `n_bins` of equal width, or of about equal weight."""
    weight, number = counts.sum(axis=1), np.arange(len(counts))[:, None]
    if strategy == "quantile":  # by the middle of each bin's weight
        place = (weight.cumsum(axis=0) - weight / 2.0) * n_bins / weight.sum(axis=0)
    else:  # between the first and the last nonempty bin
        first, last = (weight > 0).argmax(axis=0), len(counts) - 1 - (weight > 0)[::-1].argmax(axis=0)
        place = (number - first) * n_bins / (last - first + 1)
    places = np.clip(place.astype(np.int64), 0, n_bins - 1)
    out, every = np.zeros((n_bins, *counts.shape[1:])), np.arange(counts.shape[2])
    for one, n in zip(places, counts, strict=True):
        out[one, :, every] += n.T
    return out


def _squares(stats: ClassStats, columns: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Class means minus the overall mean, (K, n_columns), and the sums of squares between and within classes."""
    weight, sums = stats.weight[:, None], stats.table("sum").value(columns)
    means = sums / weight
    deviations = means - sums.sum(axis=0) / weight.sum()
    rounding = (4.0 * np.finfo(float).eps) ** 2 * (weight * means**2).sum(axis=0)
    explained, left = (weight * deviations**2).sum(axis=0), stats.scatter(columns).sum(axis=0)
    # a variance that rounding alone can give constant values counts as 0
    explained, left = (np.where(squares > rounding, squares, 0.0) for squares in (explained, left))
    return deviations, explained, left


def _expected(weight: np.ndarray, total: np.ndarray) -> np.ndarray:
    """The total (n_columns,) divided among the classes by their weight (K, 1)."""
    return weight * total / weight.sum()


def _entropy(counts: np.ndarray) -> np.ndarray:
    """The entropy of each feature's values, (n_columns,)."""
    of_values = np.stack([n.sum(axis=0) for n in counts])
    return entr(of_values / of_values.sum(axis=0)).sum(axis=0)

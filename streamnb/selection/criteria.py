"""Criteria that features are ranked by: functions of class statistics."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import chdtrc, entr, fdtrc, rel_entr

from streamnb.core import arguments
from streamnb.problem.families import as_family
from streamnb.problem.family import column_blocks
from streamnb.problem.schemes import SCHEMES
from streamnb.solving.solving import solve
from streamnb.stats.class_stats import ClassStats

BLOCK = 1 << 17  # table entries looked at at once
SCATTER_COLUMNS = 1 << 12  # no fewer at once where `ClassStats.scatter` goes through the classes one by one
PRESENCE = ("above", "nonzero")


# ---- criteria --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Criterion:
    """How to score features; a new one is a subclass and a line in CRITERIA."""

    presence: str = "above"
    family: Any = "poisson"
    scheme: str = "joint"
    reference: Any = None
    smoothing: float = 1.0

    def __post_init__(self) -> None:
        arguments.one_of("presence", self.presence, PRESENCE)
        as_family(self.family)
        arguments.one_of("scheme", self.scheme, SCHEMES)
        arguments.finite_number("smoothing", self.smoothing, minimum=0.0)

    @property
    def moments(self) -> tuple[str, ...]:
        """What a scan must accumulate."""
        return ("sum",)

    @property
    def lowest(self) -> float:
        """Smaller values of x are refused."""
        return -np.inf

    @property
    def highest(self) -> float:
        """And larger ones."""
        return np.inf

    def scores(self, stats: ClassStats) -> np.ndarray:
        """Scores (n_features,); all classes have weight."""
        raise NotImplementedError

    def pvalues(self, stats: ClassStats, scores: np.ndarray) -> np.ndarray | None:
        """Probabilities (n_features,) of such a score where the feature tells nothing, or None."""
        return None


class Chi2(Criterion):
    """sum_y (S_y - E_y)^2 / E_y."""

    @property
    def lowest(self) -> float:
        return 0.0

    def scores(self, stats: ClassStats) -> np.ndarray:
        weight, table = stats.weight[:, None], stats.table("sum")

        def of_block(columns: slice) -> np.ndarray:
            observed = table.value(columns)
            expected = _expected(weight, observed.sum(axis=0))
            squares = (observed - expected) ** 2
            return np.divide(squares, expected, out=np.zeros_like(squares), where=expected > 0).sum(axis=0)

        return _in_blocks(stats, of_block)

    def pvalues(self, stats: ClassStats, scores: np.ndarray) -> np.ndarray:
        return chdtrc(len(stats.classes) - 1, scores)


class FClassif(Criterion):
    """Variance between the classes over that within."""

    @property
    def moments(self) -> tuple[str, ...]:
        return "sum", "sum_sq"

    def scores(self, stats: ClassStats) -> np.ndarray:
        between, within = self._degrees(stats)
        weight, table = stats.weight[:, None], stats.table("sum")

        def of_block(columns: slice) -> np.ndarray:
            sums = table.value(columns)
            means = sums / weight
            rounding = (4.0 * np.finfo(float).eps) ** 2 * (weight * means**2).sum(axis=0)
            explained = (weight * (means - sums.sum(axis=0) / weight.sum()) ** 2).sum(axis=0)
            left = stats.scatter(columns).sum(axis=0)
            # what rounding alone can make of constant values is no variance
            explained, left = (np.where(squares > rounding, squares, 0.0) for squares in (explained, left))
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


class PoissonLogRatio(Criterion):
    """The largest logarithm of the ratio of means, one class against the rest: that is the plain Poisson weight."""

    @property
    def lowest(self) -> float:
        return 0.0

    def scores(self, stats: ClassStats) -> np.ndarray:
        path = solve(stats, "poisson", scheme="ovr", smoothing=self.smoothing)
        return _in_blocks(stats, lambda columns: np.abs(path.weights(0, columns)).max(axis=0))


class Score(Criterion):
    """The largest abs(z) over the rows of weights."""

    @property
    def moments(self) -> tuple[str, ...]:
        return as_family(self.family).moments

    @property
    def lowest(self) -> float:
        return as_family(self.family).lowest

    @property
    def highest(self) -> float:
        return as_family(self.family).highest

    def scores(self, stats: ClassStats) -> np.ndarray:
        options: dict[str, Any] = {"scheme": self.scheme, "reference": self.reference, "smoothing": self.smoothing}
        path = solve(stats, self.family, **options)
        return path.breakpoints("score")


class OfPresence(Criterion):
    """A criterion that looks at where a feature is present."""

    @property
    def moments(self) -> tuple[str, ...]:
        return (self.presence,)

    def scores(self, stats: ClassStats) -> np.ndarray:
        weight, table = stats.weight[:, None], stats.table(self.presence)

        def of_block(columns: slice) -> np.ndarray:
            present = table.value(columns)
            return self.of_counts(present, np.maximum(weight - present, 0.0), weight)

        return _in_blocks(stats, of_block)

    def of_counts(self, present: np.ndarray, absent: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Scores (n_columns,) from the weight of rows with and without the feature, (K, n_columns), and (K, 1)."""
        raise NotImplementedError


class MutualInfo(OfPresence):
    """I(X; Y), in nats."""

    def of_counts(self, present: np.ndarray, absent: np.ndarray, weight: np.ndarray) -> np.ndarray:
        # observed against expected counts: a feature independent of the class gives logarithms of 1
        information = sum(rel_entr(n, _expected(weight, n.sum(axis=0))).sum(axis=0) for n in (present, absent))
        return np.maximum(information, 0.0) / weight.sum()


class GainRatio(MutualInfo):
    """I(X; Y) / H(X)."""

    def of_counts(self, present: np.ndarray, absent: np.ndarray, weight: np.ndarray) -> np.ndarray:
        information = super().of_counts(present, absent, weight)
        entropy = _entropy_of_presence(present, absent)
        return np.divide(information, entropy, out=np.zeros_like(information), where=entropy > 0)


class SymmetricalUncertainty(MutualInfo):
    """2 I(X; Y) / (H(X) + H(Y))."""

    def of_counts(self, present: np.ndarray, absent: np.ndarray, weight: np.ndarray) -> np.ndarray:
        entropy = _entropy_of_presence(present, absent) + entr(weight / weight.sum()).sum()
        return 2.0 * super().of_counts(present, absent, weight) / entropy


class KullbackLeibler(GainRatio):
    """Gain ratios divided by their mean."""

    def scores(self, stats: ClassStats) -> np.ndarray:
        ratios = super().scores(stats)
        return ratios / ratios.mean() if ratios.any() else ratios


class OneR(OfPresence):
    """Share of the weight that the better class of each value has."""

    def of_counts(self, present: np.ndarray, absent: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return (present.max(axis=0) + absent.max(axis=0)) / weight.sum()


CRITERIA: dict[str, type[Criterion]] = {
    "chi2": Chi2,
    "mutual_info": MutualInfo,
    "gain_ratio": GainRatio,
    "symmetrical_uncertainty": SymmetricalUncertainty,
    "kullback_leibler": KullbackLeibler,
    "poisson_log_ratio": PoissonLogRatio,
    "f_classif": FClassif,
    "score": Score,
    "one_r": OneR,
}


def as_criterion(by: Any, **options: Any) -> Criterion:
    """The criterion of that name, its options checked."""
    return CRITERIA[arguments.one_of("by", by, CRITERIA)](**options)


def _in_blocks(stats: ClassStats, of_block: Callable[[slice], np.ndarray], fewest: int = 1) -> np.ndarray:
    """Scores (n_features,) put together from blocks of columns, so that temporaries stay small beside the tables."""
    out = np.empty(stats.n_features)
    for columns in column_blocks(stats.n_features, max(BLOCK // len(stats.classes), fewest)):
        out[columns] = of_block(columns)
    return out


def _expected(weight: np.ndarray, total: np.ndarray) -> np.ndarray:
    """What each class would have of the total (n_columns,) by its share of the weight (K, 1)."""
    return weight * total / weight.sum()


def _entropy_of_presence(present: np.ndarray, absent: np.ndarray) -> np.ndarray:
    counts = np.stack([present.sum(axis=0), absent.sum(axis=0)])
    return entr(counts / counts.sum(axis=0)).sum(axis=0)

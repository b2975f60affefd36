"""Features ranked by what the statistics of one scan say of them: filters of section 4 of Shishkova 2016.

A criterion is one class: the moments it needs, whether it takes negative values, and a score for each feature.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import chdtrc, entr, fdtrc, rel_entr

from streamnb import _checks, persistence
from streamnb.families import as_family, column_blocks
from streamnb.schemes import SCHEMES
from streamnb.solving import solve
from streamnb.stats.class_stats import ClassStats, check_stats

BLOCK = 1 << 17  # table entries looked at at once
SCATTER_COLUMNS = 1 << 12  # no fewer at once where `ClassStats.scatter` goes through the classes one by one
PRESENCE = ("above", "nonzero")


@persistence.register
@dataclass(frozen=True, eq=False)
class FeatureRanking(persistence.Parameters):
    """Scores of features and the order they give.

    Attributes
    ----------
    by : str
        The criterion.
    scores : (n_features,) float64
        The higher, the more the feature tells of the class; never NaN.
    ranking : (n_features,) int
        Features, the best first; features of equal score in the order of the columns. ``ranking[:k]`` are the k best.
    pvalues : (n_features,) float64 or None
        Where the criterion is a test with a known distribution: "chi2" and "f_classif".
    """

    by: str
    scores: np.ndarray
    ranking: np.ndarray
    pvalues: np.ndarray | None = None

    def save(self, path: Any) -> None:
        """Write to one file; read it with `snb.load`."""
        persistence.save(path, self)

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> "FeatureRanking":
        n_features = len(persistence.array("scores", state["scores"], ["f8"], (None,)))
        ranking = persistence.array("ranking", state["ranking"], ["i8"], (n_features,))
        if not np.array_equal(np.sort(ranking), np.arange(n_features)):
            raise ValueError(f"ranking should hold each of the {n_features} features once")
        return cls(**state)


def rank_features(
    stats: ClassStats,
    by: str = "chi2",
    *,
    presence: str = "above",
    family: Any = "poisson",
    scheme: str = "joint",
    reference: Any = None,
    smoothing: float = 1.0,
) -> FeatureRanking:
    """Score every feature by how much it tells of the class, and rank them; reads no data.

    Parameters
    ----------
    stats : ClassStats
        From `scan`; only read. Classes without any weight are left out.
    by : str
        The criterion, see Notes.
    presence : {"above", "nonzero"}
        What counts as present for the criteria of presence: x > binarize, or x != 0.
    family, scheme, reference, smoothing
        As in `solve`, for "score"; "poisson_log_ratio" takes `smoothing` alone.

    Returns
    -------
    FeatureRanking
        With `scores`, `ranking` (best first) and `pvalues`.

    Raises
    ------
    TypeError
        `stats` are no ClassStats.
    ValueError
        An argument is unknown; the statistics hold fewer than two classes, lack the moment that the criterion needs,
        or hold negative values where the criterion takes none; "f_classif" where the rows are no more than the
        classes; "poisson_log_ratio" where a ratio is infinite for want of smoothing.

    Notes
    -----
    N_y is the weight of class y, N their sum, S_yj the class sums of feature j, S_j their sum; weights count as
    frequencies. All but two criteria are formulas for any number of classes; the two say what they do instead.

    From the sums:

    - ``"chi2"``: sum_y (S_yj - E_yj)^2 / E_yj with E_yj = N_y S_j / N, as `sklearn.feature_selection.chi2`. A feature
      never seen scores 0 with p-value 1 (there: NaN).
    - ``"f_classif"``: ANOVA F = (sum_y N_y (m_yj - m_j)^2 / (K - 1)) / (sum_y sum_i (x_ij - m_yj)^2 / (N - K)), as
      `sklearn.feature_selection.f_classif`, but without cancellation. A constant feature scores 0 with p-value 1
      (there: NaN or rounding), one that is constant within each class but not over all inf.
    - ``"poisson_log_ratio"``: the largest abs(ln(lambda_y / lambda_rest)) over the classes, each against the rest;
      lambda the Poisson means, smoothed by `smoothing` rows at the mean of all rows (Vorontsov and Uspenskiy).
    - ``"score"``: the largest abs(z) over the rows of weights of `scheme`, z = t* / sqrt(v) being the score statistic
      of "both sides have one mean" under `family` with `smoothing`. It is the tau of ``L1(scale="score")`` at which
      the last weight of the feature becomes zero (multinomial: to first order). Bernoulli, two classes, smoothing 0:
      z^2 is Pearson's chi-squared of the 2 x 2 table.

    From presence, X_j in {0, 1}, in natural logarithms:

    - ``"mutual_info"``: I = sum_xy p(x, y) ln(p(x, y) / (p(x) p(y))), which is also the information gain.
    - ``"gain_ratio"``: I / H(X_j) (Quinlan 1993).
    - ``"symmetrical_uncertainty"``: 2 (H(X_j) + H(Y) - H(X_j, Y)) / (H(X_j) + H(Y)).
    - ``"kullback_leibler"``: the weights of Lee, Gutierrez and Dou (ICDM 2011),
      w_j = sum_x p(x) KL(p(y | x) || p(y)) / (Z H(X_j)), Z such that they are 1 on average. The sum is I, so they rank
      as the gain ratio does.
    - ``"one_r"``: accuracy of the best rule on the one feature, sum_x max_y p(x, y) (Holte 1993). A feature that tells
      nothing scores the share of the largest class.

    But for "one_r", a feature whose presence is the same in all rows scores 0.

    Examples
    --------
    >>> stats = snb.scan(X, y)
    >>> best = snb.rank_features(stats, by="mutual_info").ranking[:100]
    """
    check_stats(stats)
    criterion = as_criterion(
        by, presence=presence, family=family, scheme=scheme, reference=reference, smoothing=smoothing
    )
    if stats.multilabel:
        raise ValueError("stats are of an indicator of labels; features are ranked for one label a row")
    for moment in criterion.moments:
        stats.table(moment)
    stats = _with_weight(stats)
    if criterion.lowest >= 0.0 and stats.negatives:
        raise ValueError(
            f"Negative values in data passed to by={by!r}: the scanned rows held {stats.negatives}; values should be "
            "at least 0 (shift or clip them, or take by='f_classif')"
        )
    scores = criterion.scores(stats)
    return FeatureRanking(by, scores, np.argsort(-scores, kind="stable"), criterion.pvalues(stats, scores))


def _with_weight(stats: ClassStats) -> ClassStats:
    """The statistics of the classes that have any weight, two at least."""
    seen = np.flatnonzero(stats.weight > 0)
    if len(seen) < 2:
        raise ValueError(
            f"stats hold one class only with any weight ({stats.classes[seen].tolist()}); "
            "ranking features needs at least 2 classes"
        )
    if len(seen) == len(stats.classes):
        return stats
    tables = {name: table.take(seen) for name, table in stats.tables.items()}
    return replace(stats, classes=stats.classes[seen], rows=stats.rows[seen], tables=tables)


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
        _checks.one_of("presence", self.presence, PRESENCE)
        as_family(self.family)
        _checks.one_of("scheme", self.scheme, SCHEMES)
        _checks.finite_number("smoothing", self.smoothing, minimum=0.0)

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
    return CRITERIA[_checks.one_of("by", by, CRITERIA)](**options)


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

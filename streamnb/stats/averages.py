"""Tests that compare classes feature by feature, and drift between two sets of rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import special

from streamnb.core import arguments
from streamnb.core.frames import pandas_for
from streamnb.stats.columns import renamed
from streamnb.stats.histograms import found_in
from streamnb.stats.tables import HiLo, scatter_about_mean, whole

TESTS = ("t-test", "t-test_overestim_var", "wilcoxon")
CORRECTIONS = ("benjamini-hochberg", "bonferroni")
COLUMNS = ("names", "scores", "logfoldchanges", "pvals", "pvals_adj")
LEAST = 1e-9  # is added to both sides of a fold change, as scanpy does
FEW = 1 << 22  # counts of a histogram that are ranked at once
SHARE = "(share of rows)"


@dataclass(frozen=True)
class Side:
    """The rows of a class, or all others: their number (weight), means and sums of squares about the means."""

    n: float
    mean: np.ndarray
    scatter: np.ndarray

    @classmethod
    def of(cls, sums: HiLo, squares: HiLo, weight: HiLo) -> Side:
        """A side from pairs (hi, lo) of its sums."""
        n = float(weight[0][0])
        return cls(n, sums[0] / (n or np.nan), scatter_about_mean(sums, squares, weight))


def sides_of(stats: Any) -> Iterator[tuple[Side, Side]]:
    """Yield the rows of each class and all others, without loss of digits, of one batch or of all rows."""
    counted_once = stats if stats.every is None else stats.every
    tables = [(stats.table(name).dense(), whole(counted_once.table(name))) for name in ("sum", "sum_sq", "weight")]
    for k in range(len(stats.classes)):
        own = [table.take(np.array([k])) for table, _ in tables]
        rest = [every.plus(table, -1.0) for table, (_, every) in zip(own, tables, strict=True)]
        yield Side.of(*(table.row(0) for table in own)), Side.of(*(table.row(0) for table in rest))


def tested(stats: Any, names: Any, n_features: int | None, test: str, batch: bool, corr: str, tie_correct: bool) -> Any:
    """A data frame of the features of each class with the highest scores; see `ClassStats.markers`."""
    arguments.one_of("test", test, TESTS)
    arguments.one_of("corr", corr, CORRECTIONS)
    n = stats.n_features if n_features is None else arguments.positive_integer("n_features", n_features)
    labels, pd = stats.classes.tolist(), pandas_for("a table of markers")
    if len(labels) < 2 and not stats.multilabel:
        raise ValueError(f"there is one class only, {labels}; markers tell a class from the others")
    if tie_correct and test == "wilcoxon" and stats.table("histogram").grid.mode == "bins":
        raise ValueError(
            "tie_correct=True needs to know which values are equal, and bins hold several: scan with histogram='value'"
        )
    parts = _parts(stats, batch)
    ranks = [Ranks(part) for part in parts] if test == "wilcoxon" else []
    names = np.asarray(np.arange(stats.n_features) if names is None else names, object)
    listed, error = [], 0.0
    least = 1.0 if test == "wilcoxon" else 2.0
    for k, of_class in enumerate(zip(*map(sides_of, parts), strict=True)):
        told = [number for number, (own, rest) in enumerate(of_class) if min(own.n, rest.n) >= least]
        sides = [of_class[number] for number in told]
        if not sides:
            raise ValueError(_too_few(stats, k, test, batch))
        if test == "wilcoxon":
            score, p, most = rank_sums([(ranks[number], k) for number in told], tie_correct)
            error = max(error, most)
        else:
            score, p = t_scores(sides, overestimate=test == "t-test_overestim_var")
        best = np.argsort(-score, kind="stable")[:n]
        columns = (names, score, fold_changes(sides), p, corrected(p, corr))
        listed.append({name: values[best] for name, values in zip(COLUMNS, columns, strict=True)})
    groups = pd.Categorical.from_codes(np.repeat(np.arange(len(labels)), len(listed[0]["names"])), labels)
    frame = pd.DataFrame({"group": groups} | {c: np.concatenate([one[c] for one in listed]) for c in COLUMNS})
    frame.attrs |= {"test": test, "corr": corr} | ({"error": error} if test == "wilcoxon" else {})
    return frame


def _parts(stats: Any, batch: bool) -> tuple[Any, ...]:
    if not isinstance(batch, bool | np.bool_):
        raise TypeError(f"batch={batch!r:.50} should be True or False; the column of batches is named in scan or fit")
    if not batch:
        return (stats,)
    if not stats.folds or stats.folding.by != "given":  # folds that are drawn are no batches
        raise ValueError(
            "batch=True, but these statistics know no batches; scan or fit the rows with batch='obs/sample'"
        )
    return stats.folds[: stats.n_folds]


def _too_few(stats: Any, k: int, test: str, batch: bool) -> str:
    label, weight = stats.classes.tolist()[k], stats.weight[k]
    if weight == 0.0:
        return f"class {label!r} has no rows; of classes= list only those that rows have"
    least = "a row" if test == "wilcoxon" else "two rows"
    where = ", in one batch at least" if batch else ""
    return (
        f"test={test!r} takes {least} of each class and of the others{where}, but class {label!r} "
        f"has {weight:g} of {stats.total_weight:g} rows; leave its rows out, or join it to another class"
    )


# ---- t-tests ---------------------------------------------------------------------------------------------------------


def shares(sides: list[tuple[Side, Side]]) -> list[float]:
    """The weight of each batch, n1 n2 / (n1 + n2) as least squares weighs blocks, divided by their sum."""
    weights = [own.n * rest.n / (own.n + rest.n) for own, rest in sides]
    return [weight / sum(weights) for weight in weights]


def t_scores(sides: list[tuple[Side, Side]], overestimate: bool) -> tuple[np.ndarray, np.ndarray]:
    """Welch's t and its two-sided p-value; differences of batches are averaged by `shares`."""
    difference: Any = 0.0
    parts: list[tuple[Any, float]] = []  # of the variance of the difference, and their degrees of freedom
    for share, (own, rest) in zip(shares(sides), sides, strict=True):
        difference = difference + share * (own.mean - rest.mean)
        for side, n in ((own, own.n), (rest, own.n if overestimate else rest.n)):
            parts.append((share**2 * side.scatter / (side.n - 1.0) / n, n - 1.0))
    variance = sum(part for part, _ in parts)
    with np.errstate(divide="ignore", invalid="ignore"):
        score = difference / np.sqrt(variance)
        freedom = 1.0 / sum((part / variance) ** 2 / n for part, n in parts)
    freedom[np.isnan(freedom)] = 1.0  # nothing varies: p is 0 where means differ
    p = 2.0 * special.stdtr(freedom, -abs(score))
    return np.where(np.isnan(score), 0.0, score), np.where(np.isnan(p), 1.0, p)


def fold_changes(sides: list[tuple[Side, Side]]) -> np.ndarray:
    """log2 of the ratio of means, for rows that log1p was applied to; NaN where a mean is below 0."""
    own, rest = (sum(share * pair[at].mean for share, pair in zip(shares(sides), sides, strict=True)) for at in (0, 1))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        change = np.log2((np.expm1(own) + LEAST) / (np.expm1(rest) + LEAST))
    return np.where(np.minimum(own, rest) < 0.0, np.nan, change)  # two negative means have a ratio, which says nothing


def corrected(p: np.ndarray, corr: str) -> np.ndarray:
    """p-values corrected for as many tests as there are features."""
    if corr == "bonferroni":
        return np.minimum(p * len(p), 1.0)
    # scipy.stats.false_discovery_control takes a quarter of the time of markers, and long to import
    order = np.argsort(p)[::-1]
    out = np.empty(len(p))
    out[order] = np.minimum.accumulate(p[order] * len(p) / np.arange(len(p), 0, -1))
    return np.minimum(out, 1.0)


# ---- rank sums -------------------------------------------------------------------------------------------------------


class Ranks:
    """Sums of ranks of each class from a histogram: values of a bin share their mean rank.

    With bins of one value each these are the ranks of Wilcoxon's test. Other bins tell no order within them; zeros are
    told apart if the moment "nonzero" was summed, as most values of sparse rows are 0.

    Attributes
    ----------
    weight, n : (K,) float, float
        Number of rows of each class, and of all.
    sums, unsure : (K, n_features)
        Sums of ranks, and by how much they may be wrong.
    ties : (n_features,)
        The sum of t^3 - t over the numbers t of rows that share a rank.
    """

    def __init__(self, stats: Any):
        shape = len(stats.classes), stats.n_features
        self.sums, self.unsure, self.ties = np.zeros(shape), np.zeros(shape), np.zeros(shape[1])
        every = stats if stats.every is None else stats.every
        self.weight, self.n = stats.weight, float(every.weight.sum())
        for some, own, all_rows in _runs(stats, every):
            before, alone = np.zeros(all_rows.shape[1]), found_in(stats.tables).grid.mode == "value"
            for h, t, single in _values(own, all_rows, _zeros(stats, every, some), alone):
                self.sums[:, some] += h * (before + (t + 1.0) / 2.0)
                self.ties[some] += t**3 - t
                if not single:
                    self.unsure[:, some] += h * (t - h) / 2.0
                before += t


def _runs(stats: Any, every: Any) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
    """Some columns at a time: the counts of each class, (n_bins, K, columns), and of all rows, (n_bins, columns)."""
    table, total = found_in(stats.tables), found_in(every.tables)
    step = max(FEW // (table.grid.n_bins * len(stats.classes)), 1)
    for start in range(0, stats.n_features, step):
        some = slice(start, min(start + step, stats.n_features))
        own = table.counts_of(some)
        yield some, own, own.sum(axis=1) if total is table else total.on(table.grid | total.grid).counts_of(some)[:, 0]


def _zeros(stats: Any, every: Any, some: slice) -> Any:
    """The bin of 0 of some columns, and the weight of their zeros, of each class and of all rows; or None."""
    if "nonzero" not in stats.tables:
        return None
    grid = found_in(stats.tables).grid
    bins = (grid.columns_of_zero() - grid.n_bins * np.arange(stats.n_features))[some]
    own, all_rows = ((part.weight[:, None] - part.table("nonzero").value(some)) for part in (stats, every))
    return bins, own, all_rows.sum(axis=0) if every is stats else all_rows[0]


def _values(own: np.ndarray, all_rows: np.ndarray, zeros: Any, alone: bool) -> Iterator[tuple[Any, Any, bool]]:
    """Counts by class and of all rows of each bin in order, 0 apart; and whether the bin holds one value."""
    for b, (h, t) in enumerate(zip(own, all_rows, strict=True)):
        if not alone and zeros is not None and (here := zeros[0] == b).any():
            h_zero, t_zero = (np.where(here, part, 0.0) for part in zeros[1:])
            yield h_zero, t_zero, True
            h, t = np.maximum(h - h_zero, 0.0), np.maximum(t - t_zero, 0.0)
        yield h, t, alone


def rank_sums(strata: list[tuple[Ranks, int]], tie_correct: bool) -> tuple[np.ndarray, np.ndarray, float]:
    """z of the sum of ranks of a class, its two-sided p-value, and how wrong z may be at most.

    The sums of batches are added with the weights 1 / (n + 1) of van Elteren (1960).
    """
    excess: Any = 0.0
    variance: Any = 0.0
    unsure: Any = 0.0
    for ranks, k in strata:
        n, own = ranks.n, float(ranks.weight[k])
        spread = own * (n - own) / (12.0 * (n + 1.0))
        excess = excess + (ranks.sums[k] - own * (n + 1.0) / 2.0) / (n + 1.0)
        unsure = unsure + ranks.unsure[k] / (n + 1.0)
        variance = variance + spread * ((1.0 - ranks.ties / (n**3 - n)) if tie_correct else 1.0)
    deviation = np.sqrt(np.broadcast_to(variance, np.shape(excess)))
    score = np.divide(excess, deviation, out=np.zeros_like(excess), where=deviation > 0.0)
    error = np.divide(unsure, deviation, out=np.zeros_like(excess), where=deviation > 0.0)
    return score, 2.0 * special.ndtr(-abs(score)), float(error.max(initial=0.0))


def feature_names_of(given: Any, n_features: int) -> np.ndarray | None:
    """Return names of the features, checked; None if none were given."""
    if given is None:
        return None
    names = arguments.as_array("feature_names", given)
    if names.shape != (n_features,):
        raise ValueError(
            f"feature_names has shape {names.shape}; it should have one for each of the {n_features} features"
        )
    return names


def drifted(old: Any, new: Any, n: int, names: Any) -> Iterator[tuple[Any, ...]]:
    """Yield, for each class, its share of the rows and the n features with the largest drift."""
    old, new = (replace(stats, folds=(), folding=None) for stats in (old, new))
    try:
        both = old + new
    except ValueError as error:
        raise ValueError(f"{error}; or fit a model to the old rows: model.drift(rows) needs no second scan") from None
    names = names if names is None else renamed(names, old.encoding, both.encoding)
    moment = next((name for name in ("sum", "above", "nonzero") if name in both.tables), None)
    if moment is None:
        raise ValueError(f"there are no means of features among the moments {list(both.moments)}; scan with 'sum'")
    sides = [both * 0.0 + old, both * 0.0 + new]  # both with all classes, in the same order
    before, after = ([stats.table(moment).value(), stats.weight] for stats in sides)
    totals = [stats.total_weight for stats in sides]
    variances = _variances(both, moment)
    for k, label in enumerate(both.classes.tolist()):
        counts = before[1][k], after[1][k]
        shares = [count / total for count, total in zip(counts, totals, strict=True)]
        share = sum(counts) / sum(totals)
        moved = float(_scores(np.diff(shares), share * (1.0 - share), totals)[0])
        if moved:
            yield label, SHARE, *map(float, shares), moved
        if min(counts) <= 0.0:
            continue
        means = before[0][k] / counts[0], after[0][k] / counts[1]
        z = _scores(means[1] - means[0], variances[k], counts)
        best = np.argsort(-abs(z), kind="stable")[:n]
        for j in best[z[best] != 0.0].tolist():
            yield label, j if names is None else names[j], *(float(mean[j]) for mean in means), float(z[j])


def _variances(both: Any, moment: str) -> np.ndarray:
    """Return the variance of each class and feature about its mean, (K, n_features)."""
    weight = np.maximum(both.weight, np.finfo(float).tiny)[:, None]
    if moment == "sum" and "sum_sq" in both.tables:
        return both.scatter() / weight
    means = both.table(moment).value() / weight
    if moment != "sum":
        return np.maximum(means * (1.0 - means), 0.0)
    if both.negatives:
        raise ValueError(
            "the rows hold negative values, and no sums of squares tell their variance; scan 'sum_sq', too"
        )
    return means


def _scores(moved: np.ndarray, variance: Any, weights: Any) -> np.ndarray:
    """Return the score statistic; 0 where nothing varies."""
    scale = np.sqrt(variance * (1.0 / weights[0] + 1.0 / weights[1]))
    return np.divide(moved, scale, out=np.zeros_like(moved), where=scale > 0.0)

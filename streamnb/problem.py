"""What (6.2) needs to know of the data, for any block of features: sums of both sides, counts, dispersion."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from streamnb import _checks
from streamnb.equations import Equations
from streamnb.families import Family, column_blocks
from streamnb.penalties import Pull
from streamnb.priors import Pseudo, Smoothing, class_probabilities
from streamnb.schemes import ClassSums, Scheme, Sides
from streamnb.stats.class_stats import DOMAINS, ClassStats

BLOCK = 1 << 19  # weights solved for at once


class Problem:
    """All that (6.2) needs to know of the data, for any block of features."""

    def __init__(
        self,
        stats: ClassStats,
        family: Family,
        scheme: Scheme,
        smoothing: Any,
        priors: Any,
        idf: bool,
        estimate: str = "posterior_mean",
    ):
        self.stats, self.family = stats, family
        self.scheme = scheme
        self._smoothing = Smoothing.of(family, smoothing, estimate, stats.n_features)
        self.n_features = stats.n_features
        self.n_rows = self.scheme.n_rows(len(stats.classes))
        weight = stats.weight
        self.seen = weight > 0
        self._n_all = stats.total_weight
        self._has_rest = weight < self._n_all if stats.multilabel else np.count_nonzero(self.seen) - self.seen > 0
        self.blocks = column_blocks(self.n_features, max(BLOCK // self.n_rows, 1))
        self._scored = stats.table(family.moment)
        if idf and family.moment != "sum":
            seen = _SEEN[family.moment]
            raise ValueError(f"idf=True means nothing for family={family.name!r}, which sees {seen} only; leave it out")
        self.scale = _idf(stats) if idf else None
        if family.nonnegative and stats.negatives:
            _checks.raise_negatives(stats.negatives, f"family={family.name!r}")
        _check_scanned(stats, family)
        self._total = np.empty(self.n_features)  # over all rows
        lengths = np.zeros(len(weight))
        for columns in self.blocks:
            sums = self._sums(columns)
            self._total[columns] = sums.sum(axis=0) if stats.every is None else self._overall(stats.every, columns)
            lengths += sums.sum(axis=1)
        self._counts = lengths if family.coupled else weight
        if stats.every is None:
            self._count = float(self._counts.sum())
        else:
            self._count = float(self._total.sum()) if family.coupled else self._n_all
        self._check_highest()
        self._phi = self._dispersion()
        self._check_mode()
        given = class_probabilities(priors, stats, estimate)
        with np.errstate(divide="ignore"):
            log_priors = np.where(self.seen, np.log(given), -np.inf)
        self.intercepts = self.scheme.intercepts(log_priors)

    def _overall(self, every: ClassStats, columns: slice) -> np.ndarray:
        sums = every.table(self.family.moment).value(columns)[0]
        return sums if self.scale is None else sums * self.scale[columns]

    def _dispersion(self) -> np.ndarray:
        """phi, (n_features,); of an indicator that of each label against the rest, (n_labels, n_features)."""
        stats, family = self.stats, self.family
        if not stats.multilabel or type(family).dispersion is Family.dispersion:
            return self._smoothing.dispersion(stats, self.scale)
        labels = range(len(stats.classes))
        return np.stack([self._smoothing.dispersion(stats.against_rest(label), self.scale) for label in labels])

    def _check_highest(self) -> None:
        """Refuse means above the domain; a scan that knows its family names the very value."""
        mean = self._total.max() / self._n_all
        if mean > self.family.highest:
            raise ValueError(
                f"family={self.family!r} takes values of at most {self.family.highest:g}, but feature "
                f"{int(self._total.argmax())} has a mean of {mean:g}"
            )

    def _check_mode(self) -> None:
        """Refuse classes without a mode here, before any model is asked for."""
        if self._smoothing.estimate != "map":
            return
        for columns in self.blocks:
            pseudo, sums = self._pseudo(columns), self._sums(columns)
            self._smoothing.check_mode(pseudo, sums[self.seen], self._counts[self.seen])
            if self.stats.multilabel:  # the rest of a label may be less than any label
                rest = (self._total[columns] - sums)[self._has_rest]
                self._smoothing.check_mode(pseudo, rest, (self._count - self._counts)[self._has_rest])

    def _pseudo(self, columns: slice) -> Pseudo:
        return self._smoothing.pseudo(self._total[columns] / self._n_all, columns, self.n_features)

    def _sums(self, columns: slice, classes: Any = slice(None)) -> np.ndarray:
        sums = self._scored.value(columns, classes)
        return sums if self.scale is None else sums * self.scale[columns]

    def phi(self, columns: slice, rows: slice = slice(None)) -> np.ndarray:
        """The dispersions of some features, (n_columns,) or one row for each row of weights."""
        return self._phi[columns] if self._phi.ndim == 1 else self._phi[rows, columns]

    def kept(self, pull: Pull) -> "Kept | None":
        """Which features TopK keeps."""
        if pull.top_k is None:
            return None
        cut, last = np.empty((self.n_rows, 1)), np.empty((self.n_rows, 1), np.intp)
        for r in range(self.n_rows):
            rows = slice(r, r + 1)
            sides, phi = self.sides(slice(None), rows), self.phi(slice(None), rows)
            merit = Equations.of(sides, self.family, phi, None).merit(pull.by)[0]
            cut[r] = np.partition(merit, -pull.top_k)[-pull.top_k]
            ties = pull.top_k - np.count_nonzero(merit > cut[r])
            last[r] = np.flatnonzero(merit == cut[r])[ties - 1]
        return Kept(pull.by, cut, last, self.n_features)

    def sides(self, columns: slice, rows: slice = slice(None)) -> Sides:
        """Both sides of some rows of weights, for some features."""
        total = self._total[columns]
        counts = self._counts, self._count, self.seen, self._has_rest
        data = ClassSums(lambda classes: self._sums(columns, classes), total, *counts)
        return self.scheme.sides(data, self._pseudo(columns), rows)

    def equations(self, columns: slice, total: np.ndarray | None = None) -> "Equations":
        """(6.2) for some features; `total` (R, 1) is the sum of all pulls, which a coupled family needs."""
        return Equations.of(self.sides(columns), self.family, self.phi(columns), total)

    def breakpoints(self, scored: bool, row: int | None = None) -> np.ndarray:
        """For each feature the L1 tau at which its last weight (or that of one row) becomes zero, (n_features,)."""
        out = np.empty(self.n_features)
        for columns in self.blocks:
            breaks = self.equations(columns).breakpoints(scored)
            out[columns] = breaks.max(axis=0) if row is None else breaks[row]
        return out


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """The k best features of each row of weights: the merit of the worst kept, and the last of its ties, (R, 1)."""

    by: str
    cut: np.ndarray
    last: np.ndarray
    n_features: int

    def mark(self, equations: Equations, columns: slice, rows: slice = slice(None)) -> Equations:
        """Leave out the features that are not kept; `equations` are those without any pull."""
        merit, cut = equations.merit(self.by), self.cut[rows]
        first_ties = np.arange(self.n_features)[columns] <= self.last[rows]
        return replace(equations, kept=(merit > cut) | ((merit == cut) & first_ties))


_SEEN = {"above": "presence", "deviation": "the distance from its centre", "log_sum": "ln x"}


def _check_scanned(stats: ClassStats, family: Family) -> None:
    """Refuse a moment that is taken about another centre, or has no value."""
    if "deviation" in family.moments and stats.options.centre != family.centre:
        raise ValueError(
            f"family={family!r} needs deviations from its centre, but the statistics were scanned with "
            f"centre={stats.options.centre:g}; use scan(..., centre={family.centre:g})"
        )
    for moment in set(family.moments) & set(DOMAINS):
        whole = stats.every or stats
        for columns in column_blocks(stats.n_features, 1 << 16):
            bad = np.argwhere(np.isnan(whole.table(moment).hi[:, columns]))
            if len(bad):
                feature = (columns.start or 0) + int(bad[0, 1])
                which = "" if stats.multilabel else f" in class {stats.classes[bad[0, 0]].item()!r}"
                raise ValueError(
                    f"family={family!r} takes values {'below 1' if moment == 'log1m_sum' else 'above 0'}, but feature "
                    f"{feature} has others{which}, so its {moment} is NaN; {family.cure}"
                )


def _idf(stats: ClassStats) -> np.ndarray:
    total, df = stats.total_weight, np.zeros(stats.n_features)
    for columns in column_blocks(stats.n_features, 1 << 16):
        df[columns] = (stats.every or stats).table("nonzero").value(columns).sum(axis=0)
    return np.log((1.0 + total) / (1.0 + df)) + 1.0

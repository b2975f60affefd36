"""The data side of (6.2) for a block of features: sums, counts and dispersion of both sides."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from streamnb.core import row_checks
from streamnb.problem.families import Together
from streamnb.problem.family import Family, column_blocks
from streamnb.problem.penalties import Pull
from streamnb.problem.schemes import Scheme
from streamnb.problem.sides import CellSums, ClassSums, Sides
from streamnb.problem.smoothing import Pseudo, Smoothing
from streamnb.solving.equations import Equations, Fitted
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.complements import HEAVY, Slack, complements, sums_outside, weight_outside
from streamnb.stats.moment_sums import TABLE
from streamnb.stats.tables import SparseTable, as_scipy, first

BLOCK = 1 << 16  # weights solved for at once
CLASSES_BLOCK = 1 << 19  # sums of classes read from a sparse table at once
Columns = slice | np.ndarray


class Part:
    """The features of one family, numbered from 0: their sums, counts and dispersion.

    `columns` are their numbers among all features; `on_demand` is True if all weights would not fit into memory.
    """

    def __init__(
        self,
        stats: ClassStats,
        family: Family,
        columns: Columns,
        scheme: Scheme,
        smoothing: Smoothing,
        idf: bool,
        on_demand: bool = False,
    ):
        whole, moments = stats, (*family.moments, *(("nonzero",) if idf else ()))
        moments = tuple(dict.fromkeys((family.moment, *moments)))
        self._given = stats.select(columns, moments)
        stats = scheme.with_reference(self._given, moments)
        self.stats, self.family, self.columns = stats, family, columns
        self._scheme, self._smoothing = scheme, smoothing.learned(self._given)
        self.n_features = stats.n_features
        weight = stats.weight
        self._weight, self._seen = weight, weight > 0
        self._n_all = stats.total_weight
        outside = weight_outside(stats)
        self._has_rest = outside > 0.0 if stats.multilabel else np.count_nonzero(self._seen) - self._seen > 0
        self.n_rows = scheme.n_rows(len(stats.classes))
        step = max(BLOCK // self.n_rows, 1)
        self.blocks = [FeatureBlock(self, columns) for columns in column_blocks(self.n_features, step)]
        self._scored = stats.table(family.moment)
        self._neighbours = 0, np.empty((0, self.n_features))
        if idf and family.moment != "sum":
            seen = TABLE[family.moment].seen
            raise ValueError(f"idf=True means nothing for family={family.name!r}, which sees {seen} only; leave it out")
        self.scale = _idf(stats) if idf else None
        self._check_scanned(partly=self._given is not whole)
        self._total, lengths = self._totals_of_cells() if on_demand else self._totals()
        self._counts = lengths if family.coupled else weight
        if stats.every is None:
            self._count = float(self._counts.sum())
        else:
            self._count = float(self._total.sum()) if family.coupled else self._n_all
        self._counts_outside = complements(self._count, lengths, self._lengths_outside) if family.coupled else outside
        self._check_highest()
        with np.errstate(divide="ignore", invalid="ignore"):
            self._phi = self._dispersion()
        self._check_dispersion()
        self._check_link()
        self._check_mode()

    def _totals(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the sum over all rows of each feature, (n_features,), and over all features of each class, (K,)."""
        total, lengths = np.empty(self.n_features), np.zeros(len(self.stats.classes))
        for block in self.blocks:
            sums = self._sums(block.local)
            total[block.local] = sums.sum(axis=0) if self.stats.every is None else self._overall(block.local)
            lengths += sums.sum(axis=1)
        return total, lengths

    def _totals_of_cells(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the same, skipping empty cells."""
        every, factor = self.stats.every, 1.0 if self.scale is None else self.scale
        total = self._scored.totals() * factor if every is None else self._overall(slice(None))
        lengths = as_scipy(self._sparse) @ np.broadcast_to(factor, self.n_features)
        return total, lengths

    def _lengths_outside(self, classes: np.ndarray) -> list[float]:
        """Return the sum over all features of the rows outside each given class."""
        if self.stats.every is None:
            return [np.delete(self._counts, k).sum() for k in classes]
        every = np.arange(self.n_features)
        return [self._outside(slice(None), every, np.full(self.n_features, k)).sum() for k in classes]

    def cells(self, columns: Columns) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the cells of a sparse table in some columns: classes, places among the columns, and sums."""
        table = self._sparse
        at, local, _ = table.cells_of(columns)
        values = table.hi[at]
        return table.classes_of(at), local, values if self.scale is None else values * self.scale[columns][local]

    @property
    def _sparse(self) -> SparseTable:
        assert isinstance(self._scored, SparseTable)
        return self._scored

    def globally(self, local: Columns) -> Columns:
        """Return the numbers among all features."""
        if not isinstance(self.columns, slice):
            return self.columns[local]
        if isinstance(local, slice) and local.step in (None, 1):
            first, stop, _ = local.indices(self.n_features)
            return slice(self.columns.start + first, self.columns.start + max(first, stop))
        return np.arange(self.columns.start, self.columns.stop)[local]

    def _overall(self, columns: Columns) -> np.ndarray:
        assert self.stats.every is not None
        sums = self.stats.every.table(self.family.moment).value(columns)[0]
        return sums if self.scale is None else sums * self.scale[columns]

    def _dispersion(self) -> np.ndarray:
        """Return phi, (n_features,); for an indicator, of the two groups of each row of weights, (R, n_features)."""
        stats, family = self.stats, self.family
        if not stats.multilabel or type(family).dispersion is Family.dispersion:
            return self._smoothing.dispersion(stats, self.scale)
        labels = self._scheme.groups(slice(None))[0] if self._scheme.apart else range(self.n_rows)
        of_groups = []
        for row, label in enumerate(labels):
            two, smoothing = self._scheme.two_groups(stats, row), self._smoothing.of_class(label)
            of_groups.append(smoothing.dispersion(two, self.scale) if two.total_weight else np.ones(self.n_features))
        return np.stack(of_groups)

    def _check_scanned(self, partly: bool) -> None:
        """Raise an error for negative values, and for moments about another centre or without a value."""
        stats, family = self.stats, self.family
        if family.nonnegative and stats.negatives:
            row_checks.raise_negatives(stats.negatives, f"family={family.name!r}")
        if "deviation" in family.moments and stats.options.centre != family.centre:
            raise ValueError(
                f"family={family!r} needs deviations from its centre, but the statistics were scanned with "
                f"centre={stats.options.centre:g}; use scan(..., centre={family.centre:g})"
            )
        if partly and family.nonnegative and family.moment == "sum":
            for at, label in self._first(lambda sums: sums < 0.0, "sum"):
                raise ValueError(
                    f"Negative values in data passed to family={family.name!r}: feature {at} has a sum below 0{label}; "
                    "values should be at least 0 (shift or clip them, or use family='gaussian')"
                )
        for moment in (name for name in family.moments if TABLE[name].partial):
            for at, label in self._first(np.isnan, moment):
                where = "below 1" if TABLE[moment].domain[0] < 0.0 else "above 0"
                raise ValueError(
                    f"family={family!r} takes values {where}, but feature {at} has others{label}, so its {moment} is "
                    f"NaN; {family.cure}"
                )

    def _first(self, wrong: Callable[[np.ndarray], np.ndarray], moment: str) -> Iterator[tuple[int, str]]:
        """Yield the first feature with a wrong class sum, if any, and the class in words."""
        stats = self.stats
        at = first((stats.every or stats).table(moment), wrong)
        if at is not None:
            label = "" if stats.multilabel else f" in class {stats.classes[at[0]].item()!r}"
            yield self._number(at[1]), label

    def _number(self, local: int) -> int:
        return int(self.columns.start + local if isinstance(self.columns, slice) else self.columns[local])

    def _check_highest(self) -> None:
        """Raise an error for means above the domain; a scan that knows its family can name the value."""
        stats, highest = self.stats, self.family.highest
        if self.family.moment != "sum" or np.isinf(highest):
            return
        names = [f"class {label!r}" for label in stats.classes.tolist()]
        weight = stats.weight
        if stats.multilabel:
            names += [f"the rows without label {label!r}" for label in stats.classes.tolist()]
            weight = np.append(weight, weight_outside(stats))
        for block in self.blocks:
            sums = self._sums(block.local)
            sums = np.vstack([sums, self._data(block.local).rest(sums, slice(None))]) if stats.multilabel else sums
            means = sums / np.where(weight > 0, weight, 1.0)[:, None]
            for k, j in np.argwhere(means > highest * (1.0 + 1e-12))[:1]:
                scaled = "" if self.scale is None else " times its idf"
                at = self._number(int(np.arange(self.n_features)[block.local][j]))
                raise ValueError(
                    f"family={self.family!r} takes values of at most {highest:g}, but feature {at} has a mean of "
                    f"{means[k, j]:g}{scaled} in {names[k]}"
                )

    def _check_link(self) -> None:
        """Raise an error for a decreasing link of a custom family, which would give weights the wrong sign."""
        if type(self.family).link is Family.link or not self._count:
            return  # no link if parameters are fitted together; no shares if all rows are zero
        means = np.unique(self._total[:: max(self.n_features // 1000, 1)] / self._count)  # a sample is enough
        lowest, highest = self.family.mean_range
        means = means[(means > lowest) & (means < highest)]
        falls = np.flatnonzero(np.diff(self.family.link(means)) < 0.0)
        if falls.size:
            a, b = means[falls[0] : falls[0] + 2]
            raise ValueError(
                f"family={self.family!r} has a link that falls between the means {a:g} and {b:g}; link(m) should rise "
                "with m, and variance(m) be 1 / its derivative"
            )

    def _check_dispersion(self) -> None:
        """Raise an error if a dispersion underflows or overflows, as squares of tiny values do."""
        for at in np.flatnonzero(~np.isfinite(np.atleast_2d(self._phi)).all(axis=0))[:1]:
            raise ValueError(
                f"family={self.family!r}: the values of feature {self._number(at)} are so small or so large that the "
                "dispersion leaves float64; multiply them by a constant"
            )

    def _check_mode(self) -> None:
        """Raise an error for classes without a mode, before any model is computed."""
        if self._smoothing.estimate != "map":
            return
        for block in self.blocks:
            mean, sums = self._total[block.local] / self._n_all, self._sums(block.local)
            pseudo = self._smoothing.pseudo(mean, block.local, self.n_features)
            seen, others = (np.flatnonzero(there[: len(self._given.classes)]) for there in (self._seen, self._has_rest))
            self._smoothing.check_mode(pseudo.of(seen), sums[seen], self._counts[seen])
            if self.stats.multilabel:  # the rows without a label may have less weight than any label
                rest = self._data(block.local).rest(sums, slice(None))[others]
                self._smoothing.check_mode(pseudo.of(others), rest, self._counts_outside[others])

    def _pseudo(self, columns: Columns, rows: slice = slice(None), slack: Slack | None = None) -> Pseudo:
        """Return the pseudo-counts for the sums of some features and rows of weights, or for their slack."""
        smoothing = self._smoothing if slack is None else self._smoothing.mirrored()
        mean = (self._total[columns] if slack is None else slack.total) / self._n_all
        if smoothing.by_class:  # each label is a problem of its own, with one prior for both sides
            labels = self._scheme.groups(rows)[0] if self._scheme.apart else rows
            pseudo = smoothing.pseudo(mean, columns, self.n_features)
            return pseudo.of(labels) if self.stats.multilabel else pseudo
        if self._scheme.apart:  # each row of weights has its own prior, (R, n_columns)
            sides = self._scheme.groups(rows)
            own, others = (self._sums(columns, side) if slack is None else slack.sums(side) for side in sides)
            weight, more = (self._weight[side] for side in sides)
            count = (weight + more)[:, None]
            mean = np.divide(own + others, count, out=np.zeros(own.shape), where=count > 0.0)
        return smoothing.pseudo(mean, columns, self.n_features)

    def _sums(self, columns: Columns, classes: Any = slice(None)) -> np.ndarray:
        whole = isinstance(self._scored, SparseTable) and isinstance(columns, slice) and columns == slice(None)
        if whole and isinstance(classes, slice) and classes.stop is not None:
            sums = self._sums_of_classes(classes.start or 0, classes.stop)
        else:
            sums = self._scored.value(columns, classes)
        return sums if self.scale is None else sums * self.scale[columns]

    def _outside(self, columns: Columns, places: np.ndarray, classes: np.ndarray) -> np.ndarray:
        """Return sums of all rows outside a class, for a list of places among the columns and classes."""
        at, every = np.arange(self.n_features)[columns][places], self.stats.every
        if every is None:
            sums = self._scored.others(at, classes)
        else:
            sums = sums_outside(every.table(self.family.moment), self._scored, at, classes)
        return sums if self.scale is None else sums * self.scale[at]

    def _data(self, columns: Columns, *cells: np.ndarray) -> Any:
        """Return the data from which sides are formed, for some features, or for a list of cells with their sums."""
        known = partial(self._sums, columns), partial(self._outside, columns), self._total[columns]
        kind = CellSums if cells else ClassSums
        return kind(*known, self._counts, self._count, self._counts_outside, self._seen, self._has_rest, *cells)

    def _sums_of_classes(self, start: int, stop: int) -> np.ndarray:
        """Return sums of a sparse table, computed ahead for further classes, since each pass visits all cells."""
        first, sums = self._neighbours
        if not first <= start <= stop <= first + len(sums):
            first, step = start, max(CLASSES_BLOCK // self.n_features, stop - start)
            sums = self._scored.value(slice(None), slice(first, first + step))
            self._neighbours = first, sums  # one assignment, since several threads may read it
        if stop >= self._scored.shape[0]:  # all classes are done
            self._neighbours = 0, np.empty((0, self.n_features))
        return sums[start - first : stop - first]

    def phi(self, columns: Columns = slice(None), rows: slice = slice(None)) -> np.ndarray:
        """Return the dispersions of some features, (n_columns,), or one row for each row of weights."""
        return self._phi[columns] if self._phi.ndim == 1 else self._phi[rows, columns]

    def known_by_kind(self, pull: Pull) -> bool:
        """Return whether weights depend only on the sums and `kinds` of classes, feature by feature."""
        alone = self._scheme.of_classes and self._phi.ndim == 1 and not isinstance(self.family, Together)
        alone = alone and not self._smoothing.by_class
        return alone and self._smoothing.estimate != "map" and (pull.none or not self.family.coupled)

    @cached_property
    def kinds(self) -> tuple[np.ndarray, np.ndarray]:
        """Kinds of classes, which differ only in their sums: the first class of each, and the kind of all, (K,)."""
        known = np.stack([self._counts, self._counts_outside, self._seen, self._has_rest])
        _, first, kind = np.unique(known, axis=1, return_index=True, return_inverse=True)
        return first, kind.reshape(-1)

    def equations_of_cells(self, columns: np.ndarray, classes: np.ndarray, sums: np.ndarray) -> Equations:
        """Return (6.2) for a list of cells with their sums, as one row."""
        data = self._data(columns, sums)
        sides = self._with_slack(self._scheme.sides(data, self._pseudo(columns), classes), columns, classes, sums)
        return Equations.of(sides, self.family, self.phi(columns), None)

    def sides(self, columns: Columns = slice(None), rows: slice = slice(None)) -> Sides:
        """Return both sides of some rows of weights, for some features."""
        return self._with_slack(
            self._scheme.sides(self._data(columns), self._pseudo(columns, rows), rows), columns, rows
        )

    def _with_slack(self, sides: Sides, columns: Columns, rows: Any, *cells: np.ndarray) -> Sides:
        """Return sides with their slack if a mean is close to its upper bound.

        Values scaled by idf have no upper bound.
        """
        if not self.family.roomy or self.scale is not None:
            return sides
        highest = self.family.mean_range[1]
        falls_short = [highest * n - s for s, n in sides.both]
        near = ((HEAVY * short < s).any(axis=0) for short, (s, _) in zip(falls_short, sides.both, strict=True))
        some = np.flatnonzero(np.logical_or(*near))
        if not some.size:
            return sides
        at = np.arange(self.n_features)[columns][some]
        slack = Slack(self.stats, self.family.moment, highest, at)
        rows, sums = (rows[some], [slack.of_cells(np.arange(len(at)), rows[some])]) if cells else (rows, [])
        data = replace(self._data(at, *sums), sums=slack.sums, outside=slack.outside, total=slack.total)
        pseudo = self._pseudo(at, slice(None) if cells else rows, slack)
        return sides.with_room(some, self._scheme.sides(data, pseudo, rows), falls_short)

    @cached_property
    def fitted(self) -> Fitted:
        """The fit of all features, for families whose parameters are fitted together."""
        assert isinstance(self.family, Together)
        sides, second = [self.sides()], self.family.second
        if second is not None:
            smoothing = replace(self._smoothing, family=second)
            sides.append(Part(self._given, second, slice(0, self.n_features), self._scheme, smoothing, False).sides())
        return Fitted.of(sides, self.family, self._number)

    def groups(self, rows: Iterable[int]) -> list[slice]:
        """Group consecutive rows of weights into slices with at most BLOCK sums."""
        step, found = max(BLOCK // self.n_features, 1), list[slice]()
        for r in rows:
            first = found.pop().start if found and found[-1].stop == r and r - found[-1].start < step else r
            found.append(slice(first, r + 1))
        return found

    def of_rows(self, rows: slice) -> tuple[Sides, Equations]:
        """Return both sides and (6.2) of some rows of weights, for all features of the part."""
        sides = self.sides(rows=rows)
        return sides, Equations.of(sides, self.family, self.phi(rows=rows), None)


@dataclass(frozen=True, slots=True, eq=False)
class FeatureBlock:
    """Some features of one part, by their numbers in it, and some rows of weights."""

    part: Part
    local: Columns
    rows: slice = field(default_factory=lambda: slice(None))

    @property
    def n_rows(self) -> int:
        """Number of rows of weights."""
        return len(range(*self.rows.indices(self.part.n_rows)))

    @property
    def columns(self) -> Columns:
        """The numbers of the features among all features."""
        return self.part.globally(self.local)

    def equations(self, total: np.ndarray | None = None) -> Any:
        """Return (6.2) for these features and rows; a coupled family needs `total` (R, 1), the sum of all pulls.

        If parameters are fitted together, return their fit instead.
        """
        if isinstance(self.part.family, Together):
            return self.part.fitted.take(self.local, self.rows)
        sides, phi = self.part.sides(self.local, self.rows), self.part.phi(self.local, self.rows)
        return Equations.of(sides, self.part.family, phi, None if total is None else total[self.rows])


def _idf(stats: ClassStats) -> np.ndarray:
    df = (stats.every or stats).table("nonzero").totals()
    return np.log((1.0 + stats.total_weight) / (1.0 + df)) + 1.0

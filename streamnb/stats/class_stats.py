"""ClassStats: the sufficient statistics of each class, from which every model is computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from operator import attrgetter, index
from typing import Annotated, Any

import numpy as np
import scipy.sparse as sp

from streamnb.core import arguments, memory, persistence, row_checks
from streamnb.core.frames import pandas_for
from streamnb.core.guesses import attribute
from streamnb.rows.clipping import Clipping
from streamnb.rows.preparing import RowOptions
from streamnb.rows.splits import Folding
from streamnb.stats.averages import drifted, feature_names_of, tested
from streamnb.stats.columns import aligned, moved, moved_columns, without_absent
from streamnb.stats.grouping import Overlaps, check_alike, merged_classes, pooled_names, positions
from streamnb.stats.histograms import Histograms, found_in
from streamnb.stats.moment_sums import ALL_MOMENTS, LABELS, MOMENTS, SECOND_MOMENTS, check_sums
from streamnb.stats.possible import check_left
from streamnb.stats.privacy import Privacy, check_addable, check_not_private, merged, outside, privatized
from streamnb.stats.second_moments import diagonal, matrices, n_multiplied, n_pairs
from streamnb.stats.tables import AnyTable, PooledTable, Table, alike, as_scipy, dense_bytes, scatter_about_mean, whole

COUNTS = "sum", "nonzero", "above", "sum_sq", "gram_above"  # of indicators these are their weight
FADED = 2.0**-500  # a class of less weight is dropped: far below it the low parts of sums underflow


def _values_of(moment: str) -> Any:
    """Return a property for a moment, rounded to float64."""
    return attribute(lambda stats: stats.table(moment).value())


def _matrices_of(moment: str) -> Any:
    """Return a property for a second moment as matrices."""
    return attribute(lambda stats: matrices(stats.table(moment).dense()))


def as_of(part: str, name: str) -> Any:
    """Return a property of what holds class statistics in a field `part`: an attribute of these."""
    read = attrgetter(f"{part}.{name}")
    return property(lambda stats: read(stats), doc=f"As of `ClassStats.{name}`.")  # Python 3.14 looks for its code


@persistence.register
@dataclass(frozen=True, eq=False)
class ClassStats(persistence.Saved):
    """Sums over the rows of each class; made by `scan`, never changed.

    `a + b` covers the rows of both, and `a - b` the rows of a without those of b. `a * gamma` multiplies every weight
    by gamma; a class whose weight falls below 2^-500 gets weight 0. Classes are matched by label, or by column for an
    indicator, and columns by name: those of categories that a table lacks are 0 in its sums. Sums of integers are
    exact; others are kept as (hi, lo) pairs, so that the rounded result does not depend on how the rows were divided
    into blocks.

    Attributes
    ----------
    classes : (K,) sorted labels
    n_rows, n_features : int
        Number of rows, whatever their weight, and of columns.
    weight : (K,) float64
        N_y, the total weight of each class.
    sum, sum_sq, nonzero, above : (K, n_features) float64
        Weighted class sums of x, of x^2, of [x != 0] and of [x > binarize]. Raises a MemoryError if the
        tables are sparse and too large to be dense; use `to_scipy` then.
    log_sum, inv_sum, log1m_sum, deviation : (K, n_features) float64
        The same for ln x, 1/x, ln(1 - x) and abs(x - centre). NaN where a value of that class and feature has no
        logarithm or inverse; subtracting the row does not restore the sum.
    histogram : (n_features, n_bins, K) float64
        H[j, bin, y], if `scan` was given ``histogram=``; ``table("histogram").edges``, (n_features, n_bins + 1), are
        the edges of its bins, which include their left edge. Subtracting rows does not change the edges.
    gram, gram_above : (K, n_features, n_features), or (n_features, n_features) where they were scanned ``pooled``
        Weighted class sums of x_i x_j, and of [x_i > binarize] [x_j > binarize], if `scan` was given these moments.
    gram_sq : (K, 2 n_features, 2 n_features), or without the first axis
        Products of the features followed by their squares.
    step : object or None
        The step that `scan` learned for `transform`, such as bins; models from these statistics take raw columns.
    folds, folding, options, closed
        Statistics of each fold; how rows were split and transformed; whether the classes were listed by the user.
    clipping, privacy
        How much a row and a person may add to the sums, from ``scan(clip=)``; and what noise protects: epsilon, delta,
        the mechanism, sensitivity and noise of each sum, and what was declared, from `privatize`.
    encoding : Encoding, NamesOfColumns or None
        What the columns are, where rows were raw or had names of columns.
    every, unlabelled, overlaps, negatives
        Of an indicator: all rows, rows without labels, and counts of pairs of labels. Number of negative values.

    Examples
    --------
    >>> import streamnb as snb
    >>> first, second = snb.scan([[2, 0], [0, 4]], ["cat", "dog"]), snb.scan([[1, 5]], ["dog"])
    >>> both = first + second
    >>> both.sum.tolist(), (both - second).sum.tolist()
    ([[2.0, 0.0], [1.0, 9.0]], [[2.0, 0.0], [0.0, 4.0]])
    """

    classes: Annotated[np.ndarray, "[K]"]
    rows: Annotated[np.ndarray, "i8[K]"]  # rows seen of each class
    tables: Mapping[str, AnyTable]  # "weight" (K, 1), the moments (K, n_features); maybe "histogram"
    n_features: int
    negatives: int = 0  # number of negative values, whatever their weight
    options: RowOptions = field(default_factory=RowOptions)
    closed: bool = False  # True if the user listed the classes
    every: ClassStats | None = None  # multi-label: all rows as one class, each counted once
    unlabelled: ClassStats | None = None  # the same for rows without any label; None in files older than 0.2
    overlaps: Overlaps | None = None  # multi-label: counts of rows with two labels; None in older files
    folds: tuple[ClassStats, ...] = ()  # one for each fold, repeat by repeat
    folding: Folding | None = None
    clipping: Clipping | None = None  # how much a person adds, if that is bounded
    privacy: Privacy | None = None  # what the noise protects, once there is any
    encoding: Any = None  # what the columns are: the encoding of raw rows, or `NamesOfColumns`; None if it is not known

    def __setstate__(self, state: Any) -> None:
        """Restore a pickle; in those of 0.3.0 and older, the fields are a list."""
        names = [part.name for part in fields(self)]
        vars(self).update(zip(names, state, strict=False) if isinstance(state, list) else state)

    @property
    def n_rows(self) -> int:
        return int(self.rows.sum()) if self.every is None else self.every.n_rows

    @property
    def multilabel(self) -> bool:
        """True if a row may have any number of labels; each class is then a label."""
        return self.every is not None

    @property
    def total_weight(self) -> float:
        """N, the total weight of all rows."""
        return float((self if self.every is None else self.every).weight.sum())

    @property
    def n_folds(self) -> int:
        """Number of folds in each repeat; 0 if rows were not split."""
        return 0 if self.folding is None else self.folding.n_folds

    @property
    def weight(self) -> np.ndarray:
        return self.tables["weight"].value()[:, 0]

    sum, sum_sq, nonzero, above, log_sum, inv_sum, log1m_sum, deviation = map(_values_of, MOMENTS)
    histogram = attribute(lambda stats: found_in(stats.tables).counts)
    step = attribute(lambda stats: stats.options.step)
    gram, gram_above, gram_sq = map(_matrices_of, SECOND_MOMENTS)

    @property
    def moments(self) -> tuple[str, ...]:
        """Names of the moments that were accumulated."""
        return tuple(name for name in self.tables if name in ALL_MOMENTS)

    @property
    def nbytes(self) -> int:
        """Bytes of the tables."""
        return memory.bytes_of([dict(self.tables), self._parts, self.overlaps])

    @property
    def dense_bytes(self) -> int:
        """Bytes that the tables would take if all were dense."""
        return sum(dense_bytes(t) for t in self.tables.values()) + sum(part.dense_bytes for part in self._parts)

    @property
    def _parts(self) -> list[ClassStats]:
        """All statistics contained in this object, such as those of folds."""
        return [*self.folds, *(part for part in (self.every, self.unlabelled) if part is not None)]

    def changed(self, change: Callable[[ClassStats], Mapping[str, Any]]) -> ClassStats:
        """Return the statistics with the fields that `change` returns, and those of folds and others likewise."""
        folds = tuple(fold.changed(change) for fold in self.folds)
        every = self.every and self.every.changed(change)
        unlabelled = self.unlabelled and self.unlabelled.changed(change)
        return replace(self, **change(self), folds=folds, every=every, unlabelled=unlabelled)

    def with_tables(self, kind: Callable[[AnyTable], AnyTable]) -> ClassStats:
        """Return the same statistics with tables of another kind, dense or sparse."""

        def of_kind(part: ClassStats) -> dict[str, Any]:
            return {"tables": {name: kind(t) if name in MOMENTS else t for name, t in part.tables.items()}}

        return self.changed(of_kind)

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes  # Dask uses this to decide what to move or spill

    def table(self, moment: str) -> AnyTable:
        """Return the table of (hi, lo) sums of a moment; the error for an unknown one lists those accumulated."""
        if not isinstance(moment, str) or moment not in self.tables:
            have = ", ".join(map(repr, self.moments))
            raise ValueError(
                f"these statistics lack the moment {moment!r} (they hold {have}); "
                "name it in scan(moments=) or fit(moments=)"
            )
        return self.tables[moment]

    def to_scipy(self, moment: str) -> sp.csr_array:
        """Return a moment as SciPy CSR, (K, n_features), for tables too large for a dense array."""
        return as_scipy(self.table(moment))

    def fold(self, fold: int, repeat: int = 0) -> ClassStats:
        """Return the statistics of the rows of one fold, with all classes."""
        if self.folding is None:
            raise ValueError("these statistics have no folds; name them in scan(folds=)")
        for name, number, count in (("fold", fold, self.n_folds), ("repeat", repeat, self.folding.repeats)):
            if not 0 <= index(number) < count:
                raise IndexError(f"{name}={number} should be from 0 to {count - 1}")
        return self.folds[repeat * self.n_folds + fold]

    def without_fold(self, fold: int, repeat: int = 0) -> ClassStats:
        """Return the statistics of all rows outside one fold, with all classes: those its models are trained on."""
        held_out = self.fold(fold, repeat)
        return outside(self, fold) if self.privacy else replace(self, folds=(), folding=None)._combined(held_out, -1)

    def select(self, columns: Any, moments: tuple[str, ...]) -> ClassStats:
        """Return the statistics of some columns, a slice or numbers, without folds; itself if these are all columns.

        The number of negative values is known only for all columns together; for some columns it is set to 0.
        """
        n_features = len(np.arange(self.n_features)[columns])
        if n_features == self.n_features:
            return self

        def selected(part: ClassStats) -> dict[str, Any]:
            tables = {"weight": part.tables["weight"]} | {name: part.table(name).select(columns) for name in moments}
            return {"tables": tables, "n_features": n_features, "negatives": 0, "encoding": None}

        return replace(self, folds=(), folding=None).changed(selected)

    def with_columns(self, sources: np.ndarray) -> ClassStats:
        """Return the statistics with other columns.

        `sources` (n_columns,) has the former number of each column; -1 for one that is 0 in all rows so far, and
        n_features for one that is 1 in all. Columns keep their names, by which statistics are added.
        """
        places = np.where(sources < 0, self.n_features + 1, sources)

        def with_places(part: ClassStats) -> dict[str, Any]:
            tables = {name: moved(part, name, places) for name in part.tables}
            return {"tables": tables, "n_features": len(sources), "encoding": moved_columns(part.encoding, sources)}

        return self.changed(with_places)

    @property
    def knows_ones(self) -> bool:
        """Whether the sums of a column of ones follow from the others: ones were summed as they are."""
        changed = self.options.by_length or self.options.scale is not None or {*self.options.steps} - {"binary"}
        return not changed and ("sum" in self.tables or not {"gram", "gram_sq"} & self.tables.keys())

    @property
    def has_fixed_columns(self) -> bool:
        """Whether columns have something of their own besides sums: bins of a histogram, a map, or noise."""
        return "histogram" in self.tables or self.options.learned is not None or self.privacy is not None

    def column_weights(self) -> tuple[np.ndarray, float]:
        """Return the weight of the rows with a 1 in each column of indicators, (n_features,), and that of all rows."""
        stats = self if self.every is None else self.every
        name = next((name for name in COUNTS if name in stats.tables), None)
        if name is None:
            return np.full(stats.n_features, np.nan), stats.total_weight
        sums = whole(stats.tables[name]).hi[0]
        sums = sums[diagonal(stats.n_features)] if name in SECOND_MOMENTS else sums
        return sums, float(whole(stats.tables["weight"]).hi[0, 0])

    def __repr__(self) -> str:
        moments = ", ".join(self.moments)
        return (
            f"<ClassStats: {self.n_rows:,} rows, {len(self.classes):,} classes, {self.n_features:,} features; "
            f"{moments}; {self.nbytes / 2**20:,.1f} MiB{'' if self.privacy is None else f'; {self.privacy}'}>"
        )

    def __add__(self, other: ClassStats) -> ClassStats:
        if not isinstance(other, ClassStats):
            return NotImplemented
        check_addable(self, other)
        ours, theirs = aligned(self, other)
        return ours._combined(theirs, 1)

    def __sub__(self, other: ClassStats) -> ClassStats:
        if not isinstance(other, ClassStats):
            return NotImplemented
        check_not_private(self, other)
        ours, theirs = aligned(self, other)
        difference = ours._combined(theirs, -1)
        check_left(difference, ours)
        left = difference if self.closed or self.multilabel else difference._with_classes(difference.rows > 0)
        return left if other.encoding is None else without_absent(left)

    def __mul__(self, gamma: float) -> ClassStats:
        gamma = arguments.finite_number("gamma", gamma, minimum=0.0)
        if gamma > 1.0 and not gamma * self.total_weight <= row_checks.LARGEST:
            raise ValueError(f"gamma={gamma:g} makes the weight of the rows larger than {row_checks.LARGEST:g}")

        def scaled(part: ClassStats) -> dict[str, Any]:
            factors = np.where(part.weight * gamma < FADED, 0.0, gamma)
            return {"tables": {name: t.scaled(factors) for name, t in part.tables.items()}, "clipping": None}

        return self.changed(scaled)

    __rmul__ = __mul__

    def reweighted(self, class_weight: np.ndarray) -> ClassStats:
        """Return the statistics with the weight of each row multiplied by that of its class; `class_weight` is (K,)."""
        if pooled_names(self) and np.ptp(class_weight):
            raise ValueError("class_weight does not work with pooled sums; scan them with pooled=False")
        tables = {name: t.scaled(class_weight) for name, t in self.tables.items()}
        return replace(self, tables=tables, folds=(), folding=None, clipping=None)

    def __radd__(self, other: Any) -> ClassStats:
        return self if isinstance(other, int) and other == 0 else NotImplemented  # so that sum() works

    def _combined(self, other: ClassStats, sign: int) -> ClassStats:
        check_alike(self, other)
        classes = self.classes if self.multilabel else merged_classes(self.classes, other.classes)
        return self._combined_onto(classes, other, sign)

    def _combined_onto(self, classes: np.ndarray, other: ClassStats, sign: int) -> ClassStats:
        """Return self + sign * other for the given classes."""
        if self.multilabel:  # labels are in the order of their columns
            mine = theirs = np.arange(len(classes))
        else:
            mine, theirs = positions(self.classes, classes), positions(other.classes, classes)
        rows = np.zeros(len(classes), np.int64)
        rows[mine >= 0] += self.rows
        rows[theirs >= 0] += sign * other.rows
        names = [m for m in self.tables if m in other.tables]
        pairs = {m: alike(self.tables[m], other.tables[m]) for m in names}
        tables = {m: a.combined(b, mine, theirs, float(sign)) for m, (a, b) in pairs.items()}
        negatives = self.negatives + sign * other.negatives
        companions = [(self.every, other.every), (self.unlabelled, other.unlabelled)]
        every, unlabelled = (own and its and own._combined(its, sign) for own, its in companions)
        folding = self.folding and other.folding and self.folding.joined(other.folding)
        return replace(
            self,
            classes=classes,
            rows=rows,
            tables=tables,
            negatives=negatives,
            folding=folding,
            closed=self.closed or other.closed,
            every=every,
            unlabelled=unlabelled,
            encoding=other.encoding if self.encoding is None else self.encoding,
            overlaps=self.overlaps and other.overlaps and self.overlaps.combined(other.overlaps, sign),
            folds=tuple(a._combined_onto(classes, b, sign) for a, b in zip(self.folds, other.folds, strict=True)),
        )

    def _with_classes(self, keep: np.ndarray) -> ClassStats:
        if keep.all():
            return self
        order = np.flatnonzero(keep)
        tables = {name: t.take(order) for name, t in self.tables.items()}
        folds = tuple(fold._with_classes(keep) for fold in self.folds)
        return replace(self, classes=self.classes[order], rows=self.rows[order], tables=tables, folds=folds)

    def scatter(self, columns: slice = slice(None)) -> np.ndarray:
        """Return the sum over the rows of each class of (x - class mean)^2, (K, columns), without cancellation."""
        sums, squares = (self.table(name).select(columns).dense() for name in ("sum", "sum_sq"))
        weight, out = self.tables["weight"].dense(), np.empty(sums.shape)
        for k in range(len(out)):
            out[k] = scatter_about_mean(sums.row(k), squares.row(k), weight.row(k))
        return out

    def mean(self, feature_names: Any = None) -> Any:
        """Return the mean of each feature over the rows of each class, as a data frame; reads no data.

        Parameters
        ----------
        feature_names : (n_features,), optional
            Names of the columns; their numbers by default. A fitted model has them as `feature_names_in_`.

        Returns
        -------
        pandas.DataFrame
            Rows are classes, columns features; NaN for a class without rows. Weights count as frequency.

        Examples
        --------
        >>> import streamnb as snb
        >>> stats = snb.scan([[2, 0], [3, 1], [0, 4]], ["cat", "cat", "dog"])
        >>> stats.mean(["x", "y"]).loc["cat"].to_dict()
        {'x': 2.5, 'y': 0.5}
        """
        with np.errstate(invalid="ignore"):
            return self._by_class(self.table("sum").value() / self.weight[:, None], feature_names)

    def var(self, feature_names: Any = None) -> Any:
        """Return the variance of each feature over the rows of each class, as a data frame; reads no data.

        Parameters
        ----------
        feature_names : (n_features,), optional
            As in `mean`.

        Returns
        -------
        pandas.DataFrame
            The sum of (x - mean)^2, without cancellation, divided by N - 1 as in pandas and scanpy; N is the number of
            rows, or their weight, which counts as frequency. NaN where N is 1 or less.

        Examples
        --------
        >>> import streamnb as snb
        >>> stats = snb.scan([[2, 0], [3, 1], [0, 4]], ["cat", "cat", "dog"])
        >>> stats.var(["x", "y"]).loc["cat"].to_dict()
        {'x': 0.5, 'y': 0.5}
        """
        others = self.weight - 1.0
        others[others <= 0.0] = np.nan
        return self._by_class(self.scatter() / others[:, None], feature_names)

    def std(self, feature_names: Any = None) -> Any:
        """Return the standard deviation of each feature over the rows of each class: the square root of `var`.

        Parameters
        ----------
        feature_names : (n_features,), optional
            As in `mean`.

        Returns
        -------
        pandas.DataFrame
            As from `var`.

        Examples
        --------
        >>> import streamnb as snb
        >>> stats = snb.scan([[2, 0], [4, 1], [6, 4]], ["cat", "cat", "cat"])
        >>> stats.std(["x", "y"]).loc["cat"].round(3).to_dict()
        {'x': 2.0, 'y': 2.082}
        """
        return self.var(feature_names) ** 0.5

    def markers(
        self,
        n_features: int | None = 10,
        *,
        test: str = "t-test",
        batch: bool = False,
        corr: str = "benjamini-hochberg",
        tie_correct: bool = False,
        feature_names: Any = None,
    ) -> Any:
        """Test each class against the rest, feature by feature, as scanpy's `rank_genes_groups`; reads no data.

        Parameters
        ----------
        n_features : int or None
            The largest number of features per class; None for all.
        test : {"t-test", "t-test_overestim_var", "wilcoxon"}
            Welch's t-test; the same with the variance of the rest divided by the number of rows of the class, as if
            it had no more; or Wilcoxon's rank sums, for statistics with a histogram: ``scan(histogram="value",
            n_bins=..)`` of counts ranks them as they are, ``scan(histogram="bins", n_bins=..)`` of other values ranks
            all of a bin alike, apart from 0.
        batch : bool
            Compare rows within each batch, for statistics of ``scan(batch=..)`` or of folds, and average over batches.
        corr : {"benjamini-hochberg", "bonferroni"}
            How p-values are corrected for many features.
        tie_correct : bool
            Correct the variance of rank sums for ties, as SciPy does and scanpy does not by default.
        feature_names : (n_features,), optional
            Column numbers by default.

        Returns
        -------
        pandas.DataFrame
            As from ``sc.get.rank_genes_groups_df``: "group", "names", "scores" (t or z, the highest first),
            "logfoldchanges", "pvals" (two-sided) and "pvals_adj". Where nothing varies the score is 0 and p is 1. Fold
            changes are log2 of ``(expm1(mean) + 1e-9) / (expm1(mean of the rest) + 1e-9)``, which is for values that
            log1p was applied to; NaN where a mean is below 0, as of scaled values. For "wilcoxon", ``attrs["error"]``
            bounds the error of scores that comes from bins of several values.

        Raises
        ------
        ValueError
            There are too few rows in a class, or the statistics lack "sum", "sum_sq", a histogram or batches.

        Notes
        -----
        Differences of means of batches are averaged with weights ``n1 n2 / (n1 + n2)``, those of least squares with a
        constant for each batch (Cochran 1954); the variance is that of this average, and its degrees of freedom are
        Welch's and Satterthwaite's (1946). Sums of ranks are added with weights ``1 / (n + 1)`` (van Elteren 1960). A
        batch with too few rows of a class, or of the others, says nothing about that class.

        Examples
        --------
        >>> import streamnb as snb
        >>> stats = snb.scan([[2, 0], [3, 1], [0, 4], [1, 5]], ["B", "B", "T", "T"])
        >>> stats.markers(1, feature_names=["CD79A", "CD3D"])[["group", "names", "scores"]].round(3).values.tolist()
        [['B', 'CD79A', 2.828], ['T', 'CD3D', 5.657]]
        """
        names = feature_names_of(feature_names, self.n_features)
        return tested(self, names, n_features, test, batch, corr, tie_correct)

    def drift(self, new: Any, n_features: int = 20, *, feature_names: Any = None) -> Any:
        """Return the features whose means differ most between these rows and others, by class; reads no data.

        Parameters
        ----------
        new : ClassStats
            Statistics of other rows with the same columns, scanned with the same options.
        n_features : int
            Maximum number of rows of the table.
        feature_names : (n_features,), optional
            Names of the columns of these rows; columns that only the other rows have keep their own names. Column
            numbers by default.

        Returns
        -------
        pandas.DataFrame
            With the columns "class", "feature", "old", "new" (means over the rows of the class) and "z", the largest
            absolute z first. z is the score statistic of "both have one mean" with its scale,
            ``(new - old) / sqrt(v (1 / N_old + 1 / N_new))`` with N the weights of the class and v the variance about
            the mean of all its rows, old and new: that of the rows where "sum_sq" was scanned, else that of presence,
            m (1 - m), or that of Poisson counts, m; z is too large for counts that vary more. If both sets come from
            one distribution, about 1 in 20 values lies beyond 2. "(share of rows)" is the share of all rows that the
            class has.

        Raises
        ------
        TypeError, ValueError
            `new` is not ClassStats, or has other columns, moments, classes or transforms. Columns that were learned
            from each set of rows, such as bins, are others: `drift` of a fitted model compares rows by the columns of
            the model.

        Examples
        --------
        >>> import numpy as np, streamnb as snb
        >>> old, new = snb.scan([[1.0, 5.0], [2.0, 5.0]], [0, 0]), snb.scan([[7.0, 5.0], [8.0, 5.0]], [0, 0])
        >>> old.drift(new)[["feature", "old", "new"]].to_dict("list")
        {'feature': [0], 'old': [1.5], 'new': [7.5]}
        """
        if not isinstance(new, type(self)):
            raise TypeError(
                f"new is of type {type(new).__name__}; it should be ClassStats, as snb.scan(X, y) returns them"
            )
        pd = pandas_for("drift")
        n_features = arguments.positive_integer("n_features", n_features)
        names = feature_names_of(feature_names, self.n_features)
        moved = sorted(drifted(self, new, n_features, names), key=lambda row: -abs(row[-1]))[:n_features]
        return pd.DataFrame(moved, columns=["class", "feature", "old", "new", "z"])

    def _by_class(self, values: np.ndarray, feature_names: Any) -> Any:
        pd = pandas_for("a table of averages")
        names = feature_names_of(feature_names, self.n_features)
        return pd.DataFrame(values, pd.Index(self.classes, name="class"), names)

    def privatize(self, epsilon: float = 1.0, delta: float = 1e-6) -> ClassStats:
        """Return the statistics with noise, from which every model is then differentially private at no further cost.

        Parameters
        ----------
        epsilon : float
            Nobody's presence changes the probability of any result by more than a factor of exp(epsilon).
        delta : float
            The probability of exceeding this; far below 1 / the number of people.

        Returns
        -------
        ClassStats
            With the ledger `privacy`. They work with families, penalties and `refit` like any others; each fold has its
            own noise, and the sums of all rows are the sums of the folds.

        Raises
        ------
        ValueError
            The rows were not scanned with ``clip=``; the statistics are private already; or a sum has no bounded
            sensitivity.
        ImportError
            OpenDP is missing.

        Warns
        -----
        StreamnbWarning
            Delta is 1 / n or more, or the noise exceeds the signal.

        Notes
        -----
        Noise is discrete Gaussian (Canonne, Kamath and Steinke 2020), drawn by OpenDP: sums are whole multiples of a
        unit, so that floating-point digits reveal nothing about rows (Mironov 2012). OpenDP takes its randomness from
        the operating system; there is no seed, because anyone who knows it can subtract the noise. A tenth of the
        budget goes to the sizes of classes, and the other sums share the rest equally; of values that count as 0 or 1,
        "sum", "sum_sq", "nonzero" and "above" are one sum with one noise.

        Impossible values are then corrected, which costs no privacy: counts below 0 become 0 and the others of the
        column shrink in turn, so that its total stays unbiased; classes have at least one row, and no count above their
        size; variances are at least at the level of the noise. Sums of folds stay as they are.

        Examples
        --------
        >>> import numpy as np
        >>> import streamnb as snb
        >>> X, y = np.eye(4)[np.arange(4000) % 4], np.arange(4000) % 2
        >>> stats = snb.scan(X, y, clip=snb.Clip(presence=True, max_features=1), classes=[0, 1], n_features=4)
        >>> private = stats.privatize(epsilon=1.0, delta=1e-6)
        >>> private.privacy.epsilon, bool(np.abs(private.sum - stats.sum).max() < 100)
        (1.0, True)
        """
        return privatized(self, epsilon, delta)

    def merge(self, other: ClassStats, *, people: str, unprotected: bool = False) -> ClassStats:
        """Return the sum of two statistics of people, with the privacy that it has.

        Parameters
        ----------
        other : ClassStats
        people : {"disjoint", "same"}
            "disjoint": nobody has rows in both, and the larger epsilon holds; "same": people may, and epsilons add up.
        unprotected : bool
            Add sums without noise to private ones. The ledger then says that it covers only part of the rows.

        Examples
        --------
        >>> import numpy as np
        >>> import streamnb as snb
        >>> how = {"clip": snb.Clip(presence=True), "classes": ["a", "b"], "n_features": 2}
        >>> sites = [snb.scan(np.eye(2).repeat(500, 0), np.repeat(["a", "b"], 500), **how).privatize(2.0) for _ in "xy"]
        >>> [sites[0].merge(sites[1], people=people).privacy.epsilon for people in ("disjoint", "same")]
        [2.0, 4.0]
        """
        return merged(self, other, people, unprotected)

    def arrays(self) -> dict[str, Any]:
        """Return all content by name."""
        return self._to_state()

    def _to_state(self) -> dict[str, Any]:
        parts = super()._to_state() | {"folds": list(self.folds)}
        return {
            name: part
            for name, part in parts.items()
            if part is not None or name not in ("clipping", "privacy", "encoding")
        }

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> ClassStats:
        tables = state["tables"]
        if isinstance(tables["weight"], list):  # version 1
            tables = {name: persistence.restored(Table, {"hi": hi, "lo": lo}) for name, (hi, lo) in tables.items()}
        return super()._from_state({**state, "tables": tables})

    def _check_loaded(self) -> None:
        """Raise an error if parts do not fit together; the arithmetic of tables relies on it."""
        labels, n_classes = row_checks.check_labels(self.classes, "classes"), len(self.classes)
        arguments.whole_number("n_features", self.n_features)
        if self.tables.keys() - {*ALL_MOMENTS, "weight", "histogram", LABELS} or not (
            self.multilabel or (labels[1:] > labels[:-1]).all()
        ):
            raise ValueError("classes should be sorted, and tables be of moments")
        for name, table in self.tables.items():
            check_sums(name, table.hi)
            n_bins = table.grid.n_bins if isinstance(table, Histograms) else 1
            width = {"weight": 1, LABELS: table.shape[1]}.get(name, self.n_features * n_bins)
            if name in SECOND_MOMENTS:
                width = n_pairs(n_multiplied(name, self.n_features))
            height = 1 if isinstance(table, PooledTable) else n_classes
            if table.shape != (height, width) or isinstance(table, Histograms) != (name == "histogram"):
                raise ValueError(f"{name} has shape {table.shape} for {n_classes} classes, {self.n_features} features")
        if self.step is not None and self.step.n_columns != self.n_features:
            raise ValueError(f"the step makes {self.step.n_columns} columns, and the sums are of {self.n_features}")
        if self.encoding is not None and getattr(self.encoding, "n_columns", self.n_features) != self.n_features:
            raise ValueError(f"encoding={self.encoding!r:.100} should make {self.n_features} columns")
        alike = all(part._layout() == self._layout() and part.folding is None for part in self._parts)
        if self.overlaps is not None and self.overlaps.counts.shape != (n_classes, n_classes):
            raise ValueError(f"overlaps are of {self.overlaps.counts.shape[0]} labels, and there are {n_classes}")
        n_splits = 0 if self.folding is None else self.folding.n_splits
        if not alike or len(self.folds) != n_splits or any(f.multilabel != self.multilabel for f in self.folds):
            raise ValueError("the folds should have the moments, features and options of the whole")

    def _layout(self) -> tuple[Any, ...]:
        grid = found_in(self.tables).grid if "histogram" in self.tables else None
        return self.moments, self.n_features, self.options, repr(grid), pooled_names(self)


def check_stats(stats: Any) -> None:
    """Raise an error for arguments that are not statistics, such as rows."""
    if not isinstance(stats, ClassStats):
        raise TypeError(
            f"stats is of type {type(stats).__name__}; it should be ClassStats, as snb.scan(X, y) returns them (and "
            "fitted estimators keep them in stats_)"
        )

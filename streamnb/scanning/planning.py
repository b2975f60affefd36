"""Estimates what a scan will need before any row is read, and what a fit will take from fits of few rows."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from streamnb.core import frames, memory, row_checks, scratch
from streamnb.core.arguments import Bytes, PerRow, Rows
from streamnb.core.memory import check_memory_limit
from streamnb.encoding.opening import is_raw, opened
from streamnb.kernels.compiler import compiling
from streamnb.rows.keeping import Space
from streamnb.rows.labels import known_classes
from streamnb.rows.opening import with_labels
from streamnb.rows.preparing import RowOptions
from streamnb.rows.source import Source
from streamnb.rows.train_test import spread_part
from streamnb.scanning.class_scan import folding_of
from streamnb.stats import moment_sums, second_moments
from streamnb.stats.histograms import bytes_of, check_histogram
from streamnb.stats.moment_sums import SECOND_MOMENTS, TABLE, check_moments

UNKNOWN = "not known before the scan"
_OF_MODELS = "n_models", "model_bytes", "n_groups", "most_reads", "kept"
_OF_PROBE = "reads", "seconds", "probed_rows"
FEW, TIMES, LONG = 4 << 20, 4, 2.0  # bytes of the first rows that are probed, then so many times more, until it is long


@runtime_checkable
class PlansReads(Protocol):
    """A model of several reads that can estimate the cost of its `fit`."""

    def _plan_scan(
        self, n_features: int | None, encoded: bool
    ) -> tuple[tuple[str, ...], Any, tuple[str, ...], int | None]:
        """The moments and folds of the scan, the moments that are summed over all classes, and the number of columns.

        Columns are made of `n_features` of the rows, which are `encoded` those of a table.
        """

    def _plan_reads(
        self, n_features: int, n_rows: int, n_folds: int, limit: int, given: Source | None = None
    ) -> dict[str, int]:
        """Memory of the models, with `n_rows` rows of weights each, and the maximum number of reads of `given` rows."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The estimated needs of a scan; None where only reading can tell.

    Attributes
    ----------
    n_rows, n_features, n_classes : int or None
    n_values : int or None
        Stored values: the nonzero ones of sparse rows, all of dense ones.
    n_bytes, n_blocks : int or None
        Decoded bytes of the rows, and the approximate number of blocks.
    moments : names
    dense_bytes : int or None
        Bytes of the tables of class sums, folds included, if values are whole numbers; twice that for other values.
    sparse_bytes : int or None
        Maximum bytes of sparse tables, which store only cells that some row touches; None also if they cannot be used.
    memory_limit : int
    bin_bytes : int or None
        Bytes of the histograms, folds included, if weights are whole numbers; 0 without histograms.
    product_bytes : int or None
        Bytes of the second moments, likewise if values are whole numbers; 0 without second moments.
    tables : str or None
        The tables that are likely to be chosen, "dense" or "sparse", or "too large".
    n_models, model_bytes, n_groups, most_reads : int or None
        For a model of several reads: the number of trained models, the bytes of all of them together, the number of
        groups that `memory_limit` splits them into, and the maximum number of reads, with the scan and the last fit.
    kept : str or None
        For a model of several reads: where its `fit`, with ``keep="auto"``, keeps rows that take long to prepare for
        later reads, and how much fits there.
    reads, seconds, probed_rows : int, float, int or None
        With `probe`: the reads of a fit to so many rows, and the seconds of a fit to all rows with as many reads.
    """

    n_rows: int | None
    n_features: int | None
    n_classes: int | None
    n_values: int | None
    n_bytes: int | None
    n_blocks: int | None
    moments: tuple[str, ...]
    dense_bytes: int | None
    sparse_bytes: int | None
    memory_limit: int
    bin_bytes: int | None
    product_bytes: int | None
    tables: str | None
    n_models: int | None = None
    model_bytes: int | None = None
    n_groups: int | None = None
    most_reads: int | None = None
    kept: str | None = None
    reads: int | None = None
    seconds: float | None = None
    probed_rows: int | None = None

    def _lines(self) -> list[tuple[str, str]]:
        lines = []
        for name, value in vars(self).items():
            if name == "moments":
                lines.append((name, ", ".join(value)))
            elif name == "seconds" and value is not None:
                lines.append((name, f"{value:,.2g}" if value < 10 else f"{value:,.0f}"))
            elif value is not None or name not in _OF_PROBE + (() if self.n_models else _OF_MODELS):
                text = UNKNOWN if value is None else value if isinstance(value, str) else f"{value:,}"
                is_size = value is not None and (name.endswith("_bytes") or name == "memory_limit")
                lines.append((name, memory.size(value) if is_size else text))
        return lines

    def __repr__(self) -> str:
        return "\n".join(f"{name:<13} {value}" for name, value in self._lines())

    def _repr_html_(self) -> str:
        return frames.table("What a scan will need", self._lines())


def plan(
    X: Rows,
    y: PerRow = None,
    *,
    classes: Any = None,
    moments: Iterable[str] | None = None,
    binarize: float = 0.0,
    centre: float = 0.0,
    folds: Any = None,
    groups: PerRow = None,
    repeats: int = 1,
    histogram: str | None = None,
    n_bins: int | None = None,
    pooled: bool = False,
    memory_limit: Bytes = None,
    model: Any = None,
    layer: str | None = None,
    probe: bool = False,
) -> Plan:
    """Estimate what `scan`, or the `fit` of a model, will need, before any row is read or from few of them.

    Parameters
    ----------
    X, y, classes, moments, binarize, centre, folds, groups, repeats, histogram, n_bins, pooled, memory_limit
        As for `scan`. The number of classes is known if `classes` lists them, labels are in memory, or y is an
        indicator matrix in a store. For a table, one pass learns the number of encoded columns.
    model : estimator, optional
        An iterative model, such as ``SoftmaxRegressionCV(l2=[0.1, 1.0])``: the plan is that of its `fit`,
        with the memory of its models and the number of reads. It sets `moments`, `folds` and `pooled` itself.
    layer : str, optional
        As for `scan`.
    probe : bool
        Also tell the seconds of `fit`, of any `model`: copies of it are fitted to few rows from several places, and to
        more, until one takes two seconds; then the time grows in proportion to the rows. Compiling does not count.
        Models of several reads may need other numbers of reads for all rows than for few: `seconds` are of `reads`.

    Returns
    -------
    Plan
        Has an attribute for each number that it prints.

    Examples
    --------
    >>> import scipy.sparse as sp, streamnb as snb
    >>> X = sp.csr_array((1_000_000, 2**18))
    >>> snb.plan(X, classes=range(63_000), moments=["sum"], memory_limit="4GB").tables
    'sparse'

    How long a fit will take:

    >>> import numpy as np
    >>> X, y = np.eye(10)[np.arange(5000) % 10], np.arange(5000) % 10
    >>> snb.plan(X, y, model=snb.LinearNB(), probe=True).seconds < 60
    True
    """
    X, y = with_labels(X, y)
    raw = is_raw(X)
    rows = opened(X, y if raw else None, labelled=False, layer=layer, beside=(groups, folds))
    together: tuple[str, ...] = SECOND_MOMENTS if pooled else ()
    n_columns = rows.n_features
    needed: dict[str, Any] = {}
    if probe:
        _check_probed(rows, model, layer)
        fitted, needed = _probed(model, X, y, rows.nbytes)
        if hasattr(fitted, "stats_"):
            moments, folds = fitted.stats_.moments, getattr(model, "folds", None)
    elif model is not None and not isinstance(model, PlansReads):
        raise TypeError(
            f"model={model!r} should be a model of several reads, such as snb.SoftmaxRegression(); of others, "
            "probe=True tells how long fit takes"
        )
    plans = isinstance(model, PlansReads)
    if plans:
        moments, folds, together, n_columns = model._plan_scan(n_columns, rows.encoding is not None)
    options, names = RowOptions(binarize=binarize, centre=centre), check_moments(moments)
    listed, limit = row_checks.check_classes(classes), memory.allowed(check_memory_limit(memory_limit))
    folding, _ = folding_of(rows, folds, groups, repeats, 0, count=False)
    n_classes, n_labels = known_classes(None if raw else y, rows.group, rows.n_rows)
    n_classes = n_classes if listed is None else len(listed)
    of_all = 2 * int(n_labels > 0)  # with an indicator matrix: also the rows with and without labels
    grid, dense, sparse, of_bins, of_pairs = check_histogram(histogram, n_bins), None, None, 0, 0
    first, n_splits, n_folds, repeats = tuple(m for m in names if m in TABLE), 1, 1, 1
    if folding is not None:
        n_splits, n_folds, repeats = folding.n_splits, folding.n_folds, folding.repeats
    cells = [0] * len(first)  # for each moment
    needed |= {"kept": _where_kept(rows, limit)} if plans else {}
    if n_classes is not None and n_columns is not None:
        n_groups = (n_classes + of_all) * n_splits
        cells = [n_columns * (max(of_all, 1) * n_splits if m in together else n_groups) for m in first]
        dense, pooled = 8 * sum(cells), "gram" in together
        of_pairs = second_moments.bytes_of(names, pooled, n_classes + of_all, n_splits, n_columns)
        of_bins = bytes_of(grid, n_groups, n_columns)
        if plans:
            n_rows_of_weights = 1 if n_classes == 2 and not n_labels else n_classes
            needed |= model._plan_reads(n_columns, n_rows_of_weights, n_folds, limit, None if n_labels else rows)
    if rows.n_values is not None and moment_sums.may_be_sparse(first, options):
        touched = rows.n_values * (n_labels + 1) * repeats
        sparse = moment_sums.CELL * sum(min(touched, n) if n else touched for n in cells)
    tables = None if dense is None else moment_sums.kind(dense, sparse, limit)
    if dense is not None and max(of_bins, of_pairs) > limit:
        tables = "too large"
    return Plan(
        n_rows=rows.n_rows,
        n_features=rows.n_features,
        n_classes=n_classes,
        n_values=rows.n_values,
        n_bytes=rows.nbytes or None,
        n_blocks=rows.n_blocks,
        moments=names,
        dense_bytes=dense,
        sparse_bytes=sparse,
        memory_limit=limit,
        bin_bytes=None if grid and dense is None else of_bins,
        product_bytes=None if dense is None and len(first) < len(names) else of_pairs,
        tables=tables,
        **needed,
    )


def _check_probed(rows: Source, model: Any, layer: str | None) -> None:
    """Refuse a probe of what cannot be read in part."""
    if model is None:
        raise ValueError("probe=True tells how long the fit of a model takes; give model=, such as snb.LinearNB()")
    if rows.lazy or rows.n_rows is None or layer is not None:
        raise ValueError("probe=True reads rows at several places of X, which Dask, streams and layers do not offer")


def _probed(model: Any, X: Any, y: Any, n_bytes: int) -> tuple[Any, dict[str, Any]]:
    """A model fitted to some rows, and the reads and seconds of a fit to all, from those of its last two fits."""
    few, of_few, share = 0, 0.0, FEW / max(n_bytes, 1)
    while True:
        *given, many, n_rows = spread_part(X, y, min(share, 1.0))
        fitted, of_many, in_reads = _timed_fit(model, given)
        if of_many > LONG or many == n_rows:
            break
        few, of_few, share = many, of_many, TIMES * share
    of_row = max(of_many - of_few, 0.0) / (many - few)
    if isinstance(model, PlansReads) and in_reads:  # work between them, as on a sample, hardly grows; workers tell none
        of_row = min(of_row, in_reads * of_many / many)
    seconds = of_many + of_row * (n_rows - many)
    return fitted, {"reads": fitted.report_.reads, "seconds": seconds, "probed_rows": many}


def _timed_fit(model: Any, given: list[Any]) -> tuple[Any, float, float]:
    """A fitted copy of a model, its seconds once everything is compiled, and the share of reads in its work."""
    while True:
        began, busy, n_forms = time.perf_counter(), time.process_time(), compiling.n_forms
        with warnings.catch_warnings(action="ignore"):  # of few rows
            fitted = deepcopy(model).fit(*given)
        if compiling.n_forms == n_forms:
            in_reads = fitted.report_.seconds_busy / (time.process_time() - busy)
            return fitted, time.perf_counter() - began, in_reads


def _where_kept(rows: Source, limit: int) -> str:
    """Where rows that take long to prepare are kept for later reads, unless `keep` says otherwise."""
    if rows.lazy:
        return "nowhere"
    space = Space("auto", limit)
    folder = None if rows.in_memory else space.folder
    beyond = "" if folder is None else f", then {memory.size(scratch.space(folder))} in {folder}"
    return f"{memory.size(space.memory_left)} in memory{beyond}"

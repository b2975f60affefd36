"""Maps rows to groups, and classes of one statistic to those of another; counts rows that have two labels."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.core import messages, persistence, row_checks
from streamnb.core.csr import sound_csr
from streamnb.rows.row_blocks import Entries
from streamnb.stats.tables import AnyTable, PooledTable, as_scipy, extended

NUMBERS = 1 << 16  # range of integer labels up to which codes are looked up in a table


def merged_classes(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the sorted union of two sets of labels of the same kind."""
    if len(a) and len(b) and row_checks.label_kind(a) != row_checks.label_kind(b):
        raise ValueError(
            f"labels are of two kinds, {row_checks.label_kind(a)} such as {a[0].item()!r} and "
            f"{row_checks.label_kind(b)} "
            f"such as {b[0].item()!r}; give all labels one kind (those of classes= and of earlier calls, too)"
        )
    if not len(a) or not len(b):
        return a if len(a) else b
    if a.dtype.kind != b.dtype.kind and max(_largest(a), _largest(b)) > 2**53:
        raise ValueError(
            f"y holds labels of dtype {b.dtype} and {a.dtype}, too large to be compared; give all one dtype"
        )
    return np.union1d(a, b)


def _largest(labels: np.ndarray) -> float:
    return float(np.abs(labels.astype(np.float64)).max()) if labels.dtype.kind in "iuf" else 0.0


def positions(labels: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Return the index of each of the sorted `classes` in the sorted `labels`, -1 if it is missing."""
    if labels is classes:
        return np.arange(len(classes))
    if len(labels) == 0:
        return np.full(len(classes), -1)
    at = np.minimum(np.searchsorted(labels, classes), len(labels) - 1)
    return np.where(labels[at] == classes, at, -1)


def check_classes(a: Any, b: Any) -> None:
    """Raise an error if the listed classes of two statistics differ."""
    fixed = a.multilabel or (a.closed and b.closed)
    if fixed and not np.array_equal(a.classes, b.classes):
        lists = f"{messages.listed(a.classes)}, and {messages.listed(b.classes)}"
        raise ValueError(f"the statistics were scanned with different classes: {lists}; give both scans the same list")
    for closed, opened in ((a, b), (b, a)):
        if closed.closed and not np.isin(opened.classes[opened.rows > 0], closed.classes).all():
            strangers = opened.classes[~np.isin(opened.classes, closed.classes)]
            raise ValueError(f"label {strangers[0].item()!r} is not in classes={messages.listed(closed.classes)}")


def check_alike(ours: Any, theirs: Any) -> None:
    """Raise an error if two statistics are not of the same columns, scanned in the same way."""
    if theirs.n_features != ours.n_features:
        raise ValueError(
            f"these statistics have {ours.n_features} features, the others {theirs.n_features}; scan the same columns "
            "of both"
        )
    for name in ("step", "transform", "scale", "normalize", "binarize", "centre", "learned"):
        one, two = getattr(ours.options, name), getattr(theirs.options, name)
        if one != two:
            cure = "; scan both with transform=stats.step" if name == "step" else ""
            raise ValueError(f"these statistics were scanned with {name}={one!r}, the others with {two!r}{cure}")
    if ours.tables.keys() != theirs.tables.keys():
        have, get = (sorted(set(stats.tables) - {"weight"}) for stats in (ours, theirs))
        raise ValueError(f"these statistics hold the moments {have}, the others {get}; scan both with the same")
    if pooled_names(ours) != pooled_names(theirs):
        raise ValueError("sums are pooled over the classes in one of the statistics alone; scan both alike")
    if ours.multilabel != theirs.multilabel:
        raise ValueError("one of the statistics is of an indicator of labels, the other of one label a row")
    if ours.folding != theirs.folding:
        raise ValueError(
            f"these statistics have the folds {ours.folding}, the others {theirs.folding}; scan both with the same"
        )
    check_classes(ours, theirs)


def pooled_names(stats: Any) -> tuple[str, ...]:
    """Return the names of the sums that are pooled over all classes."""
    return tuple(name for name, table in stats.tables.items() if isinstance(table, PooledTable))


def widened(stats: Any, n_labels: int) -> Any:
    """Return statistics as of an indicator with `n_labels` columns, no label being set in the added ones."""
    new = n_labels - len(stats.classes)
    if not stats.multilabel or stats.closed or new <= 0:
        return stats
    tables = {name: extended(table, new) for name, table in stats.tables.items()}
    rows = np.concatenate([stats.rows, np.zeros(new, np.int64)])
    folds = tuple(widened(fold, n_labels) for fold in stats.folds)
    overlaps = stats.overlaps and stats.overlaps.widened(n_labels)
    return replace(stats, classes=np.arange(n_labels), rows=rows, tables=tables, folds=folds, overlaps=overlaps)


class Groups:
    """Numbers groups as class code * n_splits + split; `n` grows with the classes.

    Parameters
    ----------
    classes : labels, or None for an open set
    n_splits : int
        1 if rows are not split.
    """

    def __init__(self, classes: np.ndarray | None, n_splits: int):
        self.classes, self.n_splits = classes, n_splits
        self.codes: LabelCodes | LabelColumns | None = None

    @property
    def n(self) -> int:
        return 0 if self.codes is None else self.codes.n * self.n_splits

    def see(self, y: Any) -> None:
        """Determine the kind of y, labels or an indicator; an indicator without rows is enough."""
        if self.codes is None and sp.issparse(y):
            self.codes = LabelColumns(self.classes, y.shape[1])
        elif self.codes is None and len(y):
            self.codes = LabelCodes(self.classes)

    def entries(self, y: Any, weight: np.ndarray | None, splits: np.ndarray | None, first_row: int) -> Entries:
        """Return which rows of a block are in which groups; `splits` is (repeats, n_rows) or None."""
        assert self.codes is not None
        rows, codes = self.codes.entries(y, first_row)
        if splits is not None:
            codes = (codes * self.n_splits + splits[:, rows]).reshape(-1)
            rows = np.tile(rows, len(splits))
        return Entries(rows, codes, np.ones(len(rows)) if weight is None else weight[rows])

    def pooled(self, entries: Entries) -> tuple[Entries, int]:
        """Return entries with each row once in its split, whatever its class, and the number of groups.

        There is one group for each split; for an indicator a second one for the rows without any label, behind these.
        """
        if not isinstance(self.codes, LabelColumns):
            return entries._replace(codes=entries.codes % self.n_splits), len(self.pooled_groups())
        codes, splits = np.divmod(entries.codes, self.n_splits)
        once = codes >= self.codes.n_labels
        codes = (codes - self.codes.n_labels) * self.n_splits + splits
        return Entries(entries.rows[once], codes[once], entries.weight[once]), len(self.pooled_groups())

    def pooled_groups(self) -> np.ndarray:
        """The number of groups that `pooled` returns."""
        return np.arange(self.n_splits * (2 if isinstance(self.codes, LabelColumns) else 1))

    def by_split(self, order: np.ndarray) -> np.ndarray:
        """Return all groups, split by split: the class codes in `order`, then the codes that are not classes."""
        order = np.append(order, np.arange(len(order), self.n // self.n_splits))
        return (order * self.n_splits + np.arange(self.n_splits)[:, None]).reshape(-1)


class LabelCodes:
    """Maps labels to codes 0, 1, ..: in sorted order for a closed set, else in order of appearance."""

    def __init__(self, classes: np.ndarray | None):
        self.closed = classes is not None
        labels = np.zeros(0, np.int64) if classes is None else np.sort(classes)
        self._set_labels(labels, np.arange(len(labels)))

    def _set_labels(self, labels: np.ndarray, codes: np.ndarray) -> None:
        """Set the sorted labels and their codes."""
        self._sorted, self._codes = labels, codes
        self._by_number: np.ndarray | None = None  # codes of integers from the lowest label on, or -1
        numbers = labels.astype(np.int64) if labels.dtype.kind in "iu" else labels[:0]
        if len(numbers) and int(numbers[-1]) - int(numbers[0]) < NUMBERS:
            self._by_number = np.full(numbers[-1] - numbers[0] + 1, -1)
            self._by_number[numbers - numbers[0]] = codes

    @property
    def n(self) -> int:
        return len(self._sorted)

    def entries(self, y: Any, first_row: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows and their codes."""
        codes = self.codes_of(y)
        if codes is None:
            self._extend(y, first_row)
            codes = self.codes_of(y)
            assert codes is not None
        return np.arange(len(y)), codes

    def codes_of(self, y: Any) -> np.ndarray | None:
        """Return the codes of labels, or None if some are unknown."""
        if sp.issparse(y):
            raise ValueError("y is an indicator of labels here and was one label a row before; give one kind")
        if self.n == 0 or row_checks.label_kind(y) != row_checks.label_kind(self._sorted):
            return None
        if self._by_number is not None and np.can_cast(y.dtype, np.int64):
            numbers, lowest, highest = y.astype(np.int64), int(self._sorted[0]), int(self._sorted[-1])
            if ((numbers < lowest) | (numbers > highest)).any():
                return None
            codes = self._by_number[numbers - lowest]
            return None if (codes < 0).any() else codes
        at = np.minimum(np.searchsorted(self._sorted, y), self.n - 1)
        return self._codes[at] if (self._sorted[at] == y).all() else None

    def _extend(self, y: np.ndarray, first_row: int) -> None:
        classes = merged_classes(self._sorted, np.unique(y))
        new = ~np.isin(classes, self._sorted) if self.n else np.ones(len(classes), bool)
        if self.closed:
            row = int(np.flatnonzero(np.isin(y, classes[new]))[0])
            label = y[row].item()
            raise ValueError(
                f"The target label(s) [{label!r}] in y do not exist in the initial classes: "
                f"y has the label {label!r} at row {first_row + row}, not in classes="
                f"{messages.listed(self._sorted)}: list it there, or leave classes out"
            )
        codes = np.empty(len(classes), np.int64)
        codes[~new] = self._codes
        codes[new] = self.n + np.arange(np.count_nonzero(new))
        self._set_labels(classes, codes)

    def sorted(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the sorted labels and their codes."""
        return self._sorted, self._codes


def known_codes(y: Any, classes: np.ndarray, first_row: int) -> np.ndarray:
    """The codes (n_rows,) of a block's labels among the sorted classes of an earlier read of the same rows."""
    codes = LabelCodes(classes).codes_of(y)
    if codes is None:
        row = int(np.argmin(positions(classes, y)))
        raise ValueError(f"y has the label {y[row].item()!r} at row {first_row + row}, which was not in the first scan")
    return codes


class LabelColumns:
    """Codes for the columns of an indicator; two more hold the rows with labels and those without."""

    def __init__(self, classes: np.ndarray | None, n_labels: int):
        self.closed = classes is not None
        self._labels = np.arange(n_labels) if classes is None else classes
        if len(self._labels) != n_labels:
            raise ValueError(f"y is an indicator of {n_labels} labels, but classes names {len(self._labels)}")
        self.n_labels = n_labels
        self.n = n_labels + 2

    def entries(self, y: Any, first_row: int) -> tuple[np.ndarray, np.ndarray]:
        """Return rows and codes: one for each label of a row, and one that says whether it has any."""
        if not sp.issparse(y):
            raise ValueError("y is one label a row here and was an indicator of labels before; give one kind")
        if y.shape[1] != self.n_labels:
            raise ValueError(
                f"y has {y.shape[1]} columns at row {first_row} and {self.n_labels} before; give one width"
            )
        every, n_own = np.arange(y.shape[0]), np.diff(y.indptr)
        any_or_none = np.where(n_own > 0, self.n_labels, self.n_labels + 1)
        return np.concatenate([np.repeat(every, n_own), every]), np.concatenate([y.indices, any_or_none])

    def sorted(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the labels in the order of the columns, and their codes."""
        return self._labels, np.arange(self.n_labels)


@persistence.register
@dataclass(frozen=True, eq=False)
class Overlaps:
    """Number of rows with both label u and label v, ``counts[u, v]`` (L, L); the diagonal is 0.

    Each row of any weight counts once. Counts add and subtract as statistics do.
    """

    counts: sp.csr_array

    @classmethod
    def of(cls, table: AnyTable) -> "Overlaps":
        """Return the counts of a table in which labels are classes and columns."""
        counts = as_scipy(table)
        return cls(sp.csr_array(counts - sp.diags_array(counts.diagonal()), dtype=np.int64))

    def combined(self, other: "Overlaps", sign: int) -> "Overlaps":
        """Return self + sign * other."""
        return Overlaps(self.counts + sign * other.counts)

    def widened(self, n_labels: int) -> "Overlaps":
        """Return the counts of an indicator with more columns at the right, in which no label is set."""
        counts = self.counts.copy()
        counts.resize((n_labels, n_labels))
        return Overlaps(counts)

    def _to_state(self) -> dict[str, Any]:
        """Return the pairs of labels as CSR, each pair once."""
        pairs = sp.csr_array(sp.triu(self.counts, 1))
        parts = {"counts": pairs.data, "labels": pairs.indices, "ends": pairs.indptr}
        return {name: part.astype(np.int64) for name, part in parts.items()}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> "Overlaps":
        form = {"counts": "i8[n_pairs]", "labels": "i8[n_pairs]", "ends": "i8[_]"}
        counts, labels, ends = persistence.parts(cls, state, **form)
        pairs = sound_csr(sp.csr_array((counts, labels, ends), shape=(max(len(ends) - 1, 0),) * 2), "overlaps")
        return cls(sp.csr_array(pairs + pairs.T))

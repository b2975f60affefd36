"""Maps rows to groups, a class in a split; a row may belong to several."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.core import messages, row_checks
from streamnb.rows.row_blocks import Entries
from streamnb.stats.matching import merged_classes, positions

NUMBERS = 1 << 16  # range of integer labels up to which codes are looked up in a table


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

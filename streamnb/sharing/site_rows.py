"""The rows of one site under a schema, and a placeholder for rows at other sites."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple, NoReturn

import numpy as np
import scipy.sparse as sp

from streamnb.core import messages, row_checks
from streamnb.rows.boundary import checked
from streamnb.rows.opening import opened
from streamnb.rows.row_blocks import Block
from streamnb.rows.source import Source, WrappedSource
from streamnb.rows.splits import Folding


class Outside(NamedTuple):
    """Rows with labels outside of the schema, and values of categories outside of it by column."""

    rows: int
    levels: dict[str, int]


class SiteRows(WrappedSource):
    """The rows of a site, without those whose labels are not declared.

    Like a stream they have no number before they are read, so that whatever depends on it is the same at all sites.

    Parameters
    ----------
    rows : Source
    classes : (K,) sorted labels
    folding : Folding, optional
        Of sites, where each is a fold; `number` is that of this one.
    number : int
    """

    needs_values = True

    def __init__(self, rows: Source, classes: np.ndarray, folding: Folding | None = None, number: int = 0):
        super().__init__(rows)
        self._classes, self._number, self.own_folding = classes, number, folding
        self.n_rows = self.n_values = None
        self.nbytes, self.in_memory, self.stored, self.files = 0, False, (), ()
        self.feature_names, self.names_last, self.encoding = rows.feature_names, rows.names_last, rows.encoding
        self.given = rows.given
        self._outside: dict[Any, int] = {}

    @property
    def arrays(self) -> tuple[Any, ...]:
        return ()  # so that rows are read here, by no cluster

    def blocks(self, start: int = 0, stop: int | None = None) -> Iterator[Block]:
        assert start == 0 and stop is None, "the rows of a site are read from the first to the last"
        first_row = 0
        self._outside.clear()  # which copies of this source share
        for block in self._rows.blocks():
            kept = self._declared(block)
            split = kept.split if self.own_folding is None else np.full(kept.n_rows, self._number)
            yield replace(kept, split=split, first_row=first_row)
            first_row += kept.n_rows
        if first_row == 0:
            classes = messages.listed(self._classes)
            raise ValueError(f"no row of this site has one of the labels of the schema, {classes}; leave the site out")

    def check_resumable(self) -> None:
        raise ValueError("checkpoint= goes with rows of one place, not with those of several sites")

    def with_targets(self) -> NoReturn:
        raise TypeError("a schema has classes, and the estimator predicts numbers; take a classifier")

    def _declared(self, block: Block) -> Block:
        """The rows of a block with declared labels."""
        y = single_labels(block)
        if len(y) and row_checks.label_kind(y) != row_checks.label_kind(self._classes):
            raise ValueError(f"y holds {row_checks.label_kind(y)}, and the classes are {self._classes.tolist()}")
        known = np.isin(y, self._classes)
        if known.all():
            return block
        labels, counts = np.unique(y[~known], return_counts=True)
        for label, count in zip(labels.tolist(), counts.tolist(), strict=True):
            self._outside[label] = self._outside.get(label, 0) + count
        rows = np.flatnonzero(known)
        X: Any = checked(block, missing=True)[0].picked(rows).to_matrix()
        parts = {name: getattr(block, name) for name in ("y", "weight", "split")}
        parts = {name: part if part is None else part[rows] for name, part in parts.items()}
        X = (X.data, X.indices, X.indptr, X.shape[1]) if sp.issparse(X) else X
        return replace(block, X=X, **parts, nbytes=block.nbytes * len(rows) // block.n_rows, forms=None)

    def warn_of_outside(self) -> Outside:
        """Warn of rows and values outside of the schema, once all rows have been read; return their numbers."""
        rows, unknown = sum(self._outside.values()), getattr(self._rows, "unknown", None)
        levels = {} if unknown is None else unknown.totals()
        if rows:
            labels = messages.listed(np.array([*self._outside], object))
            messages.warn(f"{rows:,} rows have labels outside of the schema, {labels}; they count nowhere")
        if levels:
            of_columns = ", ".join(f"{name!r} {count:,}" for name, count in levels.items())
            messages.warn(f"values outside of the schema have no effect; by column there are: {of_columns}")
        return Outside(rows, levels)


def single_labels(block: Block) -> np.ndarray:
    """The labels of a block, one for each row."""
    y = row_checks.check_y(block.y, block.first_row)
    if y.ndim == 2:
        raise ValueError("y is an indicator of labels; a schema is of rows with one label each")
    return y


def no_rows(n_features: int, names: Any, encoding: Any) -> Source:
    """A placeholder for rows at other sites: a stream with their columns, which cannot be read here."""
    rows = opened(_elsewhere)
    rows.n_features, rows.encoding = n_features, encoding
    if names is not None:
        rows.feature_names = np.empty(len(names), object)
        rows.feature_names[:] = names
    return rows


def _elsewhere() -> NoReturn:
    raise ValueError("the rows are at the sites; each reads its own")

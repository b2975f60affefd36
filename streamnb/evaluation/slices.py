"""Evaluations of slices of the rows, a tally that merges."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from typing import Any

import numpy as np

from streamnb.core import memory
from streamnb.evaluation.slice_columns import Label, SliceColumn, Slicing
from streamnb.evaluation.spread import BUCKET_BINS, BUCKETS, CELLS, LEAST_SAMPLED
from streamnb.evaluation.tallies import Rows

EXACT_ROWS, N_BINS = 1000, 1024  # of the rankings of a slice, at most
TABLE_CLASSES = 20  # up to so many, a slice has a confusion matrix
WAITING = 1 << 24  # bytes of rows that are added together
LEVEL = 0.95  # confidence of intervals of slices, where none is asked for


def form_of_slice(form: Sequence[Any], classes: np.ndarray) -> dict[str, Any]:
    """The arguments of the evaluation of a slice, which is smaller than that of all rows."""
    n_classes, needs, multilabel, exact_rows, n_bins, level, grouped = form
    large = {"pairs", "confused"}
    large |= {"confusion"} if n_classes > TABLE_CLASSES else set()
    large |= {"margin"} if "ranking" in needs else set()
    more = {"hits"} if needs & {"confusion", "confused"} else set()
    return {
        "n_classes": n_classes,
        "needs": sorted((needs - large) | more),
        "multilabel": multilabel,
        "exact_rows": min(exact_rows, EXACT_ROWS),
        "n_bins": min(n_bins, N_BINS),
        "classes": classes,
        "interval": LEVEL if level is None else level,
        "grouped": grouped,
    }


def check_memory(n_slices: int, form: dict[str, Any]) -> None:
    """Refuse slices whose tallies do not fit into memory, by an estimate from their form."""
    K = form["n_classes"]
    columns = 1 if K == 2 and not form["multilabel"] else K
    n_bytes = columns * (8 * form["exact_rows"] + 8 * form["n_bins"]) if {"ranking", "margin"} & {*form["needs"]} else 0
    n_bytes += 8 * columns * LEAST_SAMPLED + (8 * K**2 if "confusion" in form["needs"] else 0)
    if form["grouped"]:
        n_bytes += 4 * min(CELLS, 2 * columns * BUCKETS * BUCKET_BINS[1]) + 24 * BUCKETS * K
    memory.check(f"tallies of {n_slices} slices", n_slices * n_bytes, None, "slice by columns of fewer values")


class Slices:
    """Evaluations of the rows of each slice; a tally that merges.

    Parameters
    ----------
    slicing : Slicing
    kind : type
        Of the evaluation of a slice.
    form : dict
        Its arguments.
    """

    def __init__(self, slicing: Slicing, kind: type, form: dict[str, Any]):
        check_memory(slicing.n_slices, form)
        self.slicing, self._kind, self._form = slicing, kind, form
        self._of: list[dict[Label, Any]] = [{} for _ in slicing.columns]
        self._waiting: list[tuple[Rows, np.ndarray]] = []  # blocks may have few rows of each slice

    def add(self, rows: Rows, numbers: np.ndarray) -> None:
        """Add rows with the number of their slice in each column, (n, columns)."""
        self._waiting.append((rows, numbers))
        if sum(rows.nbytes for rows, _ in self._waiting) > WAITING:
            self.finish()

    def finish(self) -> None:
        """Add the rows that wait to their slices."""
        waiting, self._waiting = [part for part in self._waiting if len(part[1])], []
        if not waiting:
            return
        rows, numbers = Rows.joined([rows for rows, _ in waiting]), [numbers for _, numbers in waiting]
        for column, evaluations, own in zip(self.slicing.columns, self._of, np.concatenate(numbers).T, strict=True):
            order = np.argsort(own, kind="stable")
            present, first = np.unique(own[order], return_index=True)
            for number, some in zip(present.tolist(), np.split(order, first[1:]), strict=True):
                value = column.values[number]
                if value not in evaluations:
                    evaluations[value] = self._kind(**self._form)
                evaluations[value].add_rows(rows.of(some))

    def each(self) -> Iterator[tuple[SliceColumn, dict[Label, Any]]]:
        """Each column with the evaluations of its slices that have rows, in order."""
        self.finish()
        for column, evaluations in zip(self.slicing.columns, self._of, strict=True):
            yield column, {value: evaluations[value] for value in column.values if value in evaluations}

    def __add__(self, other: Slices) -> Slices:
        self.finish()
        other.finish()
        total = copy(self)
        total.slicing, total._of = self.slicing + other.slicing, [{} for _ in self._of]
        for mine, theirs, both in zip(self._of, other._of, total._of, strict=True):
            for value in {**mine, **theirs}:
                a, b = (part.get(value) or self._kind(**self._form) for part in (mine, theirs))
                both[value] = a + b  # a new one, even where one of them has no rows
        return total

    def _to_state(self) -> list[list[Any]]:
        return [[list(evaluations), list(evaluations.values())] for _, evaluations in self.each()]

    def restore(self, state: list[list[Any]]) -> None:
        """Fill an empty object from the state that `_to_state` returned."""
        empty = self._kind(**self._form)
        for column, evaluations, (values, parts) in zip(self.slicing.columns, self._of, state, strict=True):
            if not {*values} <= {*column.values}:
                raise ValueError(f"there are slices that are no values of {column.name!r}")
            for value, part in zip(values, parts, strict=True):
                empty + part
                evaluations[value] = part

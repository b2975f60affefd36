"""Detects statistics that no rows can have, such as after rows were subtracted twice."""

from collections.abc import Callable, Iterator
from functools import reduce
from typing import Any, NoReturn

import numpy as np

from streamnb.stats.moment_sums import SECOND_MOMENTS, TABLE
from streamnb.stats.second_moments import diagonal, n_multiplied
from streamnb.stats.tables import SparseTable, columns_at_once, first

ROUNDING = 1e-12  # relative to what is compared: sums are exact, but their terms and the comparisons are rounded
VANISHING = 1e-150  # squares of smaller values may lose all digits
AT_ONCE = 1 << 16  # cells
DROPPED = 2.0**-40  # relative to the sum before subtraction: pairs drop what is below 2^-106 of it
UNHELD = 2.0**-150  # the same for three low parts


def check_left(left: Any, before: Any) -> None:
    """Raise an error for statistics that no rows can have.

    Parameters
    ----------
    left : ClassStats
        Statistics after the subtraction.
    before : ClassStats
        Statistics before it.
    """
    _check_counts(left)
    if left.every is not None:
        _check_counts(left.every)
    _check_labels(left)
    if left.negatives < 0:
        _refuse("they have more values below 0 than there were")
    companions = [(left.every, before.every), (left.unlabelled, before.unlabelled)]
    for part, whole in ((left, before), *companions, *zip(left.folds, before.folds, strict=True)):
        if part is not None:
            if "histogram" in part.tables:
                _check_bins(part)
            for name in {*SECOND_MOMENTS} & part.tables.keys():
                _check_squares(part, whole, name)
            for cells in _cells(part, whole):
                _check_cells(part, whole, *cells)


def _refuse(why: str) -> NoReturn:
    """Raise the error for rows that were never added."""
    raise ValueError(f"rows are taken away that were never added: {why}; take away only rows that are there, each once")


def _check_labels(left: Any) -> None:
    """Check the counts of pairs of labels, which detect more than the sums of single labels."""
    if left.unlabelled is not None and left.unlabelled.rows[0] < 0:
        _refuse("more of them bear no label than there are")
    if left.overlaps is not None and (left.overlaps.counts.data < 0).any():
        pairs = left.overlaps.counts.tocoo()
        at = pairs.data.argmin()
        one, two = left.classes[[pairs.row[at], pairs.col[at]]].tolist()
        _refuse(f"more of them bear the labels {one!r} and {two!r} together than there are")


def _check_counts(left: Any) -> None:
    if (left.rows < 0).any():
        label = left.classes[np.argmin(left.rows)].item()
        raise ValueError(
            f"more rows of class {label!r} are taken away than there are; take away only rows that were added"
        )
    unequal = (left.weight < 0) | ((left.rows == 0) & (left.weight != 0))
    if unequal.any():
        label = left.classes[np.argmax(unequal)].item()
        raise ValueError(
            f"rows of class {label!r} are taken away with another weight; take rows away with the weight they have now"
        )


def _check_bins(left: Any) -> None:
    table = left.tables["histogram"]
    wrong = first(table, lambda sums: sums < 0)
    if wrong is not None:
        (k, column), n_bins = wrong, table.grid.n_bins
        place = f"class {left.classes[k].item()!r}, feature {column // n_bins}, bin {column % n_bins}"
        _refuse(f"a bin of what is left has a weight below 0 ({place})")


def _check_squares(left: Any, before: Any, name: str) -> None:
    """Check that the product of a feature with itself is not negative."""
    table, squares = left.tables[name], diagonal(n_multiplied(name, left.n_features))
    share = ROUNDING if table.lo is not None else 0.0  # rounding depends on the other rows of a block
    slack = share * before.tables[name].value(squares).max(axis=0, initial=0.0)
    wrong = np.argwhere(table.value(squares) < -slack)
    if wrong.size:
        _refuse(f"the {name} of what is left has a square below 0 (feature {wrong[0, 1]})")


def _cells(left: Any, before: Any) -> Iterator[tuple[np.ndarray, np.ndarray, Callable]]:
    """Yield classes and columns of cells, and what reads their sums; of sparse tables, of those that are stored."""
    tables = {name: left.tables[name] for name in left.moments if name in TABLE}
    if len(before.classes) != len(left.classes):  # only if the subtracted rows had other classes
        return
    if any(isinstance(table, SparseTable) for table in tables.values()):
        keys = reduce(np.union1d, [t.keys for t in tables.values() if isinstance(t, SparseTable)])
        touched = SparseTable((len(left.classes), left.n_features), keys, np.ones(len(keys)))
        classes, columns = touched.classes_of(), touched.columns_of()
        for start in range(0, len(keys), AT_ONCE):
            some = slice(start, start + AT_ONCE)
            at = classes[some], columns[some]
            yield *at, lambda table, at=at: table.pairs(at[1], at[0])[0]
    else:
        step, every = columns_at_once(len(left.classes)), np.arange(len(left.classes))[:, None]
        for start in range(0, left.n_features, step):
            columns = np.arange(start, min(start + step, left.n_features))
            yield every, columns, lambda table, some=slice(start, start + step): table.value(some)


def _share_dropped(before: Any, left: Any) -> float:
    """Return the error of a difference, relative to the sum before subtraction."""
    if left.rounded:
        return DROPPED
    return 0.0 if before.lo is None and left.lo is None else UNHELD


def _check_cells(
    left: Any, before: Any, classes: np.ndarray, columns: np.ndarray, sums_of: Callable[[Any], np.ndarray]
) -> None:
    names = [name for name in left.moments if name in TABLE]
    sums = {name: sums_of(left.tables[name]) for name in names}
    of_before = {name: sums_of(before.tables[name]) for name in names} | {"weight": before.weight[classes]}
    slack = {  # the possible error of each sum from dropped digits
        name: _share_dropped(before.tables[name], left.tables[name]) * np.abs(values)
        for name, values in of_before.items()
    }

    def refuse(wrong: np.ndarray, what: str) -> None:
        """Raise an error that names the first wrong cell, if any."""
        if wrong.any():
            at = np.unravel_index(np.argmax(wrong), wrong.shape)
            label, column = (np.broadcast_to(part, wrong.shape)[at].item() for part in (left.classes[classes], columns))
            _refuse(f"{what} (class {label!r}, feature {column})")

    weight, centre = left.weight[classes], left.options.centre
    heaviest = weight + slack["weight"]
    for name, values in sums.items():
        if TABLE[name].means[0] == 0.0 or (name == "sum" and left.negatives == 0):
            least = np.where(weight == 0, -slack[name], 0.0)  # without rows, digits that three low parts cannot hold
            refuse(values < least, f"a {name} of what is left is below 0")
        refuse((weight == 0) & (np.abs(values) > slack[name]), f"a {name} is left without any weight")
        if name in ("nonzero", "above"):
            refuse(values > heaviest + slack[name], f"the {name} of what is left is above the weight")
    if "nonzero" in sums:
        without = sums["nonzero"] + slack["nonzero"] == 0
        for name in {"sum", "sum_sq"} & sums.keys():
            refuse(without & (np.abs(sums[name]) > slack[name]), f"a {name} is left where no value is")
    if {"sum", "sum_sq"} <= sums.keys():  # the Cauchy-Schwarz inequality
        count = sums["nonzero"] + slack["nonzero"] if "nonzero" in sums else heaviest
        most = np.sqrt(np.maximum(sums["sum_sq"] + slack["sum_sq"], 0.0)) * np.sqrt(count)
        size = np.abs(sums["sum"]) - slack["sum"]
        wrong = size > most * (1.0 + ROUNDING) + heaviest * VANISHING
        refuse(wrong, "the sum_sq of what is left is too small for its sum")
    if {"sum", "inv_sum"} <= sums.keys():
        least = np.sqrt(np.abs(sums["sum"]) + slack["sum"]) * np.sqrt(np.abs(sums["inv_sum"]) + slack["inv_sum"])
        refuse(
            least * (1.0 + ROUNDING) < weight - slack["weight"], "the inv_sum of what is left is too small for its sum"
        )
    if {"sum", "deviation"} <= sums.keys():
        distance = np.abs(sums["sum"] - weight * centre) - slack["sum"] - slack["deviation"]
        size = np.abs(sums["sum"]) + heaviest * abs(centre)
        wrong = distance > sums["deviation"] + ROUNDING * size + slack["weight"] * abs(centre)
        refuse(wrong, "the deviation of what is left is too small for its sum")

"""Coupled families: the sum T of all pulls that makes the probabilities of a class sum to one."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
from scipy.optimize import brentq

from streamnb.core.threads import in_order
from streamnb.kernels.roots import CHUNK, flat_range, flat_root, last_live, room_for, smooth_total, total_pulls
from streamnb.kernels.table_sums import index_of
from streamnb.problem.penalties import Pull
from streamnb.problem.sides import Sides
from streamnb.solving.equations import Equations
from streamnb.solving.parts import Part
from streamnb.solving.weight_problem import Kept, Problem


def coupled_totals(
    problem: Problem, pulls: Sequence[Pull], kept: Kept | None, n_threads: int
) -> dict[Part, np.ndarray]:
    """Return T of each pull and row of weights, (G, R), for each coupled part; 0 without any pull.

    The probabilities of a class must sum to one. Pulls that do not depend on the weights must have ascending tau and
    be all scored or all not.
    """
    return {
        part: _part_totals(part, problem.n_rows, pulls, kept, n_threads)
        for part in problem.parts
        if part.family.coupled
    }


def _part_totals(part: Part, n_rows: int, pulls: Sequence[Pull], kept: Kept | None, n_threads: int) -> np.ndarray:
    totals = np.zeros((len(pulls), n_rows))
    some = [i for i, pull in enumerate(pulls) if not pull.none]
    if some:
        given = [pulls[i] for i in some]
        taus = None if any(pull.smooth for pull in given) else np.array([pull.l1 for pull in given])
        groups = part.groups(range(n_rows)) if taus is not None else [slice(r, r + 1) for r in range(n_rows)]
        found = in_order(lambda rows: _totals_of(part, rows, given, taus, kept), groups, n_threads)
        totals[some] = np.concatenate(list(found)).T
    return totals


def _totals_of(
    part: Part, rows: slice, pulls: Sequence[Pull], taus: np.ndarray | None, kept: Kept | None
) -> np.ndarray:
    """Return T of some rows of weights (one if pulls depend on weights) and each pull; else `taus` are those of L1."""
    sides, unpulled = part.of_rows(rows)
    unpulled = unpulled if kept is None else kept.mark(unpulled, part, part.columns, rows)
    totals, index = np.zeros((rows.stop - rows.start, len(pulls))), taus is not None and index_of(taus)
    for i in np.flatnonzero(sides.alive).tolist():
        arrays = _of_features(unpulled, i, pulls[0].scored)
        if taus is None:
            totals[i] = list(_smooth_totals(sides, unpulled, pulls, arrays))
        else:
            fill_totals(arrays, taus, index, totals[i])
    return totals


def fill_totals(arrays: list[np.ndarray], taus: np.ndarray, index: Any, totals: np.ndarray) -> int:
    """Write T of a row at each L1 tau, of which `index_of` is given; return the number of first taus with clipping."""
    room, of_taus, flags = room_for(len(arrays[0]), len(taus))
    return total_pulls(*arrays, taus, index, room, of_taus, flags, totals)


def _of_features(unpulled: Equations, i: int, scored: bool) -> list[np.ndarray]:
    """Return the inputs of T of the i-th row for the kept features: t*, the pooled frequency, and the unit of tau."""
    units = unpulled.sd if scored else np.ones(unpulled.sd.shape)
    given = slice(None) if unpulled.kept is None else unpulled.kept[i]
    pooled = unpulled.pooled[min(i, len(unpulled.pooled) - 1)]
    return [np.ascontiguousarray(values[given]) for values in (unpulled.t_star[i], pooled, units[i])]


def leaving(
    problem: Problem, taus: np.ndarray, scored: bool, rows: Sequence[int], n_threads: int
) -> tuple[np.ndarray, list[int]]:
    """Count the features with a weight at this L1 tau or a later one, (G,), and find the rows with the last weight.

    `taus` ascend; only the given rows of weights are examined.
    """

    def of_group(group: slice) -> list[tuple[list[np.ndarray], np.ndarray]]:
        sides, unpulled = part.of_rows(group)
        found = []
        for i in range(group.stop - group.start):
            arrays, totals = _of_features(unpulled, i, scored), np.zeros(len(taus))
            if part.family.coupled and sides.alive[i, 0]:
                totals = totals[: fill_totals(arrays, taus, index, totals)]
            found.append((arrays, totals))
        return found

    ends, lasts, index = np.zeros(len(rows), np.intp), [], index_of(taus)
    for part in problem.parts:
        lasts.append(np.zeros(part.n_features, np.intp))
        found = chain.from_iterable(in_order(of_group, part.groups(rows), n_threads))
        for i, (arrays, totals) in enumerate(found):
            ends[i] = max(ends[i], last_live(*arrays, taus, totals, index, lasts[-1]))
    n_gone = np.bincount(np.concatenate(lasts), minlength=len(taus) + 1).cumsum()
    return n_gone[-1] - n_gone[:-1], [r for r, end in zip(rows, ends, strict=True) if end == ends.max()]


def _smooth_totals(row: Sides, unpulled: Equations, pulls: Sequence[Pull], arrays: list[np.ndarray]) -> Iterator[float]:
    """Yield the root of each pull, starting from the previous one; if L1 leaves no weight, one inside the flat range.

    At the ends of the range, rounding would leave some weights.
    """
    total = 0.0
    for pull in pulls:
        flat = flat_range(*arrays, len(arrays[0]), pull.l1)
        if flat[0] <= flat[1]:
            total = flat_root(*flat)
        elif pull.slopes or unpulled.close.any():
            total = _outer_root(partial(_excess, row, unpulled, pull), row)
        elif pull.l2 == 0.0:
            fill_totals(arrays, tau := np.array([pull.l1]), index_of(tau), alone := np.zeros(1))
            total = float(alone[0])
        else:
            total = _l2_total(row, unpulled, pull, arrays, total)
        yield total


def _l2_total(row: Sides, unpulled: Equations, pull: Pull, arrays: list[np.ndarray], start: float) -> float:
    excess, share, unit = arrays
    given = slice(None) if unpulled.kept is None else unpulled.kept[0]
    plus, minus = (np.ascontiguousarray(sums[0][given]) for sums in (row.positive, row.negative))
    n_plus, n_minus = float(row.n_positive[0, 0]), float(row.n_negative[0, 0])
    pulled = 0.0 if row.pooled else 1.0
    terms = np.empty((2, CHUNK)), np.zeros(len(excess))
    return smooth_total(plus, n_plus, minus, n_minus, pulled, excess, share, pull.l1 * unit, pull.l2, start, *terms)


def _excess(row: Sides, unpulled: Equations, pull: Pull, total: float) -> float:
    moved = Equations.of(row, unpulled.family, unpulled.phi, np.array([[total]]))
    return total - float(replace(moved, kept=unpulled.kept).pulls(pull).sum())


def _outer_root(excess: Any, row: Sides) -> float:
    """Return the root of `excess` inside its domain; it also vanishes at the ends, so the bracket grows from 0."""
    at_zero = excess(0.0)
    if at_zero == 0.0:
        return 0.0
    n_positive, n_negative = float(row.n_positive[0, 0]), float(row.n_negative[0, 0])
    near = 0.0
    for k in range(1, 60):
        if at_zero < 0:
            far = n_positive * (1.0 - 2.0**-k)
        else:
            far = -n_positive * 2.0 ** (k - 1) if row.pooled else -n_negative * (1.0 - 2.0**-k)
        value = excess(far)
        if value == 0.0 or (value > 0) == (at_zero < 0):
            return brentq(excess, near, far, xtol=5e-324, rtol=4 * np.finfo(float).eps, maxiter=200)
        near = far
    return near

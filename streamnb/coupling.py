"""Coupled families: the sum T of all pulls of a row of weights, which makes the probabilities of a class sum to one."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import brentq

from streamnb.equations import Equations
from streamnb.kernels.paths import last_live
from streamnb.kernels.roots import flat_range, flat_root, total_pulls
from streamnb.penalties import Pull
from streamnb.problem import Kept, Part, Problem
from streamnb.schemes import Sides
from streamnb.threads import in_order


def coupled_totals(
    problem: Problem, pulls: Sequence[Pull], kept: Kept | None, n_threads: int
) -> dict[Part, np.ndarray]:
    """T of each pull and row of weights, (G, R), for each coupled part; 0 without any pull.

    The probabilities of a class must sum to one. Pulls that do not depend on the weights go by ascending tau and are
    scored or not alike.
    """
    coupled = (part for part in problem.parts if part.family.coupled)
    return {part: _part_totals(part, problem.n_rows, pulls, kept, n_threads) for part in coupled}


def _part_totals(part: Part, n_rows: int, pulls: Sequence[Pull], kept: Kept | None, n_threads: int) -> np.ndarray:
    totals = np.zeros((len(pulls), n_rows))
    some = [i for i, pull in enumerate(pulls) if not pull.none]
    if some:
        given = [pulls[i] for i in some]
        taus = None if any(pull.smooth for pull in given) else np.array([pull.l1 for pull in given])
        found = in_order(lambda r: _row_totals(part, r, given, taus, kept), range(n_rows), n_threads)
        totals[some] = np.stack(list(found), axis=1)
    return totals


def _row_totals(part: Part, r: int, pulls: Sequence[Pull], taus: np.ndarray | None, kept: Kept | None) -> np.ndarray:
    """T of each pull; `taus` are those of L1 where no pull depends on the weights."""
    row, at_rest = part.row(r)
    if not row.alive.all():
        return np.zeros(len(pulls))
    at_rest = at_rest if kept is None else kept.mark(at_rest, part.columns, slice(r, r + 1))
    arrays = _of_features(at_rest, pulls[0].scored)
    if taus is None:
        return np.array([_smooth_total(row, at_rest, pull, flat_range(*arrays, pull.l1)) for pull in pulls])
    totals = np.empty(len(taus))
    total_pulls(*arrays, taus, totals)
    return totals


def _of_features(at_rest: Equations, scored: bool) -> list[np.ndarray]:
    """What T follows from: t*, the pooled frequency, and the unit of tau, of the features of one row that are kept."""
    units = at_rest.sd if scored else np.ones(at_rest.sd.shape)
    given = slice(None) if at_rest.kept is None else at_rest.kept[0]
    return [np.ascontiguousarray(values[0][given]) for values in (at_rest.t_star, at_rest.pooled, units)]


def leaving(
    problem: Problem, taus: np.ndarray, scored: bool, rows: Sequence[int], n_threads: int
) -> tuple[np.ndarray, list[int]]:
    """How many features have a weight at any of the L1 taus from each on, (G,), and the rows that have the last weight.

    `taus` ascend; only some rows of weights are looked at.
    """

    def of_row(r: int) -> tuple[list[np.ndarray], np.ndarray]:
        row, at_rest = part.row(r)
        arrays, totals = _of_features(at_rest, scored), np.zeros(len(taus))
        if part.family.coupled and row.alive.all():
            totals = totals[: total_pulls(*arrays, taus, totals)]
        return arrays, totals

    ends, lasts = np.zeros(len(rows), np.intp), []
    for part in problem.parts:
        lasts.append(np.zeros(part.n_features, np.intp))
        for i, (arrays, totals) in enumerate(in_order(of_row, rows, n_threads)):
            ends[i] = max(ends[i], last_live(*arrays, taus[: len(totals)], totals, lasts[-1]))
    n_gone = np.bincount(np.concatenate(lasts), minlength=len(taus) + 1).cumsum()
    return n_gone[-1] - n_gone[:-1], [r for r, end in zip(rows, ends, strict=True) if end == ends.max()]


def _smooth_total(row: Sides, at_rest: Equations, pull: Pull, flat: tuple[float, float]) -> float:
    """The root; in the `flat` range, where L1 leaves no weight, one inside: at its ends rounding would leave some."""
    if flat[0] <= flat[1]:
        return flat_root(*flat)

    def excess(total: float) -> float:
        moved = Equations.of(row, at_rest.family, at_rest.phi, np.array([[total]]))
        moved = replace(moved, kept=at_rest.kept)
        return total - float(moved.pulls(pull).sum())

    return _outer_root(excess, row)


def _outer_root(excess: Any, row: Sides) -> float:
    """The root of `excess` inside its domain; it vanishes at the ends too, so the bracket grows from 0."""
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
            return brentq(excess, near, far, xtol=1e-300, rtol=4 * np.finfo(float).eps, maxiter=200)
        near = far
    return near

"""Coupled families: the sum T of all pulls of a row of weights, which makes the probabilities of a class sum to one."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import brentq

from streamnb.equations import Equations
from streamnb.kernels.roots import flat_range, flat_root, total_pulls
from streamnb.penalties import Pull
from streamnb.problem import Kept, Part, Problem
from streamnb.schemes import Sides


def coupled_totals(problem: Problem, pulls: Sequence[Pull], kept: Kept | None = None) -> dict[Part, np.ndarray]:
    """T of each pull and row of weights, (G, R), for each coupled part; 0 without any pull.

    The probabilities of a class must sum to one. Pulls that do not depend on the weights go by ascending tau and are
    scored or not alike.
    """
    return {part: _part_totals(part, problem.n_rows, pulls, kept) for part in problem.parts if part.family.coupled}


def _part_totals(part: Part, n_rows: int, pulls: Sequence[Pull], kept: Kept | None) -> np.ndarray:
    totals = np.zeros((len(pulls), n_rows))
    some = [i for i, pull in enumerate(pulls) if not pull.none]
    for r in range(n_rows if some else 0):
        sides, at_rest = part.row(r)
        if sides.alive.all():
            at_rest = at_rest if kept is None else kept.mark(at_rest, part.columns, slice(r, r + 1))
            totals[some, r] = _row_totals(sides, at_rest, [pulls[i] for i in some])
    return totals


def _row_totals(row: Sides, at_rest: Equations, pulls: Sequence[Pull]) -> np.ndarray:
    units = at_rest.sd if pulls[0].scored else np.ones(at_rest.sd.shape)
    given = slice(None) if at_rest.kept is None else at_rest.kept[0]
    arrays = [np.ascontiguousarray(values[0][given]) for values in (at_rest.t_star, at_rest.pooled, units)]
    if any(pull.smooth for pull in pulls):
        return np.array([_smooth_total(row, at_rest, pull, flat_range(*arrays, pull.l1)) for pull in pulls])
    totals = np.empty(len(pulls))
    total_pulls(*arrays, np.array([pull.l1 for pull in pulls]), totals)
    return totals


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

"""Coupled families: the sum T of all pulls of a row of weights, which makes the probabilities of a class sum to one."""

from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import brentq

from streamnb.equations import Equations
from streamnb.kernels.roots import total_pull
from streamnb.penalties import Pull
from streamnb.problem import Kept, Part, Problem
from streamnb.schemes import Sides

Totals = dict[Part, np.ndarray]


def coupled_totals(problem: Problem, pull: Pull, kept: Kept | None = None) -> Totals:
    """T of each row of weights, (R, 1), for each coupled part; math: the probabilities of a class must sum to one."""
    coupled = [part for part in problem.parts if part.family.coupled and not pull.none]
    return {part: _part_totals(part, problem.n_rows, pull, kept) for part in coupled}


def _part_totals(part: Part, n_rows: int, pull: Pull, kept: Kept | None) -> np.ndarray:
    totals = np.zeros((n_rows, 1))
    for r in range(n_rows):
        sides, at_rest = part.row(r)
        if sides.alive.all():
            at_rest = at_rest if kept is None else kept.mark(at_rest, part.columns, slice(r, r + 1))
            totals[r] = _total(sides, at_rest, pull)
    return totals


def _total(row: Sides, at_rest: Equations, pull: Pull) -> float:
    if not pull.smooth:
        free = np.zeros(at_rest.t_star.shape, bool) if at_rest.kept is None else ~at_rest.kept
        return total_pull(at_rest.t_star[0], at_rest.pooled[0], pull.thresholds(at_rest.sd)[0], free[0])

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

"""The L1 tau for each number of features: breakpoints of (6.2), Shishkova 2016, looked up or by root finding."""

from __future__ import annotations

import numbers
from typing import Any

import numpy as np

from streamnb.core import arguments, messages
from streamnb.problem.families import as_family
from streamnb.problem.penalties import L1
from streamnb.problem.schemes import OneVsOne, TwoClasses, as_scheme
from streamnb.solving.l1_grid import L1Grid
from streamnb.solving.multinomial import leaving
from streamnb.solving.penalty_checks import check_penalty
from streamnb.solving.weight_problem import Problem
from streamnb.stats.class_stats import ClassStats, check_stats

MANY = 16  # fewest taus of a grid to which smaller ones are added
BEFORE = (0.125, 0.25, 0.5)  # times the first tau: the best tau for texts with many classes lies there
NEAR = 0.75  # share of all features: if the first tau leaves as many, there is no gap


def tau_for(
    stats: ClassStats,
    family: Any = "poisson",
    *,
    n_features: int,
    class_: Any = None,
    scale: str | None = None,
    scheme: str = "joint",
    reference: Any = None,
    overlap: str = "refuse",
    smoothing: Any = 1.0,
    idf: bool = False,
    estimate: str = "posterior_mean",
) -> float:
    """Return the smallest L1 tau that leaves at most `n_features` features; reads no data.

    Parameters
    ----------
    stats, family, scheme, reference, overlap, smoothing, idf, estimate
        As for `solve`.
    n_features : int
        Maximum number of features with a nonzero weight; may be 0.
    class_ : label, optional
        Count only the row of weights of this class or label (joint, ovr and reference).
    scale : {None, "score"}
        As for the L1 penalty.

    Returns
    -------
    float
        One of the breakpoints abs(t*) of (6.2), Shishkova 2016. Multinomial features are coupled: for these it is
        found by bisection over solutions, to the last digits.

    Warns
    -----
    StreamnbWarning
        Features that leave at the same tau prevent exactly that number.

    Examples
    --------
    >>> import streamnb as snb
    >>> X, y = [[2, 0], [3, 1], [0, 4], [1, 5]], ["cat", "cat", "dog", "dog"]
    >>> stats = snb.scan(X, y)
    >>> tau = snb.tau_for(stats, "poisson", n_features=1)
    >>> snb.solve(stats, "poisson", snb.L1(tau)).n_features.tolist()
    [1]
    """
    check_stats(stats)
    if not isinstance(n_features, numbers.Integral) or n_features < 0:
        raise ValueError(f"n_features={n_features!r} should be a whole number of at least 0")
    arguments.one_of("scale", scale, [None, "score"])
    checked = as_scheme(scheme, stats.classes, reference, stats.multilabel)
    problem = Problem(stats, as_family(family), checked, smoothing, None, idf, estimate, overlap)
    check_penalty(L1(0.0, scale), problem.family, checked, len(stats.classes))
    row = None if class_ is None else _row_of_class(problem, class_)
    breaks = np.append(np.sort(problem.breakpoints(scale == "score", row))[::-1], 0.0)
    if problem.family.coupled:
        tau, left = _bisected(problem, scale == "score", row, n_features, 2.0 * breaks[0])
    else:
        tau = float(breaks[min(n_features, len(breaks) - 1)])
        left = int(np.count_nonzero(breaks > tau))
    if left < min(n_features, np.count_nonzero(breaks > 0)):
        messages.warn(f"n_features={n_features}: features leave together, tau={tau:g} keeps {left}")
    return tau


def _row_of_class(problem: Problem, label: Any) -> int:
    scheme, classes = problem.scheme, problem.stats.classes
    names = [] if isinstance(scheme, OneVsOne | TwoClasses) else scheme.row_names(classes)
    if label not in names:
        raise ValueError(
            f"class_={label!r} has no row of weights of its own; it should be one of {messages.listed(classes)}, more "
            "than two, under scheme='joint' or 'ovr', or one that is compared with the reference"
        )
    return names.index(label)


def _bisected(problem: Problem, scored: bool, row: int | None, wanted: int, high: float) -> tuple[float, int]:
    def left(tau: float) -> int:
        grid = L1Grid(np.array([tau]), scored)
        rows, union = grid.counts(problem, grid.totals(problem, n_threads=1))
        return int(union[0] if row is None else rows[0, row])

    low = 0.0
    if left(low) <= wanted:
        return low, left(low)
    while high - low > 1e-15 * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if left(middle) <= wanted else (middle, high)
        if middle in (0.0, low + high - middle):
            break
    return high, left(high)


def taus_from_data(problem: Problem, part: L1, n_threads: int) -> np.ndarray:
    """Return L1 taus that leave k features, k geometric from all to 1, and some before the first if it leaves few.

    The features of a coupled family may return along the path, so that k is only approximate. Taus of private sums
    begin at the level of the noise, because weights below it are noise.
    """
    scored, ledger = part.scale == "score", problem.stats.privacy
    breaks = np.sort(problem.breakpoints(scored))[::-1]
    if ledger is not None and not scored:
        level = max(ledger.noise[moment] for moment in problem.moments)
        return np.geomspace(level, max(breaks[0], 2.0 * level), part.n_taus)
    n_alive = max(int(np.count_nonzero(breaks > 0)), 1)
    wanted = _numbers(n_alive, part.n_taus)
    before = part.n_taus >= MANY and wanted[-2:][0] < NEAR * n_alive
    wanted = _numbers(n_alive, part.n_taus - len(BEFORE)) if before else wanted
    taus = np.where(wanted < n_alive, breaks[wanted % len(breaks)], 0.0)
    if problem.family.coupled and taus.any():
        taus = _corrected(problem, scored, wanted, taus, n_threads)
    if before and taus.any():
        taus = np.append(taus, np.array(BEFORE) * taus[taus > 0].min())
    return np.unique(taus)


def _numbers(n_alive: int, n_taus: int) -> np.ndarray:
    """Return distinct numbers from 1 to all, spaced geometrically."""
    every = np.arange(min(n_taus, n_alive))
    wanted = np.geomspace(1, n_alive, len(every)).round().astype(int)
    return np.maximum.accumulate(wanted - every) + every  # rounding would repeat small numbers


def _corrected(problem: Problem, scored: bool, wanted: np.ndarray, taus: np.ndarray, n_threads: int) -> np.ndarray:
    """Return taus that leave about the wanted numbers of features, interpolated between tried taus."""
    every = range(problem.n_rows)
    low, high = taus[taus > 0].min(), taus.max()
    tried = np.geomspace(0.9 * low, high, len(taus) + 1)
    counts, rows = leaving(problem, tried, scored, every, n_threads)
    if counts[0] < wanted[taus > 0].max():
        lower = np.geomspace(0.05 * low, tried[0], 18)[:-1]
        left, last = leaving(problem, lower, scored, every, n_threads)
        tried, counts, rows = np.append(lower, tried), np.append(left, counts), rows if counts[0] else last
    for _ in range(2):  # a second pass, as features vanish faster and faster towards the last one
        n = int(np.count_nonzero(counts))
        if n == 0:
            return taus
        between = np.geomspace(tried[n - 1], tried[min(n, len(tried) - 1)], 18)[1:-1]
        left, rows = leaving(problem, between, scored, rows, n_threads)
        tried, counts = np.insert(tried, n, between), np.insert(counts, n, left)
    rising = np.maximum.accumulate(counts[counts > 0][::-1])
    corrected = np.exp(np.interp(np.log(wanted), np.log(rising), np.log(tried[counts > 0][::-1])))
    return np.where(taus > 0, corrected, 0.0)

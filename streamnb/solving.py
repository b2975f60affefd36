"""From statistics to weights, equation (6.2) of Shishkova 2016, for every point of the penalty's grid.

The path is lazy: nothing of the size grid x classes x features is ever held.
"""

from collections.abc import Iterator
from functools import cached_property
from itertools import product
from operator import index
from typing import Any

import numpy as np
from scipy.optimize import brentq

from streamnb import _checks
from streamnb.equations import Equations
from streamnb.families import Family, as_family, column_blocks
from streamnb.kernels.roots import total_pull
from streamnb.model import LinearModel
from streamnb.penalties import KINDS, L1, Penalty, Pull, as_penalty, pull_at
from streamnb.schemes import ClassSums, Scheme, Sides, as_scheme
from streamnb.stats.class_stats import ClassStats

BLOCK = 1 << 19  # weights solved for at once


def solve(
    stats: ClassStats,
    family: Any = "poisson",
    penalty: Penalty | None = None,
    *,
    scheme: str = "joint",
    reference: Any = None,
    smoothing: float = 1.0,
    priors: Any = None,
    idf: bool = False,
) -> "WeightPath":
    """Regularised weights for every point of the penalty's grid; reads no data.

    Parameters
    ----------
    stats : ClassStats
        From `scan`; only read.
    family : {"gaussian", "poisson", "bernoulli", "multinomial"} or Family
    penalty : None, L1, L2 or their sum
        L1 without taus takes its grid from the statistics.
    scheme : {"joint", "ovr", "ovo", "reference"}
        All classes against their pooled model, each against the rest, every pair, or each against one named class.
        Two classes make one problem whatever the scheme.
    reference : label, optional
        That named class.
    smoothing : float
        Bernoulli Beta(s, s); multinomial alpha = s; Gaussian none; else s pseudo-rows at the mean of all rows.
    priors : None, "uniform" or (K,)
        Class probabilities; None: shares of the weight.
    idf : bool
        Multiply feature j by ln((1 + N) / (1 + df_j)) + 1, df_j the weight of the rows where it is not 0.

    Returns
    -------
    WeightPath
        Lazy: a model is computed when it is asked for.

    Raises
    ------
    ValueError, TypeError
        An argument is wrong, or the statistics lack a moment that the family needs.
    """
    if not isinstance(stats, ClassStats):
        raise TypeError(f"stats={stats!r} should be ClassStats, as snb.scan returns them")
    if len(stats.classes) < 2:
        raise ValueError(
            f"stats hold {len(stats.classes)} class; a classifier needs at least 2 classes (this is one class only)"
        )
    problem = _Problem(stats, as_family(family), as_scheme(scheme, stats.classes, reference), smoothing, priors, idf)
    if not problem.seen.all():
        _checks.warn_absent(stats.classes[~problem.seen])
    return WeightPath(problem, as_penalty(penalty))


# ---- the problem: sums, sides, breakpoints ---------------------------------------------------------------------------


class _Problem:
    """All that (6.2) needs to know of the data, for any block of features."""

    def __init__(self, stats: ClassStats, family: Family, scheme: Scheme, smoothing: Any, priors: Any, idf: bool):
        self.stats, self.family = stats, family
        self.scheme = scheme
        self._smoothing = _checks.finite_number("smoothing", smoothing, minimum=0.0)
        self.n_features = stats.n_features
        self.n_rows = self.scheme.n_rows(len(stats.classes))
        weight = stats.weight
        self.seen = weight > 0
        self.blocks = column_blocks(self.n_features, max(BLOCK // self.n_rows, 1))
        self._scored = stats.table(family.moment)
        if idf and family.moment == "above":
            raise ValueError(
                f"idf=True means nothing for family={family.name!r}, which sees presence only; leave it out"
            )
        self.scale = _idf(stats) if idf else None
        if family.nonnegative and stats.negatives:
            _checks.raise_negatives(stats.negatives, f"family={family.name!r}")
        self._n_all = weight.sum()
        self._total = np.empty(self.n_features)  # over all classes
        lengths = np.zeros(len(weight))
        for columns in self.blocks:
            sums = self._sums(columns)
            self._total[columns] = sums.sum(axis=0)
            lengths += sums.sum(axis=1)
        self._counts = lengths if family.coupled else weight
        self._check_highest()
        self._phi = family.dispersion(stats, self.scale)
        given = _checks.check_priors(priors, stats.classes, weight)
        with np.errstate(divide="ignore"):
            log_priors = np.where(self.seen, np.log(given), -np.inf)
        self.intercepts = self.scheme.intercepts(log_priors)

    def _check_highest(self) -> None:
        """Refuse means above the domain; a scan that knows its family names the very value."""
        mean = self._total.max() / self._n_all
        if mean > self.family.highest:
            raise ValueError(
                f"family={self.family!r} takes values of at most {self.family.highest:g}, but feature "
                f"{int(self._total.argmax())} has a mean of {mean:g}"
            )

    def _sums(self, columns: slice, classes: Any = slice(None)) -> np.ndarray:
        sums = self._scored.value(columns, classes)
        return sums if self.scale is None else sums * self.scale[columns]

    def phi(self, columns: slice) -> np.ndarray:
        return self._phi[columns]

    def sides(self, columns: slice, rows: slice = slice(None)) -> Sides:
        """Both sides of some rows of weights, for some features."""
        total = self._total[columns]
        prior = self.family.prior(total / self._n_all, self._smoothing, self.n_features)
        data = ClassSums(lambda classes: self._sums(columns, classes), total, self._counts, self.seen)
        return self.scheme.sides(data, prior, rows)

    def equations(self, columns: slice, total: np.ndarray | None = None) -> "Equations":
        """(6.2) for some features; `total` (R, 1) is the sum of all pulls, which a coupled family needs."""
        return Equations.of(self.sides(columns), self.family, self.phi(columns), total)

    def breakpoints(self, scored: bool) -> np.ndarray:
        """For each feature the L1 tau at which its last weight becomes zero, (n_features,)."""
        out = np.empty(self.n_features)
        for columns in self.blocks:
            out[columns] = self.equations(columns).breakpoints(scored).max(axis=0)
        return out


def _idf(stats: ClassStats) -> np.ndarray:
    total, df = stats.weight.sum(), np.zeros(stats.n_features)
    for columns in column_blocks(stats.n_features, 1 << 16):
        df[columns] = stats.table("nonzero").value(columns).sum(axis=0)
    return np.log((1.0 + total) / (1.0 + df)) + 1.0


# ---- the path --------------------------------------------------------------------------------------------------------


class WeightPath:
    """The models of all points of a penalty's grid; each is computed when asked for, none is kept.

    Attributes
    ----------
    grid : list of dict
        A point: the tau of each penalty, e.g. ``{"l1": 0.3, "l2": 2.0}``; a product of ascending grids, slowest
        first: l1, l2.
    n_features : (G,) int
        Features with any weight that is not zero.
    n_features_per_class : (G, R) int
        The same for each row of coef_.
    """

    def __init__(self, problem: _Problem, penalty: Penalty | None):
        self._problem, self.penalty = problem, penalty
        taus = {part.kind: self._taus(part) for part in (penalty.parts if penalty else ())}
        kinds = [kind for kind in KINDS if kind in taus]
        self.grid = [dict(zip(kinds, map(float, point), strict=True)) for point in product(*(taus[k] for k in kinds))]
        self._totals: dict[int, np.ndarray] = {}

    def _taus(self, part: Any) -> np.ndarray:
        return part.tau if part.tau is not None else taus_from_data(self._problem, part)

    def __len__(self) -> int:
        return len(self.grid)

    def __getitem__(self, i: int) -> LinearModel:
        i = self._number(i)
        problem = self._problem
        weights = np.empty((problem.n_features, problem.n_rows))
        intercept = problem.intercepts.copy()
        for columns, block, shift in self._blocks(i):
            weights[columns] = block.T
            intercept += shift
        stats = problem.stats
        binarize = stats.options.binarize if problem.family.moment == "above" else None
        return LinearModel(stats.classes, weights, intercept, problem.scheme, stats.options, binarize, problem.scale)

    def weights(self, i: int, columns: slice = slice(None)) -> np.ndarray:
        """Weights (R, columns) of point i, computed for these features alone."""
        i = self._number(i)
        return self._equations(i, columns).weights(self._pull(i))[0]

    @cached_property
    def n_features_per_class(self) -> np.ndarray:
        return self._counts[0]

    @cached_property
    def n_features(self) -> np.ndarray:
        return self._counts[1]

    @cached_property
    def _counts(self) -> tuple[np.ndarray, np.ndarray]:
        problem = self._problem
        rows, union = np.zeros((len(self), problem.n_rows), np.int64), np.zeros(len(self), np.int64)
        for columns in problem.blocks:
            shared = None if problem.family.coupled else problem.equations(columns)
            for i in range(len(self)):
                active = (shared or self._equations(i, columns)).active(self._pull(i))
                rows[i] += np.count_nonzero(active, axis=1)
                union[i] += np.count_nonzero(active.any(axis=0))
        return rows, union

    def _number(self, i: int) -> int:
        i = index(i)
        if not -len(self) <= i < len(self):
            raise IndexError(f"the path has {len(self)} points; {i} is not one of them")
        return i % len(self)

    def _pull(self, i: int) -> Pull:
        return pull_at(self.penalty, self.grid[i])

    def _blocks(self, i: int) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        pull = self._pull(i)
        for columns in self._problem.blocks:
            yield columns, *self._equations(i, columns).weights(pull)

    def _equations(self, i: int, columns: slice) -> Equations:
        if not self._problem.family.coupled:
            return self._problem.equations(columns)
        if i not in self._totals:
            self._totals[i] = _coupled_totals(self._problem, self._pull(i))
        return self._problem.equations(columns, self._totals[i])


def taus_from_data(problem: _Problem, part: L1) -> np.ndarray:
    """The L1 taus that leave k features, k geometric from all to 1.

    A coupled family's features come back along the path, so there k is right about, not exactly.
    """
    scored = part.scale == "score"
    breaks = np.sort(problem.breakpoints(scored))[::-1]
    n_alive = max(int(np.count_nonzero(breaks > 0)), 1)
    every = np.arange(min(part.n_taus, n_alive))
    wanted = np.geomspace(1, n_alive, len(every)).round().astype(int)
    wanted = np.maximum.accumulate(wanted - every) + every  # rounding would give small numbers twice
    taus = np.where(wanted < n_alive, breaks[wanted % len(breaks)], 0.0)
    if problem.family.coupled:
        taus = _corrected(problem, scored, wanted, taus)
    return np.unique(taus)


def _corrected(problem: "_Problem", scored: bool, wanted: np.ndarray, taus: np.ndarray) -> np.ndarray:
    """Taus that leave about the wanted numbers of features, read off the line through those that `taus` leave."""
    left = [np.count_nonzero(_any_active(problem, Pull(tau, scored))) for tau in taus]
    rising = np.maximum.accumulate(np.maximum(left, 0.5))  # no feature counts as half a one
    corrected = np.exp(np.interp(np.log(wanted), np.log(rising), np.log(np.maximum(taus, 1e-300))))
    return np.where(taus > 0, corrected, 0.0)


def _any_active(problem: "_Problem", pull: Pull) -> np.ndarray:
    """Features with a weight that is not zero, for a coupled family, (n_features,)."""
    totals = _coupled_totals(problem, pull)
    parts = [problem.equations(columns, totals).active(pull).any(axis=0) for columns in problem.blocks]
    return np.concatenate(parts)


# ---- coupled families: the sum T of all pulls of a row ---------------------------------------------------------------


def _coupled_totals(problem: _Problem, pull: Pull) -> np.ndarray:
    """T of each row of weights, (R, 1); math: the probabilities of a class must sum to one."""
    totals = np.zeros((problem.n_rows, 1))
    if pull.l1 == pull.l2 == 0.0:
        return totals
    for r in range(problem.n_rows):
        row = problem.sides(slice(None), slice(r, r + 1))
        if row.alive.all():
            totals[r] = _total(row, problem, pull)
    return totals


def _total(row: Sides, problem: _Problem, pull: Pull) -> float:
    phi = problem.phi(slice(None))
    at_rest = Equations.of(row, problem.family, phi, None)
    if pull.l2 == 0.0:
        return total_pull(at_rest.t_star[0], at_rest.pooled[0], pull.thresholds(at_rest.variance)[0])

    def excess(total: float) -> float:
        moved = Equations.of(row, problem.family, phi, np.array([[total]]))
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

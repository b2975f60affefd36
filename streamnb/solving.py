"""From statistics to weights, equation (6.2) of Shishkova 2016, for every point of the penalty's grid.

The path is lazy: nothing of the size grid x classes x features is ever held.
"""

import numbers
from collections.abc import Iterator
from dataclasses import dataclass, replace
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
    penalty : None, L1, L2, TopK, Separable or a sum of them
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

    def kept(self, pull: Pull) -> "_Kept | None":
        """Which features TopK keeps."""
        if pull.top_k is None:
            return None
        cut, last = np.empty((self.n_rows, 1)), np.empty((self.n_rows, 1), np.intp)
        for r in range(self.n_rows):
            sides = self.sides(slice(None), slice(r, r + 1))
            merit = Equations.of(sides, self.family, self._phi, None).merit(pull.by)[0]
            cut[r] = np.partition(merit, -pull.top_k)[-pull.top_k]
            ties = pull.top_k - np.count_nonzero(merit > cut[r])
            last[r] = np.flatnonzero(merit == cut[r])[ties - 1]
        return _Kept(pull.by, cut, last)

    def sides(self, columns: slice, rows: slice = slice(None)) -> Sides:
        """Both sides of some rows of weights, for some features."""
        total = self._total[columns]
        prior = self.family.prior(total / self._n_all, self._smoothing, self.n_features)
        data = ClassSums(lambda classes: self._sums(columns, classes), total, self._counts, self.seen)
        return self.scheme.sides(data, prior, rows)

    def equations(self, columns: slice, total: np.ndarray | None = None) -> "Equations":
        """(6.2) for some features; `total` (R, 1) is the sum of all pulls, which a coupled family needs."""
        return Equations.of(self.sides(columns), self.family, self.phi(columns), total)

    def breakpoints(self, scored: bool, row: int | None = None) -> np.ndarray:
        """For each feature the L1 tau at which its last weight (or that of one row) becomes zero, (n_features,)."""
        out = np.empty(self.n_features)
        for columns in self.blocks:
            breaks = self.equations(columns).breakpoints(scored)
            out[columns] = breaks.max(axis=0) if row is None else breaks[row]
        return out


@dataclass(frozen=True, slots=True, eq=False)
class _Kept:
    """The k best features of each row of weights: the merit of the worst kept, and the last of its ties, (R, 1)."""

    by: str
    cut: np.ndarray
    last: np.ndarray

    def mark(self, equations: Equations, columns: slice, rows: slice = slice(None)) -> Equations:
        """Leave out the features that are not kept; `equations` are those without any pull."""
        merit, cut = equations.merit(self.by), self.cut[rows]
        first_ties = np.arange(columns.start or 0, (columns.start or 0) + merit.shape[1]) <= self.last[rows]
        return replace(equations, kept=(merit > cut) | ((merit == cut) & first_ties))


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
        first: l1, l2, top_k, separable.
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
        for k in taus.get("top_k", ()):
            if k > problem.n_features:
                raise ValueError(f"TopK(k={int(k)}) keeps more features than the {problem.n_features} there are")
        self._kept: dict[int, _Kept | None] = {}
        self._totals: dict[int, np.ndarray] = {}

    def _taus(self, part: Any) -> np.ndarray:
        return part.tau if part.tau is not None else taus_from_data(self._problem, part)

    def __len__(self) -> int:
        return len(self.grid)

    def __repr__(self) -> str:
        problem = self._problem
        sizes = f"{problem.n_rows:,} x {problem.n_features:,} weights, {problem.scheme.name}"
        return f"<WeightPath: {len(self):,} models of {problem.family!r} under {self.penalty!r}; {sizes}>"

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

    def breakpoints(self, scale: str | None = None) -> np.ndarray:
        """The L1 tau at which each feature loses its last weight, abs(t*) or with scale="score" abs(z), (n_features,).

        For multinomial those at the start of the path: its features are coupled and may come back.
        """
        return self._problem.breakpoints(_checks.one_of("scale", scale, [None, "score"]) == "score")

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
            at_rest = problem.equations(columns)
            for i in range(len(self)):
                active = self._equations(i, columns, at_rest).active(self._pull(i))
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

    def _equations(self, i: int, columns: slice, at_rest: Equations | None = None) -> Equations:
        """(6.2) at point i; `at_rest` is the same without any pull, where it is at hand."""
        problem, pull = self._problem, self._pull(i)
        at_rest = at_rest or problem.equations(columns)
        if i not in self._kept:
            self._kept[i] = problem.kept(pull)
        kept = self._kept[i]
        marked = at_rest if kept is None else kept.mark(at_rest, columns)
        if not problem.family.coupled or pull.none:
            return marked
        if i not in self._totals:
            self._totals[i] = _coupled_totals(problem, pull, kept)
        return replace(problem.equations(columns, self._totals[i]), kept=marked.kept)


def tau_for(
    stats: ClassStats,
    family: Any = "poisson",
    *,
    n_features: int,
    class_: Any = None,
    scale: str | None = None,
    scheme: str = "joint",
    reference: Any = None,
    smoothing: float = 1.0,
    idf: bool = False,
) -> float:
    """The smallest L1 tau that leaves at most `n_features` features; reads no data.

    Parameters
    ----------
    stats, family, scheme, reference, smoothing, idf
        As for `solve`.
    n_features : int
        How many features may have any weight that is not zero; 0 for none.
    class_ : label, optional
        Count the row of this class alone (joint and ovr).
    scale : {None, "score"}
        That of the L1 penalty.

    Returns
    -------
    float
        A look-up among the breakpoints abs(t*) of (6.2), Shishkova 2016. Multinomial features are coupled: there it
        is found by bisection over solutions, to the last digits.

    Warns
    -----
    StreamnbWarning
        Features that leave together prevent exactly that number.
    """
    if not isinstance(n_features, numbers.Integral) or n_features < 0:
        raise ValueError(f"n_features={n_features!r} should be a whole number of at least 0")
    _checks.one_of("scale", scale, [None, "score"])
    checked = as_scheme(scheme, stats.classes, reference)
    problem = _Problem(stats, as_family(family), checked, smoothing, None, idf)
    row = None if class_ is None else _row_of_class(problem, class_)
    breaks = np.append(np.sort(problem.breakpoints(scale == "score", row))[::-1], 0.0)
    if problem.family.coupled:
        tau, left = _bisected(problem, scale == "score", row, n_features, 2.0 * breaks[0])
    else:
        tau = float(breaks[min(n_features, len(breaks) - 1)])
        left = int(np.count_nonzero(breaks > tau))
    if left < min(n_features, np.count_nonzero(breaks > 0)):
        _checks.warn(f"n_features={n_features}: features leave together, tau={tau:g} keeps {left}")
    return tau


def _row_of_class(problem: _Problem, label: Any) -> int:
    at = np.flatnonzero([label == c for c in problem.stats.classes])
    if problem.n_rows != len(problem.stats.classes) or at.size == 0:
        raise ValueError(
            f"class_={label!r} has no row of weights of its own; it should be one of {problem.stats.classes.tolist()}, "
            "more than two, under scheme='joint' or 'ovr'"
        )
    return int(at[0])


def _bisected(problem: _Problem, scored: bool, row: int | None, wanted: int, high: float) -> tuple[float, int]:
    def left(tau: float) -> int:
        return int(np.count_nonzero(_any_active(problem, Pull(tau, scored), row)))

    low = 0.0
    if left(low) <= wanted:
        return low, left(low)
    while high - low > 1e-15 * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if left(middle) <= wanted else (middle, high)
        if middle in (0.0, low + high - middle):
            break
    return high, left(high)


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
    if problem.family.coupled and taus.any():
        taus = _corrected(problem, scored, wanted, taus)
    return np.unique(taus)


def _corrected(problem: "_Problem", scored: bool, wanted: np.ndarray, taus: np.ndarray) -> np.ndarray:
    """Taus that leave about the wanted numbers of features, read off the line through what some taus leave."""

    def left(tau: float) -> int:
        return int(np.count_nonzero(_any_active(problem, Pull(tau, scored))))

    first = 0.05 * taus[taus > 0].min(initial=taus.max())
    line = [(tau, left(tau)) for tau in np.geomspace(first, taus.max(), 2 * len(taus))]
    line = [point for point in line if point[1] > 0]
    if not line:
        return taus
    low, high = line[-1][0], taus.max()
    for _ in range(8):  # the features go faster and faster before the last one
        middle = np.sqrt(low * high)
        n = left(middle)
        line += [(middle, n)] if n else []
        low, high = (middle, high) if n else (low, middle)
    tried, counts = np.array(line).T
    rising = np.maximum.accumulate(counts[::-1])
    corrected = np.exp(np.interp(np.log(wanted), np.log(rising), np.log(tried[::-1])))
    return np.where(taus > 0, corrected, 0.0)


def _any_active(problem: "_Problem", pull: Pull, row: int | None = None) -> np.ndarray:
    """Features with a weight that is not zero (in one row), for a coupled family, (n_features,)."""
    totals = _coupled_totals(problem, pull)
    active = (problem.equations(columns, totals).active(pull) for columns in problem.blocks)
    return np.concatenate([part.any(axis=0) if row is None else part[row] for part in active])


# ---- coupled families: the sum T of all pulls of a row ---------------------------------------------------------------


def _coupled_totals(problem: _Problem, pull: Pull, kept: _Kept | None = None) -> np.ndarray:
    """T of each row of weights, (R, 1); math: the probabilities of a class must sum to one."""
    totals = np.zeros((problem.n_rows, 1))
    if pull.none:
        return totals
    for r in range(problem.n_rows):
        rows = slice(r, r + 1)
        sides = problem.sides(slice(None), rows)
        if sides.alive.all():
            at_rest = Equations.of(sides, problem.family, problem.phi(slice(None)), None)
            at_rest = at_rest if kept is None else kept.mark(at_rest, slice(None), rows)
            totals[r] = _total(sides, at_rest, pull)
    return totals


def _total(row: Sides, at_rest: Equations, pull: Pull) -> float:
    if not pull.smooth:
        free = np.zeros(at_rest.t_star.shape, bool) if at_rest.kept is None else ~at_rest.kept
        return total_pull(at_rest.t_star[0], at_rest.pooled[0], pull.thresholds(at_rest.variance)[0], free[0])

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

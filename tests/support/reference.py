"""The mathematics of the package once more: slow, obvious, one scalar at a time, nothing shared with it.

Sums are taken row by row, plain weights come from the definitions, and penalised weights from maximising
log density + penalty over the natural parameters numerically. Only `pull_to_weight` knows the stationarity
equation; it serves the tests that ask how exactly that equation is solved.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit
from threadpoolctl import threadpool_limits

from tests.support.sums_by_rows import class_sums, transformed

# ------------------------------------------------------------------------------------------------ families


@dataclass(frozen=True)
class Family:
    """c(theta), its first two derivatives, and the inverse of the first."""

    c: Callable
    mean: Callable
    slope: Callable
    link: Callable


def log(v):
    return math.log(v) if v > 0 else -math.inf


FAMILIES = {
    "gaussian": Family(lambda a: a * a / 2, lambda a: a, lambda a: 1.0, lambda m: m),
    "poisson": Family(math.exp, math.exp, math.exp, log),
    "bernoulli": Family(
        lambda a: float(np.logaddexp(0.0, a)),
        lambda a: float(expit(a)),
        lambda a: float(expit(a) * expit(-a)),
        lambda m: log(m) - log(1 - m),
    ),
}


# ------------------------------------------------------------------------------------------------ problems


@dataclass
class Problem:
    """Rows with labels, and what is to be made of them."""

    rows: list
    y: list
    family: str
    weight: list | None = None
    classes: list | None = None
    smoothing: float = 1.0
    priors: object = None
    transform: str | None = None
    normalize: str | None = None
    binarize: float = 0.0
    var_smoothing: float = 1e-9
    sums: dict = field(init=False)

    def __post_init__(self):
        self.rows = np.asarray(self.rows, dtype=float).tolist()
        self.y = list(self.y)
        self.weight = [1.0] * len(self.y) if self.weight is None else [float(v) for v in self.weight]
        self.classes = sorted(set(self.y)) if self.classes is None else list(self.classes)
        self.sums = class_sums(
            self.rows,
            self.y,
            self.classes,
            self.weight,
            transform=self.transform,
            normalize=self.normalize,
            binarize=self.binarize,
        )

    @property
    def n(self):
        return len(self.rows[0])

    @property
    def totals(self):
        """Sums of the sufficient statistic, (K, n)."""
        return self.sums["above" if self.family == "bernoulli" else "sum"]

    @property
    def phi(self):
        """Dispersions (n,): 1, or the pooled within-class variance plus a share of the largest variance."""
        if self.family != "gaussian":
            return np.ones(self.n)
        rows = [transformed(row, self.transform, self.normalize) for row in self.rows]
        size = math.fsum(self.weight)
        everybody = self.sums["sum"].sum(axis=0) / size
        present = np.where(self.sums["weight"] > 0, self.sums["weight"], 1.0)
        centre = {label: self.sums["sum"][k] / present[k] for k, label in enumerate(self.classes)}

        def spread(j, centre_of):
            cells = zip(self.weight, rows, self.y, strict=True)
            return math.fsum(w * (row[j] - centre_of(label)) ** 2 for w, row, label in cells) / size

        within = [spread(j, lambda label, j=j: centre[label][j]) for j in range(self.n)]
        overall = [spread(j, lambda label, j=j: everybody[j]) for j in range(self.n)]
        return np.array(within) + self.var_smoothing * max(overall)

    def prior(self, k):
        """Probability of the class with number k."""
        if self.priors is None:
            return self.sums["weight"][k] / self.sums["weight"].sum()
        return 1 / len(self.classes) if isinstance(self.priors, str) else self.priors[k]


@dataclass
class Side:
    """Smoothed sums (n,) and smoothed weight of a group of rows."""

    total: np.ndarray
    size: float

    @property
    def mean(self):
        return self.total / self.size

    @property
    def frequency(self):
        return self.total / self.total.sum()


def smoothed(problem, members):
    """The classes with the given numbers taken together, then smoothed once."""
    total = problem.totals[members].sum(axis=0)
    size = problem.sums["weight"][members].sum()
    s = problem.smoothing
    if problem.family == "gaussian":
        return Side(total, size)
    if problem.family == "bernoulli":
        return Side(total + s, size + 2 * s)
    if problem.family == "multinomial":
        return Side(total + s, size)
    overall = problem.totals.sum(axis=0) / problem.sums["weight"].sum()
    return Side(total + s * overall, size + s)


@dataclass
class Row:
    """One row of weights: a side against another, or (`held`) against a fixed pooled model."""

    problem: Problem
    plus: Side
    minus: Side
    held: bool
    log_odds: float


def weight_rows(problem, scheme):
    """The rows of coef_, by the scheme; two classes are one row in every scheme."""
    numbers = range(len(problem.classes))
    if len(problem.classes) == 2:
        odds = math.log(problem.prior(1) / problem.prior(0))
        return [Row(problem, smoothed(problem, [1]), smoothed(problem, [0]), False, odds)]
    if scheme == "ovr":
        rest = {u: [k for k in numbers if k != u] for u in numbers}
        odds = {u: math.log(problem.prior(u) / sum(problem.prior(k) for k in rest[u])) for u in numbers}
        return [Row(problem, smoothed(problem, [u]), smoothed(problem, rest[u]), False, odds[u]) for u in numbers]
    sides = [smoothed(problem, [u]) for u in numbers]
    pooled = Side(sum(side.total for side in sides), sum(side.size for side in sides))
    return [Row(problem, side, pooled, True, math.log(problem.prior(u))) for u, side in enumerate(sides)]


# ------------------------------------------------------------------------------------------- plain weights


def plain(problem, scheme):
    """Weights (rows, n) and intercepts (rows,) of naive Bayes without a penalty."""
    solved = [plain_row(row) for row in weight_rows(problem, scheme)]
    return np.array([w for w, _ in solved]), np.array([b for _, b in solved])


def plain_row(row):
    if row.problem.family == "multinomial":
        pairs = zip(row.plus.frequency, row.minus.frequency, strict=True)
        return np.array([math.log(p) - math.log(q) for p, q in pairs]), row.log_odds
    link = FAMILIES[row.problem.family].link
    pairs = zip(row.plus.mean, row.minus.mean, strict=True)
    return assemble(row, [(link(m), link(q)) if m != q else (0.0, 0.0) for m, q in pairs])


def assemble(row, parameters):
    """Weights and intercept of a row from its pairs of natural parameters."""
    c = FAMILIES[row.problem.family].c
    phi = row.problem.phi
    w = [(plus - minus) / phi[j] if plus != minus else 0.0 for j, (plus, minus) in enumerate(parameters)]
    shift = [(c(minus) - c(plus)) / phi[j] if w[j] else 0.0 for j, (plus, minus) in enumerate(parameters)]
    return np.array(w), math.fsum(shift) + row.log_odds


# ------------------------------------------------------------------------------- what a penalty looks like


def score_variance(row):
    """Null variance (n,) of the score statistic `zero_pull`."""
    plus, minus = row.plus, row.minus
    if row.problem.family == "multinomial":
        everybody = minus.total if row.held else plus.total + minus.total
        q = everybody / everybody.sum()
        share = plus.total.sum() / everybody.sum()
        return plus.total.sum() * q * (1 - q) * (1 - share)
    size = minus.size if row.held else plus.size + minus.size
    pooled = minus.mean if row.held else (plus.total + minus.total) / size
    family = FAMILIES[row.problem.family]
    slope = [family.slope(family.link(m)) if math.isfinite(family.link(m)) else 0.0 for m in pooled]
    return row.problem.phi * np.array(slope) * plus.size * (size - plus.size) / size


def thresholds(row, l1, scale):
    """The L1 penalty of each feature."""
    return l1 * np.sqrt(score_variance(row)) if scale == "score" else np.full(row.problem.n, float(l1))


def zero_pull(row):
    """t* (n,): the pull that brings a feature to zero; every family but multinomial."""
    plus, minus = row.plus, row.minus
    if row.held:
        return plus.total - plus.size * minus.mean
    return (plus.total * minus.size - minus.total * plus.size) / (plus.size + minus.size)


def pull_to_weight(row, j, t):
    """W_j(t) of the stationarity equation."""
    link = FAMILIES[row.problem.family].link
    plus = link((row.plus.total[j] - t) / row.plus.size)
    minus = link(row.minus.mean[j]) if row.held else link((row.minus.total[j] + t) / row.minus.size)
    return (plus - minus) / row.problem.phi[j]


# --------------------------------------------------------------------- brute force: every family but multinomial


def maximise(value, slope, start):
    """Maximise a concave function of a vector whose last entry may have a kink at 0: each sign in its turn.

    `value(v, sign)` and `slope(v, sign)` are smooth where the last entry has that sign.
    """
    found = []
    for sign in (1, -1):
        bounds = [(-60, 60)] * (len(start) - 1) + [(0, 60) if sign > 0 else (-60, 0)]
        best = minimize(
            lambda v, sign=sign: -value(v, sign),
            start,
            jac=lambda v, sign=sign: -slope(v, sign),
            method="L-BFGS-B",
            bounds=bounds,
            options={"ftol": 0.0, "gtol": 1e-12, "maxiter": 1000},
        )
        v = polished(lambda v, sign=sign: slope(v, sign), best.x)
        found.append((value(v, sign), v))
    return max(found, key=lambda pair: pair[0])[1]


def polished(slope, v):
    """A few Newton steps with a numerical Hessian; a last entry at its bound 0 stays there."""
    free = list(range(len(v) if v[-1] else len(v) - 1))
    for _ in range(4 if free else 0):
        h = 1e-6
        columns = [(slope(v + h * unit) - slope(v - h * unit))[free] / (2 * h) for unit in np.eye(len(v))[free]]
        moved = v.copy()
        moved[free] -= np.linalg.solve(np.array(columns).T, slope(v)[free])
        if moved[-1] * v[-1] < 0 or np.linalg.norm(slope(moved)[free]) >= np.linalg.norm(slope(v)[free]):
            break
        v = moved
    return v


def best_pair(row, j, l1, l2):
    """Natural parameters of both sides that maximise log density + penalty, for one feature.

    The objective is written times phi, in standard units of theta, for the sake of the optimiser alone.
    """
    family, phi = FAMILIES[row.problem.family], row.problem.phi[j]
    unit = math.sqrt(phi)
    sides = [(row.plus.total[j], row.plus.size)] + ([] if row.held else [(row.minus.total[j], row.minus.size)])
    fixed = family.link(row.minus.mean[j])

    def parameters(v):
        base = fixed if row.held else unit * v[0]
        return [base + unit * v[-1]] + ([] if row.held else [base])

    def value(v, sign):
        w = unit * v[-1] / phi
        likelihood = sum(s * a - n * family.c(a) for (s, n), a in zip(sides, parameters(v), strict=True))
        return (likelihood / phi - l1 * sign * w - l2 * w * w / 2) * (phi / unit)

    def slope(v, sign):
        w = unit * v[-1] / phi
        pulls = [(s - n * family.mean(a)) for (s, n), a in zip(sides, parameters(v), strict=True)]
        last = pulls[0] - l1 * sign - l2 * w
        return np.array([last] if row.held else [sum(pulls), last])

    start = np.zeros(1 if row.held else 2)
    if not row.held:
        start[0] = family.link(sum(s for s, _ in sides) / sum(n for _, n in sides)) / unit
    best = parameters(maximise(value, slope, start))
    return best[0], fixed if row.held else best[1]


# ----------------------------------------------------------------------------------- brute force: multinomial


def best_simplex(row, l1, l2):
    """Weights that maximise sum S theta + penalty over simplices; `l1` holds a number per feature.

    Split variables w = u - v make the L1 part smooth. sum exp(theta) = 1 is relaxed to <= 1, which makes the
    problem convex; the maximum lies on the boundary all the same.
    """
    held, seen = row.held, row.plus.total + row.minus.total > 0
    n, l1 = seen.sum(), l1[seen]
    size = row.plus.total.sum() + (0 if held else row.minus.total.sum())
    plus, minus = row.plus.total[seen] / size, row.minus.total[seen] / size
    fixed = np.log(minus / minus.sum()) if held else None

    def parts(x):
        w, base = x[:n] - x[n : 2 * n], fixed if held else x[2 * n :]
        return w, base, base + w

    def loss(x):
        w, base, theta = parts(x)
        penalty = (l1 * (x[:n] + x[n : 2 * n])).sum() + l2 * (w * w).sum() / 2
        return penalty / size - plus @ theta - (0 if held else minus @ base)

    def gradient(x):
        w = parts(x)[0]
        side = l2 * w / size - plus
        split = [l1 / size + side, l1 / size - side]
        return np.concatenate(split if held else [*split, -plus - minus])

    def room(x):
        _, base, theta = parts(x)
        return np.array([1 - np.exp(theta).sum()] + ([] if held else [1 - np.exp(base).sum()]))

    def room_slope(x):
        _, base, theta = parts(x)
        e, zero = np.exp(theta), np.zeros(n)
        first = np.concatenate([-e, e] if held else [-e, e, -e])
        return np.array([first] if held else [first, np.concatenate([zero, zero, -np.exp(base)])])

    start = np.concatenate([np.zeros(2 * n)] + ([] if held else [np.log(plus + minus)]))
    best = minimize(
        loss,
        start,
        jac=gradient,
        method="SLSQP",
        bounds=[(0, 60)] * (2 * n) + [(-60, 0)] * (len(start) - 2 * n),
        constraints={"type": "ineq", "fun": room, "jac": room_slope},
        options={"ftol": 1e-16, "maxiter": 2000},
    )
    w = np.zeros(row.problem.n)
    w[seen] = parts(best.x)[0]
    return w


# ------------------------------------------------------------------------------------------ all of a problem


def penalised(problem, scheme, *, l1=0.0, l2=0.0, scale=None):
    """Weights (rows, n) and intercepts (rows,) by brute force."""
    with threadpool_limits(1):  # the problems are tiny: on a busy machine BLAS threads only wait for each other
        solved = [penalised_row(row, l1, l2, scale) for row in weight_rows(problem, scheme)]
    return np.array([w for w, _ in solved]), np.array([b for _, b in solved])


def penalised_row(row, l1, l2, scale):
    taus = thresholds(row, l1, scale)
    if row.problem.family == "multinomial":
        return best_simplex(row, taus, l2), row.log_odds
    seen = (row.plus.total + row.minus.total) != 0
    always = row.problem.family == "gaussian"
    pairs = [best_pair(row, j, taus[j], l2) if seen[j] or always else (0.0, 0.0) for j in range(row.problem.n)]
    return assemble(row, pairs)

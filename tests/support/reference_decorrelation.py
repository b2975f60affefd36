"""Decorrelation once more, in natural parameters: local maxima of log density + penalty, followed from tau = 0."""

import itertools

import numpy as np
from scipy.special import expit

import streamnb as snb

# mean of x and its slope as functions of theta, and theta of the mean
NATURAL = {
    "gaussian": (lambda a: a, np.ones_like, lambda m: m),
    "poisson": (np.exp, np.exp, np.log),
    "bernoulli": (expit, lambda a: expit(a) * expit(-a), lambda m: np.log(m / (1 - m))),
    "geometric": (lambda a: 1 / np.expm1(-a), lambda a: 0.25 / np.sinh(a / 2) ** 2, lambda m: np.log(m / (1 + m))),
    "gamma": (lambda a: -1 / a, lambda a: 1 / a**2, lambda m: -1 / m),
}
FAMILIES = list(NATURAL)
SCHEMES = ["joint", "ovr", "reference"]


def rows(family, seed, n_classes=3, n=4, size=120):
    """Unbalanced classes; the first feature is constant."""
    rng = np.random.default_rng([seed, FAMILIES.index(family)])
    share = 0.7 ** np.arange(n_classes)
    y = np.concatenate([np.repeat(np.arange(n_classes), 4), rng.choice(n_classes, size, p=share / share.sum())])
    rate = rng.uniform(0.3, 3.0, (n_classes, n))[y]
    draw = {
        "gaussian": lambda: rng.normal(rate, 1.0),
        "gamma": lambda: rng.gamma(2.0, rate / 2),
        "geometric": lambda: rng.geometric(1 / (1 + rate)) - 1.0,
    }
    x = draw.get(family, lambda: rng.poisson(rate / (3 if family == "bernoulli" else 1)).astype(float))()
    x[:, 0] = 1.0
    return x, y


def solved(x, y, family, penalty, scheme="joint", **options):
    reference = y.min() if scheme == "reference" else None
    return snb.solve(snb.scan(x, y), family, penalty, scheme=scheme, reference=reference, **options)


def dispersion(x, y, family):
    means = np.array([x[y == k].mean(axis=0) for k in np.unique(y)])[np.searchsorted(np.unique(y), y)]
    if family == "gaussian":
        return ((x - means) ** 2).mean(axis=0) + 1e-9 * x.var(axis=0).max()
    return np.maximum(((x - means) ** 2 / means**2).mean(axis=0), 1e-12) if family == "gamma" else np.ones(x.shape[1])


def sides_of(x, y, family, scheme):
    """For each row of weights the sums (n,) and counts of both sides, the negative count None where it is held."""
    x = (x > 0).astype(float) if family == "bernoulli" else x
    pseudo, extra = {"gaussian": (0.0, 0.0), "bernoulli": (1.0, 2.0)}.get(family, (x.mean(axis=0), 1.0))
    groups = [y == k for k in np.unique(y)]

    def side(mask):
        return x[mask].sum(axis=0) + pseudo, mask.sum() + extra

    if scheme == "ovr":
        return [(*side(g), *side(~g)) for g in groups]
    if scheme == "reference":
        return [(*side(g), *side(groups[0])) for g in groups[1:]]
    everybody = [side(g) for g in groups]
    pooled = sum(s for s, _ in everybody) / sum(n for _, n in everybody)
    return [(*one, pooled, None) for one in everybody]


class Feature:
    """log density + penalty of one feature as a function of v: theta_- of each row, then w of each row."""

    def __init__(self, x, y, family, scheme, j, l1=0.0, l2=0.0):
        self.mean, self.slope, link = NATURAL[family]
        self.phi, self.l1, self.l2 = dispersion(x, y, family)[j], l1, l2
        sides = sides_of(x, y, family, scheme)
        self.held = sides[0][3] is None
        self.s = np.array([[plus[j], minus[j]] for plus, _, minus, _ in sides]).T
        self.n = np.array([[plus, 1.0 if self.held else minus] for _, plus, _, minus in sides], float).T
        base, plus = link(self.s[1] / self.n[1]), link(self.s[0] / self.n[0])
        self.start = np.concatenate([base, (plus - base) / self.phi])
        self.R = len(base)

    def derivatives(self, v, tau, sign):
        """Gradient (2R,) and Hessian (2R, 2R), times phi in the first half."""
        base, w = v[: self.R], v[self.R :]
        plus = base + self.phi * w
        push = self.s[0] - self.n[0] * self.mean(plus)
        a, b = self.n[0] * self.slope(plus), self.n[1] * self.slope(base)
        pull = self.l1 * sign + self.l2 * w + tau * (w.sum() - w)
        gradient = np.concatenate([(push + self.s[1] - self.n[1] * self.mean(base)) / self.phi, push - pull])
        coupling = tau * (np.ones((self.R, self.R)) - np.eye(self.R)) + self.l2 * np.eye(self.R)
        return gradient, np.block(
            [[-np.diag(a + b) / self.phi, -np.diag(a)], [-np.diag(a), -np.diag(self.phi * a) - coupling]]
        )

    def maximum(self, v, tau, sign):
        """The local maximum next to v where the weights have these signs (0: are zero), or None."""
        v = v.copy()
        v[self.R :][sign == 0] = 0.0
        free = np.concatenate([np.full(self.R, not self.held), sign != 0])
        if not free.any():
            return v
        for _ in range(40):
            gradient, hessian = self.derivatives(v, tau, sign)
            step = np.linalg.solve(hessian[np.ix_(free, free)], gradient[free])
            v[free] -= step / max(1.0, np.abs(step).max())
            if np.abs(v).max() > 50:
                return None
            if np.abs(step).max() < 1e-13 * max(1.0, np.abs(v).max()):
                break
        hessian = self.derivatives(v, tau, sign)[1][np.ix_(free, free)]
        small = np.abs(step).max() < 1e-9 * max(1.0, np.abs(v).max())
        return v if small and np.linalg.eigvalsh(hessian).max() < 0 else None

    def is_optimal(self, v, tau, sign):
        w, left = v[self.R :], self.derivatives(v, tau, np.zeros(self.R))[0][self.R :]
        return bool((w * sign >= 0).all() and (np.abs(left[sign == 0]) <= self.l1 + 1e-12).all())

    def signs(self, v):
        """Patterns of signs to try, those like the present ones first."""
        if self.l1 == 0.0:
            return [np.ones(self.R)]
        patterns = (np.array(p, float) for p in itertools.product((-1, 0, 1), repeat=self.R))
        return sorted(patterns, key=lambda p: np.abs(p - np.sign(v[self.R :])).sum())

    def next(self, v, tau):
        """The local maximum at tau that v at a slightly smaller tau leads to, or None."""
        for sign in self.signs(v):
            found = self.maximum(v, tau, sign)
            if found is None or (self.l1 > 0.0 and not self.is_optimal(found, tau, sign)):
                continue
            if tau == 0.0 or np.abs(found - v).max() < 0.3 * np.abs(v).max():  # another branch lies farther away
                return found
        return None

    def followed(self, taus, n_steps=30):
        """w at each tau, by small steps from 0; None where the branch ends before."""
        v, found = self.start, {}
        for tau in np.union1d(taus, np.linspace(0.0, max(taus), n_steps)):
            v = None if v is None else self.next(v, tau)
            found[tau] = None if v is None else v[self.R :]
        return [found[tau] for tau in taus]

    def end(self, high, n_steps=200):
        """The tau at which the branch ends, by bisection from the last small step."""
        v, low = self.start, 0.0
        for tau in np.linspace(0.0, high, n_steps):
            found = self.next(v, tau)
            if found is None:
                high = tau
                break
            v, low = found, tau
        else:
            return np.inf
        while high - low > 1e-11 * high:
            middle = 0.5 * (low + high)
            found = self.next(v, middle)
            v, low, high = (v, low, middle) if found is None else (found, middle, high)
        return low

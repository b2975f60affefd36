"""Weights of (6.2) once more, in fractions and decimals of a hundred digits: nothing is rounded on the way."""

from decimal import Decimal, localcontext
from fractions import Fraction

DIGITS = 120


def decimal(value):
    """A fraction as a decimal."""
    return Decimal(value.numerator) / Decimal(value.denominator)


def _logit(top):
    return lambda m: (m / (top - m)).ln()


LINKS = {
    "gaussian": lambda m: m,
    "poisson": Decimal.ln,
    "multinomial": Decimal.ln,
    "bernoulli": _logit(1),
    "binomial": _logit(4),
    "geometric": lambda m: (m / (1 + m)).ln(),
    "negative_binomial": lambda m: (m / (3 + m)).ln(),
    "gamma": lambda m: -1 / m,
    "inverse_gaussian": lambda m: -1 / (2 * m * m),
    "laplace": lambda m: -1 / m,
}


def class_sums(x, members, weight, statistic):
    """Sums (K, n) and weights (K,) of sets of rows, as fractions."""
    of_rows = [[Fraction(statistic(float(v))) for v in row] for row in x]
    weight = [Fraction(float(v)) for v in weight]
    sums = [[sum((weight[i] * of_rows[i][j] for i in rows), Fraction()) for j in range(len(x[0]))] for rows in members]
    return sums, [sum((weight[i] for i in rows), Fraction()) for rows in members]


def pseudo(family, sums, counts, smoothing, n):
    """Pseudo-sums (n,) and pseudo-count; `sums` and `counts` are those of all rows."""
    s = Fraction(smoothing)
    if family == "gaussian":
        return [Fraction()] * n, Fraction()
    if family in ("bernoulli", "multinomial"):
        return [s] * n, s * (2 if family == "bernoulli" else n)
    return [s * total / counts for total in sums], s


def sides(family, scheme, sums, counts, smoothing, every=None):
    """(S+, N+, S-, N-, held) of each row of weights; `every` are the sums and the count of all rows of an indicator."""
    classes, n = range(len(sums)), len(sums[0])
    total, count = every or (add(sums), sum(counts))
    weight = count
    if family == "multinomial":
        counts, count = [sum(of_class) for of_class in sums], sum(total)
    more, n_more = pseudo(family, total, weight, smoothing, n)

    def smoothed(of_side, n_side):
        return add([of_side, more]), n_side + n_more

    def less(k):
        return [a - b for a, b in zip(total, sums[k], strict=True)], count - counts[k]

    own = [smoothed(sums[k], counts[k]) for k in classes]
    if every is None and len(sums) == 2:
        return [(*own[1], *own[0], False)]
    if every is None and scheme == "joint":
        pooled = add([of_class for of_class, _ in own]), sum(n_class for _, n_class in own)
        return [(*own[k], *pooled, True) for k in classes]
    if scheme == "ovo":
        return [(*own[v], *own[u], False) for u in classes for v in classes if u < v]
    if scheme == "reference":  # the first class
        return [(*own[k], *own[0], False) for k in classes if k]
    return [(*own[k], *smoothed(*less(k)), False) for k in classes]


def add(rows):
    return [sum(column) for column in zip(*rows, strict=True)]


def pulls(row):
    """t* (n,) of a row of weights."""
    plus, n_plus, minus, n_minus, held = row
    size = n_minus if held else n_plus + n_minus
    other = n_minus - n_plus if held else n_minus
    theirs = [b - a for a, b in zip(plus, minus, strict=True)] if held else minus
    return [(a * other - b * n_plus) / size for a, b in zip(plus, theirs, strict=True)]


def weight(family, row, phi, j, t):
    """W_j(t); every argument is taken for what it is to the last bit."""
    plus, n_plus, minus, n_minus, held = row
    a, b = (plus[j] - t) / n_plus, (minus[j] + (0 if held else t)) / n_minus
    return (LINKS[family](decimal(a)) - LINKS[family](decimal(b))) / Decimal(float(phi[j]))


def weights(family, row, phi, tau=0.0):
    """Weights (n,) of a row under L1."""
    tau = Fraction(float(tau))
    with localcontext(prec=DIGITS):
        stops = [max(-tau, min(tau, t_star)) for t_star in pulls(row)]
        return [
            weight(family, row, phi, j, t) if abs(t_star) > tau else Decimal(0)
            for j, (t, t_star) in enumerate(zip(stops, pulls(row), strict=True))
        ]


def stops(family, row, phi, j, w, tau, digits):
    """True where w = W_j(tau w) between two numbers that differ from w by 10^-digits of it."""
    t_star = pulls(row)[j]

    def rise(w):
        t = Fraction(float(tau)) * Fraction(w)
        return w - (weight(family, row, phi, j, t) if abs(t) < abs(t_star) else 0)

    with localcontext(prec=400):
        w, part = Decimal(float(w)), Decimal(10) ** -digits
        return rise(w * (1 - part)) * rise(w * (1 + part)) < 0


def likelihoods_lost(row):
    """What a row of Poisson features loses in likelihood where both sides are given the pooled means, (n,)."""
    plus, n_plus, minus, n_minus, held = row
    found = []
    with localcontext(prec=DIGITS):
        for a, b in zip(plus, minus, strict=True):
            pooled = decimal(b / n_minus if held else (a + b) / (n_plus + n_minus))
            parts = [(a, n_plus)] + ([] if held else [(b, n_minus)])
            means = [(decimal(n), decimal(s / n)) for s, n in parts]
            found.append(sum(n * (m * (m / pooled).ln() - m + pooled) for n, m in means))
    return found


def error(found, right):
    """The largest error of weights (n,), relative to each; 1 where one is 0 and the other is not."""
    with localcontext(prec=DIGITS):
        pairs = [(Decimal(float(f)), r) for f, r in zip(found, right, strict=True)]
        return max(float(abs(f - r) / abs(r)) if r else float(f != 0) for f, r in pairs)

"""Weights of (6.2) once more, in fractions and decimals of a hundred digits: nothing is rounded on the way."""

from decimal import Decimal, localcontext
from fractions import Fraction

DIGITS = 120
NEARBY = [Decimal(10) ** -digits for digits in (12, 9, 6, 3)]  # of a weight, where a root is looked for


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


CUMULANTS = {  # c as a function of the mean
    "gaussian": lambda m: m * m / 2,
    "poisson": lambda m: m,
    "bernoulli": lambda m: -(1 - m).ln(),
    "binomial": lambda m: -4 * (1 - m / 4).ln(),
    "geometric": lambda m: (1 + m).ln(),
    "negative_binomial": lambda m: 3 * (1 + m / 3).ln(),
    "gamma": Decimal.ln,
    "inverse_gaussian": lambda m: -1 / m,
    "laplace": Decimal.ln,
    "multinomial": lambda m: Decimal(0),
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


def shift(family, row, phi, w, tau_1, tau_2):
    """What the features of a row add to its intercept, and the largest part; `w` are their weights to sixty digits."""
    plus, n_plus, minus, n_minus, held = row
    parts = [Decimal(0)]
    with localcontext(prec=DIGITS):
        for j, one in enumerate(w):
            if one:
                t = Fraction(float(tau_1)) * (1 if one > 0 else -1) + Fraction(float(tau_2)) * Fraction(one)
                a, b = (plus[j] - t) / n_plus, (minus[j] + (0 if held else t)) / n_minus
                change = CUMULANTS[family](decimal(b)) - CUMULANTS[family](decimal(a))
                parts.append(change / Decimal(float(phi[j])))
        return sum(parts), max(map(abs, parts))


def weights(family, row, phi, tau=0.0):
    """Weights (n,) of a row under L1."""
    tau = Fraction(float(tau))
    with localcontext(prec=DIGITS):
        stops = [max(-tau, min(tau, t_star)) for t_star in pulls(row)]
        return [
            weight(family, row, phi, j, t) if abs(t_star) > tau else Decimal(0)
            for j, (t, t_star) in enumerate(zip(stops, pulls(row), strict=True))
        ]


def stops(family, row, phi, j, w, tau, digits, tau_1=0.0, precision=DIGITS):
    """True where the weight under L1 and L2 lies between two numbers that differ from w by 10^-digits of it."""
    t_star, side = pulls(row)[j], 1 if w > 0 else -1
    if abs(t_star) <= Fraction(tau_1):
        return w == 0.0

    def rise(w):
        t = side * Fraction(tau_1) + Fraction(tau) * Fraction(w)
        return w - (weight(family, row, phi, j, t) if abs(t) < abs(t_star) else 0)

    with localcontext(prec=precision):
        w, part = Decimal(float(w)), Decimal(10) ** -digits
        return rise(w * (1 - part)) * rise(w * (1 + part)) < 0


def smooth_weights(family, row, phi, found, tau_1, tau_2):
    """Weights (n,) of a row under L1 and L2 together: those next to `found`, to sixty digits.

    Of multinomial features Newton's method goes for the sum of all pulls, too.
    """
    tau_1, tau_2 = Fraction(float(tau_1)), Fraction(float(tau_2))
    if family != "multinomial":
        near = zip(pulls(row), found, strict=True)
        return [_smooth_weight(family, row, phi, j, t, w, tau_1, tau_2) for j, (t, w) in enumerate(near)]
    with localcontext(prec=60):
        return _coupled_weights(row, found, decimal(tau_1), decimal(tau_2))


def _smooth_weight(family, row, phi, j, t_star, found, tau_1, tau_2):
    """By halving: W falls where the pull grows."""
    if abs(t_star) <= tau_1:
        return Decimal(0)
    side = 1 if t_star > 0 else -1
    low, high = Decimal(0), abs(Decimal(float(found)))

    def beyond(w):
        t = side * (tau_1 + tau_2 * Fraction(w))
        return abs(t) >= abs(t_star) or w >= side * weight(family, row, phi, j, t)

    with localcontext(prec=60):
        low = next((low for low in (high * (1 - part) for part in NEARBY) if not beyond(low)), Decimal(0))
        high = next((high for high in (high * (1 + part) for part in NEARBY) if beyond(high)), Decimal("1e30"))
        for _ in range(160):
            middle = (low + high) / 2
            low, high = (low, middle) if beyond(middle) else (middle, high)
        return side * low


def _coupled_weights(row, found, tau_1, tau_2):
    plus, n_plus, minus, n_minus, held = row
    plus, minus, n_plus, n_minus = map(decimal, plus), map(decimal, minus), decimal(n_plus), decimal(n_minus)
    plus, minus = list(plus), list(minus)
    share = [b / n_minus if held else (a + b) / (n_plus + n_minus) for a, b in zip(plus, minus, strict=True)]
    excess = [a - n_plus * q for a, q in zip(plus, share, strict=True)]
    w = [Decimal(float(one)) for one in found]
    on = [j for j, one in enumerate(w) if one]
    off = [j for j, one in enumerate(w) if not one]
    if not on:  # some total leaves all pulls within the threshold
        ends = [((-tau_1 - e) / q, (tau_1 - e) / q) for e, q in zip(excess, share, strict=True)]
        assert max(low for low, _ in ends) <= min(high for _, high in ends) + n_plus * Decimal("1e-12")
        return w
    pulled = 0 if held else 1
    start = {j: tau_1.copy_sign(w[j]) for j in on}
    free = 1 - sum(share[j] for j in off)

    def pull(j):
        return start[j] + tau_2 * w[j]

    total = (sum(map(pull, on)) + sum(excess[j] for j in off)) / free
    for _ in range(40):
        l_plus, l_minus = n_plus - total, n_minus + pulled * total
        rest, slope = {}, {}
        for j in on:
            a, b = plus[j] - pull(j), minus[j] + pulled * pull(j)
            rest[j] = w[j] - (a / l_plus).ln() + (b / l_minus).ln()
            slope[j] = 1 + tau_2 / a + pulled * tau_2 / b
        of_total = -1 / l_plus - pulled / l_minus
        gap = sum(map(pull, on)) + sum(excess[j] + total * share[j] for j in off) - total
        bend = free + tau_2 * sum(of_total / slope[j] for j in on)
        change = (gap - tau_2 * sum(rest[j] / slope[j] for j in on)) / bend
        for j in on:
            w[j] -= (rest[j] + of_total * change) / slope[j]
        total += change
        if max([abs(rest[j]) for j in on], default=0) < Decimal("1e-40"):
            break
    else:
        raise ArithmeticError("no weights next to these solve the equations")
    assert all(abs(excess[j] + total * share[j]) <= tau_1 * (1 + Decimal("1e-12")) for j in off)
    assert all(abs(excess[j] + total * share[j]) > tau_1 * (1 - Decimal("1e-12")) for j in on)
    return w


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

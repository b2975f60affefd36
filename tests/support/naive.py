"""Slow, obvious twins of the kernels; they import nothing from streamnb."""

from fractions import Fraction

import numpy as np


def moment(x, name, threshold):
    """The moment of one value, exact; `above` relative to an absent value."""
    x = Fraction(float(x))
    return {
        "sum": x,
        "sum_sq": x * x,
        "nonzero": Fraction(x != 0),
        "above": Fraction(int(x > threshold) - int(threshold < 0)),
    }[name]


def class_sums(x, codes, weight, n_classes, name, threshold):
    """Exact sums of a moment, as lists of fractions."""
    out = [[Fraction(0)] * x.shape[1] for _ in range(n_classes)]
    for row, k, w in zip(x, codes, weight):
        for j, value in enumerate(row):
            out[k][j] += Fraction(float(w)) * moment(value, name, threshold)
    return out


def rounded(sums):
    """Fractions as the nearest float64."""
    return np.array([[float(s) for s in row] for row in sums]).reshape(len(sums), -1)


def surplus_of(excess, share, threshold):
    """F(T) = T - sum clip(excess + T share, -threshold, threshold)."""
    return lambda total: total - sum(np.clip(e + total * q, -t, t) for e, q, t in zip(excess, share, threshold))

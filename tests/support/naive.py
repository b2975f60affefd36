"""Slow, obvious twins of the kernels; they import nothing from streamnb."""

from collections import Counter
from fractions import Fraction
from itertools import pairwise

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


def letters(R, T):
    """The letter from each heartbeat to the next, by signs of differences; ratios of whole numbers are exact."""
    names = {"+++": "A", "--+": "B", "+-+": "C", "-+-": "D", "++-": "E", "---": "F"}
    ratio = [Fraction(r) / Fraction(t) for r, t in zip(R, T)]
    signs = ["".join("+-"[b < a] for a, b in pairs) for pairs in zip(*map(pairwise, (R, T, ratio)))]
    return "".join(names[sign] for sign in signs)


def words(text, order, stride):
    return [text[i : i + order] for i in range(0, len(text) - order + 1, stride)]


def codegram(records, order, stride, length):
    """Counts of words of records (R, T): a dict for each window of so many letters, or each record."""
    rows = []
    for R, T in records:
        text = letters(R, T)
        size = length or len(text)
        windows = [text[i : i + size] for i in range(0, len(text) - size + 1, size)] if length else [text]
        rows += [Counter(words(window, order, stride)) for window in windows]
    return rows

"""Sums of the rows of each class once more: slow, obvious, row by row, nothing shared with the package."""

import math
from fractions import Fraction

import numpy as np


def transformed(row, transform=None, normalize=None):
    """One row after the elementwise transform and the row normalisation."""
    step = {None: float, "binary": lambda v: float(v != 0), "log1p": math.log1p, "sqrt": math.sqrt}[transform]
    row = [step(v) for v in row]
    length = {None: 1.0, "l1": math.fsum(abs(v) for v in row), "l2": math.sqrt(math.fsum(v * v for v in row))}[
        normalize
    ]
    return [v / length for v in row] if length else row


def class_sums(rows, y, classes, weight=None, *, transform=None, normalize=None, binarize=0.0):
    """Moments per class, each rounded once: a dict of `weight` (K,) and `sum`, `sum_sq`, `nonzero`, `above` (K, n)."""
    rows = [[Fraction(v) for v in transformed(row, transform, normalize)] for row in rows]
    weight = [Fraction(1)] * len(rows) if weight is None else [Fraction(float(v)) for v in weight]
    moments = {
        "sum": lambda v: v,
        "sum_sq": lambda v: v * v,
        "nonzero": lambda v: v != 0,
        "above": lambda v: v > binarize,
    }
    members = [[i for i, label in enumerate(y) if label == k] for k in classes]
    out = {"weight": np.array([float(sum(weight[i] for i in mine)) for mine in members])}
    for name, moment in moments.items():
        columns = range(len(rows[0]))
        out[name] = np.array(
            [[float(sum(weight[i] * moment(rows[i][j]) for i in mine)) for j in columns] for mine in members]
        )
    return out

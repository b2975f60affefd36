"""Rows with columns of five families, and what is asked of them."""

import numpy as np

import streamnb as snb

GAUSSIAN, POISSON, BERNOULLI, COUNTS, TRIALS = [0, 5], [3], [1, 8], [2, 4, 7], [6]
COLUMNS = {
    snb.Gaussian(): GAUSSIAN,
    snb.Poisson(): POISSON,
    snb.Bernoulli(): BERNOULLI,
    snb.Multinomial(): COUNTS,
    snb.Binomial(3): TRIALS,
}
MIXED = snb.Mixed(COLUMNS)
APART = {family: columns for family, columns in COLUMNS.items() if not family.coupled}
SCHEMES = [("joint", 2), ("joint", 4), ("ovr", 4), ("ovo", 4), ("reference", 4)]
PENALTIES = {
    "none": None,
    "l1": snb.L1(1.5),
    "score": snb.L1(1.1, scale="score"),
    "l2": snb.L2(0.7),
    "both": snb.L1(0.8) + snb.L2(0.4),
    "separable": snb.Separable(lambda w: -np.tanh(w), 0.6),
}


def rows(seed=0, n_rows=150, n_classes=4):
    """Columns of five kinds, in no order; the last class is small."""
    rng = np.random.default_rng(seed)
    y = rng.choice(n_classes, n_rows, p=np.array([4, 3, 2, 1][-n_classes:]) / sum([4, 3, 2, 1][-n_classes:]))
    y[:n_classes] = np.arange(n_classes)
    level = rng.uniform(0.3, 3.0, (n_classes, 9))[y]
    x = rng.poisson(level).astype(float)
    x[:, GAUSSIAN] = rng.normal(level[:, GAUSSIAN], 1.0) * (rng.random((n_rows, 2)) < 0.8)
    x[:, BERNOULLI] = rng.normal(level[:, BERNOULLI] - 1.5)
    x[:, TRIALS] = rng.binomial(3, level[:, TRIALS] / 3.5)
    return x, y


def options(scheme):
    return {"scheme": scheme, "reference": 1 if scheme == "reference" else None}

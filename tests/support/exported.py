"""Models that leave the package, of every kind that exports hold, with rows for them."""

from functools import cache

import numpy as np
import scipy.sparse as sp

import streamnb as snb

RNG = np.random.default_rng(0)
N = 90
LABELS = np.array(["a", "b", "c"])[np.arange(N) % 3]
X = RNG.poisson(1.5, (N, 5)).astype(np.float32) + 2 * (np.arange(5) == np.arange(N)[:, None] % 3).astype(np.float32)
SETS = np.column_stack([LABELS == "a", LABELS != "b"]).astype(int)
MIXED = snb.Mixed([("gaussian", [0, 1]), ("bernoulli", [2, 3, 4])])
DIVIDED = "idf", "steps", "softmax"  # by the norms of rows, which neither SQL nor plain Python has
MODELS = {
    "multinomial": (snb.LinearNB(), LABELS),
    "two": (snb.LinearNB("poisson"), (LABELS == "a").astype(int)),
    "ovr": (snb.LinearNB("bernoulli", scheme="ovr", binarize=1.0), LABELS),
    "reference": (snb.LinearNB(scheme="reference", reference="b"), LABELS),
    "laplace": (snb.LinearNB("laplace"), np.arange(N) % 3),
    "idf": (snb.LinearNB(idf=True, transform="log1p", normalize="l2"), LABELS),
    "steps": (snb.LinearNB(transform=("l1:100", "sqrt")), LABELS),
    "binary": (snb.LinearNB(transform="binary"), LABELS),
    "logs": (snb.LinearNB(snb.ChiSquared()), LABELS),
    "covariance": (snb.LinearNB(snb.Gaussian(covariance="pooled")), LABELS),
    "softmax": (snb.SoftmaxRegression(idf=True, normalize="l2"), LABELS),
    "margin": (snb.MarginClassifier(), LABELS),
    "labels": (snb.LinearNB("bernoulli"), SETS),
    "label reference": (snb.LinearNB("poisson", scheme="reference", reference=snb.UNLABELLED, overlap="keep"), SETS),
    "a label's reference": (snb.LinearNB("poisson", scheme="reference", reference=1, overlap="keep"), SETS),
    "few": (snb.LinearNB(penalty=snb.TopK(2)), LABELS),
    "mixed": (snb.LinearNB(MIXED), LABELS),
    "tree": (snb.TreeNB(snb.L1(0.5), binarize=1.0), LABELS),
    "tree of two": (snb.TreeNB(), (LABELS == "a").astype(int)),
    "tree of bins": (snb.TreeNB(transform=snb.Bins(3), max_features=4), LABELS),
    "additive": (snb.AdditiveClassifier(2, l2=1.0, pair_factor=1.0, resolutions=(3, 8), folds=3), LABELS),
    "bins": (snb.LinearNB("bernoulli", transform=snb.Bins(4)), LABELS),
}


@cache
def fitted(name):
    """A model and rows to predict, other than those that it learned from."""
    model, y = MODELS[name]
    rows = X + 1 if name == "logs" else X
    model.fit(sp.csr_array(rows) if name == "few" else rows, y)
    if name == "few":
        model.sparsify()
    return model, rows[::-1] * np.float32(1.5)

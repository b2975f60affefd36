"""Sums of products of features, and the models that follow from these: covariances, and trees of features."""

import numpy as np

import streamnb as snb
from benchmarks.peers.problems import labels


class Products:
    """A scan that keeps the products of features two by two, of all classes together or of each."""

    params = (["float32", "uint8"], [True, False])
    param_names = ("dtype", "pooled")
    rows, n_features = 20_000, 100

    def setup(self, dtype, pooled):
        rng = np.random.default_rng(0)
        shape = self.rows, self.n_features
        self.X = rng.normal(size=shape).astype(dtype) if dtype == "float32" else rng.integers(0, 256, shape, dtype)
        self.y = labels(self.rows, 10)
        self.time_scan(dtype, pooled)  # compiles outside the clock

    def time_scan(self, dtype, pooled):
        snb.scan(self.X, self.y, moments=["gram"], pooled=pooled)


class Shrinkages:
    """`LinearNBCV` of a covariance of each class: all points of a grid on all folds, in two reads."""

    rows, n_features = 5_000, 30

    def setup(self):
        rng = np.random.default_rng(0)
        self.y = labels(self.rows, 10)
        mixed = rng.normal(size=(self.rows, self.n_features)) @ rng.normal(size=(self.n_features, self.n_features))
        self.X = mixed + rng.normal(size=(10, self.n_features))[self.y]
        self.time_fit()

    def time_fit(self):
        snb.LinearNBCV(snb.Gaussian(covariance="full", shrinkage="auto"), scoring="accuracy").fit(self.X, self.y)


class Trees:
    """`TreeNB.fit` of presence, counted as bits."""

    rows, n_features = 100_000, 100

    def setup(self):
        rng = np.random.default_rng(0)
        self.X, self.y = rng.integers(0, 2, (self.rows, self.n_features), np.uint8), labels(self.rows, 2)
        self.time_fit()

    def time_fit(self):
        snb.TreeNB().fit(self.X, self.y)

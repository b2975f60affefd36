"""How fast rows in memory become class sums: no decoding, so what is timed is the kernels and the way to them."""

import numpy as np

import streamnb as snb
from benchmarks.peers.problems import counts, labels


class Sparse:
    """Counts in CSR; both tables that fit the cache and tables that do not."""

    params = (["uniform", "zipf"], [2**14, 10**5], [20, 1000])
    param_names = ("law", "n_features", "n_classes")
    rows = 10_000
    moments = ("sum",)

    def setup(self, law, n_features, n_classes):
        self.X, self.y = counts(self.rows, n_features, law), labels(self.rows, n_classes)
        self.time_scan()  # compiles outside the clock

    def time_scan(self, *_):
        snb.scan(self.X, self.y, moments=self.moments, n_threads=1)


class Dense(Sparse):
    """Rows stored in full: whole numbers, and real ones that are summed in pairs."""

    params = (["int8", "float32", "float64"], [100, 1000], [100])
    param_names = ("dtype", "n_features", "n_classes")
    moments = ("sum", "sum_sq")

    def setup(self, dtype, n_features, n_classes):
        rng = np.random.default_rng(0)
        shape = self.rows, n_features
        X = rng.integers(0, 5, shape) if dtype == "int8" else rng.normal(size=shape)
        self.X, self.y = X.astype(dtype), labels(self.rows, n_classes)
        self.time_scan()

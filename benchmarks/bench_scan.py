"""How fast rows become class sums."""

import numpy as np
import scipy.sparse as sp

import streamnb as snb

N_CLASSES = 20


def problem(storage, density, rows, columns):
    """Counts, with a label for each row; every label occurs."""
    rng = np.random.default_rng(0)
    X = sp.random_array((rows, columns), density=density, format="csr", dtype=np.float32, rng=rng)
    X.data = rng.integers(1, 5, X.nnz).astype(np.float32)
    y = np.arange(rows) % N_CLASSES
    return (X if storage == "csr" else X.toarray()), y


class Accumulate:
    """Rows in memory to class sums: no decoding, so what is timed is the kernel and the way to it."""

    params = (["dense", "csr"], [0.01, 0.1], [("sum",), ("sum", "sum_sq")])
    param_names = ("storage", "density", "moments")
    rows, columns = 10_000, 2_000

    def setup(self, storage, density, moments):
        self.X, self.y = problem(storage, density, self.rows, self.columns)
        self.time_scan(storage, density, moments)  # compiles outside the clock

    def time_scan(self, storage, density, moments):
        snb.scan(self.X, self.y, moments=moments)

    def track_bytes(self, storage, density, moments):
        """What is read, to turn a time into bytes per second."""
        return self.X.nbytes if storage == "dense" else self.X.data.nbytes + self.X.indices.nbytes

    track_bytes.unit = "bytes"

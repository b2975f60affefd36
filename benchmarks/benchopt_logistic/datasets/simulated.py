import numpy as np
import scipy.sparse as sp
from benchopt import BaseDataset


class Dataset(BaseDataset):
    """Dense rows of correlated numbers, or sparse rows of counts as texts have them, with labels of a linear model."""

    name = "Simulated"
    parameters = {"rows, features, kind": [(50_000, 200, "dense"), (50_000, 16_384, "sparse")]}
    test_parameters = {"rows, features, kind": [(500, 20, "dense"), (500, 100, "sparse")]}

    def get_data(self):
        rng = np.random.default_rng(0)
        rows = self.rows + self.rows // 4
        if self.kind == "dense":
            X = rng.normal(size=(rows, self.features)) + rng.normal(size=(rows, 1))
        else:
            shares = 1.0 / np.arange(1, self.features + 1)
            columns = rng.choice(self.features, size=(rows, 60), p=shares / shares.sum())
            X = sp.csr_matrix((np.ones(columns.size), columns.ravel(), np.arange(rows + 1) * 60), (rows, self.features))
            X.sum_duplicates()
        weights = rng.normal(size=self.features) / np.sqrt(60 if self.kind == "sparse" else self.features)
        scores = X @ weights
        y = np.where(scores - np.median(scores) + rng.logistic(size=rows) > 0, 1, -1)
        n = self.rows
        return {"X": X[:n], "y": y[:n], "X_test": X[n:], "y_test": y[n:]}

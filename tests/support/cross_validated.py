"""Rows to cross-validate on, and all that a LinearNBCV learned from them."""

import numpy as np


def problem(seed, n_classes=3, n_rows=60, n_features=6):
    """Rows of a continuous kind, so that scores are not tied by chance; some weights are 0."""
    rng = np.random.default_rng([seed, n_classes])
    y = rng.permutation(np.arange(n_rows) % n_classes)
    rate = rng.gamma(1.0, 1.0, (n_classes, n_features))
    x = rng.poisson(rate[y]) * (1.0 + 0.1 * rng.random((n_rows, n_features)))
    x[:, -1] = 0.0
    return x, y, rng.choice([0.0, 0.5, 1.0, 2.0], n_rows, p=[0.05, 0.3, 0.35, 0.3])


def outcome(model):
    columns = {name: column.tolist() for name, column in model.cv_results_.items() if name != "params"}
    return str(columns), model.best_params_, model.coef_.tolist(), model.intercept_.tolist()

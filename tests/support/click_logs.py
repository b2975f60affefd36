"""Made-up rows like click logs: numbers, columns of categories of up to a million values, and a label of 25 % or so."""

import numpy as np
import pyarrow as pa

SIZES = [1_460, 1_000_000, 305, 24, 12_500, 3, 93_000, 5_700, 900_000, 27, 15_000, 700_000, 18]


def click_logs(n_rows, sizes=SIZES, seed=0):
    """A table of Arrow; the frequency of a value falls with its rank, and its effect does not depend on it."""
    rng, columns, logit = np.random.default_rng(seed), {}, np.full(n_rows, -1.3)
    for j in range(5):
        counts = np.floor(np.exp(rng.normal(1 + j % 4, 1.2, n_rows)))
        logit += (-1) ** j * 0.2 * (np.log1p(counts) - 1 - j % 4)
        columns[f"number_{j}"] = pa.array(counts, mask=rng.random(n_rows) < 0.1 * j)
    for j, size in enumerate(sizes):
        values = np.floor(size ** rng.random(n_rows)).astype(np.int64)
        logit += rng.normal(0, 0.4, size + 1)[values]
        gaps = rng.random(n_rows) < [0.0, 0.03, 0.3][j % 3]
        columns[f"category_{j}"] = pa.array([f"{value:x}" for value in values.tolist()], mask=gaps)
    return pa.table({**columns, "click": rng.random(n_rows) < 1 / (1 + np.exp(-logit))})

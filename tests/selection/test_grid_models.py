"""All models of a path score rows together as each does alone."""

import numpy as np
import scipy.sparse as sp

import streamnb as snb
from streamnb.rows.boundary import as_chunk
from streamnb.selection.grid_models import GridModels


def test_absent_features_count_in_the_intercepts():
    rng = np.random.default_rng(0)
    x, y = rng.poisson(1.0, (50, 9)).astype(float), rng.integers(0, 3, 50)
    path = snb.solve(snb.scan(x, y, binarize=-0.5), "bernoulli", snb.L1([0.0, 0.5, 2.0]))  # zeros are present there
    models = GridModels(path, 1 << 24, decide=False)
    chunk = path.shell().prepared(*as_chunk(sp.csr_array(x)))
    found = models.margins(chunk, np.arange(50), models.buffer(50))
    for g in range(len(path)):
        np.testing.assert_allclose(found[:, :, g], path[g].decision_function(x), rtol=1e-10, atol=1e-12)

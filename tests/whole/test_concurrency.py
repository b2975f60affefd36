"""Several fits at once, in threads, tasks and processes: no deadlock, no abort, the same result to the last bit.

Each case runs in a process of its own, which is ended where it takes too long.
"""

import os
import sys

import pytest

from tests.support.processes import python

pytestmark = pytest.mark.process

PROBLEM = """
import sys
import numpy as np
import streamnb as snb
import streamnb.rows.writing as csr_store

folder = sys.argv[1]
rng = np.random.default_rng(0)
X, y = rng.poisson(0.5, (3000, 20)).astype(float), rng.integers(0, 3, 3000)


def make():
    csr_store.CHUNK = 1 << 10  # many chunks, so that the codecs use their threads
    snb.write_csr(folder + "/x.zarr", [(X, y)], n_features=20)


def fit(_=None):
    return snb.LinearNB("poisson", snb.L1(1.0)).fit(folder + "/x.zarr", "y").coef_.tolist()
"""
CASES = {
    "threads, tasks of Dask, and a fork of a process that has had them": """
        import multiprocessing
        from concurrent.futures import ThreadPoolExecutor
        import dask
        make()
        with ThreadPoolExecutor(6) as pool:
            results = list(pool.map(fit, range(12)))
        lazy = [dask.delayed(fit)(i) for i in range(6)]
        here = fit()
        assert [*results, *dask.compute(*lazy, scheduler="threads")] == [here] * 18
        with multiprocessing.get_context("fork").Pool(2) as pool:
            assert pool.map_async(fit, range(4)).get() == [here] * 4
        assert fit() == here
    """,
    "joblib": """
        from joblib import parallel_config
        from sklearn.model_selection import GridSearchCV
        grid = {"penalty": [snb.L1(tau) for tau in (0.5, 2.0, 8.0)]}
        scores = []
        for backend in ("sequential", "threading", "loky"):
            with parallel_config(backend, n_jobs=2):
                search = GridSearchCV(snb.LinearNB("poisson"), grid, cv=3).fit(X, y)
            scores.append(search.cv_results_["mean_test_score"].tolist())
        assert scores[0] == scores[1] == scores[2]
    """,
}


@pytest.mark.parametrize("code", CASES.values(), ids=CASES)
def test_fits_at_once_give_the_same_bits(code, tmp_path):
    (script := tmp_path / "case.py").write_text(f"{PROBLEM}\n\nif __name__ == '__main__':{code}")
    found = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    found["NUMBA_THREADING_LAYER"] = "workqueue"  # which serves one thread at a time, were it asked
    ran = python(script, tmp_path, env=found)
    assert ran.returncode == 0, ran.stderr

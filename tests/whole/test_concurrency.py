"""Several fits at once, in threads, tasks and processes: no deadlock, no abort, the same result to the last bit.

Each case runs in a process of its own, which is ended where it takes too long.
"""

import os
import sys
import textwrap

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
    "threads and tasks of Dask": """
        from concurrent.futures import ThreadPoolExecutor
        import dask
        make()
        with ThreadPoolExecutor(6) as pool:
            results = list(pool.map(fit, range(12)))
        lazy = [dask.delayed(fit)(i) for i in range(6)]
        assert [*results, *dask.compute(*lazy, scheduler="threads")] == [fit()] * 18
    """,
    "fork": """
        import multiprocessing
        make()
        here = fit()  # the parent has threads by now
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


def run(code, folder, **environment):
    """Run the code, and fail with what it wrote unless it ends by itself and well."""
    script = folder / "case.py"
    lines = textwrap.indent(textwrap.dedent(code), "    ")
    script.write_text(f"{PROBLEM}\n\nif __name__ == '__main__':\n{lines}")
    found = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), **environment}
    ran = python(script, folder, env=found)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.parametrize("code", CASES.values(), ids=CASES)
def test_fits_at_once_give_the_same_bits(code, tmp_path):
    run(code, tmp_path, NUMBA_THREADING_LAYER="workqueue")  # which serves one thread at a time, were it asked

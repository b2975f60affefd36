"""CPU seconds of first fits that compile their kernels, on scikit-learn's digits: python -m benchmarks.compiling."""

import os
import subprocess
import sys
import tempfile

BYTECODE = os.path.join(tempfile.gettempdir(), "streamnb-bytecode")
FITS = {
    "LinearNB, fit and predict": "snb.LinearNB().fit(X, y).predict(X)",
    "SoftmaxRegression": "snb.SoftmaxRegression().fit(X, y)",
    "LinearNBCV": "snb.LinearNBCV().fit(X, y)",
    "search": "snb.search(X, y, show=False)",
}
CODE = """
import time, warnings
from sklearn.datasets import load_digits
import streamnb as snb
warnings.simplefilter("ignore")
X, y = load_digits(return_X_y=True)
start = time.process_time()
{}
print(time.process_time() - start)
"""


def seconds(fit: str, cache: str) -> float:
    """CPU seconds of a fit, and of what it imports, in a process of its own that keeps kernels in this folder.

    Python's bytecode is kept in any case, as it is where packages are installed.
    """
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache, "PYTHONPYCACHEPREFIX": BYTECODE, "OMP_NUM_THREADS": "1"}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    run = [sys.executable, "-c", CODE.format(fit)]
    return float(subprocess.run(run, env=environment, check=True, capture_output=True, text=True).stdout)


if __name__ == "__main__":
    print("CPU seconds                    compiling   kernels kept")
    for name, fit in FITS.items():
        with tempfile.TemporaryDirectory() as cache:
            seconds(fit, cache)  # leaves the bytecode
            kept = seconds(fit, cache)
        with tempfile.TemporaryDirectory() as cache:
            print(f"{name:30} {seconds(fit, cache):9.1f} {kept:14.1f}", flush=True)

"""Settings for all tests."""

import gc
import os
import signal

import pytest
from hypothesis import HealthCheck, settings

# The same examples every time, and none of them against the clock: the first may compile kernels.
# Others: pytest --hypothesis-profile=search --hypothesis-seed=1
slow_checks = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.function_scoped_fixture]
settings.register_profile("search", deadline=None, max_examples=10, suppress_health_check=slow_checks)
settings.register_profile("laws", settings.get_profile("search"), derandomize=True)
settings.register_profile("interpreted", settings.get_profile("laws"), max_examples=6)  # for what only numba could do
settings.load_profile("interpreted" if os.environ.get("NUMBA_DISABLE_JIT") == "1" else "laws")

gc.set_threshold(100_000, 20, 20)  # of the compiler's many objects few are garbage: a fifteenth of its time was to look

signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background are started without it


def pytest_collection_finish():
    """Keep the garbage collector from looking through all that collection left, again and again."""
    gc.collect()
    gc.freeze()


@pytest.fixture
def as_in_folds(monkeypatch):
    """Models of all rows are trained by the steps of models without a fold, which do without a sample."""
    from streamnb.solving.fitting import DescentMethod

    monkeypatch.setattr(DescentMethod, "samples", lambda *_: False)

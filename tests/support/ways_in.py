"""Rows, and the calls that take them, for tests of what each must refuse."""

import pytest

import streamnb as snb
from tests.support.strategies import example

ROWS = example("int")
BAD_ROW = 23  # in the third chunk of every chunked form
RUNS = {
    "scan": lambda X, y=None, **options: snb.scan(X, y, **options),
    "fit": lambda X, y=None, **options: snb.LinearNB("gaussian").fit(X, y, **options),
    "partial_fit": lambda X, y=None, **options: snb.LinearNB("gaussian").partial_fit(X, y, **options),
}
every_run = pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)

"""Where pandas is not installed, what returns a data frame says so."""

import sys

import numpy as np
import pytest

import streamnb as snb
from tests.support.refusals import refused

MODEL = snb.LinearNB("bernoulli").fit(np.eye(4), [0, 0, 1, 1])
TREE = snb.TreeNB().fit(np.arange(12.0).reshape(6, 2), [0, 0, 0, 1, 1, 1])
STATS = snb.scan(np.eye(4), [0, 0, 1, 1])


@pytest.mark.parametrize(
    "frame",
    [
        MODEL.top_features,
        MODEL.posterior,
        lambda: TREE.edges_,
        lambda: STATS.drift(STATS),
    ],
)
def test_what_returns_a_frame_names_what_is_missing(frame, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with refused(ImportError, "needs pandas: pip install pandas"):
        frame()

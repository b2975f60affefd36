"""The benchmarks run, tiny."""

import itertools

import numpy as np
import pytest

import streamnb as snb
from benchmarks.bench_scan import N_CLASSES, Accumulate, problem


@pytest.mark.parametrize("case", list(itertools.product(*Accumulate.params)), ids=str)
def test_accumulate_runs(case, monkeypatch):
    monkeypatch.setattr(Accumulate, "rows", 60)
    monkeypatch.setattr(Accumulate, "columns", 30)
    bench = Accumulate()
    bench.setup(*case)
    bench.time_scan(*case)
    assert bench.track_bytes(*case) > 0


def test_both_storages_hold_the_same_problem():
    dense, y = problem("dense", 0.1, 60, 30)
    csr, _ = problem("csr", 0.1, 60, 30)
    assert np.array_equal(dense, csr.toarray())
    assert np.array_equal(snb.scan(csr, y).sum, snb.scan(dense, y).sum)
    assert len(np.unique(y)) == N_CLASSES

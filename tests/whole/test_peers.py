"""The comparison with other tools runs, tiny, on all its rows; and its verdicts are what the figures say."""

import math

import numpy as np
import pytest
import zarr

import streamnb as snb
from benchmarks.peers import __main__ as peers
from benchmarks.peers import problems
from benchmarks.peers.table import HEAD, Size

TINY = Size(
    n_rows=1200,
    chunk=300,
    repeats=1,
    features=(300,),
    laws=("zipf",),
    slow_rows=1000,
    memory_rows=1200,
    shared_rows=300,
    points=4,
    labels=3,
)


@pytest.mark.slow
@pytest.mark.benchmark
@pytest.mark.process
@pytest.mark.parametrize("part", peers.PARTS)
def test_every_row_has_a_figure(part, tmp_path):
    rows = list(peers.PARTS[part](TINY, tmp_path))
    assert rows
    for row in rows:
        assert str(row).count("|") == HEAD.splitlines()[0].count("|")
        if row.figure is None:
            assert (
                part in ("threads", "others", "additive", "corpora", "cells", "descriptions", "numbers", "regression")
                and row.verdict == "not installed"
            )
        else:
            assert math.isfinite(row.figure) and (row.figure > 0 or part == "cold")


@pytest.mark.parametrize("law", ["uniform", "zipf"])
def test_both_sides_are_given_the_same_rows(law, tmp_path):
    X, y = problems.counts(200, 50, law), problems.labels(200, 3)
    assert X.has_canonical_format
    expected = snb.scan(X, y, moments=["sum"]).sum
    for write in (problems.write_default, problems.write_own):
        path = write(tmp_path / write.__name__, X, y)
        assert (snb.scan(path, "y", moments=["sum"]).sum == expected).all()
        assert np.array_equal(zarr.open_group(path)["y"][:], y)

"""The comparison with other tools runs, tiny, on all its rows; and its verdicts are what the figures say."""

import math

import numpy as np
import pytest
import zarr

import streamnb as snb
from benchmarks import peers

TINY = peers.Size(n_rows=1200, chunk=300, repeats=1, features=(300,), laws=("zipf",))


@pytest.mark.slow
def test_every_row_has_a_figure(tmp_path):
    rows = [
        *peers.csr_rows(TINY),
        *peers.dense_rows(TINY),
        *peers.threaded_rows(TINY),
        *peers.store_rows(TINY, tmp_path),
    ]
    measured = [row for row in rows if row.verdict != "not installed"]
    assert all(row.times is not None and math.isfinite(row.times) and row.times > 0 for row in measured)
    assert {row.against for row in rows} - {row.against for row in measured} <= {
        "flox, mean and variance",
        "dask-ml GaussianNB",
    }
    assert all(str(row).count("|") == peers.HEAD.splitlines()[0].count("|") for row in rows)


@pytest.mark.parametrize(
    ("times", "slower", "verdict"),
    [
        (4.9, False, "below the floor"),
        (5.0, False, "floor"),
        (10.0, False, "goal"),
        (None, False, "not installed"),
        (10.1, True, "below the floor"),
        (9.9, True, "floor"),
        (5.0, True, "goal"),
    ],
)
def test_verdicts(times, slower, verdict):
    floor, goal = (10, 5) if slower else (5, 10)
    assert peers.Row("a", "b", floor, goal, times, slower).verdict == verdict


@pytest.mark.parametrize("law", ["uniform", "zipf"])
def test_both_sides_are_given_the_same_rows(law, tmp_path):
    X, y = peers.counts(200, 50, law), peers.labels(200, 3)
    assert X.has_canonical_format
    expected = snb.scan(X, y, moments=["sum"]).sum
    for write in (peers.write_default, peers.write_own):
        path = write(tmp_path / write.__name__, X, y)
        assert (snb.scan(path, "y", moments=["sum"]).sum == expected).all()
        assert np.array_equal(zarr.open_group(path)["y"][:], y)

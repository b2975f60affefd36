"""Passes of a process that is asked to stop: they end after a block, with what is done in the checkpoint."""

import numpy as np
import pytest

import streamnb as snb
from streamnb.passes import stopping

X, Y = np.arange(400.0).reshape(100, 4), np.arange(100) % 2


@pytest.fixture
def asked():
    stopping.requested.set()
    yield
    stopping.requested.clear()


def test_a_pass_without_a_checkpoint_ends(asked):
    with pytest.raises(stopping.Stopped):
        snb.scan(X, Y)


def test_a_pass_with_a_checkpoint_keeps_what_is_done_and_goes_on(tmp_path):
    path = tmp_path / "scan.snb"
    stopping.requested.set()
    try:
        with pytest.raises(stopping.Stopped):
            snb.scan(X, Y, checkpoint=path)
    finally:
        stopping.requested.clear()
    assert path.exists()
    assert np.array_equal(snb.scan(X, Y, checkpoint=path).sum, snb.scan(X, Y).sum)

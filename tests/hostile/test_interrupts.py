"""An interrupt in mid-scan, as Ctrl-C makes it, leaves everything as it was: models, threads, checkpoints."""

import signal
import threading

import numpy as np
import pandas as pd
import pytest
import zarr
from zarr.storage import LocalStore, WrapperStore

import streamnb as snb
from streamnb.passes import checkpoint
from streamnb.rows import row_blocks
from tests.support.strategies import example, same_stats
from tests.support.zarr_stores import write_arrays


class Interrupting(WrapperStore):
    """A store in whose reading Ctrl-C is pressed once, before the read of that number."""

    def __init__(self, store, number=-1):
        super().__init__(store)
        self.left = number

    async def get(self, key, prototype, byte_range=None):
        self.left -= 1
        if self.left == 0:
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        return await super().get(key, prototype, byte_range)


@pytest.fixture
def opened(tmp_path, monkeypatch):
    """Rows in a store of many chunks, and a function that opens it anew."""
    monkeypatch.setattr(row_blocks, "BLOCK_BYTES", 64)
    rows = example()
    write_arrays(zarr.create_group(LocalStore(tmp_path / "x.zarr")), rows, chunk=2)

    def open_(number=-1):
        group = zarr.open_group(Interrupting(LocalStore(tmp_path / "x.zarr")), mode="r")
        group.store.left = number
        return group

    return rows, open_


def own_threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("streamnb")]


def test_a_model_is_the_same_after_an_interrupted_fit():
    rows = example()

    def stopped():
        yield rows.x[:5, :4], rows.y[:5]
        raise KeyboardInterrupt

    named = pd.DataFrame(rows.x, columns=[f"gene {j}" for j in range(rows.x.shape[1])])
    model = snb.LinearNB().fit(named, rows.y)
    expected = model.predict(named)
    for again in (model.fit, model.partial_fit):
        with pytest.raises(KeyboardInterrupt):
            again(stopped())
        assert model.feature_names_in_.tolist() == named.columns.tolist()
        assert np.array_equal(model.predict(named), expected)


@pytest.mark.parametrize("number", [1, 20, 60])
def test_no_thread_stays_behind_and_the_next_scan_is_whole(number, opened):
    rows, open_ = opened
    expected = snb.scan(rows.x, rows.y)
    with pytest.raises(KeyboardInterrupt):
        snb.scan(open_(number), "y")
    assert own_threads() == []
    assert same_stats(snb.scan(open_(), "y"), expected)


@pytest.mark.parametrize("number", [20, 60])
def test_a_scan_goes_on_from_a_checkpoint_after_an_interrupt(number, opened, tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "SECONDS", 0.0)
    monkeypatch.setattr(checkpoint, "SHARE", 0)
    rows, open_ = opened
    kept = tmp_path / "kept.snb"
    with pytest.raises(KeyboardInterrupt):
        snb.scan(open_(number), "y", checkpoint=kept)
    assert own_threads() == [] and not list(tmp_path.glob(".*"))  # nothing half written
    assert same_stats(snb.scan(open_(), "y", checkpoint=kept), snb.scan(rows.x, rows.y))

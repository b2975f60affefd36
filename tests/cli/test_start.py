"""SIGTERM is heard from the start: the first asks passes to end, the second ends at once."""

import signal

import pytest

from streamnb.cli import start
from streamnb.cli.main import STOPPED
from streamnb.passes import stopping
from tests.support.command_line import ran, store


@pytest.fixture
def asked():
    """A process that was asked to stop before it was ready."""
    start._stop(signal.SIGTERM, None)
    yield
    stopping.asked.clear()


def test_a_process_that_was_asked_before_it_was_ready_ends(asked, capsys):
    ended, _, words = ran(capsys, "plan", "nothing.zarr")
    assert ended == STOPPED and "nothing is half written" in words


def test_a_second_signal_ends_at_once(asked):
    with pytest.raises(stopping.Stopped):
        start._stop(signal.SIGTERM, None)


def test_converting_leaves_nothing_behind_when_it_is_stopped(tmp_path, capsys, monkeypatch):
    rows = store(tmp_path)
    monkeypatch.setattr("streamnb.cli.reading.rows_of", lambda *a, **k: (stopping.asked.set() or str(rows), {}))
    try:
        assert ran(capsys, "convert", rows, tmp_path / "other.zarr")[0] == STOPPED
    finally:
        stopping.asked.clear()
    assert [path.name for path in tmp_path.iterdir()] == [rows.name]

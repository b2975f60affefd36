"""Bars show where there is room, and none is shown unless asked for."""

import io

from streamnb.passes.contract import bar, shape


def test_no_bar_unless_asked_for(capsys):
    assert list(bar([1, 2], title="scan", progress=None)) == [1, 2]
    assert capsys.readouterr().err == ""


def test_a_bar_names_its_title(capsys):
    assert list(bar([1, 2], title="scan", progress=True, unit=" rows")) == [1, 2]
    assert "scan" in capsys.readouterr().err


def test_what_is_no_terminal_needs_no_room(monkeypatch):
    monkeypatch.setattr("sys.stderr", io.StringIO())
    assert shape() == {}

"""Bars show where there is room, and none is shown unless asked for."""

from streamnb.passes.contract import bar


def test_no_bar_unless_asked_for(capsys):
    assert list(bar([1, 2], title="scan", progress=None)) == [1, 2]
    assert capsys.readouterr().err == ""


def test_a_bar_names_its_title(capsys):
    assert list(bar([1, 2], title="scan", progress=True, unit=" rows")) == [1, 2]
    assert "scan" in capsys.readouterr().err

"""What is written without a terminal: bars become few lines."""

import io

import click
import pytest

from streamnb.cli.output import BarLines, new_store


def test_a_bar_is_a_line_a_minute_and_its_last(monkeypatch):
    now = iter([0.0, 0.0, 1.0, 30.0, 61.0, 61.0, 62.0, 63.0, 64.0])
    monkeypatch.setattr("streamnb.cli.output.time.monotonic", lambda: next(now))
    file = io.StringIO()
    lines = BarLines(file)
    for done in (0, 10, 50, 90, 100):
        lines.write(f"\rscan: {done}%")
    lines.write("\n")
    lines.write("m.snb is written\n")
    assert file.getvalue().splitlines() == ["scan: 0%", "scan: 90%", "scan: 100%", "m.snb is written"]


def test_short_bars_after_each_other_are_no_line_each(monkeypatch):
    monkeypatch.setattr("streamnb.cli.output.time.monotonic", lambda: 0.0)
    file = io.StringIO()
    lines = BarLines(file)
    for read in range(9):
        for text in (f"\rread {read}: 0%", f"\rread {read}: 100%", "\n"):
            lines.write(text)
    lines.write("Error: no\n")
    assert file.getvalue().splitlines() == ["read 0: 0%", "read 8: 100%", "Error: no"]


def test_a_store_takes_its_place_whole_or_not_at_all(tmp_path):
    place = tmp_path / "rows.zarr"
    for words in ("one", "two"):
        with new_store(str(place), words == "two") as folder:
            (tmp_path / folder).mkdir()
            (tmp_path / folder / "part").write_text(words)
        assert [path.name for path in tmp_path.iterdir()] == ["rows.zarr"] and (place / "part").read_text() == words
    with pytest.raises(OSError, match="full"), new_store(str(place), True) as folder:
        (tmp_path / folder).mkdir()
        raise OSError("full")
    assert [path.name for path in tmp_path.iterdir()] == ["rows.zarr"] and (place / "part").read_text() == "two"
    with pytest.raises(click.BadParameter, match="is there already"), new_store(str(place), False):
        pass
    with new_store("s3://bucket/rows.zarr", False) as url:
        assert url == "s3://bucket/rows.zarr"

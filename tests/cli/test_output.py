"""What is written without a terminal: bars become few lines."""

import io

from streamnb.cli.output import BarLines


def test_a_bar_is_a_line_a_minute_and_its_last(monkeypatch):
    now = iter([0.0, 1.0, 30.0, 61.0, 62.0, 63.0, 64.0, 65.0])
    monkeypatch.setattr("streamnb.cli.output.time.monotonic", lambda: next(now))
    file = io.StringIO()
    lines = BarLines(file)
    for done in (0, 10, 50, 90, 100):
        lines.write(f"\rscan: {done}%")
    lines.write("\n")
    lines.write("m.snb is written\n")
    assert file.getvalue().splitlines() == ["scan: 0%", "scan: 50%", "scan: 100%", "m.snb is written"]

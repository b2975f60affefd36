"""What is written without a terminal: bars become few lines."""

import csv
import io
import json

import click
import numpy as np
import pyarrow.parquet as pq
import pytest

from streamnb.cli import output
from streamnb.cli.output import new_store, write_json, write_table
from streamnb.cli.saying import BarLines


def test_a_bar_is_a_line_a_minute_and_its_last(monkeypatch):
    now = iter([0.0, 0.0, 1.0, 30.0, 61.0, 61.0, 62.0, 63.0, 64.0])
    monkeypatch.setattr("streamnb.cli.saying.time.monotonic", lambda: next(now))
    file = io.StringIO()
    lines = BarLines(file)
    for done in (0, 10, 50, 90, 100):
        lines.write(f"\rscan: {done}%")
    lines.write("\n")
    lines.write("m.snb is written\n")
    assert file.getvalue().splitlines() == ["scan: 0%", "scan: 90%", "scan: 100%", "m.snb is written"]


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
    with pytest.raises(click.BadParameter, match="already exists"), new_store(str(place), False):
        pass
    with new_store("s3://bucket/rows.zarr", False) as url:
        assert url == "s3://bucket/rows.zarr"


def test_tables_are_written_to_the_last_digit(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(output, "AT_ONCE", 2)
    scores = [1 / 3, 1e-300, -np.inf]
    columns = {"label": np.array(["a", 'b "c", d', "\u00e9"]), "n": np.array([1, 2, 3]), "score": np.array(scores)}
    names, labels = list(columns), columns["label"].tolist()
    for ending in output.ENDINGS:
        write_table(columns if ending != ".npy" else {"score": columns["score"]}, tmp_path / f"t{ending}")
    write_table(columns, None)
    text = (tmp_path / "t.csv").read_text()
    assert text == capsys.readouterr().out
    head, *rows = csv.reader(io.StringIO(text))
    assert head == names and rows == [[a, str(n), repr(score)] for a, n, score in zip(labels, (1, 2, 3), scores)]
    lines = [json.loads(line) for line in (tmp_path / "t.jsonl").read_text().splitlines()]
    assert lines == [dict(zip(names, row)) for row in zip(labels, (1, 2, 3), [*scores[:2], None])]
    assert pq.read_table(tmp_path / "t.parquet").to_pydict() == {"label": labels, "n": [1, 2, 3], "score": scores}
    assert np.load(tmp_path / "t.npy").tolist() == scores


def test_json_has_null_for_what_is_undefined(capsys):
    write_json({"roc_auc": np.nan, "all": [np.float64(1.5), -np.inf]})
    assert capsys.readouterr().out == '{"roc_auc": null, "all": [1.5, null]}\n'
